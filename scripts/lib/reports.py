"""What is shown of results: a table and figures, of each kind of suite its own."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console import UsageError
from results import realtime as realtime_results
from results import replays as costs
from results.grid import Grid, read_files
from tables import latex
from tables import realtime as realtime_table
from tables import replays as table
from words import power

# Whoever only prints a table need not wait until matplotlib is loaded.
if TYPE_CHECKING:
    from matplotlib.figure import Figure

Figures = Iterator[tuple[str, Callable[[], "Figure"]]]  # names, and what draws them


@dataclass(frozen=True)
class CostReport:
    """Of replays, at one size where there must be one."""

    results: costs.Results
    size: int

    def markdown(self) -> str:
        return table.markdown(self.results, self.size)

    def print_on_terminal(self) -> None:
        table.print_on_terminal(self.results, self.size)

    def figures(self) -> Figures:
        from figures import all_figures

        return all_figures(self.results, self.size)

    def latex(self) -> str:
        return latex.latex_table(self.results, self.size)

    def method(self) -> str:
        return latex.method(self.results, self.results.rounds)

    def paper_figures(self) -> Figures:
        from figures.paper import paper_figures

        return paper_figures(self.results)

    def warnings(self) -> list[str]:
        return []


@dataclass(frozen=True)
class RealtimeReport:
    """Of a suite on the wall clock, at all sizes unless one is given."""

    results: realtime_results.RealtimeResults
    size: int | None = None

    def markdown(self) -> str:
        return realtime_table.markdown(self.results, self.size)

    def print_on_terminal(self) -> None:
        realtime_table.print_on_terminal(self.results, self.size)

    def figures(self) -> Figures:
        from figures.realtime import realtime_figures

        return realtime_figures(self.results, self.size)

    def latex(self) -> str:
        return latex.latex_realtime_table(self.results, self.size)

    def method(self) -> str:
        return latex.method(self.results, self.results.rounds)

    def paper_figures(self) -> Figures:
        from figures.paper import paper_figures

        return paper_figures(self.results)

    def warnings(self) -> list[str]:
        """Only lateness_ecdf needs the distributions."""
        if self.results.suite != "accuracy" or not self.results.sizes("rate"):
            return []
        return [
            f"{path} is missing, and in lateness_ecdf what it would show"
            for path in self.results.without_distributions
        ]


Report = CostReport | RealtimeReport


def open_report(paths: Sequence[Path], size: int | None = None) -> Report:
    """Of files and folders that are all of one kind."""
    files = read_files(paths)
    suites = list(dict.fromkeys(suite for file in files for suite in file.suites))
    realtime = [suite for suite in suites if suite in realtime_results.SUITES]
    if realtime:
        results = realtime_results.load_files(files)
        return RealtimeReport(
            results, size and _known(results, size, realtime_results.SUITES[results.suite])
        )
    replayed = costs.load_files(files)
    if size:
        _known(replayed, size, "timers")
    return CostReport(replayed, size or replayed.telling_size())


def print_table(report: Report) -> None:
    """On a terminal for reading, in a pipe as Markdown."""
    if sys.stdout.isatty():
        report.print_on_terminal()
    else:
        print(report.markdown(), end="")


def _known(results: Grid[Any], size: int, what: str) -> int:
    known = sorted({size for _, size, _ in results.cells})
    if size not in known:
        raise UsageError(
            f"no cell has {power(size)} {what}; there are {', '.join(map(power, known))}"
        )
    return size
