"""The journal of a campaign: one line of JSON for each thing that was done, synced to disk at once.

The journal is append-only. Its first line says what is measured. Each start adds a line of kind
"run"; lines of kind "verified" and "cell" hold the work done. A kill -9 loses at most the line that
is being written. The next start cuts off the incomplete line and measures that cell again.
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
from files import require_regular
from results.grid import FORMAT

NAME = "journal.jsonl"
NO_JOURNAL = "it is no journal; choose another --out"

MOST_TOLD = 3  # errors listed for a damaged line

Line = dict[str, Any]


class Journal:
    """The journal of one folder, locked against other writers."""

    def __init__(self, path: Path, fd: int, lines: list[Line], lost: int) -> None:
        self.path = path
        self.lines = lines
        self.lost = lost  # bytes of an incomplete last line
        self._fd = fd

    @property
    def head(self) -> Line:
        return self.lines[0]

    def of_kind(self, kind: str) -> Iterator[Line]:
        return (line for line in self.lines if line.get("kind") == kind)

    def append(self, kind: str, **content: Any) -> Line:
        """Appends a line and syncs it to disk. Raises OSError if nothing was written."""
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
    """Opens the journal of the folder, or begins one if there is none.

    Raises Failure if the journal is in use, damaged, of another version or of another choice.
    """
    path = folder / NAME
    require_regular(path, NO_JOURNAL)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(
                os.fstat(fd), os.stat(path)
            ):  # another process has just removed it
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


def read_journal(folder: Path) -> list[Line]:
    """Returns the lines, without an incomplete last one. Raises Failure."""
    path = folder / NAME
    require_regular(path, NO_JOURNAL)
    return _parse(path, path.read_bytes())[0]


def choice_of(folder: Path) -> list[str] | None:
    """Returns the choice of the campaign in the folder, if there is one."""
    lines = read_journal(folder) if (folder / NAME).exists() else []
    return list(lines[0]["choice"]) if lines else None


NUMBER = (int, float)
PLAN_HEAD: Schema = {
    **{"suite": str, "kind": str, "rounds": int, "granularity": int, "inputs": int, "seed": int},
    "machine": {"grade": str, "grade_reasons": str, "processor": str, "kernel": str, "*": str},
    "backends": {
        "*": {
            **{"precision": str, "file": str, "remote": bool},
            **{"summary?": str, "follows?": str, "licence?": str},
        }
    },
    "replay_seconds?": {"local": NUMBER, "remote": NUMBER},
    **{"seconds?": NUMBER, "pages?": str, "sizes?": [int]},
}
PLAN_INPUT: Schema = {
    **{"workload": str, "size": int, "cells": [str]},
    **{"for?": str, "failure?": str, "hashes?": [str]},
}

# What a line must have, by kind.
NEEDED: dict[str, Schema] = {
    "campaign": {"choice": [str], "command": str, "format": int},
    "plan": {"key": str, "lines": [dict]},
    "run": {"facts": {"*": str}, "limits?": dict, "extent?": str},
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
    """Returns the complete lines and their length in bytes. Bytes after the last newline are
    ignored.
    """
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
            advice = (
                "remove that line, and what it says is found out again"
                if number > 1
                else "replace that line by the first line of another journal of the same command"
            )
            raise Failure(f"{path}:{number}: is damaged ({error}); {advice}") from None
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
