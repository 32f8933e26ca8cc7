"""What timers cost that survive a power cut, and who loses what."""

from console import Failure
from findings.parts import Finding, holds
from pictures import Picture
from published import (
    latest,
    linked,
    services_of,
    survivors,
    value_of,
)
from reports import Choice
from results.survival import POWER_CUT, SPOILT, Fate, Verdict
from tables.chosen import rough as times
from words import enumerated

QUEUES = (
    "journal_wheel_0",
    "sqlite_full",
    "postgres_on",
    "redis_always",
    "redis_everysec",
    "redis_cluster",
)
ENGINES = QUEUES[1:]


def durable() -> Finding:
    durable, faults = services_of("durable"), survivors()
    few, many = 1, max(durable.sizes("clients"))

    def fate(fault: str, name: str) -> Fate:
        if found := faults.fates.get((fault, name)):
            return found
        raise Failure(f"results: {name} has no runs with {fault}")

    def rate(name: str, clients: int) -> float:
        return value_of(durable, "clients", clients, name, "timers_per_second")

    def lost(name: str) -> str:
        cut = fate(POWER_CUT, name)
        if cut.verdict is Verdict.LOSES_ALL:
            return "all, for nothing is on a disk"
        return f"timers in {cut.lossy} of {cut.runs} cuts" if cut.lost else "nothing"

    told = [
        f"`{name}` {times(rate(name, few) / 1e3)} and {times(rate(name, many) / 1e3)} ({lost(name)})"
        for name in QUEUES
    ]
    safe = [name for name in ENGINES if fate(POWER_CUT, name).verdict is Verdict.KEPT]
    holds(
        max(safe, key=lambda name: rate(name, few)) == "sqlite_full"
        and sorted(safe, key=lambda name: rate(name, many))[-2:] == ["postgres_on", "redis_always"],
        "SQLite leads with one client; Redis and PostgreSQL with many",
    )
    prices = {
        clients: rate("redis_everysec", clients) / rate("redis_always", clients)
        for clients in (few, many)
    }
    holds(
        rate("journal_wheel_0", many) > 2 * rate("sqlite_full", many),
        "a journal is for many threads",
    )
    holds(prices[few] > prices[many] > 1, "a synchronisation is shared by many clients")
    busy = fate("power_cut_while_busy", "redis_everysec")
    parted = fate("master_parted", "redis_cluster")
    spoilt = {name: fate(SPOILT, name) for name in safe}
    stuck = spoilt.pop("redis_always")
    holds(
        2 * stuck.no_starts > stuck.runs
        and not any(one.no_starts for one in spoilt.values())
        and all(one.lost for one in (stuck, *spoilt.values())),
        "with a spoilt last block each loses some, and only Redis does not start",
    )
    return Finding(
        says=(
            "If a power cut may lose nothing, take a journal for one process, SQLite if several share a file, and Redis with "
            "`appendfsync always` or PostgreSQL on a server; a cluster loses all in a power cut"
        ),
        seen=(
            f"Thousands of timers a second that one client and {many} arm and cancel; in brackets what a simulated power "
            f"cut took: {'; '.join(told)}. `journal_wheel_0` is a file of this project, to which each change is appended. To lose nothing costs Redis a factor of {times(prices[few])} with one client, and of "
            f"{times(prices[many])} with {many}, which share a synchronisation of the disk. After {busy.no_starts} of {busy.runs} "
            "cuts under load `redis_everysec` did not start again until it was repaired. `redis_cluster` lost "
            f"{100 * parted.lost / parted.acknowledged:.1f} % of the timers when a master was parted from the others."
        ),
        command=(
            "./scripts/bench durable --workloads=clients     # takes half an hour\n"
            "./scripts/bench faults --workloads=power_cut --backends=redis_everysec,redis_always,journal_wheel_0 --sizes=5 --rounds=1     # takes minutes"
        ),
        limits=(
            f"clients and engines share two processors, so six nodes of a cluster serve {times(rate('redis_cluster', many) / rate('redis_everysec', many))} "
            "times the calls of one `redis_everysec` ([past one machine](distributed.md)). On a slower disk the engines that lose nothing are slower; "
            f"if the disk itself is lost, each loses all. If the last block of its file is spoilt, each loses some, and `redis_always` did not start in {stuck.no_starts} of {stuck.runs} "
            f"runs, until it was repaired; {enumerated([f'`{name}`' for name in spoilt], 9)} did. What is lost was measured in "
            f"{linked('faults', 'another campaign')} ([durable queues](durable.md#what-survives))."
        ),
        rounds=durable.rounds,
        picture=Picture(
            latest("durable"),
            "surviving",
            "durable_throughput",
            "Timers a second of each queue against the number of clients",
            Choice(QUEUES, ["clients"]),
        ),
    )
