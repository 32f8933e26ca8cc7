"""Shared by the tests of the scripts: a temporary folder, checks of a figure's layout, and bench.py
with a fake timerbench.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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

    def run_script(
        self, name: str, *arguments: object, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ROOT / "scripts" / name, *map(str, arguments)],
            env=os.environ | environment,
            text=True,
            capture_output=True,
        )

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


PRETENDER = f"""#!{sys.executable}
import json, os, random, re, signal, sys, time

def option(name, default=""):
    return next((a.partition("=")[2] for a in sys.argv if a.startswith(name + "=")), default)

ACTS = dict(act.split("=") for act in os.environ.get("ACTS", "").split(",") if act)
IS_OTHER = sys.argv[0].endswith("other")  # a second build
SUITE = os.path.basename(option("--suite")).removesuffix(".toml")
REALTIME = SUITE in ("accuracy", "contention", "purgatory", "faults")
KNOWN = ["delay_queue", "system_timer"] if REALTIME else ["scan", "ring_512"]
BACKENDS = [name for name in option("--backends").split(",") if name] or KNOWN
WORKLOADS = option("--workloads", "low" if REALTIME else "fill").split(",")
SIZES = option("--sizes", "1000,10000" if REALTIME else "10").replace("k", "000").split(",")
TAIL = "/iterations:1/manual_time" if REALTIME else "/manual_time"

def hang():
    with open(os.environ["SOURCE"] + "hanging.pid", "a") as file:
        file.write(f"{{os.getpid()}}\\n")
    time.sleep(1000)

def cells(workload, size):
    return [f"{{SUITE}}/{{workload}}/{{size}}/{{name}}" for name in BACKENDS]

if sys.argv[1] == "prepare":
    if "nonsense" in BACKENDS:
        sys.exit("timerbench: unknown backend 'nonsense'")
    precision = "granular" if REALTIME else "exact"
    of = lambda name: dict(precision=precision, remote=name == os.environ.get("REMOTE"), file=os.environ["SOURCE"] + name)
    print(json.dumps(dict(
        suite=SUITE, rounds=2, granularity=1, seed=1,
        machine=dict(compiler="C", grade="B", grade_reasons=os.environ.get("REASONS", ""),
                     processor="Test 1000", kernel=os.environ.get("KERNEL", "Linux 6")),
        kind="realtime" if REALTIME else "replays", seconds=0.5,
        replay_seconds=dict(local=1, remote=1), inputs=len(WORKLOADS) * len(SIZES),
        sizes=[int(size) for _ in WORKLOADS for size in SIZES],
        backends={{name: of(name) for name in BACKENDS}})))
    for workload in WORKLOADS:
        for size in SIZES:
            sys.stdout.flush()
            open(os.environ["SOURCE"] + "preparing", "w").close()
            time.sleep(float(os.environ.get("SECONDS_A_TRACE", 0)))
            line = dict(workload=workload, size=int(size), cells=cells(workload, size))
            if os.environ.get("NO_ROOM"):
                line |= dict(failure="error: churn.npy: No space left on device")
            elif not REALTIME:
                line |= dict(hashes=["abd" if IS_OTHER and os.environ.get("OTHER_TRACE") else "abc"], item="insert", items=10, **{{"for": "both"}})
            print(json.dumps(line))
elif sys.argv[1] == "limits":
    print('{{"clock_ns": 20}}')
elif sys.argv[1] == "verify":
    for name in sys.argv[3:]:
        if ACTS.get(name) == "crash_verify":
            os.kill(os.getpid(), signal.SIGSEGV)
        if ACTS.get(name) == "slow_verify":
            time.sleep(2)
        if ACTS.get(name) == "hang_verify":
            hang()
        said = {{"unverified": "WRONG: fired early", "crash_isolated": "ERROR: crash: SIGSEGV in random traces"}}
        print(f"{{name}}   ok: it says so itself")
        print(f"{{name}}   " + said.get(ACTS.get(name), "ok: 20 scenarios"), flush=True)
    sys.exit(any(ACTS.get(name) in ("unverified", "crash_isolated", "odd_verify") for name in sys.argv[3:]))
else:
    pattern = re.compile(option("--benchmark_filter"))
    name, = [one for workload in WORKLOADS for size in SIZES for one in cells(workload, size)
             if pattern.search(one + TAIL)]
    with open(os.environ["SOURCE"] + "measured.log", "a+") as log:
        log.write(name + "\\n")
        log.seek(0)
        attempt = log.read().split().count(name)
    act = ACTS.get(name.split("/")[3] + "@other" * IS_OTHER, "")
    if act == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if act == "full":
        sys.exit("timerbench: cannot keep operations: No space left on device")
    if act == "fills":  # more than there is room for
        with open(os.path.join(os.path.dirname(option("--benchmark_out")), "big"), "wb") as file:
            file.write(bytes(10**6))
    if act == "die":
        sys.exit("timerbench: something is odd")
    if act == "hang" or act == "hang_later" and attempt == 2:
        hang()
    if act == "kill" or act == "killed_once" and attempt == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if act == "eat":
        try:
            memory = [bytearray(10**7) for _ in range(10**4)]
        except MemoryError:
            sys.exit("timerbench: out of memory; choose a smaller size")
    if act == "meets":  # ends when two have begun each attempt
        for _ in range(100):
            if len(open(log.name).readlines()) >= 2 * attempt:
                break
            time.sleep(0.05)
        else:
            sys.exit("timerbench: nobody came")
    if act == "held":  # until the test lets it go on
        while not os.path.exists(os.environ["SOURCE"] + "go"):
            time.sleep(0.05)
    if act in ("slow", "slower"):
        time.sleep(0.3 if act == "slow" else 0.7)
    entry = dict(name=name + TAIL, run_name=name + TAIL, run_type="iteration", iterations=1,
                 real_time=1.0, cpu_time=1.0, time_unit="ns", items=10.0)
    if act == "wrong_later" and attempt == 3:
        entry |= dict(error_occurred=True, error_message="wrong: at last")
    elif act.startswith("timeout_at_") and str(attempt) in act.split("_"):
        entry |= dict(error_occurred=True, error_message="timeout: too long")
    elif act.startswith("fails "):
        entry |= dict(error_occurred=True, error_message=act[6:] + ": so it is")
    elif option("--pass") == "tails":
        entry |= dict(label="exact, per insert", worst_ns=50.0)
    elif option("--pass") == "memory":
        entry |= dict(label="exact, per insert", bytes_per_timer=16.0)
    elif option("--pass") == "counters":
        entry |= dict(label="exact, per insert", cycles_per_item=12.0)
    elif SUITE == "faults":
        zeros = "breaches no_starts not_back lossy lost fired_twice fired_without_acknowledgement"
        zeros += " fired_after_cancel failed_calls latest_seconds silent_seconds"
        zeros += " median_silent_seconds worst_seed latest_seed silent_seed"
        entry |= dict.fromkeys(zeros.split(), 0.0)
        entry |= dict(label="keeps all, per timer", runs=10.0, acknowledged=100.0)
    elif REALTIME:
        saturated = ", saturated" if act == "saturated" else ""
        entry |= dict(label="granular, per request" + saturated, cpu_share=0.029,
                      lateness_p50_ns=50.0, calls_per_second=1e6,
                      processors=len(os.sched_getaffinity(0)),
                      cpu_ns_per_request=100.0 * (1 + ("/10000/" in name) * random.random()))
    else:
        noisy = act == "noisy"  # at first the most
        entry |= dict(label="exact, per insert", switches=3.0,
                      ns_per_item=float(act) if act[:1].isdigit() else 2.0 if IS_OTHER else
                      float(attempt) if noisy else 1.0,
                      away_share=(0.5, 0.1, 0.3)[attempt % 3 - 1] if noisy else 0.0,
                      memory_probe_ns=200.0 if act == "waits" and attempt in (15, 16, 18) else 80.0,
                      disturbed=float(noisy),
                      processors=len(os.sched_getaffinity(0)))
    out = option("--benchmark_out")
    json.dump(dict(context=dict(num_cpus=2, grade="E"), benchmarks=[entry]), open(out, "w"))
    if REALTIME:
        json.dump({{name: [{{}}]}}, open(out.replace(".json", ".distributions.json"), "w"))
"""


# Writes the table and draws nothing: to load matplotlib takes as long as all else in a short campaign.
WITHOUT_FIGURES = """
import sys, types

def write_report(report, folder):
    table = folder / "table.md"
    table.write_text(report.markdown())
    return [table]

sys.modules["plot"] = types.SimpleNamespace(write_report=write_report)
"""


class BenchScratch(Scratch):
    """Runs bench.py with a fake timerbench; scripts/bench itself would build the real one.

    ACTS in the environment says how backends behave: ring_512=crash.
    """

    draws = False  # whether the figures are drawn

    def setUp(self) -> None:
        super().setUp()
        pretender = self.folder / "timerbench"
        pretender.write_text(PRETENDER)
        pretender.chmod(0o755)
        self.out = self.folder / "out"
        self.source = self.folder / "source"
        self.source.mkdir()
        self.limits: dict[int, int] = {}  # resource limits of the started process
        for name in ("scan", "ring_512"):
            (self.source / name).write_text(f"// {name}")
        self.program = (
            "import os, sys, pathlib, console, bench\n"
            f"bench.TIMERBENCH = pathlib.Path({str(pretender)!r})\n"
            "from campaign import verification\n"
            "verification.MOST_SECONDS = float(os.environ.get('MOST_SECONDS', 60))\n"
            "bench.busy_processors = lambda: 0.0\n"  # it would take a second
            "bench.twins_of = lambda backends: bench.TWINS\n"  # else another is measured twice
            "console.run_main('scripts/bench', bench.main)"
        )

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        program = self.program if self.draws else WITHOUT_FIGURES + self.program
        return subprocess.Popen(
            [sys.executable, "-c", program, *arguments, f"--out={self.out}"],
            env=os.environ
            | environment
            | {"PYTHONPATH": str(ROOT / "scripts" / "lib"), "SOURCE": f"{self.source}/"},
            preexec_fn=self.set_limits,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def set_limits(self) -> None:
        for kind, most in self.limits.items():
            resource.setrlimit(kind, (most, most))

    def run_bench(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        program = self.start(*arguments, **environment)
        out, err = program.communicate()
        return program.returncode, out, err

    def take_for_every_preset(self) -> None:
        """From now on the fake timerbench has the backends of all presets."""
        self.program = self.program.replace(
            "console.run_main", "bench.preset_of = lambda choice: 'release'\nconsole.run_main"
        )

    def compare_builds(self) -> None:
        """From now on two of them are measured, as scripts/compare does with two commits."""
        other = self.folder / "other"
        other.write_bytes((self.folder / "timerbench").read_bytes() + b"# another\n")
        other.chmod(0o755)
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
