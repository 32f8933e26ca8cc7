"""What the tests of the scripts share: a folder of their own, a layout to hold figures to, and
bench.py with a timerbench that only pretends.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text


def texts_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible()]


def drawn_texts(figure: Figure) -> Iterator[Text]:
    """Those on paper: matplotlib also keeps tick labels that lie outside of the limits."""
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


class Scratch(unittest.TestCase):
    """Tests with a folder of their own."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, entries: Any, name: str = "results.json", **facts: str) -> Path:
        context = {"processor": "Test 1000", "suite": "quick", "command": "scripts/bench", **facts}
        path = self.folder / name
        path.write_text(json.dumps({"context": context, "benchmarks": entries}))
        return path

    def run_plot(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ROOT / "scripts" / "plot", *map(str, arguments)], text=True, capture_output=True
        )

    def check_layout(self, name: str, figure: Figure) -> None:
        figure.canvas.draw()
        boxes = {text: Text.get_window_extent(text) for text in drawn_texts(figure)}
        page = figure.bbox.padded(1)
        for text, box in boxes.items():
            self.assertTrue(
                page.contains(box.x0, box.y0) and page.contains(box.x1, box.y1),
                f"{name}: '{text.get_text()}' leaves the page",
            )
        for (one, a), (other, b) in itertools.combinations(boxes.items(), 2):
            self.assertFalse(
                a.padded(-1.5).overlaps(b.padded(-1.5)),
                f"{name}: '{one.get_text()}' on '{other.get_text()}'",
            )
        plt.close(figure)


class BenchScratch(Scratch):
    """bench.py with a timerbench that pretends; scripts/bench itself would build the real one."""

    pretender = ""  # its text

    def setUp(self) -> None:
        super().setUp()
        pretender = self.folder / "timerbench"
        pretender.write_text(self.pretender)
        pretender.chmod(0o755)
        self.out = self.folder / "out"
        self.program = (
            "import sys, pathlib, console, bench\n"
            f"bench.TIMERBENCH = pathlib.Path({str(pretender)!r})\n"
            "console.run_main('scripts/bench', bench.main)"
        )

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", self.program, *arguments, f"--out={self.out}"],
            env=os.environ | environment | {"PYTHONPATH": str(ROOT / "scripts" / "lib")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_bench(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        program = self.start(*arguments, **environment)
        out, err = program.communicate()
        return program.returncode, out, err

    def interrupt_when_measuring(self, program: "subprocess.Popen[str]") -> None:
        assert program.stdout
        next(line for line in program.stdout if line.startswith("[1/2]"))
        program.send_signal(signal.SIGINT)
