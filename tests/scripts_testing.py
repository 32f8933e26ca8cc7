"""Shared by the tests of the scripts: a temporary folder, checks of a figure's layout, and bench.py
with a fake timerbench.
"""

import importlib
import json
import os
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text

from campaign.runner import Runner

# Tests may run under nohup, which ignores it for all that they start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def texts_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible()]


def drawn_texts(figure: Figure) -> Iterator[Text]:
    """Yields the visible texts; matplotlib also keeps tick labels outside of the limits."""
    texts = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        texts += [*axes.texts, axes.title]
        for axis, place in ((axes.xaxis, 0), (axes.yaxis, 1)):
            low, high = axis.get_view_interval()
            texts += [
                axis.label,
                *(
                    label
                    for label in axis.get_ticklabels()
                    if low <= label.get_position()[place] <= high
                ),
            ]
    yield from (text for text in texts if text.get_text())


def runner_of(suite: str, *options: str, **facts: Any) -> Runner:
    """A runner of a suite on the wall clock without a campaign: it knows commands and limits of cells."""
    plan = SimpleNamespace(
        suite=suite,
        facts={"suite": suite, "kind": "realtime", "backends": {}, **facts},
        choice=(f"--suite={suite}", *options),
        is_replayed=False,
        is_remote=lambda _: True,
        process_options=lambda _: [],
        build=lambda _: SimpleNamespace(timerbench=Path("timerbench")),
    )
    of_bench = SimpleNamespace(
        cache=Path("cache"), cell_seconds=None, memory=1, processor=None, slow_down=0
    )
    runner = Runner.__new__(Runner)
    runner.__dict__ |= {"_plan": plan, "_options": of_bench, "pass_": "total"}
    return runner


class Scratch(unittest.TestCase):
    """Tests with a temporary folder."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, entries: Any, name: str = "results.json", **facts: str) -> Path:
        context = {"processor": "Test 1000", "suite": "quick", "command": "scripts/bench", **facts}
        path = self.folder / name
        path.write_text(json.dumps({"context": context, "benchmarks": entries}))
        return path

    @staticmethod
    def run_script(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Runs the Python of scripts/NAME, in a fork."""
        path = str(ROOT / "scripts" / "lib" / f"{name}.py")

        def script() -> None:
            sys.argv = [path, *map(str, arguments)]
            runpy.run_path(path, run_name="__main__")

        importlib.import_module(name)  # once for all forks
        return subprocess.CompletedProcess([name, *arguments], *run_in_fork(script))

    def run_plot(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return self.run_script("plot", *arguments)

    def check_layout(self, name: str, figure: Figure) -> None:
        """Nothing is cut off or overlaps; no pixel is drawn for that."""
        figure.draw_without_rendering()
        boxes = {text: Text.get_window_extent(text) for text in drawn_texts(figure)}
        page = figure.bbox.padded(1)
        for text, box in boxes.items():
            self.assertTrue(
                page.contains(box.x0, box.y0) and page.contains(box.x1, box.y1),
                f"{name}: '{text.get_text()}' leaves the page",
            )
        inner = [box.padded(-1.5) for box in boxes.values()]
        low, high = (np.array([getattr(box, end) for box in inner]) for end in ("min", "max"))
        overlap = ((low[:, None] <= high) & (low <= high[:, None])).all(axis=2)  # of each two
        words = [text.get_text() for text in boxes]
        pairs = [(words[i], words[j]) for i, j in zip(*np.nonzero(np.triu(overlap, 1)))]
        self.assertEqual(pairs, [], f"{name}: texts overlap")
        plt.close(figure)


def run_in_fork(program: Callable[[], None]) -> tuple[int, str, str]:
    """Returns the exit code of the program and what it prints. A fork has the modules, which a new
    Python loads for half a second.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        pid = os.fork()
        if pid == 0:
            _run_and_exit(program, out, err)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        out.seek(0)
        err.seek(0)
        return code, out.read(), err.read()


def _run_and_exit(program: Callable[[], None], out: IO[str], err: IO[str]) -> NoReturn:
    code = 1
    try:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            program()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)  # lest the fork goes on with the tests


FAKE_TIMERBENCH = ROOT / "build" / "release" / "tests" / "fake_timerbench"


# Writes the table and draws nothing: to load matplotlib takes as long as all else in a short campaign.
WITHOUT_FIGURES = """
import sys, types

def write_report(report, folder):
    table = folder / "table.md"
    table.write_text(report.markdown())
    return [table]

sys.modules["plot"] = types.SimpleNamespace(write_report=write_report)
"""


def copy_fake_timerbench(path: Path, is_other: bool = False) -> None:
    """Copies it to the path. `is_other`: it counts as another build."""
    if not FAKE_TIMERBENCH.exists():
        raise FileNotFoundError(
            f"{FAKE_TIMERBENCH}: make it by: cmake --preset release && "
            "cmake --build --preset release --target fake_timerbench"
        )
    shutil.copy(FAKE_TIMERBENCH, path)
    if is_other:
        with path.open("ab") as file:
            file.write(b"other")


class BenchScratch(Scratch):
    """Runs bench.py with a fake timerbench; scripts/bench itself would build the real one.

    ACTS in the environment says how backends behave: ring_512=crash.
    """

    draws = False  # whether the figures are drawn

    def setUp(self) -> None:
        super().setUp()
        timerbench = self.folder / "timerbench"
        copy_fake_timerbench(timerbench)
        self.out = self.folder / "out"
        self.source = self.folder / "source"
        self.source.mkdir()
        self.limits: dict[int, int] = {}  # resource limits of the started process
        self.environment = {
            "PYTHONPATH": str(ROOT / "scripts" / "lib"),
            "SOURCE": f"{self.source}/",
        }
        for name in ("scan", "ring_512"):
            (self.source / name).write_text(f"// {name}")
        self.program = (
            "import os, sys, pathlib, console, bench\n"
            f"bench.TIMERBENCH = pathlib.Path({str(timerbench)!r})\n"
            "from campaign import verification\n"
            "verification.MOST_SECONDS = float(os.environ.get('MOST_SECONDS', 60))\n"
            "bench.busy_processors = lambda: 0.0\n"  # it would take a second
            "bench.twins_of = lambda backends: bench.TWINS\n"  # else another is measured twice
            "console.run_main('scripts/bench', bench.main)"
        )

    def whole_program(self) -> str:
        return self.program if self.draws else WITHOUT_FIGURES + self.program

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", self.whole_program(), *arguments, f"--out={self.out}"],
            env=os.environ | environment | self.environment,
            preexec_fn=self.set_limits,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def set_limits(self) -> None:
        for kind, most in self.limits.items():
            resource.setrlimit(kind, (most, most))

    def run_bench(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        """Runs what start() starts, in a fork."""

        def bench() -> None:
            self.set_limits()
            os.environ.update(environment | self.environment)
            tempfile.tempdir = None  # that of TMPDIR
            sys.argv = ["-c", *arguments, f"--out={self.out}"]
            exec(self.whole_program(), {})

        importlib.import_module("bench")  # once for all forks
        return run_in_fork(bench)

    def take_for_every_preset(self) -> None:
        """From now on the fake timerbench has the backends of all presets."""
        self.program = self.program.replace(
            "console.run_main", "bench.preset_of = lambda choice: 'release'\nconsole.run_main"
        )

    def compare_builds(self) -> None:
        """From now on two of them are measured, as scripts/compare does with two commits."""
        other = self.folder / "other"
        copy_fake_timerbench(other, is_other=True)
        self.program = self.program.replace(
            "console.run_main('scripts/bench', bench.main)",
            "arguments, choice = bench.parse(sys.argv[1:])\n"
            f"builds = {{'@a': bench.TIMERBENCH, '@b': pathlib.Path({str(other)!r})}}\n"
            "bench.TIMERBENCH = None  # nothing else need have been built\n"
            "sys.exit(bench.run_campaign(arguments, arguments.out, choice, 'compare', builds))",
        )

    def measured(self) -> list[str]:
        """Returns the cells in the order in which their measurements started."""
        log = self.source / "measured.log"
        return log.read_text().splitlines() if log.exists() else []

    def results(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.out / "results.json").read_text())
        return content

    def failures(self) -> dict[str, str]:
        """Returns the failures of cells without a figure, by backend."""
        return {
            entry["name"].split("/")[3]: entry["error_message"]
            for entry in self.results()["benchmarks"]
            if entry.get("error_occurred")
        }
