"""One cell, measured once by a process of its own: bound to a processor, and within limits."""

import contextlib
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from campaign.scratch import clear, require_room
from console import Stop

# How often a process is asked for its memory.
SECONDS_BETWEEN_LOOKS = 0.1

# Before a command: it ends with us, even if we are killed.
TIED = ("setpriv", "--pdeathsig", "KILL")

STATUSES = ("wrong", "timeout", "oom", "crash", "error", "unavailable", "skipped")


@dataclass(frozen=True)
class Limits:
    """For one process."""

    seconds: float
    memory: int  # bytes
    processor: int | None = None  # to which it is bound


@dataclass
class Measurement:
    """What became of it."""

    status: str  # ok, noisy or one of STATUSES
    seconds: float  # that it took, all included
    failure: str = ""  # not empty: the status, and what is to be said
    entry: dict[str, Any] = field(default_factory=dict)  # Google Benchmark's
    context: dict[str, Any] = field(default_factory=dict)
    distributions: list[Any] = field(default_factory=list)

    @property
    def disturbance(self) -> float:
        """To be compared: of several measurements the least disturbed is kept."""
        moved = self.entry.get("migrations", 0) + self.entry.get("major_faults", 0)
        return float(moved + self.entry.get("away_share", 0))


class Interrupted(Exception):
    """The user wants the campaign to end."""


def measure(
    command: Sequence[str], cell: str, scratch: Path, limits: Limits, stop: Stop, *, sleeps: bool
) -> Measurement:
    """Runs 'timerbench run' for one cell.

    `scratch` is a folder for its output. `sleeps`: the cell waits by its nature, for a server or the
    clock, so that being away from the processor says nothing. Raises Interrupted; and Failure if it
    failed since the disk is full, which is nobody's result.
    """
    out = scratch / "cell.json"
    log = scratch / "cell.log"
    clear(scratch)
    filter_ = "^" + re.sub(r"([^\w/])", r"[\1]", cell) + "(/manual_time|/iterations:1/manual_time)$"
    full = [*command, "--verified", f"--benchmark_filter={filter_}", f"--benchmark_out={out}"]
    begin = time.monotonic()
    with log.open("w", encoding="utf-8") as output:
        code = run_limited([*full, "--benchmark_repetitions=1"], output, limits, stop)
    if stop.is_urgent:
        raise Interrupted
    seconds = time.monotonic() - begin
    if code is None:
        return _failed(f"timeout: the process did not end within {limits.seconds:.0f} s", seconds)
    try:
        content = json.loads(out.read_text(encoding="utf-8"))
        entry = content["benchmarks"][0]
    except (OSError, ValueError, LookupError):
        failure = how_it_ended(code, log)
        require_room(scratch, failure)
        return _failed(failure, seconds)
    if entry.get("error_occurred"):
        message = str(entry.get("error_message") or "error")
        if message.startswith("interrupted"):
            raise Interrupted
        require_room(scratch, message)
        return _failed(message, seconds)
    result = Measurement("ok", seconds, entry=entry, context=content.get("context", {}))
    with contextlib.suppress(OSError, ValueError):
        beside = json.loads(out.with_suffix(".distributions.json").read_text(encoding="utf-8"))
        result.distributions = next(iter(beside.values()), [])
    if not sleeps and entry.get("disturbed"):
        result.status = "noisy"
    return result


def count_instructions(
    command: Sequence[str], cell: str, scratch: Path, limits: Limits, stop: Stop
) -> Measurement:
    """Runs one replay under callgrind: instructions, which do not depend on the neighbours."""
    valgrind = shutil.which("valgrind")
    if not valgrind:
        return _failed("unavailable: valgrind is not installed; apt-get install valgrind", 0.0)
    counts = scratch / "callgrind.out"
    callgrind = (
        valgrind,
        "--tool=callgrind",
        f"--callgrind-out-file={counts}",
        "--toggle-collect=*measured_replay*",
    )
    result = measure([*callgrind, *command], cell, scratch, limits, stop, sleeps=True)
    if result.failure:
        return result
    found = re.search(r"^(?:summary|totals): (\d+)", counts.read_text(), re.MULTILINE)
    if not found or not int(found[1]):
        return _failed("error: callgrind has counted nothing", result.seconds)
    result.entry["instructions_per_item"] = int(found[1]) / result.entry["items"]
    return result


def run_limited(command: Sequence[str], output: Any, limits: Limits, stop: Stop) -> int | None:
    """The exit code; None if the limit has passed. The process and all its children are gone then."""
    program = subprocess.Popen(
        [*TIED, *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        process_group=0,
    )
    kill = partial(os.killpg, program.pid, signal.SIGKILL)
    stop.kill = kill
    try:
        with contextlib.suppress(OSError):  # it may have ended
            resource.prlimit(program.pid, resource.RLIMIT_DATA, (limits.memory, limits.memory))
            # If the machine runs out of memory, this one is to go.
            Path(f"/proc/{program.pid}/oom_score_adj").write_text("1000", encoding="ascii")
            if limits.processor is not None:
                os.sched_setaffinity(program.pid, {limits.processor})
        return program.wait() if _ends_in_time(program, limits) else None
    finally:
        stop.kill = lambda: None
        with contextlib.suppress(OSError):
            kill()
        program.wait()


def _ends_in_time(program: "subprocess.Popen[bytes]", limits: Limits) -> bool:
    """Waits for it. One that takes too much memory is killed: RLIMIT_DATA does not count what is mapped
    shared.

    Popen.wait(timeout) looks every 50 ms, which would be half of what a short cell takes.
    """
    end = time.monotonic() + limits.seconds
    descriptor = os.pidfd_open(program.pid)
    try:
        while (left := end - time.monotonic()) > 0:
            if select.select([descriptor], [], [], min(left, SECONDS_BETWEEN_LOOKS))[0]:
                return True
            if _memory_of(program.pid) > limits.memory:
                os.killpg(program.pid, signal.SIGKILL)
        return False
    finally:
        os.close(descriptor)


def _memory_of(pid: int) -> int:
    """Bytes that come back only when it ends: not those of files, which the system can drop."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    kibibytes = re.findall(r"^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB", status, re.MULTILINE)
    return 1024 * sum(map(int, kibibytes))


def how_it_ended(code: int, log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    last = f"; its last words: {lines[-1][:200]}" if lines else ""
    if code == -signal.SIGKILL:
        return f"oom: killed: it took more than --memory, or the system has none left{last}"
    if code < 0:
        return f"crash: {signal.Signals(-code).name}{last}"
    if lines and "out of memory" in lines[-1]:
        return f"oom: {lines[-1][:200]}"
    return f"crash: exit code {code} and no results{last}"


def _failed(failure: str, seconds: float) -> Measurement:
    status = failure.partition(":")[0].strip()
    if status not in STATUSES:
        status, failure = "error", f"error: {failure}"
    return Measurement(status, seconds, failure)
