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
    while True:
        has_ended = program is not None and program.poll() is not None  # before the look
        if result := condition():
            return result
        if has_ended:
            raise AssertionError("it has ended before")
        if time.monotonic() > give_up:
            raise AssertionError(f"has not come to be within {seconds:g} s")
        time.sleep(0.01)
