"""Writes the figures of README.md and of pages in docs/ from the campaigns in results/, and the
report of all of them.

  scripts/publish            writes what stands between marks such as <!-- answers -->, the
                             pictures of the findings, and results/report.html if it has not
                             the same campaigns; and compresses their JSON and their pictures
  scripts/publish --check    says whether all that is done, and changes nothing

Of each suite the latest folder counts: results/DATE-MACHINE-SUITE. So after a new campaign of a suite
its folder is put there, and this command does the rest. Which backends a sentence names is decided by
the figures too: the cheapest of its precision, and those that are within 3 % of it.
"""

import argparse
import contextlib
import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

import distributed
import limit_tables
from console import ArgumentParser, Failure, run_main, say
from files import fill, filled, replacing, shown
from findings import findings, pictures
from history import HISTORY
from page.contents import contents
from page.render import render, unpacked
from published import (
    AGAIN,
    FEW,
    LOGS,
    MAIN,
    MANY,
    NO_BREAK,
    ROOT,
    RUNTIMES,
    SIZE,
    best_of_libraries,
    best_without_logs,
    bullet,
    cell_of,
    cheapest,
    cost_of,
    costs,
    costs_of,
    find,
    latest,
    latest_of_all,
    paragraph,
    rough,
    services_of,
    value_of,
)
from repeated import measured_twice
from results import history, realtime, survival
from results.grid import ResultFile, Rounds, packed, read_files
from results.order import contests, dearer
from results.replays import MARGIN, Results
from results.statistics import rounds_needed
from results.survival import POWER_CUT, Fate, Verdict
from services import SUITES, services_table
from style import LIBRARY
from tables import replays as table_of_costs
from tables.answers import HOW_SURE, WHAT_TO_DO
from tables.chosen import rough as rough_number
from tables.durable import CLIENTS, durable_answer, durable_table
from tables.libraries import pays
from tables.replays import markdown_table
from tables.survival import answer_lines, broken_lines
from words import enumerated, grouped, machine_line, of_virtual, percent, power

RESULTS = ROOT / "results"
REPORT = RESULTS / "report.html"

# What a reader who meets the name for the first time may want to know.
WHAT_IT_IS = {
    "kafka_wheel": "a hierarchical wheel",
    "ring": "one ring of slots",
    "log_wheel": "a wheel whose buckets are append-only logs",
    "log_calendar": "a calendar of append-only logs, which sorts only what is due next",
    "radix_heap": "a heap of buckets that double in width",
    "index_heap": "a heap in an array, with the place of each timer beside it",
}

SHOWN = ("log_calendar_256", "index_heap_4", "log_wheel_256", "kafka_wheel_512", "ring_65536")
WORKLOADS = ("churn", "hold", "bulk", "idle_connections")  # of the table

TO_DO = (
    f"{WHAT_TO_DO}Look for your timers below, then measure [your load](#measure-on-your-machine)."
)

PICTURES = {  # of durable queues
    "durable_throughput": "Timers a second of each queue, by clients, timers a call and workers",
    "durable_lateness": "How late the timers of each queue fire, by rate, orders and jobs",
}

PRECISIONS = ("granular", "exact")
KILLS = ("engine_killed", "engine_killed_repeatedly")
POWER_CUTS = (POWER_CUT, "power_cut_while_busy")
CRASHES = (*KILLS, *POWER_CUTS)
NAMED = 3  # queues that lose nothing, if there are many


def main(words: Sequence[str] | None = None) -> int:
    arguments = _parse(words)
    stale = []
    # All are made before the first is written: one that does not hold any more leaves nothing half done.
    texts = [(document, name, make()) for document, name, make in PARTS]
    for document, name, text in texts:
        path = ROOT / document
        if filled(path, name, text) != path.read_text(encoding="utf-8"):
            stale.append(f"{document} ({name})")
            if not arguments.check:
                fill(path, name, text)
    for picture in pictures():
        if not picture.is_drawn():
            stale.append(shown(picture.path))
            if not arguments.check:
                picture.draw()
    large: list[tuple[Path, Callable[[Path], None]]] = [
        *((file, pack) for file in sorted(RESULTS.glob("2*/*.json"))),
        *((file, make_small) for file in sorted(RESULTS.glob("2*/*.png")) if not is_small(file)),
    ]
    for file, reduce in large:
        stale.append(shown(file))
        if not arguments.check:
            reduce(file)
    sources = all_sources()
    if is_stale(REPORT, sources):
        stale.append(shown(REPORT))
        if not arguments.check:
            write_report(sources)
    if arguments.check and stale:
        raise Failure(f"{' and '.join(stale)}: not as published; run scripts/publish")
    say(f"Wrote {' and '.join(dict.fromkeys(stale))}." if stale else "All is as published.")
    return 0


def pack(file: Path) -> None:
    """Replaces a file of results by its compressed form."""
    with replacing(packed(file)) as partial:
        partial.write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    file.unlink()


def is_small(picture: Path) -> bool:
    with Image.open(picture) as image:
        return bool(image.mode == "P")


def make_small(picture: Path) -> None:
    """Leaves 256 colours, and a third of the bytes. They are spread over all that occur: colours by how
    often they occur would leave none for the few pixels of a mark.
    """
    spread = Image.Quantize.MAXCOVERAGE
    with Image.open(picture) as image:
        small = image.convert("RGB").quantize(256, spread, kmeans=1, dither=Image.Dither.NONE)
        told = PngInfo()
        for keyword, text in image.info.items():
            if isinstance(text, str):
                told.add_text(keyword, text)
    with replacing(picture) as partial:
        small.save(partial, "png", optimize=True, pnginfo=told)


def all_sources() -> list[Path]:
    """Returns what the report has, below the project's folder: the latest campaign of each suite, and
    the history.
    """
    paths = [*latest_of_all(), HISTORY]
    return [path.relative_to(ROOT) for path in paths]


def sources_of(report: Path) -> dict[str, str]:
    """Returns the same of a report that is written, with the machine, commit and date of each; nothing
    if there is none.
    """
    if not report.exists():
        return {}
    campaigns = unpacked(report.read_text())["campaigns"]
    return {campaign["source"]: campaign["machine"] for campaign in campaigns}


def is_stale(report: Path, sources: Sequence[Path]) -> bool:
    """Whether it has other campaigns, one was measured anew, as its table says, or the history grew."""
    told = sources_of(report)
    if list(told) != list(map(str, sources)):
        return True
    return any(_is_other(ROOT / source, machine) for source, machine in told.items())


def _is_other(source: Path, machine: str) -> bool:
    """Whether the source is another now than the report has it with this line on its machine."""
    if source.suffix == HISTORY.suffix:
        return history.load(source).extent not in machine
    table = source / "table.md"
    return table.exists() and machine not in table.read_text(encoding="utf-8")


def write_report(sources: Sequence[Path]) -> None:
    with contextlib.chdir(ROOT), replacing(REPORT) as partial:
        partial.write_text(render(contents(sources)), encoding="utf-8")


def heaps() -> str:
    """Returns how many times as dear a heap of Boost is as one without handles."""
    full = costs_of(MAIN)
    sizes = (FEW, SIZE, 1_000_000)
    lines = []
    for workload in ("cancel", "churn", "hold"):
        found = [costs(full, workload, "exact", size) for size in sizes]
        told = [rough_number(of["quad_heap"] / of["index_heap_4"]) for of in found]
        lines.append([f"`{workload}`", *told])
    where = latest(MAIN).relative_to(ROOT)
    table = markdown_table(["", *map(power, sizes)], lines, names=1)
    return (
        f"{table}\n\nRatios of the medians of [the campaign of the README](../{where}/table.md).\n"
    )


def own_services() -> str:
    """Returns the table of own services."""
    return services_table([latest(suite) for suite in SUITES])


def services() -> str:
    """Returns the table of the services that a program has anyway, beside own ones."""
    return services_table([latest(f"service_peers_{suite}") for suite in SUITES])


def queues() -> str:
    """Returns what durable queues do, and how often that was measured."""
    return _if_published("durable", _queues)


def survivors() -> str:
    """Returns who loses what when something breaks, with the picture."""
    return _if_published("faults", _survivors)


def model() -> str:
    """Returns how many nodes a load takes."""
    return _if_published("durable", _model)


def _if_published(suite: str, tell: Callable[[list[ResultFile], Path], str]) -> str:
    """Returns what there is to tell of a campaign in this folder below the project's."""
    folder = find(suite)
    if folder is None:
        return f"No campaign is published yet; `./scripts/bench {suite}` measures one."
    return tell(read_files([folder]), folder.relative_to(ROOT))


def _queues(files: list[ResultFile], where: Path) -> str:
    results = realtime.load_files(files)
    pictures = [f"![{title}](../{where}/{name}.png)" for name, title in PICTURES.items()]
    answer = "\n\n".join(durable_answer(results))
    parts = [*pictures, f"[All figures](../{where}/table.md). {machine_line(results.facts)}\n"]
    return f"{answer}\n\n{durable_table(results)}\n" + "\n\n".join(parts)


def _survivors(files: list[ResultFile], where: Path) -> str:
    results = survival.load_files(files)
    picture = f"![Lost timers of each queue in each fault](../{where}/survival.png)"
    seen = f"[All figures](../{where}/table.md), with the command that repeats each run."
    broken = "\n".join(f"- {line}" for line in broken_lines(results))
    return "\n\n".join(filter(None, [*answer_lines(results), broken, picture, seen])) + "\n"


def _model(files: list[ResultFile], where: Path) -> str:
    return distributed.answer(realtime.load_files(files), distributed.DEFAULT, where)


def answers() -> str:
    """Returns what README says first: for each kind of load the backend to take, and its cost."""
    full = costs_of(MAIN)
    lines = [
        _time_outs(full, "Time-outs, and a millisecond late is fine", "granular"),
        _time_outs(full, "Time-outs that must not be rounded", "exact"),
        _events(full, "Events, and a millisecond late is fine", "granular"),
        _events(full, "Events that must not be rounded", "exact"),
        _many(full),
        _libraries(costs_of("peers")),
        _runtimes(costs_of("processes")),
        _durable(),
        _lateness(),
    ]
    return "\n\n".join(
        [*map(paragraph, (_answer(full), _sureness(full), TO_DO)), "\n".join(map(bullet, lines))]
    )


def _answer(full: Results) -> str:
    def take(workload: str) -> str:
        granular, exact = (
            _named(cheapest(full, workload, precision)[0], explain=False)
            for precision in PRECISIONS
        )
        return f"take {granular} if a millisecond late is fine, and {exact} if not"

    return f"**For time-outs {take('churn')}; for events {take('hold')}.**"


def _sureness(full: Results) -> str:
    return (
        f"{HOW_SURE}These are the cheapest with {power(SIZE)} timers, in medians of a campaign on one machine; "
        f"what is within {100 * MARGIN:.0f}{NO_BREAK}% is named too. {_with_finer_ticks()}{_measured_again(full)}On another processor "
        "all figures differ, and close ranks change ([other hosts](docs/limit.md#other-hosts)). Libraries, "
        "runtimes and durable queues were measured in other campaigns, so compare figures only within a line."
    )


def _with_finer_ticks() -> str:
    """Says of how many loads the calendar of logs is the cheapest where a tick is a nanosecond."""
    leads = limit_tables.leads_with_ticks_of("ns", SIZE)
    behind = [lead for lead in leads if lead.ratio < 1]
    rivals = "".join(f"{name}; " for name in dict.fromkeys(f"`{lead.rival}`" for lead in behind))
    return (
        f"Deadlines are whole ticks of a millisecond; with ticks of a nanosecond another exact structure is cheaper "
        f"than `log_calendar_256` in {len(behind)} of {len(leads)} loads ({rivals}"
        "[finer ticks](docs/limit.md#finer-ticks-and-the-kernels-recordings)). "
    )


def _measured_again(full: Results) -> str:
    """Says what the second campaign makes of the choices that README names; nothing if there is none."""
    if find(MAIN + AGAIN) is None:
        return ""
    choices = [
        contest
        for contest in contests(full, costs_of(MAIN + AGAIN))
        if contest.workload in WORKLOADS
        and contest.size == SIZE
        and contest.precision in PRECISIONS
    ]
    others = dearer(choices)
    told = (
        f"In [a second campaign](docs/figures.md#measured-twice) the first of {len(choices) - len(others)} of "
        f"{len(choices)} rankings (the loads of the table below, granular and exact) is the cheapest again"
    )
    if others:
        most = percent(others[0].excess).replace(" ", NO_BREAK)
        told += f"; elsewhere it costs at most {most} more than the cheapest"
    return f"{told}. "


def table() -> str:
    """Returns the table of README, with its picture and how to read both."""
    results = costs_of(MAIN)
    where = latest(MAIN).relative_to(ROOT)
    shown = Rounds.among(
        cell_of(results, workload, SIZE, name).measured_rounds
        for name in SHOWN
        for workload in WORKLOADS
    )
    wanted = [name for name, _ in table_of_costs.headers(results, SIZE)]
    rows = {row.backend: row for row in table_of_costs.rows(results, SIZE)}
    lines = [
        [
            f"`{name}`",
            rows[name].precision,
            *(rows[name].entries[wanted.index(workload)].text for workload in WORKLOADS),
        ]
        for name in SHOWN
    ]
    facts = results.facts
    controls = results.backends_by_precision()["none"]
    is_proof = shown.least >= rounds_needed(len(results.backends) - len(controls))
    trust = (
        ""
        if is_proof
        else f"With so many backends {shown} rounds do not prove a difference, so trust large ones. "
    )
    caption = (
        f"Figures are medians of {shown} rounds in ns at {power(SIZE)} timers, ± {shown.spread}. "
        f"{trust}`churn` "
        "cancels and arms, `hold` fires and arms, `bulk` arms delays up to 25 days and fires them all, "
        "`idle_connections` moves time-outs of 75 s; a tick is 1 ms. Measured on a "
        f"{of_virtual(facts)}{facts['processor']} with {facts['num_cpus']} processors, which `doctor` gave the grade "
        f"{facts['grade']} of A to F; `./scripts/bench full` measures these and all other cells anew, "
        f"which takes hours. Each figure includes the harness, {_harness(results)}. The [whole table]({where}/table.md) has "
        f"{len(results.backends) - len(controls)} backends, {len(controls)} controls and "
        f"{len(results.workloads)} workloads, at {power(SIZE)} timers. [The report](results/report.html) of all campaigns, "
        "opened in any browser, answers for your number of timers, your delays and your share of "
        "cancelled ones. [The limit](docs/limit.md) tells what the logs are worth, and where not."
    )
    return "\n\n".join(
        [
            f"![Cost of the main backends at {power(SIZE)} timers, for churn, hold and idle connections]"
            f"({where}/cost_per_workload_{SIZE}.png)",
            markdown_table(["backend", "precision", *WORKLOADS], lines),
            paragraph(caption),
        ]
    )


def _harness(results: Results) -> str:
    """Returns what the harness itself costs in the loads of the table."""
    costs_ = [cell.cost for load in WORKLOADS if (cell := results.harness[load].get(SIZE))]
    return f"{rough(min(costs_))} to {rough(max(costs_))}"


def _time_outs(full: Results, asked: str, precision: str) -> str:
    churn, cost = cheapest(full, "churn", precision)
    moved, of_a_move = cheapest(full, "idle_connections", precision)
    said = f"**{asked}** (`{precision}`): {_named(churn)}: {rough(cost)} to cancel and arm"
    if moved == churn:
        return f"{said}, {rough(of_a_move)} to move."
    return f"{said}. If nearly all are moved and hardly one fires, {_named(moved)}: {rough(of_a_move)} a move."


def _events(full: Results, asked: str, precision: str) -> str:
    hold, cost = cheapest(full, "hold", precision)
    bulk, of_bulk = cheapest(full, "bulk", precision)
    return (
        f"**{asked}**: {_named(hold, explain=False)}, {rough(cost)} for a fire and the next timer. With "
        f"delays up to 25 days {_named(bulk, explain=False)}, {rough(of_bulk)}."
    )


def _libraries(peers: Results) -> str:
    def paid(name: str, size: int, what: str = "") -> str:
        return f"{pays(peers, 'churn', size, name)}{what} with `{name}`".replace("\u202f", NO_BREAK)

    first, *others = best_of_libraries(peers, "churn", SIZE)
    libraries = {name.partition("_")[0] for name in (first, *others)}
    [own, *_], own_cost = cheapest(peers, "churn", "exact")
    told = [paid(first, SIZE, " cancels and armings"), *(paid(name, SIZE) for name in others)]
    for_few = [
        f"`{name}` pays for {pays(peers, 'churn', FEW, name)} with {power(FEW)}, and is too slow for {power(SIZE)}"
        for name in costs(peers, "churn", "exact" + LIBRARY, FEW)
        if name.partition("_")[0] not in libraries
    ]
    more = f" {'; '.join(for_few)}.".replace("\u202f", NO_BREAK) if for_few else ""
    return (
        f"**You have the timers of a library**: 1 % of a core pays, each second, for {', '.join(told)}, "
        f"and for {paid(own, SIZE)}, which took {rough(own_cost)} in that campaign.{more} [Up to how many yours "
        "is enough](docs/peers.md)."
    )


def _runtimes(processes: Results) -> str:
    told = [
        f"{rough(cost_of(processes, 'churn', SIZE, name))} with {what}"
        for what, name in RUNTIMES.items()
    ]
    return (
        f"**You have the timers of a runtime**: a cancel and an arming take {enumerated(told, 9)} "
        "([what others cost](docs/processes.md))."
    )


def _lateness() -> str:
    def late(service: str, scenario: str, rate: int) -> str:
        return rough(value_of(services_of("accuracy"), scenario, rate, service, "lateness_p50_ns"))

    def heap(waits: str) -> str:
        return late("locked_binary_heap", waits, FEW)

    return (
        f"**You ask how late timers fire**: in the median a heap under a mutex is {heap('wait_condition')} late "
        f"if it waits by a condition variable, and {heap('wait_timerfd')} by a timerfd. A wheel with ticks of a "
        f"millisecond is {late('locked_kafka_wheel_256', 'rate', 10 * FEW)} late ([services for several threads, "
        "loops and runtimes](docs/services.md))."
    )


def _durable() -> str:
    said = "**Timers must outlive a crash or a power cut**: "
    seen = "([how sure, and what else breaks](docs/durable.md#what-survives))"
    crashes = _crashes()
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
        return f"{said}queues on Redis, PostgreSQL, SQLite, beanstalkd and a file {seen}."

    def runs(faults: Sequence[str]) -> str:
        return grouped(min(sum(crashes[queue][fault].runs for fault in faults) for queue in safe))

    def named(queue: str) -> str:
        return f"`{queue}`" + (f" ({grouped(100 * round(rates[queue] / 100))})" if rates else "")

    each = "each " if len(safe) > 1 else ""
    told = (
        f"{said}{enumerated(list(map(named, safe)), NAMED)} {each}lost nothing in {runs(KILLS)} runs in which the "
        f"engine was killed and {runs(POWER_CUTS)} in which the power was cut"
    )
    if lossy:
        cuts = [crashes[lossy[0]][fault] for fault in POWER_CUTS]
        quiet, busy = (rough_number(fate.lost / fate.runs) for fate in cuts)
        told += (
            f". On average a cut took {quiet} timers of {named(lossy[0])}, and {busy} while producers armed "
            "without a pause"
        )
        if cuts[-1].no_starts:
            told += f"; after {cuts[-1].no_starts} of these {cuts[-1].runs} cuts it did not start again until it was repaired"
    if rates:
        told += f". In brackets: timers that {CLIENTS} clients arm and cancel in a second"
    return f"{told} {seen}.".replace("\u202f", NO_BREAK)


def _crashes() -> dict[str, dict[str, Fate]]:
    """Returns what became of the timers in CRASHES, by queue and fault, of the queues that met all of these."""
    folder = find("faults")
    fates = survival.load_files(read_files([folder])).fates if folder else {}
    crashes = {}
    for queue in dict.fromkeys(queue for _, queue in fates):
        own = {fault: fates[fault, queue] for fault in CRASHES if (fault, queue) in fates}
        if len(own) == len(CRASHES) and all(fate.has_figure for fate in own.values()):
            crashes[queue] = own
    return crashes


def _many(full: Results) -> str:
    few, many = _won_by_logs(full, FEW), _won_by_logs(full, MANY)
    told = []
    for precision, ours, other in (
        ("granular", "log_wheel_256", "granular structure without logs"),
        ("exact", "log_calendar_256", "exact one"),
    ):
        own = cost_of(full, "hold", MANY, ours)
        _, best = best_without_logs(full, "hold", precision, MANY)
        told.append(f"{rough(own)} with `{ours}` and {rough(best)} with the best {other}")

    def with_few(workload: str) -> str:
        best = (cheapest(full, workload, precision, FEW) for precision in PRECISIONS)
        return " and ".join(
            f"{rough(cost)} with {_named(names, explain=False)}" for names, cost in best
        )

    return (
        f"**Few timers or many**: with {power(FEW)} timers a structure without logs is the cheapest in "
        f"{few[1] - few[0]} of {few[1]} rankings ({few[1] // 2} loads, granular and exact); to cancel and arm takes "
        f"{with_few('churn')}, a fire and the next timer {with_few('hold')}. With {power(MANY)} timers one with logs is the "
        f"cheapest in {many[0]} of {many[1]}: a fire and the next timer then take {', and '.join(told)} "
        "([what that is worth, and on another host](docs/limit.md))."
    )


def _won_by_logs(results: Results, size: int) -> tuple[int, int]:
    """Returns in how many cases of a workload and a precision a log is the cheapest, and of how many."""
    first = [
        cheapest(results, workload, precision, size)[0][0]
        for workload in results.workloads
        for precision in PRECISIONS
        if size in results.sizes(workload)
    ]
    return sum(name.startswith(LOGS) for name in first), len(first)


def _named(names: list[str], explain: bool = True) -> str:
    """Returns the names, and what they are if all are settings of one structure."""
    said = " or ".join(f"`{name}`" for name in names)
    kinds = {next((kind for kind in WHAT_IT_IS if name.startswith(kind)), "") for name in names}
    what = WHAT_IT_IS.get(kinds.pop(), "") if len(kinds) == 1 else ""
    return f"{said}, {what}" if explain and what else said


PARTS = (
    ("README.md", "answers", answers),
    ("README.md", "table", table),
    ("docs/findings.md", "findings", findings),
    ("docs/limit.md", "answer", limit_tables.answer),
    ("docs/limit.md", "ratios", limit_tables.ratios),
    ("docs/limit.md", "ratios elsewhere", limit_tables.ratios_elsewhere),
    ("docs/limit.md", "ticks", limit_tables.ticks),
    ("docs/limit.md", "loads", limit_tables.loads),
    ("docs/limit.md", "advances", limit_tables.advances),
    ("docs/limit.md", "ideas", limit_tables.ideas),
    ("docs/limit.md", "distances", limit_tables.distances),
    ("docs/figures.md", "measured twice", measured_twice),
    ("docs/backends.md", "heaps", heaps),
    ("docs/services.md", "own services", own_services),
    ("docs/services.md", "services", services),
    ("docs/durable.md", "queues", queues),
    ("docs/durable.md", "survival", survivors),
    ("docs/distributed.md", "model", model),
)


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(
        prog="scripts/publish",
        description=__doc__,
    )
    parser.add_argument("--check", action="store_true", help="change nothing; fail if it differs")
    return parser.parse_args(words)


if __name__ == "__main__":
    run_main("scripts/publish", main)
