"""What all results are: cells by what was measured, at which size, of whom; and the facts of a run.

A file is Google Benchmark's JSON. Each repetition of a cell is an entry of its own, named
SUITE/SCENARIO/SIZE/BACKEND/...; in a suite of replays the scenarios are workloads, in one on the
wall clock the backends are services. A cell without a figure has an error message that begins with
its status.
"""

import glob
import gzip
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from console import Failure
from files import shown
from results.statistics import LEAST_ROUNDS
from style import PRECISIONS, Look, looks

FORMAT = 1  # of journals and results; also raised when the harness measures something else

# Facts that are shown; those of BINDING must agree for figures to be set side by side.
BINDING = (
    *("processor", "num_cpus", "compiler", "flags", "build", "commit", "granularity", "seed"),
    "pages",
)
FACTS = (
    *BINDING,
    *("format", "suite", "kernel", "command", "date", "not_verified", "busy"),
    *("grade", "grade_reasons"),
)

Key = tuple[str, int, str]  # scenario, size, backend

# Behind a backend's name: controls, measured beside it.
AGAIN = "@again"  # the same once more
SLOWER = "@slower"  # slowed down on purpose


@dataclass(frozen=True)
class Rounds:
    """How often the cells were measured that were: not all as often, if a budget has decided."""

    least: int
    most: int

    @classmethod
    def among(cls, counts: Iterable[int]) -> "Rounds":
        """Of so many a cell; 0 is a cell that was not measured."""
        measured = [count for count in counts if count]
        return cls(min(measured, default=0), max(measured, default=0))

    @property
    def spread(self) -> str:
        """What stands behind the ± of their medians (statistics_of_rounds.spread)."""
        interval, range_ = "the farther end of the 95 % interval", "the largest deviation"
        if self.most < LEAST_ROUNDS:
            return range_
        if self.least >= LEAST_ROUNDS:
            return interval
        return f"{interval}, or {range_} of fewer than {LEAST_ROUNDS}"

    def __str__(self) -> str:
        return str(self.most) if self.least == self.most else f"{self.least} to {self.most}"


@dataclass
class Outcome:
    """What became of a cell."""

    broken: str = ""  # not empty: the status, and what is to be said about it; no round counts then
    timeouts: list[str] = field(default_factory=list)  # what was said of rounds that took too long
    noisy: int = 0  # rounds in which it was disturbed, however often they were repeated

    @property
    def measured_rounds(self) -> int:
        """How many have figures, whether or not they count."""
        raise NotImplementedError

    @property
    def tried_rounds(self) -> int:
        return self.measured_rounds + len(self.timeouts)

    @property
    def is_measured(self) -> bool:
        """Whether any of its rounds was."""
        return self.measured_rounds > 0

    @property
    def failure(self) -> str:
        """Not empty: why it has no figure. One that mostly takes too long has none: the rounds that
        did not are the lucky ones.
        """
        if self.broken or 2 * len(self.timeouts) <= self.tried_rounds:
            return self.broken
        said = self.timeouts[0]
        if not self.is_measured:
            return said
        share = f"in {len(self.timeouts)} of {self.tried_rounds} rounds"
        return f"timeout: {share}, {said.partition(': ')[2]}"

    @property
    def has_figure(self) -> bool:
        return self.is_measured and not self.failure

    @property
    def status(self) -> str:
        """The word for a cell without a figure, or nothing."""
        return "" if self.has_figure else self.failure.partition(":")[0].strip()

    @property
    def doubt(self) -> str:
        """What is to be said of a figure that not all rounds have."""
        if not self.timeouts or not self.has_figure:
            return ""
        return f"timeout in {len(self.timeouts)} of {self.tried_rounds} rounds"


AnyOutcome = TypeVar("AnyOutcome", bound=Outcome)


@dataclass
class Grid(Generic[AnyOutcome]):
    """Cells by (scenario, size, backend), and the facts about the machine that measured them.

    The orders of scenarios and backends are those of the files.
    """

    CELL_NAME: ClassVar[str]  # what an entry must have to be one of these cells
    CELL_CONTENT: ClassVar[str]
    FLAGS: ClassVar[set[str]] = set()  # that may stand in its label behind the item

    facts: dict[str, str] = field(default_factory=dict)
    cells: dict[Key, AnyOutcome] = field(default_factory=dict)
    # What was measured beside them: AGAIN, SLOWER, or by another build, "@COMMIT".
    variants: dict[str, dict[Key, AnyOutcome]] = field(default_factory=dict)
    precisions: dict[str, str] = field(default_factory=dict)  # of backends
    items: dict[str, str] = field(default_factory=dict)  # what scenarios are counted in
    unreached: set[Key] = field(default_factory=set)  # a run was ended before
    sources: list[Path] = field(default_factory=list)  # the files
    inputs: dict[str, Any] = field(default_factory=dict)  # SCENARIO/SIZE/FOR: what is replayed
    described: dict[str, Any] = field(default_factory=dict)  # backends, by the run that chose them

    @property
    def interrupted(self) -> int:
        """How many cells are not here, because a run was ended before them."""
        return len(self.unreached - self.cells.keys())

    @property
    def twins(self) -> dict[Key, AnyOutcome]:
        """The same, measured once more."""
        return self.variants.get(AGAIN, {})

    def trace_of(self, scenario: str, size: int, backend: str) -> Any:
        """The hashes of the traces that were replayed; empty if the file does not tell."""
        is_remote = self.described.get(backend, {}).get("remote", False)
        reaches = ("both", "remote" if is_remote else "local")
        names = (f"{scenario}/{size}/{reach}" for reach in reaches)
        return next((self.inputs[name].get("hashes") for name in names if name in self.inputs), "")

    @property
    def scenarios(self) -> list[str]:
        return list(dict.fromkeys(scenario for scenario, _, _ in self.cells))

    @property
    def backends(self) -> list[str]:
        return list(dict.fromkeys(backend for _, _, backend in self.cells))

    @property
    def has_figure(self) -> bool:
        """Whether any cell has one."""
        return any(cell.has_figure for cell in self.cells.values())

    def sizes(self, scenario: str, backend: str | None = None) -> list[int]:
        """At which the scenario was run, by any backend or by one."""
        return sorted(
            {size for name, size, own in self.cells if name == scenario and backend in (None, own)}
        )

    def shown_size(self, scenario: str, size: int) -> int:
        """The size, or for a scenario that was not run at it the nearest."""
        return min(self.sizes(scenario), key=lambda own: max(own, size) / max(1, min(own, size)))

    def item(self, scenario: str) -> str:
        """What the scenario's figures are per."""
        return self.items.get(scenario, "item")

    def cell(self, scenario: str, size: int, backend: str) -> AnyOutcome | None:
        return self.cells.get((scenario, size, backend))

    def precision(self, backend: str) -> str:
        """Its precision; old files do not tell that of a backend without any figure."""
        precision = str(self.described.get(backend, {}).get("precision", "unknown"))
        return self.precisions.get(backend, precision if precision in PRECISIONS else "unknown")

    def backends_by_precision(self) -> dict[str, list[str]]:
        """Those of the same precision together."""
        return {
            precision: backends
            for precision in PRECISIONS
            if (backends := [name for name in self.backends if self.precision(name) == precision])
        }

    def keep(self, backends: set[str], scenarios: set[str]) -> None:
        """Leaves out all other cells. Looks, and what is known of the noise, stay as they are of all."""
        self.looks  # so that they are known
        self.cells = {
            key: cell
            for key, cell in self.cells.items()
            if key[0] in scenarios and key[2] in backends
        }
        if not self.cells:
            raise Failure("none of the chosen backends was measured on any of the chosen workloads")

    @cached_property
    def looks(self) -> dict[str, Look]:
        """Of backends, once loaded."""
        return looks(self.backends)

    def new_cell(self) -> AnyOutcome:
        raise NotImplementedError

    def add_figures(self, cell: AnyOutcome, entry: Any, flags: list[str]) -> None:
        """Of a repetition that has figures: its entry, and the flags of its label."""
        raise NotImplementedError

    def add(self, entry: Any) -> None:
        """A repetition. Raises one of Python's own errors if the entry is none of these cells."""
        if entry.get("run_type") == "aggregate":
            return
        _, scenario, size, contender = entry["name"].split("/")[:4]
        backend, at, variant = contender.partition("@")
        key = (scenario, int(size), backend)
        cells = self.variants.setdefault(f"@{variant}", {}) if at else self.cells
        if entry.get("error_occurred"):
            self._add_failure(cells, key, entry.get("error_message") or "error")
            return
        precision, item = entry["label"].split(", per ", 1)
        flags: list[str] = []
        if self.FLAGS:  # else the item may be anything
            item, *flags = item.split(", ")
        if precision not in PRECISIONS or not self.FLAGS.issuperset(flags):
            raise ValueError(entry["label"])
        cell = cells.setdefault(key, self.new_cell())
        cell.noisy += entry.get("status") == "noisy"
        self.add_figures(cell, entry, flags)
        self.precisions[backend] = precision
        self.items[scenario] = item

    def _add_failure(self, cells: dict[Key, AnyOutcome], key: Key, message: str) -> None:
        if message.startswith("interrupted"):  # a cell that a run did not come to
            self.unreached.add(key)
            return
        cell = cells.setdefault(key, self.new_cell())
        if message.startswith("timeout"):
            cell.timeouts.append(message)
        elif not cell.broken or message.startswith(("wrong", "error")):
            cell.broken = message


AnyGrid = TypeVar("AnyGrid", bound=Grid[Any])


@dataclass(frozen=True)
class ResultFile:
    """A file as it was read."""

    path: Path
    context: dict[str, Any]
    entries: list[Any]

    @property
    def suites(self) -> list[str]:
        """That have cells in it."""
        names = [entry.get("name") for entry in self.entries if isinstance(entry, dict)]
        return list(dict.fromkeys(str(name).partition("/")[0] for name in names))


def read_files(paths: Iterable[Path]) -> list[ResultFile]:
    """Reads files, and folders with a results.json."""
    return [_read(path / "results.json" if path.is_dir() else path) for path in paths]


def collect(grid: AnyGrid, files: Iterable[ResultFile]) -> AnyGrid:
    """Adds the entries of all files; the same cell in several is one, repeated."""
    for file in files:
        _merge_facts(grid.facts, file)
        grid.sources.append(file.path)
        grid.inputs |= _objects(file, "inputs")
        grid.described |= _objects(file, "backends")
        for entry in file.entries:
            try:
                grid.add(entry)
            except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
                raise Failure(
                    f"{file.path}: {json.dumps(entry)[:80]}... is not a cell {grid.CELL_NAME} "
                    f"of 'timerbench run' with {grid.CELL_CONTENT}"
                ) from None
    if not grid.cells and not grid.variants:
        raise Failure(f"{file.path}: the run was interrupted before any cell was measured")
    return grid


def read_json(file: Path) -> Any:
    """The content of a file that a run has left."""
    try:
        content = file.read_bytes()
        return json.loads(gzip.decompress(content) if file.suffix == ".gz" else content)
    except (EOFError, RecursionError, ValueError, gzip.BadGzipFile, zlib.error) as error:
        raise Failure(f"{file}: not a complete JSON file ({error}); measure again") from None
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}; {_instead(file)}") from None


def _instead(file: Path) -> str:
    """Where there are results beside the folder that was named, unless they are about to be there."""
    folder, name = file.resolve(), "results.json"
    if file.suffix == ".json":
        folder, name = folder.parent, file.name
    if (folder / "journal.jsonl").exists():
        return f"its campaign has not ended; 'scripts/bench --out={shown(folder)}' goes on with it"
    stem = folder.name.partition("-")[0]
    found = folder.parent.glob(f"{glob.escape(stem)}*/{glob.escape(name)}")
    beside = sorted(shown(path.parent) for path in found)
    return f"there is {' and '.join(beside[:3])}" if beside else "scripts/bench makes results"


def _read(file: Path) -> ResultFile:
    content = read_json(file)
    if not isinstance(content, dict) or not isinstance(content.get("benchmarks"), list):
        raise Failure(f"{file}: no results of 'timerbench run': it has no list 'benchmarks'")
    if not isinstance(content.setdefault("context", {}), dict):
        raise Failure(f"{file}: no results of 'timerbench run': its 'context' is no object")
    if (format_ := content["context"].get("format", str(FORMAT))) != str(FORMAT):
        raise Failure(
            f"{file}: is of format {format_}, and these scripts read {FORMAT}; use those of its commit, or "
            "measure again"
        )
    if not content["benchmarks"]:
        raise Failure(f"{file}: has no cells; was the run's choice empty?")
    return ResultFile(file, content["context"], content["benchmarks"])


def _objects(file: ResultFile, member: str) -> dict[str, Any]:
    """A member of the context that has an object for each name."""
    found = file.context.get(member, {})
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise Failure(f"{file.path}: its '{member}' is no object of objects; measure again")
    return found


def _merge_facts(known: dict[str, str], file: ResultFile) -> None:
    facts = {key: str(file.context[key]).strip() for key in FACTS if key in file.context}
    for key in BINDING:
        one, other = known.get(key), facts.get(key)
        if one and other and one != other:
            raise Failure(
                f"{file.path}: its {key} is '{other}', that of the others is '{one}': "
                "figures of different machines, builds or settings do not belong in one plot"
            )
    for key, value in facts.items():
        so_far = known.get(key, value)
        known[key] = "; ".join(dict.fromkeys((so_far + "; " + value).split("; ")))
