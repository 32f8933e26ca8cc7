"""The table of a running campaign."""

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from campaign.plan import Plan
from campaign.results import entries_so_far
from campaign.runner import Runner
from results.grid import ResultFile, collect
from results.replays import Results
from tables import replays as table
from tables.terminal import height_of


def table_so_far(plan: Plan, runner: Runner, width: int, height: int) -> Sequence[RenderableType]:
    """Returns as many rows of the table as fit: the first rows of each precision. If not even one
    row of each fits, returns the first columns only. The whole table is printed at the end. Returns
    nothing for suites that do not rank costs.
    """
    entries = entries_so_far(plan, runner)
    if not plan.is_replayed or runner.pass_ != "total" or not entries:
        return []
    results = collect(Results(), [ResultFile(Path(plan.suite), {}, entries)])
    if not results.has_figure:
        return []
    size = results.telling_size()
    rows = table.rows(results, size)
    note = Text(table.caption(results, size), "dim")

    def shown(most_rows: int | None) -> list[RenderableType]:
        return [*table.terminal_tables(results, size, width, rows, most_rows), note]

    def is_too_high(parts: Sequence[RenderableType]) -> bool:
        return sum(height_of(part, width) for part in parts) > height

    parts = shown(None)
    if is_too_high(parts):
        counts = range(2, len(rows))
        most = bisect_left(counts, True, key=lambda count: is_too_high(shown(count))) + 1
        parts = shown(most)
    while is_too_high(parts) and len(parts) > 1:
        parts.pop()
    return parts
