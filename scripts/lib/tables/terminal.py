"""Tables on a terminal: each row is one line at any width, and nothing is cropped.

A table that is too wide is split into several, one below the other. Each has some of the columns
and repeats the first ones, which name the row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

GAP = 2  # between columns


@dataclass(frozen=True)
class Line:
    """A row; with a single entry, the heading of the rows that follow."""

    entries: Sequence[str | Text]
    style: str = ""

    @property
    def is_heading(self) -> bool:
        return len(self.entries) == 1


def split_by_width(
    titles: Sequence[str], lines: Sequence[Line], width: int, repeated: int = 1
) -> list[Table]:
    """Splits a table into as few tables as `width` allows. The first `repeated` columns are in each
    table, left-aligned; the others are right-aligned. A title may have several lines.
    """
    widths = [
        max(
            *(cell_len(part) for part in title.split("\n")),
            *(cell_len(str(line.entries[i])) for line in lines if i < len(line.entries)),
        )
        for i, title in enumerate(titles)
    ]
    keys = list(range(repeated))
    parts: list[list[int]] = []
    for column in range(repeated, len(titles)):
        candidate = [*(parts[-1] if parts else keys), column]
        if not parts or sum(widths[i] for i in candidate) + GAP * (len(candidate) - 1) > width:
            parts.append([*keys, column])
        else:
            parts[-1] = candidate
    return [_table(titles, lines, columns, repeated, widths) for columns in parts or [keys]]


def print_answer(
    sentences: Sequence[str], titles: Sequence[str], lines: Sequence[Line], repeated: int
) -> None:
    """Prints the answer, and below it the rows, if there are any, as split_by_width() does."""
    console = Console()
    for sentence in sentences:
        console.print(sentence, highlight=False, markup=False)
    for table in split_by_width(titles, lines, console.width, repeated) if lines else []:
        console.print()
        console.print(table)


def _table(
    titles: Sequence[str],
    lines: Sequence[Line],
    columns: list[int],
    repeated: int,
    widths: list[int],
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))

    def placed(entry: str | Text, column: int) -> Text:
        """Keeps the blanks behind a figure, which align it; Rich would drop them."""
        text = entry.copy() if isinstance(entry, Text) else Text(entry)
        if column >= repeated:
            text.pad_left(widths[column] - cell_len(text.plain))
        return text

    for i in columns:
        head = Text("\n").join(placed(part, i) for part in titles[i].split("\n"))
        table.add_column(head, no_wrap=True)
    for line in lines:
        if line.is_heading:
            table.add_row(line.entries[0], style=line.style)
        else:
            table.add_row(*(placed(line.entries[i], i) for i in columns), style=line.style)
    return table


def height_of(shown: RenderableType, width: int) -> int:
    """Returns the height in lines."""
    console = Console(width=width)
    return len(console.render_lines(shown))
