"""Durable queues: which one to take, and the table of how much they do, how late they are, what they take,
and how soon they are back.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median

from results.realtime import CONTROL, RealtimeResults
from tables.answers import HOW_SURE, WHAT_TO_DO
from tables.chosen import Column, chosen_table, rough, rough_time
from words import digits, enumerated


def _column(
    title: str, scenario: str, size: int, counter: str, form: Callable[[float], str] = rough
) -> Column:
    return Column(title, "durable", scenario, size, counter, form)


def _seconds(value: float) -> str:
    return rough_time(value * 1e9)


COLUMNS = (
    _column("timers/s, 1 client", "clients", 1, "timers_per_second"),
    _column("16 clients", "clients", 16, "timers_per_second"),
    _column("100 armed a call", "batch", 100, "timers_per_second"),
    _column("fired/s, 4 workers", "workers", 4, "timers_per_second"),
    _column("late at 1 000/s, p50", "rate", 1_000, "lateness_p50_ns", rough_time),
    _column("p99", "rate", 1_000, "lateness_p99_ns", rough_time),
    _column("p99.9", "rate", 1_000, "lateness_p99.9_ns", rough_time),
    _column("max", "rate", 1_000, "lateness_max_ns", rough_time),
    _column("CPU of the server a timer", "clients", 16, "server_cpu_ns_per_timer", rough_time),
    _column("of the client", "clients", 16, "client_cpu_ns_per_timer", rough_time),
    _column("fsyncs a timer, 1 client", "clients", 1, "fsyncs_per_timer"),
    _column("bytes in memory a timer", "pending", 1_000_000, "bytes_in_memory"),
    _column("on disk", "pending", 1_000_000, "bytes_on_disk"),
    _column("back after", "pending", 1_000_000, "restart_seconds", _seconds),
)


CLIENTS, RATE = 16, 1_000  # what the answer is about
PROMPT = 10e6  # ns that a queue may be late, in the 99th percentile, to be named

# If a power cut may take so much, by the ranking of a queue.
IF = {
    "keeps all": "If a power cut may take nothing",
    "may lose the latest": "If it may take the latest",
    "may lose all": "If it may take all",
}

# What these may lose at most, as docs/durable.md explains.
MOST_LOST = {
    "redis_everysec": "two seconds",
    "bullmq": "two seconds",
    "postgres_off": "a second",
    "sqlite_normal": "1000 calls",
    "beanstalkd_f50": "half a minute",
}

# Engines that are in the processes of their clients, by the beginnings of their queues; all others are servers.
WITHOUT_SERVER = {"journal_": "in one process", "sqlite_": "in a file of one machine"}
SERVER = "on a server"

# What keeps as much on the same engine, and what of it is compared.
ON_REDIS, PEER = "redis_everysec", "bullmq"
BESIDE_PEER = {
    "arms and cancels {} times as many timers with one client": ("clients", 1),
    "{} times as many with 16": ("clients", 16),
    "and fires {} times as many with four workers": ("workers", 4),
}

NOTE = (
    "an empty cell is not measured, or 0. `control` is the machine itself. CPU is of a timer with 16 clients; "
    "bytes and *back after* with 10⁶ pending timers: from `kill -9` until the 64 timers that were due have been "
    "handed out, as far as they are not lost; *timeout*: arming so many takes more than 45 s. *100 armed a call*: "
    "they are cancelled one by one. A percentile is the median of that of each round. *fired/s* of `etcd_leases`: these "
    "timers are due when they are armed, and need no lease; etcd ends at most 1000 leases a second"
)


def durable_table(results: RealtimeResults) -> str:
    """Returns the table in Markdown, and what its marks mean."""
    queues = [name for name in results.backends if name != CONTROL]
    return chosen_table("queue", [CONTROL, *queues], COLUMNS, {"durable": results}, NOTE)


def durable_answer(results: RealtimeResults) -> list[str]:
    """Says which queue to take, how sure that is, and what to do."""
    queues = [name for name in results.backends if name != CONTROL]
    said = []
    for ranking, what in IF.items():
        ranked = [name for name in queues if results.precision(name) == ranking]
        if best := list(_best(results, ranked)):
            said.append(f"{what}, take {enumerated(best, 9)}.")
    if not said:
        return []
    return [
        f"**{' '.join(said)}** The figures are timers that {CLIENTS} clients arm and cancel in a second. All of these "
        f"queues are at most {rough_time(PROMPT)} late in 99 of 100 cases, at {rough(RATE)} timers a second.",
        HOW_SURE + _sureness(results, queues),
        WHAT_TO_DO
        + "Choose by what a power cut may take and by who shares the timers, and read [what broke](#what-survives); "
        "then look at your own rate in the pictures. With one client what keeps all waits for the disk each time, so your disk decides: "
        "measure it.",
        *_beside_bullmq(results),
    ]


def _beside_bullmq(results: RealtimeResults) -> list[str]:
    told = []
    for text, (scenario, size) in BESIDE_PEER.items():
        ours, theirs = (
            _value(results, scenario, size, name, "timers_per_second") for name in (ON_REDIS, PEER)
        )
        if not ours or not theirs:
            return []
        told.append(text.format(digits(ours / theirs)))
    return [
        f"Beside `{PEER}`, on the same engine with the same setting, `{ON_REDIS}` {', '.join(told)}. "
        f"`{PEER}` is called through a process of Node.js, which costs nearly half with one client "
        "([how](../impls/durable/bullmq_queue.h))."
    ]


def _best(results: RealtimeResults, queues: Sequence[str]) -> Iterator[str]:
    """Yields the queue that does most, of those that are prompt, for each place where timers can be."""
    for place in (SERVER, *WITHOUT_SERVER.values()):
        rates = {
            name: rate
            for name in queues
            if place_of(name) == place and (rate := _prompt_rate(results, name)) is not None
        }
        if rates:
            name = max(rates, key=lambda name: rates[name])
            lost = f", and may lose {MOST_LOST[name]}" if name in MOST_LOST else ""
            yield f"`{name}` {place} ({rough(rates[name])}{lost})"


def place_of(queue: str) -> str:
    """Returns where the timers of a queue are."""
    return next(
        (place for start, place in WITHOUT_SERVER.items() if queue.startswith(start)), SERVER
    )


def _prompt_rate(results: RealtimeResults, queue: str) -> float | None:
    late = _value(results, "rate", RATE, queue, "lateness_p99_ns")
    if late is None or late > PROMPT:
        return None
    return _value(results, "clients", CLIENTS, queue, "timers_per_second")


def _value(
    results: RealtimeResults, scenario: str, size: int, queue: str, counter: str
) -> float | None:
    cell = results.cell(scenario, size, queue)
    return cell.value(counter) if cell else None


def _sureness(results: RealtimeResults, queues: Sequence[str]) -> str:
    deviations: Mapping[str, float] = {
        name: max(abs(value / median(values) - 1) for value in values)
        for name in queues
        if (cell := results.cell("clients", CLIENTS, name))
        and (values := cell.values("timers_per_second"))
    }
    worst = max(deviations, key=lambda name: deviations[name])
    return (
        f"Medians of {results.rounds} rounds. With {CLIENTS} clients a round differs from the median by up to "
        f"{median(deviations.values()):.0%} for half of the queues, and by up to {deviations[worst]:.0%} "
        f"(`{worst}`)."
    )
