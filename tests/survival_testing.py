"""Shared by the tests of the suite faults: made-up results of three queues."""

import json
from pathlib import Path
from typing import Any

SAFE, LOSSY, BROKEN = "sqlite_full", "redis_everysec", "redis_always"
WHY = "acknowledged timer 17 never fired"
NO_START = "redis-server does not start again: Bad file format reading the append only file"

CONTEXT: dict[str, Any] = {
    "processor": "Test 1000",
    "num_cpus": "2",
    "suite": "faults",
    "command": "scripts/bench faults",
    "backends": {
        SAFE: {"precision": "keeps all", "summary": "SQLite"},
        LOSSY: {"precision": "may lose the latest", "summary": "Redis"},
        BROKEN: {"precision": "keeps all", "summary": "Redis"},
    },
    "inputs": {
        "power_cut/5/both": {"summary": "only what has reached the disk is there afterwards"},
        "engine_stopped/5/both": {"summary": "the server is stopped for 5 s (SIGSTOP) and goes on"},
    },
}


def survived(
    fault: str, queue: str, promise: str = "keeps all", **counters: float
) -> dict[str, Any]:
    """The entry of one round of five runs."""
    worst = counters.get("worst_seed", 1)
    usual: dict[str, float] = {
        **{
            "runs": 5,
            "breaches": 0,
            "no_starts": 0,
            "not_back": 0,
            "lossy": 0,
            "median_silent_seconds": 0.1,
            "acknowledged": 2100,
            "lost": 0,
            "fired_twice": 0,
        },
        **{"fired_without_acknowledgement": 0, "fired_after_cancel": 0, "failed_calls": 12},
        **{"latest_seconds": 0.25, "silent_seconds": 0.125},
        **dict.fromkeys(("worst_seed", "latest_seed", "silent_seed"), worst),
    }
    return {
        "name": f"faults/{fault}/5/{queue}/iterations:1/manual_time",
        "run_type": "iteration",
        "label": f"{promise}, per timer",
        **usual,
        **counters,
    }


def skipped(fault: str, queue: str, why: str) -> dict[str, Any]:
    return {
        "name": f"faults/{fault}/5/{queue}/manual_time",
        "error_occurred": True,
        "error_message": f"skipped: {why}",
    }


def timeline(seed: int = 1, lost: int = 0, breach: str = "", no_start: str = "") -> dict[str, Any]:
    """Nobody fires from 0.4 s to 0.8 s; `fired` has no entry in the last steps."""
    counts = [2] * 50
    return {
        "seed": seed,
        "breach": breach,
        "no_start": no_start,
        "acknowledged_timers": 100,
        "lost_timers": lost,
        "seconds": 20,
        "step_seconds": 0.02,
        "strikes": [[0.4, 0.8]],
        "asked": [3] * 50,
        "acknowledged": counts,
        "due": counts,
        "fired": [2] * 20 + [0] * 20 + [5] * 5,
    }


def results() -> list[dict[str, Any]]:
    """One queue keeps all, one loses what it may lose, and one breaks its promise."""
    return [
        survived("power_cut", SAFE),
        survived("power_cut", LOSSY, "may lose the latest", lost=90, worst_seed=3),
        survived("power_cut", BROKEN, fired_twice=4),
        skipped("engine_stopped", SAFE, "it has no server"),
        survived("engine_stopped", LOSSY, latest_seconds=5.5, silent_seconds=5.25),
        survived("engine_stopped", BROKEN, lost=7, lossy=2, breaches=2, worst_seed=4),
    ]


def timelines() -> dict[str, Any]:
    return {
        f"faults/power_cut/5/{SAFE}": [{"timeline": timeline()}],
        f"faults/power_cut/5/{LOSSY}": [{"timeline": timeline(3, lost=40)}],
        f"faults/engine_stopped/5/{BROKEN}": [{"timeline": timeline(4, lost=7, breach=WHY)}],
    }


def write(
    folder: Path, entries: list[dict[str, Any]], distributions: Any = None, **context: Any
) -> Path:
    """Writes results.json, and the time lines beside it if there are any; returns its path."""
    path = folder / "results.json"
    path.write_text(json.dumps({"context": CONTEXT | context, "benchmarks": entries}))
    if distributions is not None:
        path.with_suffix(".distributions.json").write_text(json.dumps(distributions))
    return path
