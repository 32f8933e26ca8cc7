"""Measures a suite: installs what is missing, builds, verifies, runs, draws, and prints the table.

smoke, quick and full replay traces as fast as each structure goes: what operations cost. On the
wall clock, with services of several threads, are measured
  accuracy     how late timers fire, at which load, and why
  contention   calls per second and their tails, against the number of threads
  purgatory    requests that are answered or time out: processor time against their rate
The machine should be quiet for these. Services are audited in the runs, and not verified before.

Results go to results/local/DATE-TIME-SUITE, or to the DIR of --out: results.json, table.md and the
figures, and of the wall clock all distributions. Ctrl-C keeps what has been measured; a second one
ends at once.

Options that are not below are those of 'timerbench run', and narrow or change the suite:
  scripts/bench --backends=ring,kafka_wheel --sizes=1k,1M
  scripts/bench full --workloads=churn --benchmark_repetitions=9
  scripts/bench accuracy --workloads=rate --backends=system_timer,delay_queue --seconds=10
  scripts/bench purgatory --rate=20000 --pct50=20 --pct75=60 --timeout=200
build/release/timerbench run --help shows them all, and timerbench list what there is to choose.

Nothing is bound to a processor, since the kernel keeps a busy program where it is on a quiet
machine. Where it does not, taskset -c 1 scripts/bench ... binds the measuring program to processor
1; the redis-server that it starts still takes another.
"""

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from console import ArgumentParser, Failure, Progress, UsageError, duration, run_main, say
from files import replacing
from plot import print_table, write_report
from realtime_results import SUITES as REALTIME_SUITES
from reports import open_report

ROOT = Path(__file__).resolve().parents[2]
TIMERBENCH = ROOT / "build" / "release" / "timerbench"

# Flags of timerbench run that would leave this script without results.
NOT_TAKEN = ("--benchmark_out", "--benchmark_format", "--benchmark_list_tests")

VERIFY_SECONDS = 0.2  # of random traces, for each backend

CELL = re.compile(r"\[ *\d+/\d+\] (?P<name>\S+)")
FAILED_CELL = re.compile(r"\d\] \S+ +(wrong|error|unavailable|oom):")
INTERRUPTED_CELL = re.compile(r"\d\] \S+ +interrupted:")
VERIFIED = re.compile(r"(?P<name>\w+) +(?P<verdict>ok|a control|WRONG|ERROR|UNAVAILABLE)\b")
NOT_VERIFIED = re.compile(r"\w+ +(WRONG|ERROR|UNAVAILABLE)")


def main() -> int:
    arguments, options = _parse(sys.argv[1:])
    run = _run_command(arguments, options)
    cells = _list_cells(run)
    folder = _make_folder(arguments)
    try:
        complaints = _fill(folder, arguments, options, run, cells)
    except BaseException:
        if not any(folder.iterdir()):
            folder.rmdir()
        raise

    report = open_report([folder])
    say("Drawing ...")
    paths = write_report(report, folder)
    say()
    print_table(report)
    say()
    for path in (*sorted(folder.glob("results*.json")), *paths):
        say(os.path.relpath(path))
    for complaint in (*complaints, *report.warnings()):
        print(f"scripts/bench: {complaint}", file=sys.stderr)
    return 1 if complaints else 0


def _fill(
    folder: Path,
    arguments: argparse.Namespace,
    options: list[str],
    run: list[str],
    cells: list[str],
) -> list[str]:
    """Verifies, measures, and leaves results.json; what is to be said in the end."""
    facts = {"command": shlex.join(["scripts/bench", arguments.suite, *run[3:]]), **_commit()}
    if (busy := _busy_processors()) > 0.5:
        facts["busy"] = f"{busy:.1f} of {os.cpu_count()} processors"
        say(f"Warning: other programs keep {facts['busy']} busy; the figures will be worse")
    backends = list(dict.fromkeys(cell.split("/")[3] for cell in cells))
    is_replayed = cells[0].split("/")[0] not in REALTIME_SUITES
    verified, complaints = _verify(backends) if is_replayed else (backends, [])
    if verified != backends:  # what is not known to keep the contract is not timed
        facts["not_verified"] = ", ".join(name for name in backends if name not in verified)
        if not verified:
            raise Failure("no backend keeps the contract; see above, or timerbench verify")
        arguments.backends = ",".join(verified)
        run = _run_command(arguments, options)
        cells = [cell for cell in cells if cell.split("/")[3] in verified]
    complaints += _measure(run, cells, folder / "results.json")
    _add_facts(folder / "results.json", facts)
    return complaints


def _parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our own arguments, and what is for timerbench; the suite can only stand first."""
    parser = ArgumentParser(
        prog="scripts/bench",
        usage="scripts/bench [SUITE] [--out DIR] [OPTION OF timerbench run]...",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--suite",
        default="quick",
        metavar="SUITE",
        help="smoke, quick (if none is given), full, accuracy, contention or purgatory; the name "
        "alone will do",
    )
    parser.add_argument("--backends", metavar="LIST", help="separated by commas; none: all")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the results go")
    if argv and not argv[0].startswith("-"):
        argv = [f"--suite={argv[0]}", *argv[1:]]
    arguments, options = parser.parse_known_args(argv)
    for option in options:
        if option.startswith(NOT_TAKEN):
            parser.error(f"{option} is for build/release/timerbench run; results go to --out")
    return arguments, options


def _run_command(arguments: argparse.Namespace, options: list[str]) -> list[str]:
    backends = [f"--backends={arguments.backends}"] if arguments.backends else []
    return [str(TIMERBENCH), "run", f"--suite={arguments.suite}", *options, *backends]


def _list_cells(run: list[str]) -> list[str]:
    """The cells that a run would measure; timerbench says so if it does not understand."""
    listing = subprocess.run([*run, "--benchmark_list_tests"], stdout=subprocess.PIPE, text=True)
    if listing.returncode != 0:
        sys.exit(listing.returncode)
    cells = listing.stdout.split()
    if not cells:
        raise UsageError("the options leave no cell to measure; is --benchmark_filter too narrow?")
    return cells


def _make_folder(arguments: argparse.Namespace) -> Path:
    local = ROOT / "results" / "local" / f"{time.strftime('%Y%m%d-%H%M%S')}-{arguments.suite}"
    folder: Path = arguments.out or local
    if (folder / "results.json").exists():
        raise UsageError(f"{folder}: has results already; choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _commit() -> dict[str, str]:
    """Of the project, unless this is no checkout."""
    describe = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        run = subprocess.run(describe, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"commit": run.stdout.strip()}


def _busy_processors() -> float:
    """How many of them work for others, in the second before anything is measured."""

    def idle_and_all() -> tuple[int, int]:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        return ticks[3] + ticks[4], sum(ticks)

    idle, all_ = idle_and_all()
    time.sleep(1)
    idle_then, all_then = idle_and_all()
    share = 1 - (idle_then - idle) / max(1, all_then - all_)
    return share * (os.cpu_count() or 1)


def _verify(backends: Sequence[str]) -> tuple[list[str], list[str]]:
    """Who is to be measured, and what is to be said in the end: who fails does not stop the others.

    A backend whose server cannot be reached is measured, so that its cells say so.
    """
    progress = Progress("Verifying", backends, VERIFIED, NOT_VERIFIED)
    code, interrupted = _follow(
        [str(TIMERBENCH), "verify", f"--seconds={VERIFY_SECONDS}", *backends], progress
    )
    if interrupted:
        raise Failure("interrupted before anything was measured")
    verdicts = {step["name"]: step["verdict"] for step in progress.steps}
    good = [name for name in backends if verdicts.get(name) in ("ok", "a control")]
    say(f"{len(good)} of {len(backends)} backends keep the contract")
    complaints = []
    if failed := [name for name in backends if name in verdicts and name not in good]:
        complaints.append(f"{', '.join(failed)}: not verified; see above, or timerbench verify")
    if missed := [name for name in backends if name not in verdicts]:
        complaints.append(
            f"timerbench verify ended with code {code} at {missed[0]}; "
            f"not verified: {', '.join(missed)}"
        )
    measurable = ("ok", "a control", "UNAVAILABLE")
    return [name for name in backends if verdicts.get(name) in measurable], complaints


def _measure(run: list[str], cells: Sequence[str], file: Path) -> list[str]:
    begin = time.monotonic()
    progress = Progress("Measuring", cells, CELL, FAILED_CELL)
    code, interrupted = _follow([*run, f"--benchmark_out={file}"], progress)
    if not file.exists():
        if not _save_partial(file):
            raise Failure(f"timerbench run ended with code {code} and left no results")
        return [f"timerbench run ended with code {code}; what was measured before is kept"]
    say(f"Measured in {duration(time.monotonic() - begin)}")
    if interrupted:
        return [f"interrupted; what was measured is in {os.path.relpath(file.parent)}"]
    return [f"cells failed: {_names(progress) or f'code {code}'}"] if code else []


def _save_partial(file: Path) -> bool:
    """Makes results of what a crashed program has left, but for its last, perhaps cut entry."""
    partial = next(file.parent.glob(f"{file.name}.*.partial"), None)
    if not partial:
        return False
    try:
        begun = partial.read_text(encoding="utf-8")
        whole, _, _ = begun.rpartition("\n    },\n")
        content = json.loads(whole + "\n    }\n  ]\n}")
    except (OSError, ValueError):
        return False
    finally:
        partial.unlink()
    with replacing(file) as complete:
        complete.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return True


def _names(progress: Progress) -> str:
    """Of the notable steps."""
    return ", ".join(step["name"] for step in progress.notable)


def _follow(command: list[str], progress: Progress) -> tuple[int, bool]:
    """Runs a program; tells its exit code, and whether it was interrupted.

    The program is out of the terminal's reach. It hears from us of the first Ctrl-C, and finishes
    its file; the second ends it.
    """
    program = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    )
    first: float | None = None  # when it was interrupted

    def interrupt(*_: object) -> None:
        nonlocal first
        if first is None:
            first = time.monotonic()
            program.send_signal(signal.SIGINT)
            os.write(2, b"\nInterrupted: finishing; once more ends at once\n")
        elif time.monotonic() > first + 1:  # not the same wish, told to a process and its group
            program.kill()

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = [signal.signal(number, interrupt) for number in signals]
    try:
        assert program.stdout
        with progress:
            for line in program.stdout:
                if not INTERRUPTED_CELL.search(line):
                    progress.line(line.rstrip("\n"))
        return program.wait(), first is not None
    finally:
        program.kill()
        for number, handler in zip(signals, previous):
            signal.signal(number, handler)


def _add_facts(file: Path, facts: dict[str, str]) -> None:
    """timerbench cannot be told of them: its flag takes no commas and no equals signs."""
    content = json.loads(file.read_text(encoding="utf-8"))
    content["context"] |= facts
    with replacing(file) as partial:
        partial.write_text(json.dumps(content, indent=1), encoding="utf-8")


if __name__ == "__main__":
    run_main("scripts/bench", main)
