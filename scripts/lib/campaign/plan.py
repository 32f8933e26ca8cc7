"""The plan of a campaign: the user's choice, expanded by 'timerbench prepare'."""

import contextlib
import json
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign.process import tied
from console import Failure
from results.grid import AGAIN

LONGEST_END = 5  # seconds, to remove a trace that is half written

# Options that say which cells are measured, not what the load is; and what a plan tells by itself.
CHOOSING = {
    *("--suite", "--workloads", "--sizes", "--backends", "--process", "--trace"),
    *("--seed", "--seconds"),
}


@dataclass(frozen=True)
class Build:
    """A program that measures, and what it printed about the plan."""

    timerbench: Path
    facts: dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One contender on one input."""

    measured_name: str  # SUITE/WORKLOAD/SIZE/BACKEND, as timerbench calls it
    variant: str = ""  # AGAIN, SLOWER or the name of a build, appended to the name

    @property
    def name(self) -> str:
        return self.measured_name + self.variant

    @property
    def backend(self) -> str:
        """The backend's name, without the variant."""
        return self.measured_name.rsplit("/", 1)[1]

    @property
    def size(self) -> int:
        return int(self.measured_name.rsplit("/", 2)[1])


@dataclass(frozen=True)
class Input:
    """A workload at a size: one trace, or several with different seeds; and the cells that replay
    it.
    """

    workload: str
    size: int
    cells: tuple[Cell, ...]
    facts: dict[str, Any]  # from 'timerbench prepare'

    @property
    def failure(self) -> str:
        """The reason why there is no trace; empty if there is one."""
        return str(self.facts.get("failure", ""))


@dataclass(frozen=True)
class Plan:
    """All inputs in the order of the suite; smaller sizes of a workload come first."""

    choice: tuple[str, ...]  # options of timerbench run
    facts: dict[str, Any]  # of the first build
    inputs: tuple[Input, ...]
    builds: dict[str, Build]  # by variant; the first also measures AGAIN and SLOWER

    @property
    def suite(self) -> str:
        return str(self.facts["suite"])

    @property
    def is_replayed(self) -> bool:
        """True for replays in virtual time on one thread, false for the wall clock."""
        return bool(self.facts["kind"] == "replays")

    @property
    def rounds(self) -> int:
        """The number of rounds that the suite asks for."""
        return int(self.facts["rounds"])

    def precision(self, backend: str) -> str:
        return str(self.facts["backends"].get(backend, {}).get("precision", "none"))

    def is_remote(self, backend: str) -> bool:
        return bool(self.facts["backends"].get(backend, {}).get("remote"))

    def process_options(self, backend: str) -> list[str]:
        """The option that names the program of a backend, if the user's choice names it."""
        return process_options(self.choice, self.facts["backends"].get(backend, {}))

    @property
    def load(self) -> str:
        """The options that make a load on the wall clock what it is. Figures are comparable only if
        these agree; of replays the hashes of the traces tell.
        """
        options = [one for one in self.choice if one.partition("=")[0] not in CHOOSING]
        return " ".join(sorted([f"--seconds={self.facts['seconds']:g}", *options]))

    def build(self, cell: Cell) -> Build:
        """The build that measures the cell."""
        return self.builds.get(cell.variant) or next(iter(self.builds.values()))

    @property
    def cells(self) -> list[Cell]:
        return [cell for one in self.inputs for cell in one.cells]

    @property
    def backends(self) -> list[str]:
        return list(dict.fromkeys(cell.backend for cell in self.cells))


def process_options(choice: Sequence[str], facts: Mapping[str, Any]) -> list[str]:
    """Returns the option that names the program of a backend with these facts, if the choice has it.
    A program that was built with timerbench needs none.
    """
    option = f"--process={facts.get('process', {}).get('command')}"
    return [option] if option in choice else []


def prepare(timerbench: Path, choice: Sequence[str], cache: Path) -> Iterator[dict[str, Any]]:
    """Yields the lines of 'timerbench prepare': the common facts first, then each input when its
    trace is ready.

    Raises Failure, with an empty text if timerbench has already printed the error.
    """
    command = tied(timerbench, "prepare", *choice, f"--cache={cache}")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        is_cut = False
        try:
            for line in program.stdout:
                yield json.loads(line)
        except ValueError:  # it ended within a line
            is_cut = True
            program.kill()
        except BaseException:
            program.terminate()  # it removes what it has written of a trace
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(LONGEST_END)
            program.kill()
            raise
    code = program.returncode
    if code < 0 or is_cut:
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        raise Failure(
            f"timerbench prepare ended too early ({how}); if memory was short, choose smaller --sizes"
        )
    if code > 0:
        raise SystemExit(code)


def make_plan(
    choice: Sequence[str],
    told: Mapping[str, tuple[Path, Sequence[dict[str, Any]]]],
    twins: Sequence[str],
    variants: Sequence[str] = (AGAIN,),
) -> Plan:
    """Makes the plan. `told`: the programs that measure and their output, by the variant of their
    cells.

    `twins`: backends that the first program also measures as `variants`. Raises Failure if there is
    nothing to measure.
    """
    builds = {variant: Build(path, lines[0]) for variant, (path, lines) in told.items()}
    by_build = {
        variant: {_key(line): line for line in lines[1:]} for variant, (_, lines) in told.items()
    }
    first = next(iter(builds))
    inputs = []
    for key, line in by_build[first].items():
        others = {variant: lines.get(key, {}) for variant, lines in by_build.items()}
        if any(other.get("hashes") != line.get("hashes") for other in others.values()):
            continue  # the generator differs between the builds, so their figures would not compare
        cells = []
        for name in line["cells"]:
            cells += [
                Cell(name, variant)
                for variant in builds
                if name in others[variant].get("cells", [])
            ]
            if cells and cells[-1].backend in twins:
                cells += [Cell(name, variant) for variant in variants]
        facts = {key: value for key, value in line.items() if key != "cells"}
        inputs.append(Input(line["workload"], int(line["size"]), tuple(cells), facts))
    if not any(one.cells for one in inputs):
        raise Failure(
            "the options leave no cell to measure; is --backends too narrow?"
            if len(builds) == 1
            else "the builds make different traces of the same workloads: nothing to compare"
        )
    return Plan(tuple(choice), builds[first].facts, tuple(inputs), builds)


def _key(line: dict[str, Any]) -> tuple[str, int, str]:
    return line["workload"], int(line["size"]), line.get("for", "both")
