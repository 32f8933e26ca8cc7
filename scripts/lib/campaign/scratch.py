"""Temporary folders of campaigns, and of other measurements. Each removes its own at its end, and at
its start those of killed ones.

A campaign holds a lock on its folder. The system frees the lock when the process ends, even by
SIGKILL, so only folders of dead campaigns can be locked by others.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from console import Failure

PREFIX = "timerbench-campaign-"
ROOM = 1 << 20  # bytes; the results of one measurement need less

# How timerbench says so. A contender of another program may fail to write as well.
CANNOT = ("cannot write", "cannot keep", "cannot make")

# Messages of the system when no file can be written or opened.
NO_ROOM = tuple(
    os.strerror(code)
    for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.ENFILE)
)


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yields a folder that is removed at the end."""
    folder, lock = _locked_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _locked_folder() -> tuple[Path, int]:
    """Makes a folder and returns it with the descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Until it is locked, another campaign may take it for abandoned and remove it.
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def remove_abandoned() -> None:
    """Removes the folders of killed campaigns."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid != os.getuid():
                continue
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its campaign runs
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def no_room_in(failure: str) -> str:
    """Returns the system's message if the failure is that timerbench could not write a file, else an
    empty text.
    """
    if not any(what in failure for what in CANNOT):
        return ""
    return next((text for text in NO_ROOM if text in failure), "")


def require_room(folder: Path, failure: str) -> None:
    """Raises Failure if nothing can be written to the folder, or if `failure` says so."""
    if why := no_room_in(failure):
        raise _no_room(why)
    probe = folder / "room"
    try:
        probe.write_bytes(bytes(ROOM))
    except OSError as error:
        raise _no_room(str(error.strerror)) from None
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)


def _no_room(why: str) -> Failure:
    return Failure(
        f"{tempfile.gettempdir()}: {why}, so nothing can be measured; make room there, or set TMPDIR to "
        "another folder, and the same command goes on where it was"
    )
