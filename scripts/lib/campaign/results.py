"""Writes a journal as Google Benchmark's JSON, with one repetition for each round."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from campaign.journal import Journal, Line
from campaign.plan import Cell, Plan
from campaign.runner import Runner
from files import replacing
from results.grid import FORMAT
from results.passes import PASSES

# Facts of a backend that readers see.
DESCRIBING = ("precision", "summary", "follows", "licence", "remote")


# The line of a cell that no round has reached yet.
UNREACHED: Line = {"round": 0, "status": "interrupted", "failure": "interrupted: not reached"}


def write_results(
    folder: Path,
    plan: Plan,
    runner: Runner,
    journal: Journal,
    facts: dict[str, Any],
) -> None:
    """Writes the file of a pass; that of the total cost is results.json. Writes distributions, if
    there are any, to NAME.distributions.json.gz.
    """
    path = folder / PASSES[runner.pass_]
    entries = []
    distributions = {}
    for index, (cell, lines) in enumerate(_rounds(plan, runner)):
        entries += [_entry(cell, index, line, lines) for line in lines]
        if not lines and runner.pass_ == "total":
            entries.append(_entry(cell, index, UNREACHED, [UNREACHED]))
        histograms = [one for line in lines for one in line.get("distributions", [])]
        if histograms:
            distributions[cell.name] = histograms
    context: dict[str, Any] = next((line["context"] for line in journal.of_kind("context")), {})
    # A run of one cell checks the machine only briefly; the plan's check is thorough.
    judged = {key: plan.facts["machine"][key] for key in ("grade", "grade_reasons")}
    context = context | judged | {key: str(value) for key, value in facts.items()}
    context["command"] = _remake(str(context["command"]), journal)
    context["format"] = str(FORMAT)
    if not plan.is_replayed:
        context["load"] = plan.load
    context["limits"] = next((line["limits"] for line in journal.of_kind("run")), {})
    context["backends"] = {
        name: {key: backend[key] for key in DESCRIBING if key in backend}
        for name, backend in plan.facts["backends"].items()
    }
    context["inputs"] = {
        f"{one.workload}/{one.size}/{one.facts.get('for', 'both')}": {
            key: value for key, value in one.facts.items() if key not in ("workload", "size", "for")
        }
        for one in plan.inputs
    }
    context["rounds"] = max((line["round"] + 1 for line in runner.chosen.values()), default=0)
    with replacing(path) as partial:
        partial.write_text(_results_text(context, entries), encoding="utf-8")
    if distributions or not plan.is_replayed:
        beside = path.with_suffix(".distributions.json.gz")
        with replacing(beside) as partial:  # no time stamp: equal content gives an equal file
            partial.write_bytes(gzip.compress(_compact(distributions).encode(), mtime=0))
        beside.with_suffix("").unlink(missing_ok=True)


def entries_so_far(plan: Plan, runner: Runner) -> list[dict[str, Any]]:
    """Returns the entries of the cells that have been measured."""
    return [
        _entry(cell, index, line, lines)
        for index, (cell, lines) in enumerate(_rounds(plan, runner))
        for line in lines
    ]


def _rounds(plan: Plan, runner: Runner) -> Iterator[tuple[Cell, list[Line]]]:
    """Yields each cell with the lines of its rounds; for a failed cell, only the failure."""
    by_cell: dict[str, list[Line]] = {}
    for (name, _), line in sorted(runner.chosen.items(), key=lambda item: item[0][1]):
        by_cell.setdefault(name, []).append(line)
    for cell in plan.cells:
        lines = by_cell.get(cell.name, [])
        failed = [line for line in lines if line.get("failure") and line["status"] != "timeout"]
        yield cell, failed[:1] or lines


def _remake(command: str, journal: Journal) -> str:
    """Returns the commands that repeat the choice to its present extent: the last number of rounds, and
    each budget beside it, with all passes.
    """
    if not command.startswith("scripts/bench"):
        return command
    measured = {line.get("pass", "total") for line in journal.of_kind("cell")}
    passes = ",".join(name for name in PASSES if name in measured and name != "total")
    if passes:
        command += f" --passes={passes}"
    extents = [line.get("extent", "") for line in journal.of_kind("run")]
    rounds = [extent for extent in extents if not extent.startswith("--budget")]
    budgets = [extent for extent in extents if extent.startswith("--budget")]
    kept = [*rounds[-1:], *dict.fromkeys(budgets)]
    return " && ".join(f"{command} {extent}".rstrip() for extent in kept)


def _entry(cell: Cell, index: int, line: Line, lines: list[Line]) -> dict[str, Any]:
    """Returns an entry with Google Benchmark's numbering of repetitions. Own members come last."""
    name = cell.name + ("/manual_time" if "entry" not in line else "")
    entry = dict(line.get("entry", {"name": name, "run_name": name}))
    if "entry" in line:
        entry["name"] = entry["name"].replace(cell.measured_name, cell.name, 1)
        entry["run_name"] = entry["run_name"].replace(cell.measured_name, cell.name, 1)
    entry |= {
        "family_index": index,
        "per_family_instance_index": 0,
        "run_type": "iteration",
        "repetitions": len(lines),
        "repetition_index": lines.index(line),
        "threads": 1,
        "round": line["round"],
        "status": line["status"],
    }
    if "failure" in line:
        entry |= {"error_occurred": True, "error_message": line["failure"], "iterations": 0}
        entry |= {"real_time": 0.0, "cpu_time": 0.0, "time_unit": "ns"}
    return entry


def _results_text(context: dict[str, Any], entries: list[dict[str, Any]]) -> str:
    """Writes one entry per line: one member per line would take megabytes."""
    lines = ",\n".join(map(_compact, entries))
    return f'{{\n"context": {json.dumps(context, indent=1)},\n"benchmarks": [\n{lines}\n]\n}}\n'


def _compact(content: Any) -> str:
    return json.dumps(content, separators=(",", ":"))
