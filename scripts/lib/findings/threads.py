"""Findings about timers that threads share, and about how a thread waits."""

from collections.abc import Sequence

from findings.parts import Finding, holds
from pictures import Picture
from published import (
    FEW,
    latest,
    linked,
    rough,
    services_of,
    value_of,
)
from reports import Choice
from tables.chosen import rough as times
from words import enumerated, power


def locks() -> Finding:
    one, slots, shards = (
        "locked_kafka_wheel_256",
        "ring_timer",
        "sharded_4_locked_kafka_wheel_256",
    )
    mutexes = (one, "locked_log_wheel_256")
    sharded = (shards, "sharded_4_locked_log_wheel_256")
    first, second = "contention", "contention-again"

    def calls(name: str, threads: int, campaign: str = first, pattern: str = "own") -> float:
        return value_of(services_of(campaign), pattern, threads, name, "calls_per_second") / 1e6

    def spread(names: Sequence[str], threads: int) -> float:
        """Returns by what factor the rounds differ most if all threads use all timers."""
        cells = (services_of(first).cell("cross", threads, name) for name in names)
        rounds = [cell.counters["calls_per_second"] for cell in cells if cell]
        return max(max(one) / min(one) for one in rounds)

    def gain_of(name: str, campaign: str = first) -> float:
        return calls(name, 2, campaign) / calls(name, 1, campaign)

    def shared(names: Sequence[str], threads: int, campaign: str = first) -> float:
        """Returns the most calls if all threads use all timers."""
        return max(calls(name, threads, campaign, "cross") for name in names)

    gain = gain_of(shards)
    holds(
        gain_of(one) < 0.8 and gain > 1.5 and calls(slots, 2) > calls(one, 2),
        "one mutex, shards, locks",
    )
    elsewhere = {name: gain_of(name, second) for name in (one, slots, shards)}
    holds(
        elsewhere[one] < 0.8
        and elsewhere[shards] > 1.5
        and elsewhere[slots] < 1 < gain_of(slots)
        and calls(one, 2, second) < calls(one, 2),
        "a second, slower machine agrees about one mutex and shards, not about locks",
    )
    more = (2, 4, 8)
    most = more[-1]
    best_under_mutex = max(mutexes, key=lambda name: calls(name, most, pattern="cross"))
    gain_if_shared = max(
        shared(sharded, threads, campaign) / shared(mutexes, threads, campaign)
        for threads in more
        for campaign in (first, second)
    )
    holds(
        gain_if_shared < 1.5
        and all(
            calls(slots, threads, campaign, "cross")
            > max(shared(mutexes, threads, campaign), shared(sharded, threads, campaign))
            for threads in more[1:]
            for campaign in (first, second)
        ),
        "if threads share timers, shards gain little, and locks for slots the most",
    )
    told = [
        f"`{name}` ({what}) {times(calls(name, 1))} and {times(calls(name, 2))}"
        for name, what in ((one, "one mutex"), (slots, "a lock for each slot"), (shards, "shards"))
    ]
    return Finding(
        says=(
            f"Two threads make {times(calls(one, 2))} million calls a second with a wheel under one mutex, fewer than one thread alone; "
            "for more, give each thread a shard"
        ),
        seen=(
            f"Millions of calls a second with one thread and with two that do nothing else, each with its own timers: "
            f"{'; '.join(told)}. So with two threads one mutex carries {100 * (1 - gain_of(one)):.0f} % fewer calls than with one: "
            f"a thread that finds it taken waits, and its cache lines move to the other processor. Shards carry {times(gain)} times "
            f"the calls of one thread. If all threads share all timers (`cross`), the best shards carry at most {times(gain_if_shared)} "
            "times the calls of the best wheel under one mutex. Then a lock for each slot carries the most with four threads and "
            f"more: {times(calls(slots, most, first, 'cross'))} million with eight, against {times(shared(mutexes, most))} with "
            f"`{best_under_mutex}` and {times(shared(sharded, most))} with the best shards."
        ),
        command="./scripts/bench contention --workloads=own,cross     # takes a quarter of an hour",
        limits=(
            "two processors, and few timers. The slower machine says the same of one mutex "
            f"({100 * (1 - elsewhere[one]):.0f} % fewer) and of shards ({times(elsewhere[shards])} times as many), "
            f"but if each thread has its own timers `{slots}` makes {100 * (1 - elsewhere[slots]):.0f} % fewer there, where it makes more here "
            f"({linked(second, 'its table')}). Rounds of `cross` differ by up to {times(spread((*mutexes, slots, *sharded), 2))} times with two threads, and by "
            f"{times(spread((*mutexes, slots, *sharded), most))} with eight."
        ),
        rounds=services_of(first).rounds,
        picture=Picture(
            latest(first),
            "locks",
            "throughput_own",
            "Calls a second against threads, with one mutex, a lock for each slot and shards",
            Choice([*mutexes, slots, *sharded], ["own", "cross"]),
        ),
    )


def waits() -> Finding:
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
        "nanosleep": "`clock_nanosleep` with a slack of 1 ns",
        "sleep_then_spin": "a sleep until shortly before, then spinning",
        "spin": "spinning",
    }
    found = {way: late(way) for way in ways}
    usual = found["condition"][0]
    elsewhere = {way: late(way, "accuracy-again") for way in ways}
    for one in (found, elsewhere):
        holds(
            max(one["timerfd"][0], one["nanosleep"][0]) < 0.6 * one["condition"][0]
            and one["sleep_then_spin"][0] < 0.05 * one["condition"][0],
            "without slack the lateness is half, and a short spin takes it away",
        )
    holds(
        all(elsewhere[way][0] > found[way][0] for way in ways),
        "a second machine is later in each way",
    )
    told = [
        f"{what} {rough(found[way][0])} (p99 {rough(found[way][1])}, {100 * found[way][2]:.0f} % of a processor)"
        for way, what in ways.items()
    ]
    return Finding(
        says=(
            f"At {power(FEW)} timers a second one is, in the median, {rough(usual)} late with a condition variable, {rough(found['timerfd'][0])} with a timerfd, and "
            f"{rough(found['sleep_then_spin'][0])} if the thread spins at the end of each wait"
        ),
        seen=(
            f"A heap under a mutex rounds nothing. At {power(FEW)} timers a second its median lateness is, by the way it waits: {'; '.join(told)}. A condition "
            "variable has the slack of 50 µs that Linux gives a thread; a timerfd has none. So take a timerfd or set the slack to 1 ns, and spin only if "
            "microseconds matter."
        ),
        command="./scripts/bench accuracy --workloads=wait_condition,wait_timerfd,wait_nanosleep,wait_sleep_then_spin,wait_spin     # takes minutes",
        limits=(
            "a virtual machine; what is left with a timerfd is the time that it takes to wake up. A slower one is later in each way, "
            f"in the same order of ways: {enumerated([rough(p50) for p50, _, _ in elsewhere.values()], 5)} "
            f"({linked('accuracy-again', 'its table')}). A wheel with ticks of 1 ms adds half a tick in the median, and at most one."
        ),
        rounds=services_of("accuracy").rounds,
        picture=Picture(
            latest("accuracy"),
            "waits",
            "waiting",
            "How late a heap under a mutex fires, by the way it waits",
            Choice(["locked_binary_heap"], [f"wait_{way}" for way in ways]),
        ),
    )
