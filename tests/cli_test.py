"""The command line as a user meets it: what works, and one clear line for what does not.

The program is given by TIMERBENCH in the environment.
"""

import csv
import ctypes
import errno
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from waiting import wait_for

PROGRAM = str(Path(os.environ["TIMERBENCH"]).resolve())
TRACES = Path(__file__).parent.parent / "bench" / "traces"
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}

# Tests may run under nohup, which ignores it for all that they start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def timerbench(*args: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [PROGRAM, *args], capture_output=True, text=True, errors="replace", timeout=120, **options
    )


def forbid_timerfd() -> None:
    """Has the kernel refuse timerfd_create() to this process, as a container's seccomp filter may."""
    load, jump_if_equal, answer = 0x20, 0x15, 0x06  # of BPF: LD|W|ABS, JMP|JEQ|K, RET|K
    timerfd_create, refuse, allow = 283, 0x50000 | errno.EPERM, 0x7FFF0000
    program = b"".join(
        struct.pack("HBBI", *step)
        for step in (
            (load, 0, 0, 0),  # the number of the call, on x86-64
            (jump_if_equal, 0, 1, timerfd_create),
            (answer, 0, 0, refuse),
            (answer, 0, 0, allow),
        )
    )
    text = ctypes.create_string_buffer(program)
    filter_of = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, with_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_seccomp, with_filter, filter_of):
        raise OSError(ctypes.get_errno(), "prctl")


def accepts(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def catches(pid: int, number: int) -> bool:
    """Whether the process has a handler for the signal."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    caught = re.search(r"^SigCgt:\s*(\w+)$", status, re.MULTILINE)
    return bool(caught and int(caught[1], 16) >> (number - 1) & 1)


def stat_of(pid: int | str) -> list[str]:
    """What follows the name of a process, https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def is_alive(pid: int | str) -> bool:
    try:
        return stat_of(pid)[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def processor_seconds(pid: int) -> float:
    return sum(map(int, stat_of(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


class CliTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="timerbench-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def assert_refused(self, code: int, expected: str, *args: str, **options) -> None:
        """The exit code, and a single line on stderr that has the expected words."""
        done = timerbench(*args, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("timerbench: "), done.stderr)
        self.assertIn(expected, done.stderr)

    # What works

    def test_every_command_has_help(self) -> None:
        for command in (
            ["list"],
            ["doctor"],
            ["run"],
            ["verify"],
            ["replay"],
            ["trace"],
            ["trace", "generate"],
            ["trace", "import"],
            ["trace", "export"],
            ["trace", "stat"],
            [],
        ):
            done = timerbench(*command, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("Usage:", done.stdout)

    def test_list_knows_precisions_workloads_and_suites(self) -> None:
        listed = json.loads(timerbench("list", "--json").stdout)
        precisions = {backend["name"]: backend["precision"] for backend in listed["backends"]}
        self.assertEqual(precisions["null"], "none")
        self.assertEqual(precisions["redis_zset"], "exact")
        self.assertEqual(precisions["kafka_wheel_20"], "granular")
        self.assertEqual(precisions["kafka_wheel_floor_20"], "early")
        self.assertLessEqual(
            {"smoke", "quick", "full", "timeouts", "events", "adversarial", "kernel", "paper"},
            {suite["name"] for suite in listed["suites"]},
        )
        self.assertEqual({backend["licence"] for backend in listed["backends"]}, {""})
        services = {backend["name"]: backend["services"] for backend in listed["backends"]}
        self.assertEqual(services["binary_heap"], ["locked_binary_heap", "delay_queue"])
        self.assertEqual(services["null"], [])
        queues = {service["name"]: service["queue"] for service in listed["services"]}
        self.assertEqual(queues["sharded_4_locked_kafka_wheel_256"], "kafka_wheel_256")
        self.assertEqual(queues["ring_timer"], "", "a structure of its own")
        requests = next(one for one in listed["workloads"] if one["name"] == "requests")
        self.assertEqual(requests["parameters"][0]["value"], "constant 30s")
        text = timerbench("list").stdout
        for name in precisions:
            self.assertIn(name, text)

    def test_doctor_tells_what_the_machine_is_fit_for(self) -> None:
        done = timerbench("doctor", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        told = json.loads(done.stdout)
        self.assertRegex(told["grade"], "^[A-F]$")
        for check in told["checks"]:
            self.assertEqual(set(check), {"name", "state", "weight", "found", "advice"})
            self.assertIn(check["state"], ("good", "bad", "unknown"))
            self.assertEqual(check["advice"] != "", check["state"] == "bad", check)
        load = next(check for check in told["checks"] if check["name"] == "load")
        self.assertRegex(load["found"], "during 1 s")

        done = timerbench("doctor")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(
            [line.split()[2] for line in lines[:-2]], [check["name"] for check in told["checks"]]
        )
        self.assertRegex(lines[-1], "^Grade [A-F], of A .*Bad: ")
        described = timerbench("doctor", "--help").stdout
        self.assertIn("The grade is F if a fatal check is bad, else E", described)
        for check in told["checks"]:
            self.assertRegex(described, rf"\n{check['weight']}: .*\b{check['name']}\b")

    def test_doctor_sees_that_another_program_works(self) -> None:
        with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as busy:
            try:
                told = json.loads(timerbench("doctor", "--json").stdout)
            finally:
                busy.kill()
        load = next(check for check in told["checks"] if check["name"] == "load")
        self.assertEqual(load["state"], "bad", load)
        self.assertIn(told["grade"], "EF")

    def test_run_writes_google_benchmarks_json(self) -> None:
        out = self.folder / "out.json"
        done = timerbench(
            "run",
            "--suite=smoke",
            "--workloads=fill,hold",
            "--backends=null,ring",
            f"--benchmark_out={out}",
            "--benchmark_repetitions=3",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(out.read_text())
        self.assertEqual(result["context"]["suite"], "smoke")
        self.assertRegex(result["context"]["grade"], "^[A-F]$")
        self.assertIsInstance(result["context"]["grade_reasons"], str)
        cells = {
            run["name"].removesuffix("/repeats:3").removesuffix("/manual_time")
            for run in result["benchmarks"]
            if run["run_type"] == "iteration"
        }
        self.assertEqual(
            cells,
            {
                f"smoke/{workload}/1000/{backend}"
                for workload in ("fill", "hold")
                for backend in ("null", "ring_512", "ring_65536")
            },
        )
        for run in result["benchmarks"]:
            self.assertGreater(run["ns_per_item"], 0)
        self.assertEqual(list(self.folder.iterdir()), [out])

    def run_realtime(self, *args: str) -> tuple[dict, dict]:
        """The cells of a run on the wall clock, and its distributions, by name."""
        out = self.folder / "out.json"
        done = timerbench("run", *args, f"--benchmark_out={out}")
        self.assertEqual(done.returncode, 0, done.stderr)
        cells = {
            "/".join(run["name"].split("/")[:4]): run
            for run in json.loads(out.read_text(), parse_constant=self.fail)["benchmarks"]
            if run["run_type"] == "iteration"
        }
        return cells, json.loads((self.folder / "out.distributions.json").read_text())

    def assert_told(
        self, cell: dict, kind: str, distribution: dict, percentiles: dict = PERCENTILES
    ) -> None:
        """The percentiles and the maximum are those of the distribution beside them, and there are
        no others than those with ten durations or more beyond them."""
        count, edges, counts = (distribution[key] for key in ("count", "edges", "counts"))
        if distribution["max"] > 0:
            self.assertAlmostEqual(cell[f"{kind}_max_ns"] / distribution["max"], 1, delta=1e-6)
        for name, share in percentiles.items():
            key = f"{kind}_{name}_ns"
            wanted = share * count
            if count - wanted < 10:
                self.assertNotIn(key, cell)
                continue
            bucket = 0
            while wanted > counts[bucket]:
                wanted -= counts[bucket]
                bucket += 1
            low, high = edges[bucket : bucket + 2]
            expected = min(distribution["max"], low + wanted / counts[bucket] * (high - low))
            self.assertAlmostEqual(cell[key], expected, delta=0.03 * expected, msg=key)

    def test_accuracy_tells_percentiles_and_distributions(self) -> None:
        cells, distributions = self.run_realtime(
            "--suite=accuracy",
            "--workloads=rate,idle",
            "--sizes=200",
            "--seconds=0.5",
            "--backends=locked_kafka_wheel,system_timer",
        )
        self.assertEqual(
            list(cells),
            [
                "accuracy/rate/200/control",
                "accuracy/rate/200/locked_kafka_wheel_256",
                "accuracy/rate/200/system_timer",
                "accuracy/idle/200/locked_kafka_wheel_256",
                "accuracy/idle/200/system_timer",
            ],
        )
        for name in list(cells)[1:3]:
            lateness = distributions[name][0]["lateness"]
            self.assertEqual(sum(lateness["counts"]), lateness["count"])
            self.assertGreater(lateness["count"], 50)
            self.assertIn("lateness_p50_ns", cells[name])
            self.assertNotIn("lateness_p99.9_ns", cells[name])  # too few
            self.assert_told(cells[name], "lateness", distributions[name][-1]["lateness"])
            self.assertEqual(cells[name]["early"], 0)
        self.assertEqual(cells["accuracy/idle/200/locked_kafka_wheel_256"]["wakeups_per_second"], 0)

    def test_accuracy_paces_a_recording(self) -> None:
        cells, _ = self.run_realtime(
            "--suite=accuracy",
            f"--trace={TRACES / 'nginx_keepalive_c256'}",
            "--seconds=0.5",
            "--backends=locked_binary_heap",
        )
        self.assertEqual(list(cells), ["accuracy/nginx_keepalive_c256/1035/locked_binary_heap"])

    def test_contention_counts_calls(self) -> None:
        cells, distributions = self.run_realtime(
            "--suite=contention",
            "--sizes=2",
            "--seconds=0.05",
            "--backends=locked_binary_heap",
            "--benchmark_repetitions=1",
        )
        self.assertEqual(
            list(cells),
            [f"contention/{pattern}/2/locked_binary_heap" for pattern in ("own", "cross", "hot")],
        )
        for name, cell in cells.items():
            self.assertGreater(cell["calls_per_second"], 1000)
            self.assertGreater(distributions[name][0]["schedule"]["count"], 0)
            for kind, distribution in distributions[name][0].items():
                self.assert_told(cell, kind, distribution)

    def test_purgatory_takes_kafkas_options(self) -> None:
        cells, _ = self.run_realtime(
            "--suite=purgatory",
            "--num=2000",
            "--rate=4000",
            # Few latencies are within a second of the time-out: a busy machine changes few ends.
            "--pct50=2000",
            "--pct75=200000",
            "--timeout=2000",
            "--keys=2",
            "--key-space-size=10",
            "--backends=system_timer",
        )
        cell = cells["purgatory/own/4000/system_timer"]
        self.assertAlmostEqual(cell["timed_out_share"], 0.5, delta=0.07)
        self.assertEqual(cell["expected_timed_out_share"], 0.5)

    def test_more_requests_than_purgatory_takes_are_a_limit(self) -> None:
        done = timerbench(
            "run",
            "--suite=purgatory",
            "--workloads=low",
            "--sizes=1M",
            "--seconds=4295",
            "--backends=delay_queue",
        )
        self.assertIn(
            "limit: 4295000000 requests are more than 10000000; choose fewer --seconds", done.stdout
        )

    def test_a_backend_that_is_too_slow_is_a_timeout_and_larger_sizes_are_skipped(self) -> None:
        # A scan of ten timers takes less than this on any machine, one of a million more.
        done = timerbench(
            "run",
            "--workloads=drain",
            "--sizes=10,1e6,2e6",
            "--backends=scan",
            "--replay-seconds=3",
            "--benchmark_repetitions=1",
        )
        self.assertRegex(done.stdout, r"drain, 10 timers, ns per fire\n  exact     scan +[0-9.]+\s")
        self.assertRegex(done.stdout, r"drain, 10⁶ timers\n  exact     scan +timeout: ")
        self.assertRegex(
            done.stdout, r"2·10⁶ timers\n  exact     scan +skipped: timeout at size 1000000"
        )
        self.assertEqual(done.returncode, 0)

    def test_what_is_chosen_twice_is_measured_once(self) -> None:
        done = timerbench(
            "run",
            "--workloads=drain,drain",
            "--sizes=1k,10,1000",
            "--backends=scan,scan",
            "--benchmark_repetitions=1",
        )
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(re.findall(r"^  exact +scan +[0-9]", done.stdout, re.M)), 2)

    def test_replay_writes_every_fire(self) -> None:
        rows = self.folder / "in.csv"
        rows.write_text(
            "at,op,id,delay\n0,schedule,0,5\n0,schedule,1,3\n0,schedule,2,4\n"
            "1,cancel,2,\n2,schedule,0,7\n10,advance,,\n"
        )
        self.assertEqual(
            timerbench(
                "trace", "import", "--format=csv", str(rows), str(self.folder / "t")
            ).returncode,
            0,
        )
        for backend in ("ordered_map", "kafka_wheel_256", "redis_zset_poll"):
            fired = self.folder / f"{backend}.csv"
            done = timerbench(
                "replay",
                "--trace",
                str(self.folder / "t"),
                "--backend",
                backend,
                "--fired",
                str(fired),
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            with fired.open() as file:
                self.assertEqual(
                    [tuple(row.values()) for row in csv.DictReader(file)],
                    [("10", "1", "3"), ("10", "0", "9")],
                )

    def test_backends_agree_fire_by_fire_on_a_kernel_recording(self) -> None:
        def fires(backend: str) -> list[str]:
            out = self.folder / backend
            timerbench(
                "replay",
                "--trace",
                str(TRACES / "nginx_conn_per_request"),
                "--backend",
                backend,
                "--fired",
                str(out),
            )
            return sorted(out.read_text().splitlines())

        expected = fires("ordered_map")
        self.assertGreater(len(expected), 15000)
        for backend in ("kafka_wheel_20", "ring_512", "lazy_heap", "skiplist"):
            self.assertEqual(fires(backend), expected)

    def test_generate_export_import_give_the_same_trace(self) -> None:
        first, second = self.folder / "a", self.folder / "b"
        timerbench("trace", "generate", "churn", str(first), "--size=100", "--items=500")
        timerbench("trace", "export", "--format=csv", str(first), str(self.folder / "a.csv"))
        timerbench("trace", "import", "--format=csv", str(self.folder / "a.csv"), str(second))
        self.assertEqual(
            first.with_suffix(".npy").read_bytes(), second.with_suffix(".npy").read_bytes()
        )
        self.assertIn("churn", timerbench("trace", "stat", str(first)).stdout)

    def described(self, *command: str) -> dict:
        """What the .json says of the trace that the command writes; it must warn of as much."""
        done = timerbench("trace", *command, str(self.folder / "t"))
        self.assertEqual(done.returncode, 0, done.stderr)
        made = json.loads((self.folder / "t.json").read_text())
        warnings = made["parameters"].get("warnings", [])
        self.assertEqual(
            done.stderr.splitlines(), [f"timerbench: warning: {warning}" for warning in warnings]
        )
        return made

    def test_traces_are_made_as_told(self) -> None:
        made = self.described("generate", "keepalive", "--size=70", "--items=300", "--seed=9")
        self.assertEqual((made["capacity"], made["seed"], made["workload"]), (70, 9, "keepalive"))
        self.assertEqual(made["items"], 300)
        rows = self.folder / "in.csv"
        rows.write_text("at,op,id,delay\n0,schedule,0,5\n")
        made = self.described("import", "--format=csv", "--unit-ns=250", str(rows))
        self.assertEqual(made["unit_ns"], 250)

        recording = self.folder / "trace.txt"
        recording.write_text(
            "# tracer: nop\n"
            "  nginx-1  [000] d..1.  1.000000: timer_start: timer=00000000abcdef01 "
            "function=f expires=4295000010 [timeout=10] bucket_expiry=4295000010 "
            "cpu=0 idx=1 flags=\n"
        )
        made = self.described(
            "import", "--format=ftrace", "--hz=100", "--source=by hand", str(recording)
        )
        self.assertEqual((made["unit_ns"], made["source"]), (1e7, "by hand"))
        self.assertIn(
            "no timer_expire_entry at all: was it enabled?", made["parameters"]["warnings"]
        )

    def test_a_run_heeds_its_options(self) -> None:
        out = self.folder / "out.json"
        done = timerbench(
            "run",
            "--workloads=hold",
            "--sizes=20,10",
            "--backends=kafka_wheel_20",
            "--items=100",
            "--seed=5",
            "--granularity=4",
            f"--benchmark_out={out}",
            "--benchmark_min_time=0",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(out.read_text())
        for key, value in {"suite": "own", "granularity": "4", "seed": "5"}.items():
            self.assertEqual(result["context"][key], value)
        runs = [run for run in result["benchmarks"] if run["run_type"] == "iteration"]
        self.assertEqual([run["name"].split("/")[2] for run in runs], ["10"] * 3 + ["20"] * 3)
        for run in runs:
            self.assertGreaterEqual(run["items"], 100)
            self.assertLess(run["items"], 110)

    def test_a_suite_is_all_its_cells(self) -> None:
        listed = timerbench("run", "--suite=quick", "--benchmark_list_tests").stdout.split()
        cells = [cell.removesuffix("/manual_time").split("/") for cell in listed]
        self.assertEqual({cell[0] for cell in cells}, {"quick"})
        backends = {cell[3] for cell in cells}
        self.assertLessEqual({"null", "scan", "ring_512", "ring_65536"}, backends)
        self.assertEqual(len(cells), len(backends) * (7 * 3 + 1))
        self.assertEqual(
            {cell[1] for cell in cells},
            {
                "fill",
                "cancel",
                "drain",
                "churn",
                "hold",
                "keepalive",
                "bulk",
                "nginx_conn_per_request",
            },
        )
        self.assertEqual(len({tuple(cell) for cell in cells}), len(cells))

    def test_a_suite_without_backends_has_all(self) -> None:
        listed = timerbench("run", "--suite=smoke", "--benchmark_list_tests").stdout.split()
        cells = [cell.removesuffix("/manual_time").split("/") for cell in listed]
        backends = json.loads(timerbench("list", "--json").stdout)["backends"]
        self.assertEqual({cell[3] for cell in cells}, {backend["name"] for backend in backends})
        self.assertEqual(len(cells), 7 * len(backends))

    def test_a_suite_of_the_users_own_is_a_file(self) -> None:
        suite = self.folder / "mine.toml"
        suite.write_text(
            'summary = "mine"\nrounds = 2\nmin_seconds = 0\nsizes = [10, 20]\n'
            'items = 50\nworkloads = ["fill"]\n[[workload]]\nname = "slow"\n'
            'of = "requests"\nsizes = [30]\nlatency = "constant 40s"\n'
        )
        out = self.folder / "out.json"
        done = timerbench("run", f"--suite={suite}", "--backends=scan", f"--benchmark_out={out}")
        self.assertEqual(done.returncode, 0, done.stderr)
        runs = [
            run
            for run in json.loads(out.read_text())["benchmarks"]
            if run["run_type"] == "iteration"
        ]
        self.assertEqual(
            [run["name"].removesuffix("/manual_time") for run in runs],
            ["mine/fill/10/scan"] * 2 + ["mine/fill/20/scan"] * 2 + ["mine/slow/30/scan"] * 2,
        )
        narrowed = timerbench(
            "run",
            f"--suite={suite}",
            "--workloads=slow,churn",
            "--sizes=10",
            "--backends=scan",
            "--benchmark_list_tests",
        )
        self.assertEqual(
            [name.removesuffix("/manual_time") for name in narrowed.stdout.split()],
            ["mine/slow/10/scan", "mine/churn/10/scan"],
        )
        with suite.open("a") as file:
            file.write("latncy = 1\n")
        self.assert_refused(
            2,
            "mine.toml:12: requests has no parameter 'latncy'; did you mean 'latency'?",
            "run",
            f"--suite={suite}",
        )
        self.assert_refused(2, "absent.toml", "run", "--suite=absent.toml")

    def test_parameters_of_a_workload_can_be_set(self) -> None:
        trace = self.folder / "t"
        for setting, share in (("constant 1s", 100), ("constant 60s", 0)):
            done = timerbench(
                "trace",
                "generate",
                "requests",
                str(trace),
                "--size=50",
                "--items=100",
                f"--set=latency={setting}",
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            made = json.loads(trace.with_suffix(".json").read_text())
            self.assertEqual(made["parameters"]["latency"], setting)
            self.assertGreaterEqual(made["cancels"], share)
            self.assertEqual(made["cancels"] > 0, share > 0)
        done = timerbench(
            "run",
            "--workloads=requests",
            "--sizes=10",
            "--backends=scan",
            "--items=10",
            "--set",
            "timeout=constant 5s",
            "--set",
            "latency=constant 1s",
            "--benchmark_min_time=0",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        for wrong, said in (
            ("latncy=1s", "did you mean 'latency'?"),
            ("latency", "NAME=VALUE"),
            ("latency=soon", "no distribution of delays"),
        ):
            self.assert_refused(2, said, "run", "--workloads=requests", f"--set={wrong}")
            self.assert_refused(2, said, "trace", "generate", "requests", "x", f"--set={wrong}")
        self.assert_refused(
            2, "--set is not for --suite=accuracy", "run", "--suite=accuracy", "--set=a=b"
        )

    def run_one(self, *options: str, workload="churn", backend="kafka_wheel_256") -> dict:
        out = self.folder / "out.json"
        done = timerbench(
            "run",
            f"--workloads={workload}",
            "--sizes=10k",
            f"--backends={backend}",
            "--items=20000",
            "--benchmark_repetitions=1",
            f"--benchmark_out={out}",
            *options,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(out.read_text())

    def test_the_tails_pass_tells_how_long_calls_take(self) -> None:
        entry = self.run_one("--pass=tails")["benchmarks"][0]
        self.assertGreaterEqual(entry["advance_max_ns"], entry["advance_p50_ns"])
        self.assertGreaterEqual(entry["advance_max_ns"], entry["worst_ns"])
        for call in ("schedule", "cancel"):
            self.assertGreaterEqual(entry[f"{call}_max_ns"], entry[f"{call}_worst_ns"])
            self.assertGreater(entry[f"{call}_worst_ns"], 0)
            self.assertGreaterEqual(
                entry[f"{call}_count"], 3 * 20_000
            )  # every call of three replays
        self.assertNotIn("ns_per_item", entry)
        beside = json.loads((self.folder / "out.distributions.json").read_text())
        repetition = beside["own/churn/10000/kafka_wheel_256"][0]
        self.assertEqual(max(repetition["timeline"]["max_ns"]), entry["worst_ns"])
        for kind in ("advance", "schedule", "cancel"):
            self.assert_told(entry, kind, repetition[kind], PERCENTILES | {"p99.99": 0.9999})

    def test_the_memory_pass_counts_what_is_allocated(self) -> None:
        entry = self.run_one("--pass=memory")["benchmarks"][0]
        self.assertGreater(entry["bytes_per_timer"], 15)
        self.assertLess(entry["bytes_per_timer"], 20)
        self.assertEqual(entry["allocations_per_item"], 0)
        self.assertLess(abs(entry["drained_bytes"] - entry["empty_bytes"]), 1000)
        # A node for each timer, allocated when it is armed and freed when it is not.
        entry = self.run_one("--pass=memory", workload="fill", backend="pairing_heap")[
            "benchmarks"
        ][0]
        self.assertEqual(entry["allocations_per_item"], 1)
        self.assertLess(entry["drained_bytes"], entry["peak_bytes"] / 4)

    def test_a_pass_has_no_figure_of_what_did_not_happen(self) -> None:
        entry = self.run_one("--pass=tails", workload="fill")["benchmarks"][0]
        self.assertGreater(entry["schedule_count"], 0)
        self.assertNotIn("worst_ns", entry)
        entry = self.run_one("--pass=memory", backend="one_store")["benchmarks"][0]
        self.assertGreaterEqual(entry["empty_bytes"], 8 * 10_000)
        self.assertNotIn("bytes_per_timer", entry)

    def test_pages_can_be_chosen(self) -> None:
        options = ("--pass=memory", "--sizes=1M", "--items=1000")
        small = self.run_one("--pages=4k", "--pass=memory")
        self.assertEqual(small["context"]["pages"], "4k")
        self.assertEqual(small["benchmarks"][0]["huge_page_bytes"], 0)
        enabled = Path("/sys/kernel/mm/transparent_hugepage/enabled")
        if enabled.exists() and "[never]" not in enabled.read_text():
            self.assertEqual(self.run_one("--pages=2m", "--pass=memory")["context"]["pages"], "2m")
        self.assert_refused(2, "--pages", "run", "--workloads=fill", "--pages=1g", *options[:1])

    def test_a_slow_down_is_real(self) -> None:
        plain, slowed = (
            self.run_one(f"--slow-down={percent}", "--benchmark_min_time=0.2")["benchmarks"][0]
            for percent in (0, 300)
        )
        self.assertGreater(slowed["ns_per_item"], 2 * plain["ns_per_item"])

    def test_prepare_tells_the_cells_and_keeps_their_traces(self) -> None:
        cache = self.folder / "cache"
        options = (
            "prepare",
            "--suite=smoke",
            "--workloads=fill,requests",
            "--backends=scan,redis_zset,redis_zset_poll",
            f"--cache={cache}",
        )
        first = timerbench(*options)
        self.assertEqual(first.returncode, 0, first.stderr)
        head, *inputs = map(json.loads, first.stdout.splitlines())
        self.assertEqual(head["suite"], "smoke")
        self.assertEqual(head["inputs"], 3)  # of requests one for Redis
        self.assertTrue(head["backends"]["redis_zset"]["remote"])
        self.assertTrue(head["backends"]["scan"]["file"].endswith("impls/queues/scan.h"))
        self.assertEqual(
            inputs[0]["cells"],
            [
                "smoke/fill/1000/scan",
                "smoke/fill/1000/redis_zset",
                "smoke/fill/1000/redis_zset_poll",
            ],
        )
        self.assertEqual([line["for"] for line in inputs], ["both", "local", "remote"])
        self.assertGreater(inputs[1]["cancelled_share"], 0.9)
        made = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
        self.assertGreater(len(made), 2)
        damaged = next(path for path in cache.iterdir() if path.suffix == ".npy")
        damaged.write_bytes(damaged.read_bytes()[:-8])
        second = timerbench(*options).stdout.splitlines()
        self.assertEqual(second[1:], first.stdout.splitlines()[1:])
        again = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
        self.assertEqual(len([path for path in made if made[path] != again[path]]), 2)

    def test_aggregates_alone_are_shown_and_kept(self) -> None:
        for flag in ("report", "display"):
            out = self.folder / f"{flag}.json"
            done = timerbench(
                "run",
                "--workloads=fill",
                "--sizes=10",
                "--backends=scan",
                "--benchmark_min_time=0",
                f"--benchmark_{flag}_aggregates_only=true",
                f"--benchmark_out={out}",
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(
                done.stdout, r"fill, 10 timers, ns per insert\n  exact     scan +[0-9.]+\n"
            )
            self.assertIn("1 cells measured", done.stdout)
            self.assertIn("median", out.read_text())

    def test_names_that_json_does_not_hold_do_not_spoil_the_file(self) -> None:
        odd = self.folder / "a\x01\udcff"
        timerbench("trace", "generate", "fill", str(odd), "--size=10")
        out = self.folder / "out.json"
        done = timerbench(
            "run",
            "--backends=scan",
            f"--trace={odd}",
            f"--benchmark_out={out}",
            "--benchmark_min_time=0",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(out.read_text())["benchmarks"][0]["name"].split("/")[1], "a??")

    def test_verify_names_each_backend(self) -> None:
        done = timerbench("verify", "ring", "null", "--seconds=0.05", "--seed=3")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"ring_512\s+ok: .*\nring_65536\s+ok: ")

    def test_a_backend_that_is_being_verified_does_not_outlive_the_program(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            program = subprocess.Popen(
                [PROGRAM, "verify", "scan", "--seconds=60"],
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
            child = wait_for(lambda: children.read_text().split())[0]
            program.send_signal(number)
            out, error = program.communicate(timeout=30)
            wait_for(lambda: not is_alive(child))
            self.assertNotIn("scan", out)
            if number == signal.SIGKILL:
                continue
            self.assertEqual(program.returncode, 1, error)
            self.assertEqual(
                error, "timerbench: interrupted; what is not listed was not verified\n"
            )

    def test_a_backend_that_hangs_does_not_keep_the_program(self) -> None:
        program = subprocess.Popen(
            [PROGRAM, "verify", "scan", "--seconds=60"],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
        child = int(wait_for(lambda: children.read_text().split())[0])
        os.kill(child, signal.SIGSTOP)
        program.terminate()
        self.assertEqual(program.wait(timeout=30), 1)
        wait_for(lambda: not is_alive(child))
        program.communicate()

    def test_verify_names_services_too(self) -> None:
        done = timerbench("verify", "java_timer", "null", "--seconds=0.05")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(
            done.stdout, r"null +a control.*\njava_timer +ok: \d+ scenarios, 5 audits of 0.05 s\n$"
        )
        self.assert_refused(2, "did you mean 'java_timer'?", "verify", "java_timr")

    def test_a_crash_while_verifying_names_the_scenario_and_the_others_go_on(self) -> None:
        program = subprocess.Popen(
            [PROGRAM, "verify", "scan", "ring_512", "--seconds=1"],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
        child = int(wait_for(lambda: children.read_text().split())[0])
        wait_for(lambda: processor_seconds(child) > 0.1)
        os.kill(child, signal.SIGABRT)
        out, error = program.communicate(timeout=60)
        self.assertEqual(program.returncode, 1, error)
        self.assertRegex(out, r"^scan +ERROR: crash: SIGABRT in \w+[\w ]*\n  the last calls:\n")
        self.assertRegex(out, r"\nring_512 +ok: ")

    def test_a_backend_is_verified_before_it_is_measured_once_a_build(self) -> None:
        program = shutil.copy(PROGRAM, self.folder)
        kept = self.folder / "timerbench.verified"

        def run(*options: str) -> str:
            command = [
                program,
                "run",
                "--workloads=fill",
                "--sizes=10",
                "--backends=scan,null",
                "--benchmark_repetitions=1",
                "--benchmark_min_time=0",
                *options,
            ]
            return subprocess.run(
                command, stdout=subprocess.PIPE, text=True, timeout=120, check=True
            ).stdout

        told = "Verifying backends first, once for this build, half a second each: 1\n"
        self.assertNotIn(told, run("--verified"))
        self.assertNotIn(told, run("--benchmark_list_tests"))
        self.assertFalse(kept.exists())
        self.assertIn(told, run())
        self.assertIn("\nscan\n", kept.read_text())
        self.assertNotIn(told, run())
        kept.write_text("of another build\nscan\n")
        self.assertIn(told, run())

    def test_what_fails_to_be_verified_has_no_figure(self) -> None:
        copy = shutil.copy(PROGRAM, self.folder)
        program = subprocess.Popen(
            [
                copy,
                "run",
                "--workloads=fill",
                "--sizes=10",
                "--backends=scan,null",
                "--benchmark_repetitions=1",
            ],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
        os.kill(int(wait_for(lambda: children.read_text().split())[0]), signal.SIGABRT)
        out, error = program.communicate(timeout=60)
        self.assertEqual(program.returncode, 1, error)
        self.assertRegex(
            out, r"scan +wrong: does not keep the contract; see\s+timerbench\s+verify\s+scan"
        )
        self.assertRegex(out, r"null +[0-9.]+\n")
        self.assertFalse((self.folder / "timerbench.verified").exists())

    # What does not

    def test_verify_checks_a_given_trace(self) -> None:
        trace = str(self.folder / "t")
        timerbench("trace", "generate", "churn", trace, "--size=50", "--items=500")
        for options in ([], ["--granularity=10"], ["--sleeping", "--granularity=100"]):
            done = timerbench("verify", "ring_512", "skiplist", "--trace", trace, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(
                done.stdout, r"^skiplist +ok: \d+ operations\nring_512 +ok: \d+ operations\n$"
            )
        done = timerbench("verify", "kafka_wheel", "--trace", trace, "--start=9007199254740900")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_refused(
            2,
            "at the latest",
            "verify",
            "ring_512",
            "--trace",
            trace,
            "--start=18446744073709551614",
        )
        self.assert_refused(2, "--trace", "verify", "ring_512", "--sleeping")
        self.assert_refused(1, "nowhere", "verify", "ring_512", "--trace=nowhere")

    def test_unknown_names_are_refused_with_the_nearest(self) -> None:
        self.assert_refused(2, "did you mean 'verify'?", "verfy")
        self.assert_refused(2, "did you mean 'quick'?", "run", "--suite=quikc")
        self.assert_refused(2, "did you mean 'ring'?", "run", "--backends=rnig", "--workloads=fill")
        self.assert_refused(2, "did you mean 'fill'?", "run", "--workloads=fil")
        self.assert_refused(2, "did you mean 'skiplist'?", "verify", "skip_list")
        self.assert_refused(
            2, "this program has no libraries: './scripts/setup", "verify", "libraries"
        )
        for name, *command in (
            ("libev", "verify", "libev"),
            ("libev", "run", "--backends=libev", "--workloads=fill"),
            ("asio_loop_1", "run", "--suite=accuracy", "--backends=asio_loop_1"),
            ("libevent_loop_precise", "verify", "libevent_loop_precise"),
            ("node_timers", "verify", "node_timers"),
            ("netty_wheel", "verify", "netty_wheel"),
        ):
            self.assert_refused(
                2, f"this program has no '{name}': './scripts/setup --peers', then", *command
            )
        self.assert_refused(
            2,
            "unknown backend, service or durable queue '../queues/scan'",
            "verify",
            "../queues/scan",
        )
        self.assert_refused(
            2,
            "'ring' has 2 settings; name one, such as 'ring_512'",
            "replay",
            "--trace=x",
            "--backend=ring",
        )
        self.assert_refused(2, "did you mean 'hold'?", "trace", "generate", "hodl", "x")

    def test_unknown_options_are_refused_whatever_else_is_missing(self) -> None:
        for args, said in (
            (
                ["run", "--sizez=3"],
                "unknown option '--sizez'; did you mean '--sizes'? " "See 'timerbench run --help'",
            ),
            (["run", "--repetitions=3"], "unknown option '--repetitions'. See"),
            (["run", "--benchmark_repetition=3"], "did you mean '--benchmark_repetitions'?"),
            (["prepare", "--backend=scan"], "did you mean '--backends'?"),
            (["prepare", "--benchmark_out=x"], "unknown option '--benchmark_out'"),
            (["replay", "--tracee=x"], "did you mean '--trace'?"),
            (
                ["trace", "import", "--fromat=csv"],
                "did you mean '--format'? " "See 'timerbench trace import --help'",
            ),
            (["--versoin"], "did you mean '--version'? See 'timerbench --help'"),
        ):
            with self.subTest(args=args):
                self.assert_refused(2, said, *args)

    def test_a_suite_may_name_its_backends(self) -> None:
        suite = self.folder / "mine.toml"
        suite.write_text(
            'summary = "mine"\nbackends = ["ring", "scan"]\nworkloads = ["fill"]\n'
            "sizes = [10]\nrounds = 1\nmin_seconds = 0\n"
        )
        listed = lambda *more: [
            name.split("/")[3]
            for name in timerbench(
                "run", f"--suite={suite}", "--benchmark_list_tests", *more
            ).stdout.split()
        ]
        self.assertEqual(sorted(listed()), ["null", "ring_512", "ring_65536", "scan"])
        self.assertEqual(listed("--backends=binary_heap"), ["binary_heap"])
        suite.write_text(suite.read_text().replace('"scan"', '"scna"'))
        self.assert_refused(
            2,
            "mine.toml:2: unknown backend 'scna'; did you mean 'scan'?",
            "run",
            f"--suite={suite}",
        )

    def test_a_run_ends_with_the_answer(self) -> None:
        done = timerbench(
            "run",
            "--workloads=hold",
            "--sizes=1k",
            "--items=1000",
            "--backends=scan,lazy_heap,kafka_wheel_20,null",
            "--benchmark_min_time=0.001",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        table, _, answer = done.stdout.partition("Cheapest of each precision:\n")
        self.assertEqual(
            re.findall(r"^  (\w+) +(\w+) +[0-9.]+  \(", table, re.MULTILINE)[-2:],
            [("granular", "kafka_wheel_20"), ("none", "null")],
        )
        self.assertRegex(
            answer,
            r"\Ahold, 10³ timers, exact: (lazy_heap|tied)[^:]*"
            r"\nhold, 10³ timers, granular: kafka_wheel_20 [0-9.]+ ns, the only "
            r"one\n\Z",
        )
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)

    def test_bad_numbers_and_flags_are_refused(self) -> None:
        for size in ("0", "-1", "abc", "1e12", "10q", "1.5"):
            self.assert_refused(2, "is not a size", "run", "--workloads=fill", f"--sizes={size}")
        for flag in ("--sizes=,", "--sizes=10,,20", "--backends=,ring"):
            self.assert_refused(2, "before a comma", "run", "--workloads=fill", flag)
        self.assert_refused(2, "nothing to run", "run")
        self.assert_refused(
            2,
            "--sizes is for workloads",
            "run",
            "--sizes=10",
            f"--trace={TRACES / 'nginx_keepalive_c256'}",
        )
        for flag in ("--items", "--seed"):
            for number in ("-1", "1.5", "99999999999999999999999", "nan"):
                self.assert_refused(
                    2, "is not a whole number", "run", "--workloads=fill", f"{flag}={number}"
                )
        for flag in ("--hz=nan", "--hz=0", "--unit-ns=inf", "--unit-ns=1e300", "--unit-ns=-1"):
            self.assert_refused(
                2, "is not a number from", "trace", "import", "--format=csv", "in", "out", flag
            )
        for flag in (
            "time_unit=zz",
            "filter=(",
            "filter=[",
            "repetitions=2 --benchmark_repetitions=3",
        ):
            self.assert_refused(
                2,
                "--benchmark_" + flag.partition("=")[0],
                "run",
                "--workloads=fill",
                *f"--benchmark_{flag}".split(),
            )
        for flag in (
            "min_time=nan",
            "min_time=-1",
            "min_warmup_time=x",
            "repetitions=-1",
            "repetitions=0",
            "format=xml",
            "out_format=zzz",
            "min_time",
        ):
            self.assert_refused(
                2,
                f"--benchmark_{flag.partition('=')[0]}",
                "run",
                "--workloads=fill",
                f"--benchmark_{flag}",
            )
        out = self.folder / "out.json"
        self.assert_refused(
            2, "", "run", "--workloads=fill", f"--benchmark_out={out}", "--frobnicate"
        )
        for report in ("console", "json"):
            done = timerbench(
                "run",
                "--workloads=fill",
                f"--benchmark_out={out}",
                "--benchmark_filter=nothing",
                f"--benchmark_format={report}",
            )
            self.assertEqual(
                (done.returncode, done.stderr),
                (2, "Failed to match any benchmarks against regex: nothing\n"),
            )
        done = timerbench(
            "run",
            "--workloads=fill",
            f"--benchmark_out={out}",
            "--benchmark_list_tests",
            "--backends=scan",
        )
        self.assertEqual((done.returncode, done.stdout), (0, "own/fill/100000/scan/manual_time\n"))
        self.assertEqual(list(self.folder.iterdir()), [])
        for flag in ("--sizes=", "--benchmark_out=", "--suite="):
            self.assert_refused(2, f"'{flag}' has no value", "run", flag, "--workloads=fill")
        self.assert_refused(
            2, "'--fired' is empty", "replay", "--fired", "", "--trace=x", "--backend=ring_512"
        )
        self.assert_refused(2, "--frobnicate", "run", "--workloads=fill", "--frobnicate")
        self.assert_refused(2, "--seconds", "verify", "--seconds=-1")
        self.assert_refused(2, "'nan' is not", "verify", "--seconds=nan")
        self.assert_refused(2, "'nan' is not", "run", "--workloads=fill", "--replay-seconds=nan")
        self.assert_refused(
            2, "--granularity", "replay", "--trace=x", "--backend=ring_512", "--granularity=0"
        )
        self.assert_refused(2, "--trace", "replay", "--backend=ring_512")

    def test_a_service_is_no_backend_and_a_backend_no_service(self) -> None:
        self.assert_refused(
            2,
            "'java_timer' is a service, but a backend is wanted",
            "run",
            "--suite=smoke",
            "--backends=java_timer",
        )
        self.assert_refused(
            2,
            "'java_timer' is a service, but a backend is wanted",
            "verify",
            "java_timer",
            "--trace=nowhere",
        )
        self.assert_refused(
            2,
            "'ring' is a backend, but a service is wanted",
            "run",
            "--suite=accuracy",
            "--backends=ring",
        )

    def test_options_that_contradict_each_other_are_refused(self) -> None:
        purgatory = ["run", "--suite=purgatory"]
        for expected, args in (
            ("pct75", [*purgatory, "--pct50=60", "--pct75=20"]),
            ("key", [*purgatory, "--keys=11", "--key-space-size=10"]),
            ("--timeout", [*purgatory, "--timeout=0"]),
            ("--rate", [*purgatory, "--rate=-1"]),
            ("--rate", [*purgatory, "--rate=nan"]),
            ("--rate", [*purgatory, "--rate=0"]),
            ("--num", [*purgatory, "--num=-1"]),
            ("--num", [*purgatory, "--num=1e99"]),
            ("--sizes", [*purgatory, "--rate=10", "--sizes=10"]),
            ("--trace", [*purgatory, f"--trace={TRACES / 'nginx_keepalive_c256'}"]),
            ("--rate", ["run", "--suite=accuracy", "--rate=10"]),
            ("--granularity", ["run", "--suite=accuracy", "--granularity=2"]),
            ("--seconds", ["run", "--suite=smoke", "--seconds=2"]),
            ("'locked_binary_heap'", ["run", "--suite=accuracy", "--backends=locked_binary"]),
            ("'rate'", ["run", "--suite=accuracy", "--workloads=rat"]),
            ("64", ["run", "--suite=contention", "--sizes=64"]),
            ("'0' is not a size", ["run", "--suite=contention", "--sizes=0"]),
            ("'0' is not a size", ["run", "--suite=accuracy", "--sizes=0"]),
            ("'0' is not a size", ["run", "--suite=purgatory", "--sizes=0"]),
            ("accuracy", ["run", "--suite=acuracy"]),
        ):
            with self.subTest(args=args):
                self.assert_refused(2, expected, *args)

    def test_what_is_not_a_file_is_refused_and_a_link_is_followed(self) -> None:
        fifo = self.folder / "p.npy"
        os.mkfifo(fifo)
        self.assert_refused(1, "p.npy", "trace", "stat", str(fifo))
        fifo.rename(self.folder / "q.json")
        timerbench("trace", "generate", "fill", str(self.folder / "q2"), "--size=10")
        (self.folder / "q2.npy").rename(self.folder / "q.npy")
        self.assert_refused(1, "q.json", "trace", "stat", str(self.folder / "q"))
        for name in (f"{self.folder}/", "..", "."):
            self.assert_refused(1, "it is a folder", "trace", "generate", "fill", name)
        target, link = self.folder / "target", self.folder / "link"
        link.symlink_to(target)
        done = timerbench(
            "replay",
            "--trace",
            str(TRACES / "nginx_keepalive_c256"),
            "--backend=scan",
            "--fired",
            str(link),
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(link.is_symlink())
        self.assertIn("now,id,deadline", target.read_text())

    def test_special_files_are_refused_and_do_not_hang(self) -> None:
        for name in ("f.csv", "f.toml", "f.npy"):
            os.mkfifo(self.folder / name)  # to which nobody writes
        fifo = str(self.folder / "f")
        said = "it is not a regular file"
        for kind in ("csv", "ftrace"):
            for special in (f"{fifo}.csv", "/dev/zero", str(self.folder)):
                self.assert_refused(
                    1,
                    said,
                    "trace",
                    "import",
                    f"--format={kind}",
                    special,
                    str(self.folder / "out"),
                )
        self.assert_refused(2, said, "run", f"--suite={fifo}.toml")
        self.assert_refused(2, said, "prepare", f"--suite={fifo}.toml")
        self.assert_refused(2, said, "run", f"--suite={self.folder}/")
        self.assert_refused(1, said, "run", f"--trace={fifo}")
        self.assert_refused(1, said, "verify", "scan", f"--trace={fifo}")
        self.assertFalse((self.folder / "out.npy").exists())

    def test_a_pipe_is_read_and_one_signal_ends_the_wait(self) -> None:
        command = [
            PROGRAM,
            "trace",
            "import",
            "--format=csv",
            "/dev/stdin",
            str(self.folder / "out"),
        ]
        rows = "at,op,id,delay\n0,schedule,0,5\n"
        done = subprocess.run(command, input=rows, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 operations", done.stdout)
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            waiting = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                text=True,
            )
            waiting.stdin.write(rows)
            waiting.stdin.flush()
            wait_for(lambda: catches(waiting.pid, signal_number))
            time.sleep(0.5)
            waiting.send_signal(signal_number)
            self.assertEqual(waiting.wait(timeout=10), 1)
            self.assertIn("interrupted", waiting.stderr.read())
            waiting.stdin.close()
            waiting.stderr.close()

    def test_a_trace_without_timers_has_no_cost(self) -> None:
        rows = self.folder / "empty.csv"
        rows.write_text("\ufeffat,op,id,delay\n0,advance,,5\n", encoding="utf-8")
        timerbench("trace", "import", "--format=csv", str(rows), str(self.folder / "t"))
        self.assert_refused(
            1, "nothing to measure", "run", "--backends=scan", f"--trace={self.folder / 't'}"
        )

    def test_closed_streams_do_not_crash(self) -> None:
        for streams in (">&-", "2>&-", ">&- 2>&-"):
            for command in ("list", "trace stat nowhere"):
                done = subprocess.run(
                    f"exec '{PROGRAM}' {command} {streams}",
                    shell=True,
                    capture_output=True,
                    timeout=60,
                )
                self.assertIn(done.returncode, (0, 1), (command, streams))

    def test_files_that_cannot_be_read_or_written(self) -> None:
        trace = str(TRACES / "nginx_keepalive_c256")
        self.assert_refused(1, "nowhere.npy", "replay", "--trace=nowhere", "--backend=ring_512")
        self.assert_refused(
            1, "/nowhere/x", "replay", "--trace", trace, "--backend=ring_512", "--fired=/nowhere/x"
        )
        self.assert_refused(
            1, "/dev/full", "replay", "--trace", trace, "--backend=ring_512", "--fired=/dev/full"
        )
        self.assert_refused(
            1,
            "/nowhere/x.json",
            "run",
            "--workloads=fill",
            "--backends=null",
            "--benchmark_out=/nowhere/x.json",
        )
        self.assert_refused(
            1,
            "/dev/full",
            "run",
            "--workloads=fill",
            "--backends=null",
            "--benchmark_out=/dev/full",
        )
        self.assert_refused(
            1,
            "nowhere.txt",
            "trace",
            "import",
            "--format=ftrace",
            "nowhere.txt",
            str(self.folder / "x"),
        )
        empty = self.folder / "empty.csv"
        empty.touch()
        self.assert_refused(
            1, "empty.csv", "trace", "import", "--format=csv", str(empty), str(self.folder / "x")
        )
        self.assertEqual(list(self.folder.iterdir()), [empty])

    def test_a_damaged_trace_is_refused_and_named(self) -> None:
        trace = self.folder / "t"
        timerbench("trace", "generate", "fill", str(trace), "--size=100")
        whole = trace.with_suffix(".npy").read_bytes()
        described = json.loads(trace.with_suffix(".json").read_text())

        def refused(expected: str) -> None:
            self.assert_refused(1, expected, "replay", "--trace", str(trace), "--backend=ring_512")

        trace.with_suffix(".npy").write_bytes(whole[:-3])
        refused("t.npy")
        trace.with_suffix(".npy").write_bytes(b"")
        refused("t.npy")
        trace.with_suffix(".npy").write_bytes(whole)
        for change, expected in (
            ({"version": 99}, "version"),
            ({"capacity": 50}, "capacity"),
            ({"items": 301}, "items"),
            ({"outcome": 3}, "outcome"),
            ({"outcome": {"fired": -1}}, "outcome"),
            ({"hash": "xxh3:0000000000000000"}, "t.json"),
        ):
            trace.with_suffix(".json").write_text(json.dumps(described | change))
            refused(expected)
        trace.with_suffix(".json").write_text('{"version": ' + "[" * 100_000)
        refused("nested too deep")
        trace.with_suffix(".json").write_text("{")
        refused("t.json")
        trace.with_suffix(".json").unlink()
        refused("t.json")

    def test_no_memory_for_the_size_is_said(self) -> None:
        done = timerbench("run", "--workloads=fill", "--sizes=1e9", "--backends=null")
        self.assertIn("oom: size 1000000000 needs about", done.stdout)
        self.assertEqual(
            (done.returncode, done.stderr),
            (1, "timerbench: nothing was measured; each cell says why\n"),
        )
        trace = self.folder / "t"
        timerbench("trace", "generate", "fill", str(trace), "--size=10")
        described = json.loads(trace.with_suffix(".json").read_text())
        for capacity, expected in ((10**9, "needs about"), (2 * 10**9, "capacity")):
            trace.with_suffix(".json").write_text(json.dumps(described | {"capacity": capacity}))
            for command in (
                ["replay", "--backend=ring_512"],
                ["verify", "ring"],
                ["run", "--backends=ring"],
            ):
                self.assert_refused(1, expected, *command, "--trace", str(trace))
        self.assert_refused(
            1, "size 1000000000 needs about", "trace", "generate", "fill", str(trace), "--size=1e9"
        )

    def run_with_redis_at(self, url: str) -> tuple[subprocess.CompletedProcess[str], str]:
        """Measures with this server and without one. Returns the results, too."""
        out = self.folder / "out.json"
        done = timerbench(
            "run",
            "--workloads=fill",
            "--sizes=100",
            "--backends=redis_zset,ring_512",
            "--benchmark_repetitions=1",
            f"--benchmark_out={out}",
            env=os.environ | {"TIMERBENCH_REDIS_URL": url},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done, out.read_text()

    def test_a_missing_server_spoils_only_its_own_cells(self) -> None:
        done, results = self.run_with_redis_at("redis://127.0.0.1:1/0")
        self.assertRegex(done.stdout, r"redis_zset\s+unavailable: .*127.0.0.1:1")
        self.assertRegex(done.stdout, r"ring_512 +[0-9.]+\s")
        self.assertIn("unavailable", results)

    def test_a_password_is_in_no_message_and_in_no_result(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        options = f"--port {port} --bind 127.0.0.1 --requirepass s3cret --save".split()
        server = subprocess.Popen(
            ["redis-server", *options, ""], cwd=self.folder, stdout=subprocess.DEVNULL
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        wait_for(lambda: accepts(port))
        for password, has_figure in (("s3cret", True), ("gu3ss", False)):
            done, results = self.run_with_redis_at(f"redis://:{password}@127.0.0.1:{port}")
            self.assertEqual("unavailable: " not in done.stdout, has_figure, done.stdout)
            for told in (done.stdout, done.stderr, results):
                self.assertNotIn(password, told)

    def test_a_kernel_without_timerfd_spoils_only_what_needs_it(self) -> None:
        out = self.folder / "out.json"
        done = timerbench(
            "run",
            "--suite=accuracy",
            "--workloads=wait_timerfd,wait_condition",
            "--backends=locked_binary_heap",
            "--seconds=0.2",
            "--benchmark_repetitions=1",
            f"--benchmark_out={out}",
            preexec_fn=forbid_timerfd,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in done.stdout.splitlines()[:-1]:
            refused = "unavailable: timerfd_create: Operation not permitted"
            self.assertEqual("wait_timerfd" in line, refused in line, line)
            self.assertEqual("wait_condition" in line, "late by" in line, line)

    def test_verify_of_what_is_not_there_fails(self) -> None:
        done = timerbench(
            "verify",
            "redis_zset",
            "ring_512",
            "--seconds=0",
            env=os.environ | {"TIMERBENCH_REDIS_URL": "redis://127.0.0.1:1/0"},
        )
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"redis_zset\s+UNAVAILABLE: .*127.0.0.1:1")
        self.assertRegex(done.stdout, r"ring_512\s+ok: ")

    def test_standard_output_that_takes_no_more_is_said(self) -> None:
        out = self.folder / "out.json"
        for command in (
            ["list"],
            ["list", "--json"],
            ["--help"],
            ["verify", "null"],
            [
                *"run --workloads=fill --sizes=1k --backends=ring_512".split(),
                f"--benchmark_out={out}",
            ],
        ):
            with open("/dev/full", "w") as full:
                done = subprocess.run(
                    [PROGRAM, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
                )
            self.assertEqual(done.returncode, 1, command)
            self.assertRegex(done.stderr, r"^timerbench: not all could be printed: .*\n$")
        self.assertEqual(list(self.folder.iterdir()), [out])  # the figures are kept

    def test_a_place_that_cannot_be_written_is_found_before_the_work(self) -> None:
        started = time.monotonic()
        self.assert_refused(
            1, "/nowhere/x", "trace", "generate", "churn", "/nowhere/x", "--size=1e6"
        )
        self.assertLess(time.monotonic() - started, 1)  # to generate it takes longer

    def interrupt(self, signal_number: int, *args: str, after: float) -> tuple[int, str, float]:
        """Exit code, stderr and the seconds that the program took to end. `after`: seconds of work."""
        run = subprocess.Popen(
            [PROGRAM, *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal_number, signal.SIG_DFL),
        )  # not nohup's
        while run.poll() is None and not catches(run.pid, signal_number):
            time.sleep(0.01)
        time.sleep(after)
        run.send_signal(signal_number)
        sent = time.monotonic()
        _, stderr = run.communicate(timeout=60)
        return run.returncode, stderr, time.monotonic() - sent

    def test_a_trace_that_is_being_made_can_be_interrupted(self) -> None:
        code, stderr, took = self.interrupt(
            signal.SIGINT,
            "trace",
            "generate",
            "churn",
            str(self.folder / "t"),
            "--size=1e7",
            after=0.5,
        )
        self.assertEqual((code, stderr), (1, "timerbench: interrupted; nothing was written\n"))
        self.assertLess(took, 5)  # what was made is freed
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_long_replays_and_imports_can_be_interrupted(self) -> None:
        trace = str(self.folder / "t")
        timerbench("trace", "generate", "fill", trace, "--size=1e6")
        timerbench("trace", "export", "--format=csv", trace, trace + ".csv")
        before = sorted(self.folder.iterdir())
        for command in (
            ["replay", "--backend=skiplist", "--trace", trace, "--fired", trace + "f"],
            ["run", "--workloads=drain", "--sizes=1e6", "--backends=scan"],
            ["trace", "import", "--format=csv", trace + ".csv", trace + "2"],
        ):
            for signal_number in (signal.SIGINT, signal.SIGTERM):
                code, _, took = self.interrupt(signal_number, *command, after=0.5)
                self.assertEqual(code, 1, command)
                self.assertLess(took, 5, command)
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_a_run_whose_terminal_or_reader_goes_away_keeps_what_it_has(self) -> None:
        out = self.folder / "out.json"
        command = [
            "run",
            "--workloads=fill,cancel,churn,hold",
            "--sizes=1000",
            "--backends=lazy_heap,ring",
            f"--benchmark_out={out}",
            "--benchmark_min_time=0.1",
        ]
        code, stderr, _ = self.interrupt(signal.SIGHUP, *command, after=1)
        self.assertEqual((code, stderr), (1, ""))
        json.loads(out.read_text())
        out.unlink()

        run = subprocess.Popen(
            [PROGRAM, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        next(line for line in run.stdout if line.startswith("  exact"))
        run.stdout.close()
        self.assertEqual((run.wait(timeout=60), run.stderr.read()), (1, ""))
        run.stderr.close()
        json.loads(out.read_text())
        self.assertEqual(list(self.folder.iterdir()), [out])

    def test_an_interrupted_run_keeps_what_it_has(self) -> None:
        out = self.folder / "out.json"
        run = subprocess.Popen(
            [
                PROGRAM,
                "run",
                "--workloads=fill,cancel,churn,hold",
                "--sizes=1000",
                "--backends=lazy_heap,ring",
                f"--benchmark_out={out}",
                "--benchmark_min_time=0.1",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        first_cell = next(line for line in run.stdout if line.startswith("  exact"))
        run.send_signal(signal.SIGINT)
        stdout, _ = run.communicate(timeout=30)
        self.assertRegex(first_cell, r"lazy_heap +[0-9.]+  \(")
        self.assertEqual(run.returncode, 1)
        self.assertRegex(stdout, r"interrupted: \d+ cells measured.*" + str(out))
        runs = json.loads(out.read_text())["benchmarks"]
        self.assertTrue(any("ns_per_item" in run for run in runs))
        self.assertTrue(any("interrupted" in run.get("error_message", "") for run in runs))

    def test_an_interrupted_run_on_the_wall_clock_ends_at_once_and_keeps_what_it_has(self) -> None:
        out = self.folder / "out.json"
        for suite, scenario, size in (
            ("accuracy", "rate", 200),
            ("contention", "own", 8),
            ("purgatory", "high", 500),
        ):
            with self.subTest(suite=suite):
                code, _, took = self.interrupt(
                    signal.SIGINT,
                    "run",
                    f"--suite={suite}",
                    "--verified",
                    f"--workloads={scenario}",
                    "--seconds=30",
                    f"--benchmark_out={out}",
                    "--sizes=%d" % size,
                    "--backends=delay_queue",
                    "--benchmark_filter=delay_queue",
                    after=1.5,
                )
                self.assertEqual(code, 1)
                self.assertLess(took, 5)  # a second, but for a busy machine
                cell = json.loads(out.read_text())["benchmarks"][0]
                if suite == "contention":  # of which a part would say something else
                    self.assertIn("interrupted", cell["error_message"])
                    continue
                self.assertRegex(cell["label"], "interrupted$")
                self.assertGreater(cell["lateness_max_ns"], 0)
                distributions = json.loads((self.folder / "out.distributions.json").read_text())
                lateness = distributions["/".join(cell["name"].split("/")[:4])][0]["lateness"]
                self.assertGreater(lateness["count"], 20)


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite, _: object) -> Any:
    """Takes this process's share of the tests, as GoogleTest's programs do."""
    count = int(os.environ.get("GTEST_TOTAL_SHARDS", 1))
    index = int(os.environ.get("GTEST_SHARD_INDEX", 0))
    return unittest.TestSuite([test for suite in tests for test in suite][index::count])


if __name__ == "__main__":
    unittest.main()
