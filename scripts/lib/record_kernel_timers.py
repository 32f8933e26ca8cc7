"""Records the timers of this machine's kernel while your load runs, and makes a trace of them.

The recording takes 10 seconds, or --seconds, or as long as the COMMAND after -- runs. The trace is
NAME.npy and NAME.json; scripts/bench --trace=NAME replays it. Ctrl-C ends the recording early and
keeps the events so far; a second Ctrl-C gives up.

  sudo ./scripts/record-kernel-timers --seconds 10 my_load
  sudo ./scripts/record-kernel-timers my_load -- ./my_server --port 8080

The trace has every timer that the kernel arms, cancels or runs for any program: timers of
connections, disks and drivers. It lacks the timers that programs keep themselves, and the kernel's
high-resolution timers: sleeps, the time-outs of poll and epoll, timerfd.

The script needs root for the kernel's tracing. COMMAND runs as the user who called sudo, and all
files belong to that user. No setting of the kernel changes: events go to a tracing instance of
their own, which is removed at the end. They wait in --buffer-mb of memory for each CPU and are read
when a quarter of it is full. So a short recording does not disturb the load, and a long one needs
only disk space.
"""

import argparse
import contextlib
import gzip
import json
import lzma
import math
import os
import pwd
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from console import ArgumentParser, Failure, UsageError, run_main, say
from files import replacing
from kernel_tracing import Instance, State, own_instance, tracefs
from words import power

SCRIPT = "scripts/record-kernel-timers"
ROOT = Path(__file__).resolve().parents[2]
TIMERBENCH = ROOT / "build" / "release" / "timerbench"

CONFIGS = (
    "/boot/config-{release}",
    "/proc/config.gz",
    "/lib/modules/{release}/config",
    "/lib/modules/{release}/build/.config",
)

LOOK_EVERY = 0.1  # seconds
READ_ABOVE = 0.25  # share of a buffer
READS_AT_A_TIME = 256  # some kilobytes each, between checks of the time


def main() -> int:
    arguments = _parse(sys.argv[1:])
    _check_requirements()
    hz = arguments.hz or _configured_hz()
    caller = Caller()
    interrupts = Interrupts()
    _check_places(arguments, caller)
    kernel = os.uname().release
    with _temporary_file(Path(arguments.name).parent, caller) as raw:
        raw.write(f"# kernel {kernel} CONFIG_HZ={hz:g} trace_clock=mono\n".encode())
        with tracefs() as place, own_instance(place, arguments.buffer_mb) as instance:
            seconds, code = _record(instance, raw, arguments, caller, interrupts)
            cpus = instance.state().cpus
        if arguments.keep_raw:
            _keep_raw(raw, arguments.keep_raw, caller, interrupts)
        what = shlex.join(arguments.command) or f"{seconds:.1f} s"
        source = f"Linux {kernel} kernel timers, HZ={hz:g}, {cpus} CPUs: {what}"
        _import(raw, arguments.name, source, caller, interrupts)
    _report(arguments.name, seconds)
    if code:
        raise Failure(f"{arguments.command[0]}: ended with code {code}; the trace is kept")
    return 0


# ---- What is asked for, and what it takes ----


def _parse(argv: list[str]) -> argparse.Namespace:
    """Returns this script's arguments; everything after -- is the command."""
    parser = ArgumentParser(
        prog=SCRIPT,
        usage=f"{SCRIPT} [OPTION]... NAME [-- COMMAND...]",
        description=__doc__,
    )
    parser.add_argument(
        "name", metavar="NAME", help="name of the trace: writes NAME.npy and NAME.json"
    )
    parser.add_argument(
        "--seconds", type=_positive(float), metavar="N", help="how long to record (default: 10)"
    )
    parser.add_argument(
        "--buffer-mb",
        type=_positive(int),
        default=32,
        metavar="N",
        help="memory for events, for each CPU (default: 32)",
    )
    parser.add_argument(
        "--hz",
        type=_positive(float),
        metavar="N",
        help="CONFIG_HZ of the running kernel (default: what its configuration says)",
    )
    parser.add_argument(
        "--keep-raw",
        type=Path,
        metavar="FILE",
        help="keep the kernel's text in FILE; compressed if it ends with .xz",
    )
    end = argv.index("--") if "--" in argv else len(argv)
    arguments = parser.parse_args(argv[:end])
    arguments.command = argv[end + 1 :]
    if end < len(argv) and not arguments.command:
        parser.error("there is no COMMAND after --")
    if arguments.command and arguments.seconds:
        parser.error("--seconds or COMMAND, not both; 'timeout 10 COMMAND' ends one after 10 s")
    arguments.seconds = arguments.seconds or 10
    return arguments


def _positive(type_: type) -> Callable[[str], Any]:
    def number(text: str) -> Any:
        try:
            if 0 < (value := type_(text)) < 1e6:
                return value
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"'{text}' is not a number between 0 and a million")

    return number


def _check_requirements() -> None:
    if os.geteuid() != 0 and "TIMERBENCH_TRACEFS" not in os.environ:
        script = os.path.relpath(ROOT / SCRIPT)
        raise Failure(f"needs root; type: sudo {shlex.join([script, *sys.argv[1:]])}")
    if not TIMERBENCH.exists():
        raise Failure(f"{TIMERBENCH}: not built yet; run ./scripts/bench smoke, which builds it")


def _configured_hz() -> float:
    """Returns CONFIG_HZ of the running kernel; getconf CLK_TCK is another value, for programs."""
    release = os.uname().release
    for place in CONFIGS:
        path = place.format(release=release)
        try:
            text = Path(path).read_bytes()
            text = gzip.decompress(text) if path.endswith(".gz") else text
        except (OSError, EOFError, zlib.error):
            continue
        if hz := re.search(rb"^CONFIG_HZ=(\d+)$", text, re.MULTILINE):
            return float(hz[1])
    raise Failure(
        f"CONFIG_HZ of kernel {release} is neither in /boot/config-{release} nor in "
        "/proc/config.gz; give --hz, usually 250, 1000, 100 or 300"
    )


def _check_places(arguments: argparse.Namespace, caller: "Caller") -> None:
    """Checks before the recording that the files can be written."""
    name, raw = Path(arguments.name), arguments.keep_raw
    if arguments.name.endswith("/") or name.name in ("", ".."):
        raise UsageError(f"{arguments.name}: is a folder; add a name")
    if raw and raw.exists() and not raw.is_file():
        raise UsageError(f"{raw}: is no file; choose another --keep-raw")
    with caller.acting():
        for folder in [name.parent, *([raw.parent] if raw else [])]:
            if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
                raise Failure(f"{folder}: is no folder to write to; make it, or choose another")


class Caller:
    """The user who called sudo. The files belong to this user, and only what needs root runs as
    root.
    """

    def __init__(self) -> None:
        uid = os.environ.get("SUDO_UID") if os.geteuid() == 0 else None
        self._account = pwd.getpwuid(int(uid)) if uid else None

    @contextlib.contextmanager
    def acting(self) -> Iterator[None]:
        """Files opened in this context are opened with the caller's rights."""
        if not self._account:
            yield
            return
        os.setegid(self._account.pw_gid)
        os.seteuid(self._account.pw_uid)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)

    def start(self, command: list[str], **options: Any) -> "subprocess.Popen[bytes]":
        if account := self._account:
            name, home = account.pw_name, account.pw_dir
            options |= {
                "user": account.pw_uid,
                "group": account.pw_gid,
                "extra_groups": os.getgrouplist(name, account.pw_gid),
                "env": os.environ | {"HOME": home, "USER": name, "LOGNAME": name},
            }
        try:
            return subprocess.Popen(command, **options)
        except OSError as error:
            raise Failure(f"{command[0]}: {error.strerror}; give a program's path") from error


class Interrupts:
    """Counts Ctrl-C and similar signals without interrupting. The script checks them where it can
    end safely, so cleanup always runs.
    """

    def __init__(self) -> None:
        self.heard = False
        self._last = -1.0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._hear)

    def _hear(self, *_: object) -> None:
        now = time.monotonic()
        if now > self._last + 1:  # else the same request, sent to the process and its group
            self.heard = True
            self._last = now

    def taken(self) -> bool:
        """Whether there was one; resets the count."""
        heard, self.heard = self.heard, False
        return heard

    def check(self) -> None:
        """Gives up if there was one."""
        if self.taken():
            raise KeyboardInterrupt


# ---- Recording ----


@contextlib.contextmanager
def _temporary_file(folder: Path, caller: Caller) -> Iterator[IO[bytes]]:
    """Yields a nameless file beside the trace: there is room for it, and it never remains."""
    try:
        with caller.acting():
            file = tempfile.TemporaryFile(dir=folder)
        with file:
            yield file
    except OSError as error:
        where = error.filename or folder
        raise Failure(f"{where}: {error.strerror}; make room, or choose another NAME") from error


def _record(
    instance: Instance,
    raw: IO[bytes],
    arguments: argparse.Namespace,
    caller: Caller,
    interrupts: Interrupts,
) -> tuple[float, int]:
    """Returns the duration in seconds and the command's exit code; 0 without a command."""
    interrupts.check()
    command: list[str] = arguments.command
    how_long = f"while {command[0]} runs" if command else f"for {arguments.seconds:g} s"
    say(f"Recording the kernel's timers {how_long}; Ctrl-C ends it and keeps what is there ...")
    instance.start()
    begin = time.monotonic()
    with _running(command, caller) as program:
        while (left := _time_left(program, begin + arguments.seconds)) and not interrupts.heard:
            fill = _check_complete(instance, arguments.buffer_mb).fill
            if fill < READ_ABOVE or not _read(instance, raw, READS_AT_A_TIME):
                time.sleep(min(LOOK_EVERY, left))
        instance.stop()
        seconds = time.monotonic() - begin
        # The exit code of an interrupted command is meaningless.
        code = program.poll() if program and not interrupts.heard else None
        if interrupts.taken():
            say("Ending the recording; once more gives up")
    while _read(instance, raw, READS_AT_A_TIME):
        interrupts.check()
    _check_complete(instance, arguments.buffer_mb)
    raw.flush()
    return seconds, code or 0


@contextlib.contextmanager
def _running(command: list[str], caller: Caller) -> "Iterator[subprocess.Popen[bytes] | None]":
    """Runs the command, if there is one, and ends it at the end if it still runs."""
    if not command:
        yield None
        return
    program = caller.start(command)
    try:
        yield program
    finally:
        # Ctrl-C has reached the command too; it may end by itself.
        for end in (program.terminate, program.kill):
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(timeout=2)
                break
            end()
        program.wait()


def _time_left(program: "subprocess.Popen[bytes] | None", end: float) -> float:
    """Returns the remaining seconds; infinite while the program runs."""
    if program:
        return math.inf if program.poll() is None else 0
    return max(0, end - time.monotonic())


def _read(instance: Instance, raw: IO[bytes], times: int) -> bool:
    """Reads from the kernel's buffers; returns whether there may be more."""
    for _ in range(times):
        lines = instance.read()
        if not lines:
            return False
        raw.write(lines)
    return True


def _check_complete(instance: Instance, buffer_mb: int) -> State:
    """Raises Failure if events were lost: the trace would have timers that were never armed or
    cancelled.
    """
    state = instance.state()
    if state.lost:
        raise Failure(
            f"{state.lost} events were lost, since more came than were read; "
            f"give --buffer-mb {4 * buffer_mb}, or record a shorter time"
        )
    return state


# ---- What becomes of it ----


def _keep_raw(raw: IO[bytes], file: Path, caller: Caller, interrupts: Interrupts) -> None:
    """Writes the kernel's text after a header line that the import needs."""
    raw.seek(0)
    try:
        with caller.acting(), replacing(file) as partial:
            compressed = file.suffix == ".xz"
            with lzma.open(partial, "wb", preset=1) if compressed else partial.open("wb") as out:
                while block := raw.read(1 << 20):
                    out.write(block)
                    interrupts.check()
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}; make room, or choose another place") from error


def _import(raw: IO[bytes], name: str, source: str, caller: Caller, interrupts: Interrupts) -> None:
    say(f"Importing {raw.tell() / 1e6:.1f} MB ...")
    command = [TIMERBENCH, "trace", "import", "--format=ftrace", f"--source={source}"]
    program = caller.start([*map(str, command), "/dev/stdin", name], stdin=raw, process_group=0)
    try:
        while program.poll() is None:
            interrupts.check()
            time.sleep(0.02)
    finally:
        program.terminate()
        code = program.wait()
    if code:
        raise Failure(f"the import ended with code {code}, see above; --keep-raw keeps its input")


def _report(name: str, seconds: float) -> None:
    sidecar = Path(re.sub(r"\.(npy|json)$", "", name) + ".json")
    events = json.loads(sidecar.read_text(encoding="utf-8"))["parameters"]
    cancels = events["cancels"] - events["moves"] - events["detaches"]
    say(
        f"Recorded {seconds:.1f} s: timers armed {power(events['starts'] - events['moves'])}, "
        f"moved {power(events['moves'])}, cancelled {power(cancels)}, "
        f"expired {power(events['expiries'])}"
    )
    say("What it consists of, and what each structure would cost you on it:")
    say(f"  {os.path.relpath(TIMERBENCH)} trace stat {shlex.quote(name)}")
    say(f"  {os.path.relpath(ROOT / 'scripts' / 'bench')} --trace={shlex.quote(name)}")


if __name__ == "__main__":
    run_main(SCRIPT, main)
