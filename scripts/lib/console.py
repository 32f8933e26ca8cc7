"""The output of the scripts: errors in one line, and the progress of long jobs."""

import argparse
import contextlib
import errno
import io
import math
import os
import shutil
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, NoReturn

from rich.console import ConsoleDimensions, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.segment import Segments
from rich.table import Column


# Advice for errors of the system.
ADVICE = {
    **dict.fromkeys(
        (errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "make room, or choose another --out"
    ),
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST),
        "choose another --out",
    ),
}


class Failure(Exception):
    """Says in one line what failed, where, and what to do."""


class UsageError(Failure):
    """The user asked for something that does not exist."""


class ArgumentParser(argparse.ArgumentParser):
    """argparse, with errors in one line, descriptions as they are written, and options in full."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings
        )

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(fitted(message, file or sys.stderr), file)


def run_main(name: str, main: Callable[[], int], failure: int = 1) -> NoReturn:
    """Runs a script and exits with 0, with `failure` for a Failure, or with 2 for wrong usage."""
    _open_streams()
    for number in _ends():
        signal.signal(number, signal.default_int_handler)  # like Ctrl-C, so that cleanup runs
    try:
        sys.exit(main())
    except Failure as why:
        complain(f"{name}: {why}")
        sys.exit(2 if isinstance(why, UsageError) else failure)
    except BrokenPipeError:
        _mute()
        sys.exit(1)
    except OSError as error:
        if error.filename == STDOUT:
            _mute()  # else the text that is left fails again at the exit
        complain(f"{name}: {_what_failed(error)}")
        sys.exit(failure)
    except KeyboardInterrupt:
        complain(f"{name}: interrupted")
        sys.exit(1)


STDOUT = "standard output"


class _Output(io.FileIO):
    """Standard output; errors name it."""

    def __init__(self) -> None:
        super().__init__(1, "w", closefd=False)

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = STDOUT
            raise


def _open_streams() -> None:
    """Makes standard output print each line at once, and whatever it cannot encode as '?'. Opens
    the null device for what the caller has closed.
    """
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        if stream is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    sys.stderr = sys.stderr or open(2, "w")
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output()),
        encoding=sys.stdout.encoding if sys.stdout else None,
        errors="replace",
        line_buffering=True,
    )


def _what_failed(error: OSError) -> str:
    """Says which file the error is about, and what to do."""
    where = f"{error.filename}: " if error.filename else ""
    advice = "" if error.filename == STDOUT else ADVICE.get(error.errno or 0, "")
    return f"{where}{error.strerror}{advice and f'; {advice}'}"


def _ends() -> list[signal.Signals]:
    """Returns the signals that ask for an end; under nohup, not SIGHUP."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    is_kept = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return numbers if is_kept else [*numbers, signal.SIGHUP]


def say(text: str = "") -> None:
    """Prints a line. If the reader is gone, the work continues silently."""
    try:
        print(fitted(text, sys.stdout))
    except BrokenPipeError:
        _mute()


def complain(text: str) -> None:
    """Prints what went wrong."""
    print(fitted(text, sys.stderr), file=sys.stderr)


def warn(text: str) -> None:
    """Prints a warning."""
    complain(f"Warning: {text}")


def fitted(text: str, stream: IO[str]) -> str:
    """Breaks lines between words if the stream is a terminal, which would break them anywhere."""
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    lines = (
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )
    return "\n".join(lines)


def _mute() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def duration(seconds: float) -> str:
    """Formats a duration: 40 s, 3 min, 1 h 05 min."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


class Stop:
    """Inside this context the first Ctrl-C only asks for an end. A second one, SIGTERM and SIGHUP
    also kill the processes that run.
    """

    def __init__(self) -> None:
        self.is_set = False
        self.is_urgent = False
        self.tell: Callable[[str], None] = _tell_on_stderr
        self._first = 0.0
        self._kills: set[Callable[[], None]] = set()

    @contextlib.contextmanager
    def killing(self, kill: Callable[[], None]) -> Iterator[None]:
        """Inside this context an urgent end calls `kill`; if it was asked for before, at once.
        Several threads may be inside.
        """
        self._kills.add(kill)
        try:
            if self.is_urgent:
                kill()
            yield
        finally:
            self._kills.remove(kill)

    def end_at_once(self) -> None:
        """Asks for an urgent end."""
        self.is_set = self.is_urgent = True
        for kill in list(self._kills):
            kill()

    def __enter__(self) -> "Stop":
        self._previous = [(number, signal.signal(number, self._hear)) for number in _ends()]
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous:
            signal.signal(number, handler)

    def _hear(self, number: int, _: object) -> None:
        is_first = not self.is_set
        if is_first:
            self.is_set = True
            self._first = time.monotonic()
        # A second signal within a second is the same request, sent to the process and to its group.
        if number != signal.SIGINT or time.monotonic() > self._first + 1:
            self.end_at_once()
        elif is_first:
            self.tell("Interrupted: finishing; once more ends at once")


def _tell_on_stderr(text: str) -> None:
    with contextlib.suppress(OSError):  # the terminal may be gone
        os.write(2, f"\n{text}\n".encode())


# Returns what to show above a bar, for a width and a maximum height.
Above = Callable[[int, int], Sequence[RenderableType]]


class Bar:
    """The progress of a long job: a bar on a terminal, below other output; lines in a pipe.

    A terminal keeps only the lines of notable steps.
    """

    def __init__(self, title: str, total: float, unit: str = "") -> None:
        self.left = ""  # the time left
        self._total = total
        self._unit = unit
        self._done = 0.0
        self._above: Above = lambda width, height: ()
        self._drawn: tuple[ConsoleDimensions | None, Segments] = (None, Segments([]))
        self._is_drawing = False
        self._told = False  # a message that is more important than the progress
        self._last = -math.inf  # time of the last redraw
        self._bar = _make_bar(unit) if sys.stdout.isatty() else None
        if self._bar:
            self._task = self._bar.add_task(title, total=total, now="", left="")
            # Redraws on steps only: a timer would disturb the measurements.
            self._live = Live(get_renderable=self._draw, auto_refresh=False, transient=True)
        elif title:
            say(f"{title} ...")

    @property
    def is_on_terminal(self) -> bool:
        return self._bar is not None

    def __enter__(self) -> "Bar":
        if self._bar:
            self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._live.stop()

    def step(self, name: str, sentence: str = "", *, notable: bool = False) -> None:
        """Counts a finished step, with a sentence about it."""
        self._done += 1
        if not self._bar:
            width = len(str(self._total))
            say(f"[{self._done:>{width}.0f}/{self._total}] {name}  {sentence}")
            return
        if notable:
            self.line(f"{name}  {sentence}")
        self.reach(self._done, name)

    def begin(self, total: float) -> None:
        """Sets the number of steps, once it is known."""
        self._total = total
        if self._bar:
            self._bar.update(self._task, total=total)

    def quiet_step(self, name: str) -> None:
        """Counts a step without printing a line."""
        self.reach(self._done + 1, name)

    def reach(self, amount: float, name: str = "") -> None:
        """Sets how much of the total is done; `name` is the last step."""
        self._done = min(amount, self._total)
        if self._bar:
            beside: dict[str, Any] = {} if self._told else {"now": name, "left": self.left}
            self._bar.update(self._task, completed=self._done, **beside)
            if time.monotonic() > self._last + 1:
                self._refresh()

    def show(self, above: Above) -> None:
        """Sets what is shown above the bar from now on."""
        self._above = above
        self._drawn = (None, Segments([]))
        if self._bar:
            self._refresh()

    def line(self, line: str) -> None:
        """Prints a line that stays."""
        if self._bar:
            self._bar.console.print(line, markup=False, highlight=False)
        else:
            say(line)

    def tell(self, text: str) -> None:
        """Prints at once; safe in a signal handler."""
        if not self._bar:
            _tell_on_stderr(text)
            return
        self._told = True
        self._bar.update(self._task, description=text, left="", now="")
        if not self._is_drawing:
            self._refresh()

    def _refresh(self) -> None:
        self._is_drawing = True
        self._live.refresh()
        self._is_drawing = False
        self._last = time.monotonic()

    def _draw(self) -> Group:
        assert self._bar
        console = self._bar.console
        if self._drawn[0] != console.size:
            above = Group(*self._above(console.width, console.height - 2))
            self._drawn = (console.size, Segments(list(console.render(above))))
        return Group(self._drawn[1], self._bar.get_renderable())


def _make_bar(unit: str) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        *() if unit else (MofNCompleteColumn(table_column=Column(no_wrap=True)),),
        TextColumn("{task.fields[left]}", style="cyan"),
        # Only this column and the bar become narrower. The text is one word, so it does not wrap.
        TextColumn("{task.fields[now]}", style="dim", table_column=Column(overflow="ellipsis")),
    )
