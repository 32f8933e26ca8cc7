"""Verifies that the backends or services of a plan keep the contract. Those that fail are not
timed.
"""

import re
import shlex
from pathlib import Path

from campaign.identity import VERDICTS, build_of, contender_hash, digest
from campaign.journal import Journal
from campaign.plan import Plan, process_options
from campaign.process import Limits, how_it_ended, run_limited
from campaign.scratch import require_room, scratch_folder
from console import Bar, Stop
from files import shown
from results.survival import SUITE as FAULTS

SECONDS = 0.2  # of random traces for each backend; of each audit for a service
MOST_SECONDS = 60  # limit of one verification; then the backend counts as hanging
MORE_SECONDS = 240  # for a durable queue, whose deadlines and leases may be whole seconds

VERDICT = re.compile(r"\w+ +(?P<verdict>ok|a control|WRONG|ERROR|UNAVAILABLE)\b(?P<rest>.*)")
GOOD = ("ok", "a control")

Contender = tuple[Path, str]  # the program, and the backend's name in it


def known_failures(plan: Plan, journal: Journal, *, retry: bool = False) -> dict[Contender, str]:
    """Returns the faults of contenders that were verified earlier and have not changed; an empty
    text for a contender without a fault. With `retry`, returns only contenders without a fault.
    """
    verdicts = {
        line["identity"]: line["failure"]
        for line in journal.of_kind("verified")
        if not (retry and line["failure"])
    }
    return {
        one: verdicts[identity]
        for one, identity in _identities(plan).items()
        if identity in verdicts
    }


def verify(
    plan: Plan, journal: Journal, known: dict[Contender, str], memory: int, stop: Stop
) -> dict[Contender, str]:
    """Returns the faults of each backend that is not in `known`.

    Each backend is verified by a process of its own, because it may crash, hang or use up its
    `memory`. The verdict goes to the journal at once. A backend whose server is unreachable is not
    judged; it is measured, so that its cells report this.
    """
    failures = dict(known)
    left = {one: identity for one, identity in _identities(plan).items() if one not in known}
    if left:
        more = MORE_SECONDS if plan.suite in ("durable", FAULTS) else 0
        limits = Limits(MOST_SECONDS + more, memory)
        with Bar("Verifying", len(left)) as bar:
            stop.tell = bar.tell
            for (program, name), identity in left.items():
                arguments = _arguments(plan, program, name)
                failure = _verdict(program, arguments, name, limits, bar, stop)
                if stop.is_set:
                    break
                if failure is not None:
                    failures[program, name] = failure
                    journal.append("verified", backend=name, identity=identity, failure=failure)
    return failures


def _identities(plan: Plan) -> dict[Contender, str]:
    return {
        (build.timerbench, name): digest(
            [
                name,
                contender_hash(one, VERDICTS, build.timerbench),
                build_of(build.facts),
            ]
        )
        for build in plan.builds.values()
        for name, one in build.facts["backends"].items()
    }


def _arguments(plan: Plan, program: Path, name: str) -> list[str]:
    """Returns the arguments that name a contender."""
    facts = next(build.facts for build in plan.builds.values() if build.timerbench == program)
    return process_options(plan.choice, facts["backends"][name]) or [name]


def _verdict(
    program: Path, arguments: list[str], name: str, limits: Limits, bar: Bar, stop: Stop
) -> str | None:
    """Returns the fault, an empty text if there is none, or None if there is no verdict. The
    `arguments` name the contender.
    """
    with scratch_folder() as scratch:
        log = scratch / "verify.log"
        command = [str(program), "verify", f"--seconds={SECONDS}", *arguments]
        with log.open("w", encoding="utf-8") as output:
            code = run_limited(command, output, limits, stop)
        if stop.is_set:
            return None
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        # The last match counts: the backend may have printed anything before.
        found = next((match for line in reversed(lines) if (match := VERDICT.match(line))), None)
        if not found or (found["verdict"] in GOOD) != (code == 0):
            failure = (
                f"timeout: still being verified after {limits.seconds:g} s"
                if code is None
                else how_it_ended(code, log)
            )
            require_room(scratch, failure)
            bar.step(name, failure, notable=True)
            return failure
    verdict = found["verdict"]
    is_good = verdict in GOOD
    bar.step(name, verdict + found["rest"], notable=not is_good)
    for line in () if is_good else lines:
        if line != found.string:  # the trace that shows the fault
            bar.line(line)
    if is_good or verdict == "UNAVAILABLE":
        return "" if is_good else None
    # timerbench reports a crash as an error.
    why = found["rest"].removeprefix(": ")
    status = "" if why.startswith(("crash: ", "timeout: ", "oom: ")) else f"{verdict.lower()}: "
    return f"{status}{why}; '{shlex.join([shown(program), 'verify', *arguments])}' shows it"
