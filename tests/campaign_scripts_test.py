"""Campaigns: nothing is lost, nothing is measured twice, and whatever goes wrong is a result.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/campaign_scripts_test.py
"""

import collections
import fcntl
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from contextlib import redirect_stderr
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT, BenchScratch

import bench
import campaign.identity
from campaign.forecast import Forecast
from campaign.identity import (
    REPLAYS,
    VERDICTS,
    cell_identity,
    choice_key,
    contender_hash,
    source_hash,
)
from campaign.journal import open_journal
from campaign.plan import Build, Cell, Input, Plan
from campaign.process import Limits, Measurement, run_limited
from campaign.rounds import order, widest
from campaign.scratch import PREFIX, remove_abandoned, scratch_folder
from console import Failure, Stop
from results.replays import load
from results.statistics import median_interval


class CampaignTest(BenchScratch):
    def test_measures_in_rounds_and_reports(self) -> None:
        code, out, err = self.run_bench("full", "--sizes=1,2", "--seed", "7")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("| `scan`", out)
        for name in ("journal.jsonl", "results.json", "table.md", "overview.png"):
            self.assertTrue((self.out / name).exists(), name)
            self.assertIn(name, out)
        context = self.results()["context"]
        self.assertEqual(context["command"], "scripts/bench full --sizes=1,2 --seed=7")
        self.assertEqual(context["rounds"], 2)
        self.assertEqual(context["num_cpus"], 2)
        self.assertEqual(context["grade"], "B", "the plan's: each run's own is by a glance")
        for entry in self.results()["benchmarks"]:
            self.assertEqual((entry["repetitions"], entry["status"]), (2, "ok"))
        counts = collections.Counter(self.measured())
        self.assertEqual(set(counts.values()), {2})
        self.assertEqual(len(counts), 4)

    def test_a_finished_campaign_does_nothing(self) -> None:
        self.run_bench()
        before = {path.name: path.stat().st_mtime_ns for path in self.out.iterdir()}
        code, out, err = self.run_bench()
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(
            out, r"^Nothing to do: .* has 4 of 4 measurements \(2 cells × 2 rounds\)\n"
        )
        self.assertIn("fill, 10 timers, exact: scan 1.00 ns", out, "the table again")
        self.assertIn("| `scan`", out)
        self.assertEqual(
            {path.name: path.stat().st_mtime_ns for path in self.out.iterdir()}, before
        )
        self.assertEqual(len(self.measured()), 4)

    def test_counts_are_cells_times_rounds_from_the_start_to_the_end(self) -> None:
        """However many attempts it takes, and though who fails is not measured any more."""
        program = self.start("--rounds=9", "--sizes=5,50", ACTS="scan=slow,ring_512=fails wrong")
        assert program.stdout
        told = [next(line for line in program.stdout if line.startswith("round 2"))]
        program.send_signal(signal.SIGINT)
        rest, err = program.communicate()
        _, out, _ = self.run_bench("--rounds=9", "--sizes=5,50", ACTS="ring_512=fails wrong")
        again = self.run_bench("--rounds=9", "--sizes=5,50")[1]
        extent = r"\(4 cells × 9 rounds\)"
        done = [int(told[0].split(": ")[1].split()[0])]
        for text in (err, rest, out, again):
            found = re.search(rf"(\d+) of 36 measurements {extent}", text)
            assert found, text
            done.append(int(found[1]))
        self.assertEqual(done, sorted(done))
        self.assertEqual(
            (done[0], done[-1]), (22, 36), "18 of who fails, and 2 rounds of the other"
        )

    def test_a_pipe_gets_a_line_a_round_and_one_table(self) -> None:
        _, out, _ = self.run_bench("--rounds=3", "--sizes=5,50")
        rounds = [line for line in out.splitlines() if line.startswith("round")]
        self.assertEqual(
            [line.partition(",")[0] for line in rounds],
            [f"round {i} of 3: {4 * i} of 12" for i in (1, 2, 3)],
        )
        self.assertEqual(out.count("| `scan`"), 1)
        self.assertNotIn("quick/fill", out)

    def test_more_rounds_go_on_where_it_was(self) -> None:
        self.run_bench("quick", "--sizes=5")
        self.run_bench("--rounds=5")  # the folder knows its choice
        self.assertEqual(len(self.measured()), 10)
        entries = self.results()["benchmarks"]
        self.assertEqual([entry["round"] for entry in entries], [*range(5), *range(5)])
        self.assertEqual(entries[0]["name"], "quick/fill/5/scan/manual_time")

    def test_killed_at_any_instant_it_loses_one_measurement_at_most(self) -> None:
        rng = random.Random(1)
        kills = 0
        while True:
            program = self.start("--rounds=6", "--sizes=1,2", ACTS="scan=slower")
            try:
                program.communicate(timeout=rng.uniform(0.5, 5))
                break
            except subprocess.TimeoutExpired:
                program.kill()
                program.communicate()
                kills += 1
        self.assertGreater(kills, 1)
        self.assertEqual(program.returncode, 0)
        entries = self.results()["benchmarks"]
        self.assertEqual(len(entries), 24)
        self.assertLessEqual(len(self.measured()), 24 + kills)
        counts = collections.Counter((entry["name"], entry["round"]) for entry in entries)
        self.assertEqual(set(counts.values()), {1})

    def test_a_line_that_was_cut_is_measured_again(self) -> None:
        self.run_bench()
        journal = self.out / "journal.jsonl"
        whole = journal.read_bytes()
        journal.write_bytes(whole[:-30])
        code, out, _ = self.run_bench()
        self.assertEqual(code, 0)
        self.assertIn("the last line was cut", out)
        self.assertEqual(len(self.measured()), 5)
        lines = journal.read_text().splitlines()
        self.assertEqual(len(lines), len(whole.splitlines()) + 1)
        for line in lines:
            json.loads(line)
        self.assertEqual(len(self.results()["benchmarks"]), 4)
        self.assertIn("Nothing to do", self.run_bench()[1])

    def test_cells_that_were_not_reached_are_in_the_results_as_such(self) -> None:
        program = self.start("--sizes=1,2,3,4", "--rounds=2", ACTS="scan=slow,ring_512=slow")
        deadline = time.monotonic() + 60
        while len(self.measured()) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        program.send_signal(signal.SIGINT)
        self.assertEqual(program.communicate(timeout=60) and program.returncode, 1)
        entries = self.results()["benchmarks"]
        self.assertEqual(len({tuple(entry["name"].split("/")[2:4]) for entry in entries}), 8)
        unreached = [e for e in entries if e.get("error_message") == "interrupted: not reached"]
        self.assertGreaterEqual(len(unreached), 4)
        self.assertIn(f"{len(unreached)} cells not measured", (self.out / "table.md").read_text())
        self.assertEqual(self.run_bench("--sizes=1,2,3,4", "--rounds=2")[0], 0)
        self.assertEqual(len(self.results()["benchmarks"]), 16)

    def test_a_line_is_on_the_disk_before_the_next_is_begun(self) -> None:
        with unittest.mock.patch("campaign.journal.os.fsync", wraps=os.fsync) as fsync:
            journal = open_journal(self.folder, ["--suite=quick"], "scripts/bench quick")
            self.addCleanup(journal.close)
            synced = [call.args[0] for call in fsync.call_args_list]
            self.assertEqual(len(set(synced)), 2, "the head, and the folder that it is in")
            journal.append("run", facts={})
            self.assertEqual(fsync.call_count, 3)

    def test_results_older_than_the_journal_are_written_again(self) -> None:
        self.run_bench()
        results = self.out / "results.json"
        results.write_text("{}")
        os.utime(results, (0, 0))
        self.assertEqual(self.run_bench()[0], 0)
        self.assertEqual(len(self.results()["benchmarks"]), 4)

    def test_results_say_what_was_replayed_and_what_the_machine_can_do(self) -> None:
        self.run_bench()
        context = self.results()["context"]
        self.assertEqual(context["inputs"]["fill/10/both"]["hashes"], ["abc"])
        self.assertEqual(context["limits"], {"clock_ns": 20})

    def test_figures_that_were_not_drawn_any_more_are_drawn(self) -> None:
        self.run_bench()
        (self.out / "table.md").unlink()  # the last that is written
        (self.out / "overview.png").unlink()
        code, out, _ = self.run_bench()
        self.assertEqual(code, 0)
        self.assertTrue((self.out / "table.md").exists())
        self.assertTrue((self.out / "overview.png").exists())
        self.assertEqual(len(self.measured()), 4)

    def test_the_command_in_the_results_makes_them_again(self) -> None:
        self.run_bench("--sizes=1,2")
        self.assertEqual(self.results()["context"]["command"], "scripts/bench quick --sizes=1,2")
        self.run_bench("--sizes=1,2", "--rounds=3")
        self.assertEqual(
            self.results()["context"]["command"], "scripts/bench quick --sizes=1,2 --rounds=3"
        )

    def test_what_is_no_journal_is_left_alone(self) -> None:
        journal = self.out / "journal.jsonl"
        self.run_bench()
        good = journal.read_text().splitlines(keepends=True)
        for content, complaint in (
            ("".join([*good[:3], '{"kind":', *good[3:]]), "journal.jsonl:4: is damaged"),
            ('{"kind": 1}\n', "journal.jsonl:1: is damaged"),
            (
                good[0] + '{"kind": "cell"}\n',
                "journal.jsonl:2: is damaged .without a proper cell, round",
            ),
            ("[]\n", "journal.jsonl:1: is damaged"),
            (
                "".join(good).replace('"round":1', '"round":"x"'),
                "is damaged .without a proper round",
            ),
            ("".join(good).replace('"entry"', '"entrx"'), "is damaged .without a figure"),
            ("".join(good).replace('"run_name"', '"name_run"'), "without a proper entry.run_name"),
            ("".join(good).replace('"facts":{', '"facts":{"a":7,'), "without a proper facts.a"),
            (
                "".join(good).replace('"grade":"B"', '"grade":[]'),
                r"proper lines\[0\].machine.grade",
            ),
            ("".join(good).replace('"backends":{', '"backends":{"a":1,'), "proper .*backends.a"),
            ("".join(good).replace('"cells":[', '"cells":[1,'), r"proper lines\[1\].cells\[0\]"),
            (good[0] + '{"kind":"plan","key":"a","lines":[]}\n', "without a proper lines"),
            (good[0].replace('"choice":[', '"choice":[0,'), "without a proper choice"),
            (
                good[0] + '{"kind":"plan"}\n',
                "journal.jsonl:2: is damaged .without a proper key, lines",
            ),
            ("".join(good[1:]), "is no journal of scripts/bench"),
            (good[0].replace('"format":1', '"format":99'), "is of format 99, and this"),
        ):
            with self.subTest(complaint):
                journal.write_text(content)
                code, out, err = self.run_bench()
                self.assertEqual((code, out), (1, ""))
                self.assertRegex(err, f"^scripts/bench: .*{complaint}.*\n$")
                self.assertEqual(journal.read_text(), content)

    def test_a_folder_of_other_results_is_left_alone(self) -> None:
        self.run_bench("quick", "--sizes=5")
        code, _, err = self.run_bench("quick", "--sizes=6")
        self.assertEqual(code, 1)
        self.assertIn("belongs to 'scripts/bench quick --sizes=5'; choose another --out", err)
        journal = self.out / "journal.jsonl"
        (self.out / "results.json").write_text("precious")
        for spoil in (lambda: journal.write_text(""), journal.unlink):
            spoil()
            code, _, err = self.run_bench()
            self.assertEqual(code, 2)
            self.assertIn("has results already", err)
            self.assertEqual((self.out / "results.json").read_text(), "precious")

    def test_a_journal_that_is_no_file_is_refused(self) -> None:
        self.out.mkdir()
        for make in (os.mkfifo, os.mkdir):
            journal = self.out / "journal.jsonl"
            make(journal)
            for arguments in ((), ("quick",)):
                code, out, err = self.run_bench(*arguments)
                self.assertEqual((code, out), (1, ""))
                self.assertRegex(
                    err, "^scripts/bench: .*journal.jsonl: is no regular file.*another --out\n$"
                )
            journal.unlink() if make is os.mkfifo else journal.rmdir()

    def test_two_at_a_time_do_not_mix(self) -> None:
        first = self.start(ACTS="scan=slow,ring_512=slow")
        assert first.stdout
        next(line for line in first.stdout if line.startswith("round 1"))
        code, _, err = self.run_bench()
        self.assertEqual(code, 1)
        self.assertIn("another scripts/bench is writing to it", err)
        first.communicate()
        self.assertEqual(first.returncode, 0)

    def test_only_what_has_changed_is_measured_again(self) -> None:
        self.run_bench()
        (self.source / "scan").write_text("// faster")
        code, _, _ = self.run_bench(ACTS="scan=2.5")
        self.assertEqual(code, 0)
        self.assertEqual(
            collections.Counter(self.measured()),
            {"quick/fill/10/scan": 4, "quick/fill/10/ring_512": 2},
        )
        costs = {e["name"].split("/")[3]: e["ns_per_item"] for e in self.results()["benchmarks"]}
        self.assertEqual(costs, {"scan": 2.5, "ring_512": 1.0})

    def test_an_edited_suite_makes_another_plan(self) -> None:
        suite = self.folder / "mine.toml"
        for text, plans in (("rounds = 2", 1), ("rounds = 2", 1), ("rounds = 3", 2)):
            suite.write_text(text)
            self.assertEqual(self.run_bench(str(suite))[0], 0)
            journal = (self.out / "journal.jsonl").read_text()
            self.assertEqual(journal.count('"kind":"plan"'), plans)

    def test_a_trace_that_was_replaced_is_replayed_again(self) -> None:
        for words in ("--trace={}", "--trace {}.npy"):
            with self.subTest(words):
                self.setUp()
                name = self.folder / "fill"  # as the workload that is replayed
                option = words.format(name).split()
                for ending, text, count in (
                    *((".npy", "1", 4), (".npy", "1", 4), (".npy", "2", 8)),
                    *((".json", "{}", 12), (".json", "[]", 16)),
                ):
                    name.with_suffix(ending).write_text(text)
                    self.assertEqual(self.run_bench(*option)[0], 0)
                    self.assertEqual(len(self.measured()), count)
                self.assertIn("Nothing to do", self.run_bench(*option)[1])

    def test_what_goes_wrong_is_a_result_and_stops_nobody(self) -> None:
        for act, attempts, status, failure in (
            ("crash", 2, "crash", "crash: SIGSEGV"),
            ("die", 2, "crash", "crash: exit code 1 and no results; its last words: .*is odd"),
            (
                "kill",
                2,
                "oom",
                "oom: killed: it took more than --memory, or the system has none left",
            ),
            ("hang", 2, "timeout", "timeout: the process did not end within 2 s"),
            ("eat", 2, "oom", "oom: timerbench: out of memory; choose a smaller size"),
            ("fails wrong", 1, "wrong", "wrong: so it is"),
            ("fails strangely", 1, "error", "error: strangely: so it is"),
            ("fails unavailable", 1, "unavailable", "unavailable: so it is"),
            (
                "unverified",
                0,
                "wrong",
                "wrong: fired early; '.*timerbench verify ring_512' shows it",
            ),
            (
                "crash_isolated",
                0,
                "crash",
                "crash: SIGSEGV in random traces; '.*verify ring_512' shows it",
            ),
            (
                "odd_verify",
                0,
                "crash",
                "crash: exit code 1 and no results; its last words: .* ok: .*",
            ),
            ("crash_verify", 0, "crash", "crash: SIGSEGV"),
        ):
            with self.subTest(act):
                self.setUp()
                limits = (f"--cell-seconds={2 if act == 'hang' else 60}", "--memory=300M")
                code, out, err = self.run_bench(*limits, ACTS=f"ring_512={act}")
                self.assertEqual(code, 0 if status == "timeout" else 1)
                self.assertIn("| `scan`", out)
                self.assertRegex(self.failures()["ring_512"], f"^{failure}$")
                self.assertRegex(out, f"- ring_512: {failure}\n", "in the table too")
                self.assertEqual(self.measured().count("quick/fill/10/scan"), 2)
                self.assertEqual(self.measured().count("quick/fill/10/ring_512"), attempts)
                if code:
                    self.assertEqual(err, "scripts/bench: cells failed: quick/fill/10/ring_512\n")
                again = self.run_bench(*limits, ACTS=f"ring_512={act}")[1]
                is_of_the_moment = status == "unavailable"
                self.assertEqual(
                    "Nothing to do" in again, not is_of_the_moment, "a result as others"
                )

    def test_what_may_go_well_now_is_tried_again(self) -> None:
        """Unlike a failure that would be the same."""
        for act, first, then, attempts in (
            ("fails unavailable", (), (), 1),
            ("hang", ("--cell-seconds=1",), ("--cell-seconds=30",), 2),
            ("eat", ("--memory=300M",), ("--memory=2G",), 2),
            ("crash", (), ("--retry",), 2),
            ("fails wrong", (), ("--retry",), 1),
        ):
            with self.subTest(act):
                self.setUp()
                self.run_bench("--sizes=10,20", *first, ACTS=f"ring_512={act}")
                self.assertIn("ring_512", self.failures())
                code, _, err = self.run_bench("--sizes=10,20", *then)
                self.assertEqual((code, err, self.failures()), (0, "", {}))
                name = "quick/fill/10/ring_512"
                self.assertEqual(self.measured().count(name), attempts + 2, "and then two rounds")
                self.assertIn("Nothing to do", self.run_bench("--sizes=10,20")[1])

    def test_one_kill_from_outside_costs_one_measurement(self) -> None:
        code, _, err = self.run_bench("--rounds=3", ACTS="ring_512=killed_once")
        self.assertEqual((code, err, self.failures()), (0, "", {}))
        self.assertEqual(self.measured().count("quick/fill/10/ring_512"), 4)
        self.assertEqual(len(self.results()["benchmarks"]), 6)

    def test_a_verdict_is_of_one_backend(self) -> None:
        """Whoever was verified before and after a wrong one is as good as before."""
        for wrong, good in (("scan", "ring_512"), ("ring_512", "scan")):
            with self.subTest(wrong):
                self.setUp()
                for name in (wrong, good):  # of the same source, as settings of a structure are
                    (self.source / name).write_text("//")
                self.assertEqual(self.run_bench(ACTS=f"{wrong}=unverified")[0], 1)
                self.assertEqual(set(self.failures()), {wrong})
                self.assertEqual(self.measured(), [f"quick/fill/10/{good}"] * 2)

    def test_who_hangs_while_being_verified_is_a_timeout(self) -> None:
        with unittest.mock.patch.dict(os.environ, MOST_SECONDS="1"):
            code, out, _ = self.run_bench(ACTS="ring_512=hang_verify")
        self.assertEqual(code, 0)
        self.assertIn("timeout: still being verified after 1 s", out)
        self.assertEqual(set(self.failures()), {"ring_512"})
        self.assertEqual(self.measured(), ["quick/fill/10/scan"] * 2)
        self.assertIn("Nothing to do", self.run_bench()[1], "a result as others")
        self.assertEqual(self.run_bench("--retry")[0], 0)
        self.assertEqual(self.failures(), {})

    def test_verdicts_are_in_the_journal_at_once(self) -> None:
        program = self.start(ACTS="ring_512=hang_verify")
        journal = self.out / "journal.jsonl"
        deadline = time.monotonic() + 60
        while '"scan"' not in (journal.read_text() if journal.exists() else ""):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        program.kill()
        program.communicate()
        self.run_bench()
        verified = [json.loads(line) for line in journal.read_text().splitlines()]
        names = [line["backend"] for line in verified if line["kind"] == "verified"]
        self.assertEqual(names, ["scan", "ring_512"])

    def test_what_was_started_ends_with_the_campaign(self) -> None:
        """Even if that is killed: else it would run on beside its successor."""
        for acts in ("ring_512=hang_verify", "scan=hang"):
            with self.subTest(acts):
                self.setUp()
                program = self.start(ACTS=acts)
                pids = self.source / "hanging.pid"
                deadline = time.monotonic() + 60
                while not pids.exists() or not pids.read_text():
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.05)
                program.kill()
                program.communicate()
                child = Path(f"/proc/{pids.read_text()}/stat")
                while child.exists() and child.read_text().split(") ")[1][0] != "Z":
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.05)

    def test_larger_sizes_are_skipped_once_a_smaller_one_is_hopeless(self) -> None:
        self.run_bench("--sizes=5,50,500", ACTS="ring_512=fails timeout")
        self.assertEqual(
            self.measured().count("quick/fill/5/ring_512"), 2, "the first may be chance"
        )
        self.assertEqual(self.measured().count("quick/fill/50/ring_512"), 0)
        self.assertEqual(self.failures()["ring_512"], "skipped: timeout at size 5 already")

    def test_a_late_timeout_costs_one_round(self) -> None:
        """Neither the others nor the larger sizes."""
        code, out, err = self.run_bench("--sizes=5,50", "--rounds=4", ACTS="ring_512=timeout_at_3")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(self.measured().count("quick/fill/5/ring_512"), 4)
        self.assertEqual(self.measured().count("quick/fill/50/ring_512"), 4)
        self.assertIn(
            "- ring_512 on fill at 50: timeout in 1 of 4 rounds, the figure is the median", out
        )
        self.assertRegex(out, r"`ring_512`.* 1.00 ±0% §")
        entries = [e for e in self.results()["benchmarks"] if "50/ring_512" in e["name"]]
        self.assertEqual([e["status"] for e in entries], ["ok", "ok", "timeout", "ok"])
        self.assertIn("Nothing to do", self.run_bench("--sizes=5,50", "--rounds=4")[1])

    def test_a_first_timeout_does_not_cost_the_larger_sizes(self) -> None:
        code, _, err = self.run_bench("--sizes=5,50", "--rounds=3", ACTS="ring_512=timeout_at_1")
        self.assertEqual((code, err), (0, ""))
        counts = collections.Counter(self.measured())
        self.assertEqual(
            (counts["quick/fill/5/ring_512"], counts["quick/fill/50/ring_512"]), (3, 3)
        )

    def test_what_mostly_takes_too_long_is_hopeless(self) -> None:
        self.run_bench("--sizes=5,50", "--rounds=6", ACTS="ring_512=timeout_at_2_3")
        counts = collections.Counter(self.measured())
        self.assertEqual(counts["quick/fill/5/ring_512"], 3)
        failures = {
            size: load([self.out]).cells["fill", size, "ring_512"].failure for size in (5, 50)
        }
        self.assertEqual(
            failures,
            {5: "timeout: in 2 of 3 rounds, too long", 50: "skipped: timeout at size 5 already"},
        )

    def test_a_timeout_of_one_build_does_not_skip_the_other(self) -> None:
        self.compare_builds()
        self.run_bench("quick", "--sizes=5,50", ACTS="ring_512@other=fails timeout")
        self.assertEqual(self.failures(), {"ring_512@b": "skipped: timeout at size 5 already"})
        costs = {e["name"]: e.get("ns_per_item") for e in self.results()["benchmarks"]}
        self.assertEqual(costs["quick/fill/50/ring_512@a/manual_time"], 1.0)

    def test_a_disturbed_measurement_is_made_again_and_marked(self) -> None:
        code, out, _ = self.run_bench("--rounds=1", ACTS="ring_512=noisy")
        self.assertEqual(code, 0)
        self.assertEqual(self.measured().count("quick/fill/10/ring_512"), 3)
        entries = {e["name"].split("/")[3]: e for e in self.results()["benchmarks"]}
        self.assertEqual(entries["ring_512"]["status"], "noisy")
        self.assertEqual(entries["scan"]["status"], "ok")
        self.assertIn("2.00 ‡", out, "of three attempts the least disturbed")

    def test_a_measurement_that_waited_for_memory_is_made_again(self) -> None:
        code, out, _ = self.run_bench("--rounds=18", ACTS="ring_512=waits")
        self.assertEqual(code, 0)
        self.assertEqual(self.measured().count("quick/fill/10/ring_512"), 21)
        self.assertIn("No measurement had to wait for other programs.", out)
        lines = [json.loads(line) for line in (self.out / "journal.jsonl").read_text().splitlines()]
        noisy = [line["disturbance"] for line in lines if line.get("status") == "noisy"]
        self.assertEqual(noisy, 3 * [1.5])

    def test_whatever_waits_for_a_server_is_not_bound_and_not_disturbed(self) -> None:
        code, _, err = self.run_bench("--rounds=1", ACTS="ring_512=noisy", REMOTE="ring_512")
        self.assertEqual((code, err), (0, ""))
        entries = {e["name"].split("/")[3]: e for e in self.results()["benchmarks"]}
        self.assertEqual(entries["ring_512"]["status"], "ok")
        self.assertEqual(entries["ring_512"]["processors"], len(os.sched_getaffinity(0)))
        self.assertEqual(entries["scan"]["processors"], 1)
        shutil.rmtree(self.out)
        code, _, err = self.run_bench("purgatory", "--sizes=1000", "--rounds=1")
        self.assertEqual((code, err), (0, ""))
        for entry in self.results()["benchmarks"]:
            self.assertEqual(entry["processors"], len(os.sched_getaffinity(0)), "it has threads")

    def test_ctrl_c_keeps_what_was_measured(self) -> None:
        program = self.start("--rounds=9", ACTS="scan=slow,ring_512=slow")
        assert program.stdout
        next(line for line in program.stdout if line.startswith("round 1 of 9: 2 of 18"))
        program.send_signal(signal.SIGINT)
        out, err = program.communicate()
        self.assertEqual(program.returncode, 1)
        self.assertIn("| `scan`", out)
        self.assertRegex(
            err, "interrupted after .* of 18 .*; the same command goes on where it was"
        )
        self.assertEqual(len(self.results()["benchmarks"]), len(self.measured()))

    def test_a_request_to_end_ends_at_once_and_leaves_the_table(self) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                self.setUp()
                program = self.start("--rounds=3", ACTS="ring_512=hang_later")
                while not (self.source / "hanging.pid").exists():
                    self.assertIsNone(program.poll())
                    time.sleep(0.02)
                program.send_signal(number)
                out, err = program.communicate(timeout=60)
                self.assertEqual(program.returncode, 1)
                self.assertIn("| `scan`", out)
                self.assertIn("the same command goes on where it was", err)

    def test_a_request_to_end_is_heard_before_anything_is_measured(self) -> None:
        program = self.start(SECONDS_A_TRACE="60")
        while not (self.source / "preparing").exists():
            self.assertIsNone(program.poll())
            time.sleep(0.02)
        program.send_signal(signal.SIGTERM)
        _, err = program.communicate(timeout=20)
        self.assertEqual((program.returncode, err), (1, "scripts/bench: interrupted\n"))
        self.assertFalse(self.out.exists())

    def test_a_second_ctrl_c_ends_at_once(self) -> None:
        program = self.start("--rounds=1", ACTS="ring_512=hang,scan=hang")
        while not self.measured() and program.poll() is None:
            time.sleep(0.02)
        program.send_signal(signal.SIGINT)
        assert program.stderr
        next(line for line in program.stderr if line.startswith("Interrupted: "))
        program.send_signal(signal.SIGINT)  # the same one, told twice
        time.sleep(1.2)
        self.assertIsNone(program.poll())
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=20)
        self.assertEqual(program.returncode, 1)
        self.assertEqual(err, "scripts/bench: interrupted before anything was measured\n")
        self.assertEqual(
            [path.name for path in self.out.iterdir()], ["journal.jsonl"], "of verdicts"
        )

    def test_a_reader_that_goes_away_costs_nothing_but_its_own_lines(self) -> None:
        program = self.start(ACTS="scan=slow,ring_512=slow")
        assert program.stdout and program.stderr
        next(line for line in program.stdout if line.startswith("round 1"))
        program.stdout.close()
        self.assertEqual(program.stderr.read(), "")
        self.assertEqual(program.wait(), 0)
        program.stderr.close()
        for name in ("results.json", "table.md", "overview.png"):
            self.assertTrue((self.out / name).exists(), name)

    def test_a_full_disk_is_told_and_loses_nothing(self) -> None:
        self.run_bench("--rounds=1")
        most = (self.out / "journal.jsonl").stat().st_size + 900

        def nearly_full() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        environment = {"PYTHONPATH": str(Path(__file__).parents[1] / "scripts" / "lib")}
        ended = subprocess.run(
            [sys.executable, "-c", self.program, f"--out={self.out}", "--rounds=9"],
            env=environment
            | {"SOURCE": f"{self.source}/", "PATH": "/usr/bin:/bin"}
            | {"PYTHONDONTWRITEBYTECODE": "1"},
            preexec_fn=nearly_full,
            capture_output=True,
            text=True,
        )
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stderr, "^scripts/bench: .*journal.jsonl: File too large.*\n$")
        lines = (self.out / "journal.jsonl").read_text().splitlines()
        for line in lines:
            json.loads(line)
        code, _, _ = self.run_bench("--rounds=9")
        self.assertEqual(code, 0)
        self.assertEqual(len(self.results()["benchmarks"]), 18)

    def test_a_disk_that_is_full_is_no_result_of_a_backend(self) -> None:
        for act, most in (("full", resource.RLIM_INFINITY), ("fills", 200_000)):
            with self.subTest(act):
                self.setUp()
                self.limits = {resource.RLIMIT_FSIZE: most}
                code, _, err = self.run_bench(ACTS=f"ring_512={act}")
                self.assertEqual(code, 1)
                self.assertRegex(
                    err,
                    "^scripts/bench: /tmp: (No space left on device|File too large), so nothing "
                    "can be measured; make room there, or set TMPDIR .*\n$",
                )
                self.limits = {}
                self.assertNotIn(
                    '"cell":"quick/fill/10/ring_512"', (self.out / "journal.jsonl").read_text()
                )
                self.assertEqual(self.run_bench()[0], 0, "tried again")
                self.assertEqual(self.failures(), {})

    def test_the_folder_of_a_killed_campaign_is_removed_at_the_next_start(self) -> None:
        temporary = self.folder / "tmp"
        temporary.mkdir()
        program = self.start(ACTS="scan=hang,ring_512=hang", TMPDIR=str(temporary))
        while not self.measured():
            self.assertIsNone(program.poll())
            time.sleep(0.02)
        [left] = temporary.iterdir()
        long_ago = time.time() - 3600
        os.utime(left, (long_ago, long_ago))
        with unittest.mock.patch("tempfile.tempdir", str(temporary)), scratch_folder() as own:
            remove_abandoned()
            self.assertEqual(set(temporary.iterdir()), {left, own}, "both are in use")
            os.utime(own, (long_ago, long_ago))
            program.kill()
            program.communicate()
            self.run_bench(TMPDIR=str(temporary))
            self.assertEqual(set(temporary.iterdir()), {own})
            (temporary / f"{PREFIX}dead").mkdir()
            told = self.run_bench(TMPDIR=str(temporary))[1]
            self.assertIn("Nothing to do", told)
            self.assertEqual(set(temporary.iterdir()), {own}, "however young")

    def test_a_folder_that_is_removed_before_it_is_locked_is_made_again(self) -> None:
        lock = fcntl.flock

        def remove_and_lock(fd: int, how: int) -> None:
            if not removed:
                removed.append(Path(f"/proc/self/fd/{fd}").readlink())
                removed[0].rmdir()
            lock(fd, how)

        removed: list[Path] = []
        with unittest.mock.patch("fcntl.flock", remove_and_lock), scratch_folder() as folder:
            self.assertTrue(folder.is_dir())
            self.assertNotEqual(removed, [folder])

    def test_what_it_cannot_do_it_says_at_once(self) -> None:
        for arguments, complaint in (
            (["--benchmark_format=json"], "--benchmark_format is not for this script"),
            (["--benchmark_repetitions=3"], "--benchmark_repetitions is not .*; give --rounds"),
            (["--rounds=0"], "--rounds"),
            (["--budget=10"], "'10' is not a time such as 90s"),
            (["--memory=lots"], "'lots' is not a size"),
            (["--rounds=2", "--budget=1m"], "give --rounds or --budget"),
            (["--processor=4711"], "--processor: 4711 is not one of"),
            (["--backends=nonsense"], "unknown backend"),
        ):
            with self.subTest(complaint):
                code, out, err = self.run_bench(*arguments)
                self.assertNotEqual(code, 0)
                self.assertRegex(err, f"^(scripts/bench|timerbench): .*{complaint}.*\n$")
                self.assertFalse(self.out.exists())

    def test_a_folder_that_cannot_be_made_is_told(self) -> None:
        self.out = Path("/proc/x")
        self.assertEqual(
            self.run_bench(),
            (1, "", "scripts/bench: /proc/x: No such file or directory; choose another --out\n"),
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

    def test_a_budget_is_kept_and_goes_to_the_widest_intervals(self) -> None:
        begin = time.monotonic()
        code, _, _ = self.run_bench("--sizes=1,2", "--budget=4s", ACTS="scan=slow")
        self.assertEqual(code, 0)
        self.assertLess(time.monotonic() - begin, 15)
        self.assertGreater(len(self.measured()), 4)

    def test_a_budget_that_traces_would_use_up_is_refused_before(self) -> None:
        choice = ("--workloads=fill,churn,hold", "--sizes=1000,900000")
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

    def test_a_budget_holds_for_passes_too(self) -> None:
        """They come before further rounds, and are not begun when there is no time."""
        code, _, err = self.run_bench("--passes=tails,memory", "--budget=8s")
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
        code, _, err = self.run_bench("purgatory", "--budget=15s")
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

    def test_other_passes_are_measured_once_and_kept_apart(self) -> None:
        code, out, err = self.run_bench("--passes=memory,tails")
        self.assertEqual((code, err), (0, ""))
        for name, counter in (("tails.json", "worst_ns"), ("memory.json", "bytes_per_timer")):
            entries = json.loads((self.out / name).read_text())["benchmarks"]
            self.assertEqual(len(entries), 2)
            for entry in entries:
                self.assertIn(counter, entry)
        self.assertEqual(len(self.results()["benchmarks"]), 4)
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

    def test_another_program_makes_another_plan(self) -> None:
        self.run_bench()
        journal = (self.out / "journal.jsonl").read_text()
        with (self.folder / "timerbench").open("a") as program:
            program.write("# another\n")
        self.run_bench()
        plans = '"kind":"plan"'
        self.assertEqual(
            journal.count(plans) + 1, (self.out / "journal.jsonl").read_text().count(plans)
        )

    def test_rounds_go_over_all_inputs(self) -> None:
        self.run_bench("--sizes=1,2")
        self.assertEqual([name.split("/")[2] for name in self.measured()], list("11221122"))

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

    def test_results_that_were_not_written_any_more_are_written(self) -> None:
        self.run_bench()
        (self.out / "results.json").unlink()
        code, out, _ = self.run_bench()
        self.assertEqual(code, 0)
        self.assertIn("| `scan`", out)
        self.assertEqual(len(self.results()["benchmarks"]), 4)
        self.assertEqual(len(self.measured()), 4)


class RoundsTest(unittest.TestCase):
    CELLS = tuple(Cell(f"s/w/1/{name}") for name in "abcdef")

    def test_every_contender_has_every_place_once_in_a_square(self) -> None:
        for count in range(1, 7):
            for square in range(3):
                cells = self.CELLS[:count]
                rounds = [order(cells, count * square + i, seed=1) for i in range(count)]
                for place in range(count):
                    self.assertEqual({one[place] for one in rounds}, set(cells))

    def test_every_contender_comes_after_each_other_as_often(self) -> None:
        for count in range(2, 7):
            cells = self.CELLS[:count]
            times = 1 + count % 2
            after: collections.Counter[tuple[Cell, Cell]] = collections.Counter()
            for i in range(times * count):
                after.update(pairwise(order(cells, i, seed=1)))
            self.assertEqual(set(after.values()), {times})
            self.assertEqual(len(after), count * (count - 1))

    def test_squares_begin_differently(self) -> None:
        beginnings = {tuple(order(self.CELLS, 6 * square, seed=1)) for square in range(10)}
        self.assertGreater(len(beginnings), 5)

    def test_the_widest_intervals_are_next(self) -> None:
        inputs = tuple(
            Input("w", size, (Cell(f"s/w/{size}/a"), Cell(f"s/w/{size}/b")), {}) for size in (1, 2)
        )
        plan = Plan((), {}, inputs, {})
        calm, wild = [10.0, 10.1] * 4, [10.0, 15.0] * 4
        costs = {"s/w/1/a": calm, "s/w/1/b": calm, "s/w/2/a": calm, "s/w/2/b": wild}
        chosen = widest(plan, costs, least=6)
        assert chosen
        self.assertEqual(chosen.size, 2)
        costs["s/w/1/a"], costs["s/w/1/b"] = [10.0] * 3, [10.0] * 3
        chosen = widest(plan, costs, least=6)  # too few to say anything
        assert chosen
        self.assertEqual(chosen.size, 1)
        self.assertIsNone(widest(plan, {}, least=6))
        costs = {f"s/w/{size}/a": [10.0] * rounds for size, rounds in ((1, 9), (2, 8))}
        chosen = widest(plan, costs, least=6)  # of equals, whoever has had fewer
        assert chosen
        self.assertEqual(chosen.size, 2)


class IntervalTest(unittest.TestCase):
    def test_six_values_are_the_least(self) -> None:
        self.assertEqual(median_interval([1, 2, 3, 4, 5]).low, float("-inf"))
        interval = median_interval([6, 1, 5, 2, 4, 3])
        self.assertEqual((interval.low, interval.middle, interval.high), (1, 3.5, 6))

    def test_ranks_are_those_of_the_sign_test(self) -> None:
        # Of 20 values the 6th and the 15th, 95.9 %; of 100 the 40th and the 61st, 96.5 %.
        interval = median_interval([float(i) for i in range(1, 21)])
        self.assertEqual((interval.low, interval.high), (6, 15))
        interval = median_interval([float(i) for i in range(1, 101)])
        self.assertEqual((interval.low, interval.high), (40, 61))

    def test_covers_the_median_as_often_as_it_says(self) -> None:
        rng = random.Random(3)
        hits = 0
        for _ in range(2000):
            interval = median_interval([rng.lognormvariate(0, 1) for _ in range(12)])
            hits += interval.low <= 1 <= interval.high
        self.assertGreater(hits / 2000, 0.95)
        self.assertLess(hits / 2000, 0.99)


class IdentityTest(unittest.TestCase):
    FACTS: dict[str, Any] = {
        "suite": "quick",
        "kind": "replays",
        "granularity": 1,
        "pages": "",
        "backends": {"scan": {}},
        "machine": {"compiler": "C 1", "flags": "-O3", "build": "Release"},
    }
    CELL = Cell("quick/fill/10/scan")

    def identity(
        self,
        how: tuple[str, ...] = ("total",),
        hashes: str = "abc",
        unit: float = 1e6,
        choice: tuple[str, ...] = (),
        **facts: Any,
    ) -> str:
        facts = self.FACTS | facts
        told = {"hashes": [hashes], "items": 10, "unit_ns": unit}
        one = Input("fill", 10, (self.CELL,), told)
        plan = Plan(choice, facts, (one,), {"": Build(Path("timerbench"), facts)})
        return cell_identity(plan, one, self.CELL, list(how))

    def test_is_of_all_that_could_change_a_figure(self) -> None:
        self.assertEqual(self.identity(), self.identity(), "the same")
        machine = self.FACTS["machine"]
        others = [
            self.identity(granularity=4),
            self.identity(pages="2m"),
            self.identity(hashes="abd"),
            self.identity(how=("tails",)),
            self.identity(unit=1e3),
            self.identity(machine=machine | {"compiler": "C 2"}),
            self.identity(machine=machine | {"flags": "-O2"}),
            self.identity(machine=machine | {"build": "Debug"}),
        ]
        with unittest.mock.patch("campaign.identity.machine_key", return_value="another"):
            others.append(self.identity())
        self.assertEqual(len({self.identity(), *others}), 1 + len(others))
        services = {"kind": "realtime", "seconds": 1, "seed": 1}
        others = [
            self.identity(**services),
            self.identity(**services | {"seconds": 2}),
            self.identity(**services | {"seed": 2}),
            self.identity(choice=("--rate=1",), **services),
        ]
        self.assertEqual(len(set(others)), len(others))

    def test_a_choice_means_what_the_files_say_that_it_names(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            project = Path(name)
            files = [
                project / file
                for file in ("bench/suites/full.toml", "bench/suites/quick.toml")
                + ("bench/traces/nginx.npy", "a.npy", "b.json", "c.npy", "d.npy")
            ]
            for file in files:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()

            def meant() -> str:
                campaign.identity._content.cache_clear()
                traces = (f"--trace={project}/a,{project}/b.json", "--trace", f"{project}/c.npy")
                return choice_key(["--suite=quick", *traces], project)

            changing = []
            for file in files:
                before = meant()
                file.write_text("edited")
                if meant() != before:
                    changing.append(file.name)
            self.assertEqual(changing, ["quick.toml", "nginx.npy", "a.npy", "b.json", "c.npy"])

    def test_source_is_all_that_is_compiled_into_a_backend_and_no_other(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            files = {
                "impls/queues/wheel.h": '#include "queues/slots.h"\n',
                "impls/queues/slots.h": '#include "core/bits.h"\n',
                "impls/core/bits.h": "",
                "impls/core/bits.cc": '#include "core/bits.h"\n',
                "bench/replay/make_backend.h": '#include "replay/loop.h"\n',
                "bench/replay/loop.h": "",
                "bench/replay/loop.cc": '#include "queues/roster.h"\n',
                "impls/queues/roster.h": '#include "queues/other.h"\n',
                "impls/queues/other.h": "",
                "bench/verify/contract.cc": "",
            }
            for file, text in files.items():
                path = Path(name, file)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)

            def hash_of(harness: tuple[str, ...]) -> str:
                source_hash.cache_clear()
                return source_hash(str(Path(name, "impls/queues/wheel.h")), harness, Path("none"))

            def changes(file: str, harness: tuple[str, ...]) -> bool:
                before = hash_of(harness)
                with Path(name, file).open("a") as edited:
                    edited.write("// edited\n")
                return hash_of(harness) != before

            changed = {file for file in files if changes(file, REPLAYS)}
            self.assertEqual(changed, set(list(files)[:7]))
            changed = {file for file in files if changes(file, VERDICTS)}
            self.assertEqual(changed, {*list(files)[:4], "bench/verify/contract.cc"})

    def test_a_cell_depends_on_what_measures_it(self) -> None:
        backends = {"scan": {"file": str(ROOT / "impls" / "queues" / "scan.h")}}
        for kind, folder in (("replays", "bench/replay"), ("realtime", "bench/realtime")):
            with unittest.mock.patch("campaign.identity.source_hash", return_value="") as asked:
                self.identity(kind=kind, seconds=1, seed=1, backends=backends)
            self.assertIn(folder, asked.call_args.args[1])

    def test_a_contender_is_found_from_where_it_was_compiled(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            project = Path(name).resolve()
            (project / "bench" / "replay").mkdir(parents=True)
            (project / "impls").mkdir()
            header = project / "impls" / "wheel.h"
            header.write_text("")
            program = project / "build" / "release" / "timerbench"
            hashes = {
                contender_hash({"file": file}, REPLAYS, program)
                for file in (str(header), "../../impls/wheel.h")
            }
            self.assertEqual(len(hashes), 1)
            header.write_text("// edited")
            source_hash.cache_clear()
            edited = contender_hash({"file": "../../impls/wheel.h"}, REPLAYS, program)
            self.assertNotIn(edited, hashes)

    def test_out_of_tree_all_that_is_read_counts(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            files = {
                "build.ninja": "rule compile\n"
                " command = g++ -MD -MF $out.d -I. -c $in -o $out\n depfile = $out.d\n deps = gcc\n"
                "rule link\n command = cat $in > $out\n"
                "build backends/my_wheel.cc.o: compile my_wheel.cc\n"
                "build backends/other.cc.o: compile other.cc\n"
                "build timerbench: link backends/my_wheel.cc.o backends/other.cc.o | ../lib.a\n",
                "my_wheel.cc": '#include "../my_wheel.h"\n',
                "other.cc": '#include "../other.h"\n',
                "../my_wheel.h": "#include <../slots.h>\n",
                "../slots.h": '#include "part.c"\n',
                "../part.c": "",
                "../lib.a": "",
                "../other.h": "",
            }
            (folder / "build").mkdir()
            for file, text in files.items():
                (folder / "build" / file).write_text(text)
            subprocess.run(["ninja", "-C", folder / "build"], check=True, capture_output=True)

            def own_hash() -> str:
                for cached in (source_hash, campaign.identity._read_from_outside):
                    cached.cache_clear()
                program = folder / "build" / "timerbench"
                return source_hash(str(folder / "my_wheel.h"), REPLAYS, program)

            def changes(file: str) -> bool:
                before = own_hash()
                with (folder / file).open("a") as edited:
                    edited.write("// edited\n")
                return own_hash() != before

            changed = [path.name for path in sorted(folder.glob("*.*")) if changes(path.name)]
            self.assertEqual(changed, ["lib.a", "my_wheel.h", "part.c", "slots.h"])
            before = own_hash()
            rules = folder / "build" / "build.ninja"
            rules.write_text(rules.read_text() + " # of the link\n")
            self.assertEqual(own_hash(), before)
            rules.write_text(rules.read_text().replace("g++", "g++ -std=c++20"))
            self.assertNotEqual(own_hash(), before, "how it is compiled counts")
            (folder / "build" / "build.ninja").unlink()
            self.assertTrue(changes("build/timerbench"), "of another build system: the program")

    def test_of_a_library_what_it_was_built_from_counts_too(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            library = Path(name) / "lib.a"
            (Path(name) / "bench" / "replay").mkdir(parents=True)
            for folder, counts in (("peers", True), ("queues", False)):
                header = Path(name) / "impls" / folder / "some.h"
                header.parent.mkdir(parents=True)
                header.write_text("")
                hashes = set()
                for version in ("1.0", "1.1"):
                    library.write_text(version)
                    source_hash.cache_clear()
                    with unittest.mock.patch(
                        "campaign.identity._read_from_outside", return_value=({library}, "")
                    ):
                        hashes.add(source_hash(str(header), REPLAYS, Path("none")))
                self.assertEqual(len(hashes) == 2, counts, folder)

    def test_how_a_library_is_linked_counts(self) -> None:
        """Also what a shared header says of it, in the file beside."""
        libev = ROOT / "impls" / "peers" / "libev.h"
        sources = {
            path.resolve().name for path in campaign.identity._sources([libev], ROOT, "cc", "cmake")
        }
        self.assertLessEqual({"libev.cmake", "virtual_loop.h", "virtual_loop.cmake"}, sources)

    def test_code_of_other_languages_in_the_folder_of_its_name_counts(self) -> None:
        jvm = ROOT / "impls" / "peers" / "services" / "jvm_timers.h"
        sources = {path.name for path in campaign.identity._sources([jvm], ROOT, "cc", "cmake")}
        self.assertLessEqual({"jvm_timers.cmake", "jvm.h", "JdkTimer.java"}, sources)

    def test_backends_have_sources_of_their_own(self) -> None:
        queues = ROOT / "impls" / "queues"
        names = ("scan", "ring", "kafka_wheel", "ordered_map")
        hashes = {source_hash(str(queues / f"{name}.h"), REPLAYS, Path("none")) for name in names}
        self.assertEqual(len(hashes), 4)


class ServicePeersTest(BenchScratch):
    """One command for three suites."""

    def setUp(self) -> None:
        super().setUp()
        self.program = self.program.replace(
            "console.run_main", "bench.preset_of = lambda choice: 'release'\nconsole.run_main"
        )

    def test_each_suite_has_a_folder_and_goes_on_where_it_was(self) -> None:
        options = ("service_peers", "--backends=ring_512", "--rounds=1")
        code, out, err = self.run_bench(*options)
        self.assertEqual((code, err), (0, ""))
        rates = [
            f"accuracy/{name}/{size}"
            for name in ("rate", "herd")
            for size in (1000, 10_000, 100_000)
        ]
        threads = ["contention/own/1", "contention/own/2"]
        requests = ["purgatory/low/10000", "purgatory/low/100000"]
        self.assertEqual(
            sorted(set(self.measured())),
            sorted(f"{cell}/ring_512" for cell in rates + threads + requests),
        )
        suites = ["accuracy", "contention", "purgatory"]
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), suites)
        commands = [line for line in out.splitlines() if line.startswith("scripts/bench ")]
        self.assertEqual([command.split()[1] for command in commands], suites)
        before = self.measured()
        code, out, err = self.run_bench(*options)
        self.assertEqual((code, err, out.count("Nothing to do")), (0, "", 3))
        self.assertEqual(self.measured(), before)

    def test_the_libraries_are_what_it_measures(self) -> None:
        arguments, choice = bench.parse(["service_peers", f"--out={self.out}"])
        for _, options in bench.campaigns_of(arguments, self.out, choice):
            self.assertTrue(any(one.startswith("--backends=libraries,") for one in options))

    def test_a_failed_cell_ends_none_of_them_and_an_interrupt_all(self) -> None:
        options = ("service_peers", "--backends=scan,ring_512", "--rounds=9")
        code, _, err = self.run_bench(*options, ACTS="ring_512=fails wrong")
        self.assertEqual((code, err.count("cells failed")), (1, 3), err)
        shutil.rmtree(self.out)
        program = self.start(*options, ACTS="scan=slow,ring_512=slow")
        assert program.stdout
        next(line for line in program.stdout if line.startswith("round 1 of 9"))
        program.send_signal(signal.SIGINT)
        _, err = program.communicate()
        self.assertEqual((program.returncode, err.count("interrupted after")), (1, 1), err)
        self.assertEqual([path.name for path in self.out.iterdir()], ["accuracy"])

    def test_what_is_for_one_suite_is_refused_in_a_line(self) -> None:
        for option in ("--workloads=rate", "--sizes=1", "--rate=1", "--budget=1m", "--process=x"):
            code, out, err = self.run_bench("service_peers", option)
            name = option.partition("=")[0]
            self.assertEqual((code, out), (2, ""))
            self.assertEqual(
                err,
                f"scripts/bench: service_peers takes no {name}, for it is several suites; give it to "
                "one of accuracy, contention, purgatory\n",
            )
            self.assertFalse(self.out.exists())


class PresetTest(unittest.TestCase):
    def test_the_program_that_has_the_backends_is_built(self) -> None:
        for choice, preset in (
            ([], "release"),
            (["ablation", "--out=x"], "ablation"),
            (["peers"], "peers"),
            (["--suite=bench/suites/peers.toml"], "peers"),
            (["full", "--backends=log_wheel,libuv"], "peers"),
            (["--backends=libraries"], "peers"),
            (["accuracy", "--backends=delay_queue,libuv_loop"], "peers"),
            (["contention", "--backends=asio_loop_4"], "peers"),
            (["purgatory", "--backends=timerfds"], "peers"),
            (["accuracy"], "release"),
            (["processes"], "peers"),
            (["service_peers"], "peers"),
            (["--backends=log_wheel,netty_wheel"], "peers"),
            (["full", "--out", "peers"], "release"),
        ):
            told = subprocess.run(
                [sys.executable, ROOT / "scripts" / "lib" / "bench.py", "--which-preset", *choice],
                capture_output=True,
                text=True,
            )
            self.assertEqual(told.stdout.strip(), preset, (choice, told.stderr))


class MemoryTest(unittest.TestCase):
    def test_memory_that_is_mapped_shared_is_limited_too(self) -> None:
        program = (
            "import mmap, time\n"
            "shared = mmap.mmap(-1, 400 << 20)\n"
            "for _ in range(400): shared.write(bytes(1 << 20))\n"
            "time.sleep(60)"
        )
        for limit, seconds, expected in ((1 << 30, 3, None), (300 << 20, 30, -signal.SIGKILL)):
            with self.subTest(limit=limit), tempfile.TemporaryFile() as output:
                limits = Limits(seconds=seconds, memory=limit)
                code = run_limited([sys.executable, "-c", program], output, limits, Stop())
                self.assertEqual(code, expected)


class StopTest(unittest.TestCase):
    def test_a_process_is_killed_that_begins_while_a_request_to_end_comes(self) -> None:
        begin = subprocess.Popen

        def begin_and_be_told(*arguments: Any, **options: Any) -> "subprocess.Popen[bytes]":
            program = begin(*arguments, **options)
            os.kill(os.getpid(), signal.SIGTERM)
            return program

        with Stop() as stop, unittest.mock.patch("subprocess.Popen", begin_and_be_told):
            code = run_limited(["sleep", "10"], subprocess.DEVNULL, Limits(10, 1 << 30), stop)
        self.assertEqual(code, -signal.SIGKILL)


class DisturbanceTest(unittest.TestCase):
    def test_one_that_moved_is_worse_than_one_that_was_away(self) -> None:
        moved, away = (
            Measurement("noisy", 1, entry=entry).disturbance
            for entry in ({"migrations": 1.0}, {"away_share": 0.4})
        )
        self.assertGreater(moved, away)


class ForecastTest(unittest.TestCase):
    def test_traces_of_proposed_sizes_take_half_of_the_budget(self) -> None:
        """The other half is for measuring."""
        for budget, advice in (
            (6, "choose fewer --workloads, or a budget of 28 s and more"),
            (
                9,
                "those of at most 10⁵ timers take about 4 s: choose them by --sizes, or a budget of "
                "28 s",
            ),
        ):
            with unittest.mock.patch("time.monotonic", side_effect=[0, 2]):
                forecast = Forecast([100_000, 100_000, 900_000], budget)
                with self.assertRaisesRegex(Failure, f"which take about 14 s and .*; {advice}"):
                    forecast.check()


class OptionsTest(unittest.TestCase):
    def test_times_and_sizes(self) -> None:
        arguments, choice = bench.parse(["full", "--budget=10m", "--memory=8G", "--out=x"])
        self.assertEqual((arguments.budget, arguments.memory), (600, 8 << 30))
        self.assertEqual(choice, ["--suite=full"])
        times = [bench.parse([f"--budget={text}"])[0].budget for text in ("90s", "2h", "1.5min")]
        self.assertEqual(times, [90, 7200, 90])

    def test_what_makes_no_sense_is_refused(self) -> None:
        for option in (
            *("--out=", "--backends=", "--cell-seconds=-3", "--cell-seconds=nan", "--slow-down=-5"),
            *("--budget=0s", "--memory=8", "--rounds=0"),
        ):
            with self.subTest(option), redirect_stderr(io.StringIO()) as err:
                with self.assertRaises(SystemExit) as ended:
                    bench.parse([option])
                self.assertEqual(ended.exception.code, 2)
                self.assertIn(option.partition("=")[0], err.getvalue())


if __name__ == "__main__":
    unittest.main()
