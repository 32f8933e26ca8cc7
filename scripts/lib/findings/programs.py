"""Findings about the timers of libraries and of runtimes."""

from itertools import chain

from findings.parts import Finding, elsewhere, holds
from pictures import Picture
from published import (
    FEW,
    RUNTIMES,
    SIZE,
    best_of_libraries,
    cheapest,
    cost_of,
    costs_of,
    latest,
    rough,
)
from reports import Choice
from results.replays import Results
from tables.chosen import rough as times
from tables.libraries import pays
from words import enumerated, power


def libraries() -> Finding:
    def span(results: Results) -> str:
        """Returns for how many timers 1 % of a core pays with the worst library and with the best."""
        best, *_, worst = best_of_libraries(results, "churn", SIZE)
        return " to ".join(pays(results, "churn", SIZE, name) for name in (worst, best))

    def again(results: Results) -> str:
        return f"it is {span(results)} with {power(SIZE)}"

    peers = costs_of("peers")
    sizes = peers.sizes("churn")
    best = {
        size: {name.partition("_")[0]: name for name in best_of_libraries(peers, "churn", size)}
        for size in sizes
    }

    def most(library: str, size: int) -> str:
        """Returns the same for the best queue of a library."""
        name = best[size].get(library)
        return pays(peers, "churn", size, name) if name else "too slow"

    names = list(dict.fromkeys(chain.from_iterable(best.values())))
    told = [f"{name} {' / '.join(most(name, size) for size in sizes)}" for name in names]
    own, rounded = (
        cheapest(peers, "churn", precision)[0][0] for precision in ("exact", "granular")
    )
    return Finding(
        says=(
            f"With {power(SIZE)} timers 1 % of a core cancels and arms {span(peers)} timers a second with the timers of "
            f"{len(best[SIZE])} of {len(names)} libraries: keep yours if you need fewer"
        ),
        seen=(
            f"So many pairs of a cancel and an arming 1 % of a core does in a second, with "
            f"{' / '.join(map(power, sizes))} timers and what is best there of each library: {'; '.join(told)}. "
            f"With {power(SIZE)} timers `{own}` does it {pays(peers, 'churn', SIZE, own)} times, and `{rounded}`, which "
            f"rounds, {pays(peers, 'churn', SIZE, rounded)} times."
        ),
        command="./scripts/bench peers --workloads=churn     # takes minutes",
        limits=(
            "the timers alone, in virtual time, without the rest of a loop's work ([libraries](peers.md))."
            f"{elsewhere(again, 'peers')}"
        ),
        rounds=peers.rounds,
        picture=Picture(
            latest("peers"),
            "libraries",
            "cost_churn",
            "Cost of cancelling and arming against the number of timers, for the timers of libraries",
            Choice(
                [*best_of_libraries(peers, "churn", FEW), "ace_heap", own, "index_heap_4"],
                ["churn"],
            ),
        ),
    )


def runtimes() -> Finding:
    processes = costs_of("processes")

    def factors(results: Results, workload: str) -> list[float]:
        own = cost_of(results, workload, SIZE, "index_heap_4")
        return [cost_of(results, workload, SIZE, name) / own for name in RUNTIMES.values()]

    def again(results: Results) -> str:
        found = [
            f"{times(factor)} with {what}"
            for what, factor in zip(RUNTIMES, factors(results, "churn"))
        ]
        return (
            f"the factors to cancel and arm are {enumerated(found, 9)}; there Java's include the first use of [new "
            "pages](processes.md#what-is-built)"
        )

    to_cancel, to_fire = factors(processes, "churn"), factors(processes, "hold")
    versions = list(
        dict.fromkeys(processes.version(name).partition(" (")[0] for name in RUNTIMES.values())
    )
    holds(min(*to_cancel, *to_fire) > 1.5, "a runtime's timers cost more than an index heap")
    [(first, its_factor), *others] = zip(RUNTIMES, to_cancel)
    compared = [
        f"{times(its_factor)} times as much with {first} as with a heap in an array",
        *(f"{times(factor)} with {what}" for what, factor in others),
    ]
    told = [
        f"{rough(cost_of(processes, 'churn', SIZE, name))} with {what} (`{name}`)"
        for what, name in RUNTIMES.items()
    ]
    return Finding(
        says=f"With {power(SIZE)} timers to cancel and arm costs {enumerated(compared, 9)}",
        seen=(
            f"To cancel a timer and arm another takes, with {power(SIZE)} pending, {enumerated(told, 9)}, and "
            f"{rough(cost_of(processes, 'churn', SIZE, 'index_heap_4'))} with `index_heap_4` in the same rounds. `DelayQueue` searches for the timer to "
            "cancel; with `PriorityQueue` a cancelled one stays until it surfaces, or until half are cancelled. To fire one and "
            f"arm the next (`hold`), in the same order, they cost {enumerated([times(factor) for factor in to_fire], 9)} times as much as that heap."
        ),
        command="./scripts/bench processes --workloads=churn,hold     # takes minutes",
        limits=(
            "each program keeps its own clock and ids, and drives its runtime as its documentation says "
            f"([how](processes.md)); the figure of Go includes that its clock is moved. The versions are {enumerated(versions, 9)}. Java's own classes of timers wait on the wall "
            f"clock, so they are [services](services.md).{elsewhere(again, 'processes')}"
        ),
        rounds=processes.rounds,
        picture=Picture(
            latest("processes"),
            "runtimes",
            f"cost_per_workload_{SIZE}",
            f"Cost at {power(SIZE)} timers, for the timers of runtimes",
            Choice([*RUNTIMES.values(), "index_heap_4"], ["churn", "hold"], SIZE),
        ),
    )
