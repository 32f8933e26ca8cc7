"""Records the kernel's timer events without changing any other trace settings.

The kernel supports tracing instances: a folder of tracefs with its own buffers and settings, made
by mkdir and removed by rmdir. Nothing outside of it changes, so nothing has to be restored.
"""

import contextlib
import errno
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from console import Failure, warn

EVENTS = ("timer_start", "timer_cancel", "timer_expire_entry")  # the events that the import reads

PLACES = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
NAME = "timerbench"  # of an instance; followed by the process ID

# The text format that the import reads. A new instance copies the options of the main one, which
# may have been changed. Other options stay unset here: record-cmd, for one, would change all
# instances.
OPTIONS = {"context-info": 1, "raw": 0, "hex": 0, "bin": 0, "fields": 0, "verbose": 0}
# The kernel frees the buffers when free_buffer is closed, even by SIGKILL. With this option it also
# stops tracing.
OPTIONS |= {"disable_on_free": 1}


@contextlib.contextmanager
def tracefs() -> Iterator[Path]:
    """Yields the path of tracefs; if it is not mounted, mounts it for this process alone."""
    given = os.environ.get("TIMERBENCH_TRACEFS")  # for tests
    for place in [given] if given else PLACES:
        if Path(place, "events").is_dir():
            yield Path(place)
            return
    if given:
        raise Failure(f"{given}: no tracefs there; unset TIMERBENCH_TRACEFS")
    root = _mount_for_this_process()
    try:
        yield Path(f"/proc/{os.getpid()}/fd/{root}")
    finally:
        os.close(root)


def _mount_for_this_process() -> int:
    """Returns the root of the mount as an open file. It has no path, and closing it unmounts it."""
    folder = tempfile.mkdtemp(prefix="timerbench-tracefs-")
    try:
        _run("mount", "-t", "tracefs", "none", folder)
        try:
            return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        finally:
            _run("umount", "--lazy", folder)
    finally:
        os.rmdir(folder)


def _run(*command: str) -> None:
    """Runs a command that Ctrl-C does not reach."""
    try:
        subprocess.run(command, capture_output=True, text=True, check=True, process_group=0)
    except (OSError, subprocess.CalledProcessError) as error:
        said = error.stderr if isinstance(error, subprocess.CalledProcessError) else ""
        complaint = said.split("\n")[0].rstrip(".") or str(error)
        raise Failure(
            f"{complaint}; that takes a kernel with CONFIG_EVENT_TRACING and root's full rights, "
            "which in a container only --privileged gives: record on the host instead"
        ) from error


@contextlib.contextmanager
def own_instance(place: Path, buffer_mb: int) -> Iterator["Instance"]:
    """Yields a new instance that is ready to record, and removes it at the end."""
    instances = place / "instances"
    if not instances.is_dir():
        raise Failure(f"{instances}: this kernel has none, and others' settings are not touched")
    _remove_stale(instances)
    folder = instances / f"{NAME}-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        raise Failure(
            f"{folder}: {error.strerror}; in a container record on the host instead"
        ) from error
    try:
        with contextlib.closing(Instance(folder, buffer_mb)) as instance:
            yield instance
    finally:
        _remove(folder)


def _remove_stale(instances: Path) -> None:
    """Removes the instances of killed processes. An instance that records is in use and cannot be
    removed.
    """
    for folder in instances.glob(f"{NAME}-*"):
        pid = folder.name.removeprefix(f"{NAME}-")
        is_dead = pid.isdigit() and not Path("/proc", pid).exists()
        if is_dead or pid == str(os.getpid()):
            with contextlib.suppress(OSError):
                folder.rmdir()


def _remove(folder: Path) -> None:
    """Waits briefly for other readers of the folder. If it cannot be removed, the recording is
    still good.
    """
    for _ in range(20):
        try:
            return folder.rmdir()
        except OSError as error:
            complaint = error.strerror
            if error.errno != errno.EBUSY:
                break
        time.sleep(0.1)
    warn(f"tracefs: instances/{folder.name}: {complaint}; idle, and the next start removes it")


class State(NamedTuple):
    """The state of the buffers."""

    fill: float  # the used share of the fullest CPU's buffer
    lost: int  # events that were dropped or overwritten before they were read
    cpus: int


class Instance:
    """Records the timer events of all CPUs; each CPU has a buffer."""

    def __init__(self, folder: Path, buffer_mb: int) -> None:
        self._folder = folder
        self._buffer_bytes = buffer_mb << 20
        self._files = contextlib.ExitStack()
        try:
            self._open("free_buffer", os.O_WRONLY)
            self._set("tracing_on", 0)
            self._set_up(buffer_mb)
            self._pipe = self._open("trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
            names = [path.relative_to(folder) for path in folder.glob("per_cpu/*/stats")]
            self._stats = [self._open(name, os.O_RDONLY) for name in names]
        except BaseException:
            self.close()
            raise

    def _set_up(self, buffer_mb: int) -> None:
        for event in EVENTS:
            if not (self._folder / "events/timer" / event).is_dir():
                raise Failure(f"this kernel has no event timer:{event}; record on another one")
        self._set("trace_clock", "mono")
        for option, value in OPTIONS.items():
            if (self._folder / "options" / option).exists():  # old kernels have fewer
                self._set(f"options/{option}", value)
        try:
            self._set("buffer_size_kb", buffer_mb << 10)
        except Failure as failure:
            raise Failure(f"{failure}; --buffer-mb {buffer_mb} for each CPU is too much") from None
        for event in EVENTS:
            self._set(f"events/timer/{event}/enable", 1)

    def start(self) -> None:
        self._set("tracing_on", 1)

    def stop(self) -> None:
        self._set("tracing_on", 0)

    def read(self) -> bytes:
        """Returns the next lines, oldest first; nothing if there are none."""
        try:
            return os.read(self._pipe, 1 << 16)
        except BlockingIOError:
            return b""

    def state(self) -> State:
        losses = ("overrun", "commit overrun", "dropped events")
        cpus = [_parse(os.pread(file, 4096, 0)) for file in self._stats]
        return State(
            max(cpu["bytes"] for cpu in cpus) / self._buffer_bytes,
            sum(cpu.get(loss, 0) for cpu in cpus for loss in losses),
            len(cpus),
        )

    def close(self) -> None:
        self._files.close()

    def _open(self, name: str | Path, flags: int) -> int:
        try:
            file = os.open(self._folder / name, flags)
        except OSError as error:
            raise self._failure(name, error) from error
        self._files.callback(os.close, file)
        return file

    def _set(self, name: str, value: object) -> None:
        try:
            (self._folder / name).write_text(f"{value}\n")
        except OSError as error:
            raise self._failure(name, error) from error

    def _failure(self, name: str | Path, error: OSError) -> Failure:
        return Failure(f"tracefs: instances/{self._folder.name}/{name}: {error.strerror}")


def _parse(stats: bytes) -> dict[str, int]:
    """Parses the lines "name: number". They must come from one read(), because the kernel renders
    them anew for each.
    """
    return {name: int(value) for name, value in re.findall(r"(.+): +(\d+)\n", stats.decode())}
