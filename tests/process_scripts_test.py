"""Contenders that are other programs, in campaigns: measured like the others, and harmless if broken.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/process_scripts_test.py
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT, WITHOUT_FIGURES
from waiting import wait_for

TIMERBENCH = ROOT / "build" / "release" / "timerbench"
EXAMPLE = ROOT / "impls" / "peers" / "python" / "python_heapq.py"
CHOICE = ("smoke", "--backends=index_heap_4", "--workloads=churn", "--sizes=100", "--items=10000")
# As scripts/bench, which would first build what is there, and draw at the end.
BENCH = f"""
import sys
sys.path.insert(0, {str(ROOT / "scripts" / "lib")!r})
{WITHOUT_FIGURES}
import bench, console
console.run_main("scripts/bench", bench.main)
"""
SLEEP = "86398.75"  # seconds; nobody else sleeps for so long


class ProcessTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.out = self.folder / "out"
        self.peer = self.folder / "peer.py"
        self.peer.write_text(EXAMPLE.read_text())
        self.peer.chmod(0o755)
        self.edit('float(options["seconds"])', "0.1")  # enough here

    def edit(self, old: str, new: str) -> None:
        text = self.peer.read_text()
        self.assertIn(old, text)
        self.peer.write_text(text.replace(old, new))

    def command(self, *options: str) -> list[str]:
        choice = [*CHOICE, f"--process={self.peer}", "--rounds=2", f"--out={self.out}"]
        return ["/usr/bin/python3", "-c", BENCH, *choice, *options]

    def bench(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*options), capture_output=True, text=True, timeout=300)

    def verify(self) -> str:
        command = [TIMERBENCH, "verify", f"--process={self.peer}", "--seconds=0.2"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=100)
        return run.stdout + run.stderr

    def entries(self, backend: str = "python_heapq") -> list[dict[str, Any]]:
        results = json.loads((self.out / "results.json").read_text())
        return [entry for entry in results["benchmarks"] if f"/{backend}" in entry["name"]]

    def measured(self, backend: str = "python_heapq") -> int:
        """How many rounds have a figure. One that the machine disturbed has several attempts."""
        lines = map(json.loads, (self.out / "journal.jsonl").read_text().splitlines())
        return len(
            {
                (line["identity"], line["round"])
                for line in lines
                if line.get("cell", "").endswith(f"/{backend}") and "entry" in line
            }
        )

    def test_a_backend_keeps_its_name_though_a_family_has_it(self) -> None:
        self.edit('"name": "python_heapq"', '"name": "scan_with_a_heap"')  # of the family scan
        command = [TIMERBENCH, "run", f"--process={self.peer}", "--backends=scan", "--verified"]
        command += ["--suite=smoke", "--workloads=churn", "--sizes=100", "--items=10000"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=100)
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        for backend in ("scan", "scan_with_a_heap"):
            self.assertRegex(run.stdout, rf"(?m)^  exact.* {backend} +\d")

    def test_it_is_verified_measured_and_measured_again_when_it_changes(self) -> None:
        self.edit('"ordered": True', '"ordered": True, "walks_ticks": True')
        run = self.bench()
        self.assertEqual((run.returncode, run.stderr.count("failed")), (0, 0), run.stderr)
        self.assertIn("exact library: python_heapq", run.stdout)
        said = " ".join(run.stdout.split())
        self.assertIn("python_heapq has a licence: advance() walks every tick.", said)
        self.assertEqual([entry["status"] for entry in self.entries()], ["ok", "ok"])
        for entry in self.entries():
            self.assertGreater(entry["ns_per_item"], 10)
            self.assertEqual(entry["items"] % 10000, 0, "whole replays")
        self.assertIn("Nothing to do", self.bench().stdout)

        self.edit("import heapq\n", "import heapq  # changed\n")
        self.assertIn("Measured", self.bench().stdout)
        self.assertEqual(self.measured(), 4)
        self.assertEqual(self.measured("index_heap_4"), 2)

    def test_a_wrong_one_has_no_figure_and_costs_nobody_else_one(self) -> None:
        self.edit("heap[0][0] <= now:", "heap[0][0] < now:")
        run = self.bench()
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stdout, r"python_heapq .*WRONG: operation \d+: rule 2: timer")
        self.assertIn("wrong: operation", self.entries()[0]["error_message"])
        self.assertIn(f"--process={self.peer}' shows it", self.entries()[0]["error_message"])
        self.assertEqual(self.measured("index_heap_4"), 2)

    # One that does right as long as its fires are looked at.
    def test_the_counts_of_timed_replays_are_checked(self) -> None:
        self.edit('"fired": fired,', '"fired": fired + (fires is None),')
        self.assertIn("ok: ", self.verify())
        self.bench()
        self.assertRegex(
            self.entries()[0]["error_message"], "^wrong: a timed replay has [0-9]+ fired"
        )

    def test_one_that_answers_for_another_trace_is_wrong(self) -> None:
        self.edit("traces = [load(word)", "traces = [load(str(self_made(word)))")
        self.edit(
            "def main():",
            "def self_made(word):\n"
            "    import pathlib, shutil\n"
            "    kept = pathlib.Path(__file__).with_name('kept')\n"
            "    for end in ('.npy', '.json'):\n"
            "        if not kept.with_suffix(end).exists():\n"
            "            shutil.copy(word + end, kept.with_suffix(end))\n"
            "    return kept\n\n\n"
            "def main():",
        )
        self.assertRegex(self.verify(), "WRONG: |ERROR: ")

    def test_one_that_hangs_is_a_timeout(self) -> None:
        self.edit("        end = time", f"        time.sleep({SLEEP})\n        end = time")
        self.bench("--cell-seconds=4")
        self.assertRegex(self.entries()[0]["error_message"], "^timeout: ")
        self.assertEqual(self.measured("index_heap_4"), 2)

    def test_all_that_it_started_ends_with_a_campaign_that_is_killed(self) -> None:
        self.edit(
            "        end = time",
            f"        __import__('subprocess').run(['setsid', 'sleep', '{SLEEP}'])\n"
            "        end = time",
        )
        program = subprocess.Popen(
            self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(self.is_anybody_asleep, program, 300)
        program.send_signal(signal.SIGKILL)
        program.wait()
        wait_for(lambda: not self.is_anybody_asleep(), seconds=10)

    def is_anybody_asleep(self) -> bool:
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = process.read_bytes().split(b"\0")
            except OSError:  # it has ended
                continue
            if words[:2] == [b"sleep", SLEEP.encode()]:
                return True
        return False

    def test_its_errors_cannot_write_to_the_terminal_what_they_like(self) -> None:
        fails = "raise SystemExit('\\033[31mred')"
        self.edit("        with open(", f"        {fails}\n        with open(")
        told = self.verify()
        self.edit("import heapq\n", f"import heapq\n{fails}\n")
        for text in (told, self.verify()):
            self.assertIn("exit code 1: ?[31mred", text)
            self.assertNotIn("\033", text)

    def test_a_command_that_is_no_contender_is_refused_in_one_line(self) -> None:
        self.peer.write_text("#!/bin/sh\necho hello\n")
        run = self.bench()
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn(
            f"--process '{self.peer} describe': error: it prints hello where a JSON object that "
            "describes it is expected\n",
            run.stderr,
        )
        self.assertFalse(os.path.exists(self.out))


if __name__ == "__main__":
    unittest.main()
