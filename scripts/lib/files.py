"""Writes files completely or not at all, refuses paths that are of no use, and formats paths for
messages.
"""

import argparse
import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from console import Failure, say


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary name to write to; the file is renamed when it is complete. Errors of the
    system name the file.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        if error.filename not in (None, partial, str(partial)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Waits until no other process is in here with this folder, and keeps others waiting."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def filled(document: Path, name: str, text: str) -> str:
    """Returns a document with this text between its lines <!-- NAME --> and <!-- end of NAME -->."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, begins, rest = document.read_text(encoding="utf-8").partition(f"{begin}\n")
    _, ends, after = rest.partition(f"{end}\n")
    if not begins or not ends:
        raise Failure(f"{document}: has no lines {begin} and {end} to write between")
    return f"{before}{begins}\n{text}\n{ends}{after}"


def fill(document: Path, name: str, text: str) -> None:
    """Writes this text between the lines <!-- NAME --> and <!-- end of NAME --> of a document."""
    whole = filled(document, name, text)
    with replacing(document) as partial:
        partial.write_text(whole, encoding="utf-8")


def add_into(parser: argparse.ArgumentParser) -> None:
    """Adds the option --into, whose value say_or_fill() takes."""
    parser.add_argument("--into", metavar="DOCUMENT", type=path_argument, help="write it into this")


def say_or_fill(text: str, document: Path | None, name: str) -> None:
    """Prints this text, or writes it between the lines of a document if there is one; see fill()."""
    if document is None:
        say(text)
    else:
        fill(document, name, text)


def make_folder(path: Path) -> None:
    """Makes the folder for results, and those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}; choose another --out") from None


def require_regular(path: Path, advice: str) -> None:
    """Raises Failure for a pipe, a device or a folder: reading it might never end."""
    if path.exists() and not path.is_file():
        raise Failure(f"{path}: is no regular file, so {advice}")


def path_argument(text: str) -> Path:
    """Parses the path of an option or argument."""
    if not text:
        raise argparse.ArgumentTypeError("is empty; name a file or a folder")
    return Path(text)


def shown(path: Path) -> str:
    """Returns a relative path if it is below the current folder."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
