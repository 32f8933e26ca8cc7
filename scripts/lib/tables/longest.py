"""How long the longest advance() takes: a table of the pass `tails`."""

from collections.abc import Mapping

from results.passes import PassCell, PassResults
from results.replays import Results
from tables.chosen import rough_time
from tables.replays import markdown_table

EXPLANATION = (
    "The longest `advance()` of a replay. Each call counts by the least of three replays, so what only "
    "interrupted one of them is not in it:"
)


def longest_table(
    cells: PassResults, results: Results, sizes: Mapping[str, int], title: str
) -> str:
    """Returns a row for each backend, without the controls, and a column for each workload at its size
    that was measured. Empty if none was.
    """
    backends = [name for name in results.backends if results.precision(name) != "none"]
    told = {
        workload: {name: _longest(cells.cell(workload, size, name)) for name in backends}
        for workload, size in sizes.items()
    }
    columns = {workload: entries for workload, entries in told.items() if any(entries.values())}
    rows = [
        [f"`{name}`", *(entries[name] or "–" for entries in columns.values())] for name in backends
    ]
    return markdown_table([title, *columns], rows, names=1) if columns else ""


def _longest(cell: PassCell | None) -> str:
    longest = cell and cell.value("worst_ns")
    return rough_time(longest) if longest else ""
