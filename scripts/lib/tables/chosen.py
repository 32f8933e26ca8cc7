"""A table of chosen figures: a line for each contender, a column for a counter at one size of a scenario."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from results.realtime import RealtimeCell, RealtimeResults
from tables.replays import markdown_table
from words import grouped

MARKS = "\\* it does not keep up; † in some rounds it does not"


@dataclass(frozen=True)
class Column:
    """A figure of one scenario at one size."""

    title: str
    suite: str
    scenario: str
    size: int
    counter: str
    form: Callable[[float], str]

    def text(self, by_suite: Mapping[str, RealtimeResults], contender: str) -> str:
        cell = by_suite[self.suite].cell(self.scenario, self.size, contender)
        if cell is None:
            return ""
        value = cell.value(self.counter)
        return cell.status if value is None else self.form(value) + _mark(cell)


def _mark(cell: RealtimeCell) -> str:
    if not cell.saturated:
        return ""
    return " *" if cell.saturated == cell.measured_rounds else " †"


def chosen_table(
    what: str,
    contenders: Sequence[str],
    columns: Sequence[Column],
    by_suite: Mapping[str, RealtimeResults],
    note: str = "an empty cell is not measured",
) -> str:
    """Returns the table in Markdown, without empty columns, and what its marks mean. `what`: the title of
    the names. `note`: what else is to be said below.
    """
    told = {
        column.title: texts
        for column in columns
        if any(texts := [column.text(by_suite, name) for name in contenders])
    }
    lines = [
        [f"`{name}`", *(texts[i] for texts in told.values())] for i, name in enumerate(contenders)
    ]
    return f"{markdown_table([what, *told], lines, names=1)}\n\n{MARKS}; {note}.\n"


def rough(value: float) -> str:
    """Two digits, or all above the point: rounds differ by more."""
    if value >= 9.95:
        return grouped(round(value))
    return f"{value:.1f}" if value >= 0.95 else f"{value:.2f}"


def rough_time(ns: float) -> str:
    """The same of a duration: 2.7 ns, 62 µs, 1.2 s."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= factor * 0.9995:
            return f"{rough(ns / factor)} {unit}"
    return f"{rough(ns)} ns"
