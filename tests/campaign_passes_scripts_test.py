"""Campaigns of two builds, with a budget, and with other passes than the time.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/campaign_passes_scripts_test.py
"""

import collections
import json
import os
import shutil
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import BenchScratch

import bench


class PassesTest(BenchScratch):
    def test_builds_that_make_other_traces_are_not_compared(self) -> None:
        self.compare_builds()
        code, _, err = self.run_bench("quick", OTHER_TRACE="yes")
        self.assertEqual(code, 1)
        self.assertIn("the builds make different traces of the same workloads", err)

    def test_two_builds_take_turns_in_the_same_rounds(self) -> None:
        self.compare_builds()
        code, _, err = self.run_bench("quick", "--rounds=8")
        self.assertEqual((code, err), (0, ""))
        costs = collections.defaultdict(list)
        for entry in self.results()["benchmarks"]:
            costs[entry["name"].split("/")[3]].append(entry["ns_per_item"])
        self.assertEqual(
            costs,
            {
                "scan@a": [1.0] * 8,
                "scan@b": [2.0] * 8,
                "ring_512@a": [1.0] * 8,
                "ring_512@b": [2.0] * 8,
            },
        )
        self.assertEqual(len(self.measured()), 32)
        self.assertIn("Nothing to do", self.run_bench("quick", "--rounds=8")[1])

    def seconds(self, usual: float) -> float:
        """Returns how many seconds are enough for what takes `usual` ones on an idle machine."""
        begin = time.monotonic()
        self.run_bench("--rounds=1")
        took = time.monotonic() - begin
        self.setUp()
        return usual * max(1, took / 1.5)

    def test_a_budget_is_kept_and_goes_to_the_widest_intervals(self) -> None:
        budget = self.seconds(8)
        begin = time.monotonic()
        code, _, _ = self.run_bench("--sizes=1,2", f"--budget={budget}s", ACTS="scan=slow")
        self.assertEqual(code, 0)
        self.assertLess(time.monotonic() - begin, 3 * budget)
        self.assertGreater(len(self.measured()), 4)

    def test_a_budget_that_traces_would_use_up_is_refused_before(self) -> None:
        choice = ("--workloads=fill,churn,hold", "--sizes=1000,900000")
        # By its clock each trace takes as long as the fake says, however busy the machine is.
        self.program = self.program.replace(
            "console.run_main",
            "import itertools, types; from campaign import forecast\n"
            "forecast.time = types.SimpleNamespace(monotonic=itertools.count(0, 1.5).__next__)\n"
            "console.run_main",
        )
        begin = time.monotonic()
        code, _, err = self.run_bench(*choice, "--budget=20s", SECONDS_A_TRACE="1.5")
        self.assertLess(time.monotonic() - begin, 15, "long before the traces are made")
        self.assertEqual(code, 1)
        self.assertRegex(
            err,
            "^scripts/bench: --budget: 20 s are not enough for the traces, which take about .*; those of at most "
            "10³ timers take about [45] s: choose them by --sizes, or a budget of .* and more.*kept\n$",
        )
        self.assertFalse(self.out.exists(), "nothing was measured")

    def test_traces_for_which_there_is_no_room_are_no_result(self) -> None:
        code, _, err = self.run_bench(NO_ROOM="1")
        self.assertEqual(code, 1)
        self.assertRegex(
            err, "^scripts/bench: .*traces: No space left on device, so traces cannot be kept"
        )
        self.assertEqual(self.run_bench()[0], 0)
        self.assertEqual(self.failures(), {})

    def test_a_budget_that_checking_uses_up_is_told(self) -> None:
        code, out, err = self.run_bench("--budget=3s", ACTS="ring_512=slow_verify,scan=slow_verify")
        self.assertEqual((code, self.measured()), (1, []))
        self.assertRegex(err, "^scripts/bench: --budget: to check the backends took all of it, ")
        self.assertEqual(self.run_bench("--budget=30s")[0], 0)

    def test_a_budget_holds_for_passes_too(self) -> None:
        """They come before further rounds, and are not begun when there is no time."""
        code, _, err = self.run_bench("--passes=tails,memory", f"--budget={self.seconds(8)}s")
        self.assertEqual((code, err), (0, ""))
        counts = collections.Counter(self.measured())
        self.assertGreater(counts["quick/fill/10/scan"], 3, "rounds after the passes")
        for name in ("tails", "memory"):
            self.assertEqual(
                len(json.loads((self.out / f"{name}.json").read_text())["benchmarks"]), 2
            )
        shutil.rmtree(self.out)
        self.run_bench("--passes=tails", "--budget=4s", ACTS="scan=slower,ring_512=slower")
        self.assertLess(len(self.measured()), sum(counts.values()) + 5)

    def test_no_round_is_begun_for_which_the_budget_has_no_time(self) -> None:
        self.run_bench("--budget=2.5s", ACTS="scan=slower,ring_512=slower")
        self.assertLessEqual(len(self.measured()), 2, "another round would take it beyond")

    def test_a_budget_on_the_wall_clock_goes_to_the_widest_intervals_of_a_figure(self) -> None:
        code, _, err = self.run_bench("purgatory", f"--budget={self.seconds(15)}s")
        self.assertEqual((code, err), (0, ""))
        counts = collections.Counter(name.split("/")[2] for name in self.measured())
        self.assertGreaterEqual(counts["1000"], 18, "each has its six rounds")
        self.assertGreater(counts["10000"], counts["1000"])

    def test_how_busy_the_machine_was_is_told_of_the_worst_start(self) -> None:
        self.program = self.program.replace("lambda: 0.0", "lambda: float(os.environ['BUSY'])")
        for rounds, busy, told in (
            *((1, "0.4", None), (2, "0.6", "0.6")),
            *((3, "12.0", "12.0"), (4, "3.0", "12.0"), (5, "0.1", "12.0")),
        ):
            out = self.run_bench(f"--rounds={rounds}", BUSY=busy)[1]
            self.assertEqual("Warning: other programs keep" in out, float(busy) > 0.5)
            known = self.results()["context"].get("busy")
            self.assertEqual(known, told and f"{told} of {os.cpu_count()} processors")

    def test_what_survives_is_measured_on_several_machines_and_costs_on_one(self) -> None:
        self.take_for_every_preset()
        self.program = self.program.replace(
            "console.run_main",
            "from campaign import identity\n"
            "bench.machine_key = identity.machine_key = lambda: os.environ['KERNEL']\n"
            "console.run_main",
        )
        for suite, count in (("quick", 6), ("faults", 4)):
            for rounds, kernel in ((1, "Linux 6.1"), (2, "Linux 6.2")):
                code, _, err = self.run_bench(
                    suite, "--sizes=10", f"--rounds={rounds}", KERNEL=kernel
                )
                self.assertEqual((code, err), (0, ""))
            self.assertEqual(len(self.measured()), count, suite)
            self.assertEqual(len(self.results()["benchmarks"]), 4)
            self.assertEqual(self.results()["context"]["kernel"], "Linux 6.1; Linux 6.2")
            shutil.rmtree(self.out)
            (self.source / "measured.log").unlink()

    def test_other_passes_are_measured_once_and_kept_apart(self) -> None:
        code, out, err = self.run_bench("--passes=memory,tails")
        self.assertEqual((code, err), (0, ""))
        for name, counter in (("tails.json", "worst_ns"), ("memory.json", "bytes_per_timer")):
            entries = json.loads((self.out / name).read_text())["benchmarks"]
            self.assertEqual(len(entries), 2)
            for entry in entries:
                self.assertIn(counter, entry)
        self.assertEqual(len(self.results()["benchmarks"]), 4)
        table = (self.out / "table.md").read_text()
        self.assertRegex(table, r"longest `advance\(\)` of a replay.*\n\n\| 10 timers +\| +fill \|")
        self.assertIn(" --passes=tails,memory`", table)
        told = self.run_bench("--passes=memory,tails")[1]
        self.assertIn(
            "has 4 of 4 measurements (2 cells × 2 rounds); 2 of 2 measurements of tails", told
        )
        self.assertIn("has 4 of 4 measurements", self.run_bench()[1])
        code, _, err = self.run_bench("--passes=speed")
        self.assertEqual(code, 2)
        self.assertIn(
            "'speed' is not one of total, tails, memory, instructions, counters and all", err
        )

    def test_twins_and_what_takes_too_long_are_left_out_of_passes(self) -> None:
        arguments = ("--backends=binary_heap", "--sizes=10,20000", "--rounds=1")
        (self.source / "binary_heap").write_text("//")
        code, _, err = self.run_bench(*arguments, "--passes=tails,instructions")
        self.assertEqual((code, err), (0, ""))
        names = [entry["name"] for entry in self.results()["benchmarks"]]
        self.assertEqual(sum("binary_heap@again" in name for name in names), 2)
        tails = json.loads((self.out / "tails.json").read_text())["benchmarks"]
        self.assertEqual(
            [entry["name"].split("/")[2:4] for entry in tails],
            [[size, name] for size in ("10", "20000") for name in ("null", "binary_heap")],
        )
        counted = json.loads((self.out / "instructions.json").read_text())["benchmarks"]
        self.assertEqual({entry["name"].split("/")[2] for entry in counted}, {"10"})

    def test_every_campaign_has_its_controls(self) -> None:
        """The harness by itself, whatever is chosen, and a backend with itself, whoever is there."""
        code, _, err = self.run_bench("--backends=scan", "--rounds=1")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(sorted(self.measured()), ["quick/fill/10/null", "quick/fill/10/scan"])
        shutil.rmtree(self.out)
        code, _, err = self.run_bench("purgatory", "--backends=system_timer", "--rounds=1")
        self.assertEqual((code, err), (0, ""))
        self.assertNotIn("null", {name.split("/")[3] for name in self.measured()[2:]})
        precisions = {"null": "none", "floor": "early", "ring": "granular", "scan": "exact"}
        backends = {name: {"precision": precision} for name, precision in precisions.items()}
        self.assertEqual(bench.twins_of(backends), ["ring"])
        backends["binary_heap"] = {"precision": "exact"}
        self.assertEqual(bench.twins_of(backends), ["binary_heap"])
        self.assertEqual(bench.twins_of({"null": {"precision": "none"}}), [])

    def test_counters_are_measured_where_there_are_any(self) -> None:
        code, out, err = self.run_bench("--passes=counters", REASONS="load; perf_counters")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("no perf counters for us: that pass is left out", out)
        self.assertFalse((self.out / "counters.json").exists())
        shutil.rmtree(self.out)
        code, out, err = self.run_bench("--passes=counters", REASONS="load")
        self.assertEqual((code, err), (0, ""))
        self.assertNotIn("left out", out)
        entries = json.loads((self.out / "counters.json").read_text())["benchmarks"]
        self.assertEqual([entry["cycles_per_item"] for entry in entries], [12.0, 12.0])

    def test_instructions_are_those_of_one_replay_by_item(self) -> None:
        programs = self.folder / "bin"
        programs.mkdir()
        valgrind = programs / "valgrind"
        valgrind.write_text(
            "#!/bin/sh\n"
            'for option; do case $option in --callgrind-out-file=*) echo "summary: 7200" >"${option#*=}";;'
            " esac; done\n"
            'while case $1 in -*) true;; *) false;; esac; do shift; done; exec "$@"\n'
        )
        valgrind.chmod(0o755)
        path = f"{programs}:{os.environ['PATH']}"
        code, _, err = self.run_bench("--passes=instructions", PATH=path)
        self.assertEqual((code, err), (0, ""))
        entries = json.loads((self.out / "instructions.json").read_text())["benchmarks"]
        self.assertEqual({entry["instructions_per_item"] for entry in entries}, {720})

    def test_what_failed_is_not_tried_in_other_passes(self) -> None:
        self.run_bench("--passes=tails", ACTS="ring_512=fails wrong")
        self.assertEqual(self.measured().count("quick/fill/10/ring_512"), 1)
        tails = json.loads((self.out / "tails.json").read_text())["benchmarks"]
        self.assertEqual(
            {e["error_message"] for e in tails if "ring" in e["name"]}, {"wrong: so it is"}
        )

    def test_a_cell_that_fails_in_a_later_round_has_no_figure(self) -> None:
        self.run_bench("--rounds=3", ACTS="ring_512=wrong_later")
        entries = [e for e in self.results()["benchmarks"] if "ring_512" in e["name"]]
        self.assertEqual([e.get("error_message") for e in entries], ["wrong: at last"])

    def test_a_slow_down_of_another_size_is_measured_again(self) -> None:
        (self.source / "binary_heap").write_text("//")
        choice = ("--backends=binary_heap", "--rounds=1")
        self.run_bench(*choice, "--slow-down=5")
        before = len(self.measured())
        self.run_bench(*choice, "--slow-down=10")
        self.assertEqual(len(self.measured()), before + 1)

    def test_without_valgrind_instructions_are_unavailable(self) -> None:
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "setpriv").symlink_to("/usr/bin/setpriv")
        code, _, _ = self.run_bench("--passes=instructions", PATH=str(programs))
        self.assertEqual(code, 0)
        entries = json.loads((self.out / "instructions.json").read_text())["benchmarks"]
        self.assertEqual(
            {entry["error_message"] for entry in entries},
            {"unavailable: valgrind is not installed; apt-get install valgrind"},
        )


if __name__ == "__main__":
    unittest.main()
