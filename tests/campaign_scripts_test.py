"""Campaigns: nothing is lost, and nothing is measured twice.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/campaign_scripts_test.py
"""

import collections
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock
from contextlib import redirect_stderr
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT, BenchScratch
from waiting import wait_for

import bench
from campaign.forecast import Forecast
from campaign.journal import open_journal
from campaign.plan import Cell, Input, Plan
from campaign.process import Measurement
from campaign.rounds import order, widest
from console import Failure
from results.statistics import median_interval


class CampaignTest(BenchScratch):
    def test_measures_in_rounds_and_reports(self) -> None:
        self.draws = True
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
            before = len(self.measured())
            program = self.start("--rounds=6", "--sizes=1,2", ACTS="scan=slower")
            try:
                program.communicate(timeout=rng.uniform(0.5, 5))
                break
            except subprocess.TimeoutExpired:
                while program.poll() is None and len(self.measured()) == before:
                    time.sleep(0.05)  # on a busy machine
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
        wait_for(lambda: len(self.measured()) >= 3, program, 60)
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

    def test_results_on_the_wall_clock_say_what_the_load_is(self) -> None:
        options = ("accuracy", "--sizes=1000", "--backends=ring_512", "--rounds=1")
        for more, load in (
            ((), "--seconds=0.5"),
            (("--timeout=9", "--seconds=0.5", "--rate=7"), "--rate=7 --seconds=0.5 --timeout=9"),
        ):
            self.out = self.folder / f"out{len(more)}"
            code, _, err = self.run_bench(*options, *more)
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(self.results()["context"]["load"], load)

    def test_figures_that_were_not_drawn_any_more_are_drawn(self) -> None:
        self.draws = True
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
        rounds = "scripts/bench quick --sizes=1,2 --rounds=3"
        self.assertEqual(self.results()["context"]["command"], rounds)
        self.run_bench("--sizes=1,2", "--budget=1s")
        self.assertEqual(
            self.results()["context"]["command"],
            f"{rounds} && scripts/bench quick --sizes=1,2 --budget=1s",
        )

    def test_what_is_no_journal_is_left_alone(self) -> None:
        journal = self.out / "journal.jsonl"
        self.run_bench()
        good = journal.read_text().splitlines(keepends=True)
        for content, complaint in (
            (
                "".join([*good[:3], '{"kind":', *good[3:]]),
                "journal.jsonl:4: is damaged .*; remove that line",
            ),
            ('{"kind": 1}\n', "journal.jsonl:1: is damaged .*; replace that line by the first"),
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
        first = self.start(ACTS="scan=held")
        self.addCleanup(first.kill)
        assert first.stdout
        next(line for line in first.stdout if line.startswith("0 of"))
        code, _, err = self.run_bench()
        self.assertEqual(code, 1)
        self.assertIn("another scripts/bench is writing to it", err)
        (self.source / "go").touch()
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


class ServicePeersTest(BenchScratch):
    """One command for three suites."""

    def setUp(self) -> None:
        super().setUp()
        self.take_for_every_preset()

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

    def test_a_budget_is_refused_where_there_is_no_interval(self) -> None:
        with redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit):
            bench.parse(["faults", "--budget=10m"])
        self.assertIn("--budget is not for the suite faults, whose", err.getvalue())


if __name__ == "__main__":
    unittest.main()
