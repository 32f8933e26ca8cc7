"""The tables of a suite on the wall clock: one for each scenario, in Markdown or on a terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from rich.console import Console

from results.realtime import CONTROL, FIGURES, RealtimeCell, RealtimeResults
from results.statistics import spread
from tables.answers import answers, said_first
from tables.libraries import version_lines
from tables.replays import LIBRARIES, NOT_RUN, failure_lines, markdown_table
from tables.sureness import noise_lines
from tables.terminal import Line, split_by_width
from words import digits, machine_line, power, remake_line, time

Text = Callable[[RealtimeCell], str]


@dataclass(frozen=True)
class Column:
    """A column; an empty text means no value. Columns without any value are left out."""

    title: str
    text: Text
    of: str = ""  # the only scenario with this column; empty: all


def _time(counter: str, title: str, of: str = "") -> Column:
    return Column(title, lambda cell: _told(cell.value(counter), time), of)


def _number(counter: str, title: str, scale: float = 1, unit: str = "", of: str = "") -> Column:
    def text(value: float) -> str:
        return digits(value * scale) + unit

    return Column(title, lambda cell: _told(cell.value(counter), text), of)


def _told(value: float | None, text: Callable[[float], str]) -> str:
    return "" if value is None else text(value)


def _achieved(achieved: str, offered: str) -> Column:
    """Returns the achieved rate as a share of the offered rate."""

    def text(cell: RealtimeCell) -> str:
        one, other = cell.value(achieved), cell.value(offered)
        if one is None or not other:
            return ""
        return f"{100 * one / other:.1f} %" + _saturated(cell, len(cell.values(achieved)))

    return Column("achieved", text)


def _saturated(cell: RealtimeCell, rounds: int) -> str:
    if not cell.saturated:
        return ""
    share = "" if cell.saturated == rounds else f" in {cell.saturated} of {rounds}"
    return ", saturated" + share


def _with_spread(counter: str, title: str, scale: float) -> Column:
    def text(cell: RealtimeCell) -> str:
        values = [value * scale for value in cell.values(counter)]
        if not values:
            return ""
        return digits(median(values)) + (f" ±{spread(values):.0%}" if len(values) > 1 else "")

    return Column(title, text)


COLUMNS = {
    "accuracy": (
        _achieved("achieved_per_second", "offered_per_second"),
        _time("lateness_p50_ns", "p50"),
        _time("lateness_p99_ns", "p99"),
        _time("lateness_p99.9_ns", "p99.9"),
        _time("lateness_max_ns", "max"),
        _time("arming_ns", "each armed in", of="herd"),
        _time("first_lateness_ns", "first", of="herd"),
        _time("last_lateness_ns", "last", of="herd"),
        _number("wakeups_per_second", "wakeups/s"),
        _number("cpu_share", "CPU", 100, " %"),
        _time("cpu_ns_per_operation", "CPU per operation"),
        _time("generator_p99_ns", "load late p99"),
    ),
    "contention": (
        _with_spread("calls_per_second", "million calls/s", 1e-6),
        _time("cpu_ns_per_call", "CPU per call"),
        _time("schedule_p50_ns", "schedule p50"),
        _time("schedule_p99.9_ns", "p99.9"),
        _time("cancel_p50_ns", "cancel p50"),
        _time("cancel_p99.9_ns", "p99.9"),
        _number("fired_share", "fired", 100, " %"),
    ),
    "durable": (
        _with_spread("timers_per_second", "timers/s", 1),
        _with_spread("schedules_per_second", "schedules/s", 1),
        _with_spread("cancels_per_second", "cancels/s", 1),
        _with_spread("fires_per_second", "fires/s", 1),
        _achieved("achieved_per_second", "offered_per_second"),
        _time("arm_p50_ns", "arm p50"),
        _time("arm_p99_ns", "p99"),
        _time("cancel_p50_ns", "cancel p50"),
        _time("cancel_p99_ns", "p99"),
        _time("claim_p50_ns", "claim p50"),
        _time("complete_p50_ns", "complete p50"),
        _time("lateness_p50_ns", "late p50"),
        _time("lateness_p99_ns", "p99"),
        _time("lateness_p99.9_ns", "p99.9"),
        _time("lateness_max_ns", "max"),
        _time("generator_p99_ns", "load late p99"),
        _time("client_cpu_ns_per_timer", "client's CPU a timer"),
        _time("server_cpu_ns_per_timer", "server's"),
        _number("fsyncs_per_timer", "fsyncs a timer"),
        _number("network_bytes_per_timer", "TCP bytes a timer"),
        _number("worker_wakeups_per_hour", "a worker's wakeups"),
        _number("server_wakeups_per_hour", "server's wakeups"),
        _time("cpu_ns_per_hour", "CPU"),
        _time("client_cpu_ns_per_hour", "clients' CPU"),
        _time("server_cpu_ns_per_hour", "server's CPU"),
        _number("fsyncs_per_hour", "fsyncs"),
        _number("network_bytes_per_hour", "MB sent", 1e-6),
        _number("bytes_in_memory", "bytes in memory", of="pending"),
        _number("bytes_on_disk", "on disk", of="pending"),
        _number("first_fire_seconds", "first fire after", 1, " s"),
        _number("restart_seconds", "back after", 1, " s"),
    ),
    "purgatory": (
        _achieved("actual_per_second", "target_per_second"),
        _number("cpu_share", "CPU", 100, " %"),
        _time("cpu_ns_per_request", "CPU per request"),
        _number("timed_out_share", "timed out", 100, " %"),
        _number("expected_timed_out_share", "expected", 100, " %"),
        _time("lateness_p50_ns", "late p50"),
        _time("lateness_p99_ns", "p99"),
        _time("lateness_max_ns", "max"),
        _number("wakeups_per_second", "wakeups/s"),
    ),
}
EXPLAINED = {
    "accuracy": (
        "p50 to max: how late timers fire; a percentile stands only where ten timers or more lie "
        "beyond it. Achieved: the rate at which timers fire, of that at which they fall due, however "
        "late they are all the time; `saturated` is less than 99 %. CPU: of one processor, the "
        "generator of the load included; per call and per fire together. load late: how far behind "
        "their plan the timers were armed, by the generator and the calls that it waits for."
    ),
    "contention": (
        "calls/s: of all threads together, schedule and cancel. CPU: of the whole process. fired: "
        "of the armings, the others are moved or cancelled."
    ),
    "durable": (
        "timers/s: armed and cancelled, or claimed and completed. schedules/s, cancels/s: what the "
        "clients would make of such calls alone, by the time that these take. CPU: of the clients, and "
        "of the server's processes. bytes: of a pending timer with 16 bytes of payload. back after: from "
        "kill -9 until what was due is handed out. Queues are compared only with those that promise "
        "the same after a power cut. load late: how far behind their plan timers were armed "
        "and cancelled. `saturated`: less than 99 % of the rate; the calls or the timers become ever "
        "later. fsyncs: calls by which the engine has the system write to the disk. TCP: between "
        "clients and servers, and among servers; engines on a unix socket or in the process have "
        "none. idle: in an hour, with four workers that wait; the CPU is that of all processes."
    ),
    "purgatory": (
        "CPU: of one processor, the load's own included. expected: the share of the requests whose "
        "latency reaches the time-out. late: of requests that time out, behind their time-out. "
        "`saturated`: less than 99 % of the requests came at their time, or they expire ever later."
    ),
}
CONTROL_NOTE = (
    f"`{CONTROL}`: how late the machine itself wakes up, beside the same load without a service."
)
SKIPPED = "skipped: saturated at two smaller sizes already"
SKIPPED_NOTE = "A service that is saturated at two sizes is skipped at all larger ones."


@dataclass(frozen=True)
class Sheet:
    """A scenario's table: a line for each size and service.

    A line has the size, the service, and the entries. Those of libraries are a part of their own.
    """

    scenario: str
    titles: list[str]
    parts: dict[str, list[list[str]]]  # lines, by what stands above them; nothing above the first


def sheets(results: RealtimeResults, size: int | None = None) -> list[Sheet]:
    """Returns the sheets of all scenarios, at all sizes or at the nearest to one."""
    made = []
    for scenario in results.scenarios:
        sizes = results.sizes(scenario)
        made.append(
            _sheet(results, scenario, [results.shown_size(scenario, size)] if size else sizes)
        )
    return made


def _is_skipped(cell: RealtimeCell) -> bool:
    """Whether the cell was skipped because the service was saturated at a smaller size."""
    return cell.failure == SKIPPED


def markdown(results: RealtimeResults, size: int | None = None) -> str:
    """Returns the tables and all facts that are needed to judge and repeat them."""
    parts = said_first(answer_lines(results, results.scenarios))
    for sheet in sheets(results, size):
        parts.append(f"## {sheet.scenario}")
        for title, lines in sheet.parts.items():
            coded = [[line[0], f"`{line[1]}`", *line[2:]] for line in lines]
            parts += [*filter(None, [title]), markdown_table(sheet.titles, coded)]
    if failures := _failures(results):
        parts.append(
            "Without a figure, or in doubt:\n\n" + "\n".join(f"- {line}" for line in failures)
        )
    parts += [
        caption(results),
        *_noise(results),
        *version_lines(results),
        machine_line(results.facts),
        f"Reproduce with: `{remake_line(results.facts)}`",
    ]
    return "\n\n".join(parts) + "\n"


def print_on_terminal(results: RealtimeResults, size: int | None = None) -> None:
    """Prints the same for a terminal."""
    console = Console()
    for sentence in answer_lines(results, results.scenarios):
        console.print(sentence, highlight=False, markup=False)
    for sheet in sheets(results, size):
        console.print(f"\n{sheet.scenario}", style="bold", highlight=False, markup=False)
        titles = [title.replace(" ", "\n") for title in sheet.titles]
        lines = []
        for title, part in sheet.parts.items():
            lines += [Line(["libraries"], "italic")] if title else []
            lines += [Line(line, "dim" if line[1] == CONTROL else "") for line in part]
        for table in split_by_width(titles, lines, console.width, repeated=2):
            console.print(table)
            console.print()
    for text in (caption(results), *_failures(results), *_noise(results)):
        console.print(text, style="dim", highlight=False, markup=False)


def caption(results: RealtimeResults) -> str:
    """Explains the figures."""
    count = results.rounds
    shown = f"Medians of {count} rounds" if count.most > 1 else "One measurement a cell"
    if results.suite == "contention" and count.most > 1:
        shown += f" ± {count.spread}"
    notes = [f"{shown}.", EXPLAINED[results.suite]]
    if CONTROL in results.backends:
        notes.append(CONTROL_NOTE)
    if any(map(_is_skipped, results.cells.values())):
        notes.append(SKIPPED_NOTE)
    return " ".join(notes)


def _sheet(results: RealtimeResults, scenario: str, sizes: Sequence[int]) -> Sheet:
    named = [
        (size, service, cell)
        for size in sizes
        for service in results.members(scenario)
        if (cell := results.cell(scenario, size, service))
        and not (_is_skipped(cell) and len(sizes) > 1)  # its last line says saturated
    ]
    columns = [
        column
        for column in COLUMNS[results.suite]
        if column.of in ("", scenario) and any(column.text(cell) for _, _, cell in named)
    ]
    parts: dict[str, list[list[str]]] = {"": [], LIBRARIES: []}
    for size, service, cell in named:
        entries = [column.text(cell) or NOT_RUN for column in columns]
        if not cell.has_figure:
            entries = [cell.status, *entries[1:]]
        title = LIBRARIES if results.is_library(service) else ""
        parts[title].append([power(size), service, *entries])
    titles = [_size_is(results, scenario), "service", *_titles(columns)]
    return Sheet(scenario, titles, {title: lines for title, lines in parts.items() if lines})


def _titles(columns: Sequence[Column]) -> list[str]:
    """Returns at least one title, because failures need a column."""
    return [column.title for column in columns] or ["figures"]


def _size_is(results: RealtimeResults, scenario: str) -> str:
    """Says what a scenario's sizes count."""
    return results.size_is(scenario).replace(" per second", "/s")


# The phrase after a figure (FIGURES) in an answer.
ANSWERED = {
    "lateness_p50_ns": "late (p50)",
    "calls_per_second": "a call",
    "cpu_ns_per_request": "of CPU a request",
    "timers_per_second": "a timer",
    "cpu_ns_per_hour": "of CPU in an hour",
}


def answer_lines(results: RealtimeResults, scenarios: Sequence[str]) -> list[str]:
    """Answers for each of the scenarios, at the size that separates the services best."""
    said: list[str] = []
    for figure in dict.fromkeys(map(results.figure, scenarios)):
        said += answers(
            results.as_costs(figure),
            {
                scenario: results.telling_size(scenario)
                for scenario in scenarios
                if results.figure(scenario) == figure
            },
            text=lambda cost: f"{time(cost)} {ANSWERED[figure]}",
            size_is=lambda scenario: _size_is(results, scenario),
            less="less late" if figure == FIGURES["accuracy"] else "cheaper",
            only_contests=True,
        )
    return list(dict.fromkeys(said))


def _noise(results: RealtimeResults) -> list[str]:
    figure = FIGURES[results.suite]
    return noise_lines(results.as_costs(figure), figure)


def _failures(results: RealtimeResults) -> list[str]:
    told = {key: cell for key, cell in results.cells.items() if not _is_skipped(cell)}
    lines = failure_lines(told, results)
    if results.cut_short:
        lines.append(
            f"{results.cut_short} cells were measured for a shorter time: the run was interrupted"
        )
    return lines
