"""Builds two commits of the project side by side and measures them in the same rounds."""

import os
import subprocess
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import bench
from campaign.identity import digest
from console import Failure, UsageError, say

BUILDS = bench.ROOT / "build" / "commits"

# The default choice, which takes some minutes.
CHOICE = ("quick", "--workloads=churn,hold,keepalive", "--sizes=10k")
ROUNDS = 10


def commit_of(text: str) -> str:
    """Returns the full hash of a commit; empty if the text names none."""
    found = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")
    return found.stdout.decode().strip()


def date_of(commit: str) -> str:
    """Returns when a commit was made, in UTC, such as 2026-11-25T14:20:22; empty if it is unknown here."""
    form = "--date=format-local:%Y-%m-%dT%H:%M:%S"
    found = _git("show", "--no-patch", "--format=%cd", form, f"{commit}^{{commit}}")
    return found.stdout.decode().strip()


def measure(a: str, b: str, options: Sequence[str]) -> tuple[Path, str, str]:
    """Measures two commits. Returns the folder, and the variants of their cells.

    `options`: options of scripts/bench. Raises Failure, UsageError.
    """
    if a == b:
        raise UsageError("both are the same commit; scripts/bench measures a backend with itself")
    argv = list(options) or [*CHOICE, f"--rounds={ROUNDS}"]
    arguments, choice = bench.parse(argv)
    if arguments.out:
        raise UsageError("--out is not for comparing commits")
    builds = {f"@{commit[:9]}": _build(commit) for commit in (a, b)}
    folder = bench.ROOT / "results" / "local" / f"compare-{a[:9]}-{b[:9]}-{digest(choice)[:6]}"
    command = f"scripts/compare {a[:9]} {b[:9]} {' '.join(argv)}"
    code = bench.run_campaign(arguments, folder, choice, command, builds)
    if not (folder / "results.json").exists():
        raise SystemExit(code)
    one, other = builds
    return folder, one, other


def _build(commit: str) -> Path:
    """Builds the program of a commit unless it exists; returns its path."""
    folder = BUILDS / commit
    program = folder / "build" / "release" / "timerbench"
    if program.exists():
        return program
    say(f"Building {commit[:9]}, which takes minutes ...")
    archive = _git("archive", "--format=tar", commit)
    if archive.returncode != 0:
        raise Failure(f"git archive {commit}: {archive.stderr.decode().strip()}")
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as tar:
        tar.extractall(folder)  # trusted: it is our own history
    for step in (
        ["cmake", "--preset", "release"],
        ["cmake", "--build", "--preset", "release", "--target", "timerbench"],
    ):
        made = subprocess.run(step, cwd=folder, capture_output=True, text=True)
        if made.returncode != 0:
            log = BUILDS / f"{commit}.log"
            log.write_text(made.stdout + made.stderr, encoding="utf-8")
            raise Failure(f"commit {commit[:9]} cannot be built; see {log}")
    return program


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        command = ["git", "-C", str(bench.ROOT), *arguments]
        return subprocess.run(command, env=os.environ | {"TZ": "UTC"}, capture_output=True)
    except OSError:
        raise Failure("git is missing, and without it there are no commits to compare") from None
