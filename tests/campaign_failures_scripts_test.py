"""Campaigns: whatever goes wrong is a result, and what was started ends.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/campaign_failures_scripts_test.py
"""

import collections
import contextlib
import fcntl
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT, BenchScratch, runner_of
from waiting import wait_for

from campaign.plan import Cell, prepare
from campaign.process import Limits, run_limited
from campaign.scratch import PREFIX, no_room_in, remove_abandoned, scratch_folder
from console import Failure, Stop
from results.replays import load


class FailuresTest(BenchScratch):
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
        wait_for(lambda: journal.exists() and '"scan"' in journal.read_text(), program, 60)
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
                give_up = time.monotonic() + 60
                wait_for(lambda: pids.exists() and pids.read_text(), program, 60)
                program.kill()
                program.communicate()
                child = Path(f"/proc/{pids.read_text().strip()}/stat")
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                    left = give_up - time.monotonic()
                    wait_for(lambda: child.read_text().split(") ")[1][0] == "Z", seconds=left)

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

    def test_further_attempts_at_a_noisy_round_are_no_further_rounds(self) -> None:
        acts = "ring_512=noisy_timeout_at_4_5_6"
        self.run_bench("--sizes=5,50", "--rounds=4", ACTS=acts)
        cell = load([self.out]).cells["fill", 5, "ring_512"]
        self.assertEqual(cell.failure, "timeout: in 2 of 3 rounds, too long")
        self.assertEqual(self.measured().count("quick/fill/5/ring_512"), 3 + 2)

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
                wait_for((self.source / "hanging.pid").exists, program, 60)
                program.send_signal(number)
                out, err = program.communicate(timeout=60)
                self.assertEqual(program.returncode, 1)
                self.assertIn("| `scan`", out)
                self.assertIn("the same command goes on where it was", err)

    def test_a_request_to_end_is_heard_before_anything_is_measured(self) -> None:
        program = self.start(SECONDS_A_TRACE="60")
        wait_for((self.source / "preparing").exists, program, 60)
        program.send_signal(signal.SIGTERM)
        _, err = program.communicate(timeout=50)
        self.assertEqual((program.returncode, err), (1, "scripts/bench: interrupted\n"))
        self.assertFalse(self.out.exists())

    def test_a_second_ctrl_c_ends_at_once(self) -> None:
        program = self.start("--rounds=1", ACTS="ring_512=hang,scan=hang")
        wait_for(self.measured, program, 60)
        program.send_signal(signal.SIGINT)
        assert program.stderr
        next(line for line in program.stderr if line.startswith("Interrupted: "))
        program.send_signal(signal.SIGINT)  # the same one, told twice
        time.sleep(1.2)
        self.assertIsNone(program.poll())
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=100)
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
        for name in ("results.json", "table.md"):
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
        wait_for(self.measured, program, 60)
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
            (["--jobs=2"], "--jobs is for the suite faults, .*; quick measures one cell at a time"),
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


class JobsTest(BenchScratch):
    """Cells of the suite faults may be measured side by side."""

    def setUp(self) -> None:
        super().setUp()
        self.take_for_every_preset()

    def test_so_many_run_at_a_time(self) -> None:
        acts = "delay_queue=meets,system_timer=meets"
        code, _, err = self.run_bench("faults", "--sizes=10", "--jobs=2", ACTS=acts)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(len(self.measured()), 4)
        self.assertEqual(len(self.results()["benchmarks"]), 4)

    def test_durable_queues_are_verified_for_longer_than_others(self) -> None:
        acts = {"MOST_SECONDS": "1", "ACTS": "system_timer=slow_verify"}
        self.assertEqual(self.run_bench("faults", "--sizes=10", **acts)[0], 0)
        self.assertEqual(self.failures(), {})
        self.setUp()
        self.run_bench("purgatory", "--sizes=1000", **acts)
        self.assertEqual(set(self.failures()), {"system_timer"})

    def test_one_that_fails_ends_no_other(self) -> None:
        acts = "delay_queue=crash,system_timer=slow"
        code, _, err = self.run_bench("faults", "--sizes=10", "--jobs=3", ACTS=acts)
        self.assertEqual(code, 1)
        self.assertEqual(err, "scripts/bench: cells failed: faults/low/10/delay_queue\n")
        self.assertEqual(set(self.failures()), {"delay_queue"})
        self.assertEqual(self.measured().count("faults/low/10/system_timer"), 2)
        self.assertIn("Nothing to do", self.run_bench("faults", "--sizes=10")[1])

    def test_a_request_to_end_ends_all(self) -> None:
        acts = "delay_queue=hang,system_timer=hang"
        program = self.start("faults", "--sizes=10", "--jobs=2", ACTS=acts)
        pids = self.source / "hanging.pid"
        wait_for(lambda: pids.exists() and len(pids.read_text().split()) >= 2, program, 60)
        program.send_signal(signal.SIGTERM)
        program.communicate(timeout=100)
        self.assertEqual(program.returncode, 1)
        for pid in pids.read_text().split():
            self.assertFalse(Path(f"/proc/{pid}").exists())

    def test_a_full_disk_ends_all(self) -> None:
        acts = "delay_queue=full,system_timer=hang"
        code, _, err = self.run_bench("faults", "--sizes=10", "--jobs=2", ACTS=acts)
        self.assertEqual(code, 1)
        self.assertRegex(err, "^scripts/bench: /tmp: No space left on device, .*\n$")


class TimeTest(unittest.TestCase):
    def test_a_large_population_has_time_to_be_armed_and_to_be_read_again(self) -> None:
        runner = runner_of("durable", seconds=1)

        def limit(size: int) -> float:
            return runner._limits(Cell(f"durable/pending/{size}/redis_memory")).seconds

        self.assertAlmostEqual(limit(1000), 80, delta=1)
        self.assertGreater(limit(10_000_000), 2 * 450, "45 s a million, twice")

    def test_a_budget_goes_by_the_figure_of_each_scenario(self) -> None:
        for suite, figures in (
            ("quick", {"churn": "ns_per_item"}),
            ("contention", {"own": "calls_per_second"}),
            (
                "durable",
                {
                    "clients": "timers_per_second",
                    "orders": "lateness_p50_ns",
                    "idle": "cpu_ns_per_hour",
                },
            ),
        ):
            runner = runner_of(suite)
            cells = {f"{suite}/{name}/9/q": figure for name, figure in figures.items()}
            told = {"status": "ok", "disturbance": 0}
            runner._failed = {}
            runner._lines = {
                (cell, 0): [{"entry": {figure: 7.0}, **told}] for cell, figure in cells.items()
            }
            self.assertEqual(runner._costs(), {cell: [7.0] for cell in cells})


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


class TiedTest(unittest.TestCase):
    # Waits until its parent has ended, as a busy machine may make it.
    SLOW_SETPRIV = """#!/bin/sh
    while grep -q "^PPid:.$PPID$" /proc/$$/status; do sleep 0.01; done
    PATH=${PATH#*:}
    exec setpriv "$@"
    """

    def run_tied(self, then: str = "", path: str = os.environ["PATH"]) -> str:
        """Returns what a tied program says; the end of the output is the end of all processes."""
        program = (
            "import subprocess; from campaign.process import tied; "
            f"subprocess.Popen(tied('echo', 'begun')){then}"
        )
        environment = os.environ | {"PYTHONPATH": str(ROOT / "scripts" / "lib"), "PATH": path}
        command = [sys.executable, "-c", program]
        return subprocess.run(command, env=environment, capture_output=True, text=True).stdout

    def test_nothing_begins_when_its_parent_has_ended(self) -> None:
        self.assertEqual(self.run_tied(then=".wait()"), "begun\n")
        with tempfile.TemporaryDirectory() as folder:
            setpriv = Path(folder) / "setpriv"
            setpriv.write_text(self.SLOW_SETPRIV, encoding="ascii")
            setpriv.chmod(0o755)
            self.assertEqual(self.run_tied(path=f"{folder}:{os.environ['PATH']}"), "")


class PrepareTest(unittest.TestCase):
    def test_one_that_is_killed_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "timerbench"
            program.write_text("#!/bin/sh\necho '{}'\nprintf '{'\nkill -9 $$\n", encoding="ascii")
            program.chmod(0o755)
            lines = prepare(program, [], Path(folder))
            self.assertEqual(next(lines), {})
            with self.assertRaisesRegex(Failure, r"prepare ended too early \(SIGKILL\)"):
                next(lines)


class RoomTest(unittest.TestCase):
    def test_only_what_timerbench_cannot_write_is_for_want_of_room(self) -> None:
        full = "No space left on device"
        self.assertEqual(no_room_in(f"error: cannot write /a/b: {full}; free some"), full)
        self.assertEqual(
            no_room_in("crash: its last words: OSError: [Errno 27] File too large"), ""
        )


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


if __name__ == "__main__":
    unittest.main()
