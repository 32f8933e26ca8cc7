"""The tables of docs/limit.md, with the figures of the published campaigns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from console import Failure
from pictures import Picture
from published import (
    AGAIN,
    DESIGNS,
    FEW,
    MAIN,
    MANY,
    best_without_logs,
    bullet,
    costs_of,
    latest,
    linked,
    paragraph,
    rough,
    tails,
    value_of,
)
from reports import Choice
from results.replays import FLOOR, HARNESS, Results
from tables.chosen import rough as two_digits
from tables.chosen import rough_time
from tables.longest import longest_table
from tables.replays import markdown_table
from words import enumerated, grouped, of_virtual, power

OURS = {"granular": "log_wheel_256", "exact": "log_calendar_256"}
CASCADING = "kafka_wheel_256"  # moves a whole bucket at once
SUITES = ("timeouts", "events", "adversarial")
TICK_BY_TICK = ("drain", "churn", "idle_connections", "keepalive", "hold")
MOST_NAMES = 9  # in a sentence
A_TENTH = 0.1  # a difference that counts

SIZES = (FEW, 10_000, 100_000, 1_000_000)  # of SUITES
SIZES_OF_MAIN = (FEW, 100_000, 1_000_000, MANY)


@dataclass(frozen=True)
class Lead:
    """A backend of logs beside the cheapest other of its precision that has none."""

    workload: str
    cost: float
    rival: str
    of_rival: float

    @property
    def ratio(self) -> float:
        return self.of_rival / self.cost

    @property
    def is_ahead(self) -> bool:
        return self.cost < (1 - A_TENTH) * self.of_rival

    @property
    def is_behind(self) -> bool:
        return self.cost > (1 + A_TENTH) * self.of_rival

    @property
    def told(self) -> str:
        return f"{_ratio(self.ratio)} `{self.workload}`"


def answer() -> str:
    """Returns what logs are worth with the most timers, and how often that was measured."""
    granular, exact = (_lead_at("hold", MANY, precision) for precision in OURS)
    arming = _lead_at("fill", MANY, "granular")
    if not granular or not exact or not arming:
        raise Failure(f"results: no campaign has hold and fill with {power(MANY)} timers")
    ahead = {size: [_ahead(size, precision) for precision in OURS] for size in (SIZES[-1], MANY)}
    for name, (won, of_all) in zip(OURS.values(), ahead[MANY]):
        if 2 * won <= of_all:
            raise _does_not_hold(f"{name} is ahead in less than half of the loads")
    (granular_won, of_granular), (exact_won, of_exact) = ahead[MANY]
    fewer_won = [str(won) for won, _ in ahead[SIZES[-1]]]
    if not all(
        lead and lead.is_behind
        for lead in (_lead_at("fill", size, "granular") for size in SIZES_OF_MAIN)
    ):
        raise _does_not_hold("log_wheel_256 is not behind in fill")
    of_few = list(_leads_of_all(FEW, "granular"))
    longest = {
        name: max((_tail(load, name, "worst_ns"), load) for load in TICK_BY_TICK)
        for name in (OURS["granular"], CASCADING)
    }
    [our_ns, our_load], [their_ns, their_load] = longest.values()
    fired = _tail(our_load, OURS["granular"], "worst_fired")
    moved = _tail(their_load, CASCADING, "worst_moved")
    store = costs_of(MAIN).cell("hold", MANY, FLOOR)
    if not store or not store.has_figure:
        raise Failure(f"results: no campaign has {FLOOR} in hold with {power(MANY)} timers")
    told = (
        f"**A timer costs at least one store to a cache line that the processor cannot predict: "
        f"{rough(store.cost)} with {power(MANY)} timers in random order. With so many, most loads cost least with "
        f"buckets that are append-only logs of ids. `log_wheel`, which rounds deadlines, is cheaper by more than a tenth "
        f"than every other that rounds, in {granular_won} of {of_granular} loads; `log_calendar`, which does not round, "
        f"than every other that does not, in {exact_won} of {of_exact}. With {power(SIZES[-1])} timers "
        f"this holds in {' and '.join(fewer_won)} loads.** The others have no logs. At "
        f"{power(MANY)} firing a timer and arming the next (`hold`) takes {rough(granular.cost)} with `log_wheel` and "
        f"{rough(exact.cost)} with `log_calendar`; the best without logs take "
        f"{two_digits(granular.ratio)} and {two_digits(exact.ratio)} times as long. Where the clock goes tick by tick the longest `advance()` of "
        f"`log_wheel` takes {rough(our_ns)}, and fires {grouped(round(fired))} timers; that of `{CASCADING}` "
        f"takes {rough(their_ns)}, and moves {grouped(round(moved))}. With {power(FEW)} timers "
        f"`log_wheel` is behind a structure without logs in {sum(lead.is_behind for lead in of_few)} of the {len(of_few)} loads of three "
        f"suites. Where timers are only armed (`fill`) it is behind with any number: at {power(MANY)} "
        f"`{arming.rival}` takes {_ratio(arming.ratio)} of its time."
    )
    main = costs_of(MAIN)
    fewer, many = (_least_rounds(main, sizes) for sizes in (SIZES, (MANY,)))
    of_suites = min(_least_rounds(costs_of(suite), SIZES) for suite in SUITES)
    with_fewer = f" with {power(MANY)} timers and of {fewer} with fewer" if fewer != many else ""
    sure = (
        f"How sure: the logs' figures are medians of {many} or more rounds{with_fewer}, and of {of_suites} in the three suites; "
        f"some of others are of fewer. They are of a {of_virtual(main.facts)}machine of grade {main.facts['grade']}. The longest calls were measured once, in three replays. On "
        f"[a slower host](#other-hosts) a ratio is {reach_of_ratios()} times as large, and some near 1 reverse. So only "
        "large ratios mean something."
    )
    return f"{paragraph(told)}\n\n{paragraph(sure)}\n"


def picture() -> Picture:
    """Returns the distance to one store of a structure of each kind."""
    return Picture(
        latest(MAIN),
        "limit",
        "limit",
        "Distance to one store of a tree, a heap, a ring and a wheel of lists, and of both logs, for churn, hold and "
        "idle connections",
        Choice(
            ["ordered_map", "index_heap_4", "ring_65536", "kafka_wheel_256"]
            + ["log_wheel_256", "log_calendar_256"],
            ["churn", "hold", "idle_connections"],
        ),
    )


def ratios() -> str:
    """Returns how many times as cheap each of OURS is as the best other, for the loads of MAIN."""
    main = costs_of(MAIN)
    recorded = [
        f"{enumerated([_ratio(one.ratio) for one in leads], MOST_NAMES)} in `{name}`"
        for name in main.workloads
        if not set(main.sizes(name)) & set(SIZES_OF_MAIN)
        for size in main.sizes(name)
        if (leads := [lead for precision in OURS if (lead := _lead_at(name, size, precision))])
    ]
    told = f"In the kernel's recordings the ratios of {_ours()} are {enumerated(recorded, MOST_NAMES)}."
    return f"{_ratios_of(main)}\n\n{paragraph(told)}\n\n{_campaigns(MAIN)}\n"


def ratios_elsewhere() -> str:
    """Returns the same of the second campaign, without the recordings, and how far it can be trusted."""
    again = costs_of(MAIN + AGAIN)
    return (
        f"{_ratios_of(again)}\n\n{paragraph(_differences(again))}\n\n{_campaigns(MAIN + AGAIN)}\n"
    )


def _differences(results: Results) -> str:
    """Says by what factor the rounds of a cell differ, by the number of timers; nothing of one round."""
    found = {
        size: sorted(
            max(cell.costs) / min(cell.costs)
            for (_, its_size, _), cell in results.cells.items()
            if its_size == size and cell.measured_rounds > 1
        )
        for size in SIZES_OF_MAIN
    }
    told = [
        f"{two_digits(factors[len(factors) // 2])} and {two_digits(factors[len(factors) * 9 // 10])} with {power(size)} timers"
        for size, factors in found.items()
        if factors
    ]
    if not told:
        return ""
    return (
        "The dearest round of a cell costs this many times as much as the cheapest, in half and in a tenth of the "
        f"cells at least: {enumerated(told, len(told))}."
    )


def _ratios_of(results: Results) -> str:
    """Returns their table, without the recordings, whose sizes are others."""
    measured = {size for name in results.workloads for size in results.sizes(name)}
    sizes = [size for size in SIZES_OF_MAIN if size in measured]
    workloads = [name for name in results.workloads if _lead(results, name, sizes[-1], "exact")]
    return _ratios(results, workloads, sizes)


def reach_of_ratios() -> str:
    """Returns how many times as large they are in the second campaign, from the least to the most."""
    factors = [
        theirs.ratio / ours.ratio
        for precision in OURS
        for workload in costs_of(MAIN).workloads
        for size in SIZES_OF_MAIN
        if (ours := _lead_at(workload, size, precision))
        and (theirs := _lead(costs_of(MAIN + AGAIN), workload, size, precision))
    ]
    return f"{two_digits(min(factors))} to {two_digits(max(factors))}"


def ticks() -> str:
    """Returns the same for the loads of the suite resolution, without its recordings."""
    results = costs_of("resolution")
    sizes = max((results.sizes(name) for name in results.workloads), key=len)
    workloads = [name for name in results.workloads if results.sizes(name) == sizes]
    return f"{_ratios(results, workloads, sizes)}\n\n{_campaigns('resolution')}\n"


def leads_with_ticks_of(unit: str, size: int) -> list[Lead]:
    """Returns those of the exact log, for the loads of the suite resolution with such ticks."""
    results = costs_of("resolution")
    workloads = [name for name in results.workloads if name.endswith(f"_{unit}")]
    leads = [_lead(results, name, size, "exact") for name in workloads]
    return [lead for lead in leads if lead]


def loads() -> str:
    """Returns in how many loads of SUITES each of OURS is ahead or behind, and where it is behind."""
    lines, behind = [], []
    for precision, ours in OURS.items():
        for size in SIZES:
            leads = sorted(_leads_of_all(size, precision), key=lambda lead: lead.ratio)
            ahead = sum(lead.is_ahead for lead in leads)
            worse = [lead for lead in leads if lead.is_behind]
            lines.append(
                [
                    f"`{ours}`" if size == SIZES[0] else "",
                    power(size),
                    *map(str, (ahead, len(leads) - ahead - len(worse), len(worse))),
                    _ratio(median(lead.ratio for lead in leads)),
                    leads[0].told,
                    leads[-1].told,
                ]
            )
            if size == SIZES[-1]:  # many timers are what the logs are for
                told = [f"{lead.told} (`{lead.rival}`)" for lead in worse] or ["none"]
                behind.append(bullet(f"`{ours}` with {power(size)} timers: {', '.join(told)}."))
    titles = [
        "",
        "timers",
        "ahead",
        "even",
        "behind",
        "median ratio",
        "lowest ratio",
        "highest ratio",
    ]
    table = markdown_table(titles, lines)
    listed = "\n".join(behind)
    return f"{table}\n\nThese are behind, and the best without logs:\n\n{listed}\n\n{_campaigns(*SUITES)}\n"


def advances() -> str:
    """Returns the longest advance() with the most timers, and what it did."""
    columns = [
        ("log_wheel_256", "worst_ns"),
        ("log_wheel_256", "worst_fired"),
        ("log_wheel_256", "worst_moved"),
        ("log_calendar_256", "worst_ns"),
        ("ring_65536", "worst_ns"),
        ("kafka_wheel_256", "worst_ns"),
        ("kafka_wheel_256", "worst_moved"),
    ]
    lines = sorted(([_tail(name, *column) for column in columns], name) for name in TICK_BY_TICK)
    titles = [
        f"`{backend}`" if counter == "worst_ns" else f"{counter.removeprefix('worst_')} by it"
        for backend, counter in columns
    ]
    rows = [
        [
            f"`{name}`",
            *(
                rough_time(figure) if counter == "worst_ns" else grouped(round(figure))
                for (_, counter), figure in zip(columns, figures)
            ),
        ]
        for figures, name in lines
    ]
    return markdown_table(["", *titles], rows, names=1) + "\n"


def _tail(workload: str, backend: str, counter: str) -> float:
    """Returns what a counter says of the longest advance() with the most timers."""
    return value_of(tails(), workload, MANY, backend, counter)


def ideas() -> str:
    """Returns what each design of the suite ablation costs, as a multiple of log_wheel_256.

    A table for each of its two largest sizes, and one of the longest advance() with the most timers.
    """
    results = costs_of(DESIGNS)
    sizes = sorted({size for name in results.workloads for size in results.sizes(name)})
    costs = [_ideas(results, size) for size in sizes[-2:]]
    return "\n".join([*costs, _longest_advances(results, sizes[-1])])


def _longest_advances(results: Results, size: int) -> str:
    sizes = dict.fromkeys(results.workloads, size)
    title = f"longest `advance()`, {power(size)} timers"
    return longest_table(tails(DESIGNS), results, sizes, title) + "\n"


def _ideas(results: Results, size: int) -> str:
    ours = OURS["granular"]

    def cost(workload: str, backend: str) -> float | None:
        cell = results.cell(workload, size, backend)
        return cell.cost if cell and cell.has_figure else None

    own = {name: found for name in results.workloads if (found := cost(name, ours))}
    lines = [[f"`{ours}`, ns", *map(two_digits, own.values())]]
    for backend in (name for name in results.backends if name not in (ours, HARNESS)):
        told = []
        for name, ns in own.items():
            theirs = cost(name, backend)
            stores = results.precision(backend) != "none" or (name, size) in results.floors
            told.append(f"{theirs / ns:.2f}" if theirs and stores else "–")
        lines.append([f"`{backend}`", *told])
    return markdown_table([f"{power(size)} timers", *own], lines, names=1) + "\n"


def distances() -> str:
    """Returns how many times as much as one store each of OURS costs, for each load and size."""
    sizes = sorted({*SIZES, *SIZES_OF_MAIN})
    lines, seen = [], set()
    for suite in (MAIN, *SUITES):
        results = costs_of(suite)
        for workload in results.workloads:
            told = [_distances(results, workload, size) for size in sizes]
            if any(told) and workload not in seen:
                seen.add(workload)
                lines.append([f"`{workload}`", *(text or "–" for text in told)])
    return (
        f"{markdown_table(['', *map(power, sizes)], lines, names=1)}\n\nThe two numbers are of {_ours()}. A load in "
        f"which `{FLOOR}` stores nothing is left out.\n\n{_campaigns(MAIN, *SUITES)}\n"
    )


def _ours() -> str:
    return enumerated([f"`{name}`" for name in OURS.values()], MOST_NAMES)


def _distances(results: Results, workload: str, size: int) -> str:
    found = [results.distances(workload, size, name) for name in OURS.values()]
    return ", ".join(two_digits(median(ratios)) for ratios in found if ratios)


def _ratios(results: Results, workloads: Sequence[str], sizes: Sequence[int]) -> str:
    """Returns a table of them, with the best other at the last size."""
    lines = []
    for precision, ours in OURS.items():
        for workload in workloads:
            leads = [_lead(results, workload, size, precision) for size in sizes]
            told = [
                f"{_ratio(lead.ratio)} ({two_digits(lead.cost)})" if lead else "–" for lead in leads
            ]
            last = leads[-1]
            rival = f"`{last.rival}`, {two_digits(last.of_rival)}" if last else "–"
            name = f"`{ours}`: " if workload == workloads[0] else ""
            lines.append([f"{name}`{workload}`", *told, rival])
    titles = ["", *map(power, sizes), f"best without logs at {power(sizes[-1])}"]
    return markdown_table(titles, lines, names=1)


def _campaigns(*suites: str) -> str:
    """Returns links to the tables of campaigns."""
    told = [linked(suite, suite) for suite in suites]
    return f"The {'campaign' if len(told) == 1 else 'campaigns'}: {', '.join(told)}; [the report](../results/report.html) has all sizes."


def _lead_at(workload: str, size: int, precision: str) -> Lead | None:
    """Returns that of the campaign of MAIN."""
    return _lead(costs_of(MAIN), workload, size, precision)


def _lead(results: Results, workload: str, size: int, precision: str) -> Lead | None:
    """Returns None if the campaign does not have a figure for both."""
    ours = results.cell(workload, size, OURS[precision])
    if not ours or not ours.has_figure:
        return None
    try:
        return Lead(workload, ours.cost, *best_without_logs(results, workload, precision, size))
    except Failure:
        return None


def _least_rounds(results: Results, sizes: Sequence[int]) -> int:
    """Returns the fewest rounds of a cell of OURS."""
    return min(
        cell.measured_rounds
        for (_, size, backend), cell in results.cells.items()
        if backend in OURS.values() and size in sizes and cell.has_figure
    )


def _ahead(size: int, precision: str) -> tuple[int, int]:
    """Returns in how many loads of MAIN the logs are ahead, and of how many."""
    found = [_lead_at(workload, size, precision) for workload in costs_of(MAIN).workloads]
    leads = [lead for lead in found if lead]
    return sum(lead.is_ahead for lead in leads), len(leads)


def _leads_of_all(size: int, precision: str) -> Iterator[Lead]:
    """Yields one for each load; a load of two suites counts once."""
    seen = set()
    for suite in SUITES:
        for workload in costs_of(suite).workloads:
            lead = _lead(costs_of(suite), workload, size, precision)
            if lead and workload not in seen:
                seen.add(workload)
                yield lead


def _ratio(value: float) -> str:
    """Two decimals near 1, which tell what is ahead."""
    return f"{value:.2f}" if value < 1.5 else two_digits(value)


def _does_not_hold(what: str) -> Failure:
    return Failure(
        f"docs/limit.md: {what} in the latest campaigns; write another answer into "
        "scripts/lib/limit_tables.py"
    )
