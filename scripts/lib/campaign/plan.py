"""What is to be measured: the choice of the user, as 'timerbench prepare' understands it."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console import Failure
from grid import AGAIN, SLOWER


@dataclass(frozen=True)
class Cell:
    """One contender on one input."""

    measured_name: str  # SUITE/WORKLOAD/SIZE/BACKEND, as timerbench calls it
    variant: str = ""  # AGAIN or SLOWER, behind the name

    @property
    def name(self) -> str:
        return self.measured_name + self.variant

    @property
    def backend(self) -> str:
        """Who is measured, whether or not again."""
        return self.measured_name.rsplit("/", 1)[1]


@dataclass(frozen=True)
class Input:
    """A workload at a size: a trace, or several of different seeds; and who is to replay it."""

    workload: str
    size: int
    cells: tuple[Cell, ...]
    facts: dict[str, Any]  # what 'timerbench prepare' tells of it

    @property
    def failure(self) -> str:
        """Not empty: why there is no trace."""
        return str(self.facts.get("failure", ""))


@dataclass(frozen=True)
class Plan:
    """All inputs, in the order of the suite, smaller sizes of a workload before larger ones."""

    choice: tuple[str, ...]  # options of timerbench run
    facts: dict[str, Any]
    inputs: tuple[Input, ...]

    @property
    def suite(self) -> str:
        return str(self.facts["suite"])

    @property
    def is_replayed(self) -> bool:
        """In virtual time, by one thread; else on the wall clock."""
        return bool(self.facts["kind"] == "replays")

    @property
    def rounds(self) -> int:
        """That the suite asks for."""
        return int(self.facts["repetitions"])

    def precision(self, backend: str) -> str:
        return str(self.facts["backends"].get(backend, {}).get("precision", "none"))

    def is_remote(self, backend: str) -> bool:
        return bool(self.facts["backends"].get(backend, {}).get("remote"))

    @property
    def cells(self) -> list[Cell]:
        return [cell for one in self.inputs for cell in one.cells]

    @property
    def backends(self) -> list[str]:
        return list(dict.fromkeys(cell.backend for cell in self.cells))


def prepare(timerbench: Path, choice: Sequence[str], cache: Path) -> Iterator[dict[str, Any]]:
    """Lines of 'timerbench prepare': what all has in common, then each input as its trace is made.

    Raises Failure, without a text if timerbench has said what is wrong.
    """
    command = [str(timerbench), "prepare", *choice, f"--cache={cache}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        try:
            for line in program.stdout:
                yield json.loads(line)
        except BaseException:
            program.kill()
            raise
    if program.returncode != 0:
        raise SystemExit(program.returncode)


def make_plan(
    choice: Sequence[str],
    lines: Sequence[dict[str, Any]],
    twins: Sequence[str],
    variants: Sequence[str] = (AGAIN,),
) -> Plan:
    """`twins`: backends of which variants are measured beside themselves."""
    facts, *inputs = lines
    plan = Plan(tuple(choice), facts, tuple(_input(line, twins, variants) for line in inputs))
    if not plan.cells:
        raise Failure("the options leave no cell to measure; is --backends too narrow?")
    return plan


def _input(line: dict[str, Any], twins: Sequence[str], variants: Sequence[str]) -> Input:
    cells = []
    for name in line["cells"]:
        cells.append(Cell(name))
        if cells[-1].backend in twins:
            cells += [Cell(name, variant) for variant in variants]
    facts = {key: value for key, value in line.items() if key != "cells"}
    return Input(line["workload"], int(line["size"]), tuple(cells), facts)
