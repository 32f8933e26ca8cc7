"""The history of the backends, from commit to commit: a file of JSON lines, results/history.jsonl.

Each line is a backend on a workload at a commit. `instructions` are those of an item, which valgrind
counts; they depend on the code, the compiler and the trace, and on no machine. `ns` is the time of an
item in the same campaign: the median with its interval, in [low, middle, high]. It depends on the
machine, whose grade stands beside it. A cell whose time was not measured, or disturbed, has no `ns`.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import words
from console import Failure
from files import locked, replacing, require_regular
from results.grid import Key, is_there
from results.passes import PASSES, PassResults, load_pass
from results.replays import Cell
from results.replays import load as load_costs
from results.statistics import known_interval

COUNTER = "instructions_per_item"
OPTIONAL = ("ns", "rounds", "grade", "processor")
NOTABLE = 0.01  # share by which a count must differ; hash tables move counts by less


@dataclass(frozen=True)
class Point:
    """A backend on a workload at a commit."""

    date: str  # of the commit
    commit: str
    workload: str
    size: int
    backend: str
    instructions: float
    compiler: str  # with its flags
    trace: str  # a hash
    item: str = "item"
    precision: str = "unknown"
    ns: list[float] = field(default_factory=list)  # low, middle, high; may be missing
    rounds: int = 0
    grade: str = ""  # of the machine
    processor: str = ""

    @property
    def key(self) -> Key:
        return self.workload, self.size, self.backend


@dataclass(frozen=True)
class Change:
    """The counts of one cell at two commits, one after the other."""

    before: Point
    after: Point

    @property
    def is_comparable(self) -> bool:
        """Whether only the code differs."""
        one, other = self.before, self.after
        return (one.compiler, one.trace) == (other.compiler, other.trace)

    @property
    def ratio(self) -> float:
        return self.after.instructions / self.before.instructions

    @property
    def size(self) -> float:
        """How many times more or less, from 1 on."""
        return max(self.ratio, 1 / self.ratio)

    @property
    def is_notable(self) -> bool:
        return self.is_comparable and self.size > 1 + NOTABLE


@dataclass(frozen=True)
class History:
    """The points of each cell, the oldest first."""

    path: Path
    points: dict[Key, list[Point]]

    @property
    def commits(self) -> list[tuple[str, str]]:
        """The date and name of each commit, the oldest first."""
        return sorted({(one.date, one.commit) for own in self.points.values() for one in own})

    @property
    def extent(self) -> str:
        """How much it has."""
        counts = sum(map(len, self.points.values()))
        return f"{words.counted(counts, 'count')} of instructions at {words.counted(len(self.commits), 'commit')}"

    @property
    def workloads(self) -> list[str]:
        return list(dict.fromkeys(workload for workload, _, _ in self.points))

    @property
    def backends(self) -> list[str]:
        return list(dict.fromkeys(backend for _, _, backend in self.points))

    def latest(self, key: Key) -> Point:
        return self.points[key][-1]

    @property
    def steps(self) -> list[Change]:
        """All pairs of neighbours in time."""
        return [Change(*pair) for own in self.points.values() for pair in zip(own, own[1:])]

    @property
    def changes(self) -> list[Change]:
        """The notable ones: the latest commit first, and of each commit the largest first."""
        found = sorted((one for one in self.steps if one.is_notable), key=lambda one: -one.size)
        return sorted(found, key=lambda one: one.after.date, reverse=True)

    def keep(self, backends: set[str], workloads: set[str]) -> "History":
        """Returns the part with these names."""
        kept = {
            key: own
            for key, own in self.points.items()
            if key[0] in workloads and key[2] in backends
        }
        return History(self.path, kept)


def load(path: Path) -> History:
    """Reads a history. Raises Failure."""
    points: dict[Key, list[Point]] = {}
    for point in _points(path):
        points.setdefault(point.key, []).append(point)
    if not points:
        raise Failure(
            f"{path}: has no line; scripts/compare --history --add=FOLDER adds a campaign"
        )
    return History(
        path, {key: sorted(own, key=lambda one: one.date) for key, own in points.items()}
    )


def add(path: Path, points: list[Point]) -> int:
    """Adds points to a history, which need not exist. Returns how many there were already of the same
    commit; these stay as they are.
    """
    with locked(path.parent):
        known = list(_points(path)) if path.exists() else []
        there = {(point.commit, point.key) for point in known}
        new = [point for point in points if (point.commit, point.key) not in there]
        with replacing(path) as partial:
            partial.write_text("".join(map(_line, known + new)), encoding="utf-8")
    return len(points) - len(new)


def points_of(folder: Path, date_of: Callable[[str], str]) -> list[Point]:
    """Returns the points of a campaign: of each backend and workload that with the most timers whose
    instructions were counted. `date_of` returns the date of a commit, or nothing. Raises Failure.
    """
    counted = _counted(folder)
    facts = counted.facts
    commit = facts.get("commit", "")
    if not commit or "; " in commit or commit.endswith("-dirty"):
        raise Failure(
            f"{folder}: was measured at '{commit}', and a history needs one commit without changes"
        )
    timed = _timed(folder, commit)
    date = date_of(commit) or facts.get("date", "")
    points: dict[tuple[str, str], Point] = {}
    for (workload, size, backend), cell in sorted(counted.cells.items()):
        value = cell.value(COUNTER)
        if not value:
            continue
        cost = timed.get((workload, size, backend))
        interval = known_interval(cost.costs) if cost else None
        points[workload, backend] = Point(
            date=date,
            commit=commit,
            workload=workload,
            size=size,
            backend=backend,
            instructions=value,
            compiler=f"{facts.get('compiler', '')} {facts.get('flags', '')}".strip(),
            trace=f"{crc32(json.dumps(counted.trace_of(workload, size, backend)).encode()):08x}",
            item=counted.item(workload),
            precision=counted.precision(backend),
            ns=[interval.low, interval.middle, interval.high] if interval else [],
            rounds=cost.measured_rounds if cost else 0,
            grade=facts.get("grade", ""),
            processor=facts.get("processor", ""),
        )
    if not points:
        raise Failure(f"{folder}: {PASSES['instructions']} has no figure")
    return list(points.values())


def _counted(folder: Path) -> PassResults:
    file = folder / PASSES["instructions"]
    if not is_there(file):
        raise Failure(
            f"{file}: is not there; measure with --passes=total,instructions, which counts them"
        )
    return load_pass(file)


def _timed(folder: Path, commit: str) -> dict[Key, Cell]:
    """Returns the cells of the same commit whose measurement nothing disturbed; nothing if no time was
    measured.
    """
    if not is_there(folder / PASSES["total"]):
        return {}
    results = load_costs([folder])
    is_same = results.facts.get("commit") == commit
    return {
        key: cell
        for key, cell in results.cells.items()
        if is_same and cell.has_figure and not cell.noisy
    }


def _points(path: Path) -> Iterator[Point]:
    require_regular(path, "it is no history; name one such as results/history.jsonl")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", "") or str(error)
        raise Failure(
            f"{path}: {reason}; scripts/compare --history --add=FOLDER makes a history"
        ) from None
    for number, line in enumerate(lines, 1):
        try:
            yield _point(json.loads(line))
        except (ArithmeticError, KeyError, TypeError, ValueError):
            raise Failure(
                f"{path}, line {number}: is no line of a history; take it out, and add its campaign again"
            ) from None


def _point(told: dict[str, Any]) -> Point:
    point = Point(**told)
    texts = (point.date, point.commit, point.workload, point.backend, point.compiler, point.trace)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(told)
    numbers = (float(point.instructions), float(point.size), *map(float, point.ns))
    if len(point.ns) not in (0, 3) or not all(0 < number < float("inf") for number in numbers):
        raise ValueError(told)
    return point


def _line(point: Point) -> str:
    """Returns a line; what is missing in it is not there."""
    told = asdict(point)
    told["ns"] = [float(f"{ns:.4g}") for ns in point.ns]
    for name in OPTIONAL:
        if not told[name]:
            del told[name]
    return json.dumps(told, ensure_ascii=False) + "\n"
