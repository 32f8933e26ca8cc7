"""Reports of results: a table and figures, by the kind of suite."""

import fnmatch
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from console import UsageError
from results import realtime as realtime_results
from results import replays as costs
from results import survival as survival_results
from results.grid import Grid, collect, is_there, read_files
from results.passes import PASSES, PassResults
from tables import latex
from tables import realtime as realtime_table
from tables import replays as table
from tables import survival as survival_table
from tables.longest import EXPLANATION, longest_table
from words import power

# Imported for types only: a table alone must not wait for matplotlib.
if TYPE_CHECKING:
    from matplotlib.figure import Figure

Figures: TypeAlias = "Iterator[tuple[str, Callable[[], Figure]]]"  # name and function that draws


@dataclass(frozen=True)
class CostReport:
    """The report of replays; the tables and some figures are at one size."""

    results: costs.Results
    size: int
    width: float | None = None  # inches of figures
    tails: PassResults | None = None

    def markdown(self) -> str:
        return table.markdown(self.results, self.size, self._longest())

    def _longest(self) -> list[str]:
        if not self.tails:
            return []
        sizes = table.sizes_at(self.results, self.size)
        longest = longest_table(self.tails, self.results, sizes, f"{power(self.size)} timers")
        return [EXPLANATION, longest] if longest else []

    def print_on_terminal(self) -> None:
        table.print_on_terminal(self.results, self.size)

    def figures(self) -> Figures:
        from figures import all_figures

        return all_figures(self.results, self.size, self.width, self.tails)

    def latex(self) -> str:
        return latex.latex_table(self.results, self.size)

    def method(self) -> str:
        return latex.method(self.results, self.results.rounds)

    def paper_figures(self) -> Figures:
        from figures.paper import paper_figures

        return paper_figures(self.results, self.width)

    def warnings(self) -> list[str]:
        return []


@dataclass(frozen=True)
class RealtimeReport:
    """The report of a suite on the wall clock, at all sizes or at one."""

    results: realtime_results.RealtimeResults
    size: int | None = None
    width: float | None = None

    def markdown(self) -> str:
        return realtime_table.markdown(self.results, self.size)

    def print_on_terminal(self) -> None:
        realtime_table.print_on_terminal(self.results, self.size)

    def figures(self) -> Figures:
        from figures.realtime import realtime_figures

        return realtime_figures(self.results, self.size, self.width)

    def latex(self) -> str:
        return latex.latex_realtime_table(self.results, self.size)

    def method(self) -> str:
        return latex.method(self.results, self.results.rounds)

    def paper_figures(self) -> Figures:
        from figures.paper import paper_figures

        return paper_figures(self.results, self.width)

    def warnings(self) -> list[str]:
        """Lists the missing distributions. Only lateness_ecdf needs them."""
        if self.results.suite != "accuracy" or not self.results.sizes("rate"):
            return []
        return [
            f"{path} is missing, and in lateness_ecdf what it would show"
            for path in self.results.without_distributions
        ]


@dataclass(frozen=True)
class SurvivalReport:
    """The report of the suite faults; all its sizes together."""

    results: survival_results.SurvivalResults
    width: float | None = None

    def markdown(self) -> str:
        return survival_table.markdown(self.results)

    def print_on_terminal(self) -> None:
        survival_table.print_on_terminal(self.results)

    def figures(self) -> Figures:
        from figures.survival import figures

        return figures(self.results, self.width)

    def latex(self) -> str:
        return latex.latex_survival_table(self.results)

    def method(self) -> str:
        return latex.method(self.results, self.results.rounds)

    def paper_figures(self) -> Figures:
        from figures.survival import paper_figures

        return paper_figures(self.results, self.width)

    def warnings(self) -> list[str]:
        return []


Report = CostReport | RealtimeReport | SurvivalReport


@dataclass(frozen=True)
class Choice:
    """The part of the results to show; names may contain * and ?."""

    backends: Sequence[str] = ()
    workloads: Sequence[str] = ()
    size: int | None = None
    width: float | None = None

    @property
    def is_partial(self) -> bool:
        return bool(self.backends or self.workloads)


def open_report(paths: Sequence[Path], choice: Choice = Choice()) -> Report:
    """Opens files and folders, which must all be of one kind."""
    size = choice.size
    files = read_files(paths)
    suites = list(dict.fromkeys(suite for file in files for suite in file.suites))
    if survival_results.SUITE in suites:
        survival = survival_results.load_files(files)
        _choose(survival, choice)
        if size:
            raise UsageError("--size: the sizes of the suite faults are runs, and are added up")
        return SurvivalReport(survival, choice.width)
    realtime = [suite for suite in suites if suite in realtime_results.SUITES]
    if realtime:
        results = realtime_results.load_files(files)
        _choose(results, choice)
        size = size and _known(results, size, realtime_results.SUITES[results.suite])
        return RealtimeReport(results, size, choice.width)
    replayed = costs.load_files(files)
    _choose(replayed, choice)
    if size:
        _known(replayed, size, "timers")
    size = size or replayed.telling_size()
    return CostReport(replayed, size, choice.width, _tails(paths))


def _tails(folders: Sequence[Path]) -> PassResults | None:
    """Returns what the folders have of this pass, which measures a cell once."""
    files = [folder / PASSES["tails"] for folder in folders if folder.is_dir()]
    found = [file for file in files if is_there(file)]
    return collect(PassResults(), read_files(found)) if found else None


def _choose(results: Grid[Any], choice: Choice) -> None:
    if choice.is_partial:
        results.keep(
            set(matching("backend", choice.backends, results.backends)),
            set(matching("workload", choice.workloads, results.scenarios)),
        )


def names(text: str) -> list[str]:
    """Parses an option with names, which are separated by commas."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise ValueError
    return found


def matching(what: str, wanted: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """Returns the known names that match; all if none is wanted."""
    for pattern in wanted:
        if not fnmatch.filter(known, pattern):
            raise UsageError(f"--{what}s: no {what} is '{pattern}'; there are {', '.join(known)}")
    return [name for pattern in wanted for name in fnmatch.filter(known, pattern)] or known


def print_table(report: Report) -> None:
    """Prints for a terminal, or Markdown into a pipe."""
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
