"""Says where the instructions of a backend changed from commit to commit.

  scripts/compare --history                              all that changed by more than 1 %
  scripts/compare --history --backends=ring_512,scan --workloads=churn
  scripts/compare --history --add=results/local/full     adds a campaign, then says the same
  scripts/compare --history my_history.jsonl

The history is results/history.jsonl, or the FILE given: a line for each backend, workload and commit,
with the instructions of an item, which do not depend on the machine, and the time of the same
campaign, which does. --add needs a campaign of one commit without changes, measured with
--passes=total,instructions (or with instructions alone).
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from commits import date_of
from console import ArgumentParser, say
from files import path_argument, shown
from reports import matching, names
from results import history
from tables import history as table
from words import counted

HISTORY = Path(__file__).resolve().parents[2] / "results" / "history.jsonl"


def main(words: Sequence[str]) -> int:
    arguments = _parse(words)
    if arguments.add:
        _add(arguments.file, arguments.add)
    told = history.load(arguments.file)
    told = told.keep(
        set(matching("backend", arguments.backends, told.backends)),
        set(matching("workload", arguments.workloads, told.workloads)),
    )
    if arguments.markdown or not sys.stdout.isatty():
        say(table.markdown(told).rstrip())
    else:
        table.print_on_terminal(told)
    return 0


def _add(file: Path, folder: Path) -> None:
    points = history.points_of(folder, date_of)
    there = history.add(file, points)
    known = f"; {there} were there already" if there else ""
    say(f"Added {counted(len(points) - there, 'line')} to {shown(file)}{known}.\n")


def _parse(words: Sequence[str]) -> argparse.Namespace:
    parser = ArgumentParser(
        prog="scripts/compare --history",
        description=__doc__,
    )
    parser.add_argument(
        "file",
        nargs="?",
        type=path_argument,
        default=HISTORY,
        metavar="FILE",
        help="the history (default: results/history.jsonl)",
    )
    parser.add_argument(
        "--add", type=path_argument, metavar="FOLDER", help="first add this campaign to the history"
    )
    for name in ("backends", "workloads"):
        parser.add_argument(
            f"--{name}",
            type=names,
            default=(),
            metavar="LIST",
            help=f"{name} to show, separated by commas; * and ? stand for letters (default: all)",
        )
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    return parser.parse_args(words)
