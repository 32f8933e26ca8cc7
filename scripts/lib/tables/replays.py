"""The table of costs at one size: backends by workloads, in Markdown or on a terminal."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from results.grid import Grid, Key, Outcome
from results.replays import Results
from results.statistics import LEAST_ROUNDS, noise_floor, paired_log_ratios
from style import RANKED
from words import MARKS, counted, digits, machine_line, percent, power, remake_line

NOT_RUN = "–"

# At a granularity of 1 there is nothing to round, up or down: of results without twins.
SAME_WORK = ("kafka_wheel_20", "kafka_wheel_floor_20")


@dataclass(frozen=True)
class Entry:
    """A cell of the table."""

    text: str
    is_best: bool = False  # or not surely slower than the best


@dataclass(frozen=True)
class Row:
    """A backend on each workload."""

    backend: str
    precision: str
    is_ranked: bool
    entries: list[Entry]


def headers(results: Results, size: int) -> list[tuple[str, str]]:
    """Of each workload the name, and what its costs are per, with the size if it is another one."""
    made = []
    for workload in results.workloads:
        note = f"per {results.item(workload)}"
        shown = results.shown_size(workload, size)
        made.append((workload, note if shown == size else f"{note}, {power(shown)} timers"))
    return made


def rows(results: Results, size: int) -> list[Row]:
    """One for each backend, precision by precision; the best of each precision is marked."""
    made = []
    for precision, backends in results.backends_by_precision().items():
        is_ranked = precision in RANKED
        columns = [_column(results, name, size, backends, is_ranked) for name in results.workloads]
        for backend, *entries in zip(backends, *columns):
            made.append(Row(backend, precision, is_ranked, entries))
    return made


def markdown(results: Results, size: int) -> str:
    """The table, with what a reader needs to judge it and to make it again."""
    titles = ["backend", "precision", *(f"{name}<br>{note}" for name, note in headers(results, size))]
    parts = [caption(results, size)]
    for is_ranked in (True, False):
        chosen = [row for row in rows(results, size) if row.is_ranked == is_ranked]
        if not chosen:
            continue
        if not is_ranked:
            parts.append("Not ranked, for they precision less than a timer needs:")
        lines = [[f"`{row.backend}`", row.precision, *map(_bold, row.entries)] for row in chosen]
        parts.append(markdown_table(titles, lines))
    if failures := _failures(results, size):
        parts.append("Without a figure:\n\n" + "\n".join(f"- {line}" for line in failures))
    parts += [
        *noise_lines(results),
        *pace_lines(results),
        machine_line(results.facts),
        f"Remake: `{remake_line(results.facts)}`",
    ]
    return "\n\n".join(parts) + "\n"


def print_on_terminal(results: Results, size: int) -> None:
    """The same, for reading at once."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("backend", no_wrap=True)
    table.add_column("precision", no_wrap=True)
    for name, note in headers(results, size):
        table.add_column(f"{name}\n{note}", justify="right", min_width=7, overflow="fold")
    was_ranked = True
    for row in rows(results, size):
        if was_ranked and not row.is_ranked:
            table.add_section()
        was_ranked = row.is_ranked
        texts = [Text(entry.text, "bold green" if entry.is_best else "") for entry in row.entries]
        table.add_row(row.backend, row.precision, *texts, style="" if row.is_ranked else "dim")
    console = Console()
    console.print(table)
    doubts = *noise_lines(results), *pace_lines(results)
    for line in (caption(results, size), *_failures(results, size), *doubts):
        console.print(line, style="dim", highlight=False, markup=False)


def caption(results: Results, size: int) -> str:
    """What the figures are."""
    what = "median" if results.rounds.most > 1 else "one measurement"
    spread = (
        f" of {results.rounds} rounds ± {results.rounds.spread}"
        if results.rounds.most > 1
        else ""
    )
    entries = [entry for row in rows(results, size) for entry in row.entries]
    borne = {sign for sign in MARKS if any(sign in entry.text for entry in entries)}
    notes = "".join(f" {sign} {meaning}." for sign, meaning in MARKS.items() if sign in borne)
    return (
        f"Cost in ns at {power(size)} pending timers, {what}{spread}. "
        "Bold where the rounds can tell: the cheapest of those of the same precision, and all "
        f"that are not surely slower.{notes}"
    )


def _column(
    results: Results, workload: str, size: int, backends: list[str], is_ranked: bool
) -> list[Entry]:
    shown = results.shown_size(workload, size)
    cells = [results.cell(workload, shown, backend) for backend in backends]
    best = results.best(workload, shown, backends) if is_ranked else []
    entries = []
    for backend, cell in zip(backends, cells):
        if not cell:
            entries.append(Entry(NOT_RUN))
        elif not cell.has_figure:
            entries.append(Entry(cell.status))
        else:
            spread = f" ±{cell.spread:.0%}" if len(cell.costs) > 1 else ""
            mark = results.mark(workload, shown, backend)
            entries.append(Entry(digits(cell.cost) + spread + mark, backend in best))
    return entries


def _failures(results: Results, size: int) -> list[str]:
    told = {
        key: cell
        for key, cell in results.cells.items()
        if key[1] == results.shown_size(key[0], size)
    }
    lines = failure_lines(told, results)
    if not_verified := results.facts.get("not_verified"):
        lines.append(f"{not_verified}: not measured, for they do not keep the contract")
    return lines


def failure_lines(told: Mapping[Key, Outcome], results: Grid[Any]) -> list[str]:
    """What is behind the status words: each reason once, with those whom it befell."""
    befell: dict[str, dict[str, None]] = {}
    for (_, _, backend), cell in told.items():
        if not cell.has_figure:
            befell.setdefault(cell.failure, {})[backend] = None
    lines = [f"{', '.join(backends)}: {reason}" for reason, backends in befell.items()]
    if results.interrupted:
        lines.append(f"{results.interrupted} cells were not measured: the run was interrupted")
    return lines


def noise_lines(results: Results, figure: str = "") -> list[str]:
    """How far apart two backends lie that do the same work, if both were measured."""
    pairs = [
        (cell, results.cells[key])
        for key, cell in results.twins.items()
        if cell.has_figure and key in results.cells and results.cells[key].has_figure
    ]
    names = list(dict.fromkeys(backend for _, _, backend in results.twins))
    selves = "differs from itself" if len(names) == 1 else "differ from themselves"
    who = f"{' and '.join(names)}, measured twice side by side, {selves}"
    if not pairs and results.facts.get("granularity", "1") == "1":
        one, other = SAME_WORK
        who = f"{one} and {other} do the same work, and their costs differ"
        pairs = [
            (cell, twin)
            for (workload, size, backend), cell in results.cells.items()
            if backend == one
            and cell.has_figure
            and (twin := results.cell(workload, size, other))
            and twin.has_figure
        ]
    if not pairs:
        return []
    logs = [paired_log_ratios(a.by_round, b.by_round) for a, b in pairs]
    effects = [abs(median(values)) for values in logs if values]
    if not effects:
        return []
    middle, nine, most = map(percent, (median(effects), noise_floor(logs), max(effects)))
    cells = counted(len(effects), "cell")
    return [
        f"Noise: {who}{figure and f' in {figure}'} by {middle} in the middle of {cells}, by up to "
        f"{nine} in nine of ten, and by {most} at most."
    ]


def pace_lines(results: Results) -> list[str]:
    """How the machine's speed changed with the rounds, if these are enough to tell."""
    pace = results.pace.values()
    if len(pace) < LEAST_ROUNDS:
        return []
    return [
        f"Pace: from round to round the machine took {min(pace):.2f} to {max(pace):.2f} of its usual "
        "time; comparisons are made within rounds, and do not feel it."
    ]


def _bold(entry: Entry) -> str:
    return f"**{entry.text}**" if entry.is_best else entry.text


def markdown_table(titles: list[str], lines: list[list[str]]) -> str:
    """Aligned, so that it reads well as text too; but for the first two, columns to the right."""
    widths = [max(map(len, column)) for column in zip(titles, *lines)]
    rule = ["-" * width if i < 2 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]

    def line(entries: list[str]) -> str:
        pairs = enumerate(zip(entries, widths))
        padded = (text.ljust(width) if i < 2 else text.rjust(width) for i, (text, width) in pairs)
        return f"| {' | '.join(padded)} |"

    return "\n".join(map(line, [titles, rule, *lines]))
