"""scripts/record-kernel-timers: with a kernel that only pretends, and with the real one.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/record_test.py
"""

import contextlib
import json
import lzma
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT, Scratch
from waiting import wait_for

SCRIPT = ROOT / "scripts" / "record-kernel-timers"
TIMERBENCH = ROOT / "build" / "release" / "timerbench"

EVENTS = ("timer_start", "timer_cancel", "timer_expire_entry")
STATS = "entries: 0\noverrun: {}\nbytes: 0\noldest event ts: 26552.1\ndropped events: 0\n"
LINES = "".join(
    f"  sh-1  [000] d..1. {5 + i / 250:.6f}: timer_start: timer=00{i % 7} function=f "
    f"expires={i + 9} [timeout=9] bucket_expiry={i + 9} cpu=0 idx=1 flags=\n"
    for i in range(2000)
)

# The script itself, on a kernel without magic: an instance is a copy of a folder, and is moved away
# when it is removed. So this process has a home in which it can look around.
PROGRAM = """
import os, pathlib, shutil, sys
import console, record_kernel_timers as record

folder = pathlib.Path({folder!r})
mkdir, rmdir = os.mkdir, os.rmdir

def make(path, *arguments, **options):
    mkdir(path, *arguments, **options)
    if pathlib.Path(path).parent.name == "instances":
        shutil.copytree(folder / "new_instance", path, dirs_exist_ok=True)

def remove(path, *arguments, **options):
    if pathlib.Path(path).parent.name == "instances":
        os.rename(path, folder / "removed" / pathlib.Path(path).name)
    else:
        rmdir(path, *arguments, **options)

os.mkdir, os.rmdir = make, remove
record.TIMERBENCH = folder / "timerbench"
record.CONFIGS = (str(folder / "config"),)
{change}
console.run_main("scripts/record-kernel-timers", record.main)
"""

IMPORT = """#!/bin/sh
# trace import --format=ftrace --source=TEXT /dev/stdin NAME
[ -e "$0.is_slow" ] && mv "$0.is_slow" "$0.sleeps" && exec sleep 20
[ -e "$0.is_broken" ] && echo "timerbench: damaged" >&2 && exit 1
cat "$5" >"$6.npy"
echo '{"parameters": {"starts": 1500, "cancels": 900, "expiries": 200, "moves": 400,
  "detaches": 200}}' >"$6.json"
"""

Done = subprocess.CompletedProcess[str]


class FakeKernel(Scratch):
    """A tracefs in which nothing happens by itself."""

    def setUp(self) -> None:
        super().setUp()
        self.tracefs = self.folder / "tracefs"
        for folder in ("tracefs/instances", "tracefs/events", "removed"):
            (self.folder / folder).mkdir(parents=True)
        self.set_up("trace_pipe", LINES)
        self.set_up("per_cpu/cpu0/stats", STATS.format(0))
        for name in ("free_buffer", "tracing_on", "trace_clock", "buffer_size_kb"):
            self.set_up(name, "")
        for name in ("disable_on_free", "raw", "context-info"):
            self.set_up(f"options/{name}", "")
        for event in EVENTS:
            self.set_up(f"events/timer/{event}/enable", "0\n")
        (self.tracefs / "tracing_on").write_text("0\n")
        (self.folder / "config").write_text("# CONFIG_HZ_100 is not set\nCONFIG_HZ=250\n")
        timerbench = self.folder / "timerbench"
        timerbench.write_text(IMPORT)
        timerbench.chmod(0o755)
        self.name = self.folder / "my_load"
        self.before = self.files_of_tracefs()

    def set_up(self, name: str, text: str) -> None:
        """A file of every new instance."""
        path = self.folder / "new_instance" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def files_of_tracefs(self) -> dict[Path, str]:
        return {path: path.read_text() for path in self.tracefs.rglob("*") if path.is_file()}

    def start(
        self, *arguments: object, change: str = "", **environment: str
    ) -> "subprocess.Popen[str]":
        program = PROGRAM.format(folder=str(self.folder), change=change)
        mine = {key: value for key, value in os.environ.items() if not key.startswith("SUDO_")}
        mine |= {"TIMERBENCH_TRACEFS": str(self.tracefs)}
        mine |= {"PYTHONPATH": str(ROOT / "scripts" / "lib")}
        return subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            env=mine | environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def record(self, *arguments: object, change: str = "", **environment: str) -> Done:
        program = self.start(*arguments, change=change, **environment)
        return self.finish(program)

    def finish(self, program: "subprocess.Popen[str]") -> Done:
        out, err = program.communicate(timeout=60)
        return subprocess.CompletedProcess(program.args, program.returncode, out, err)

    def start_recording(self, *arguments: object) -> "subprocess.Popen[str]":
        """One that has begun."""
        program = self.start(*arguments)
        assert program.stdout
        self.assertRegex(program.stdout.readline(), "^Recording")
        time.sleep(0.2)
        return program

    def has_read(self, program: "subprocess.Popen[str]", path: Path) -> bool:
        """Whether it has read the file to its end."""
        files = Path(f"/proc/{program.pid}/fd")
        (file,) = (file for file in files.iterdir() if file.resolve() == path)
        positions = (files.parent / "fdinfo" / file.name).read_text()
        return int(positions.split()[1]) == path.stat().st_size

    def seconds_recorded(self, said: str) -> float:
        """More than were asked for, on a busy machine."""
        (seconds,) = re.findall(r"^Recorded ([0-9.]+) s: ", said, re.MULTILINE)
        return float(seconds)

    def removed_instance(self) -> Path:
        (instance,) = (self.folder / "removed").iterdir()
        return instance

    def check_nothing_is_left(self, *of_user: str) -> None:
        """But for what the user asked for."""
        self.assertEqual(self.files_of_tracefs(), self.before)
        self.assertEqual(list((self.tracefs / "instances").iterdir()), [])
        ours = {"tracefs", "removed", "new_instance", "config", "timerbench"}
        left = {path.name for path in self.folder.iterdir()} - ours
        self.assertEqual(left - {"timerbench.is_broken", "timerbench.sleeps"}, set(of_user))

    def check_refused(self, code: int, complaint: str, done: Done) -> None:
        """In one line, and without a trace."""
        self.assertRegex(done.stderr, f"^scripts/record-kernel-timers: .*{complaint}.*\n$")
        self.assertEqual(done.returncode, code)
        self.check_nothing_is_left()


class RecordTest(FakeKernel):
    def test_a_trace_is_made_and_all_else_is_as_before(self) -> None:
        done = self.record("--seconds=0.3", "my_load")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.check_nothing_is_left("my_load.npy", "my_load.json")
        recorded = (self.folder / "my_load.npy").read_text()
        first, rest = recorded.split("\n", 1)
        self.assertRegex(first, r"^# kernel \S+ CONFIG_HZ=250 trace_clock=mono$")
        self.assertEqual(rest, LINES)

    def test_the_instance_is_set_up(self) -> None:
        self.record("--seconds=0.1", "my_load", "--buffer-mb=3")
        files = {
            "trace_clock": "mono\n",
            "buffer_size_kb": "3072\n",
            "options/raw": "0\n",
            "options/context-info": "1\n",
            "options/disable_on_free": "1\n",
            "tracing_on": "0\n",
            **{f"events/timer/{event}/enable": "1\n" for event in EVENTS},
        }
        for name, value in files.items():
            self.assertEqual((self.removed_instance() / name).read_text(), value, name)

    def test_it_says_what_was_recorded_and_what_to_type_next(self) -> None:
        said = self.record("--seconds=0.3", "my load").stdout
        self.assertIn("timers armed 1\u202f100, moved 400, cancelled 300, expired 200\n", said)
        self.assertGreaterEqual(self.seconds_recorded(said), 0.3)
        lines = said.splitlines()
        self.assertRegex(lines[-2], "timerbench trace stat 'my load'$")
        self.assertRegex(lines[-1], "scripts/bench --trace='my load'$")

    def test_it_records_as_long_as_a_command_runs(self) -> None:
        done = self.record("my_load", "--", "sh", "-c", "sleep 0.5; echo ran -- as $0", "told")
        self.assertIn("ran -- as told", done.stdout)
        self.assertGreaterEqual(self.seconds_recorded(done.stdout), 0.5)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_trace_of_a_command_that_fails_is_kept(self) -> None:
        done = self.record("my_load", "--", "sh", "-c", "exit 3")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "sh: ended with code 3; the trace is kept\n$")
        self.check_nothing_is_left("my_load.npy", "my_load.json")

    def test_the_raw_recording_is_kept_on_request(self) -> None:
        for name, read in (("raw.txt", open), ("raw.txt.xz", lzma.open)):
            self.assertEqual(self.record("--seconds=0.1", f"--keep-raw={name}", "x").stderr, "")
            with read(self.folder / name, "rt") as file:
                self.assertEqual(file.read(), (self.folder / "x.npy").read_text())

    def test_full_buffers_are_read_meanwhile(self) -> None:
        """Though it is those of one CPU alone."""
        self.set_up("per_cpu/cpu0/stats", STATS.format(0).replace("bytes: 0", "bytes: 20000000"))
        self.set_up("per_cpu/cpu1/stats", STATS.format(0))
        program = self.start_recording("--seconds=20", "my_load")
        (instance,) = (self.tracefs / "instances").iterdir()
        with (instance / "trace_pipe").open("a") as pipe:
            pipe.write("more\n")
        wait_for(lambda: self.has_read(program, instance / "trace_pipe"), program)
        (instance / "trace_pipe").write_text("")  # what is not read by now is never read
        program.send_signal(signal.SIGINT)
        self.finish(program)
        self.assertTrue((self.folder / "my_load.npy").read_text().endswith("more\n"))

    @unittest.skipUnless(os.geteuid() == 0, "another user takes root")
    def test_all_belongs_to_the_caller_of_sudo(self) -> None:
        nobody = pwd.getpwnam("nobody")
        self.folder.chmod(0o777)
        (self.folder / "removed").chmod(0o777)
        done = self.record(
            *("my_load", "--keep-raw=raw", "--", "sh", "-c"),
            "id -un; echo $HOME; id -G; touch made",
            change="os.setgroups([0, 12])",  # of root
            SUDO_UID=str(nobody.pw_uid),
        )
        self.assertEqual(done.stderr, "")
        groups = " ".join(map(str, os.getgrouplist("nobody", nobody.pw_gid)))
        self.assertIn(f"\nnobody\n{nobody.pw_dir}\n{groups}\n", done.stdout)
        for name in ("my_load.npy", "my_load.json", "raw", "made"):
            self.assertEqual((self.folder / name).stat().st_uid, nobody.pw_uid, name)


class InterruptTest(FakeKernel):
    def test_a_signal_ends_the_recording_and_keeps_what_is_there(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            program = self.start_recording("--seconds=20", "my_load")
            program.send_signal(number)
            done = self.finish(program)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.check_nothing_is_left("my_load.npy", "my_load.json")

    def test_a_command_ends_with_the_recording(self) -> None:
        for command in ("exec sleep 20", "trap '' INT TERM; exec sleep 20"):
            program = self.start_recording("my_load", "--", "sh", "-c", command)
            program.send_signal(signal.SIGINT)
            done = self.finish(program)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.check_nothing_is_left("my_load.npy", "my_load.json")

    def test_a_command_that_the_terminal_interrupted_has_not_failed(self) -> None:
        program = self.start("my_load", "--", "sh", "-c", "kill -INT $PPID; kill -INT $$")
        done = self.finish(program)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.check_nothing_is_left("my_load.npy", "my_load.json")

    def test_a_second_signal_gives_up(self) -> None:
        (self.folder / "timerbench.is_slow").touch()
        program = self.start_recording("--seconds=20", "my_load")
        program.send_signal(signal.SIGINT)
        wait_for((self.folder / "timerbench.sleeps").exists, program)
        time.sleep(1.2)  # within a second it is the same request
        program.send_signal(signal.SIGINT)
        self.check_refused(1, "interrupted", self.finish(program))

    def test_what_a_killed_one_left_is_removed_by_the_next(self) -> None:
        instances = self.tracefs / "instances"
        killed = self.start_recording("--seconds=20", "my_load")
        killed.kill()
        self.finish(killed)
        self.assertEqual([p.name for p in instances.iterdir()], [f"timerbench-{killed.pid}"])
        others = {f"timerbench-{os.getpid()}", "timerbench-mine", "other-1"}  # one lives
        for name in others:
            (instances / name).mkdir()
        self.record("--seconds=0.1", "my_load")
        self.assertEqual({path.name for path in instances.iterdir()}, others)


class FailureTest(FakeKernel):
    def test_a_trace_with_holes_is_not_made(self) -> None:
        self.set_up("per_cpu/cpu0/stats", STATS.format(17))
        done = self.record("--seconds=0.1", "my_load")
        self.check_refused(1, "17 events were lost.*--buffer-mb 128", done)

    def test_a_trace_with_holes_of_any_kind_is_not_made(self) -> None:
        for kind in ("overrun", "commit overrun", "dropped events"):
            stats = STATS.format(0).replace("dropped events: 0\n", "")
            with self.subTest(kind):
                self.set_up("per_cpu/cpu0/stats", f"{stats}{kind}: 5\n")
                done = self.record("--seconds=0.1", "my_load")
                self.check_refused(1, "5 events were lost", done)
                shutil.rmtree(self.removed_instance())

    def test_what_all_cpus_have_lost_is_told(self) -> None:
        self.set_up("per_cpu/cpu0/stats", STATS.format(17))
        self.set_up("per_cpu/cpu1/stats", STATS.format(3))
        done = self.record("--seconds=0.1", "my_load")
        self.check_refused(1, "20 events were lost", done)

    def test_holes_that_come_when_the_recording_ends_are_found(self) -> None:
        lossy = STATS.format(17)
        change = f"""
stop = record.Instance.stop
def stop_and_lose(self):
    stop(self)
    (self._folder / "per_cpu/cpu0/stats").write_text({lossy!r})
record.Instance.stop = stop_and_lose
"""
        done = self.record("--seconds=0.1", "my_load", change=change)
        self.check_refused(1, "17 events were lost", done)

    def test_nothing_is_left_if_the_import_fails(self) -> None:
        (self.folder / "timerbench.is_broken").touch()
        done = self.record("--seconds=0.1", "my_load")
        self.assertRegex(done.stderr, "^timerbench: damaged\n.*: the import ended with code 1.*\n$")
        self.assertEqual(done.returncode, 1)
        self.check_nothing_is_left()
        self.record("--seconds=0.1", "my_load", "--keep-raw=raw")
        self.check_nothing_is_left("raw")

    def test_nothing_is_left_if_the_disk_is_full(self) -> None:
        size = len(LINES)  # the first line is one too many
        limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
        done = self.record("--seconds=0.1", "my_load", change=limit)
        self.check_refused(1, "File too large; make room", done)

    def test_nothing_is_left_if_there_is_no_such_command(self) -> None:
        done = self.record("my_load", "--", "no_such_program", "x")
        self.check_refused(1, "no_such_program: (No such file|Permission denied)", done)

    def test_nothing_is_left_if_a_setting_is_refused(self) -> None:
        (self.folder / "new_instance/trace_clock").unlink()
        (self.folder / "new_instance/trace_clock").mkdir()
        done = self.record("my_load")
        self.check_refused(1, "instances/timerbench-[0-9]+/trace_clock: Is a directory", done)

    def test_what_is_missing_is_said_in_one_line(self) -> None:
        missing = (
            ("new_instance/events/timer/timer_cancel", "no event timer:timer_cancel"),
            ("tracefs/instances", "this kernel has none"),
            ("tracefs/events", "no tracefs there"),
            ("config", "CONFIG_HZ of kernel .*give --hz"),
            ("timerbench", "not built yet; run ./scripts/bench smoke"),
        )
        for name, complaint in missing:
            with self.subTest(name):
                away = self.folder / "removed" / "away"
                (self.folder / name).rename(away)
                done = self.record("my_load")
                away.rename(self.folder / name)
                shutil.rmtree(self.folder / "removed")
                (self.folder / "removed").mkdir()
                self.check_refused(1, complaint, done)

    def test_hz_that_is_not_known_can_be_given(self) -> None:
        (self.folder / "config").write_text("CONFIG_X=y\n")
        self.record("--seconds=0.1", "--hz=1000", "my_load")
        self.assertIn("CONFIG_HZ=1000 ", (self.folder / "my_load.npy").read_text())

    def test_who_is_not_root_is_told_the_command(self) -> None:
        change = "os.geteuid = lambda: 1000; del os.environ['TIMERBENCH_TRACEFS']"
        done = self.record("--seconds=3", "my load", change=change)
        command = "sudo .*scripts/record-kernel-timers --seconds=3 'my load'"
        self.check_refused(1, f"needs root; type: {command}", done)

    def test_wrong_usage_is_refused(self) -> None:
        for code, complaint, *arguments in (
            (
                2,
                "required: NAME",
            ),
            (2, "--seconds", "my_load", "--seconds=0"),
            (2, "--buffer-mb", "my_load", "--buffer-mb=x"),
            (2, "not both", "my_load", "--seconds=3", "--", "ls"),
            (2, "no COMMAND after --", "my_load", "--"),
            (2, "is a folder", "removed/"),
            (2, "/dev/full: is no file", "my_load", "--keep-raw=/dev/full"),
            (1, "nowhere: is no folder", "nowhere/my_load"),
            (1, "nowhere: is no folder", "my_load", "--keep-raw=nowhere/raw"),
        ):
            with self.subTest(complaint):
                self.check_refused(code, complaint, self.record(*arguments))


# ---- The real kernel ----


@contextlib.contextmanager
def tcp_load() -> Iterator[None]:
    """Connections that are used and closed: the kernel arms and cancels timers of each."""
    over = threading.Event()

    def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            while not over.is_set():
                with socket.create_connection(server.getsockname()) as client:
                    served, _ = server.accept()
                    with served:
                        for _ in range(10):
                            client.sendall(b"?")
                            served.sendall(served.recv(1))
                            client.recv(1)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class RealKernelTest(Scratch):
    tracefs: Path

    @classmethod
    def setUpClass(cls) -> None:
        if reason := cls.mount():
            print(f"tests/record_test.py: not with the real kernel: {reason}", file=sys.stderr)
            raise unittest.SkipTest(reason)

    @classmethod
    def mount(cls) -> str:
        """Has a tracefs of our own, to look at what the script does to it; else why not."""
        if os.geteuid() != 0:
            return "that takes root"
        if not TIMERBENCH.exists():
            return f"{TIMERBENCH} is not built"
        cls.tracefs = Path(tempfile.mkdtemp())
        cls.addClassCleanup(cls.tracefs.rmdir)
        command = ["mount", "-t", "tracefs", "none", cls.tracefs]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            return run.stderr.split("\n")[0]
        cls.addClassCleanup(subprocess.run, ["umount", cls.tracefs], check=True)
        if not (cls.tracefs / "events/timer/timer_start").exists():
            return "no event timer:timer_start"
        return ""

    def setUp(self) -> None:
        super().setUp()
        self.name = self.folder / "my_load"

    def settings(self) -> dict[str, str]:
        """Of everybody; but no instances of recorders, which others may run meanwhile."""
        names = ("tracing_on", "set_event", "current_tracer", "buffer_size_kb", "trace_clock")
        settings = {
            name: (self.tracefs / name).read_text()
            for name in (*names, "trace_options", "set_event_pid", "tracing_cpumask")
        }
        instances = (path.name for path in (self.tracefs / "instances").iterdir())
        others = sorted(name for name in instances if not name.startswith("timerbench-"))
        mounts = Path("/proc/self/mounts").read_text()
        return settings | {"instances": " ".join(others), "mounts": mounts}

    def instance(self, program: "subprocess.Popen[str]") -> Path:
        return self.tracefs / "instances" / f"timerbench-{program.pid}"

    def start(self, *arguments: object) -> "subprocess.Popen[str]":
        program = subprocess.Popen(
            [SCRIPT, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        return program

    def start_recording(self) -> "subprocess.Popen[str]":
        """One that has begun."""
        program = self.start("--seconds=20", self.name)
        assert program.stdout and program.stderr
        self.assertRegex(program.stdout.readline(), "^Recording")
        for _ in range(50):
            time.sleep(0.02)
            if not self.instance(program).exists():
                self.fail(f"it ended: {program.stdout.read()}{program.stderr.read()}")
        return program

    def finish(self, program: "subprocess.Popen[str]") -> Done:
        out, err = program.communicate(timeout=60)
        self.assertFalse(self.instance(program).exists())
        return subprocess.CompletedProcess(program.args, program.returncode, out, err)

    def record(self, *arguments: object) -> Done:
        return self.finish(self.start(*arguments, self.name))

    def test_the_kernels_timers_become_a_trace(self) -> None:
        before = self.settings()
        raw = self.folder / "raw.xz"
        with tcp_load():
            done = self.record("--seconds=1", f"--keep-raw={raw}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.settings(), before)

        command = [TIMERBENCH, "trace", "stat", self.name]
        stat = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual((stat.returncode, stat.stderr), (0, ""))
        trace = json.loads(self.name.with_suffix(".json").read_text())
        self.assertGreater(trace["schedules"], 100)
        self.assertGreater(trace["parameters"]["moves"] + trace["cancels"], 50)
        self.assertGreater(trace["parameters"]["expiries"], 0)
        self.assertEqual(trace["parameters"]["warnings"], [])
        self.assertEqual(trace["parameters"]["skipped_lines"], 1)  # our own first one

        # What was recorded can be imported once more.
        command = [TIMERBENCH, "trace", "import", "--format=ftrace", raw, self.folder / "again"]
        self.assertEqual(subprocess.run(command, stdout=subprocess.DEVNULL).returncode, 0)
        again = json.loads((self.folder / "again.json").read_text())
        self.assertEqual(again["hash"], trace["hash"])

    def test_an_import_that_fails_leaves_nothing(self) -> None:
        before = self.settings()
        done = self.record("--seconds=0.5", "--hz=0.01")  # the jiffies contradict it
        self.assertEqual(done.returncode, 1)
        self.assertIn("HZ is not 0.01", done.stderr)
        self.assertEqual(self.settings(), before)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_one_that_is_killed_records_no_more(self) -> None:
        before = self.settings()
        killed = self.start_recording()
        instance = self.instance(killed)
        self.assertEqual((instance / "tracing_on").read_text(), "1\n")
        self.assertEqual(self.settings(), before)
        killed.kill()
        killed.communicate()
        with contextlib.suppress(FileNotFoundError):  # another recorder may have removed it
            self.assertEqual((instance / "tracing_on").read_text(), "0\n")
            self.assertLess(int((instance / "buffer_size_kb").read_text()), 100)
        self.record("--seconds=0.1")
        self.assertFalse(instance.exists())
        self.assertEqual(self.settings(), before)

    def test_an_instance_that_others_look_at_is_left_to_the_next(self) -> None:
        program = self.start_recording()
        instance = self.instance(program)
        with (instance / "trace").open():
            program.send_signal(signal.SIGINT)
            _, err = program.communicate(timeout=60)
        self.assertRegex(err, "^Warning: .*timerbench-.*busy; idle, and the next start .*\n$")
        self.assertEqual(program.returncode, 0)
        self.assertTrue(self.name.with_suffix(".npy").exists())
        self.record("--seconds=0.1")
        self.assertFalse(instance.exists())


if __name__ == "__main__":
    unittest.main()
