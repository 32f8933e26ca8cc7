"""Shared by the tests of the history: made-up points of three commits."""

from typing import Any

from results.history import Point

DATES = {"aaa": "2026-11-01T00:00:00", "bbb": "2026-11-02T00:00:00", "ccc": "2026-11-03T00:00:00"}


def point(commit: str, instructions: float, backend: str = "ring_512", **more: Any) -> Point:
    told = {"workload": "churn", "size": 10_000, "compiler": "GNU 12", "trace": "1234abcd"} | more
    return Point(DATES[commit], commit, backend=backend, instructions=instructions, **told)
