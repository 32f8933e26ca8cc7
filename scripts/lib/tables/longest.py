"""How long the longest advance() takes: a table of the pass `tails`."""

from collections.abc import Mapping

from results.passes import PassResults
from results.replays import Results
from tables.chosen import rough_time
from tables.replays import markdown_table

EXPLANATION = (
    "The longest `advance()` of a replay. Each call counts by the least of three replays, so what only "
    "interrupted one of them is not in it:"
)


def longest_of(
    cells: PassResults, results: Results, sizes: Mapping[str, int]
) -> dict[str, dict[str, float]]:
    """Returns for each workload that was measured at its size how long it took each backend, without
    the controls. In ns.
    """
    backends = [name for name in results.backends if results.precision(name) != "none"]
    found = {
        workload: {
            name: longest
            for name in backends
            if (cell := cells.cell(workload, size, name)) and (longest := cell.value("worst_ns"))
        }
        for workload, size in sizes.items()
    }
    return {workload: of for workload, of in found.items() if of}


def longest_table(
    cells: PassResults, results: Results, sizes: Mapping[str, int], title: str
) -> str:
    """Returns a row for each backend, without the controls, and a column for each workload at its size
    that was measured. Empty if none was.
    """
    found = longest_of(cells, results, sizes)
    rows = [
        [f"`{name}`", *(rough_time(of[name]) if name in of else "–" for of in found.values())]
        for name in results.backends
        if results.precision(name) != "none"
    ]
    return markdown_table([title, *found], rows, names=1) if found else ""
