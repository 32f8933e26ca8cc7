"""Programs in other languages that the preset peers builds: what they tell of themselves, and that
they refuse libraries whose inside is not as expected.

Run by ctest with the preset peers, or: TIMERBENCH=build/peers/timerbench /usr/bin/python3
tests/peer_processes_test.py
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

PROCESSES = Path(os.environ["TIMERBENCH"]).resolve().parent / "processes"


def program(name: str) -> Path:
    path = PROCESSES / name
    if not path.exists():
        raise unittest.SkipTest(f"{name} is not built")
    return path


class DescriptionTest(unittest.TestCase):
    def test_each_names_its_version_and_package(self) -> None:
        descriptions = sorted(PROCESSES.glob("*.json"))
        self.assertTrue(descriptions)
        for file in descriptions:
            about = json.loads(file.read_text())
            with self.subTest(file.stem):
                self.assertEqual(about["name"], file.stem)
                self.assertRegex(about["version"], r"\d.* \([a-z0-9.+-]+\)")

    def test_only_one_walks_ticks(self) -> None:
        for file in PROCESSES.glob("*.json"):
            about = json.loads(file.read_text())
            self.assertEqual(about.get("walks_ticks", False), file.stem == "netty_wheel", file.stem)


class UnexpectedVersionTest(unittest.TestCase):
    """With a class, or a module, of another version in front of the right one."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def with_class(self, name: str, package: str, source: str) -> str:
        """What the program complains of when this class comes first."""
        text = program(name).read_text()
        name_of_class = source.partition("class ")[2].split()[0]
        file = self.folder / f"{name_of_class}.java"
        file.write_text(f"package {package};\n{source}")
        javac = "/usr/bin/javac"
        subprocess.run([javac, "-d", self.folder, file], check=True, timeout=100)
        return self.refusal(text.replace("'-cp' '", f"'-cp' '{self.folder}:"))

    def refusal(self, text: str) -> str:
        file = self.folder / "program"
        file.write_text(text)
        run = subprocess.run(
            ["/bin/sh", file, "describe"], capture_output=True, text=True, timeout=100
        )
        self.assertEqual((run.returncode, run.stdout, run.stderr.count("\n")), (1, "", 1), run)
        return run.stderr

    def test_netty(self) -> None:
        said = self.with_class(
            "netty_wheel",
            "io.netty.util",
            "import java.util.concurrent.*;\n"
            "public class HashedWheelTimer {\n"
            "  public HashedWheelTimer(ThreadFactory a, long b, TimeUnit c, int d, boolean e) {}\n"
            "  static class Worker { void processCancelledTasks() {} }\n"
            "}\n",
        )
        self.assertRegex(said, r"^it was written for Netty 4\.1\.48; .*transferTimeoutsToBuckets")
        self.assertRegex(said, r" in netty-common-4\S+ \(libnetty-java\) .*OpenJDK \d")

    def test_caffeine(self) -> None:
        said = self.with_class(
            "caffeine_wheel",
            "com.github.benmanes.caffeine.cache",
            "class TimerWheel { static final long[] SPANS = {1L << 29}; }\n",
        )
        self.assertRegex(said, r"^it was written for Caffeine 2\.6\.2; a bucket spans 536870912 ns")
        self.assertRegex(said, r" in caffeine-2\S+ \(libcaffeine-java\)")

    def test_node(self) -> None:
        script = self.folder / "without.js"
        script.write_text("delete require('internal/timers').insert;\n")
        text = program("node_timers").read_text()
        said = self.refusal(
            text.replace("'--expose-internals'", f"'--expose-internals' '--require' '{script}'")
        )
        self.assertRegex(
            said,
            r"^it was written for Node.js 18 and 20; internal/timers has no insert\(\) "
            r"in Node.js \d+\S+ \(nodejs\)$",
        )


if __name__ == "__main__":
    unittest.main()
