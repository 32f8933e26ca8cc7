"""The table of a campaign that is still being measured."""

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
    """As much as there is room for, but of each workload and precision at least the first: all of it is
    printed in the end. Nothing of what is no ranking of costs.
    """
    entries = entries_so_far(plan, runner)
    if not plan.is_replayed or runner.pass_ != "total" or not entries:
        return []
    results = collect(Results(), [ResultFile(Path(plan.suite), {}, entries)])
    if not results.has_figure:
        return []
    size = results.telling_size()
    note = Text(f"{table.caption(results, size)}", "dim")
    shown: list[RenderableType] = []
    for most_rows in (None, *range(max(1, len(results.backends)), 0, -1)):
        shown = [*table.terminal_tables(results, size, width, most_rows), note]
        if sum(height_of(one, width) for one in shown) <= height:
            break
    return shown
