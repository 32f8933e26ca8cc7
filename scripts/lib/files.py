"""Writes files completely or not at all, and formats paths for messages."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary name to write to; the file is renamed when it is complete."""
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def shown(path: Path) -> str:
    """Returns a relative path if it is below the current folder."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
