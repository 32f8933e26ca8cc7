"""What campaigns that were run twice say of each other: a part of docs/figures.md."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from compare import side_of
from published import AGAIN, latest, linked, measured_once, paragraph, repeated
from results.order import CONTRADICTORY, SAME, UNRESOLVED, Contest, contests, dearer
from tables import order
from tables.replays import markdown_table
from words import enumerated, percent

TITLES = [
    "A and B",
    SAME,
    UNRESOLVED,
    CONTRADICTORY,
    "A's first is B's cheapest",
    "else dearer by",
    "at most by",
]


def measured_twice() -> str:
    """Returns how many orders came out again, in all and of each suite."""
    found = {
        suite: list(
            contests(*(side_of(str(latest(one))).results for one in (suite, suite + AGAIN)))
        )
        for suite in repeated()
    }
    if not found:
        return "No campaign was measured twice.\n"
    told = order.answer_lines([contest for own in found.values() for contest in own])
    rows = [
        [f"{linked(suite, suite)}, {linked(suite + AGAIN, 'again')}", *_counts(own)]
        for suite, own in found.items()
    ]
    once = enumerated([linked(suite, suite) for suite in measured_once()], 99)
    parts = [
        *map(paragraph, told),
        markdown_table(TITLES, rows, names=1),
        paragraph(f"Measured once, so nobody knows how their orders repeat: {once}."),
    ]
    return "\n\n".join(parts) + "\n"


def _counts(contests_: Sequence[Contest]) -> list[str]:
    words = Counter(contest.word for contest in contests_)
    excesses = [contest.excess for contest in dearer(contests_)]
    can_be = any(contest.has_rounds_enough for contest in contests_)
    return [
        *(str(words[word]) for word in (SAME, UNRESOLVED)),
        str(words[CONTRADICTORY]) if can_be else "–",
        f"{len(contests_) - len(excesses)} of {len(contests_)}",
        percent(median(excesses)) if excesses else "–",
        percent(excesses[0]) if excesses else "–",
    ]
