"""A model of durable queues beyond one machine, whose constants are measured by the suite `durable`.

Three things are predicted, each by the simplest law that has a cause:

  clients  A queue is a station that serves one request after the other for `demand`, and clients that
           wait for `delay` elsewhere (their own work, the way there, a synchronisation of the disk
           that they share). The rate of n clients follows by mean value analysis. The processors of
           the machine bound it, for clients and server share them.
  memory   a fixed part, and so many bytes for each timer.
  restart  a fixed time, and so long for each timer.

A node has a processor for the server's work, for Redis has one thread; its disk synchronises once at
a time. Shards share nothing, so n nodes do n times the work. That is what no figure of one machine
can check.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from console import Failure
from results.realtime import CONTROL, RealtimeCell, RealtimeResults

SECOND = 1e9  # ns
# With fewer timers pending, memory and time to be back are mostly those of an empty engine.
FEWEST_FOR_MEMORY = 10_000
FEWEST_FOR_RESTART = 1_000


@dataclass(frozen=True)
class Station:
    """Serves clients one after the other. In seconds of a timer."""

    demand: float
    delay: float

    def rate(self, clients: int) -> float:
        """Returns the timers a second of so many clients, by exact mean value analysis."""
        waiting = rate = 0.0
        for present in range(1, clients + 1):
            response = self.demand * (1 + waiting)
            rate = present / (self.delay + response)
            waiting = rate * response
        return rate

    @classmethod
    def through(cls, one: float, clients: int, many: float) -> "Station":
        """Returns the station at which one client has the rate `one`, and `clients` have `many`, as far
        as there is one.
        """
        low, high = 0.0, 1 / one
        for _ in range(60):
            middle = (low + high) / 2
            slow = cls(middle, 1 / one - middle).rate(clients) < many
            low, high = (low, middle) if slow else (middle, high)
        return cls(low, 1 / one - low)


@dataclass(frozen=True)
class Line:
    """A fixed part, and a part for each timer."""

    fixed: float
    each: float

    def at(self, timers: float) -> float:
        return self.fixed + self.each * timers

    @classmethod
    def through(cls, points: Sequence[tuple[float, float]]) -> "Line":
        """Returns the line through two points; it does not fall."""
        (x, y), (other_x, other_y) = points
        each = max(0.0, (other_y - y) / (other_x - x))
        return cls(max(0.0, other_y - each * other_x), each)


@dataclass(frozen=True)
class Check:
    """A prediction of a cell that the fit has not seen."""

    queue: str
    what: str
    seen: str
    at: int
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


@dataclass(frozen=True)
class Load:
    """What is asked for."""

    per_second: float
    pending: float
    cancelled: float  # the share that does not fire
    busy: float  # the share of a node's time that may be used
    memory: float  # bytes of a node


@dataclass(frozen=True)
class Node:
    """What a queue does on a node, measured; None: not measured."""

    queue: str
    promise: str
    cpu: float  # seconds of the engine for a timer that is armed, and cancelled or fires
    syncs: float | None  # of the disk, for a timer
    sync_seconds: float | None
    bytes: float | None
    restart: Line | None

    @property
    def by_processor(self) -> float:
        return 1 / self.cpu if self.cpu else math.inf

    @property
    def by_disk(self) -> float:
        """Without a limit if it does not synchronise, or if nobody has counted how often."""
        if not self.syncs:
            return math.inf
        if self.sync_seconds is None:
            raise Failure(
                "nobody has measured how long the disk takes; measure the scenario clients of "
                "journal_wheel_0 with 1 client too"
            )
        return 1 / (self.syncs * self.sync_seconds)

    @property
    def rate(self) -> float:
        """Timers a second of a node that does nothing else."""
        return min(self.by_processor, self.by_disk)

    def for_rate(self, load: Load) -> int:
        return math.ceil(load.per_second / (self.rate * load.busy))

    def for_memory(self, load: Load) -> int | None:
        return None if self.bytes is None else math.ceil(load.pending * self.bytes / load.memory)

    def nodes(self, load: Load) -> int:
        return max(self.for_rate(load), self.for_memory(load) or 1)

    def failover(self, load: Load) -> float | None:
        """Returns the seconds in which a node with its share of the timers fires nothing."""
        return None if self.restart is None else self.restart.at(load.pending / self.nodes(load))


def queues(results: RealtimeResults) -> list[str]:
    return [name for name in results.backends if name != CONTROL]


def values(results: RealtimeResults, scenario: str, queue: str, counter: str) -> dict[int, float]:
    """Returns a counter by the size, of cells that have it."""
    cells = {size: results.cell(scenario, size, queue) for size in results.sizes(scenario, queue)}
    return {
        size: value
        for size, cell in cells.items()
        if cell and cell.has_figure and (value := cell.value(counter)) is not None
    }


def sync_seconds(results: RealtimeResults) -> float | None:
    """Returns how long the disk takes, which is what an arming in our own journal waits for."""
    nanoseconds = values(results, "clients", "journal_wheel_0", "arm_p50_ns").get(1)
    return None if nanoseconds is None else nanoseconds / SECOND


def node_of(results: RealtimeResults, queue: str, cancelled: float) -> Node | None:
    """Returns the node of a queue; None without its figures."""
    churn = _cells(results, "clients", queue)
    fire = _cells(results, "workers", queue)
    if not churn or not fire:
        return None
    cell, fired = churn[max(churn)], fire[max(fire)]
    own, of_fire = _cpu(cell), _cpu(fired)
    arm = _share_of_arming(cell)

    def mixed(churned: float, firing: float) -> float:
        """Of a timer that is armed, and then cancelled or fires."""
        return churned * (arm + (1 - arm) * cancelled) + firing * (1 - cancelled)

    churned, firing = cell.value("fsyncs_per_timer"), fired.value("fsyncs_per_timer")
    syncs = None if churned is None or firing is None else mixed(churned, firing)
    return Node(
        queue,
        results.precision(queue),
        mixed(own, of_fire) / SECOND,
        syncs,
        sync_seconds(results),
        _bytes(results, queue),
        _restart(results, queue),
    )


def _cells(results: RealtimeResults, scenario: str, queue: str) -> dict[int, RealtimeCell]:
    sizes = results.sizes(scenario, queue)
    cells = {size: results.cell(scenario, size, queue) for size in sizes}
    return {size: cell for size, cell in cells.items() if cell and cell.has_figure}


def _pending(results: RealtimeResults, queue: str, counter: str, fewest: int) -> dict[int, float]:
    measured = values(results, "pending", queue, counter)
    return {size: value for size, value in measured.items() if size >= fewest}


def _bytes(results: RealtimeResults, queue: str) -> float | None:
    """Returns those of the largest population; None if nothing of it is in memory. With fewer timers
    an engine that keeps them on disk seems to need some.
    """
    cells = _cells(results, "pending", queue)
    if not cells or max(cells) < FEWEST_FOR_MEMORY:
        return None
    return cells[max(cells)].value("bytes_in_memory") or None


def _cpu(cell: RealtimeCell) -> float:
    """Returns the nanoseconds of a timer: the server's, or the client's if the engine is in it."""
    server = cell.value("server_cpu_ns_per_timer")
    return cell.value("client_cpu_ns_per_timer") or 0 if server is None else server


def _share_of_arming(cell: RealtimeCell) -> float:
    """Returns its share of an arming and a cancelling."""
    arm, cancel = cell.value("arm_p50_ns"), cell.value("cancel_p50_ns")
    return arm / (arm + cancel) if arm and cancel else 0.5


def _restart(results: RealtimeResults, queue: str) -> Line | None:
    measured = _pending(results, queue, "restart_seconds", FEWEST_FOR_RESTART)
    if len(measured) < 2:
        return None
    return Line.through([(size, measured[size]) for size in (min(measured), max(measured))])


def checks(results: RealtimeResults, processors: int) -> list[Check]:
    """Returns the predictions of all cells that are larger than those of the fit."""
    found = []
    for queue in queues(results):
        for scenario in ("clients", "workers"):
            found += _checks_of_clients(results, scenario, queue, processors)
        memory = _pending(results, queue, "bytes_in_memory", FEWEST_FOR_MEMORY)
        total = {size: size * each for size, each in memory.items()}
        found += _checks_of_line(queue, "bytes in memory", total)
        restart = _pending(results, queue, "restart_seconds", FEWEST_FOR_RESTART)
        found += _checks_of_line(queue, "seconds to be back", restart)
    return found


def _checks_of_clients(
    results: RealtimeResults, scenario: str, queue: str, processors: int
) -> list[Check]:
    rates = values(results, scenario, queue, "timers_per_second")
    if not {1, 4} <= rates.keys():
        return []
    station = Station.through(rates[1], 4, rates[4])
    cpu = sum(
        values(results, scenario, queue, f"{side}_cpu_ns_per_timer").get(4, 0)
        for side in ("client", "server")
    )
    bound = processors * SECOND / cpu if cpu else math.inf
    return [
        Check(queue, f"timers/s, {scenario}", "1 and 4", size, min(station.rate(size), bound), rate)
        for size, rate in sorted(rates.items())
        if size > 4
    ]


def _checks_of_line(queue: str, what: str, measured: dict[int, float]) -> list[Check]:
    """Predicts each size from the two before it."""
    sizes = [size for size in sorted(measured) if measured[size] > 0]
    return [
        Check(
            queue,
            what,
            f"{first} and {second}",
            size,
            Line.through([(one, measured[one]) for one in (first, second)]).at(size),
            measured[size],
        )
        for (first, second), size in zip(pairwise(sizes), sizes[2:])
    ]


def size_of_one(node: Node, load: Load) -> tuple[float, float | None]:
    """Returns the timers a second and those pending that one node is enough for."""
    return node.rate * load.busy, node.bytes and load.memory / node.bytes
