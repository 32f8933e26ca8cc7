"""How the scripts speak: errors in one line, and how far a long job is."""

import argparse
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import NoReturn

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as RichProgress


class Failure(Exception):
    """What went wrong, where, and what to do about it, in one line."""


class UsageError(Failure):
    """The user asked for something that does not exist."""


class ArgumentParser(argparse.ArgumentParser):
    """argparse, with errors in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def run_main(name: str, main: Callable[[], int]) -> NoReturn:
    """Runs a script to its end: 0, 1 for a failure or 2 for wrong usage."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[attr-defined]
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"{name}: {failure}", file=sys.stderr)
        sys.exit(2 if isinstance(failure, UsageError) else 1)
    except BrokenPipeError:
        _mute()
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(
            f"{name}: {where}{error.strerror}; choose another --out, or make room", file=sys.stderr
        )
        sys.exit(1)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        sys.exit(1)


def say(text: str = "") -> None:
    """Prints a line. If nobody reads any more, the work goes on without a word."""
    try:
        print(text)
    except BrokenPipeError:
        _mute()


def _mute() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class TimeLeft:
    """Guesses how long a run will still take from the steps that are done.

    Steps are cells, SUITE/WORKLOAD/SIZE/BACKEND: what a backend took at a size on other workloads
    says more about it than the mean of all cells, which differ by orders of magnitude.
    """

    def __init__(self, steps: Sequence[str]) -> None:
        self._steps = deque(self._kind(step) for step in steps)
        self._seconds: dict[tuple[str, ...], list[float]] = {}
        self._since = time.monotonic()

    def step_done(self) -> None:
        """The next step is finished, just now."""
        now = time.monotonic()
        kind = self._steps.popleft() if self._steps else ()
        for known in {kind, kind[:1], ()}:
            self._seconds.setdefault(known, []).append(now - self._since)
        self._since = now

    def __str__(self) -> str:
        if () not in self._seconds:
            return ""
        seconds = sum(self._guess(kind) for kind in self._steps)
        return f"about {duration(seconds)} left" if self._steps else ""

    def _guess(self, kind: tuple[str, ...]) -> float:
        known = next(k for k in (kind, kind[:1], ()) if k in self._seconds)
        return fmean(self._seconds[known])

    @staticmethod
    def _kind(step: str) -> tuple[str, ...]:
        return tuple(step.split("/")[2:4])


def duration(seconds: float) -> str:
    """As people say it: 40 s, 3 min, 1 h 05 min."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


class Progress:
    """Follows the lines of a program: a bar on a terminal, the lines themselves in a pipe.

    `step` matches the lines that finish a step, and has a group `name`. Of those, a terminal keeps
    only the ones that `notable` finds; all other lines are always kept.
    """

    def __init__(
        self, title: str, steps: Sequence[str], step: re.Pattern[str], notable: re.Pattern[str]
    ) -> None:
        self.steps: list[re.Match[str]] = []  # done
        self.notable: list[re.Match[str]] = []  # of those
        self._step = step
        self._is_notable = notable.search
        self._left = TimeLeft(steps)
        self._bar = _make_bar() if sys.stdout.isatty() else None
        if self._bar:
            self._task = self._bar.add_task(title, total=len(steps), now="", left="")
        else:
            say(f"{title} ...")

    def __enter__(self) -> "Progress":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def line(self, line: str) -> None:
        """What the program printed next."""
        step = self._step.match(line)
        is_notable = bool(step and self._is_notable(line))
        if step:
            self._left.step_done()
            self.steps.append(step)
        if step and is_notable:
            self.notable.append(step)
        if not self._bar:
            say(line)
        elif not step or is_notable:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        if self._bar and step:
            self._bar.update(self._task, advance=1, now=step["name"], left=str(self._left))


def _make_bar() -> RichProgress:
    # Redrawn rarely, since what runs beside a measurement disturbs it.
    return RichProgress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}", style="cyan"),
        TextColumn("{task.fields[now]}", style="dim"),
        refresh_per_second=1,
        transient=True,
    )
