"""The common part of all results: cells by scenario, size and backend, and the facts of a run.

A file is Google Benchmark's JSON. Each repetition of a cell is one entry, named
SUITE/SCENARIO/SIZE/BACKEND/... In replays the scenarios are workloads; on the wall clock the
backends are services. The error message of a cell without a figure begins with its status.
"""

import glob
import gzip
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from console import Failure
from files import require_regular, shown
from results.statistics import LEAST_ROUNDS
from style import LIBRARY, PRECISIONS, Look, looks

PACKED = ".gz"  # how the name of a compressed file ends

FORMAT = 1  # of journals and results; also increased when the harness measures something else

# Facts that are shown. Figures are comparable only if those of BINDING agree.
BINDING = (
    *("processor", "num_cpus", "compiler", "flags", "build", "commit", "granularity", "seed"),
    *("pages", "load"),
)
FACTS = (
    *BINDING,
    *("format", "suite", "kernel", "command", "date", "not_verified", "busy"),
    *("grade", "grade_reasons"),
)

Key = tuple[str, int, str]  # scenario, size, backend

# Suffixes of a backend's name for controls that are measured beside it.
AGAIN = "@again"  # a second measurement of the same backend
SLOWER = "@slower"  # slowed down on purpose


@dataclass(frozen=True)
class Rounds:
    """How many rounds the measured cells have; with a budget these numbers may differ."""

    least: int
    most: int

    @classmethod
    def among(cls, counts: Iterable[int]) -> "Rounds":
        """Takes the number of rounds of each cell; 0 is a cell that was not measured."""
        measured = [count for count in counts if count]
        return cls(min(measured, default=0), max(measured, default=0))

    @property
    def spread(self) -> str:
        """Explains the ± of the medians (statistics_of_rounds.spread)."""
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
    """The outcome of a cell."""

    broken: str = ""  # status and explanation of a failure in all rounds; else empty
    timeouts: list[str] = field(default_factory=list)  # the messages of rounds that took too long
    noisy: int = 0  # rounds whose measurement was disturbed in every attempt

    @property
    def measured_rounds(self) -> int:
        """The number of rounds with a figure, whether or not they count."""
        raise NotImplementedError

    @property
    def tried_rounds(self) -> int:
        return self.measured_rounds + len(self.timeouts)

    @property
    def is_measured(self) -> bool:
        """Whether any round was measured."""
        return self.measured_rounds > 0

    @property
    def failure(self) -> str:
        """Why the cell has no figure; empty if it has one. A cell that takes too long in most
        rounds has none, because the other rounds would be a biased sample.
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
        """The status word of a cell without a figure; else empty."""
        return "" if self.has_figure else self.failure.partition(":")[0].strip()

    @property
    def doubt(self) -> str:
        """Why a figure is doubtful: some of its rounds took too long."""
        if not self.timeouts or not self.has_figure:
            return ""
        return f"timeout in {len(self.timeouts)} of {self.tried_rounds} rounds"


AnyOutcome = TypeVar("AnyOutcome", bound=Outcome)


@dataclass
class Grid(Generic[AnyOutcome]):
    """Cells by (scenario, size, backend), and the facts about the machine that measured them.

    Scenarios and backends keep the order of the files.
    """

    CELL_NAME: ClassVar[str]  # the form of a cell's name, for error messages
    CELL_CONTENT: ClassVar[str]
    FLAGS: ClassVar[set[str]] = set()  # allowed flags in a label, after the item

    facts: dict[str, str] = field(default_factory=dict)
    cells: dict[Key, AnyOutcome] = field(default_factory=dict)
    # Cells measured beside the others: AGAIN, SLOWER, or another build, "@COMMIT".
    variants: dict[str, dict[Key, AnyOutcome]] = field(default_factory=dict)
    precisions: dict[str, str] = field(default_factory=dict)  # by backend
    items: dict[str, str] = field(default_factory=dict)  # the unit of each scenario's figures
    unreached: set[Key] = field(default_factory=set)  # cells that an interrupted run did not reach
    sources: list[Path] = field(default_factory=list)  # the files
    inputs: dict[str, Any] = field(default_factory=dict)  # facts, by SCENARIO/SIZE/FOR
    described: dict[str, Any] = field(default_factory=dict)  # facts of backends

    @property
    def interrupted(self) -> int:
        """The number of cells that an interrupted run did not reach."""
        return len(self.unreached - self.cells.keys())

    @property
    def twins(self) -> dict[Key, AnyOutcome]:
        """The second measurements of the same cells."""
        return self.variants.get(AGAIN, {})

    def trace_of(self, scenario: str, size: int, backend: str) -> Any:
        """Returns the hashes of the replayed traces; empty if the file lacks them."""
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
        """Whether any cell has a figure."""
        return any(cell.has_figure for cell in self.cells.values())

    def sizes(self, scenario: str, backend: str | None = None) -> list[int]:
        """Returns the sizes at which any backend, or the given one, ran the scenario."""
        return sorted(
            {size for name, size, own in self.cells if name == scenario and backend in (None, own)}
        )

    def shown_size(self, scenario: str, size: int) -> int:
        """Returns the size, or the nearest one at which the scenario ran."""
        return min(self.sizes(scenario), key=lambda own: max(own, size) / max(1, min(own, size)))

    def item(self, scenario: str) -> str:
        """Returns the unit of the scenario's figures."""
        return self.items.get(scenario, "item")

    def cell(self, scenario: str, size: int, backend: str) -> AnyOutcome | None:
        return self.cells.get((scenario, size, backend))

    def precision(self, backend: str) -> str:
        """Returns the backend's precision; old files lack it for backends without any figure."""
        precision = str(self.described.get(backend, {}).get("precision", "unknown"))
        return self.precisions.get(backend, precision if precision in PRECISIONS else "unknown")

    def is_library(self, backend: str) -> bool:
        """Whether the backend is the code of others, which is ranked apart."""
        return self.precision(backend).endswith(LIBRARY)

    def summary(self, backend: str) -> str:
        """Returns what the backend is, in a line, with its version and its licence, if it has them."""
        summary = str(self.described.get(backend, {}).get("summary", ""))
        return "; ".join(filter(None, (summary, self.version(backend), self.licence(backend))))

    def version(self, backend: str) -> str:
        """Returns the version and the package of a library; nothing for own code, and of old files."""
        if not self.is_library(backend):
            return ""
        return str(self.described.get(backend, {}).get("follows", ""))

    def licence(self, backend: str) -> str:
        """Returns which rules the backend may break, and how; nothing if it keeps them all."""
        return str(self.described.get(backend, {}).get("licence", ""))

    def backends_by_precision(self) -> dict[str, list[str]]:
        """Groups the backends by precision."""
        return {
            precision: backends
            for precision in PRECISIONS
            if (backends := [name for name in self.backends if self.precision(name) == precision])
        }

    def keep(self, backends: set[str], scenarios: set[str]) -> None:
        """Keeps these cells only. Looks and the noise are still those of all cells."""
        self.looks  # computes them for all backends
        self.cells = {
            key: cell
            for key, cell in self.cells.items()
            if key[0] in scenarios and key[2] in backends
        }
        if not self.cells:
            raise Failure("none of the chosen backends was measured on any of the chosen workloads")

    @cached_property
    def looks(self) -> dict[str, Look]:
        """The looks of the backends; cached."""
        return looks(self.backends)

    def new_cell(self) -> AnyOutcome:
        raise NotImplementedError

    def add_figures(self, cell: AnyOutcome, entry: Any, flags: list[str]) -> None:
        """Adds the figures of one repetition: its entry, and the flags of its label."""
        raise NotImplementedError

    def add(self, entry: Any) -> None:
        """Adds a repetition. Raises one of Python's own errors if the entry is not a cell of this
        grid.
        """
        if entry.get("run_type") == "aggregate":
            return
        _, scenario, size, contender = entry["name"].split("/")[:4]
        backend, at, variant = contender.partition("@")
        if int(size) < 1:
            raise ValueError(size)
        key = (scenario, int(size), backend)
        cells = self.variants.setdefault(f"@{variant}", {}) if at else self.cells
        if entry.get("error_occurred"):
            self._add_failure(cells, key, entry.get("error_message") or "error")
            return
        precision, item = entry["label"].split(", per ", 1)
        flags: list[str] = []
        if self.FLAGS:  # without flags, the item may be any text
            item, *flags = item.split(", ")
        if precision not in PRECISIONS or not self.FLAGS.issuperset(flags):
            raise ValueError(entry["label"])
        cell = cells.setdefault(key, self.new_cell())
        cell.noisy += entry.get("status") == "noisy"
        self.add_figures(cell, entry, flags)
        self.precisions[backend] = precision
        self.items[scenario] = item

    def _add_failure(self, cells: dict[Key, AnyOutcome], key: Key, message: str) -> None:
        if message.startswith("interrupted"):  # the run did not reach this cell
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
    """The content of a file of results."""

    path: Path
    context: dict[str, Any]
    entries: list[Any]

    @property
    def suites(self) -> list[str]:
        """The suites that have cells in the file."""
        names = [entry.get("name") for entry in self.entries if isinstance(entry, dict)]
        return list(dict.fromkeys(str(name).partition("/")[0] for name in names))


def read_files(paths: Iterable[Path]) -> list[ResultFile]:
    """Reads files, and folders with a results.json, plain or compressed."""
    return [_read(path / "results.json" if path.is_dir() else _plain(path)) for path in paths]


def packed(file: Path) -> Path:
    """Returns the name of a file of results when it is compressed, as it is in results/."""
    return file.with_name(f"{file.name}{PACKED}")


def _plain(path: Path) -> Path:
    return path.with_suffix("") if path.suffix == PACKED else path


def is_there(file: Path) -> bool:
    """Whether there is this file of results, plain or compressed."""
    return file.exists() or packed(file).exists()


def round_of(entry: Mapping[str, Any]) -> int:
    """Returns the round of an entry; its repetition, if it is of a single run."""
    return int(entry.get("round", entry.get("repetition_index", 0)))


def collect(grid: AnyGrid, files: Iterable[ResultFile]) -> AnyGrid:
    """Adds the entries of all files; the same cell in several is one, repeated. The rounds of a file
    follow those of the files before.
    """
    rounds = 0  # of the files so far
    for file in files:
        _merge_facts(grid.facts, file)
        grid.sources.append(file.path)
        _merge_inputs(grid.inputs, file)
        grid.described |= _objects(file, "backends")
        own_rounds = 0
        for entry in file.entries:
            try:
                round_ = round_of(entry)
                own_rounds = max(own_rounds, round_ + 1)
                grid.add(entry | {"round": rounds + round_} if rounds else entry)
            except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
                raise Failure(
                    f"{file.path}: {json.dumps(entry)[:80]}... is not a cell {grid.CELL_NAME} "
                    f"of 'timerbench run' with {grid.CELL_CONTENT}"
                ) from None
        rounds += own_rounds
    if not grid.cells and not grid.variants:
        raise Failure(f"{file.path}: the run was interrupted before any cell was measured")
    return grid


def read_json(file: Path) -> Any:
    """Returns the content of a JSON file. Reads its compressed form if there is only that. Raises
    Failure.
    """
    if not file.exists() and packed(file).exists():
        file = packed(file)
    require_regular(file, "it holds no results; write them to a file first")
    try:
        content = file.read_bytes()
        return json.loads(gzip.decompress(content) if file.suffix == PACKED else content)
    except (EOFError, RecursionError, ValueError, gzip.BadGzipFile, zlib.error) as error:
        raise Failure(f"{file}: not a complete JSON file ({error}); measure again") from None
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}; {_instead(file)}") from None


def _instead(file: Path) -> str:
    """Says where results are: the campaign that is still to finish, or similar folders beside this
    one.
    """
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
    """Returns a member of the context that maps names to objects."""
    found = file.context.get(member, {})
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise Failure(f"{file.path}: its '{member}' is no object of objects; measure again")
    return found


def _merge_inputs(known: dict[str, Any], file: ResultFile) -> None:
    for name, facts in _objects(file, "inputs").items():
        one, other = known.get(name, {}).get("hashes"), facts.get("hashes")
        if one and other and one != other:
            raise Failure(
                f"{file.path}: replays another trace of {name.rpartition('/')[0]} than the others do: "
                "figures of different loads do not belong in one plot"
            )
        known[name] = facts


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
