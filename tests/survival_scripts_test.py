"""The suite faults in scripts/bench and scripts/plot: the table of survival, its figure, and runs.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/survival_scripts_test.py
Needs build/release/timerbench.
"""

import io
import json
import subprocess
import sys
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT, BenchScratch, Scratch, runner_of, texts_of
from survival_testing import (
    BROKEN,
    LOSSY,
    NO_START,
    SAFE,
    WHY,
    results,
    skipped,
    survived,
    timeline,
    timelines,
    write,
)

import bench
import plot
from campaign import identity
from campaign.plan import Cell
from console import Failure, UsageError
from figures.survival import short_count
from reports import Choice, SurvivalReport, open_report
from results.survival import SurvivalResults, Verdict
from tables.survival import answer_lines, chance, sheets

Entries = list[dict[str, Any]]


class SurvivalScratch(Scratch):
    def open(self, entries: Entries, distributions: Any = None, **context: Any) -> SurvivalReport:
        report = open_report([write(self.folder, entries, distributions, **context)])
        assert isinstance(report, SurvivalReport)
        return report

    def load(self, entries: Entries, distributions: Any = None) -> SurvivalResults:
        return self.open(entries, distributions).results


class LoadTest(SurvivalScratch):
    def test_rounds_sizes_and_files_are_further_runs(self) -> None:
        one = survived(
            "power_cut", SAFE, lost=1, lossy=1, breaches=1, latest_seconds=2, worst_seed=7
        )
        larger = survived("power_cut", SAFE, runs=20, acknowledged=9000)
        larger["name"] = larger["name"].replace("/5/", "/20/")
        fate = self.load([survived("power_cut", SAFE), one, larger]).fates["power_cut", SAFE]
        self.assertEqual((fate.runs, fate.lossy, fate.breaches, fate.worst_seed), (30, 1, 1, 7))
        self.assertEqual((fate.lost, fate.acknowledged), (1, 13_200))
        self.assertEqual(fate.maxima["latest_seconds"], 2)
        self.assertEqual(fate.median_silent, 0.1)
        both = [write(self.folder, results()), self.folder / "again.json"]
        both[1].write_text(both[0].read_text())
        report = open_report(both)
        assert isinstance(report, SurvivalReport)
        self.assertEqual(report.results.fates["power_cut", SAFE].runs, 10)

    def test_a_maximum_has_the_seed_of_its_run_if_that_is_not_the_worst(self) -> None:
        both = [
            survived("power_cut", SAFE, latest_seconds=late, silent_seconds=2, **seeds)
            for late, seeds in (
                (3, {"latest_seed": 12, "silent_seed": 1}),
                (4, {"latest_seed": 17, "silent_seed": 1}),
            )
        ]
        results = self.load(both)
        [sheet] = sheets(results)
        [line] = sheet.lines
        told = dict(zip(sheet.titles, line))
        self.assertEqual((told["latest"], told["silent"]), ("4.00 s (seed 17)", "2.00 s"))
        self.assertEqual(told["seed of the worst run"], "1")

    def test_verdicts(self) -> None:
        entries = [
            *results(),
            {**skipped("disk_full", SAFE, ""), "error_message": "error: no"},
            skipped("disk_full", LOSSY, "it keeps nothing on disk"),
            skipped("power_cut", "redis_memory", "it keeps nothing on disk"),
        ]
        fates = self.load(entries).fates
        self.assertEqual(
            {key: fate.verdict for key, fate in fates.items()},
            {
                ("power_cut", SAFE): Verdict.KEPT,
                ("power_cut", LOSSY): Verdict.ALLOWED,
                ("power_cut", BROKEN): Verdict.KEPT,
                ("engine_stopped", SAFE): Verdict.LEFT_OUT,
                ("engine_stopped", LOSSY): Verdict.KEPT,
                ("engine_stopped", BROKEN): Verdict.BROKEN,
                ("disk_full", SAFE): Verdict.UNKNOWN,
                ("disk_full", LOSSY): Verdict.LEFT_OUT,
                ("power_cut", "redis_memory"): Verdict.LOSES_ALL,
            },
        )

    def test_the_worst_time_line_of_all_rounds_is_kept(self) -> None:
        rounds = [
            {"timeline": timeline(1, lost=9)},
            {"timeline": timeline(2, lost=3, breach=WHY)},
            {"timeline": timeline(3)},
        ]
        distributions = {f"faults/power_cut/5/{SAFE}": rounds}
        entries = 3 * [survived("power_cut", SAFE)]
        fate = self.load(entries, distributions).fates["power_cut", SAFE]
        assert fate.worst
        self.assertEqual((fate.worst_seed, fate.worst.lost, fate.breach), (2, 3, WHY))
        self.assertEqual(set(map(len, fate.worst.lines.values())), {50})
        self.assertTrue(fate.repeat_line.endswith("--sizes=1 --seed=2"))

    def test_the_line_that_repeats_many_strikes_tells_for_how_long(self) -> None:
        line = timeline(7) | {"seconds": 600, "strikes": [[0.4, 0.8], [1.4, 1.8]]}
        distributions = {f"faults/power_cut/5/{SAFE}": [{"timeline": line}]}
        fate = self.load([survived("power_cut", SAFE)], distributions).fates["power_cut", SAFE]
        self.assertTrue(fate.repeat_line.endswith("--sizes=1 --seed=7 --seconds=600"))

    def test_whatever_is_no_cell_or_no_time_line_is_refused_by_name(self) -> None:
        good = survived("power_cut", SAFE)
        for change in ({"label": "exact"}, {"lost": -1}, {"runs": None}, {"name": "faults/x"}):
            with self.subTest(change), self.assertRaisesRegex(Failure, "json: .*is not a cell"):
                self.load([good | change])
        for change in ({"step_seconds": 0}, {"due": 7}, {"seed": "x"}, {"strikes": [[None, 1]]}):
            distributions = {f"faults/power_cut/5/{SAFE}": [{"timeline": timeline() | change}]}
            with self.subTest(change), self.assertRaisesRegex(Failure, "not the distributions"):
                self.load([good], distributions)

    def test_suites_do_not_mix_and_sizes_are_added_up(self) -> None:
        other = {"name": "durable/rate/5/x", "label": "keeps all, per timer"}
        with self.assertRaisesRegex(Failure, "faults and durable do not belong in one table"):
            self.load([*results(), other])
        with self.assertRaisesRegex(UsageError, "runs, and are added up"):
            open_report([write(self.folder, results())], Choice(size=5))


class TableTest(SurvivalScratch):
    def rows(self, text: str) -> dict[str, list[str]]:
        """The first table, by queue."""
        head, _, *lines = text[text.index("| queue") :].split("\n\n")[0].splitlines()
        split = [[entry.strip() for entry in line.strip("|").split("|")] for line in (head, *lines)]
        return {row[0].strip("`"): row[1:] for row in split}

    def test_the_matrix(self) -> None:
        text = self.open(results(), timelines()).markdown()
        self.assertEqual(
            self.rows(text),
            {
                "queue": ["power_cut", "engine_stopped"],
                SAFE: ["0 of 2\u202f100", "–"],
                LOSSY: ["90 of 2\u202f100 †", "0 of 2\u202f100"],
                BROKEN: ["0 of 2\u202f100", "**7 of 2\u202f100 !**"],
            },
        )
        for part in (
            "† the engine promises less than to keep all: it may lose the latest",
            "! the promise is broken",
            f"- {BROKEN} in engine_stopped: 2 of 5 runs broke the promise (keeps all): {WHY}. Repeat: "
            f"`scripts/bench faults --workloads=engine_stopped --backends={BROKEN} --sizes=1 --seed=4`",
            f"- it has no server: {SAFE} in engine_stopped",
            "## power_cut: only what has reached the disk is there afterwards",
            "Reproduce with: `scripts/bench faults`",
        ):
            self.assertIn(part, text)
        details = text[text.index("## engine_stopped") :].splitlines()
        self.assertRegex(details[2], r"\| seed of the worst run \| +outcome \|$")
        self.assertRegex(
            details[4], rf"\| `{LOSSY}` .* 12 \| 5\.50 s \| 5\.25 s \| +100 ms \| +1 \| +lost"
        )
        self.assertRegex(details[5], rf"\| `{BROKEN}` .* \| +4 \| +broke its promise")

    def test_each_reason_stands_once(self) -> None:
        faults = ("read_only", "memory_full")
        entries = [
            *results(),
            *(skipped(fault, name, "no such state") for fault in faults for name in (SAFE, BROKEN)),
        ]
        text = self.open(entries).markdown()
        self.assertEqual(text.count("no such state"), 1)
        self.assertIn(f"- no such state: {SAFE}, {BROKEN} in read_only, memory_full", text)

    def test_runs_that_are_missing_are_told(self) -> None:
        late = {"error_occurred": True, "error_message": "timeout: over 60 s"}
        broken = {"error_occurred": True, "error_message": "error: no room"}
        name = survived("power_cut", SAFE)["name"]
        entries = [
            *(survived("power_cut", SAFE, round=i) for i in range(4)),
            {"name": name, "round": 4, **late},
            {"name": name.replace("/5/", "/20/"), **broken},
        ]
        text = self.open(entries).markdown()
        self.assertIn(f"- timeout in 1 of 5 rounds: {SAFE} in power_cut", text)
        self.assertIn(f"- error: no room: {SAFE} in power_cut", text)

    def test_the_answer(self) -> None:
        first, losses, sure, advice = answer_lines(self.load(results()))
        self.assertEqual(
            first,
            f"Of 3 queues 1 breaks its promise: {BROKEN} loses 7 of 2\u202f100 acknowledged timers in "
            "engine_stopped. All 2 others keep what is promised, in 25 runs of 2 faults.",
        )
        self.assertIn(f"{SAFE} loses no acknowledged timer in any fault that it met", losses)
        self.assertIn(f"{LOSSY} (90 of 2\u202f100 in power_cut) loses what it may lose", losses)
        self.assertIn("Each queue met each fault that can happen to it 5 times", sure)
        self.assertIn("in less than 45.1 % of such runs", sure)
        self.assertIn(f"If no timer may be lost, take {SAFE}: it promises to keep all", advice)
        self.assertIn("1 of 3 queues fired timers twice.", advice)

    def test_the_advice_tells_if_the_power_was_not_cut(self) -> None:
        killed = [survived("engine_killed", SAFE)]
        not_cut = [*killed, skipped("power_cut", SAFE, "no root")]
        for entries in (killed, not_cut):
            advice = answer_lines(self.load(entries))[-1]
            self.assertIn("and did, but the power was not cut here.", advice)
        cut = [*killed, survived("power_cut", SAFE)]
        self.assertIn("a power cut, and did.", answer_lines(self.load(cut))[-1])

    def test_the_advice_tells_what_nobody_promises_to_keep(self) -> None:
        spoilt = [
            survived("last_block_spoilt", name, "may lose the latest", lost=lost)
            for name, lost in ((SAFE, 3), (BROKEN, 0))
        ]
        cut = [survived("power_cut", name) for name in (SAFE, BROKEN)]
        advice = answer_lines(self.load([*cut, *spoilt]))[-1]
        self.assertIn(
            f"and did. In last_block_spoilt no engine promises that: only {BROKEN} lost", advice
        )
        all_lose = [*cut, spoilt[0], {**spoilt[1], "lost": 1}]
        self.assertIn(": all of these lost some.", answer_lines(self.load(all_lose))[-1])
        self.assertNotIn("last_block_spoilt", answer_lines(self.load(cut))[-1])

    def test_the_advice_tells_whether_completing_first_helps(self) -> None:
        twice = survived("worker_killed", SAFE, fired_twice=2)
        once = survived("worker_killed_at_most_once", SAFE, fired_twice=0)
        told = "none where workers completed them first"
        self.assertIn(told, answer_lines(self.load([twice, once]))[-1])
        for entries in ([twice], [twice, {**once, "fired_twice": 1}]):
            self.assertNotIn(told, answer_lines(self.load(entries))[-1])

    def test_nobody_breaks_a_promise(self) -> None:
        good = [survived("power_cut", SAFE), survived("power_cut", LOSSY, "may lose the latest")]
        for entries, first in (
            (good[:1], "The queue keeps what is promised, in 5 runs of 1 fault."),
            (good, "Both queues keep what is promised, in 10 runs of 1 fault."),
        ):
            self.assertEqual(answer_lines(self.load(entries))[0], first)

    def test_everybody_breaks_a_promise(self) -> None:
        how = {"breaches": 1, "worst_seed": 2}
        entries = [survived("power_cut", name, **how) for name in (SAFE, BROKEN)]
        first, *_ = answer_lines(self.load(entries))
        self.assertEqual(
            first,
            f"Of 2 queues 2 break their promise: {SAFE} in power_cut (1 of 5 runs); {BROKEN} in power_cut "
            "(1 of 5 runs). That was in 10 runs of 1 fault.",
        )
        first, *_ = answer_lines(self.load(entries[:1]))
        self.assertTrue(first.startswith("The queue breaks its promise, in 5 runs"), first)

    def test_an_engine_that_does_not_start_again(self) -> None:
        """It breaks its promise, unless it promises nothing."""
        name = "redis_memory"
        none = survived(
            "last_block_spoilt", name, "may lose all", lost=50, no_starts=2, worst_seed=2
        )
        told = {
            f"faults/last_block_spoilt/5/{name}": [{"timeline": timeline(2, no_start=NO_START)}]
        }
        report = self.open([none], told)
        self.assertEqual(report.results.fates["last_block_spoilt", name].verdict, Verdict.ALLOWED)
        self.assertIn("The queue keeps what is promised", report.markdown())
        for part in (
            " 50 of 2\u202f100 ‡× |",
            "× the engine does not start again after a run",
            f"- {name} in last_block_spoilt: after 2 of 5 runs: {NO_START}. Repeat: `scripts/bench ",
        ):
            self.assertIn(part, report.markdown())
        broken = survived("disk_full", name, lost=50, no_starts=2, breaches=3, worst_seed=2)
        report = self.open([broken])
        said = f"{name} does not start again in disk_full (2 of 5 runs)."
        self.assertIn(said, answer_lines(report.results)[0])
        self.assertIn(" **50 of 2\u202f100 ×!** |", report.markdown())

    def test_a_queue_that_is_not_back(self) -> None:
        why = "the queue is not back 60 s after all was mended, and 3 timers are missing"
        told = {f"faults/power_cut/5/{SAFE}": [{"timeline": timeline(2, breach=why)}]}
        report = self.open([survived("power_cut", SAFE, not_back=1, breaches=1)], told)
        said = f"{SAFE} is not back after power_cut (1 of 5 runs)."
        self.assertTrue(answer_lines(report.results)[0].endswith(said))
        self.assertIn(" **0 of 2\u202f100 !** |", report.markdown())
        self.assertIn(f"broke the promise (keeps all): {why}.", report.markdown())

    def test_nobody_is_advised_who_may_lose_all_in_a_fault_that_was_left_out(self) -> None:
        """Of what is kept in memory only, no power is cut."""
        facts = {"redis_replica": {"precision": "may lose all"}}
        entries = [survived("engine_stopped", "redis_replica")]
        _, losses, _, advice = answer_lines(self.open(entries, backends=facts).results)
        self.assertIn("(but it may lose all in a power cut)", losses)
        self.assertNotIn("redis_replica", advice)

    def test_what_nobody_promises_to_keep_speaks_against_nobody(self) -> None:
        spoilt = survived("last_block_spoilt", SAFE, "may lose the latest", lost=3)
        advice = answer_lines(self.load([*results(), spoilt]))[-1]
        self.assertIn(f"take {SAFE}", advice)

    def test_the_rule_of_three(self) -> None:
        self.assertAlmostEqual(chance(1), 0.95)
        self.assertAlmostEqual(chance(1000), 0.003, places=4)

    def test_a_terminal_gets_the_same(self) -> None:
        report = self.open(results(), timelines())
        with patch.dict("os.environ", COLUMNS="80"), redirect_stdout(io.StringIO()) as out:
            report.print_on_terminal()
        for part in ("1 breaks its promise", "90 of 2\u202f100 †", "7 of 2\u202f100 !", "--seed=4"):
            self.assertIn(part, out.getvalue())
        self.assertTrue(all(len(line) <= 80 for line in out.getvalue().splitlines()))

    def test_without_any_figure_the_reasons_stand(self) -> None:
        report = self.open([skipped("power_cut", SAFE, "mounting a file needs root")])
        self.assertIn(f"- mounting a file needs root: {SAFE} in power_cut", report.markdown())
        with self.assertRaisesRegex(Failure, "none of the 1 cells has a figure"):
            plot.write_report(report, self.folder)

    def test_a_table_for_a_paper(self) -> None:
        report = self.open(results())
        self.assertIn(r"\texttt{redis\_everysec} & 90 of 2\,100 $\dagger$ &", report.latex())
        self.assertIn(r"\rotatebox{90}{engine stopped}", report.latex())
        self.assertIn("Test 1000", report.method())


class CompareTest(SurvivalScratch):
    def test_there_is_no_cost_to_compare(self) -> None:
        path = write(self.folder, results())
        ended = self.run_script("compare", path, path)
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        self.assertRegex(ended.stderr, "^scripts/compare: .* has no cost to compare; .*\n$")


class FigureTest(SurvivalScratch):
    def test_the_figure(self) -> None:
        report = self.open(results())
        for names, figures in (
            (["survival"], list(report.figures())),
            (["survival"], list(report.paper_figures())),
        ):
            self.assertEqual([name for name, _ in figures], names)
            figure = figures[0][1]()
            self.assertTrue({"90†", "7!", "0", "broke its promise"} <= set(texts_of(figure)))
            self.check_layout("survival", figure)

    def test_many_queues_and_faults_at_any_width(self) -> None:
        entries = [
            survived(f"worker_killed_at_most_once_{i}", f"redis_cluster_wait_{j}", lost=123_456)
            for i in range(18)
            for j in range(14)
        ]
        for width in (None, 9.0):
            for name, draw in SurvivalReport(self.load(entries), width).figures():
                self.check_layout(name, draw())

    def test_a_number_is_never_cut(self) -> None:
        numbers = (0, 999, 1000, 9949, 9950, 51_337, 999_499, 999_500, 1_234_567)
        self.assertEqual(
            [short_count(number) for number in numbers],
            ["0", "999", "1.0k", "9.9k", "10k", "51k", "999k", "1.0M", "1.2M"],
        )


class CampaignTest(BenchScratch):
    """The campaign of this suite."""

    def test_the_preset(self) -> None:
        self.assertEqual(bench.preset_of(["--suite=faults"]), "durable")

    def test_a_seed_is_an_option(self) -> None:
        for seed in ("--seed=17", "--seed 17"):
            _, choice = bench.parse(["faults", "--sizes=1", *seed.split()])
            self.assertEqual(choice, ["--suite=faults", "--sizes=1", "--seed=17"])

    def test_each_round_has_runs_of_its_own_and_time_for_them(self) -> None:
        runner = runner_of("faults", "--sizes=5", "--seed=17", seed=17, seconds=600)
        cell = Cell("faults/power_cut/5/sqlite_full")
        for round_, seed in ((0, 17), (1, 22), (2, 27)):
            command = runner._command(cell, round_)
            self.assertEqual([one for one in command if "seed" in one], [f"--seed={seed}"])
        self.assertGreater(
            runner._limits(cell).seconds, 5 * (600 + 60 + 60), "strikes, a restart, and the end"
        )

    def test_the_harness_counts(self) -> None:
        harness = identity._harness_sources(identity.FAULTS, ROOT)
        for file in ("faults/faults.cc", "faults/survival_audit.cc", "durable/proxy.cc"):
            self.assertIn(ROOT / "bench" / file, harness)
        self.assertIn(ROOT / "impls" / "durable" / "worker.cc", harness)

    def test_the_help_names_the_suite(self) -> None:
        code, out, _ = self.run_bench("--help")
        self.assertEqual(code, 0)
        self.assertIn("\n  faults ", out)
        self.assertIn("--seed", out)


class RealRunTest(SurvivalScratch):
    """A run of the queue that needs no server, as timerbench writes it."""

    def test_a_tiny_run(self) -> None:
        out = self.folder / "results.json"
        run = subprocess.run(
            [
                *(ROOT / "build" / "release" / "timerbench", "run", "--suite=faults"),
                *("--workloads=lease_ends,engine_killed,engine_stopped", "--sizes=1", "--seed=17"),
                *("--backends=journal_wheel_0", "--verified", f"--benchmark_out={out}"),
            ],
            text=True,
            capture_output=True,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        report = open_report([out])
        assert isinstance(report, SurvivalReport)
        fates = report.results.fates
        for fault in ("lease_ends", "engine_killed"):
            fate = fates[fault, "journal_wheel_0"]
            self.assertEqual((fate.verdict, fate.runs, fate.worst_seed), (Verdict.KEPT, 1, 17))
            assert fate.worst
            self.assertGreater(fate.acknowledged, 0)
            self.assertEqual(fate.worst.acknowledged, fate.acknowledged)
            [(begin, end)] = fate.worst.strikes
            assert end
            self.assertGreaterEqual(end, begin)
        self.assertEqual(fates["engine_stopped", "journal_wheel_0"].verdict, Verdict.LEFT_OUT)
        self.assertIn("- it has no server: journal_wheel_0 in engine_stopped", report.markdown())

    def test_each_fault_stands_in_the_plan_and_in_the_documentation(self) -> None:
        told = subprocess.run(
            [ROOT / "build" / "release" / "timerbench", "prepare", "--suite=faults"],
            text=True,
            capture_output=True,
            check=True,
        )
        lines = [json.loads(line) for line in told.stdout.splitlines()]
        page = (ROOT / "docs" / "durable.md").read_text()
        for line in lines[1:]:
            self.assertTrue(line["summary"])
            self.assertRegex(page, rf"\n\|[^|]*`{line['workload']}`")


if __name__ == "__main__":
    unittest.main()
