"""Collects exactly those results that the page can show, as JSON."""

import dataclasses
import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from results import history, passes
from results import realtime as realtime_results
from results import replays as costs
from results import survival
from console import Failure
from page.heads import told_of
from results.counters import CounterCell, Distribution
from results.grid import Grid, ResultFile, is_there, read_files
from style import DASHES, HEADINGS, PRECISIONS, RANKED, Look, family, looks
from tables import history as history_table
from tables import survival as survival_table
from tables.realtime import answer_lines
from tables.sureness import noise_lines, sureness_lines
from words import MARKS, machine_line, remake_line

# Quantiles of a distribution, as the share of samples above them. Those with too few samples are
# left out.
BEYOND = (1, 0.9, 0.75, 0.5, 0.25, 0.1) + tuple(
    share / 10**power for power in range(1, 8) for share in (0.5, 0.2, 0.1)
)
ENOUGH = 10  # samples above a quantile

# The limit for all timelines of a page together, to bound its size.
TIMELINE_POINTS = 80_000
LONGEST_TIMELINE, SHORTEST_TIMELINE = 300, 8

HISTORY = ".jsonl"  # how the name of a history ends

SUITE_FILES = sorted((Path(__file__).parents[3] / "bench" / "suites").glob("*.toml"))

# Facts that the page Machine lists besides those of every file.
MORE_FACTS = ("governor", "transparent_hugepage", "memory")

# The counters of services on the page, by suite; results.json has more.
LATENESS = {
    f"lateness_{name}_ns": f"lateness {name}" for name in ("p50", "p90", "p99", "p99.9", "max")
}
COUNTERS = {
    "accuracy": LATENESS
    | {
        "rounding_p99_ns": "rounding p99",
        "processing_p99_ns": "processing p99",
        "wakeup_p99_ns": "wake-up p99",
        "achieved_per_second": "fires per second",
        "wakeups_per_second": "wakeups per second",
        "cpu_share": "share of a processor",
        "cpu_ns_per_operation": "processor time per operation",
        "generator_p99_ns": "lateness of the load itself p99",
    },
    "contention": {
        "calls_per_second": "calls per second",
        "cpu_ns_per_call": "processor time per call",
    }
    | {
        f"{call}_{name}_ns": f"{call} {name}"
        for call in ("schedule", "cancel")
        for name in ("p50", "p90", "p99", "p99.9", "max")
    }
    | {"fired_share": "share that fires"},
    "durable": {
        "timers_per_second": "timers per second",
        "schedules_per_second": "timers armed per second",
        "cancels_per_second": "timers cancelled per second",
        "fires_per_second": "timers fired per second by one worker",
        **{
            f"{call}_{name}_ns": f"{call} {name}"
            for call in ("arm", "cancel", "claim", "complete")
            for name in ("p50", "p99")
        },
        **LATENESS,
        "client_cpu_ns_per_timer": "the clients' processor time per timer",
        "server_cpu_ns_per_timer": "the server's processor time per timer",
        "fsyncs_per_timer": "fsyncs of a timer",
        "network_bytes_per_timer": "bytes of a timer over TCP",
        "generator_p99_ns": "lateness of the load itself p99",
        "worker_wakeups_per_hour": "wakeups of a worker in an idle hour",
        "server_wakeups_per_hour": "wakeups of the server in an idle hour",
        "cpu_ns_per_hour": "processor time of an idle hour",
        "client_cpu_ns_per_hour": "clients' processor time of an idle hour",
        "server_cpu_ns_per_hour": "server's processor time of an idle hour",
        "fsyncs_per_hour": "fsyncs of an idle hour",
        "network_bytes_per_hour": "bytes sent in an idle hour",
        "bytes_in_memory": "bytes of a timer in memory",
        "bytes_on_disk": "bytes of a timer on disk",
        "first_fire_seconds": "seconds from kill -9 until the first is handed out",
        "restart_seconds": "seconds from kill -9 until what was due is handed out",
    },
    "purgatory": {
        "cpu_share": "share of a processor",
        "cpu_ns_per_request": "processor time per request",
        **LATENESS,
        "actual_per_second": "requests per second",
        "timed_out_share": "share that times out",
        "wakeups_per_second": "wakeups per second",
    },
}
DURATIONS = {
    "accuracy": ("lateness", "rounding", "processing", "wakeup", "generator"),
    "contention": ("schedule", "cancel"),
    "durable": ("arm", "cancel", "claim", "complete", "lateness", "generator"),
    "purgatory": ("lateness", "arrival_lateness", "completion_lateness"),
}


def contents(paths: Sequence[Path]) -> dict[str, Any]:
    """Returns the contents for files and folders of results; each is a campaign of its own."""
    return {
        "precisions": {
            name: {
                "heading": HEADINGS[name],
                "meaning": meaning,
                "ranked": name in RANKED,
                "dashes": DASHES[name],
            }
            for name, meaning in PRECISIONS.items()
        },
        "beyond": BEYOND,
        "marks": MARKS,
        "campaigns": [_checked(path) for path in {path.resolve(): path for path in paths}.values()],
    }


def _checked(path: Path) -> dict[str, Any]:
    """Returns the contents of one campaign. Reports any defect of the files in one line."""
    try:
        told = _campaign(path)
        json.dumps(told, ensure_ascii=False, allow_nan=False).encode()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise Failure(
            f"{path}: not as scripts/bench and 'timerbench run' write results "
            f"({type(error).__name__}: {error}); measure again"
        ) from None
    return told


def _campaign(path: Path) -> dict[str, Any]:
    if path.suffix == HISTORY:
        return _of_history(history.load(path))
    [file] = read_files([path])
    grid: Grid[Any]
    suite = next((name for name in file.suites if name in realtime_results.SUITES), "")
    if suite:
        services = realtime_results.load_files([file])
        told: dict[str, Any] = {"kind": suite, **_of_services(services)}
        grid = services
    elif survival.SUITE in file.suites:
        survived = survival.load_files([file])
        told = {"kind": "survival", **_of_survival(survived)}
        grid = survived
    else:
        replays = costs.load_files([file])
        told = {"kind": "costs", "passes": _of_passes(file.path), **_of_replays(replays)}
        grid = replays
    return {
        "name": path.name if path.is_dir() else path.stem,
        "source": str(path),
        "suites": file.suites,
        "remake": remake_line(grid.facts),
        "machine": machine_line(grid.facts),
        "facts": grid.facts
        | {key: str(file.context[key]) for key in MORE_FACTS if key in file.context},
        "caches": _caches(file),
        "limits": file.context.get("limits", {}),
        "interrupted": grid.interrupted,
        "scenarios": [{"name": name, "item": grid.item(name)} for name in grid.scenarios],
        "backends": [
            _backend(name, grid.precision(name), grid.looks[name], grid.summary(name))
            | _follows(grid, name)
            for name in grid.backends
        ],
        **told,
    }


def _backend(name: str, precision: str, look: Look, summary: str) -> dict[str, Any]:
    return {
        "name": name,
        "precision": precision,
        "family": family(name),
        "look": dataclasses.asdict(look),
        "summary": summary,
        **told_of(name),
    }


def _follows(grid: Grid[Any], backend: str) -> dict[str, str]:
    """Returns what the backend follows as the program told it: of a library, with the version that
    was measured. Nothing of old files, for which its header tells it.
    """
    follows = grid.described.get(backend, {}).get("follows")
    return {"follows": str(follows)} if follows else {}


def _of_replays(results: costs.Results) -> dict[str, Any]:
    return {
        "cells": _rows(results, results.cells, _costs),
        "variants": {
            name: _rows(results, cells, _costs) for name, cells in results.variants.items()
        },
        "sureness": sureness_lines(results),
        "inputs": {
            name.rpartition("/")[0]: load | {"of": _generators().get(name.partition("/")[0], "")}
            for name, facts in results.inputs.items()
            if not name.endswith("/remote") and (load := _load(facts))
        },
    }


def _load(facts: dict[str, Any]) -> dict[str, Any]:
    """Returns what identifies a load; nothing if the trace could not be made."""
    if "failure" in facts or "peak_pending" not in facts:
        return {}
    delays = facts.get("delay_ns") or {}
    told = {key: facts.get(key, 0) for key in ("peak_pending", "cancelled_share", "moved_share")}
    told |= {"delay": delays.get("p50", 0), "unit": facts.get("unit_ns", 0)}
    load: dict[str, Any] = {key: float(value) for key, value in told.items()}
    return load | {"parameters": dict(facts.get("parameters") or {})}


@cache
def _generators() -> dict[str, str]:
    """Returns the generator of each workload that a suite derives from one."""
    suites = [tomllib.loads(path.read_text()) for path in SUITE_FILES]
    workloads = [workload for suite in suites for workload in suite.get("workload", [])]
    return {one["name"]: one["of"] for one in workloads if "of" in one}


def _costs(cell: costs.Cell) -> list[Any]:
    """Returns ns per item by round; adds the rounds' numbers only if they are not 0, 1, 2 and so
    on.
    """
    rounds = [] if cell.rounds == list(range(len(cell.costs))) else [cell.rounds]
    return [[_rounded(cost, 7) for cost in cell.costs], cell.items, *rounds]


def _of_passes(path: Path) -> dict[str, Any]:
    """Returns the contents of the other passes in a campaign's folder."""
    told: dict[str, Any] = {}
    if path.name != passes.PASSES["total"]:
        return told
    for name, file in passes.PASSES.items():
        beside = path.with_name(file)
        if name == "total" or not is_there(beside):
            continue
        grid = passes.load_pass(beside)
        most = TIMELINE_POINTS // max(1, len(grid.cells))
        longest = max(SHORTEST_TIMELINE, min(LONGEST_TIMELINE, most))

        def figures(cell: passes.PassCell, longest: int = longest) -> list[Any]:
            spectra = _spectra(cell, list(cell.histograms))
            timeline = _thinned(cell.timeline, longest)
            return [_counters(cell, list(cell.counters)), *([spectra, timeline] if spectra else [])]

        told[name] = _rows(grid, grid.cells, figures)
    return told


def _of_services(results: realtime_results.RealtimeResults) -> dict[str, Any]:
    counters, durations = COUNTERS[results.suite], DURATIONS[results.suite]
    figure = realtime_results.FIGURES[results.suite]

    def figures(cell: realtime_results.RealtimeCell) -> list[Any]:
        doubts = [cell.saturated, int(cell.cut_short)]
        return [_counters(cell, list(counters)), _spectra(cell, durations), doubts]

    return {
        "cells": _rows(results, results.cells, figures),
        "variants": {
            name: _rows(results, cells, figures) for name, cells in results.variants.items()
        },
        "answers": {name: answer_lines(results, [name]) for name in results.scenarios},
        "sureness": noise_lines(results.as_costs(figure), figure),
        "counters": counters,
        "durations": durations,
        "size_is": {name: results.size_is(name) for name in results.scenarios},
    }


def _of_survival(results: survival.SurvivalResults) -> dict[str, Any]:
    """Returns a row for each fault and queue; its size is the number of runs."""
    return {
        "cells": [_row_of_fate(results, fate) for fate in results.fates.values()],
        "answers": survival_table.answer_lines(results),
        "sureness": [],
        "counters": survival.SUMS
        | {name: f"{title}, s" for name, title in survival.MAXIMA.items()}
        | {survival.MEDIAN_SILENT: "silent in the median run, s"}
        | survival.RUNS,
        "size_is": {name: "runs" for name in results.scenarios},
        "happens": {name: results.summary_of(name) for name in results.scenarios},
        "verdicts": {verdict.name: verdict.value for verdict in survival.Verdict},
        "signs": _signs(results),
        "lines": survival.LINES,
    }


def _signs(results: survival.SurvivalResults) -> dict[str, str]:
    """Returns what the signs mean that occur."""
    said = {mark: f"the engine {promise}" for promise, mark in survival_table.MARKS.items()}
    said[survival_table.NO_START] = "it does not start again"
    found = "".join(map(survival_table.signs, results.fates.values()))
    return {mark: meaning for mark, meaning in said.items() if mark in found}


def _row_of_fate(results: survival.SurvivalResults, fate: survival.Fate) -> list[Any]:
    if not fate.has_figure:
        [size, *_] = results.sizes(fate.fault, fate.queue)
        return [fate.fault, size, fate.queue, None, fate.failure, 0, 0, fate.verdict.name]
    values: dict[str, float] = fate.sums | fate.maxima
    values |= {name: getattr(fate, name) for name in survival.RUNS}
    values[survival.MEDIAN_SILENT] = fate.median_silent
    counters = {name: [_rounded(value, 15)] for name, value in values.items()}
    run = fate.worst and {
        "step": _rounded(fate.worst.step, 4),
        "strikes": [
            [at if at is None else _rounded(at, 4) for at in both] for both in fate.worst.strikes
        ],
        "breach": fate.worst.breach,
        "no_start": fate.worst.no_start,
        "acknowledged": fate.worst.acknowledged,
        "lost": fate.worst.lost,
        "lines": fate.worst.lines,
    }
    told = {
        "verdict": fate.verdict.name,
        "promise": fate.promise,
        "signs": survival_table.signs(fate),
        "seed": str(fate.worst_seed),  # JavaScript's numbers are too short
        "repeat": fate.repeat_line,
        "run": run,
    }
    return [fate.fault, fate.runs, fate.queue, [counters, told]]


def _of_history(told: history.History) -> dict[str, Any]:
    """Returns a row for each cell, with its points: the number of the commit, the count, the time, and
    whether it is another count than before.
    """
    commits = told.commits
    places = {commit: place for place, (_, commit) in enumerate(commits)}
    latest = [told.latest(key) for key in told.points]
    changes = {(change.after.key, change.after.commit) for change in told.changes}
    drawn = looks(told.backends)

    def row(points: list[history.Point]) -> list[Any]:
        last = points[-1]
        series = [
            [places[one.commit], one.instructions, one.ns, (one.key, one.commit) in changes]
            for one in points
        ]
        counters = {
            "instructions": [last.instructions],
            "commits": [len(points)],
            "changes": [sum(bool(is_change) for *_, is_change in series)],
        }
        return [last.workload, last.size, last.backend, [counters, {"points": series}]]

    precisions = {one.backend: one.precision for one in latest}
    items = {one.workload: one.item for one in latest}
    return {
        "kind": "history",
        "name": told.path.stem,
        "source": str(told.path),
        "remake": "scripts/compare --history",
        "machine": f"{told.extent}, by valgrind, which counts alike on all machines",
        "facts": {"processor": "any machine"},
        "caches": [],
        "limits": {},
        "interrupted": 0,
        "scenarios": [{"name": name, "item": items[name]} for name in told.workloads],
        "backends": [_backend(name, precisions[name], drawn[name], "") for name in told.backends],
        "cells": [row(points) for points in told.points.values()],
        "answers": history_table.answer_lines(told),
        "sureness": [],
        "counters": {
            "instructions": "instructions an item, latest",
            "commits": "commits at which they were counted",
            "changes": "changes",
        },
        "size_is": {},
        "commits": [{"name": commit, "date": date} for date, commit in commits],
        "changes": [
            {
                "workload": change.after.workload,
                "size": change.after.size,
                "backend": change.after.backend,
                "commit": places[change.after.commit],
                "from": change.before.commit,
                "before": change.before.instructions,
                "after": change.after.instructions,
                "times": history_table.times_of(change),
            }
            for change in told.changes
        ],
        "notable": history.NOTABLE,
    }


def _rows(grid: Grid[Any], cells: Mapping[Any, Any], figures: Any) -> list[Any]:
    """Returns for each cell its scenario, size, backend, figures or null, failure, number of
    disturbed rounds and number of rounds that took too long; without trailing zeros.
    """
    rows = []
    for (scenario, size, backend), cell in cells.items():
        failure = cell.failure or ("" if cell.is_measured else "error: no figure")
        row = [scenario, size, backend, figures(cell) if cell.has_figure else None]
        row += [failure, cell.noisy, len(cell.timeouts)]
        while not row[-1] and len(row) > 4:
            row.pop()
        rows.append(row)
    return rows


def _counters(cell: CounterCell, names: Sequence[str]) -> dict[str, Any]:
    """Returns the values of each round."""
    return {
        name: [_rounded(value, 4) for value in values]
        for name in names
        if name not in UNTOLD and (values := cell.values(name))
    }


# Members of every entry of Google Benchmark.
UNTOLD = {
    *("family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads"),
    *("iterations", "real_time", "cpu_time", "round"),
}


def _spectra(cell: CounterCell, names: Sequence[str]) -> dict[str, list[float]]:
    """Returns, by quantity, the durations that the shares BEYOND of all samples exceed."""
    return {
        name: list(_quantiles(distribution))
        for name in names
        if (distribution := cell.distribution(name))
    }


def _quantiles(distribution: Distribution) -> Iterator[float]:
    """Interpolates geometrically, because buckets are logarithmic. Ends when there are too few
    samples.
    """
    bucket = 1
    for share in BEYOND:
        if share < 0.5 and share * distribution.count < ENOUGH:
            return
        rank = (1 - share) * distribution.count
        while distribution.below[bucket] < rank or distribution.below[bucket] == 0:
            bucket += 1
        low, high = distribution.edges[bucket - 1 : bucket + 1]
        before, until = distribution.below[bucket - 1 : bucket + 1]
        part = (rank - before) / (until - before) if until > before else 1.0
        inside = low * (high / low) ** part if low > 0 else low + (high - low) * part
        yield _rounded(inside, 3)


def _thinned(timeline: dict[str, list[float]], most: int) -> list[list[float]]:
    """Returns the columns op, max_ns, fired and moved. Keeps the longest of each stretch, so that
    no peak is lost.
    """
    if not timeline:
        return []
    stretch = math.ceil(len(timeline["op"]) / most)
    costs_ = timeline["max_ns"]
    kept = [
        max(range(start, min(start + stretch, len(costs_))), key=costs_.__getitem__)
        for start in range(0, len(costs_), max(1, stretch))
    ]
    return [
        [int(column[i]) if name == "op" else _rounded(column[i], 3) for i in kept]
        for name, column in timeline.items()
    ]


def _caches(file: ResultFile) -> list[dict[str, Any]]:
    """Returns the data caches, by level."""
    caches = file.context.get("caches", [])
    return [
        {"name": f"L{cache['level']}", "bytes": cache["size"]}
        for cache in (caches if isinstance(caches, list) else [])
        if isinstance(cache, dict) and cache.get("type") in ("Data", "Unified")
    ]


def _rounded(value: float, digits: int) -> float:
    """Rounds to significant digits, which saves room."""
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
