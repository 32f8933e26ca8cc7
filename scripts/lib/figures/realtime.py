"""The figures of the suites on the wall clock."""

from collections.abc import Callable, Iterator

from matplotlib.figure import Figure

from figures import accuracy, contention, durable, purgatory
from results.realtime import RealtimeResults


def realtime_figures(
    results: RealtimeResults, size: int | None, width: float | None = None
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Yields the name of each figure that the results allow, and the function that draws it."""
    if results.suite == "accuracy":
        yield from accuracy.figures(results, size, width)
    elif results.suite == "contention":
        yield from contention.figures(results, width)
    elif results.suite == "durable":
        yield from durable.figures(results, width)
    else:
        yield from purgatory.figures(results, width)
