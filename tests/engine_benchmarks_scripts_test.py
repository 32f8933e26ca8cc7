"""Our clients beside the engines' own benchmarks: the statements, the answer, and a real Redis.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/engine_benchmarks_scripts_test.py
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT
from waiting import wait_for

import engine_benchmarks
from console import Failure
from engine_benchmarks import Measured, answer


class StatementsTest(unittest.TestCase):
    def test_are_those_of_the_clients(self) -> None:
        self.assertIn(
            "redis.call('ZADD', KEYS[1], score, id)", engine_benchmarks.script_of_schedule()
        )
        arming, cancelling = engine_benchmarks.statements_of_postgres("a.b")
        self.assertRegex(
            arming, r"^INSERT INTO a\.b SELECT \$1::bigint, .* ON CONFLICT \(id\) DO UPDATE"
        )
        self.assertEqual(sorted(set(re.findall(r"\$\d", arming))), ["$1", "$2", "$3", "$4"])
        self.assertEqual(cancelling, "DELETE FROM a.b WHERE id = $1")

    def test_that_are_not_found_are_told(self) -> None:
        with mock.patch.object(engine_benchmarks, "DURABLE", ROOT / "impls" / "queues"):
            with self.assertRaises(OSError):
                engine_benchmarks.script_of_schedule()
        with self.assertRaisesRegex(Failure, "redis_queue.cc: the statement is not found"):
            engine_benchmarks._found("no such text", ROOT / "impls/durable/redis_queue.cc")


class AnswerTest(unittest.TestCase):
    FACTS = {"processor": "Test 1000", "suite": "durable", "command": "scripts/bench durable"}
    MEASURED = {
        "redis_always": {
            1: Measured([4400, 4000, 4200], [3300, 3300, 3000]),
            16: Measured([9], [9]),
        },
        "postgres_off": {1: Measured([10_000], [20_000]), 16: Measured([30_000], [30_000])},
        "beanstalkd_f0": {1: Measured([5000], [2500]), 16: Measured([7000], [])},
    }

    def test_the_answer_comes_first(self) -> None:
        parts = answer(self.MEASURED, 3, 2, self.FACTS).split("\n\n")
        self.assertEqual(
            parts[0],
            "**Our clients make 0.50 to 2.00 times as many calls as the benchmarks beside them; "
            "fewer with `postgres_off` (0.50).**",
        )
        self.assertRegex(parts[1], "^How sure: Medians of 3 rounds of 2.00 s each.* up to 9%")
        self.assertRegex(parts[2], "^What to do: ")
        rows = [[part.strip() for part in line.split("|")[1:-1]] for line in parts[3].splitlines()]
        self.assertEqual(rows[2][1:5], ["redis-benchmark", "4\u202f200", "3\u202f300", "1.27"])
        self.assertEqual(rows[4][5:], ["7\u202f000", "–", "–"], "beaneater is one client")

    def test_none_is_slower(self) -> None:
        self.assertRegex(
            answer({"redis_always": self.MEASURED["redis_always"]}, 3, 2, self.FACTS),
            r"^\*\*Our clients make 1\.00 to 1\.27 times .* benchmarks beside them\.\*\*",
        )

    def test_one_round_tells_no_noise(self) -> None:
        self.assertIn("is not known", answer(self.MEASURED, 1, 2, self.FACTS))


class WaitTest(unittest.TestCase):
    def test_a_benchmark_that_hangs(self) -> None:
        with mock.patch.object(engine_benchmarks, "LONGEST_RUN", 0.1):
            with self.assertRaisesRegex(Failure, "sleep has not ended after 0.10 s"):
                engine_benchmarks._run("sleep", 20)

    def test_a_server_that_does_not_answer(self) -> None:
        with mock.patch.object(engine_benchmarks, "LONGEST_WAIT", 0.1):
            self.assertEqual(engine_benchmarks._asked("sleep", 20), "")


class OwnNetworkTest(unittest.TestCase):
    PROGRAM = (
        "import engine_benchmarks as e; print(e.is_in_own_network(), *e.socket.if_nameindex())"
    )

    def test_nobody_else_is_there(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", self.PROGRAM],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT / "scripts" / "lib")},
        )
        self.assertEqual(done.stderr, "")
        raise_loopback = ["unshare", "--net", "ip", "link", "set", "lo", "up"]
        if subprocess.run(raise_loopback, capture_output=True).returncode == 0:
            self.assertEqual(done.stdout, "True (1, 'lo')\n")
        elif os.geteuid() == 0:
            self.assertRegex(done.stdout, "^False")

    def test_without_one_beanstalkd_is_left_out(self) -> None:
        with (
            mock.patch.object(engine_benchmarks, "is_in_own_network", lambda: False),
            mock.patch.object(sys, "argv", ["engine-benchmarks", "--queues=beanstalkd_f0"]),
            mock.patch.object(engine_benchmarks, "complain") as complain,
        ):
            with self.assertRaisesRegex(Failure, "^nothing was measured"):
                engine_benchmarks.main()
        self.assertRegex(complain.call_args.args[0], "^beanstalkd_f0 is left out: .*unshare --net")


class RealTest(unittest.TestCase):
    def test_redis(self) -> None:
        release = ROOT / "build" / "release" / "timerbench"
        with mock.patch.object(engine_benchmarks, "TIMERBENCH", release):
            both, facts = engine_benchmarks.measure("redis_memory", rounds=1, seconds=1)
        self.assertEqual(list(both), [1, 16])
        self.assertIn("processor", facts)
        for one in both.values():
            for values in (one.ours, one.theirs):
                self.assertEqual(len(values), 1)
                self.assertGreater(values[0], 0)

    def test_the_next_one_removes_the_folder_of_a_killed_one(self) -> None:
        script = ROOT / "scripts" / "lib" / "engine_benchmarks.py"
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            killed = subprocess.Popen(
                [sys.executable, script, "--queues=redis_memory"],
                env=os.environ | {"TMPDIR": name},
                stderr=subprocess.DEVNULL,
            )
            wait_for(lambda: list(folder.glob("timerbench-*")), killed, 60)
            killed.kill()
            killed.wait()
            self.assertTrue(list(folder.iterdir()))
            end = time.monotonic() + 10
            # What it had just forked may hold the lock, and its server may still write.
            while list(folder.iterdir()) and time.monotonic() < end:
                with (
                    mock.patch("tempfile.tempdir", name),
                    mock.patch.object(sys, "argv", ["engine-benchmarks", "--queues=redis_memory"]),
                    mock.patch.object(engine_benchmarks, "measure", side_effect=Failure("none")),
                    self.assertRaisesRegex(Failure, "none"),
                ):
                    engine_benchmarks.main()
                time.sleep(0.05)
            self.assertEqual(list(folder.iterdir()), [])

    def test_a_document_without_a_place_is_refused_before_all_is_measured(self) -> None:
        with (
            mock.patch.object(sys, "argv", ["engine-benchmarks", f"--into={__file__}"]),
            mock.patch.object(engine_benchmarks, "measure", side_effect=AssertionError),
            self.assertRaisesRegex(Failure, "has no lines <!-- engines --> and"),
        ):
            engine_benchmarks.main()

    def test_bad_input(self) -> None:
        for argument, complaint in (
            ("--queues=redis", "no queue 'redis'; there are redis_memory"),
            ("--rounds=0", "--rounds and --seconds are 1 or more"),
            ("--seconds=nan", "--rounds and --seconds are 1 or more"),
            ("--seconds=inf", "--rounds and --seconds are 1 or more"),
        ):
            with (
                self.subTest(argument),
                mock.patch.object(sys, "argv", ["engine-benchmarks", argument]),
                mock.patch("sys.stderr") as err,
                self.assertRaises(SystemExit) as ended,
            ):
                engine_benchmarks.main()
            self.assertEqual(ended.exception.code, 2)
            self.assertIn(
                complaint,
                " ".join("".join(str(call.args[0]) for call in err.write.mock_calls).split()),
            )


if __name__ == "__main__":
    unittest.main()
