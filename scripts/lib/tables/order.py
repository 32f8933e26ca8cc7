"""Whether a repeated campaign has the same first three: the answer, and what differs."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from results.order import CONTRADICTORY, SAME, UNRESOLVED, Contest, dearer
from results.statistics import LEAST_ROUNDS
from tables.answers import HOW_SURE, WHAT_TO_DO
from tables.replays import markdown_table
from tables.terminal import Line, print_answer
from words import counted, percent, power

TITLES = ["contest", "order", "first three in A", "first three in B"]
COLOURS = {CONTRADICTORY: "red", UNRESOLVED: ""}
SURENESS = (
    "an order is contradictory if each campaign says with 95 % confidence (sign test) that the "
    f"other's is wrong, which takes {LEAST_ROUNDS} rounds, and unresolved if they differ without that."
)
WORST_FIRST = (CONTRADICTORY, UNRESOLVED)


def answer_lines(contests: Sequence[Contest]) -> list[str]:
    words = Counter(contest.word for contest in contests)
    asked = sum(contest.has_rounds_enough for contest in contests)
    told = f"The order of the first three is the same in {words[SAME]} of {counted(len(contests), 'contest')}"
    if asked:
        told += f", unresolved in {words[UNRESOLVED]}, and contradictory in {words[CONTRADICTORY]}"
        if asked < len(contests):
            told += f" of the {asked} with {LEAST_ROUNDS} rounds or more"
    else:
        told += (
            f" and unresolved in {words[UNRESOLVED]}; "
            f"none has the {LEAST_ROUNDS} rounds that a contradiction takes"
        )
    return [
        f"{told}. {_choice(contests)}",
        HOW_SURE + SURENESS,
        WHAT_TO_DO + _advice(words),
    ]


def _choice(contests: Sequence[Contest]) -> str:
    """What it costs on B's machine to choose by A."""
    others = dearer(contests)
    told = (
        "The first of A is the cheapest of B too in "
        f"{len(contests) - len(others)} of {counted(len(contests), 'contest')}"
    )
    if others:
        usual = median(contest.excess for contest in others)
        told += (
            f"; in the others it costs {percent(usual)} more there (median), and at most "
            f"{percent(others[0].excess)} more ({_name(others[0])})"
        )
    return told + "."


def _advice(words: Counter[str]) -> str:
    if words[CONTRADICTORY]:
        return (
            "find out what differed between the campaigns before you publish the order of a "
            "contradictory contest; doctor and the memory reads of both tables may tell."
        )
    if words[UNRESOLVED]:
        return "publish the first three; where they are unresolved, say by how much the first may be dearer."
    return "publish the first three."


def _rows(contests: Sequence[Contest]) -> list[tuple[str, list[str]]]:
    """Returns the word and the row of each contest in which something changed places."""
    return [
        (word, [_name(contest), _order(contest), *map(", ".join, contest.firsts)])
        for word in WORST_FIRST
        for contest in contests
        if contest.word == word
    ]


def _name(contest: Contest) -> str:
    return f"{contest.workload}/{power(contest.size)}, {contest.precision}"


def _order(contest: Contest) -> str:
    if not contest.contradictions:
        return contest.word
    return (
        f"{contest.word}: {'; '.join(f'{one}, {other}' for one, other in contest.contradictions)}"
    )


def markdown(contests: Sequence[Contest]) -> str:
    parts = answer_lines(contests)
    if rows := _rows(contests):
        parts.append(markdown_table(TITLES, [row for _, row in rows], names=len(TITLES)))
    return "\n\n".join(parts)


def print_on_terminal(contests: Sequence[Contest]) -> None:
    lines = [Line(row, COLOURS[word]) for word, row in _rows(contests)]
    print_answer(answer_lines(contests), TITLES, lines, repeated=1)
