"""Sums up a table in sentences: the cheapest, by how much, and how sure that is."""

from collections.abc import Callable, Mapping, Sequence
from math import exp
from statistics import median

from results.replays import Results, Standings
from results.statistics import paired_log_ratios
from style import RANKED
from words import digits, enumerated, power, times_less

HOW_SURE, WHAT_TO_DO = "How sure: ", "What to do: "
MOST_NAMED = 2  # of those that are tied with the first


Text = Callable[[float], str]  # formats a cost


def answers(
    results: Results,
    sizes: Mapping[str, int],
    *,
    text: Text = lambda cost: f"{digits(cost)} ns",
    size_is: Callable[[str], str] = lambda workload: "timers",
    less: str = "cheaper",
    only_contests: bool = False,
) -> list[str]:
    """Returns a sentence for each workload, at its size, and each ranked precision; then the
    meaning of the words.

    `size_is`: what the sizes of a workload count. `less`: the adjective for the first.
    `only_contests`: leave out precisions with a single backend.
    """
    sentences = []
    judged = []
    for workload, size in sizes.items():
        for precision, backends in results.backends_by_precision().items():
            standings = results.standings(workload, size, backends)
            if precision not in RANKED or len(standings.ranks) < 1 + only_contests:
                continue
            what = f"{workload}, {power(size)} {size_is(workload)}, {precision}"
            said = _answer(results, workload, size, standings, text, less)
            if len(standings.ranks) == 1:
                measured = [name for name in backends if results.cell(workload, size, name)]
                said += ", the only one" + (" with a figure" if len(measured) > 1 else "")
            sentences.append(f"{what}: {said}")
            judged.append(standings)
    return [*sentences, *filter(None, [how_sure(judged, less)])]


def _answer(
    results: Results, workload: str, size: int, standings: Standings, text: Text, less: str
) -> str:
    cells = {name: results.cells[workload, size, name] for name in standings.ranks}
    (first, *tied), *slower = standings.groups
    said = f"{first} {text(cells[first].cost)}"
    if tied:
        said += f", tied with {enumerated(tied, MOST_NAMED)}"
    if slower:
        second, *_ = slower[0]
        if not standings.is_sure:
            return f"{said}, then {second} {text(cells[second].cost)}"
        ratios = paired_log_ratios(cells[first].by_round, cells[second].by_round)
        said += f", {times_less(exp(median(ratios)), less)} than {second}"
    return said


def how_sure(judged: Sequence[Standings], less: str) -> str:
    """Explains the words of the answers; empty if nothing is compared."""
    told = []
    if any(one.is_sure and one.best for one in judged):
        told.append(
            f"'{less}' means that the difference is significant, 'tied' that it is not. For each "
            "winner, the chance that any comparison with it is wrong is at most 5 % (sign test, Holm)."
        )
    if unsure := [one for one in judged if not one.is_sure and len(one.ranks) > 1]:
        rounds, needed = min(one.rounds for one in unsure), max(one.needed for one in unsure)
        told.append(
            f"'then' is the order so far: it takes {needed} rounds to be sure, and some have only {rounds}."
        )
    return f"{HOW_SURE}{' '.join(told)}" if told else ""


def said_first(sentences: Sequence[str]) -> list[str]:
    """Returns the first parts of a Markdown table: the list of answers and their explanation."""
    told = [line for line in sentences if not line.startswith(HOW_SURE)]
    meant = [line for line in sentences if line.startswith(HOW_SURE)]
    return ["\n".join(f"- {sentence}" for sentence in told), *meant] if told else []
