"""Compares two campaigns, two backends or services of one campaign, or two commits.

  scripts/compare results/local/before results/local/after         each backend with itself
  scripts/compare results/local/quick:binary_heap results/local/quick:lazy_heap
  scripts/compare results/local/before results/local/after --gate 3%
                                                                   fails if something is slower
  scripts/compare HEAD~1 HEAD                                      builds and measures both
  scripts/compare main my-branch quick --backends=ring --rounds=20
  scripts/compare results/local/monday results/local/tuesday --order
                                   whether both put the same backends first
  scripts/compare --history        what changed over all commits so far; see scripts/compare --history --help

  scripts/compare results/local/accuracy:delay_queue results/local/accuracy:java_timer \\
      --figure=lateness_p99_ns

The compared figure is the cost of an operation. For suites on the wall clock it is the median
lateness, the time per call, or the processor time per request. --figure selects another figure of
results.json.

Commits are measured in the same rounds and take turns, so that only their code differs. The options
after two commits are those of scripts/bench.

Each line is one workload at one size. It has the median ratio of B to A over the rounds, its
interval, and a verdict on B: faster, slower, equivalent (the interval lies within the margin) or
unresolved. For faster and slower the interval must exclude 1, and the effect must exceed 1 % and
the difference of a backend from itself. The chance of any false alarm among all lines is 5 %
(Holm), and each interval has the level of its line's test. So more lines need more rounds;
scripts/bench --out=DIR --rounds=N adds some.

The exit code is 0; with --gate 1 if any B is slower by more than the gate or has lost its figure;
with --order 1 if both campaigns are sure of different orders; 2 for wrong usage; and 3 if nothing
could be compared, or if a comparison has too few rounds for the gate to fail.
"""

import argparse
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

import history
from commits import commit_of, measure
from console import ArgumentParser, Failure, UsageError, run_main, say
from results import order
from results.grid import Key, read_files
from results.realtime import FIGURES, NO_RATIO, RealtimeResults, is_speed
from results.realtime import load_files as load_services
from results.replays import MARGIN, Cell, Results, load_files
from results.statistics import (
    Comparison,
    Interval,
    compare,
    noise_floor,
    paired_log_ratios,
    rounds_needed,
)
from results.survival import SUITE as FAULTS
from style import RANKED
from tables import order as order_table
from tables import terminal
from tables.replays import markdown_table
from words import counted, digits, enumerated, percent, power, ratio, time

# Figures are comparable only if these facts agree. Other differences are only reported.
MUST_AGREE = ("processor", "num_cpus", "kernel", "granularity", "seed")
TOLD = ("commit", "compiler", "flags", "build", "pages")

WORDS = ("faster", "slower", "equivalent", "unresolved")
CONTROL = "controls"  # a reason not to compare cells
NO_COST = f"the suite {FAULTS} counts what survives, and has no cost to compare; 'scripts/plot --table' shows it"
CAMPAIGNS_ONLY = "--order: name two campaigns, without a backend"
HISTORY = "--history"  # an option that stands for another job
MOST_NAMED = 4  # cells that are not compared for one reason
LeftOut = dict[str, list[Key]]  # cells that are not compared, by reason
COLOURS = {"faster": "green", "slower": "red", "equivalent": "", "unresolved": "dim"}


@dataclass(frozen=True)
class Side:
    """A or B."""

    name: str  # as the user gave it
    results: Results
    backend: str | None  # None: all backends
    unit: str = "ns"  # the unit of the compared figure

    def cells(self) -> dict[Key, Cell]:
        """The cells to compare; those of twins only if the side names them."""
        if not self.backend:
            return self.results.cells
        bare, at, variant = self.backend.partition("@")
        cells = self.results.variants.get(f"@{variant}", {}) if at else self.results.cells
        return {key: cell for key, cell in cells.items() if bare in ("", key[2])}

    def measured_twice(self) -> dict[Key, Cell]:
        """The cells that may have twins; of several builds, those of the first."""
        return self.results.cells or next(iter(self.results.variants.values()), {})


@dataclass(frozen=True)
class Line:
    """One comparison."""

    workload: str
    size: int
    backend: str
    a: Cell
    b: Cell
    result: Comparison


def main() -> int:
    if HISTORY in sys.argv:
        return history.main([word for word in sys.argv[1:] if word != HISTORY])
    arguments, options = _parse()
    a, b = _sides(arguments, options)
    if a.unit != b.unit:
        raise Failure(f"{a.name} has {a.unit} to compare, and {b.name} {b.unit}: unlike suites")
    if _is_one(a) != _is_one(b):
        raise UsageError("name a backend on both sides, or on neither")
    differences = _differences(a, b)
    if refused := [text for key, text in differences.items() if key in MUST_AGREE]:
        if not arguments.force:
            raise Failure(f"{'; '.join(refused)}: not to be compared, unless with --force")
    if arguments.order:
        return _compare_order(a, b, arguments.markdown)
    noise, how = _noise(a, b)
    lines, left_out = _compare(a, b, noise, arguments.margin)
    if not lines:
        why = f"; {_reasons(a, left_out)}" if left_out else ""
        raise Failure(f"{a.name} and {b.name} have no cells to compare{why}")
    notes = _notes(a, b, lines, left_out, list(differences.values()), how)
    if arguments.markdown or not sys.stdout.isatty():
        say(_markdown(a, b, lines, notes))
    else:
        _print(a, b, lines, notes)
    return 0 if arguments.gate is None else _pass_gate(a, b, lines, arguments.gate)


def _compare_order(a: Side, b: Side, markdown: bool) -> int:
    """Prints whether both put the same backends first; returns the exit code."""
    if a.backend or b.backend:
        raise UsageError(CAMPAIGNS_ONLY)
    contests = list(order.contests(a.results, b.results))
    if not contests:
        raise Failure(f"{a.name} and {b.name} have no contest of two backends in common")
    if markdown or not sys.stdout.isatty():
        say(order_table.markdown(contests))
    else:
        order_table.print_on_terminal(contests)
    return int(any(contest.word == order.CONTRADICTORY for contest in contests))


def _pass_gate(a: Side, b: Side, lines: list[Line], gate: float) -> int:
    """Prints whether B passes the gate; returns the exit code."""
    over = [line for line in lines if _is_over(line, gate)]
    verb = "is" if len(over) == 1 else "are"
    who = f"{len(over)} of {len(lines)} {verb}" if over else f"none of {len(lines)} is"
    say(f"\nGate: {who} slower by more than {gate * 100:g} %")
    broken = _broken(a, b)
    if broken:
        say(f"Gate: without a figure in B, and with one in A: {', '.join(broken)}")
    if over or broken:
        return 1
    if too_few := _too_few_rounds(lines):
        raise Failure(f"the gate does not hold: {too_few}")
    return 0


def _is_over(line: Line, gate: float) -> bool:
    return line.result.word == "slower" and line.result.ratio.middle > 1 + gate


def _broken(a: Side, b: Side) -> list[str]:
    """Returns the cells that have a figure in A but none in B, with their status."""
    others = {_kind(key, b): cell for key, cell in b.cells().items()}
    return [
        f"{key[2]} on {key[0]}/{power(key[1])} ({other.status})"
        for key, cell in a.cells().items()
        if cell.has_figure
        and (other := others.get(_kind(key, a)))
        and not other.has_figure
        and other.status != NO_RATIO  # what it counts has come down to 0
    ]


def _too_few_rounds(lines: list[Line]) -> str:
    """Returns why some comparisons cannot be significant; empty if all can."""
    fewest, needed = min(line.result.rounds for line in lines), rounds_needed(len(lines))
    if fewest >= needed:
        return ""
    few = sum(line.result.rounds < needed for line in lines)
    which = "this" if len(lines) == 1 else f"{few} of {counted(len(lines), 'comparison')}"
    return (
        f"With {counted(fewest, 'round')} {which} cannot be sure; {needed} are needed: "
        f"scripts/bench --out=DIR --rounds={needed} adds them."
    )


def _given(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("is empty; name results or a commit")
    return text


def _parse() -> tuple[argparse.Namespace, list[str]]:
    """Returns this script's arguments, and the options for measuring commits."""
    parser = ArgumentParser(
        prog="scripts/compare",
        description=__doc__,
    )
    parser.add_argument(
        "a",
        type=_given,
        metavar="A",
        help="results (a file or a folder, or one of its backends as FOLDER:BACKEND), or a commit",
    )
    parser.add_argument("b", type=_given, metavar="B", help="likewise; it is compared with A")
    purpose = parser.add_mutually_exclusive_group()
    purpose.add_argument(
        "--gate",
        type=_share,
        metavar="SHARE",
        help="fail if something is slower by more than this, such as 3%%",
    )
    purpose.add_argument(
        "--order",
        action="store_true",
        help="say whether both campaigns put the same backends first; fail if they contradict each other",
    )
    parser.add_argument(
        "--margin",
        type=_share,
        default=MARGIN,
        metavar="SHARE",
        help="largest difference that counts as equivalent (default: 3%%)",
    )
    parser.add_argument(
        "--figure",
        metavar="NAME",
        help="figure to compare, for suites on the wall clock, such as lateness_p99_ns",
    )
    parser.add_argument(
        "--markdown", action="store_true", help="print Markdown, for a pull request"
    )
    parser.add_argument(
        "--force", action="store_true", help="compare even if machines or settings differ"
    )
    return parser.parse_known_args()


def _sides(arguments: argparse.Namespace, options: list[str]) -> tuple[Side, Side]:
    """Returns the sides from existing results, or measures the commits."""
    a, b = arguments.a, arguments.b
    if not any(Path(text.rpartition(":")[0] or text).exists() for text in (a, b)):
        one, other = commit_of(a), commit_of(b)
        if one and other:
            if arguments.order:
                raise UsageError(CAMPAIGNS_ONLY)
            if {FAULTS, f"--suite={FAULTS}"} & {*options}:
                raise UsageError(NO_COST)
            folder, *variants = measure(one, other, options)
            both = side_of(str(folder), arguments.figure)
            return (
                replace(both, name=a, backend=variants[0]),
                replace(both, name=b, backend=variants[1]),
            )
        for text, commit in ((a, one), (b, other)):
            if not commit and not Path(text).exists():
                raise UsageError(f"'{text}' is neither results nor a commit")
    if options:
        raise UsageError(f"'{options[0]}' is not understood; see scripts/compare --help")
    return side_of(a, arguments.figure), side_of(b, arguments.figure)


def _share(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not a share such as 3%")
    return float(match[1]) / 100


def side_of(text: str, figure: str | None = None) -> Side:
    """Opens PATH or PATH:BACKEND. `figure` is what is compared of services, None the first of a suite."""
    path, colon, backend = text.rpartition(":")
    if not colon or Path(text).exists():
        path, backend = text, ""
    files = read_files([Path(path)])
    if any(FAULTS in file.suites for file in files):
        raise UsageError(f"{path}: {NO_COST}")
    if realtime := [suite for file in files for suite in file.suites if suite in FIGURES]:
        side = _of_services(text, load_services(files), backend, figure or FIGURES[realtime[0]])
    elif figure:
        raise UsageError(f"--figure: {path} is of replays, of which the cost is compared")
    else:
        side = Side(text, load_files(files), backend or None)
    if backend and not side.cells():
        raise UsageError(
            f"{path} has no backend '{backend}'; there are {', '.join(side.results.backends)}"
        )
    return side


def _of_services(text: str, results: RealtimeResults, backend: str, figure: str) -> Side:
    kinds = (results.cells, *results.variants.values())  # commits have variants only
    known = sorted({name for cells in kinds for cell in cells.values() for name in cell.counters})
    if figure not in known:
        named = [name for name in known if re.search("_ns|_share|_per_second", name)]
        raise UsageError(f"--figure: there is no '{figure}'; there are {', '.join(named)}")
    unit = "ns for each" if is_speed(figure) else figure
    return Side(text, results.as_costs(figure), backend or None, unit)


def _differences(a: Side, b: Side) -> dict[str, str]:
    """Returns the differing facts, by name."""
    return {
        key: f"{key} differs, '{one}' and '{other}'"
        for key in (*MUST_AGREE, *TOLD)
        if (one := a.results.facts.get(key, "")) != (other := b.results.facts.get(key, ""))
    }


def _compare(a: Side, b: Side, noise: float, margin: float) -> tuple[list[Line], LeftOut]:
    """Returns the comparisons of all cells that both sides have, in A's order, and the cells that
    are not compared.
    """
    others = {_kind(key, b): (key, cell) for key, cell in b.cells().items()}
    left_out: LeftOut = {}
    pairs = []
    for key, cell in a.cells().items():
        _, other = others.pop(_kind(key, a), (None, None))
        if why := _why_not(a, b, key, cell, other):
            left_out.setdefault(why, []).append(key)
        elif other:
            pairs.append((key, cell, other))
    for key, _ in others.values():
        left_out.setdefault(CONTROL if _is_control(b, key) else "only in B", []).append(key)
    ratios = [paired_log_ratios(one.by_round, other.by_round) for _, one, other in pairs]
    results = compare(ratios, noise, margin)
    lines = [Line(*key, one, other, result) for (key, one, other), result in zip(pairs, results)]
    return lines, left_out


def _is_control(side: Side, key: Key) -> bool:
    """Whether the cell is left out because it promises less than a timer needs."""
    return side.results.precision(key[2]) not in RANKED and not _is_one(side)


def _is_one(side: Side) -> bool:
    """Whether the side is a single backend."""
    return bool(side.backend) and not str(side.backend).startswith("@")


def _kind(key: Key, side: Side) -> Key:
    return (key[0], key[1], "" if _is_one(side) else key[2])


def _why_not(a: Side, b: Side, key: Key, one: Cell, other: Cell | None) -> str:
    """Returns why a cell is not compared; empty if it is."""
    if _is_control(a, key):
        return CONTROL
    if not other:
        return "only in A"
    if NO_RATIO in (one.status, other.status):
        return "whose figure is 0 in a round, so there is no ratio"
    if not one.has_figure or not other.has_figure:
        return f"without a figure in {'B' if one.has_figure else 'A'}"
    if a.results.trace_of(*key) != b.results.trace_of(*key):
        return "of another trace"
    return ""


def _noise(a: Side, b: Side) -> tuple[float, str]:
    """Returns the noise floor, in logarithms, and a sentence on it.

    The machine may have changed between campaigns that were measured at different times. The
    controls show this, because they do not depend on any backend.
    """
    twins = [
        paired_log_ratios(known[key].by_round, twin.by_round)
        for side in ((a,) if a.results is b.results else (a, b))
        for known in (side.measured_twice(),)
        for key, twin in side.results.twins.items()
        if twin.has_figure and key in known and known[key].has_figure
    ]
    twins = [ratios for ratios in twins if ratios]
    floor = noise_floor(twins)
    said = f"the same backend differs from itself by up to {percent(floor)} (nine of ten pairs)"
    if not twins:
        said = "nothing was measured twice, so the noise is unknown, and 1 % stands for it"
    if set(map(str, a.results.sources)) == set(map(str, b.results.sources)):
        return floor, f"Noise: {said}."
    controls = [
        paired_log_ratios(cell.by_round, other.by_round)
        for key, cell in a.results.cells.items()
        if a.results.precision(key[2]) == "none"
        and cell.has_figure
        and (other := b.results.cells.get(key))
        and other.has_figure
    ]
    if not controls:
        return floor, (
            f"Noise: {said}; measured apart, and no control tells how much the machine changed meanwhile."
        )
    drift = noise_floor(controls)
    return max(floor, drift), (
        f"Noise: {said}; measured apart, and the controls differ by up to {percent(drift)} from "
        "one to the other."
    )


def _notes(
    a: Side,
    b: Side,
    lines: list[Line],
    left_out: LeftOut,
    differences: list[str],
    noise: str,
) -> list[str]:
    counts = ", ".join(
        f"{count} {word}"
        for word in WORDS
        if (count := sum(line.result.word == word for line in lines))
    )
    common = _common_rounds(lines)
    over = "" if common is None else f" over {counted(common, 'round')}"
    less = "cheaper" if a.unit == "ns" else "better"
    notes = [
        f"{counted(len(lines), 'comparison')} of B with A{over}: {counts}. A ratio below 1 means "
        f"that B is {less}.",
        noise,
    ]
    if too_few := _too_few_rounds(lines):
        notes.append(too_few)
    if left_out:
        notes.append(f"Not compared: {_reasons(a, left_out)}.")
    return notes + [f"{difference}." for difference in differences]


def _reasons(a: Side, left_out: LeftOut) -> str:
    """Names the cells that are not compared, by reason; of controls, only the backends."""

    def name(why: str, key: Key) -> str:
        workload, size, backend = key
        place = f"{workload}/{power(size)}"
        if why == CONTROL:
            return backend
        return place if _is_one(a) else f"{backend} on {place}"

    parts = []
    for why, keys in left_out.items():
        names = list(dict.fromkeys(name(why, key) for key in keys))
        parts.append(f"{why}: {enumerated(names, MOST_NAMED)}")
    return "; ".join(parts)


def _ratio(interval: Interval) -> str:
    if not 0 < interval.low or interval.high == float("inf"):
        return f"{ratio(interval.middle)} [?]"
    return f"{ratio(interval.middle)} [{ratio(interval.low)} – {ratio(interval.high)}]"


def _columns(a: Side, lines: list[Line]) -> dict[str, list[str]]:
    """Returns the columns of the table by their titles. The backend is left out if each side is a
    single one, which the heading names; so are the rounds if all lines have as many.
    """
    text = time if a.unit.endswith("_ns") else digits
    unit = a.unit.removesuffix("_ns")
    columns = {
        "workload": [f"{line.workload}/{power(line.size)}" for line in lines],
        "backend": [line.backend for line in lines],
        f"A, {unit}": [text(line.a.cost) for line in lines],
        f"B, {unit}": [text(line.b.cost) for line in lines],
        "B / A": [_ratio(line.result.ratio) for line in lines],
        "rounds": [str(line.result.rounds) for line in lines],
        "B is": [line.result.word for line in lines],
    }
    if _is_one(a):
        del columns["backend"]
    if _common_rounds(lines) is not None:
        del columns["rounds"]
    return columns


def _common_rounds(lines: list[Line]) -> int | None:
    """Returns the number of rounds of each line; None if they differ."""
    first, *others = {line.result.rounds for line in lines}
    return None if others else first


def _names(a: Side) -> int:
    """Returns how many columns name a line."""
    return 1 if _is_one(a) else 2


def _markdown(a: Side, b: Side, lines: list[Line], notes: list[str]) -> str:
    columns = _columns(a, lines)
    rows = [
        [*row, f"**{word}**" if word in WORDS[:2] else word]
        for *row, word in zip(*columns.values())
    ]
    head = f"A = `{a.name}`, B = `{b.name}`"
    answer, *others = notes
    table = markdown_table(list(columns), rows, names=_names(a))
    return "\n\n".join([head, answer, table, *others])


def _print(a: Side, b: Side, lines: list[Line], notes: list[str]) -> None:
    console = Console()
    answer, *others = notes
    console.print(f"A = {a.name}\nB = {b.name}\n{answer}\n", highlight=False, markup=False)
    columns = _columns(a, lines)
    shown = [terminal.Line(row, COLOURS[row[-1]]) for row in zip(*columns.values())]
    for table in terminal.split_by_width(list(columns), shown, console.width, repeated=_names(a)):
        console.print(table)
        console.print()
    for note in others:
        console.print(note, highlight=False, markup=False)


if __name__ == "__main__":
    run_main("scripts/compare", main, failure=3)
