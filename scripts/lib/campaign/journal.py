"""The journal of a campaign: one line of JSON for whatever has been done, on the disk at once.

It is only ever appended to. Its first line says what is measured; then come lines of kind "run", for
every start, and "verified" and "cell", for what was done. kill -9 at any instant loses the line that
was being written; it is cut off when the journal is opened again, and the cell measured again.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from campaign.schema import Schema, mismatches
from console import Failure
from results.grid import FORMAT

NAME = "journal.jsonl"

MOST_TOLD = 3  # of what is wrong with a line

Line = dict[str, Any]


class Journal:
    """Of one folder; nobody else has it open for writing."""

    def __init__(self, path: Path, fd: int, lines: list[Line], lost: int) -> None:
        self.path = path
        self.lines = lines
        self.lost = lost  # bytes of a line that was not written completely
        self._fd = fd

    @property
    def head(self) -> Line:
        return self.lines[0]

    def of_kind(self, kind: str) -> Iterator[Line]:
        return (line for line in self.lines if line.get("kind") == kind)

    def append(self, kind: str, **content: Any) -> Line:
        """Returns when the line is on the disk. Raises OSError, and then nothing was written."""
        line = {"kind": kind, **content}
        data = (json.dumps(line, separators=(",", ":")) + "\n").encode()
        end = os.lseek(self._fd, 0, os.SEEK_END)
        try:
            written = 0
            while written < len(data):
                written += os.write(self._fd, data[written:])
            os.fsync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, end)
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        self.lines.append(line)
        return line

    def close(self) -> None:
        os.close(self._fd)


def open_journal(folder: Path, choice: list[str], command: str) -> Journal:
    """Of that folder, which is begun if there is none.

    Raises Failure if it is in use, damaged, of another version or of another choice.
    """
    path = folder / NAME
    _refuse_special(path)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(
                os.fstat(fd), os.stat(path)
            ):  # removed by another at that moment
                raise FileNotFoundError
        except (BlockingIOError, FileNotFoundError):
            raise Failure(f"{path}: another scripts/bench is writing to it; wait for it") from None
        lines, whole = _parse(path, path.read_bytes())
        lost = os.fstat(fd).st_size - whole
        if lost:
            os.ftruncate(fd, whole)
        journal = Journal(path, fd, lines, lost)
        if not lines:
            journal.append("campaign", format=FORMAT, choice=choice, command=command)
            _sync_folder(folder)
        elif journal.head["choice"] != choice:
            raise Failure(
                f"{folder}: belongs to '{journal.head['command']}'; choose another --out, or go on "
                f"with 'scripts/bench --out {folder}'"
            )
        return journal
    except BaseException:
        os.close(fd)
        raise


def _refuse_special(path: Path) -> None:
    """Raises Failure for a pipe, a device or a folder: to read it might take for ever."""
    if path.exists() and not path.is_file():
        raise Failure(f"{path}: is no regular file, so it is no journal; choose another --out")


def read_journal(folder: Path) -> list[Line]:
    """Its lines, but for a last one that is cut. Raises Failure."""
    path = folder / NAME
    _refuse_special(path)
    return _parse(path, path.read_bytes())[0]


def choice_of(folder: Path) -> list[str] | None:
    """The choice of a campaign that was begun there."""
    lines = read_journal(folder) if (folder / NAME).exists() else []
    return list(lines[0]["choice"]) if lines else None


NUMBER = (int, float)
PLAN_HEAD: Schema = {
    **{"suite": str, "kind": str, "rounds": int, "granularity": int, "inputs": int, "seed": int},
    "machine": {"grade": str, "grade_reasons": str, "*": str},
    "backends": {"*": {"precision": str, "file": str, "remote": bool, "summary?": str}},
    "replay_seconds?": {"local": NUMBER, "remote": NUMBER},
    **{"seconds?": NUMBER, "pages?": str, "sizes?": [int]},
}
PLAN_INPUT: Schema = {
    **{"workload": str, "size": int, "cells": [str]},
    **{"for?": str, "failure?": str, "hashes?": [str]},
}

# By kind, what a line must have.
NEEDED: dict[str, Schema] = {
    "campaign": {"choice": [str], "command": str, "format": int},
    "plan": {"key": str, "lines": [dict]},
    "run": {"facts": {"*": str}, "limits?": dict},
    "context": {"context": dict},
    "verified": {"backend": str, "identity": str, "failure": str},
    "cell": {
        **{"cell": str, "round": int, "identity": str, "status": str, "pass?": str},
        **{"seconds": NUMBER, "disturbance": NUMBER, "failure?": str, "allowed?": {"*": NUMBER}},
        **{"entry?": {"name": str, "run_name": str}, "distributions?": [dict]},
    },
}


def _mismatches(line: Line) -> Iterator[str]:
    kind = line["kind"]
    yield from mismatches(line, NEEDED.get(kind, {}))
    if kind == "plan" and isinstance(line.get("lines"), list):
        for i, one in enumerate(line["lines"]):
            yield from mismatches(one, PLAN_INPUT if i else PLAN_HEAD, f"lines[{i}]")
        if len(line["lines"]) < 2:
            yield "lines"


def _parse(path: Path, data: bytes) -> tuple[list[Line], int]:
    """The lines, and how many bytes they have; what follows the last end of a line is no line."""
    whole = data.rfind(b"\n") + 1
    lines = []
    for number, text in enumerate(data[:whole].splitlines(), 1):
        try:
            line = json.loads(text)
            if not isinstance(line, dict) or not isinstance(line.get("kind"), str):
                raise ValueError("no object with a kind")
            if bad := list(islice(_mismatches(line), MOST_TOLD)):
                raise ValueError(f"without a proper {', '.join(bad)}")
            if line["kind"] == "cell" and not (line.get("failure") or line.get("entry")):
                raise ValueError("without a figure or a failure")
        except (RecursionError, ValueError) as error:
            raise Failure(
                f"{path}:{number}: is damaged ({error}); remove that line, and what it says is found "
                "out again"
            ) from None
        lines.append(line)
    if lines and lines[0]["kind"] != "campaign":
        raise Failure(f"{path}: is no journal of scripts/bench; choose another --out")
    if lines and lines[0].get("format") != FORMAT:
        raise Failure(
            f"{path}: is of format {lines[0].get('format')}, and this scripts/bench writes {FORMAT}; "
            "choose another --out"
        )
    return lines, whole


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
