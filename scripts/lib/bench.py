"""Runs a campaign: builds, verifies, and measures a suite in rounds. Then it prints the cheapest
backends and the table, and draws the figures. A terminal shows the table from the first round on.

The suites smoke, quick, full, timeouts, events, adversarial, resolution, delays, kernel, map, paper,
ablation and peers measure what operations cost. They replay traces as fast as each structure
allows. Four suites measure on the wall clock and need a quiet machine, and one breaks things:
  accuracy     how late timers fire, at which load, and why
  contention   calls per second and their tails, against the number of threads
  purgatory    requests that are answered or time out: processor time against their rate
  durable      timers that outlive the process, on engines that scripts/setup --durable installs
  faults       what such timers survive: which are lost, and which fire twice or late
The suite service_peers is the first three of these, one after another, for the services over
libraries and five own ones, in half an hour. Its results go to a folder for each.

A cell is a backend on a workload at a size. Each round measures each cell once, in a process of its
own that is bound to one processor; the backends take turns. Each measurement goes to the journal at
once, so Ctrl-C or even kill -9 loses at most the current one. The same command continues an
unfinished campaign. It only prints the table of a finished one, but measures those cells again
whose figures could change (other backend source, compiler, trace or machine). The suite faults counts
and does not time, so its folder may be moved to another machine and continued there. A cell that
takes too long in most rounds has no figure, and its larger sizes are skipped.

Results go to results/local/SUITE, or to the DIR of --out. Options that narrow the suite add a hash
to the name (quick-02af7c). The folder has journal.jsonl, which is append-only, and the files made
from it: results.json, table.md and the figures. scripts/report makes one page of them.

All other options are those of 'timerbench run', and narrow or change the suite:
  scripts/bench --backends=ring,kafka_wheel --sizes=1k,1M
  scripts/bench full --workloads=churn --rounds=12
  scripts/bench timeouts --budget=20m
  scripts/bench accuracy --workloads=rate --backends=system_timer,delay_queue --seconds=10
  scripts/bench purgatory --rate=20000 --pct50=20 --pct75=60 --timeout=200
  scripts/bench faults --workloads=power_cut --backends=redis_everysec --sizes=1 --seed=17
  scripts/bench --out=DIR --rounds=20          continues the campaign in DIR
build/release/timerbench run --help lists these options; timerbench list shows what they can choose.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from campaign.arguments import parse as arguments_of
from campaign.forecast import Forecast
from campaign.identity import choice_key, digest, machine_key
from campaign.journal import NAME as JOURNAL
from campaign.journal import Journal, choice_of, open_journal
from campaign.live import table_so_far
from campaign.plan import Plan, make_plan, prepare
from campaign.process import tied
from campaign.results import write_results
from campaign.runner import Options, Runner
from campaign.scratch import no_room_in, remove_abandoned
from campaign.verification import known_failures, verify
from console import (
    Bar,
    Failure,
    Stop,
    UsageError,
    complain,
    duration,
    run_main,
    say,
)
from files import make_folder, shown
from reports import open_report, print_table
from results.grid import AGAIN, SLOWER
from results.passes import PASSES
from results.realtime import FIGURES
from results.survival import SUITE as FAULTS
from style import RANKED

ROOT = Path(__file__).resolve().parents[2]
TIMERBENCH = ROOT / "build" / "release" / "timerbench"

# What only the preset peers has: families and names of libraries, and of programs in other languages.
PEERS = {"libraries", "processes"}
PEERS |= {header.stem for header in (ROOT / "impls" / "peers").glob("**/*.h")}
for file in (ROOT / "impls" / "peers").rglob("*.cmake"):
    PEERS |= set(re.findall(r"add_(?:\w+_)?process\((\w+)", file.read_text()))
SERVICE_PEERS = "service_peers"
PEER_SUITES = ("peers", "processes", SERVICE_PEERS)

# What service_peers stands for: suites, and what each measures.
OF_SERVICE_PEERS = {
    "accuracy": ("--workloads=rate,herd", "--sizes=1k,10k,100k", "--seconds=1"),
    "contention": ("--workloads=own", "--sizes=1,2"),
    "purgatory": ("--workloads=low", "--sizes=10k,100k"),
}
WITH_LIBRARIES = (
    "--backends=libraries,java_timer,delay_queue,ring_timer,system_timer,locked_binary_heap,"
    "locked_kafka_wheel_256,locked_log_wheel_256,"
    "sharded_4_locked_kafka_wheel_256,sharded_4_locked_log_wheel_256"
)
SHARED = {"--backends", "--seconds", "--seed"}  # options that all of them take

CACHE = ROOT / "build" / "traces"

# The control: the cost of the harness itself, measured beside every choice. Services have their own
# control.
CONTROL = "null"

# Backends that are measured twice in each round; if none is chosen, the first chosen backend. A
# difference between others must exceed the difference between twins.
TWINS = ("kafka_wheel_256", "binary_heap", "delay_queue")

INTERRUPTED = 2  # by the user, before the campaign was finished

BAD = ("wrong", "error", "crash", "unavailable", "oom")  # statuses that set the exit code to 1


def main() -> int:
    which_preset = sys.argv[1:2] == ["--which-preset"]
    arguments, choice = parse(sys.argv[1 + which_preset :])
    folder = _folder(arguments, choice)
    if not choice:
        choice = _begun_there(folder)
    campaigns = campaigns_of(arguments, folder, choice)
    preset = preset_of(choice)
    if which_preset:  # scripts/bench asks, to build it
        print(preset)
        return 0
    program = TIMERBENCH if preset == "release" else ROOT / "build" / preset / "timerbench"
    code = 0
    for folder, choice in campaigns:
        command = _command(choice)
        if len(campaigns) > 1:
            say(command)
        code = max(code, run_campaign(arguments, folder, choice, command, {"": program}))
        if code == INTERRUPTED:
            break
    return min(code, 1)


def campaigns_of(
    arguments: argparse.Namespace, folder: Path, choice: list[str]
) -> list[tuple[Path, list[str]]]:
    """Returns the folders and choices of the campaigns that a choice stands for: of itself, but for
    service_peers.
    """
    suite, *options = choice
    if suite != f"--suite={SERVICE_PEERS}":
        campaigns = [(folder, choice)]
    else:
        given = {option.partition("=")[0] for option in options if option.startswith("-")}
        given |= {"--budget"} if arguments.budget else set()
        for option in sorted(given - SHARED):
            raise UsageError(
                f"{SERVICE_PEERS} takes no {option}, for it is several suites; give it to one of "
                f"{', '.join(OF_SERVICE_PEERS)}"
            )
        campaigns = []
        for name, narrowings in OF_SERVICE_PEERS.items():
            usual = [
                one for one in (*narrowings, WITH_LIBRARIES) if one.partition("=")[0] not in given
            ]
            campaigns.append((folder / name, [f"--suite={name}", *usual, *options]))
    for one, _ in campaigns:
        if (one / "results.json").exists() and choice_of(one) is None:
            raise UsageError(f"{one}: has results already, without a journal; choose another --out")
    return campaigns


def preset_of(choice: Sequence[str]) -> str:
    """Returns which preset's program has the backends of the choice."""
    options = dict(option.partition("=")[::2] for option in choice)
    suite = Path(options["--suite"]).stem
    backends = options.get("--backends", "").split(",")
    is_peer = any(f"{one}_".startswith(f"{name}_") for one in backends for name in PEERS)
    if suite in PEER_SUITES or is_peer:
        return "peers"
    if suite == FAULTS:
        return "durable"
    return suite if suite in ("ablation", "durable") else "release"


def run_campaign(
    arguments: argparse.Namespace,
    folder: Path,
    choice: list[str],
    command: str,
    builds: Mapping[str, Path],
) -> int:
    """Begins a campaign in the folder or continues it; returns 0, 1 if cells failed, or INTERRUPTED.

    `command`: the command as the user would type it. `builds`: the programs that measure, by the
    variant of their cells.
    """
    remove_abandoned()
    make_folder(folder)
    try:
        journal = open_journal(folder, choice, command)
    except BaseException:
        _remove_if_empty(folder)
        raise
    try:
        if journal.lost:
            say(f"{journal.path}: the last line was cut, by {journal.lost} bytes; measured again")
        return _campaign(arguments, folder, journal, builds)
    finally:
        if not any(line["kind"] in ("verified", "cell") for line in journal.lines):
            journal.path.unlink(missing_ok=True)  # while this process holds the lock
        journal.close()
        _remove_if_empty(folder)


def _campaign(
    arguments: argparse.Namespace, folder: Path, journal: Journal, builds: Mapping[str, Path]
) -> int:
    """Measures and writes what is missing; returns what run_campaign() does."""
    variants = (AGAIN, SLOWER) if arguments.slow_down else (AGAIN,)
    deadline = arguments.budget and time.monotonic() + arguments.budget
    plan = make_or_recall_plan(journal, builds, variants, arguments.budget)
    if deadline and time.monotonic() > deadline:
        raise Failure(
            "making the traces has taken the whole budget; they are kept, and the same command measures"
        )
    rounds = arguments.rounds or plan.rounds
    options = Options(
        cache=CACHE,
        rounds=rounds,
        deadline=deadline,
        memory=arguments.memory or _four_fifths_of_memory() // arguments.jobs,
        cell_seconds=arguments.cell_seconds,
        processor=_processor(arguments.processor),
        slow_down=arguments.slow_down or 0,
        retry=arguments.retry,
        jobs=arguments.jobs,
    )
    if arguments.jobs > 1 and plan.suite != FAULTS:
        raise UsageError(
            f"--jobs is for the suite {FAULTS}, which measures no cost; {plan.suite} measures one cell at "
            "a time"
        )
    if len(arguments.passes) > 1 and not plan.is_replayed:
        raise UsageError(
            f"--passes are for suites of replays, and {plan.suite} is on the wall clock"
        )
    passes = [name for name in arguments.passes if name != "counters" or _counts(plan)]
    if len(passes) < len(arguments.passes):
        say(
            "This machine has no perf counters for us: that pass is left out; see timerbench doctor"
        )
    unverified = known_failures(plan, journal, retry=options.retry)
    runners = [Runner(plan, journal, options, unverified)]
    for pass_ in passes[1:]:
        runners.append(Runner(plan, journal, options, unverified, pass_, runners[0]))
    complaints = []
    code = 0
    is_finished = all(runner.settled == runner.total for runner in runners)
    if is_finished and not deadline:
        files = [PASSES[runner.pass_] for runner in runners]
        if "" in plan.builds:
            files.append("table.md")  # the last file that is written
        if all(_is_written(folder / file, journal) for file in files):
            told = "; ".join(str(runner) for runner in runners)
            say(f"Nothing to do: {shown(folder)} has {told}")
            if "" in plan.builds:
                _print_table(folder)
        else:  # the campaign was ended after the last measurement
            _write_all(folder, plan, runners, journal)
    else:
        with Stop() as stop:
            usual = "" if rounds == plan.rounds else f"--rounds={rounds}"
            extent = f"--budget={arguments.budget:g}s" if deadline else usual
            _begin_run(journal, plan, next(iter(builds.values())), extent)
            unverified = verify(plan, journal, unverified, options.memory, stop)
            begin = time.monotonic()
            above = partial(table_so_far, plan)
            for runner in runners:
                runner.unverified = unverified
                runner.run(stop, above)
            if deadline and not stop.is_set:
                runners[0].run_widest(stop, above)
        told = "; ".join(str(runner) for runner in runners)
        took = duration(time.monotonic() - begin)
        if stop.is_set:
            code = INTERRUPTED
            complaints.append(
                f"interrupted after {took} at {told}; the same command goes on where it was"
            )
        if not runners[0].chosen:
            raise Failure(
                "interrupted before anything was measured"
                if stop.is_set
                else "--budget: to check the backends took all of it, so nothing was measured; the verdicts are "
                "kept, so the same command measures"
            )
        say(f"Measured {told} in {took}")
        _write_all(folder, plan, runners, journal)
    bad = [cell.name for cell in plan.cells if runners[0].failure(cell).startswith(BAD)]
    if bad:
        complaints.append(f"cells failed: {', '.join(bad)}")
    for complaint in complaints:
        complain(f"scripts/bench: {complaint}")
    return code or bool(bad)


def _counts(plan: Plan) -> bool:
    """Whether the processor's counters are readable on this machine."""
    return "perf_counters" not in plan.facts["machine"].get("grade_reasons", "")


def _is_written(path: Path, journal: Journal) -> bool:
    """Whether the outputs are up to date with the journal."""
    return path.exists() and path.stat().st_mtime_ns >= journal.path.stat().st_mtime_ns


def _write_all(folder: Path, plan: Plan, runners: list[Runner], journal: Journal) -> None:
    for runner in runners:
        if runner.chosen:
            write_results(folder, plan, runner, journal, _facts(journal))
    if "" in plan.builds:  # else scripts/compare prints the result
        _report(folder)


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Returns this script's arguments, and the options for timerbench."""
    return arguments_of(argv, __doc__ or "")


def _folder(arguments: argparse.Namespace, choice: list[str]) -> Path:
    if arguments.out:
        return Path(arguments.out)
    suite, *options = choice
    name = Path(suite.partition("=")[2]).stem + (f"-{digest(options)[:6]}" if options else "")
    return ROOT / "results" / "local" / name


def _begun_there(folder: Path) -> list[str]:
    choice = choice_of(folder)
    assert choice
    return choice


def _command(choice: list[str]) -> str:
    """Returns the command as the user would type it."""
    suite, *options = choice
    return shlex.join(["scripts/bench", suite.partition("=")[2], *options])


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def make_or_recall_plan(
    journal: Journal,
    builds: Mapping[str, Path],
    variants: Sequence[str],
    budget: float | None = None,
) -> Plan:
    """Returns the journal's plan if these programs made it on this machine from the same suite and
    traces, because making traces takes time.

    Raises Failure if making the traces will take longer than the `budget`, in seconds.
    """
    choice = journal.head["choice"]
    told = {name: (path, _told(journal, choice, path, budget)) for name, path in builds.items()}
    facts = next(lines[0] for _, lines in told.values())
    # What survives is counted, and has no noise.
    twins = [] if facts["suite"] == FAULTS else twins_of(facts["backends"])
    return make_plan(choice, told, twins, variants)


def twins_of(backends: Mapping[str, Any]) -> list[str]:
    """Returns the chosen backends that are measured twice."""
    usual = [name for name in TWINS if name in backends]
    return usual or [name for name, one in backends.items() if one["precision"] in RANKED][:1]


def _with_control(choice: list[str]) -> list[str]:
    """Returns the choice, with the control added to the named backends."""
    suite, *options = choice
    if suite.partition("=")[2] in (*FIGURES, FAULTS):
        return choice
    named = "--backends="
    return [suite, *(re.sub(f"^{named}", f"{named}{CONTROL},", option) for option in options)]


def _told(
    journal: Journal, choice: list[str], timerbench: Path, budget: float | None
) -> list[dict[str, Any]]:
    """Returns what the program prints about the choice and the control."""
    choice = _with_control(choice)
    binary = hashlib.sha256(timerbench.read_bytes()).hexdigest()
    project = timerbench.parents[2]  # its build/release has the program
    key = digest([binary, machine_key(), choice_key(choice, project)])
    for line in journal.of_kind("plan"):
        if line["key"] == key:
            return list(line["lines"])
    lines: list[dict[str, Any]] = []
    forecast = None
    with Bar("Making traces", 0) as bar:
        for line in prepare(timerbench, choice, CACHE):
            lines.append(line)
            if len(lines) == 1:
                bar.begin(line["inputs"])
                if budget is not None:
                    forecast = Forecast(line.get("sizes", []), budget)
                continue
            bar.quiet_step(f"{line['workload']}/{line['size']}")
            if why := no_room_in(line.get("failure", "")):
                raise Failure(
                    f"{CACHE}: {why}, so traces cannot be kept; make room there, and the "
                    "same command goes on"
                )
            if forecast:
                forecast.check()
    journal.append("plan", key=key, lines=lines)
    return lines


def _begin_run(journal: Journal, plan: Plan, timerbench: Path, extent: str) -> None:
    """Writes the facts of this start to the journal. `extent`: the option for rounds or time, unless the
    suite's default.
    """
    machine = {key: plan.facts["machine"][key] for key in ("processor", "kernel")}
    facts = {"command": journal.head["command"], **_commit(), **machine}
    if (busy := busy_processors()) > 0.5:
        facts["busy"] = f"{busy:.1f} of {os.cpu_count()} processors"
        say(f"Warning: other programs keep {facts['busy']} busy; the figures will be worse")
    limits = _limits(timerbench)
    now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    journal.append("run", limits=limits, time=now, facts=facts, extent=extent)


def _limits(timerbench: Path) -> dict[str, Any]:
    """Returns the limits of the machine, which are the control of all figures."""
    command = tied(timerbench, "limits", "--json")
    run = subprocess.run(command, capture_output=True, text=True)
    try:
        return dict(json.loads(run.stdout))
    except ValueError:
        return {}


def _facts(journal: Journal) -> dict[str, str]:
    """Returns the facts of all starts; for the load of the machine, the maximum."""
    facts: dict[str, dict[str, None]] = {}
    for run in journal.of_kind("run"):
        for key, value in run["facts"].items():
            facts.setdefault(key, {})[value] = None
    joined = {key: "; ".join(values) for key, values in facts.items()}
    if "busy" in facts:
        joined["busy"] = max(facts["busy"], key=lambda text: float(text.split()[0]))
    return joined


def _commit() -> dict[str, str]:
    """Returns the commit of the project; nothing if it is no checkout."""
    describe = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        run = subprocess.run(describe, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"commit": run.stdout.strip()}


def busy_processors() -> float:
    """Returns how many processors other programs use, measured for one second before the campaign."""

    def idle_and_all() -> tuple[int, int]:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        return ticks[3] + ticks[4], sum(ticks)

    idle, all_ = idle_and_all()
    time.sleep(1)
    idle_then, all_then = idle_and_all()
    share = 1 - (idle_then - idle) / max(1, all_then - all_)
    return share * (os.cpu_count() or 1)


def _processor(wanted: int | None) -> int | None:
    """Returns the last usable processor, which leaves the others to this script; None if there is
    only one.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if wanted is not None and wanted not in allowed:
        raise UsageError(f"--processor: {wanted} is not one of {', '.join(map(str, allowed))}")
    return wanted if wanted is not None or len(allowed) == 1 else allowed[-1]


def _four_fifths_of_memory() -> int:
    """Returns four fifths of the memory that is available without swapping."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    free = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    return free * 1024 // 5 * 4


def _print_table(folder: Path) -> None:
    say()
    print_table(open_report([folder]))


def _report(folder: Path) -> None:
    """Prints and draws the results; the measurements are already saved."""
    report = open_report([folder])
    say()
    print_table(report)
    say()
    say("Drawing ...")
    # Imported late: loading takes half a second, and a finished campaign does not need it.
    from plot import write_report

    paths = write_report(report, folder)
    files = [
        folder / JOURNAL,
        *sorted(folder.glob("*.json")),
        *sorted(folder.glob("*.json.gz")),
        *paths,
    ]
    say(f"{shown(folder)} has {', '.join(path.name for path in files)}")
    say(f"One page of it all: scripts/report {shown(folder)}")
    for warning in report.warnings():
        complain(f"scripts/bench: {warning}")


if __name__ == "__main__":
    run_main("scripts/bench", main)
