"""What all findings are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from console import Failure
from pictures import Picture
from published import (
    AGAIN,
    MAIN,
    NO_BREAK,
    costs_of,
    find,
    linked,
    paragraph,
    place,
)
from results.grid import Rounds
from results.replays import Results
from words import of_virtual


@dataclass(frozen=True)
class Finding:
    """`says`: a sentence. `seen`: what was measured. `limits`: for what it does not hold."""

    says: str
    seen: str
    command: str
    limits: str
    rounds: Rounds  # of which its figures are medians
    picture: Picture


def text(number: int, finding: Finding) -> str:
    folder = place(finding.picture.folder)
    table = f"[the table]({folder}/table.md)"
    sure = (
        f"medians of {finding.rounds} rounds; {table} has how far they differ"
        if finding.rounds.most > 1
        else f"one measurement a cell ({table})"
    )
    parts = [
        f"## {number}. {finding.says}",
        paragraph(finding.seen),
        f"![{finding.picture.shows}]({folder}/{finding.picture.path.name})",
        paragraph(f"*Limits:* {finding.limits} *How sure:* {sure}. *Measure it again:*"),
        f"```sh\n{finding.command}\n```",
    ]
    return "\n\n".join(parts).replace(NO_BREAK, " ").replace("\u202f", " ")


def holds(claim: bool, finding: str) -> None:
    if not claim:
        raise Failure(
            f"docs/findings.md: '{finding}' does not hold in the latest campaign; look for the cause, and "
            "write what holds into scripts/lib/findings"
        )


def elsewhere(tell: Callable[[Results], str], suite: str = MAIN) -> str:
    """Says what the second campaign of a suite found; nothing if there is none."""
    if not find(suite + AGAIN):
        return ""
    again = costs_of(suite + AGAIN)
    where = "a slower" if _times_as_dear(again, costs_of(suite)) > 1 else "another"
    kind = of_virtual(again.facts)
    return f" On {where} {kind}machine {tell(again)} ({linked(suite + AGAIN, 'its table')})."


def _times_as_dear(results: Results, others: Results) -> float:
    """Returns the ratio of their costs in the median cell."""
    return median(
        cell.cost / other.cost
        for key, cell in results.cells.items()
        if cell.has_figure and (other := others.cells.get(key)) and other.has_figure
    )
