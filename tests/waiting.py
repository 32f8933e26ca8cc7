"""Waiting for what another process does."""

import subprocess
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def wait_for(
    condition: Callable[[], T], program: "subprocess.Popen[Any] | None" = None, seconds: float = 30
) -> T:
    """Returns what the condition says as soon as it holds.

    Fails if it does not hold within the time, or if the program that brings it about has ended.
    """
    give_up = time.monotonic() + seconds
    while not (result := condition()):
        if program and program.poll() is not None:
            raise AssertionError("it has ended before")
        if time.monotonic() > give_up:
            raise AssertionError(f"has not come to be within {seconds:g} s")
        time.sleep(0.01)
    return result
