"""Findings about structures: heaps, wheels, rings and logs."""

from collections.abc import Iterable
from itertools import chain

from console import Failure
from findings.parts import Finding, elsewhere, holds
from pictures import Picture
from published import (
    AGAIN,
    DESIGNS,
    FEW,
    MAIN,
    MANY,
    SIZE,
    best_without_logs,
    cell_of,
    cheapest,
    cost_of,
    costs,
    costs_of,
    latest,
    linked,
    rough,
    tails,
    value_of,
)
from reports import Choice
from results.replays import MARGIN, Results
from style import family
from tables.chosen import rough as times
from words import enumerated, grouped, power, times_less

HEAPS = ("heap", "radix")  # families
WHEELS = ("wheel", "ring")
RECORDING = "nginx_keepalive_c256"


def _of_families(
    results: Results, workload: str, size: int, precision: str, families: Iterable[str]
) -> tuple[str, float]:
    """Returns the cheapest of these families, and its cost."""
    for name, cost in costs(results, workload, precision, size).items():
        if family(name) in families:
            return name, cost
    raise Failure(
        f"results: none of {', '.join(families)} has a figure for {workload}, {size} timers"
    )


Best = tuple[str, float]  # a backend, and its cost


def _best_wheel_and_heap(results: Results, workload: str, size: int) -> tuple[Best, Best]:
    return (
        _of_families(results, workload, size, "granular", WHEELS),
        _of_families(results, workload, size, "exact", HEAPS),
    )


def _wheels_and_heaps(results: Results) -> dict[int, tuple[Best, Best]]:
    """Returns the cheapest wheel or ring and the cheapest heap of `churn`, by the number of timers."""
    return {size: _best_wheel_and_heap(results, "churn", size) for size in results.sizes("churn")}


def _is_ahead(timeouts: Results, size: int) -> bool:
    """Whether the best wheel is cheaper than the best heap in all rounds where all time-outs are cancelled."""
    (wheel, _), (heap, _) = _best_wheel_and_heap(timeouts, "read_timeouts", size)
    wheels, heaps = (cell_of(timeouts, "read_timeouts", size, name).costs for name in (wheel, heap))
    return max(wheels) < min(heaps)


def _told(best: Best) -> str:
    name, cost = best
    return f"{rough(cost)} (`{name}`)"


def _lead(found: dict[int, tuple[Best, Best]]) -> str:
    """Says how much cheaper the wheel is with the fewest timers with which it is ahead, and with the most."""
    factors = {size: heap / wheel for size, ((_, wheel), (_, heap)) in found.items()}
    ahead = [size for size, factor in factors.items() if factor > 1 + MARGIN]
    holds(bool(ahead) and ahead == list(factors)[-len(ahead) :], "a wheel is ahead from a size on")
    first, most = ahead[0], ahead[-1]
    fewest = ", the fewest that were measured" if first == min(found) else ""
    return (
        f"{times_less(factors[first], 'cheaper')} than the best heap with {power(first)} timers{fewest}, and "
        f"{times_less(factors[most], 'cheaper')} with {power(most)}"
    )


def heap_or_wheel() -> Finding:
    def again(results: Results) -> str:
        return f"the wheel is {_lead(_wheels_and_heaps(results))}"

    full, timeouts = costs_of(MAIN), costs_of("timeouts")
    found = _wheels_and_heaps(full)
    lead = _lead(found)
    told = [
        f"{_told(wheel)} and {_told(heap)} with {power(size)}"
        for size, (wheel, heap) in found.items()
        if size in (FEW, SIZE, MANY)
    ]
    ahead = [size for size in timeouts.sizes("read_timeouts") if _is_ahead(timeouts, size)]
    largest = max(timeouts.sizes("read_timeouts"))
    (_, wheels), (_, heaps) = _best_wheel_and_heap(timeouts, "read_timeouts", largest)
    holds(bool(ahead) and wheels < heaps, "a wheel is ahead where all time-outs are cancelled")
    most = max(ahead)
    wheel, heap = _best_wheel_and_heap(timeouts, "read_timeouts", most)
    fired = full.inputs[f"churn/{SIZE}/local"]["fired_share"]
    spread, unsteady, its_size = max(
        (max(rounds) / min(rounds), name, size)
        for size, ((name, _), _) in found.items()
        for rounds in [cell_of(full, "churn", size, name).costs]
    )
    calendar = [
        rough(cost_of(full, "churn", size, "log_calendar_256")) for size in (FEW, SIZE, MANY)
    ]
    return Finding(
        says=f"For time-outs take a wheel rather than a heap, if rounding up to a tick is fine: it is {lead}",
        seen=(
            "To cancel a timer and arm another (`churn`) costs, with the best wheel or ring and with the best "
            f"heap: {'; '.join(told)}. `log_calendar_256`, which is neither and does not round, "
            f"takes {enumerated(calendar, 9)}. From {power(SIZE)} on about "
            f"one timer in {round(1 / fired)} fires, and its cost is included. Where all are cancelled "
            f"(`read_timeouts`) a wheel is ahead, too: {_told(wheel)} and {_told(heap)} with {power(most)}, where "
            f"`log_calendar_256` takes {rough(cost_of(timeouts, 'read_timeouts', most, 'log_calendar_256'))}."
        ),
        command="./scripts/bench full --workloads=churn --rounds=3     # takes minutes",
        limits=(
            "a wheel rounds each deadline up, here to a millisecond. Each structure here finds a timer by its "
            f"number, without a search. With {power(its_size)} timers two rounds of `{unsteady}` differ by {times(spread)} times, "
            "so smaller differences mean nothing there."
            f"{elsewhere(again)}"
        ),
        rounds=full.rounds,
        picture=Picture(
            latest(MAIN),
            "heap_or_wheel",
            "cost_churn",
            "Cost of cancelling and arming against the number of timers, for wheels and heaps",
            Choice(
                ["kafka_wheel_256", "log_wheel_256", "ring_65536", "radix_heap", "index_heap_8"]
                + ["index_heap_4", "binary_heap", "log_calendar_256"],
                ["churn"],
            ),
        ),
    )


def handles() -> Finding:
    heaps = (("binary_heap", "index_heap_2"), ("quad_heap", "index_heap_4"))

    def factors(results: Results, workload: str, size: int) -> list[float]:
        """Returns how much dearer the handles are."""
        return [
            cost_of(results, workload, size, boost) / cost_of(results, workload, size, own)
            for boost, own in heaps
        ]

    def sizes_of(results: Results, workload: str) -> list[int]:
        """Returns those at which all four have a figure."""
        names = list(chain.from_iterable(heaps))
        return [
            size
            for size in results.sizes(workload)
            if all(
                (cell := results.cell(workload, size, name)) and cell.has_figure for name in names
            )
        ]

    def span(results: Results, *workloads: str) -> str:
        least, *_, most = sorted(
            factor
            for workload in workloads
            for size in sizes_of(results, workload)
            for factor in factors(results, workload, size)
        )
        holds(least > 1.5, "Boost's handles cost more than half as much again")
        return f"{times(least)} to {times(most)} times"

    def again(results: Results) -> str:
        return f"they cost {span(results, 'churn', 'hold')} as much"

    full = costs_of(MAIN)
    [recorded_size] = full.sizes(RECORDING)
    recorded = map(times, factors(full, RECORDING, recorded_size))
    moved = map(times, factors(full, "idle_connections", SIZE))
    return Finding(
        says=(
            f"A heap of Boost with handles costs {span(full, 'churn', 'hold')} as much as a heap in an array, to cancel and arm or "
            f"to fire and arm with {power(FEW)} to {power(max(sizes_of(full, 'churn')))} timers"
        ),
        seen=(
            "`binary_heap` and `quad_heap` are heaps of Boost with a handle for each timer. `index_heap_2` and "
            "`index_heap_4` have the same arity, in an array; a second array says where each timer is. "
            f"The handles cost {span(full, 'churn')} as much in `churn`, "
            f"{span(full, 'hold')} in `hold`, and {span(full, 'cancel')} to cancel alone; where timers are only moved "
            f"(`idle_connections`), {' and '.join(moved)} times with {power(SIZE)}. A handle belongs to a "
            "node of its own, so each comparison follows a pointer."
        ),
        command="./scripts/bench full --workloads=churn,hold --backends=binary_heap,quad_heap,index_heap_2,index_heap_4 --rounds=3     # takes minutes",
        limits=(
            "timers have small numbers here; other keys need a table from the key to the place. In a recording "
            f"of nginx with some {power(FEW)} timers they cost only {' and '.join(recorded)} times as much.{elsewhere(again)}"
        ),
        rounds=full.rounds,
        picture=Picture(
            latest(MAIN),
            "handles",
            "cost_churn",
            "Cost of cancelling and arming against the number of timers, for heaps with handles and in an array",
            Choice(["binary_heap", "quad_heap", "index_heap_2", "index_heap_4"], ["churn"]),
        ),
    )


def logs() -> Finding:
    workloads = ("drain", "hold", "keepalive", "idle_connections")  # of which the gain is told

    def gains_of(
        results: Results, size: int, workloads: Iterable[str] = workloads
    ) -> list[tuple[str, float, str, float]]:
        """Returns loads, what log_wheel_256 costs, and the best without logs with its cost."""
        return [
            (
                workload,
                cost_of(results, workload, size, "log_wheel_256"),
                *best_without_logs(results, workload, "granular", size),
            )
            for workload in workloads
        ]

    def span(results: Results, size: int) -> str:
        factors = [cost / own for _, own, _, cost in gains_of(results, size)]
        return f"{times(min(factors))} to {times(max(factors))} times"

    def again(results: Results) -> str:
        most = max(results.sizes("hold"))
        return f"they cost {span(results, most)} as much at {power(most)}"

    full, designs = costs_of(MAIN), costs_of(DESIGNS)
    gains = gains_of(full, MANY)
    holds(all(own < cost for _, own, _, cost in gains), "log_wheel_256 leads with the most timers")
    with_most = [workload for workload in full.workloads if MANY in full.sizes(workload)]
    factors = {load: cost / own for load, own, _, cost in gains_of(full, MANY, with_most)}
    ahead = [load for load, factor in factors.items() if factor > 1 + MARGIN]
    dearer = [f"`{load}`" for load, factor in factors.items() if factor < 1 - MARGIN]
    told = [
        f"`{workload}` takes {rough(own)} instead of {rough(cost)} (`{best}`)"
        for workload, own, best, cost in gains
    ]
    shown = dict.fromkeys(["log_wheel_256", *(best for _, _, best, _ in gains)])
    losses, all_cells = [], 0
    for workload in full.workloads:
        for size in full.sizes(workload):
            own = full.cell(workload, size, "log_wheel_256")
            if own and own.has_figure:
                all_cells += 1
                best, cost = best_without_logs(full, workload, "granular", size)
                losses.append((own.cost / cost, workload, size, best))
    losses.sort(reverse=True)
    worst, workload, size, best = losses[0]
    behind = sum(loss > 1 + MARGIN for loss, *_ in losses)
    of_few = [loss > 1 + MARGIN for loss, _, its_size, _ in losses if its_size == FEW]
    holds(
        2 * sum(of_few) > len(of_few),
        "log_wheel_256 is mostly behind with few timers",
    )

    def without(idea: str, workload: str) -> str:
        ours, other = (
            cost_of(designs, workload, MANY, name)
            for name in ("log_wheel_256", f"log_wheel_256_without_{idea}")
        )
        holds(other > 1.5 * ours, f"{workload} gains by {idea}")
        return times(other / ours)

    return Finding(
        says=(
            f"A wheel whose buckets are logs is cheaper than every granular structure without logs in {len(ahead)} of {len(factors)} loads with "
            f"{power(MANY)} timers, by up to {times(max(factors.values()))} times, and mostly dearer with {power(FEW)}"
        ),
        seen=(
            f"At {power(MANY)} timers {enumerated(told, 9)}; `log_wheel_256` is dearer in {enumerated(dearer, 9)}. "
            f"Over all sizes of the suite `full` a granular structure without logs is more than {100 * MARGIN:.0f} % cheaper in {behind} of {all_cells} "
            f"cells (a load and a size), and in {sum(of_few)} of {len(of_few)} with {power(FEW)} timers; the most is "
            f"{times(worst)} times (`{best}`, `{workload}`, {power(size)}). Most of the gain comes from "
            f"fetching timers ahead: without it `drain` and `hold` take {without('fetching', 'drain')} and "
            f"{without('fetching', 'hold')} times as long. In `keepalive` a moved timer also stays where it is: "
            f"without that it takes {without('lazy_moves', 'keepalive')} times as long ({linked(DESIGNS, 'designs')})."
        ),
        command=f"./scripts/bench full --workloads=drain,hold,keepalive,idle_connections --backends={','.join(shown)} --sizes=10M     # takes a quarter of an hour",
        limits=(
            f"at {power(1_000_000)} timers, most of which a shared cache holds, the best structures without logs cost "
            f"{span(full, 1_000_000)} as much in these loads."
            f"{elsewhere(again)} Other hosts gain less at {power(MANY)}, too ([the limit](limit.md#other-hosts))."
        ),
        rounds=full.rounds,
        picture=Picture(
            latest(MAIN),
            "logs",
            "cost_hold",
            "Cost of a fire and the next timer against the number of timers, with logs and without",
            Choice([*shown, "log_calendar_256", "one_store"], ["hold"]),
        ),
    )


def worst_calls() -> Finding:
    lists, logs, at_once, ring = (
        "kafka_wheel_256",
        "log_wheel_256",
        "log_wheel_256_without_cascading_ahead",
        "ring_65536",
    )

    def longest(
        backend: str, of: str = "tails", workload: str = "hold", counter: str = "worst_ns"
    ) -> float:
        return value_of(tails(of), workload, MANY, backend, counter)

    def again(_: Results) -> str:
        least, most = (rough(longest(name, "tails" + AGAIN)) for name in (logs, lists))
        return f"they take {most} and {least}; its rounds with {power(MANY)} timers differ widely"

    def count(backend: str, counter: str) -> str:
        number = int(longest(backend, counter=counter))
        return grouped(number) if number else "none"

    holds(
        all(
            longest(lists, workload=name) > 10 * longest(logs, workload=name)
            for name in ("churn", "keepalive", "hold")
        )
        and longest(at_once, DESIGNS) > 10 * longest(logs, DESIGNS),
        "a cascade at once is ten times as long as one in parts",
    )
    steps = [rough(longest(name, DESIGNS)) for name in (lists, at_once, logs)]
    return Finding(
        says=(
            f"A cascade makes single calls long: in `hold` with {power(MANY)} timers the longest takes {rough(longest(lists))} with lists, and "
            f"{rough(longest(logs))} with logs that cascade in parts"
        ),
        seen=(
            "A cascade spreads a bucket of an upper level over the lower one. The longest `advance()` of "
            f"`{lists}` moves {count(lists, 'worst_moved')} timers. That of `{logs}` moves "
            f"{count(logs, 'worst_moved')} and fires {count(logs, 'worst_fired')}: it moves a bucket in parts, in the calls "
            f"before. `{ring}`, which never cascades, takes {rough(longest(ring))}, and `log_calendar_256` {rough(longest('log_calendar_256'))}. Logs and cascading in parts both help: in a campaign of "
            f"{linked(DESIGNS, 'designs')} lists take {steps[0]}, logs that cascade at once {steps[1]}, and logs that cascade "
            f"in parts {steps[2]}."
        ),
        command="./scripts/bench full --passes=tails --workloads=churn,keepalive,hold --backends=kafka_wheel_256,log_wheel_256,log_calendar_256,ring_65536 --sizes=10M --rounds=1     # takes minutes",
        limits=(
            "each call counts by the least of three replays, and the clock advances tick by tick. If it jumps, as in a program that sleeps until the next timer, logs move "
            "at once what is skipped ([the longest advance](limit.md#the-longest-advance))."
            f"{elsewhere(again, 'tails')}"
        ),
        rounds=costs_of("tails").rounds,
        picture=Picture(
            latest("tails"),
            "worst_calls",
            "longest_advance",
            f"The longest advance() at {power(MANY)} timers, by workload",
            Choice([logs, "log_calendar_256", ring, lists]),
        ),
    )


def reach() -> Finding:
    ring, size = "ring_65536", SIZE

    def far_of(results: Results) -> tuple[float, float, str, float]:
        """Returns what the ring costs near and far, and the best of far delays with its cost."""
        near, far = (cost_of(results, name, size, ring) for name in ("churn", "bulk"))
        [best, *_], cost = cheapest(results, "bulk", "granular", size)
        holds(far > 20 * near, "a ring's cost depends on the delays")
        return near, far, best, cost

    def again(results: Results) -> str:
        _, far, _, cost = far_of(results)
        return f"it is {times(far / cost)} times as dear as the best"

    near, far, best, cost = far_of(costs_of(MAIN))
    return Finding(
        says=(
            f"One ring of slots is the simplest wheel, and {times(far / cost)} times as dear as `{best}` when delays "
            f"leave its reach and {power(size)} timers are pending"
        ),
        seen=(
            f"`{ring}` reaches 65 s with a tick of 1 ms. With {power(size)} timers it takes {rough(near)} in `churn`, "
            f"whose delays are shorter, and {rough(far)} in `bulk`, whose delays are up to 25 days; `{best}` takes "
            f"{rough(cost)} there. The ring turns once in 65 s, and looks at every timer each time."
        ),
        command="./scripts/bench full --workloads=churn,bulk --backends=ring_65536,kafka_wheel_512 --rounds=3     # takes minutes",
        limits=f"a ring with coarser ticks reaches further, and is later.{elsewhere(again)}",
        rounds=costs_of(MAIN).rounds,
        picture=Picture(
            latest(MAIN),
            "reach",
            "cost_bulk",
            "Cost with delays of up to 25 days against the number of timers, for a ring and for wheels",
            Choice([ring, best, "kafka_wheel_256", "log_wheel_256"], ["bulk"]),
        ),
    )
