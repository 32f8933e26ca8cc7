"""What changed from commit to commit: the answer in sentences, and a table of the changes."""

from collections.abc import Sequence
from itertools import groupby

from rich.text import Text

from results.history import NOTABLE, Change, History
from tables.answers import HOW_SURE, WHAT_TO_DO
from tables.replays import markdown_table
from tables.terminal import Line, print_answer
from words import counted, digits, enumerated, power

MOST_OF_A_COMMIT = 8  # changes in the table; the largest come first
MOST_NAMED = 4
TITLES = ["backend", "workload", "instructions", "change", "ns"]
NAMES = 2  # columns that name a row


def answer_lines(history: History) -> list[str]:
    """Says what changed, how sure that is, and what to do."""
    changes = history.changes
    return [
        _answer(history, changes),
        HOW_SURE + _sureness(history),
        WHAT_TO_DO + _advice(history, changes),
    ]


def _answer(history: History, changes: Sequence[Change]) -> str:
    extent = (
        f"{counted(len(history.points), 'cell')} over {counted(len(history.commits), 'commit')}"
    )
    share = f"{NOTABLE * 100:g} %"
    if not changes:
        return f"Of {extent} no count of instructions changed by more than {share}."
    fewer = sum(change.ratio < 1 for change in changes)
    latest = changes[0]
    return (
        f"In {extent} {counted(len(changes), 'count')} of instructions changed by more than {share}: "
        f"{fewer} to fewer, {len(changes) - fewer} to more. The latest is at {latest.after.commit}: "
        f"{latest.after.backend} on {workload_of(latest)}, {counts_of(latest)} ({percent_of(latest)})."
    )


def _sureness(history: History) -> str:
    told = (
        "valgrind counts the same trace, made by the same compiler, so a change is one of the code. Fewer "
        "instructions need not take less time."
    )
    unlike = [step for step in history.steps if not step.is_comparable]
    if unlike:
        told += (
            f" {len(unlike)} of {counted(len(history.steps), 'step')} from a commit to the next are not "
            "compared, because the compiler or the trace differs."
        )
    return told


def _advice(history: History, changes: Sequence[Change]) -> str:
    if len(history.commits) < 2:
        return (
            "measure another commit with --passes=instructions, and add its folder: "
            "scripts/compare --history --add=FOLDER."
        )
    if not changes:
        return "nothing; the next campaign with --passes=instructions goes on."
    return f"measure both commits in the same rounds: {compare_line(changes[0])}"


def compare_line(change: Change) -> str:
    """Returns the command that measures the change."""
    return (
        f"scripts/compare {change.before.commit} {change.after.commit} full "
        f"--backends={change.after.backend} --workloads={change.after.workload} --rounds=12"
    )


def workload_of(change: Change) -> str:
    return f"{change.after.workload}/{power(change.after.size)}"


def counts_of(change: Change) -> str:
    return f"{digits(change.before.instructions)} → {digits(change.after.instructions)}"


def percent_of(change: Change) -> str:
    return f"{100 * (change.ratio - 1):+.1f} %".replace("-", "−")


def times_of(change: Change) -> str:
    """Returns both medians if both are of machines with the same processor; else a dash."""
    one, other = change.before, change.after
    if not one.ns or not other.ns or one.processor != other.processor:
        return "–"
    return f"{digits(one.ns[1])} → {digits(other.ns[1])}"


def _rows(changes: Sequence[Change]) -> list[list[str]]:
    return [
        [
            change.after.backend,
            workload_of(change),
            counts_of(change),
            percent_of(change),
            times_of(change),
        ]
        for change in changes
    ]


def _by_commit(history: History) -> list[tuple[str, list[Change], str]]:
    """Returns for each commit its heading, its largest changes, and what is left out."""
    told = []
    for commit, grouped in groupby(history.changes, lambda one: (one.after.date, one.after.commit)):
        own = list(grouped)
        rest = [f"{one.after.backend} on {workload_of(one)}" for one in own[MOST_OF_A_COMMIT:]]
        left_out = f"Smaller changes: {enumerated(rest, MOST_NAMED)}" if rest else ""
        told.append((f"{commit[1]}, {commit[0][:10]}", own[:MOST_OF_A_COMMIT], left_out))
    return told


def markdown(history: History) -> str:
    parts = answer_lines(history)
    for heading, changes, left_out in _by_commit(history):
        parts += [f"{heading}:", markdown_table(TITLES, _rows(changes), names=NAMES)]
        parts += [f"{left_out}."] if left_out else []
    return "\n\n".join(parts) + "\n"


def print_on_terminal(history: History) -> None:
    lines: list[Line] = []
    for heading, changes, left_out in _by_commit(history):
        lines.append(Line([Text(heading, style="bold")]))
        lines += [
            Line(row, "green" if change.ratio < 1 else "red")
            for change, row in zip(changes, _rows(changes))
        ]
        lines += [Line([Text(left_out, style="dim")])] if left_out else []
    print_answer(answer_lines(history), TITLES, lines, repeated=NAMES)
