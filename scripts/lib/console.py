"""How the scripts speak: errors in one line, and how far a long job is."""

import argparse
import contextlib
import errno
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn


# What to do about what the system refuses.
ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "make room, or choose another --out"),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST),
        "choose another --out",
    ),
}


class Failure(Exception):
    """What went wrong, where, and what to do about it, in one line."""


class UsageError(Failure):
    """The user asked for something that does not exist."""


class ArgumentParser(argparse.ArgumentParser):
    """argparse, with errors in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def run_main(name: str, main: Callable[[], int], failure: int = 1) -> NoReturn:
    """Runs a script to its end: 0, `failure` for what went wrong or 2 for wrong usage."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[attr-defined]
    try:
        sys.exit(main())
    except Failure as why:
        print(f"{name}: {why}", file=sys.stderr)
        sys.exit(2 if isinstance(why, UsageError) else failure)
    except BrokenPipeError:
        _mute()
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        advice = ADVICE.get(error.errno or 0, "")
        print(f"{name}: {where}{error.strerror}{advice and f'; {advice}'}", file=sys.stderr)
        sys.exit(failure)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        sys.exit(1)


def say(text: str = "") -> None:
    """Prints a line. If nobody reads any more, the work goes on without a word."""
    try:
        print(text)
    except BrokenPipeError:
        _mute()


def warn(text: str) -> None:
    """Prints a line about what does not stop the script."""
    print(f"Warning: {text}", file=sys.stderr)


def _mute() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def duration(seconds: float) -> str:
    """As people say it: 40 s, 3 min, 1 h 05 min."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


class Stop:
    """While it is entered, the first Ctrl-C (or SIGTERM, SIGHUP) only asks for an end; a second one
    also kills what is under way.
    """

    def __init__(self) -> None:
        self.is_set = False
        self.is_urgent = False
        self.kill: Callable[[], None] = lambda: None  # what is under way
        self._first = 0.0

    def __enter__(self) -> "Stop":
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        self._previous = [(number, signal.signal(number, self._hear)) for number in numbers]
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous:
            signal.signal(number, handler)

    def _hear(self, *_: object) -> None:
        if not self.is_set:
            self.is_set = True
            self._first = time.monotonic()
            with contextlib.suppress(OSError):  # a terminal that is gone
                os.write(2, b"\nInterrupted: finishing; once more ends at once\n")
        elif (
            time.monotonic() > self._first + 1
        ):  # not the same wish, told to a process and its group
            self.is_urgent = True
            self.kill()


class Bar:
    """How far a long job is: a bar on a terminal, a line for each step in a pipe.

    A terminal keeps only the lines of steps that are notable.
    """

    def __init__(self, title: str, total: float, unit: str = "") -> None:
        self.left = ""  # how long it will still take
        self._total = total
        self._unit = unit
        self._done = 0
        self._bar = _make_bar(unit) if sys.stdout.isatty() else None
        if self._bar:
            self._task = self._bar.add_task(title, total=total, now="", left="")
        elif title:
            say(f"{title} ...")

    def __enter__(self) -> "Bar":
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def step(self, name: str, sentence: str = "", *, notable: bool = False) -> None:
        """A step has been done, and what is to be said about it."""
        self._done += 1
        if not self._bar:
            width = len(str(self._total))
            place = f"[{self._done:>{width}}/{self._total}] " if not self._unit else ""
            say(f"{place}{name}  {sentence}")
        elif notable:
            self.line(f"{name}  {sentence}")
        if self._bar and not self._unit:
            self._bar.update(self._task, advance=1)
        self._redraw(name)

    def begin(self, total: float) -> None:
        """Tells how many steps there are, once that is known."""
        self._total = total
        if self._bar:
            self._bar.update(self._task, total=total)

    def quiet_step(self, name: str) -> None:
        """A step that is worth no line."""
        if self._bar:
            self._bar.update(self._task, advance=1)
            self._redraw(name)

    def reach(self, amount: float) -> None:
        """Of a job that is counted in something else than steps."""
        if self._bar:
            self._bar.update(self._task, completed=min(amount, self._total))

    def line(self, line: str) -> None:
        """Something to be kept."""
        if self._bar:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            say(line)

    def _redraw(self, name: str) -> None:
        if self._bar:
            self._bar.update(self._task, now=name, left=self.left)


def _make_bar(unit: str) -> Progress:
    # Redrawn rarely, since what runs beside a measurement disturbs it.
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        *() if unit else (MofNCompleteColumn(),),
        TextColumn("{task.fields[left]}", style="cyan"),
        TextColumn("{task.fields[now]}", style="dim"),
        refresh_per_second=1,
        transient=True,
    )
