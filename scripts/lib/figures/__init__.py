"""Draws the figures from results."""

from collections.abc import Callable, Iterator
from functools import partial

from matplotlib.figure import Figure

from figures import against_size, limit, longest, overview, per_workload
from results.passes import PassResults
from results.replays import Results
from tables.longest import longest_of
from tables.replays import sizes_at


def all_figures(
    results: Results, size: int, width: float | None = None, tails: PassResults | None = None
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Yields the name of each figure that the results allow, and the function that draws it,
    `width` inches wide.
    """
    for workload in results.workloads:
        if len(results.sizes(workload)) > 1 and results.costs(workload):
            yield f"cost_{workload}", partial(against_size.draw, results, workload, width)
    yield f"cost_per_workload_{size}", partial(per_workload.draw, results, size, width)
    if limit.workloads_of(results):
        yield "limit", partial(limit.draw, results, width)
    yield "overview", partial(overview.draw, results, width)
    sizes = sizes_at(results, size)
    if tails and (found := longest_of(tails, results, sizes)):
        yield "longest_advance", partial(longest.draw, results, found, sizes, width)
