"""Files: written complete or not at all, and named as people read them."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name to write to; the file gets its own name when all has been written."""
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def shown(path: Path) -> str:
    """Relative, if it is below where the user is."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
