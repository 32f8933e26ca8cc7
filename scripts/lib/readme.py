"""Writes what README says of the campaigns in results/: which backend to take, and a small table.

Which backends a sentence names is decided by the figures too: the cheapest of its precision, and those
that are within 3 % of it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from published import (
    AGAIN,
    FEW,
    MAIN,
    MANY,
    NO_BREAK,
    RUNTIMES,
    ROOT,
    SIZE,
    best_of_libraries,
    best_without_logs,
    bullet,
    cell_of,
    cheapest,
    cost_of,
    costs_of,
    find,
    latest,
    paragraph,
    rough,
    services_of,
    survivors,
    value_of,
)
import limit_tables
from pictures import Picture
from reports import Choice
from results import survival
from results.grid import Rounds
from results.order import contests, dearer
from results.replays import MARGIN, Results
from results.statistics import LEAST_ROUNDS
from results.survival import POWER_CUT, SPOILT, Fate, Verdict
from tables import replays as table_of_costs
from tables.answers import HOW_SURE, WHAT_TO_DO
from tables.chosen import rough as rough_number
from tables.durable import CLIENTS, SERVER, WITHOUT_SERVER, place_of
from tables.libraries import pays
from tables.replays import markdown_table
from words import counted, enumerated, grouped, of_virtual, power

# What a reader who meets the name for the first time may want to know.
WHAT_IT_IS = {
    "kafka_wheel": "a hierarchical wheel",
    "ring": "one ring of slots, for delays up to 65 s",
    "log_wheel": "a wheel of append-only logs, of this project",
    "log_calendar": "a calendar of such logs",
    "radix_heap": "a heap of buckets",
    "index_heap": "one in an array",
}

# The loads that README tells of: whose timers they are like, and what is counted as one.
LOADS = {
    "churn": ("mostly cancelled time-outs", "a cancel and an arming"),
    "idle_connections": ("time-outs moved by requests", "a move"),
    "hold": ("events (retries)", "a fire and an arming"),
    "bulk": ("events up to 25 days ahead", "an arming and its fire"),
}
PRECISIONS = ("granular", "exact")
SIZES = (FEW, SIZE, MANY)

SHOWN = ("log_calendar_256", "index_heap_4", "log_wheel_256", "kafka_wheel_512", "ring_65536")

DRAWN = (
    *SHOWN,
    *("kafka_wheel_256", "log_ring_65536", "ladder_queue", "radix_heap", "lawn", "lazy_heap"),
    *("quad_heap", "ordered_map", "btree"),
)

TO_DO = (
    f"{WHAT_TO_DO}Look for your timers below, then measure [your load](#measure-on-your-machine)."
)

KILLS = ("engine_killed", "engine_killed_repeatedly")
POWER_CUTS = (POWER_CUT, "power_cut_while_busy")
CRASHES = (*KILLS, *POWER_CUTS)
PLACES = {**dict.fromkeys(WITHOUT_SERVER.values(), 1), SERVER: 2}  # so many queues are named


def answers() -> str:
    """Returns what README says first: for each kind of load the backend to take, and its cost."""
    full = costs_of(MAIN)
    lines = [
        _logs(full),
        _libraries(costs_of("peers")),
        _runtimes(costs_of("processes")),
        _durable(),
        _lateness(),
    ]
    return "\n\n".join(
        [
            *map(paragraph, (_answer(full), _sureness(full), TO_DO)),
            _choices(full),
            paragraph(_meaning(full)),
            "\n".join(map(bullet, lines)),
        ]
    )


def _answer(full: Results) -> str:
    """Says whom to take for each kind of timers; kinds with the same choice stand together."""
    exact: dict[str, list[str]] = {}
    granular: dict[str, list[str]] = {}
    gains = []
    for workload, (kind, _) in LOADS.items():
        [name, *_], cost = cheapest(full, workload, "exact")
        exact.setdefault(name, []).append(kind)
        [name, *_], rounded = cheapest(full, workload, "granular")
        if not _gains_nothing(rounded, cost):
            granular.setdefault(name, []).append(kind)
            gains.append(100 * (1 - rounded / cost))
    told = f"With {power(SIZE)} timers take {_taken(exact)}."
    if gains:
        told += (
            f" If deadlines may be rounded up to whole milliseconds, take {_taken(granular)}: they cost "
            f"{min(gains):.0f} to {max(gains):.0f}{NO_BREAK}% less."
        )
    return f"**{told}**"


def _taken(kinds: dict[str, list[str]]) -> str:
    """Returns who is for what, by the backend."""
    *told, last = (f"{_code(name)} for {enumerated(own, 9)}" for name, own in kinds.items())
    return ", and ".join(part for part in (", ".join(told), last) if part)


def _gains_nothing(granular: float, exact: float) -> bool:
    """Whether what rounds costs as much as what does not."""
    return exact <= granular * (1 + MARGIN)


def _sureness(full: Results) -> str:
    rounds = Rounds.among(
        cell_of(full, workload, size, name).measured_rounds for workload, size, name in _named(full)
    )
    too_few = ", too few to be sure of an order" if rounds.least < LEAST_ROUNDS else ""
    return (
        f"{HOW_SURE}Figures are medians of {rounds} rounds on one machine{too_few}. {_measured_again(full)}"
        f"{_with_finer_ticks()}On another processor close ranks change ([other "
        "hosts](docs/limit.md#other-hosts)), so trust factors of two."
    )


def _rows(full: Results) -> Iterator[tuple[str, int]]:
    """Yields the workload and the size of each row of the choices."""
    for workload in LOADS:
        yield from ((workload, size) for size in SIZES if size in full.sizes(workload))


def _named(full: Results) -> Iterator[tuple[str, int, str]]:
    """Yields each backend that the choices name, after its workload and size."""
    for workload, size in _rows(full):
        for precision in PRECISIONS:
            yield from (
                (workload, size, name) for name in cheapest(full, workload, precision, size)[0]
            )


def _choices(full: Results) -> str:
    """Returns the table of the cheapest, by load, number of timers and precision."""
    lines: list[list[str]] = []
    told = ""
    for workload, size in _rows(full):
        what = "" if workload == told else f"{LOADS[workload][0]}: {_code(workload)}"
        told = workload
        cells = (_choice(full, workload, precision, size) for precision in PRECISIONS)
        lines.append([what, power(size), *cells])
    titles = [
        "your timers",
        "how many",
        "granular: rounds up to whole ms",
        "exact: rounds nothing",
    ]
    return markdown_table(titles, lines, names=len(titles)).replace(NO_BREAK, " ")


def _choice(full: Results, workload: str, precision: str, size: int) -> str:
    names, cost = cheapest(full, workload, precision, size)
    return f"{', '.join(map(_code, names))}: {rough(cost)}"


def _meaning(full: Results) -> str:
    """Says how to read the choices, and what is named there."""
    rows = list(_rows(full))
    named = {name for *_, name in _named(full)}
    explained = [
        f"{_code(kind)} is {what}"
        for kind, what in WHAT_IT_IS.items()
        if any(name.startswith(kind) for name in named)
    ]
    for_nothing = sum(
        _gains_nothing(granular, exact)
        for granular, exact in (
            [cheapest(full, workload, precision, size)[1] for precision in PRECISIONS]
            for workload, size in rows
        )
    )
    steps = [f"{of_what} ({_code(workload)})" for workload, (_, of_what) in LOADS.items()]
    fired = full.inputs[f"churn/{SIZE}/local"]["fired_share"]
    return (
        f"Each cell has the cheapest, with what costs at most {100 * MARGIN:.0f}{NO_BREAK}% more, and the cost of "
        f"{enumerated(steps, 9)}. In `churn` one timer in {round(1 / fired)} fires from {power(SIZE)} on. All deadlines here are whole "
        f"milliseconds, so none is late. In {for_nothing} of {len(rows)} rows rounding gains nothing. {_relative(full)}{'; '.join(explained)} ([all backends](docs/backends.md))."
    )


def _relative(full: Results) -> str:
    """Says what it costs with timers that may be later still."""
    [name, *_], cost = cheapest(full, "churn", "relative")
    return (
        f"{_code(name)}, [late by up to an eighth of the delay](docs/backends.md#precision), takes {rough(cost)} in "
        f"`churn` with {power(SIZE)}. "
    )


def _code(name: str) -> str:
    return f"`{name}`"


def _logs(full: Results) -> str:
    here = " and ".join(cost + best for cost, best in _with_and_without(full))
    elsewhere = " and ".join(cost for cost, _ in _with_and_without(costs_of("limit")))
    return (
        f"**What logs are worth** in `hold`: with {power(MANY)} timers {here}, elsewhere {elsewhere} "
        "([limit](docs/limit.md))."
    )


def _with_and_without(results: Results) -> list[tuple[str, str]]:
    """Returns what `hold` costs with logs instead of without, and with whom, by PRECISIONS."""
    told = []
    for precision, ours in zip(PRECISIONS, ("log_wheel_256", "log_calendar_256")):
        best, cost = best_without_logs(results, "hold", precision, MANY)
        own = cost_of(results, "hold", MANY, ours)
        told.append((f"{rough_number(own)} instead of {rough(cost)}", f" ({_code(best)})"))
    return told


def _with_finer_ticks() -> str:
    """Says of how many loads the calendar of logs is the cheapest where a tick is a nanosecond."""
    leads = limit_tables.leads_with_ticks_of("ns", SIZE)
    behind = [lead for lead in leads if lead.ratio < 1]
    told = f"With ticks of a nanosecond another exact structure is cheaper in {len(behind)} of {len(leads)} loads"
    if behind:
        told += f", by up to {rough_number(max(1 / lead.ratio for lead in behind))} times"
    return f"{told} ([finer ticks](docs/limit.md#finer-ticks-and-the-kernels-recordings)). "


def _measured_again(full: Results) -> str:
    """Says what the second campaign makes of the choices that it measured too; nothing if there is none."""
    if find(MAIN + AGAIN) is None:
        return ""
    rows = list(_rows(full))
    choices = [
        contest
        for contest in contests(full, costs_of(MAIN + AGAIN))
        if (contest.workload, contest.size) in rows and contest.precision in PRECISIONS
    ]
    others = dearer(choices)
    left = {size for _, size in rows} - {contest.size for contest in choices}
    none_of = f", none with {enumerated(list(map(power, sorted(left))), 9)}" if left else ""
    told = (
        f"[A second campaign](docs/figures.md#measured-twice), on another machine, repeated {len(choices)} of the "
        f"{2 * len(rows)} cells below{none_of}: in {len(choices) - len(others)} the first is the cheapest again"
    )
    if others:
        most = f"{100 * math.expm1(others[0].excess):.0f}{NO_BREAK}%"
        told += f", else it costs at most {most} more"
    return f"{told}. "


def picture() -> Picture:
    """Returns that of README: more backends than its table has, so that each kind is there."""
    name = f"cost_per_workload_{SIZE}"
    return Picture(
        latest(MAIN),
        name,
        name,
        f"Cost of the main backends at {power(SIZE)} timers, for churn, hold and idle connections",
        Choice(DRAWN, ["churn", "hold", "idle_connections"], SIZE),
    )


def table() -> str:
    """Returns the table of README, with its picture and how to read both."""
    results, shows = costs_of(MAIN), picture()
    where = latest(MAIN).relative_to(ROOT)
    shown = Rounds.among(
        cell_of(results, workload, SIZE, name).measured_rounds
        for name in SHOWN
        for workload in LOADS
    )
    wanted = [name for name, _ in table_of_costs.headers(results, SIZE)]
    rows = {row.backend: row for row in table_of_costs.rows(results, SIZE)}
    lines = [
        [
            f"`{name}`",
            rows[name].precision,
            *(rows[name].entries[wanted.index(workload)].text for workload in LOADS),
        ]
        for name in SHOWN
    ]
    facts = results.facts
    controls = results.backends_by_precision()["none"]
    at_size = [workload for workload in results.workloads if SIZE in results.sizes(workload)]
    caption = (
        f"Figures are medians of {shown} rounds in ns at {power(SIZE)} timers, ± {shown.spread}{_elsewhere(results)}. Measured on a "
        f"{of_virtual(facts)}{facts['processor']} with {facts['num_cpus']} processors, which `doctor` gave the grade "
        f"{facts['grade']} of A to F; `./scripts/bench full --rounds=3` measures all anew, "
        f"in hours. Each figure includes the harness, {_harness(results)}. The [whole table]({where}/table.md) has "
        f"{len(results.backends) - len(controls)} backends, {len(controls)} controls, {len(at_size)} workloads at {power(SIZE)} timers "
        f"and {len(results.workloads) - len(at_size)} recordings. [The report](results/report.html) of all campaigns, "
        "opened in any browser, answers for your number of timers, your delays and your share of "
        "cancelled ones."
    )
    return "\n\n".join(
        [
            f"![{shows.shows}]({shows.path.relative_to(ROOT)})",
            markdown_table(["backend", "precision", *LOADS], lines),
            paragraph(caption),
        ]
    )


def _elsewhere(results: Results) -> str:
    """Says by how much the figures of the second campaign differ; nothing if there is none."""
    if find(MAIN + AGAIN) is None:
        return ""
    again = costs_of(MAIN + AGAIN)
    factors = [
        cost_of(again, load, SIZE, name) / cost_of(results, load, SIZE, name)
        for load in LOADS
        for name in SHOWN
    ]
    return (
        f"; those of the second campaign are {rough_number(min(factors))} to {rough_number(max(factors))} times "
        "as high"
    )


def _harness(results: Results) -> str:
    """Returns what the harness itself costs in the loads of the table."""
    costs_ = [cell.cost for load in LOADS if (cell := results.harness[load].get(SIZE))]
    return f"{rough(min(costs_))} to {rough(max(costs_))}"


def _libraries(peers: Results) -> str:
    def paid(name: str, size: int, what: str = "") -> str:
        return f"{pays(peers, 'churn', size, name)}{what} with `{name}`"

    first, *others = best_of_libraries(peers, "churn", SIZE)
    [own, *_], _ = cheapest(peers, "churn", "exact")
    told = [
        paid(first, SIZE, " cancels and armings a second"),
        *(paid(name, SIZE) for name in others),
    ]
    return (
        f"**You have the timers of a library**: with {power(SIZE)} timers 1 % of a core is enough for {', '.join(told)}, "
        f"and {paid(own, SIZE)} ([all](docs/peers.md))."
    ).replace("\u202f", NO_BREAK)


def _runtimes(processes: Results) -> str:
    told = [
        f"{rough(cost_of(processes, 'churn', SIZE, name))} with {what}"
        for what, name in RUNTIMES.items()
    ]
    return (
        f"**You have the timers of a runtime**: with {power(SIZE)} timers to cancel and arm takes {', '.join(told)}, "
        f"and {rough(cost_of(processes, 'churn', SIZE, 'index_heap_4'))} with `index_heap_4` ([others](docs/processes.md))."
    )


def _lateness() -> str:
    def late(service: str, waits: str) -> str:
        lateness = value_of(services_of("accuracy"), waits, FEW, service, "lateness_p50_ns")
        return rough(lateness)

    heap, wheel = "locked_binary_heap", "locked_kafka_wheel_256"
    return (
        f"**You ask how late timers fire**: with {power(FEW)} a second a heap under a mutex is in the median {late(heap, 'wait_condition')} late "
        f"if it waits by a condition variable, and {late(heap, 'wait_timerfd')} by a timerfd; a wheel that rounds up to a "
        f"millisecond {late(wheel, 'wait_condition')} and {late(wheel, 'wait_timerfd')} ([services](docs/services.md))."
    )


def _durable() -> str:
    said = "**Timers must outlive a crash or a power cut**"
    seen = "[More](docs/durable.md#what-survives)."
    fates = survivors().fates if find(survival.SUITE) else {}
    crashes = _crashes(fates)
    rates = {
        queue: value_of(services_of("durable"), "clients", CLIENTS, queue, "timers_per_second")
        for queue in (crashes if find("durable") else ())
    }
    fastest_first = sorted(crashes, key=lambda queue: -rates.get(queue, 0))
    safe = [
        queue
        for queue in fastest_first
        if all(fate.verdict is Verdict.KEPT for fate in crashes[queue].values())
    ]
    lossy = [queue for queue in fastest_first if crashes[queue][POWER_CUT].lost]
    if not safe:
        return f"{said}: queues on Redis, PostgreSQL, SQLite, beanstalkd and a file. {seen}"

    def runs(faults: Sequence[str]) -> str:
        return grouped(min(sum(crashes[queue][fault].runs for fault in faults) for queue in safe))

    def named(queue: str) -> str:
        return f"`{queue}`" + (f" ({grouped(100 * round(rates[queue] / 100))})" if rates else "")

    chosen = {
        place: [queue for queue in safe if place_of(queue) == place][:most]
        for place, most in PLACES.items()
    }
    told = [
        f"{' or '.join(map(named, queues))} {place}" for place, queues in chosen.items() if queues
    ]
    unit = f" (timers/s with {CLIENTS} clients)" if rates else ""
    others = len(safe) - sum(map(len, chosen.values()))
    who = f"; these and {counted(others, 'other')}" if others else ", which"
    text = (
        f"{said}{unit}: take {', '.join(told)}{who} lost nothing in {runs(KILLS)} kills of the engine and "
        f"{runs(POWER_CUTS)} simulated power cuts."
    )
    if lossy:
        cut = crashes[lossy[0]][POWER_CUT]
        text += f" {named(lossy[0])} lost timers in {cut.lossy} of {cut.runs} cuts."
    spoilt = {queue: fates.get((SPOILT, queue)) for queues in chosen.values() for queue in queues}
    stuck = [
        f"{_code(queue)} (in {fate.no_starts} of {fate.runs} runs)"
        for queue, fate in spoilt.items()
        if fate and 2 * fate.no_starts > fate.runs
    ]
    if stuck:
        text += f" With a spoilt last block {enumerated(stuck, 9)} did not start."
    if any(fate.sums["fired_twice"] for fates in crashes.values() for fate in fates.values()):
        text += " A timer may fire twice."
    return f"{text} {seen}".replace("\u202f", NO_BREAK)


def _crashes(fates: Mapping[tuple[str, str], Fate]) -> dict[str, dict[str, Fate]]:
    """Returns what became of the timers in CRASHES, by queue and fault, of the queues that met all of these."""
    crashes = {}
    for queue in dict.fromkeys(queue for _, queue in fates):
        own = {fault: fates[fault, queue] for fault in CRASHES if (fault, queue) in fates}
        if len(own) == len(CRASHES) and all(fate.has_figure for fate in own.values()):
            crashes[queue] = own
    return crashes
