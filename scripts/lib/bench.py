"""Measures a suite: installs what is missing, builds, verifies, runs, plots, and prints a table.

Results go to results/local/DATE-TIME-SUITE, or to the DIR of --out: results.json, table.md and the
figures. Ctrl-C keeps what has been measured; a second one ends at once.

Further options are those of 'timerbench run' and narrow the suite, for example
  scripts/bench --backends=ring,kafka_wheel --sizes=1k,1M
  scripts/bench full --workloads=churn --benchmark_repetitions=9
See build/release/timerbench run --help, and timerbench list for what there is to choose from.
The measuring program is bound to the last processor, so that the private redis-server and this
script are not in its way; TIMERBENCH_CPU chooses another processor, or none if it is empty.
"""

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from console import ArgumentParser, Failure, Progress, UsageError, duration, run_main
from files import replacing
from plot import print_table, write_report
from results import load

ROOT = Path(__file__).resolve().parents[2]
TIMERBENCH = ROOT / "build" / "release" / "timerbench"

# What the script chooses itself, or what would leave it without results.
NOT_TAKEN = ("--benchmark_out", "--benchmark_format", "--benchmark_list_tests")

VERIFY_SECONDS = 0.2  # of random traces, for each backend
