"""How sure the figures of a campaign are: its noise, and what disturbed it."""

from collections.abc import Sequence
from math import ceil, isinf
from statistics import median

from results.replays import Results
from results.statistics import (
    LEAST_ROUNDS,
    OUTLIER,
    SLOW_MEMORY,
    half_widths,
    noise_floor,
    paired_log_ratios,
    usual_read,
)
from words import counted, digits, grouped, percent, power

# With a granularity of 1 both do the same work, since nothing is rounded. Used for results without
# twins.
SAME_WORK = ("kafka_wheel_20", "kafka_wheel_floor_20")


def sureness_lines(results: Results) -> list[str]:
    return [
        *noise_lines(results),
        *pace_lines(results),
        *memory_lines(results),
        *outlier_lines(results),
    ]


def noise_lines(results: Results, figure: str = "") -> list[str]:
    """Says how much two measurements of the same work differ, and how sure that is."""
    names = list(dict.fromkeys(backend for _, _, backend in results.twins))
    who = f"each round measured {' and '.join(names)} twice"
    logs = results.twin_ratios
    if not logs and results.facts.get("granularity", "1") == "1":
        one, other = SAME_WORK
        who = f"{one} and {other} do the same work"
        pairs = [
            paired_log_ratios(cell.by_round, twin.by_round)
            for (workload, size, backend), cell in results.cells.items()
            if backend == one
            and cell.has_figure
            and (twin := results.cell(workload, size, other))
            and twin.has_figure
        ]
        logs = [ratios for ratios in pairs if ratios]
    if not logs:
        return ["Noise: nothing was measured twice, so the noise is unknown."]
    effects = [abs(median(values)) for values in logs]
    middle, nine, most = map(percent, (median(effects), noise_floor(logs), max(effects)))
    cells = counted(len(effects), "cell")
    return [
        f"Noise: {who}. The two{figure and f' {figure}'} figures differ by {middle} (median of "
        f"{cells}), by {nine} in nine of ten cells, and by {most} at most. "
        f"{_reach(half_widths(logs))}"
    ]


def _reach(widths: Sequence[float]) -> str:
    """Says how large a difference must be, from the ascending half-widths of the intervals."""
    middle, nine = widths[len(widths) // 2], widths[ceil(0.9 * len(widths)) - 1]
    if isinf(nine):
        return f"It takes {LEAST_ROUNDS} rounds to say how sure that is."
    return (
        f"The intervals of these differences reach {percent(middle)} (median) and {percent(nine)} "
        "(nine of ten cells): the rounds resolve differences of about that size."
    )


def pace_lines(results: Results) -> list[str]:
    """Says how the machine's speed changed between rounds, if there are enough of them."""
    pace = results.pace.values()
    if len(pace) < LEAST_ROUNDS:
        return []
    return [
        f"Pace: a round took {min(pace):.2f} to {max(pace):.2f} of the usual time. This does not "
        "affect comparisons, which are made within rounds."
    ]


def memory_lines(results: Results) -> list[str]:
    """Says how long measurements waited for memory that others used, if that is known."""
    reads = results.memory_reads
    if not reads:
        return []
    usual = usual_read(reads)
    slow = sum(read > SLOW_MEMORY * usual for read in reads)
    waited = (
        f"It took more than {SLOW_MEMORY:g} times as long beside {slow} of {len(reads)} "
        "measurements, even when they were repeated: other programs used the memory, and these "
        "figures are too high."
    )
    return [
        f"Memory: a read took {digits(usual)} ns (median), and at most {reads[-1] / usual:.2f} "
        f"times as long. {waited if slow else 'No measurement had to wait for other programs.'}"
    ]


def outlier_lines(results: Results) -> list[str]:
    """Says how many measurements cost far more than the other rounds of their cell, whatever
    disturbed them: there are disturbances that no probe sees. Empty if the rounds are too few.
    """
    if results.rounds.most < LEAST_ROUNDS:
        return []
    measured = sum(len(cell.costs) for cell in results.cells.values() if cell.has_figure)
    outliers = results.outliers
    limit = f"{OUTLIER:g} times the median of their cell"
    if not outliers:
        return [f"Outliers: none of {grouped(measured)} measurements cost more than {limit}."]
    worst, (workload, size, backend), round_ = max(outliers)
    rounds = counted(len({round_ for _, _, round_ in outliers}), "round")
    return [
        f"Outliers: {grouped(len(outliers))} of {grouped(measured)} measurements, in {rounds}, cost more than {limit}. "
        f"The worst cost {worst:.1f} times as much: {backend} on {workload} at {power(size)} in "
        f"round {round_ + 1}."
    ]
