"""The findings of docs/findings.md, with the figures of the published campaigns.

Each is a sentence, what was measured, its command and its limits. Who is named in it, and by how much
one is ahead, comes from the figures. What a sentence claims beyond that is checked: if a campaign says
otherwise, scripts/publish fails, and somebody must write another sentence.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from console import Failure
from published import (
    AGAIN,
    FEW,
    MAIN,
    MANY,
    NO_BREAK,
    RUNTIMES,
    SIZE,
    best_of_libraries,
    best_without_logs,
    cheapest,
    cost_of,
    costs,
    costs_of,
    find,
    latest,
    linked,
    paragraph,
    place,
    rough,
    services_of,
    survivors,
    tails,
    value_of,
)
from results.realtime import RealtimeResults
from results.replays import MARGIN, Results
from results.survival import POWER_CUT, Fate
from style import family
from tables.chosen import rough as times
from tables.libraries import pays
from words import digits, enumerated, power, times_less

HEAPS = ("heap", "radix")  # families
WHEELS = ("wheel", "ring")


@dataclass(frozen=True)
class Finding:
    """`says`: a sentence. `seen`: what was measured. `limits`: for what it does not hold."""

    says: str
    seen: str
    command: str
    limits: str
    folder: Path  # of the campaign
    picture: str = ""  # a file in it, and what it shows
    shows: str = ""


def findings() -> str:
    """Returns all findings, numbered; without those whose campaign is not published yet."""
    makers = [*FINDINGS, *([_durable] if find("durable") else [])]
    return "\n\n".join(_text(number, make()) for number, make in enumerate(makers, 1)) + "\n"


def _text(number: int, finding: Finding) -> str:
    folder = place(finding.folder)
    has_picture = finding.picture and (finding.folder / finding.picture).exists()
    parts = [
        f"## {number}. {finding.says}",
        paragraph(
            f"{finding.seen} *Limits:* {finding.limits} [The table]({folder}/table.md) and [all "
            "sizes](../results/report.html) are of:"
        ),
        f"```sh\n{finding.command}\n```",
        f"![{finding.shows}]({folder}/{finding.picture})" if has_picture else "",
    ]
    return "\n\n".join(filter(None, parts)).replace(NO_BREAK, " ")


def _holds(claim: bool, finding: str) -> None:
    if not claim:
        raise Failure(
            f"docs/findings.md: '{finding}' does not hold in the latest campaign; look for the cause, and "
            "write what holds into scripts/lib/findings.py"
        )


# --- Structures ------------------------------------------------------------------------------------


def _elsewhere(tell: Callable[[Results], str]) -> str:
    """Says what the second campaign of the main suite found; nothing if there is none."""
    if not find(MAIN + AGAIN):
        return ""
    told = tell(costs_of(MAIN + AGAIN))
    return f" On a slower virtual machine {told} ({linked(MAIN + AGAIN, 'its table')})."


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


def _heaps_and_wheels(results: Results) -> dict[int, tuple[Best, Best]]:
    """Returns the cheapest heap and the cheapest wheel or ring of `churn`, by the number of timers."""
    return {
        size: (
            _of_families(results, "churn", size, "exact", HEAPS),
            _of_families(results, "churn", size, "granular", WHEELS),
        )
        for size in results.sizes("churn")
    }


def _lead(found: dict[int, tuple[Best, Best]]) -> tuple[int, str, int]:
    """Returns from how many timers on the wheel is ahead, and how much cheaper it is with the most."""
    factors = {size: heap / wheel for size, ((_, heap), (_, wheel)) in found.items()}
    ahead = [size for size, factor in factors.items() if factor > 1 + MARGIN]
    _holds(bool(ahead) and ahead == list(factors)[-len(ahead) :], "a wheel is ahead from a size on")
    return ahead[0], times_less(factors[ahead[-1]], "cheaper"), ahead[-1]


def _heap_or_wheel() -> Finding:
    def again(results: Results) -> str:
        first, cheaper, most = _lead(_heaps_and_wheels(results))
        return f"it is ahead from {power(first)} timers on, and {cheaper} with {power(most)}"

    found = _heaps_and_wheels(costs_of(MAIN))
    first, cheaper, _ = _lead(found)
    since = f"from {power(first)} timers on"
    if first == min(found):
        since += ", the fewest that were measured"
    told = [
        f"with {power(size)} timers {rough(of_wheel)} (`{wheel}`) and {rough(of_heap)} (`{heap}`)"
        for size, ((heap, of_heap), (wheel, of_wheel)) in found.items()
    ]
    return Finding(
        says=f"For time-outs take a wheel: it is ahead of every heap {since}",
        seen=(
            f"To cancel a timer and arm another (`churn`) the best wheel or ring and the best heap take: "
            f"{'; '.join(told)}. With the most timers the wheel is {cheaper}."
        ),
        command="./scripts/bench full --workloads=churn     # takes minutes",
        limits=(
            "a wheel rounds each deadline up, here to a millisecond, and a heap does not. The heaps that are "
            f"near keep the place of each id, so that cancelling need not search.{_elsewhere(again)}"
        ),
        picture=f"cost_per_workload_{SIZE}.png",
        shows=f"Cost of the main backends at {power(SIZE)} timers, by workload",
        folder=latest(MAIN),
    )


def _handles() -> Finding:
    def factors(results: Results) -> dict[tuple[str, str, str], list[float]]:
        """Returns how much dearer the handles are with few timers and with more."""
        found = {
            (workload, boost, own): [
                cost_of(results, workload, size, boost) / cost_of(results, workload, size, own)
                for size in (FEW, SIZE)
            ]
            for workload in ("churn", "hold")
            for boost, own in (("binary_heap", "index_heap_2"), ("quad_heap", "index_heap_4"))
        }
        _holds(
            min(chain.from_iterable(found.values())) > 1.5,
            "Boost's handles cost more than half as much again",
        )
        return found

    def span(results: Results) -> str:
        least, *_, most = sorted(chain.from_iterable(factors(results).values()))
        return f"{times(least)} to {times(most)} times"

    full = costs_of(MAIN)
    told = [
        f"`{boost}` takes {times(few)} and {times(more)} times as long as `{own}` in `{workload}`"
        for (workload, boost, own), (few, more) in factors(full).items()
    ]
    return Finding(
        says=(f"The handles of Boost.Heap make the same heap {span(full)} as dear"),
        seen=(
            "`binary_heap` and `quad_heap` are heaps of Boost with a handle for each timer; `index_heap_2` and "
            "`index_heap_4` have the same arity, in an array, with the place of each id beside it. With "
            f"{power(FEW)} and {power(SIZE)} timers {enumerated(told, 9)}. A handle belongs to a node of its own, so "
            "each comparison follows a pointer."
        ),
        command="./scripts/bench full --workloads=churn,hold --backends=binary_heap,quad_heap,index_heap_2,index_heap_4     # takes minutes",
        limits=(
            "ids are small numbers here. With other keys a table from key to place is to be added."
            f"{_elsewhere(lambda again: f'it is {span(again)} as dear')}"
        ),
        folder=latest(MAIN),
    )


def _logs() -> Finding:
    def gains_of(results: Results) -> list[tuple[str, float, str, float]]:
        """Returns loads with the most timers, what log_wheel_256 costs, and the best without logs with
        its cost.
        """
        size = most(results)
        return [
            (
                workload,
                cost_of(results, workload, size, "log_wheel_256"),
                *best_without_logs(results, workload, "granular", size),
            )
            for workload in ("drain", "hold", "keepalive", "idle_connections")
        ]

    def most(results: Results) -> int:
        return max(results.sizes("hold"))

    def span(results: Results) -> str:
        factors = [cost / own for _, own, _, cost in gains_of(results)]
        told = f"{times(min(factors))} to {times(max(factors))} times"
        return f"{told} as cheap at {power(most(results))} timers"

    full = costs_of(MAIN)
    gains = gains_of(full)
    _holds(all(own < cost for _, own, _, cost in gains), "log_wheel_256 leads with the most timers")
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
    _holds(
        2 * sum(of_few) > len(of_few),
        "log_wheel_256 is mostly behind where timers fit into a cache",
    )
    return Finding(
        says=(
            f"A wheel whose buckets are logs is {span(full)} that fire or are moved, and mostly behind where all timers fit into a cache"
        ),
        seen=(
            f"At {power(most(full))} timers {enumerated(told, 9)}. In {behind} of {all_cells} cells (a load and a size) of "
            f"the suite `full` a granular structure without logs is cheaper than `log_wheel_256`: by up to {times(worst)} times (`{best}` in `{workload}` with {power(size)} timers). A cancelled or moved timer "
            "stays where it is: that saves the cache misses of unlinking it, and the wheel visits it later instead."
        ),
        command=f"./scripts/bench full --workloads=drain,hold,keepalive,idle_connections --backends={','.join(shown)} --sizes=10M     # takes a quarter of an hour",
        limits=(
            "[The limit](limit.md) has all loads, other hosts, and what was tried in vain."
            f"{_elsewhere(lambda again: f'it is {span(again)}')}"
        ),
        folder=latest(MAIN),
    )


def _worst_calls() -> Finding:
    workloads = [name for name in tails().scenarios if name in ("churn", "keepalive", "hold")]

    def longest(workload: str, backend: str) -> float:
        return value_of(tails(), workload, MANY, backend, "worst_ns")

    pairs = [
        (name, longest(name, "kafka_wheel_256"), longest(name, "log_wheel_256"))
        for name in workloads
    ]
    _holds(
        bool(pairs) and all(cascade > 10 * ahead for _, cascade, ahead in pairs),
        "a cascade at once is ten times as long as one in parts",
    )
    told = [f"in `{name}` {rough(cascade)} and {rough(ahead)}" for name, cascade, ahead in pairs]
    return Finding(
        says=(
            f"A cascade, which spreads a bucket of an upper level over the lower one, makes single calls long: the longest `advance()` of a wheel takes "
            f"{rough(max(cascade for _, cascade, _ in pairs))} at {power(MANY)} timers, or "
            f"{rough(max(ahead for *_, ahead in pairs))} if it cascades in parts"
        ),
        seen=(
            f"The clock advances tick by tick, and each call counts by the shortest of three replays. The longest call of `kafka_wheel_256` and of `log_wheel_256` takes "
            f"{'; '.join(told)}. The first moves a whole bucket when its time has come; the second moves it "
            "in parts, in the calls before."
        ),
        command="./scripts/bench full --passes=tails --workloads=churn,keepalive,hold --backends=kafka_wheel_256,log_wheel_256 --sizes=10M --rounds=1     # takes minutes",
        limits="how long a call takes depends on the machine; how many timers it moves does not.",
        folder=latest("tails"),
    )


def _libraries() -> Finding:
    peers = costs_of("peers")

    def pay(size: int) -> dict[str, str]:
        names = best_of_libraries(peers, "churn", size)
        return {name: pays(peers, "churn", size, name) for name in names}

    few, many = pay(FEW), pay(SIZE)
    [own, *_], cost = cheapest(peers, "churn", "exact")
    told = [
        f"`{name}` {figure}" + (f" ({many[name]} at {power(SIZE)})" if name in many else "")
        for name, figure in few.items()
    ]
    [(best, first), *_, (worst, last)] = many.items()
    return Finding(
        says=(
            f"1 % of a core pays for {first} armings a second with the timers of the best library, `{best}`, and for "
            f"{last} with those of `{worst}`, at {power(SIZE)} timers: keep yours if you arm fewer"
        ),
        seen=(
            f"With {power(FEW)} timers 1 % of a core pays, each second, for so many cancels and armings: "
            f"{'; '.join(told)}. `{own}` pays for {pays(peers, 'churn', SIZE, own)} at {power(SIZE)}, at {rough(cost)} each."
        ).replace("\u202f", NO_BREAK),
        command="./scripts/bench peers --workloads=churn     # takes minutes",
        limits="the timers alone, in virtual time, without the rest of a loop's work ([libraries](peers.md)).",
        folder=latest("peers"),
    )


def _runtimes() -> Finding:
    processes = costs_of("processes")
    found = {what: cost_of(processes, "churn", SIZE, name) for what, name in RUNTIMES.items()}
    own = cost_of(processes, "churn", SIZE, "index_heap_4")
    factors = {what: cost / own for what, cost in found.items()}
    _holds(min(factors.values()) > 1.5, "a runtime's timers cost more than an index heap")
    [(first, its_factor), *others] = factors.items()
    compared = [
        f"{first} cost {times(its_factor)} times as much as a heap in an array",
        *(f"{what} {times(factor)} times" for what, factor in others),
    ]
    told = [f"{rough(cost)} with {what} (`{RUNTIMES[what]}`)" for what, cost in found.items()]
    return Finding(
        says=enumerated(compared, 9),
        seen=(
            f"To cancel a timer and arm another takes, with {power(SIZE)} pending, {enumerated(told, 9)}, and "
            f"{rough(own)} with `index_heap_4` in the same rounds."
        ),
        command="./scripts/bench processes --workloads=churn     # takes minutes",
        limits=(
            "each program keeps its own clock and ids, and drives its runtime as its documentation says "
            "([how](processes.md)). The timers of Java itself wait on the wall clock, so they are "
            "[services](services.md)."
        ),
        folder=latest("processes"),
    )


def _reach() -> Finding:
    ring, size = "ring_65536", SIZE

    def far_of(results: Results) -> tuple[float, float, str, float]:
        """Returns what the ring costs near and far, and the best of far delays with its cost."""
        near, far = (cost_of(results, name, size, ring) for name in ("churn", "bulk"))
        [best, *_], cost = cheapest(results, "bulk", "granular", size)
        _holds(far > 20 * near, "a ring's cost depends on the delays")
        return near, far, best, cost

    def again(results: Results) -> str:
        _, far, _, cost = far_of(results)
        return f"it is {times(far / cost)} times as dear"

    near, far, best, cost = far_of(costs_of(MAIN))
    return Finding(
        says=(
            f"One ring of slots is the simplest wheel, and {times(far / cost)} times as dear as the best when delays "
            "leave its reach"
        ),
        seen=(
            f"`{ring}` reaches 65 s with a tick of 1 ms. With {power(size)} timers it takes {rough(near)} in `churn`, "
            f"whose delays are shorter, and {rough(far)} in `bulk`, whose delays are up to 25 days; `{best}` takes "
            f"{rough(cost)} there. Each round looks at every timer of a slot."
        ),
        command="./scripts/bench full --workloads=churn,bulk --backends=ring_65536,kafka_wheel_512     # takes minutes",
        limits=f"a ring with coarser ticks reaches further, and is later.{_elsewhere(again)}",
        folder=latest(MAIN),
    )


# --- Threads and waiting ---------------------------------------------------------------------------


def _locks() -> Finding:
    def calls(name: str, threads: int, campaign: str = "contention") -> float:
        return value_of(services_of(campaign), "own", threads, name, "calls_per_second") / 1e6

    def gain_of(name: str, campaign: str = "contention") -> float:
        return calls(name, 2, campaign) / calls(name, 1, campaign)

    one, slots, shards = (
        "locked_kafka_wheel_256",
        "ring_timer",
        "sharded_4_locked_kafka_wheel_256",
    )
    lost = 1 - gain_of(one)
    gain = gain_of(shards)
    _holds(
        lost > 0.2 and gain > 1.5 and calls(slots, 2) > calls(one, 2), "one mutex, shards, locks"
    )
    elsewhere = {name: gain_of(name, "contention-again") for name in (one, slots, shards)}
    _holds(
        elsewhere[one] < 0.8 and elsewhere[shards] > 1.5 and elsewhere[slots] < 1 < gain_of(slots),
        "a second machine agrees about one mutex and shards, not about locks",
    )
    told = [
        f"`{name}` ({what}) {times(calls(name, 1))} and {times(calls(name, 2))}"
        for name, what in ((one, "one mutex"), (slots, "a lock for each slot"), (shards, "shards"))
    ]
    return Finding(
        says=(
            f"With two threads a wheel under one mutex makes {100 * lost:.0f} % fewer calls than with one; shards "
            f"make {times(gain)} times as many"
        ),
        seen=(
            f"Millions of calls a second with one thread and with two, each with its own timers: "
            f"{'; '.join(told)}. A thread that finds the mutex taken waits, and its cache lines move to the other "
            "processor."
        ),
        command="./scripts/bench contention --workloads=own     # takes minutes",
        limits=(
            "two processors. If each thread uses all shards, they are no better than one mutex "
            "([services](services.md)). A slower virtual machine says the same of one mutex "
            f"({100 * (1 - elsewhere[one]):.0f} % fewer) and of shards ({times(elsewhere[shards])} times as many), "
            f"but there `{slots}` makes {100 * (1 - elsewhere[slots]):.0f} % fewer, too "
            f"({linked('contention-again', 'its table')})."
        ),
        folder=latest("contention"),
    )


def _waits() -> Finding:
    def late(how: str, campaign: str = "accuracy") -> tuple[float, float, float]:
        names = ("lateness_p50_ns", "lateness_p99_ns", "cpu_share")
        p50, p99, cpu = (
            value_of(services_of(campaign), f"wait_{how}", FEW, "locked_binary_heap", name)
            for name in names
        )
        return p50, p99, cpu

    ways = {
        "condition": "a condition variable",
        "timerfd": "a timerfd",
        "sleep_then_spin": "a sleep until shortly before, then spinning",
        "spin": "spinning",
    }
    found = {way: late(way) for way in ways}
    usual = found["condition"][0]
    elsewhere = {way: late(way, "accuracy-again") for way in ways}
    for one in (found, elsewhere):
        _holds(
            one["timerfd"][0] < 0.6 * one["condition"][0]
            and one["sleep_then_spin"][0] < 0.05 * one["condition"][0],
            "a timerfd halves the lateness, and a short spin takes it away",
        )
    _holds(
        all(elsewhere[way][0] > found[way][0] for way in ways)
        and sorted(ways, key=elsewhere.__getitem__) == sorted(ways, key=found.__getitem__),
        "a second machine is later in each way, in the same order",
    )
    told = [
        f"{what} {rough(found[way][0])} (p99 {rough(found[way][1])}, {100 * found[way][2]:.0f} % of a processor)"
        for way, what in ways.items()
    ]
    return Finding(
        says=(
            f"If nothing may be rounded, how a thread waits decides how late it is: {rough(usual)} with a condition "
            f"variable, {rough(found['timerfd'][0])} with a timerfd, and {rough(found['sleep_then_spin'][0])} if it "
            f"spins at the end of each wait, for {100 * found['sleep_then_spin'][2]:.0f} % of a processor"
        ),
        seen=(
            f"A heap under a mutex, at {power(FEW)} timers a second, is late in the median by: {'; '.join(told)}. A condition "
            "variable has the slack of 50 µs that Linux gives a thread; a timerfd has none."
        ),
        command="./scripts/bench accuracy --workloads=wait_condition,wait_timerfd,wait_sleep_then_spin,wait_spin     # takes minutes",
        limits=(
            "a virtual machine, whose own wake-up is what is left with a timerfd. A slower one is later in each way, "
            f"and the order is the same: the four are {enumerated([rough(p50) for p50, _, _ in elsewhere.values()], 4)} late "
            f"({linked('accuracy-again', 'its table')})."
        ),
        folder=latest("accuracy"),
    )


# --- Timers that survive ---------------------------------------------------------------------------

QUEUES = (
    "journal_wheel_0",
    "sqlite_full",
    "postgres_on",
    "redis_always",
    "redis_everysec",
    "redis_cluster",
)


def _durable() -> Finding:
    durable, faults = services_of("durable"), survivors()
    few, many = 1, max(durable.sizes("clients"))

    def rate(name: str, clients: int) -> float:
        return value_of(durable, "clients", clients, name, "timers_per_second")

    def lost(name: str) -> str:
        cut: Fate | None = faults.fates.get((POWER_CUT, name))
        if not cut or not cut.has_figure:
            return "not cut"
        return f"{digits(cut.lost / cut.runs)} timers" if cut.lost else "nothing"

    told = [
        f"`{name}` {times(rate(name, few) / 1e3)} and {times(rate(name, many) / 1e3)} ({lost(name)})"
        for name in QUEUES
    ]
    prices = {
        clients: rate("redis_everysec", clients) / rate("redis_always", clients)
        for clients in (few, many)
    }
    _holds(prices[few] > prices[many] > 1, "a synchronisation is shared by many clients")
    return Finding(
        says=(
            f"Surviving a power cut costs Redis a factor of {times(prices[few])} with one client, and of "
            f"{times(prices[many])} with {many}, which share a synchronisation"
        ),
        seen=(
            f"One client and {many} arm timers and cancel them; thousands a second, and in brackets what a power "
            f"cut took on average: {'; '.join(told)}. With one client those that lose nothing wait for the disk at each "
            f"call, whose synchronisation took {rough(_sync_ns(durable))}. A cluster on one machine shares its "
            "processors, so it is no faster here; it is for more than one machine, and to go on when a node dies."
        ).replace("\u202f", NO_BREAK),
        command="./scripts/bench durable --workloads=clients     # takes half an hour",
        limits=(
            "clients and engines share two processors ([durable queues](durable.md), [past one "
            "machine](distributed.md)). On a slower disk the engines that lose nothing are slower."
        ),
        folder=latest("durable"),
    )


def _sync_ns(durable: RealtimeResults) -> float:
    return value_of(durable, "clients", 1, "journal_wheel_0", "arm_p50_ns")


FINDINGS: tuple[Callable[[], Finding], ...] = (
    _heap_or_wheel,
    _handles,
    _logs,
    _worst_calls,
    _reach,
    _libraries,
    _runtimes,
    _locks,
    _waits,
)
