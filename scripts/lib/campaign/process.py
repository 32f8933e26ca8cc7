"""Measures one cell once, in a process of its own that is bound to a processor and has limits."""

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
from pathlib import Path
from typing import Any

from campaign.scratch import require_room
from console import Failure, Stop

# How often the memory of a process is checked.
SECONDS_BETWEEN_LOOKS = 0.1

STATUSES = ("wrong", "timeout", "oom", "crash", "error", "unavailable", "limit", "skipped")


@dataclass(frozen=True)
class Limits:
    """The limits of one process."""

    seconds: float
    memory: int  # bytes
    processor: int | None = None  # to which the process is bound


@dataclass
class Measurement:
    """The outcome of a measurement."""

    status: str  # ok, noisy or one of STATUSES
    seconds: float  # wall-clock time of the whole process
    failure: str = ""  # the status and an explanation; empty if there is a figure
    entry: dict[str, Any] = field(default_factory=dict)  # the entry in Google Benchmark's format
    context: dict[str, Any] = field(default_factory=dict)
    distributions: list[Any] = field(default_factory=list)

    @property
    def disturbance(self) -> float:
        """How disturbed the measurement was. The least disturbed of several attempts is kept."""
        moved = self.entry.get("migrations", 0) + self.entry.get("major_faults", 0)
        return float(moved + self.entry.get("away_share", 0))


def tied(*command: object) -> list[str]:
    """Returns a command that runs this one, which the kernel kills when this process ends, even by
    SIGKILL. Run by another process, or when this one has ended before the kernel knew, it ends at once.
    """
    is_ours = '[ "$PPID" = "$0" ] && exec "$@"'
    tying = ("setpriv", "--pdeathsig=KILL", "/bin/sh", "-c", is_ours, os.getpid())
    return [*map(str, (*tying, *command))]


class Interrupted(Exception):
    """The user asked to end the campaign."""


def measure(
    command: Sequence[str], cell: str, scratch: Path, limits: Limits, stop: Stop, *, sleeps: bool
) -> Measurement:
    """Runs 'timerbench run' for one cell.

    `scratch` is an empty folder for its output. `sleeps`: the cell waits for a server or the clock,
    so time off the processor is no sign of disturbance. Raises Interrupted. Raises Failure if the
    disk is full, because that is not the backend's failure.
    """
    out = scratch / "cell.json"
    log = scratch / "cell.log"
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
    """Counts the instructions of one replay under callgrind; they do not depend on the load of the
    machine.
    """
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
    """Returns the exit code, or None if the limit has passed. On return, the process and all its
    children have ended.
    """
    program = subprocess.Popen(
        tied(*command),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        process_group=0,
    )

    def kill() -> None:
        with contextlib.suppress(ProcessLookupError):  # all have ended
            os.killpg(program.pid, signal.SIGKILL)

    try:
        with stop.killing(kill):
            with contextlib.suppress(ProcessLookupError):  # it has ended
                _limit(program.pid, limits)
            return program.wait() if _ends_in_time(program, limits) else None
    finally:
        kill()
        program.wait()


def _limit(pid: int, limits: Limits) -> None:
    """Raises Failure if it cannot be bound to its processor, for its figures would be others'."""
    with contextlib.suppress(PermissionError, ValueError):  # the system may set a lower limit
        resource.prlimit(pid, resource.RLIMIT_DATA, (limits.memory, limits.memory))
    # If the machine runs out of memory, the kernel shall kill this process.
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000", encoding="ascii")
    if limits.processor is not None:
        try:
            os.sched_setaffinity(pid, {limits.processor})
        except ProcessLookupError:
            raise
        except OSError as error:
            raise Failure(
                f"cannot bind a process to processor {limits.processor}: {error}"
            ) from None


def _ends_in_time(program: "subprocess.Popen[bytes]", limits: Limits) -> bool:
    """Waits for the end of the process. Kills it if it takes too much memory, because RLIMIT_DATA
    does not count shared mappings.

    Popen.wait(timeout) polls every 50 ms, which is half the time of a short cell.
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
    """Returns the bytes that only the end of the process frees. Pages of files do not count; the
    kernel can drop them.
    """
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
