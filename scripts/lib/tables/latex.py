"""Writes the results for a paper: a table in LaTeX, and a paragraph on the method.

The table needs the package booktabs, and that of the suite faults also graphicx. Both files are made for \\input.
"""

import re
from collections import Counter
from math import ceil, isinf
from statistics import median
from typing import Any

from tables import realtime as realtime_table
from tables import survival as survival_table
from results.grid import Grid, Rounds
from results.realtime import RealtimeResults
from results.replays import Cell, Results
from results.survival import SurvivalResults
from results.statistics import LEAST_ROUNDS, median_interval
from style import HEADINGS, RANKED
from tables.replays import NOT_RUN, headers
from words import MARKS, digits, of_virtual, percent, reasons_of_grade, remake_line

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\u202f": r"\,",
    "·": r"$\cdot$",
    "±": r"$\pm$",
    "–": "--",
    "µ": r"$\mu$",
    "×": r"$\times$",
    "<": r"$<$",
    ">": r"$>$",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "§": r"\S{}",
}


def escaped(text: str) -> str:
    """Escapes text for LaTeX. Powers such as 10⁵ become LaTeX powers."""
    plain = "".join(_SPECIAL.get(letter, letter) for letter in text)
    digits_of = {ord(high): str(low) for low, high in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
    return re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda found: f"$^{{{found[0].translate(digits_of)}}}$", plain)


def latex_table(results: Results, size: int) -> str:
    """Returns medians with 95 % intervals for each precision; bold as in table.md."""
    titles = headers(results, size)
    lines = [
        r"% Wide: in a table*, perhaps within \resizebox{\textwidth}{!}{...}.",
        rf"% Figures are medians of {results.rounds} rounds in ns, and their 95 % intervals,",
        f"% at {size} pending timers. Bold: cheapest of its class, or not significantly slower.",
        f"% {_marks()} Reproduce with: {_remake(results)}",
        rf"\begin{{tabular}}{{l{'r' * len(titles)}}}",
        r"\toprule",
        " & ".join(["", *(escaped(name) for name, _ in titles)]) + r" \\",
        " & ".join(["", *(rf"\footnotesize {escaped(note)}" for _, note in titles)]) + r" \\",
    ]
    for precision, backends in results.backends_by_precision().items():
        lines.append(r"\midrule")
        lines.append(
            rf"\multicolumn{{{1 + len(titles)}}}{{l}}{{\emph{{{HEADINGS[precision]}}}}} \\"
        )
        columns = [_column(results, name, size, backends, precision) for name in results.workloads]
        for backend, *entries in zip(backends, *columns):
            lines.append(" & ".join([rf"\texttt{{{escaped(backend)}}}", *entries]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _column(
    results: Results, workload: str, size: int, backends: list[str], precision: str
) -> list[str]:
    shown = results.shown_size(workload, size)
    best = results.best(workload, shown, backends) if precision in RANKED else []
    entries = []
    for backend in backends:
        cell = results.cell(workload, shown, backend)
        text = escaped(NOT_RUN) if cell is None else _entry(cell)
        text += escaped(results.mark(workload, shown, backend))
        entries.append(rf"\textbf{{{text}}}" if backend in best else text)
    return entries


def _marks() -> str:
    return " ".join(f"{sign} {meaning}." for sign, meaning in MARKS.items())


def _remake(results: Grid[Any]) -> str:
    """Returns one line, because a newline would end the LaTeX comment."""
    return " ".join(remake_line(results.facts).split())


def _entry(cell: Cell) -> str:
    if not cell.has_figure:
        return rf"\emph{{{escaped(cell.status)}}}"
    interval = median_interval(cell.costs)
    if isinf(interval.low):
        return escaped(digits(interval.middle))
    low, high = digits(interval.low), digits(interval.high)
    return escaped(digits(interval.middle)) + rf" {{\scriptsize [{escaped(low)}, {escaped(high)}]}}"


def latex_realtime_table(results: RealtimeResults, size: int | None) -> str:
    """Returns a tabular for each scenario."""
    parts = [f"% {realtime_table.caption(results)}", f"% Reproduce with: {_remake(results)}"]
    for sheet in realtime_table.sheets(results, size):
        parts += [
            f"% {sheet.scenario}",
            rf"\begin{{tabular}}{{rl{'r' * (len(sheet.titles) - 2)}}}",
            r"\toprule",
            " & ".join(map(escaped, sheet.titles)) + r" \\",
        ]
        for lines in sheet.parts.values():
            parts += [r"\midrule", *(" & ".join(map(escaped, line)) + r" \\" for line in lines)]
        parts += [
            r"\bottomrule",
            r"\end{tabular}",
        ]
    return "\n".join([*parts, ""])


def latex_survival_table(results: SurvivalResults) -> str:
    """Returns a row for each queue, and a column for each fault."""
    faults, rows = survival_table.matrix(results)
    heads = [rf"\rotatebox{{90}}{{{escaped(fault.replace('_', ' '))}}}" for fault in faults]
    lines = [
        [rf"\texttt{{{escaped(queue)}}}", *(escaped(survival_table.entry(fate)) for fate in row)]
        for queue, row in zip(results.backends, rows)
    ]
    return "\n".join(
        [
            r"% Wide: in a table*, perhaps within \resizebox{\textwidth}{!}{...}.",
            f"% {survival_table.EXPLAINED}",
            f"% {survival_table.marks_note(results)}",
            f"% Reproduce with: {_remake(results)}",
            rf"\begin{{tabular}}{{l{'r' * len(faults)}}}",
            r"\toprule",
            " & ".join(["", *heads]) + r" \\",
            r"\midrule",
            *(" & ".join(line) + r" \\" for line in lines),
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def method(results: Grid[Any], rounds: Rounds) -> str:
    """Describes the method in sentences, as far as the facts tell it."""
    facts = results.facts
    is_replayed = isinstance(results, Results)
    sentences = [_where(facts), *_how(results, rounds, is_replayed)]
    if isinstance(results, Results):
        sentences += _checked_and_summed_up(results)
    sentences += _what_is_missing(results)
    if grade := facts.get("grade"):
        reasons = reasons_of_grade(facts)
        because = f", for {reasons}" if reasons else ""
        sentences.append(
            f"The machine's fitness for measuring was graded {grade} of A to F{because}."
        )
    text = " ".join(map(escaped, sentences))
    command = re.sub("(,|--)", r"\1\\allowbreak{}", escaped(remake_line(facts)))
    return f"{text} To reproduce the figures: \\texttt{{{command}}}.\n"


def _where(facts: dict[str, str]) -> str:
    commit = f" (commit {facts['commit']})" if "commit" in facts else ""
    compiled = " ".join(facts[key] for key in ("compiler", "flags") if facts.get(key))
    machine = f"a {of_virtual(facts)}machine with {facts.get('processor', 'an unknown processor')}"
    if count := facts.get("num_cpus"):
        machine += f", {count} processor{'' if count == '1' else 's'}"
    system = ", ".join(part for part in (facts.get("kernel", ""), compiled) if part)
    return f"We measured with timerbench{commit} on {machine}{f' ({system})' if system else ''}."


def _how(results: Grid[Any], rounds: Rounds, is_replayed: bool) -> list[str]:
    what = (
        "a backend on a workload at a size" if is_replayed else "a service in a scenario at a load"
    )
    measured = sum(cell.is_measured for cell in results.cells.values())
    cells = f"Each of {measured} cells, {what}, was measured {_times(rounds)}"
    if measured == 0:
        return ["No cell could be measured."]
    if "format" not in results.facts:  # the results are not from a campaign
        return [cells + "."]
    bound = ", bound to one processor unless it is a server's client" if is_replayed else ""
    each = ", " if rounds.most == 1 else ", each time "
    has_hashes = any("hashes" in facts for facts in results.inputs.values())
    return [
        f"{cells}{each}by a process of its own{bound}; the contenders took turns in each round, in "
        "the order of Williams' balanced Latin squares"
        + (", on the same traces, which hashes confirm." if has_hashes else ".")
    ]


def _times(rounds: Rounds) -> str:
    return "once" if rounds.most == 1 else f"in {rounds} rounds"


def _checked_and_summed_up(results: Results) -> list[str]:
    granularity = results.facts.get("granularity", "1")
    verified = "Every backend was verified against a model before. "
    sentences = [
        (verified if "format" in results.facts else "")
        + "The fires of each timed replay were compared with those of the model.",
        f"Granules are of {granularity} tick{'' if granularity == '1' else 's'}.",
    ]
    if 1 < results.rounds.most < LEAST_ROUNDS:
        sentences.append(f"We report medians; {results.rounds} rounds allow no interval.")
    elif results.rounds.most > 1:
        sentences.append(
            "We report medians with exact 95 % intervals by the sign test, and compare by paired "
            "log-ratios within rounds, corrected for the number of comparisons (Holm)."
        )
    if results.twin_ratios:
        sentences.append(_noise(results))
    else:
        sentences.append("Nothing was measured twice, so the noise is unknown.")
    return sentences


def _noise(results: Results) -> str:
    """States the smallest difference that is claimed, from the twins' differences and intervals."""
    nine = results.reach[ceil(0.9 * len(results.reach)) - 1]
    told = (
        "Some backends were measured twice in each round. The medians of nine pairs of ten differ by "
        f"less than {percent(results.noise)}; we claim no smaller difference."
    )
    if isinf(nine):
        return f"{told} The rounds are too few for intervals."
    return (
        f"{told} The 95 % intervals of these ratios reach {percent(median(results.reach))} (median) "
        f"and {percent(nine)} (nine of ten): the rounds resolve differences of about that size."
    )


def _what_is_missing(results: Grid[Any]) -> list[str]:
    statuses = Counter(cell.status for cell in results.cells.values() if not cell.has_figure)
    noisy = sum(cell.noisy > 0 for cell in results.cells.values())
    sentences = []
    if statuses:
        counted = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
        sentences.append(f"No figure: {counted} (of {len(results.cells)} cells).")
    if late := sum(bool(cell.doubt) for cell in results.cells.values()):
        sentences.append(
            f"In {late} cells some rounds took too long, and the median is that of the others."
        )
    if noisy:
        sentences.append(
            f"In {noisy} cells a measurement stayed disturbed by other processes, however often it "
            "was made again."
        )
    if results.interrupted:
        sentences.append(f"{results.interrupted} cells were not measured.")
    return sentences
