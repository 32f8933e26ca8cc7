"""What a user of scripts/bench may type, and what it means."""

import argparse
import math
import re
from pathlib import Path

from campaign.journal import choice_of
from console import ArgumentParser
from files import path_argument
from results.passes import PASSES
from results.survival import SUITE as FAULTS

# Flags of timerbench run that this script sets itself, and what to use instead.
NOT_TAKEN = {
    "--benchmark_repetitions": "give --rounds",
    "--benchmark_filter": "give --backends, --workloads and --sizes",
    "--benchmark_out": "results go to --out",
    "--benchmark_format": "results go to --out",
    "--benchmark_list_tests": "it is for build/release/timerbench run",
    "--cache": "it is for build/release/timerbench run",
}


def parse(argv: list[str], description: str) -> tuple[argparse.Namespace, list[str]]:
    """Returns the arguments of scripts/bench, and the options for timerbench: none if the campaign in --out
    goes on. A suite must come first. `description`: what --help says first.
    """
    parser = ArgumentParser(
        prog="scripts/bench",
        usage="scripts/bench [SUITE] [--out DIR] [--rounds N | --budget TIME] [OPTION]...",
        description=description,
    )
    parser.add_argument(
        "--suite",
        metavar="SUITE",
        help="one of those above or a TOML file (default: quick); --suite= may be left out",
    )
    parser.add_argument(
        "--backends",
        metavar="LIST",
        help="backends or families, separated by commas (default: all)",
    )
    parser.add_argument(
        "--process",
        action="append",
        default=[],
        metavar="COMMAND",
        help="also measures another program that replays traces, see docs/processes.md; may be given "
        "several times",
    )
    parser.add_argument(
        "--seed",
        type=_seed,
        metavar="N",
        help="seed of traces and loads (default: 1). Of the suite faults, that of the first run: "
        "--sizes=1 with a seed of the table repeats one run",
    )
    parser.add_argument("--out", type=path_argument, metavar="DIR", help="folder for the results")
    parser.add_argument(
        "--rounds",
        type=_count,
        metavar="N",
        help="measurements of each cell (default: the suite's)",
    )
    parser.add_argument(
        "--budget",
        type=_time,
        metavar="TIME",
        help="such as 90s, 10m or 2h: time for making traces, verifying and measuring. Measures each "
        "cell once in each pass, and then the workloads and sizes whose intervals are widest",
    )
    parser.add_argument(
        "--passes",
        type=_passes,
        default=["total"],
        metavar="LIST",
        help="what to measure once besides the total cost: tails (how long single calls take), memory, "
        "instructions (counted by valgrind, up to 10 000 timers), counters (cycles and misses, where "
        "they are readable), or all",
    )
    parser.add_argument(
        "--memory",
        type=_bytes,
        metavar="SIZE",
        help="limit for a cell, such as 8G; a cell that exceeds it is oom (default: four fifths of what "
        "is free)",
    )
    parser.add_argument(
        "--cell-seconds",
        type=_positive,
        metavar="S",
        help="time limit for the process of a cell; it is then killed as a timeout (default: the "
        "suite's)",
    )
    parser.add_argument(
        "--retry",
        action="store_true",
        help="measure failed cells again (default: only those that were unavailable, or have more time "
        "or memory now)",
    )
    parser.add_argument(
        "--processor",
        type=int,
        metavar="N",
        help="processor that measures (default: the last one); Redis and services are not bound",
    )
    parser.add_argument(
        "--jobs",
        type=_count,
        default=1,
        metavar="N",
        help=f"measure so many cells of the suite {FAULTS} at a time, whose runs mostly wait; timers "
        "fire later then (default: 1)",
    )
    parser.add_argument(
        "--slow-down",
        type=_positive,
        metavar="PERCENT",
        help="measure the controls a third time, slowed down by this much, to see whether "
        "scripts/compare finds it",
    )
    if argv and not argv[0].startswith("-"):
        argv = [f"--suite={argv[0]}", *argv[1:]]
    arguments, options = parser.parse_known_args(argv)
    for option in options:
        for flag, advice in NOT_TAKEN.items():
            if option.startswith(flag):
                parser.error(f"{option.partition('=')[0]} is not for this script; {advice}")
    if arguments.rounds and arguments.budget:
        parser.error("give --rounds or --budget, not both")
    for option in ("backends", "suite"):
        if getattr(arguments, option) == "":
            parser.error(f"--{option}: is empty; leave it out for the usual")
    choice = options
    if arguments.backends:
        choice = [*choice, f"--backends={arguments.backends}"]
    if arguments.seed is not None:
        choice = [*choice, f"--seed={arguments.seed}"]
    choice = [*choice, *(f"--process={command}" for command in arguments.process)]
    suite = arguments.suite
    is_begun = not choice and not suite and arguments.out and choice_of(arguments.out)
    if is_begun:
        return arguments, []
    if suite == FAULTS and arguments.budget:
        parser.error(
            f"--budget is not for the suite {FAULTS}, whose runs have no interval; give --rounds"
        )
    if suite and ("/" in suite or suite.endswith(".toml")):
        suite = str(Path(suite).resolve())
    return arguments, [f"--suite={suite or 'quick'}", *choice]


def _passes(text: str) -> list[str]:
    """Returns the passes; the total cost is always included and comes first."""
    names = list(PASSES) if text == "all" else text.split(",")
    if unknown := [name for name in names if name not in PASSES]:
        raise argparse.ArgumentTypeError(
            f"'{unknown[0]}' is not one of {', '.join(PASSES)} and all"
        )
    return [name for name in PASSES if name == "total" or name in names]


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 to 10 000")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**64:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
    return int(text)


def _time(text: str) -> float:
    """Returns seconds."""
    units = {"s": 1, "m": 60, "min": 60, "h": 3600}
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|min|h)", text)
    if not match or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time such as 90s, 10m or 2h")
    return float(match[1]) * units[match[2]]


def _bytes(text: str) -> int:
    units = {"M": 2**20, "G": 2**30}
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([MG])", text)
    if not match or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 500M or 8G")
    return int(float(match[1]) * units[match[2]])
