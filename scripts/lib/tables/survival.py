"""The table of survival: queues by faults, in Markdown or on a terminal; then all figures of each
fault.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from results.survival import (
    KEEPS_ALL,
    LOSES_ALL,
    MAXIMA,
    POWER_CUT,
    SKIPPED,
    SUMS,
    Fate,
    SurvivalResults,
    Verdict,
)
from tables.answers import HOW_SURE, WHAT_TO_DO
from tables.replays import NOT_RUN, markdown_table
from tables.terminal import Line, split_by_width
from words import counted, digits, enumerated, grouped, machine_line, remake_line, time

MOST_NAMED = 6  # queues in a sentence
AT_MOST_ONCE = "_at_most_once"  # ends the names of faults whose workers complete a timer first

# Marks of an entry: a promise is broken; the engine does not start again; the promise is less than to
# keep all.
BROKEN, NO_START = "!", "×"
MARKS = {"may lose the latest": "†", LOSES_ALL: "‡"}
ALL = f"all{MARKS[LOSES_ALL]}"  # the entry of what need not be run

DETAILS = [
    *("queue", "promise", "runs", "runs that lost some", *SUMS.values(), *MAXIMA.values()),
    *("silent, median", "seed of the worst run", "outcome"),
]
EXPLAINED = (
    "An entry is the number of acknowledged timers that never fired, of all that were acknowledged "
    "and not cancelled. latest: the most that a timer fired after its deadline. silent: the longest "
    "time in which nobody fired a timer while one was due, in any run and in the median run. The "
    "longest of all is the machine's as much as the engine's if many runs shared it (--jobs). A seed "
    "repeats a run: --sizes=1 --seed=N; that of the worst run stands where no other is told."
)


def answer_lines(results: SurvivalResults) -> list[str]:
    """Says who breaks a promise, who loses nothing, how sure that is, and what to do."""
    fates = {queue: own for queue in results.backends if (own := results.of_queue(queue))}
    if not fates:
        return []
    broken = [queue for queue, own in fates.items() if any(fate.breaches for fate in own)]
    lossless = [queue for queue, own in fates.items() if not any(fate.lost for fate in own)]
    losing = [queue for queue in fates if queue not in (*lossless, *broken)]
    faults = len({fate.fault for own in fates.values() for fate in own})
    extent = f"in {counted_grouped(results.runs, 'run')} of {counted(faults, 'fault')}"
    said = [
        _promises(len(fates), extent, [_worst(fates[queue]) for queue in broken]),
        *_losses(results, [queue for queue in lossless if queue not in broken], losing),
        HOW_SURE + _sureness(fates),
        WHAT_TO_DO + _advice(results, fates, broken),
    ]
    return said


def counted_grouped(number: int, thing: str) -> str:
    return counted(number, thing).replace(str(number), grouped(number), 1)


def _promises(queues: int, extent: str, broken: Sequence[Fate]) -> str:
    """Answers who breaks a promise."""
    if not broken:
        who = {1: "The queue keeps", 2: "Both queues keep"}.get(queues, f"All {queues} queues keep")
        return f"{who} what is promised, {extent}."
    how = "; ".join(f"{fate.queue} {_how_broken(fate)}" for fate in broken)
    if queues == 1:
        return f"The queue breaks its promise, {extent}: {how}."
    rest = queues - len(broken)
    others = f" {_all_others(rest)} what is promised, {extent}." if rest else f" That was {extent}."
    breaks = "1 breaks its promise" if len(broken) == 1 else f"{len(broken)} break their promise"
    return f"Of {queues} queues {breaks}: {how}.{others}"


def _all_others(rest: int) -> str:
    return "The other keeps" if rest == 1 else f"All {rest} others keep"


def _worst(fates: Iterable[Fate]) -> Fate:
    return max(fates, key=lambda fate: (fate.breaches > 0, fate.lost, fate.breaches))


def _how_broken(fate: Fate) -> str:
    if fate.not_back:
        return f"is not back after {fate.fault} ({_share(fate, fate.not_back)})"
    if fate.no_starts:
        return f"does not start again in {fate.fault} ({_share(fate, fate.no_starts)})"
    if fate.lost and fate.promise == KEEPS_ALL:
        return f"loses {_lost(fate)} acknowledged timers in {fate.fault}"
    return f"in {fate.fault} ({_share(fate, fate.breaches)})"


def _share(fate: Fate, count: int) -> str:
    return f"{grouped(count)} of {counted_grouped(fate.runs, 'run')}"


def _lost(fate: Fate) -> str:
    return f"{grouped(fate.lost)} of {grouped(fate.acknowledged)}"


def _losses(results: SurvivalResults, lossless: Sequence[str], losing: Sequence[str]) -> list[str]:
    """Says who loses no timer, and who loses those that it may lose."""
    parts = []
    if lossless:
        loses, it = ("loses", "it") if len(lossless) == 1 else ("lose", "they")
        names = enumerated(lossless, MOST_NAMED)
        parts.append(f"{names} {loses} no acknowledged timer in any fault that {it} met")
    # No power is cut of an engine without files: what it says of itself is known.
    if volatile := [queue for queue in lossless if results.precision(queue) == LOSES_ALL]:
        whole = {1: "it", 2: "both"}.get(len(lossless), "all of them")
        who = whole if volatile == lossless else enumerated(volatile, MOST_NAMED)
        parts[-1] += f" (but {who} may lose all in a power cut)"
    if losing:
        kept = _promised_faults(results)

        def rank(fate: Fate) -> tuple[bool, bool, float]:
            """A loss tells more where some engine promises that there is none."""
            return fate.lost > 0, fate.fault in kept, fate.lost / max(1, fate.acknowledged)

        worst = [max(results.of_queue(queue), key=rank) for queue in losing]
        worst.sort(key=rank, reverse=True)
        named = [f"{one.queue} ({_lost(one)} in {one.fault})" for one in worst]
        loses = "loses what it may lose" if len(losing) == 1 else "lose what they may lose"
        parts.append(f"{enumerated(named, 1)} {loses}")
    return [f"{'; '.join(parts)}."] if parts else []


def chance(runs: int) -> float:
    """Returns how often something happens at most, with 95 % confidence, that did not happen in so
    many runs; for many runs this is 3 / runs.
    """
    return float(1 - 0.05 ** (1 / runs))


def _sureness(fates: dict[str, list[Fate]]) -> str:
    runs = [fate.runs for own in fates.values() for fate in own]
    least, most = min(runs), max(runs)
    each = f"{least} to {most} times" if least < most else "once" if most == 1 else f"{most} times"
    return (
        f"Each queue met each fault that can happen to it {each}. What never happened in {counted(least, 'run')} happens in "
        f"less than {digits(100 * chance(least))} % of such runs, with 95 % confidence. Timers of one "
        "run are lost together, so runs count, not timers."
    )


def _advice(results: SurvivalResults, fates: dict[str, list[Fate]], broken: Sequence[str]) -> str:
    said = []
    if safe := [queue for queue in fates if _is_safe(results, queue)]:
        they = "it promises" if len(safe) == 1 else "they promise"
        said.append(
            f"If no timer may be lost, take {_either(safe)}: {they} to keep all, also after a power "
            f"cut, and did{_cut_or_not(results, safe)}.{_unpromised(results, fates, safe)}"
        )
    twice = [queue for queue, own in fates.items() if any(fate.sums["fired_twice"] for fate in own)]
    if twice:
        of = f"{len(twice)} of {len(fates)} queues" if len(fates) > 1 else "the queue"
        said.append(
            f"Make handlers idempotent, or complete a timer before you act on it: {of} fired timers "
            f"twice{_not_at_most_once(fates)}."
        )
    if broken:
        said.append("Repeat a broken run by its command below.")
    if not said:
        said.append("Measure more runs of the faults that you fear (--sizes or --rounds).")
    return " ".join(said)


def _promised_faults(results: SurvivalResults) -> set[str]:
    """Returns those in which an engine promises to keep all."""
    return {fate.fault for fate in results.fates.values() if fate.promise == KEEPS_ALL}


def _unpromised(results: SurvivalResults, fates: dict[str, list[Fate]], safe: Sequence[str]) -> str:
    """Says what the safe queues lost where no engine promises to keep all."""
    kept = _promised_faults(results)
    own = [fate for queue in safe for fate in fates[queue] if fate.fault not in kept]
    hurt = {fate.queue for fate in own if fate.lost or fate.no_starts}
    if not hurt:
        return ""
    faults = enumerated(list(dict.fromkeys(fate.fault for fate in own)), MOST_NAMED)
    whole = [fate.queue for fate in own if fate.queue not in hurt]
    who = f"only {enumerated(whole, MOST_NAMED)} lost none" if whole else "all of these lost some"
    stopped = [
        f"{fate.queue} did not start again in {fate.no_starts} of {fate.runs} runs"
        for fate in own
        if fate.no_starts
    ]
    return f" In {faults} no engine promises that: {'; '.join([who, *stopped])}."


def _not_at_most_once(fates: dict[str, list[Fate]]) -> str:
    """Says so if none fired twice where workers complete a timer before they act."""
    runs = [fate for own in fates.values() for fate in own if fate.fault.endswith(AT_MOST_ONCE)]
    if not runs or any(fate.sums["fired_twice"] for fate in runs):
        return ""
    return ", none where workers completed them first"


def _cut_or_not(results: SurvivalResults, safe: Sequence[str]) -> str:
    """Says it if the power was not cut."""
    cuts = [results.fates.get((POWER_CUT, queue)) for queue in safe]
    return "" if all(cut and cut.has_figure for cut in cuts) else ", but the power was not cut here"


def _is_safe(results: SurvivalResults, queue: str) -> bool:
    """Whether the queue keeps all, by promise and by finding, wherever any engine promises that."""
    kept = _promised_faults(results)
    return results.precision(queue) == KEEPS_ALL and all(
        not fate.breaches and not (fate.lost and fate.fault in kept)
        for fate in results.of_queue(queue)
    )


def _either(names: Sequence[str]) -> str:
    return enumerated(names, MOST_NAMED).replace(" and ", " or ")


def entry(fate: Fate | None) -> str:
    """Returns an entry of the matrix."""
    if fate is None or fate.verdict is Verdict.LEFT_OUT:
        return NOT_RUN
    if fate.verdict is Verdict.LOSES_ALL:
        return ALL
    if not fate.has_figure:
        return fate.failure.partition(":")[0]
    return " ".join(filter(None, (_lost(fate), signs(fate))))


def signs(fate: Fate) -> str:
    """Returns the marks of a fate."""
    marks = {NO_START: fate.no_starts, BROKEN: fate.breaches}
    return MARKS.get(fate.promise, "") + "".join(mark for mark, runs in marks.items() if runs)


def marks_note(results: SurvivalResults) -> str:
    """Explains the marks that occur."""
    fates = results.fates.values()
    told = [
        f"{mark} the engine promises less than to keep all: it {promise}"
        for promise, mark in MARKS.items()
        if any(fate.promise == promise for fate in fates)
    ]
    if any(fate.no_starts for fate in fates):
        told.append(f"{NO_START} the engine does not start again after a run, see below")
    if any(fate.breaches for fate in fates):
        told.append(f"{BROKEN} the promise is broken in a run, see below")
    if any(fate.verdict is Verdict.LOSES_ALL for fate in fates):
        told.append(f"{ALL} it {Verdict.LOSES_ALL.value}")
    if any(fate.verdict is Verdict.LEFT_OUT for fate in fates):
        told.append(f"{NOT_RUN} the fault was left out, see below")
    return f"{'; '.join(told)}." if told else ""


def broken_lines(results: SurvivalResults) -> list[str]:
    """Returns a line for each broken promise, with the command that repeats it."""
    return [
        f"{fate.queue} in {fate.fault}: {_share(fate, fate.breaches)} broke the promise "
        f"({fate.promise}){_why(fate.breach)}{_why(fate.no_start)}. Repeat: `{fate.repeat_line}`"
        for fate in results.fates.values()
        if fate.breaches
    ]


def no_start_lines(results: SurvivalResults) -> list[str]:
    """Likewise for each engine that does not start again, and has not promised to."""
    return [
        f"{fate.queue} in {fate.fault}: after {_share(fate, fate.no_starts)}{_why(fate.no_start)}. "
        f"Repeat: `{fate.repeat_line}`"
        for fate in results.fates.values()
        if fate.no_starts and not fate.breaches
    ]


def _why(reason: str) -> str:
    return f": {reason}" if reason else ""


def left_out_lines(results: SurvivalResults) -> list[str]:
    """Returns each reason once, with what it applies to."""
    befell: dict[str, dict[str, list[str]]] = {}
    for fate in results.fates.values():
        for reason in fate.missing if fate.has_figure else [fate.failure]:
            why = reason.removeprefix(SKIPPED)
            befell.setdefault(why, {}).setdefault(fate.queue, []).append(fate.fault)
    lines = []
    for why, queues in befell.items():
        by_faults: dict[tuple[str, ...], list[str]] = {}
        for queue, faults in queues.items():
            by_faults.setdefault(tuple(faults), []).append(queue)
        where = "; ".join(
            f"{', '.join(names)} in {', '.join(faults)}" for faults, names in by_faults.items()
        )
        lines.append(f"{why}: {where}")
    if results.interrupted:
        cells = counted(results.interrupted, "cell")
        lines.append(f"{cells} not measured, since the run was interrupted")
    return lines


@dataclass(frozen=True)
class Sheet:
    """All figures of a fault: a line for each queue."""

    fault: str
    summary: str
    titles: list[str]
    lines: list[list[str]]


def sheets(results: SurvivalResults) -> list[Sheet]:
    return [
        Sheet(fault, results.summary_of(fault), DETAILS, [_details(fate) for fate in fates])
        for fault in results.scenarios
        if (
            fates := [
                one for (name, _), one in results.fates.items() if name == fault and one.has_figure
            ]
        )
    ]


def _details(fate: Fate) -> list[str]:
    return [
        fate.queue,
        fate.promise,
        grouped(fate.runs),
        grouped(fate.lossy),
        *(grouped(fate.sums[name]) for name in SUMS),
        *(_with_seed(fate, name) for name in MAXIMA),
        time(1e9 * fate.median_silent),
        str(fate.worst_seed),
        fate.verdict.value + (f" ({BROKEN})" if fate.breaches else ""),
    ]


def _with_seed(fate: Fate, name: str) -> str:
    """Formats a maximum, with the seed of its run unless that is the worst one."""
    seed = fate.seeds[name]
    told = time(1e9 * fate.maxima[name])
    return told if seed == fate.worst_seed else f"{told} (seed {seed})"


def matrix(results: SurvivalResults) -> tuple[list[str], list[list[Fate | None]]]:
    """Returns the faults, and for each queue its fates."""
    faults = results.scenarios
    return faults, [
        [results.fates.get((fault, queue)) for fault in faults] for queue in results.backends
    ]


def markdown(results: SurvivalResults) -> str:
    """Returns the answers, the tables and all facts that are needed to judge and repeat them."""
    faults, rows = matrix(results)
    lines = [
        [f"`{queue}`", *(_bold(fate) for fate in row)] for queue, row in zip(results.backends, rows)
    ]
    parts = [
        *answer_lines(results),
        "## What is lost",
        markdown_table(["queue", *faults], lines, names=1),
        " ".join(filter(None, (EXPLAINED, marks_note(results)))),
    ]
    for title, told in (
        ("Broken promises:", broken_lines(results)),
        ("Does not start again, and has not promised to:", no_start_lines(results)),
        ("Left out, or without a figure:", left_out_lines(results)),
    ):
        if told:
            parts.append(f"{title}\n\n" + "\n".join(f"- {line}" for line in told))
    for sheet in sheets(results):
        parts.append(f"## {sheet.fault}" + (f": {sheet.summary}" if sheet.summary else ""))
        coded = [[f"`{line[0]}`", *line[1:]] for line in sheet.lines]
        parts.append(markdown_table(sheet.titles, coded))
    parts += [machine_line(results.facts), f"Reproduce with: `{remake_line(results.facts)}`"]
    return "\n\n".join(parts) + "\n"


def _bold(fate: Fate | None) -> str:
    text = entry(fate)
    return f"**{text}**" if fate and fate.breaches else text


# How entries look on a terminal.
STYLES = {
    Verdict.BROKEN: "bold red",
    Verdict.ALLOWED: "yellow",
    Verdict.LOSES_ALL: "yellow",
    Verdict.LEFT_OUT: "dim",
}


def print_on_terminal(results: SurvivalResults) -> None:
    """Prints the same for a terminal."""
    console = Console()
    for sentence in answer_lines(results):
        console.print(sentence, highlight=False, markup=False)
    console.print()
    faults, rows = matrix(results)
    lines = [
        Line([queue, *(_styled(fate) for fate in row)])
        for queue, row in zip(results.backends, rows)
    ]
    for table in split_by_width(["queue", *map(_broken_at_joints, faults)], lines, console.width):
        console.print(table)
        console.print()
    for line in broken_lines(results):
        console.print(line.replace("`", ""), style="bold red", highlight=False, markup=False)
    for line in no_start_lines(results):
        said = f"Does not start again: {line}".replace("`", "")
        console.print(said, style="yellow", highlight=False, markup=False)
    for sheet in sheets(results):
        console.print(f"\n{sheet.fault}", style="bold", highlight=False, markup=False, end="")
        console.print(f"  {sheet.summary}", style="dim", highlight=False, markup=False)
        titles = [title.replace(" ", "\n") for title in sheet.titles]
        for table in split_by_width(titles, [Line(line) for line in sheet.lines], console.width):
            console.print(table)
    for text in (EXPLAINED, marks_note(results), *left_out_lines(results)):
        if text:
            console.print(text, style="dim", highlight=False, markup=False)


def _broken_at_joints(fault: str) -> str:
    return fault.replace("_", "\n")


def _styled(fate: Fate | None) -> Text:
    return Text(entry(fate), STYLES.get(fate.verdict, "") if fate else "")
