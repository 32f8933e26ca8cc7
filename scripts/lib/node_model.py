"""A model of durable queues beyond one machine, whose constants are measured by the suite `durable`.

Four things are predicted, each by the simplest law that has a cause:

  clients  A queue is a station that serves one request after the other for `demand`, and clients that
           wait for `delay` elsewhere (their own work, the way there, a synchronisation of the disk
           that they share). The rate of n clients follows by mean value analysis. The processors of
           the machine bound it, for clients and server share them.
  processor
           so much for each timer, and so many synchronisations of the disk. Both are more if
           requests come alone than if many clients call at once: the engine then reads and
           synchronises for several together. A node is somewhere between, so both are told. Of
           requests that come alone, too, several meet if they are many a second, so what they cost
           depends on the rate.
  memory   a fixed part, and so many bytes for each timer.
  restart  a fixed time, and so long for each timer.

A node has a processor for the server's work, for Redis has one thread; its disk synchronises once at
a time. Shards share nothing, so n nodes do n times the work. That is what no figure of one machine
can check.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from console import Failure
from results.realtime import CONTROL, RealtimeCell, RealtimeResults

SECOND = 1e9  # ns
# With fewer timers pending, memory and time to be back are mostly those of an empty engine.
FEWEST_FOR_MEMORY = 10_000
FEWEST_FOR_RESTART = 1_000
# Of a timer. With fewer, the engine synchronises by its own clock.
FEWEST_SYNCS = 0.2
# Of what is asked for, by a queue that keeps up.
KEEPS_UP = 0.9
# The shares of their timers that are cancelled.
CANCELLED = {"orders": 0.9, "jobs": 0.02}


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
class Work:
    """What the engine does for a timer that is armed, and cancelled or fires."""

    cpu: float  # seconds
    syncs: float | None  # of the disk; None: nobody has counted them

    @classmethod
    def sum(cls, parts: Iterable[tuple[float, "Work"]]) -> "Work":
        """Returns the sum of works, each times its factor."""
        parts = list(parts)
        cpu = sum(factor * work.cpu for factor, work in parts)
        syncs = [factor * work.syncs for factor, work in parts if work.syncs is not None]
        return cls(cpu, sum(syncs) if len(syncs) == len(parts) else None)


@dataclass(frozen=True)
class Fires:
    """What the engine does for a timer that is armed and fires, by how many do in a second: points,
    from the lowest rate on.
    """

    points: Sequence[tuple[float, Work]]

    def at(self, rate: float) -> Work:
        """Returns the work of a timer. What is done in a second grows in a straight line from point to
        point. Below the first point it is as much as there, and beyond the last a timer costs as much
        as there.
        """
        first, each = self.points[0]
        if rate <= first:
            return Work.sum([(first / rate, each)])
        for (low, at_low), (high, at_high) in pairwise(self.points):
            if rate <= high:
                share = (rate - low) / (high - low)
                return Work.sum(
                    [((1 - share) * low / rate, at_low), (share * high / rate, at_high)]
                )
        return self.points[-1][1]


@dataclass(frozen=True)
class Node:
    """What a queue does on a node, measured; None: not measured."""

    queue: str
    promise: str
    cancelled: float  # the share of its timers
    by_one: Work  # of a timer that is cancelled, if one client calls
    fires: Fires  # if they come alone
    together: Work  # of a timer, if many clients call at once
    sync_seconds: float | None
    bytes: float | None
    restart: Line | None

    def alone(self, rate: float) -> Work:
        """Returns the work of a timer if so many a second come, each request alone."""
        fired = 1 - self.cancelled
        parts = [(self.cancelled, self.by_one)]
        if fired > 0:
            parts.append((fired, self.fires.at(rate * fired)))
        return Work.sum(parts)

    def rate(self, work_at: Callable[[float], Work], busy: float) -> float:
        """Returns the most timers a second that a node does which may be busy for this share of its
        time: its processor, and its disk.
        """
        low, high = 0.0, 1e9
        for _ in range(100):
            rate = (low + high) / 2
            work = work_at(rate)
            fits = rate * max(work.cpu, self._disk(work)) <= busy
            low, high = (rate, high) if fits else (low, rate)
        return low

    def _disk(self, work: Work) -> float:
        """Returns the seconds of the disk: none if it does not synchronise, or if nobody has counted
        how often.
        """
        if not work.syncs:
            return 0.0
        if self.sync_seconds is None:
            raise Failure(
                "nobody has measured how long the disk takes; measure the scenario clients of "
                "journal_wheel_0 with 1 client too"
            )
        return work.syncs * self.sync_seconds

    def rate_alone(self, busy: float) -> float:
        return self.rate(self.alone, busy)

    def rates(self, busy: float) -> tuple[float, float]:
        """Returns the rates if many clients call at once, and if each request comes alone."""
        return self.rate(lambda _: self.together, busy), self.rate_alone(busy)

    def works(self, load: Load) -> bool:
        """Returns whether a node has time for timers: the engine also works while it waits."""
        return min(self.rates(load.busy)) > 0

    def for_rate(self, load: Load) -> tuple[int, int]:
        """Returns how many are needed if many clients call at once, and if each request comes alone, of
        nodes that work.
        """
        together, alone = self.rates(load.busy)
        return math.ceil(load.per_second / together), math.ceil(load.per_second / alone)

    def for_memory(self, load: Load) -> int | None:
        return None if self.bytes is None else math.ceil(load.pending * self.bytes / load.memory)

    def nodes(self, load: Load) -> int:
        """Returns how many are enough however requests come."""
        return self.fewest_and_most(load)[1]

    def fewest_and_most(self, load: Load) -> tuple[int, int]:
        """Returns how many are enough for rate and memory, by how requests come."""
        memory = self.for_memory(load) or 1
        fewest, most = sorted(max(nodes, memory) for nodes in self.for_rate(load))
        return fewest, most

    def failover(self, load: Load) -> float | None:
        """Returns the seconds in which a node with its share of the timers fires nothing."""
        return self.silence(load.pending / self.nodes(load))

    def silence(self, pending: float) -> float | None:
        return None if self.restart is None else self.restart.at(pending)


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
    by_one = churn[min(churn)]
    armed_and_fired = _mixed(by_one, fire[min(fire)], cancelled=0)
    return Node(
        queue,
        results.precision(queue),
        cancelled,
        _work(by_one),
        Fires(_points(results, queue) or [(1.0, armed_and_fired)]),
        _mixed(churn[max(churn)], fire[max(fire)], cancelled),
        sync_seconds(results),
        _bytes(results, queue),
        _restart(results, queue),
    )


def _mixed(churn: RealtimeCell, fire: RealtimeCell, cancelled: float) -> Work:
    """Returns the work of a timer that is armed, and then cancelled or fires."""
    arm = _share_of_arming(churn)
    churned = arm + (1 - arm) * cancelled
    return Work.sum([(churned, _work(churn)), (1 - cancelled, _work(fire))])


def _work(cell: RealtimeCell) -> Work:
    """Returns what the cell says of a timer: the server's time, or the client's if the engine is in it."""
    server = cell.value("server_cpu_ns_per_timer")
    cpu = cell.value("client_cpu_ns_per_timer") or 0 if server is None else server
    return Work(cpu / SECOND, cell.value("fsyncs_per_timer"))


def _points(results: RealtimeResults, queue: str) -> list[tuple[float, Work]]:
    """Returns those of the rates with which the queue keeps up, from the lowest one on: a rate above
    one that is too much for it tells nothing of a node that is not busy.
    """
    rates = (cell for _, cell in sorted(_cells(results, "rate", queue).items()))
    return [
        (cell.value("achieved_per_second") or 0, _work(cell))
        for cell in takewhile(_keeps_up, rates)
    ]


def _keeps_up(cell: RealtimeCell) -> bool:
    offered, achieved = cell.value("offered_per_second"), cell.value("achieved_per_second")
    return bool(offered and achieved and achieved > KEEPS_UP * offered)


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
        for scenario in CANCELLED:
            found += _checks_of_work(results, scenario, queue)
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


def _checks_of_work(results: RealtimeResults, scenario: str, queue: str) -> list[Check]:
    """Predicts the work of a timer of a load that no constant is fitted to."""
    cells = _cells(results, scenario, queue)
    node = node_of(results, queue, CANCELLED[scenario])
    if not cells or node is None or not _points(results, queue):
        return []
    size = max(cells)
    fired = cells[size].value("achieved_per_second")
    if not fired or not _keeps_up(cells[size]):
        return []
    predicted, measured = node.alone(fired / (1 - node.cancelled)), _work(cells[size])
    seen = "1 client, rate"
    found = [
        Check(queue, f"CPU in µs, {scenario}", seen, size, predicted.cpu * 1e6, measured.cpu * 1e6)
    ]
    if predicted.syncs is not None and (measured.syncs or 0) > FEWEST_SYNCS:
        what = f"fsyncs, {scenario}"
        found.append(Check(queue, what, seen, size, predicted.syncs, measured.syncs or 0))
    return found


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


def size_of_one(node: Node, load: Load) -> tuple[tuple[float, float], float | None]:
    """Returns the timers a second that one node is enough for, as Node.rates() does, and those pending."""
    return node.rates(load.busy), node.bytes and load.memory / node.bytes
