"""The table of costs at one size: backends by workloads, in Markdown or on a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from math import inf
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from results.grid import Grid, Key, Outcome
from results.replays import Results
from style import HEADINGS, LIBRARY, RANKED
from tables.answers import answers, said_first
from tables.libraries import EXPLANATION, libraries_table, version_lines
from tables.sureness import sureness_lines
from tables.terminal import Line, split_by_width
from words import MARKS, counted, digits, machine_line, power, remake_line

NOT_RUN = "–"
LIBRARIES = "Libraries, compared among themselves:"  # above their table
NOT_RANKED = "Not ranked, since they promise less than a timer needs:"


@dataclass(frozen=True)
class Entry:
    """A cell of the table: a word, or a figure with its marks and rank."""

    word: str = ""
    figure: str = ""
    spread: str = ""
    mark: str = ""
    rank: float | None = None  # in its precision; infinite for a word if other entries are ranked
    is_best: bool = False  # the best, or not surely slower

    @property
    def text(self) -> str:
        return self.word or " ".join(filter(None, (self.figure, self.spread, self.mark)))


@dataclass(frozen=True)
class Row:
    """A backend with an entry for each workload."""

    backend: str
    precision: str
    is_ranked: bool
    entries: list[Entry]

    @property
    def title(self) -> str:
        """What stands above the table that the row is in; nothing above the first."""
        if self.precision.endswith(LIBRARY):
            return LIBRARIES
        return "" if self.is_ranked else NOT_RANKED

    @property
    def middle_rank(self) -> float:
        """The median rank over the workloads that it ran."""
        ranks = [entry.rank for entry in self.entries if entry.rank is not None]
        return median(ranks) if ranks else inf


def sizes_at(results: Results, size: int) -> dict[str, int]:
    """Returns the size shown for each workload when `size` is requested."""
    return {workload: results.shown_size(workload, size) for workload in results.workloads}


def headers(results: Results, size: int) -> list[tuple[str, str]]:
    """Returns each workload's name and the unit of its costs, with the size if it differs from
    `size`.
    """
    made = []
    for workload, shown in sizes_at(results, size).items():
        note = f"per {results.item(workload)}"
        made.append((workload, note if shown == size else f"{note}, {power(shown)} timers"))
    return made


def rows(results: Results, size: int) -> list[Row]:
    """Returns a row for each backend, by precision; ranked precisions are sorted by rank."""
    made = []
    for precision, backends in results.backends_by_precision().items():
        is_ranked = precision in RANKED
        columns = [
            _column(results, workload, shown, backends, is_ranked)
            for workload, shown in sizes_at(results, size).items()
        ]
        alike = [
            Row(backend, precision, is_ranked, entries)
            for backend, *entries in zip(backends, *columns)
        ]
        made += sorted(alike, key=lambda row: row.middle_rank)
    return made


def markdown(results: Results, size: int, passes: Sequence[str] = ()) -> str:
    """Returns the answers, the table, what the passes found, and all facts that are needed to judge
    and repeat it.
    """
    titles = [
        "backend",
        "precision",
        *(f"{name}<br>{note}" for name, note in headers(results, size)),
    ]
    parts = [*said_first(answers(results, sizes_at(results, size))), caption(results, size)]
    for title in ("", NOT_RANKED, LIBRARIES):
        lines = [
            [f"`{row.backend}`", row.precision, *map(_bold, row.entries)]
            for row in rows(results, size)
            if row.title == title
        ]
        if lines:
            parts += [*filter(None, [title]), markdown_table(titles, lines)]
    if libraries := libraries_table(results):
        parts += [EXPLANATION, markdown_table(*libraries, names=1)]
    parts += passes
    if failures := _failures(results, size):
        parts.append(
            "Without a figure, or in doubt:\n\n" + "\n".join(f"- {line}" for line in failures)
        )
    parts += [
        *sureness_lines(results),
        *version_lines(results),
        machine_line(results.facts),
        f"Reproduce with: `{remake_line(results.facts)}`",
    ]
    return "\n\n".join(parts) + "\n"


def print_on_terminal(results: Results, size: int) -> None:
    """Prints the same for a terminal, with all ranks."""
    console = Console()
    for sentence in answers(results, sizes_at(results, size)):
        console.print(sentence, highlight=False, markup=False)
    console.print()
    for table in terminal_tables(results, size, console.width, rows(results, size)):
        console.print(table)
        console.print()
    notes = f"{RANKS_NOTE} {caption(results, size)}", *_failures(results, size)
    for line in (*notes, *sureness_lines(results)):
        console.print(line, style="dim", highlight=False, markup=False)


def terminal_tables(
    results: Results, size: int, width: int, made: list[Row], most_rows: int | None = None
) -> list[Table]:
    """Returns the tables of these rows, as many columns side by side as fit. With `most_rows`,
    returns only that many rows of each ranked precision.
    """
    titles = [f"{power(size)} timers"]
    for name, note in headers(results, size):
        titles.append("\n".join([name, *note.replace(" + ", "\n+ ").split(", ")]))
    shown = [
        row
        for precision, alike in groupby(made, key=lambda row: row.precision)
        if most_rows is None or precision in RANKED
        for row in islice(alike, most_rows)
    ]
    columns = [_aligned(column) for column in zip(*(row.entries for row in shown))]
    lines = []
    for i, row in enumerate(shown):
        if i == 0 or row.precision != shown[i - 1].precision:
            lines.append(Line([HEADINGS[row.precision]], "italic"))
        entries = [column[i] for column in columns]
        lines.append(Line([row.backend, *entries], "" if row.is_ranked else "dim"))
    return split_by_width(titles, lines, width)


def _aligned(column: Sequence[Entry]) -> list[Text]:
    """Aligns ranks and figures; words go to the right."""
    parts = [
        (f"{entry.rank:.0f} " if entry.rank else "", entry.figure, entry.spread, entry.mark)
        for entry in column
        if entry.figure
    ]
    rank, figure, spread, mark = (
        (max(map(len, texts)) for texts in zip(*parts)) if parts else 4 * [0]
    )
    texts = iter(
        " ".join(
            part
            for part, width in (
                (one[0].rjust(rank), rank),
                (one[1].rjust(figure), figure),
                (one[2].rjust(spread), spread),
                (one[3].ljust(mark), mark),
            )
            if width
        )
        for one in parts
    )
    return [
        Text(next(texts) if entry.figure else entry.word, "bold green" if entry.is_best else "")
        for entry in column
    ]


RANKS_NOTE = "The number before a figure is its rank in its class; tied backends share one."


def caption(results: Results, size: int) -> str:
    """Explains the figures."""
    rounds = results.rounds
    what = (
        f"Figures are medians of {rounds} rounds, in ns, ± {rounds.spread}"
        if rounds.most > 1
        else "Figures are of one measurement, in ns"
    )
    entries = [entry for row in rows(results, size) for entry in row.entries]
    borne = {sign for sign in MARKS if any(sign in entry.text for entry in entries)}
    notes = "".join(f" {sign} {meaning}." for sign, meaning in MARKS.items() if sign in borne)
    licences = "".join(
        f" {backend} has a licence: {licence}."
        for backend in results.backends
        if (licence := results.licence(backend))
    )
    if results.is_mostly_disturbed:
        noisy = sum(cell.noisy > 0 for cell in results.cells.values())
        notes += f" Most of them ({noisy} of {len(results.cells)} cells) were disturbed in a round."
    return (
        f"{what}, at {power(size)} pending timers. Bold: cheapest of its class, or not "
        f"significantly slower; a class is a precision.{notes}{licences}"
    )


def _column(
    results: Results, workload: str, size: int, backends: list[str], is_ranked: bool
) -> list[Entry]:
    standings = results.standings(workload, size, backends)
    ranks, best = (standings.ranks, standings.best) if is_ranked else ({}, [])
    entries = []
    for backend in backends:
        cell = results.cell(workload, size, backend)
        if not cell:
            entries.append(Entry(NOT_RUN))
        elif not cell.has_figure:
            entries.append(Entry(cell.status, rank=inf))
        else:
            entries.append(
                Entry(
                    figure=digits(cell.cost),
                    spread=f"±{cell.spread:.0%}" if len(cell.costs) > 1 else "",
                    mark=results.mark(workload, size, backend).strip(),
                    rank=ranks.get(backend),
                    is_best=backend in best,
                )
            )
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
    """Explains the status words: each reason once, with the backends that it applies to."""
    befell: dict[str, dict[str, None]] = {}
    for (_, _, backend), cell in told.items():
        if not cell.has_figure:
            befell.setdefault(cell.failure, {})[backend] = None
    lines = [f"{', '.join(backends)}: {reason}" for reason, backends in befell.items()]
    lines += [
        f"{backend} on {scenario} at {power(size)}: {cell.doubt}, "
        "the figure is the median of the others"
        for (scenario, size, backend), cell in told.items()
        if cell.doubt
    ]
    if results.interrupted:
        cells = counted(results.interrupted, "cell")
        lines.append(f"{cells} not measured, since the run was interrupted")
    return lines


def _bold(entry: Entry) -> str:
    return f"**{entry.text}**" if entry.is_best else entry.text


def markdown_table(titles: list[str], lines: list[list[str]], names: int = 2) -> str:
    """Returns an aligned table that also reads well as text. The first columns, so many as `names`,
    are left-aligned; the others are right-aligned.
    """
    widths = [max(map(len, column)) for column in zip(titles, *lines)]
    rule = ["-" * width if i < names else "-" * (width - 1) + ":" for i, width in enumerate(widths)]

    def line(entries: list[str]) -> str:
        pairs = enumerate(zip(entries, widths))
        padded = (
            text.ljust(width) if i < names else text.rjust(width) for i, (text, width) in pairs
        )
        return f"| {' | '.join(padded)} |"

    return "\n".join(map(line, [titles, rule, *lines]))
