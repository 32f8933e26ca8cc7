"""The installed queues, used from outside: by the example, and by a project that has headers of the
same names. And the Debian package, whose programs work outside the tree.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/install_scripts_test.py
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT

from page.render import unpacked

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES CXX)
find_package(timerbench {version} REQUIRED)
add_executable(outside outside.cc)
target_include_directories(outside PRIVATE .)
target_link_libraries(outside PRIVATE timerbench::queues)
"""
WITHOUT_RAISING_LIMITS = "setpriv", "--bounding-set=-sys_resource", "--inh-caps=-sys_resource"
PAGE = (ROOT / "docs" / "use_in_your_program.md").read_text()
MAIN = PAGE.partition("```cpp\n")[2].partition("```")[0]
PRINTED = PAGE.partition("It prints:\n\n```\n")[2].partition("```")[0]


def run(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    known = os.environ | environment
    return subprocess.run(words, capture_output=True, text=True, timeout=300, env=known)


def done(ended: subprocess.CompletedProcess[str]) -> str:
    if ended.returncode != 0:
        raise AssertionError(ended.stdout + ended.stderr)
    return ended.stdout


class InstallTest(unittest.TestCase):
    folder: Path
    installed: Path
    headers: list[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.installed = cls.folder / "installed"
        build = cls.folder / "queues"
        done(run("cmake", "-S", ROOT, "-B", build, "-DTIMERBENCH_QUEUES_ONLY=ON"))
        done(run("cmake", "--install", build, "--prefix", cls.installed))
        include = cls.installed / "include"
        cls.headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.*"))

    def configure(self, source: Path) -> subprocess.CompletedProcess[str]:
        build = source / "build" if source.is_relative_to(self.folder) else self.folder / "example"
        return run("cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={self.installed}")

    def outside(self, version: str) -> Path:
        """A project with folders and headers of the same names."""
        project = self.folder / f"outside-{version}"
        for header in self.headers:
            own = project / header.removeprefix("timerbench/")
            own.parent.mkdir(parents=True, exist_ok=True)
            own.write_text("#error the header of the project\n")
        includes = "".join(f'#include "{header}"\n' for header in self.headers)
        (project / "outside.cc").write_text(includes + MAIN)
        (project / "CMakeLists.txt").write_text(PROJECT.format(version=version))
        return project

    def test_a_project_outside_includes_every_header(self) -> None:
        project = self.outside("1.0")
        done(self.configure(project))
        done(run("cmake", "--build", project / "build"))
        self.assertEqual(done(run(project / "build" / "outside")), PRINTED)

    def test_a_version_that_is_not_installed_is_refused(self) -> None:
        told = self.configure(self.outside("2.0"))
        self.assertNotEqual(told.returncode, 0)
        self.assertIn('compatible with requested version "2.0"', told.stderr)

    def test_only_queues_and_what_they_include_are_installed(self) -> None:
        queues = [path.name for path in (ROOT / "impls" / "queues").glob("*.h")]
        wanted = {f"timerbench/queues/{name}" for name in queues if name != "roster.h"}
        for header in self.headers:
            text = (self.installed / "include" / header).read_text()
            wanted.update(re.findall('^#include "(.*)"$', text, re.MULTILINE))
        self.assertEqual(set(self.headers), wanted)

    def test_the_example_closes_idle_connections_and_sleeps_until_it_has_work(self) -> None:
        source = ROOT / "examples" / "epoll_timeouts"
        self.assertLess(len((source / "epoll_timeouts.cc").read_text().splitlines()), 150)
        done(self.configure(source))
        done(run("cmake", "--build", self.folder / "example"))
        may_raise_limits = run("sh", "-c", "ulimit -Hn 200000").returncode == 0
        wakeups = []
        for way in ([], ["--tick"]):
            told = done(run(self.folder / "example" / "epoll_timeouts", *way))
            match = re.match(
                r"(\d+) of (\d+) connections were idle for 1 s and were closed, at most [\d.]+ ms "
                r"late\.\nThe timer woke the server (\d+) times in [\d.]+ s: ",
                told,
            )
            assert match, told
            idle, connections, woken = map(int, match.groups())
            self.assertGreaterEqual(idle, connections * 0.9 - 1)
            self.assertLessEqual(idle, connections)
            self.assertEqual("No more than" in told, connections < 100_000)
            if may_raise_limits:
                self.assertEqual(connections, 100_000)
            wakeups.append(woken)
        self.assertLess(wakeups[0], wakeups[1])
        few = run(
            *(WITHOUT_RAISING_LIMITS if may_raise_limits else ()),
            *("sh", "-c", 'ulimit -n 50 && exec "$0"', self.folder / "example" / "epoll_timeouts"),
        )
        self.assertEqual(few.returncode, 2)
        self.assertIn("it needs 65 open files", few.stdout)


class PackageTest(unittest.TestCase):
    """The package is unpacked, not installed, so that the test needs no root."""

    folder: Path
    package: Path
    bin: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        config = ROOT / "build" / "release" / "CPackConfig.cmake"
        done(run("cpack", "--config", config, "-B", cls.folder / "packages"))
        [cls.package] = (cls.folder / "packages").glob("timerbench_*.deb")
        done(run("dpkg-deb", "--extract", cls.package, cls.folder / "root"))
        cls.bin = cls.folder / "root" / "usr" / "bin"

    def test_the_queues_alone_are_the_same_as_without_programs(self) -> None:
        alone = self.folder / "alone"
        command = ["cmake", "--install", ROOT / "build" / "release", "--component", "queues"]
        done(run(*command, "--prefix", alone))
        packed = self.folder / "root" / "usr"
        for part in ("include", "share/cmake"):
            names = [
                sorted(str(path.relative_to(where)) for path in (where / part).rglob("*"))
                for where in (alone, packed)
            ]
            self.assertEqual(*names)
        self.assertEqual(sorted(path.name for path in alone.iterdir()), ["include", "share"])

    def test_the_program_reads_what_is_installed_with_it(self) -> None:
        suites = self.folder / "root" / "usr" / "lib" / "timerbench" / "bench" / "suites"
        own = suites / "mine.toml"
        own.write_text((suites / "smoke.toml").read_text())
        self.assertIn("mine", done(run(self.bin / "timerbench", "list")))
        own.unlink()
        self.assertNotIn("mine", done(run(self.bin / "timerbench", "list")))

    def test_a_run_and_its_page(self) -> None:
        results = self.folder / "results.json"
        choice = ("--suite=smoke", "--backends=log_wheel", "--workloads=churn", "--sizes=1k")
        cache = self.folder / "cache"
        for which in ("memory", "total"):
            told = ("run", *choice, f"--pass={which}", f"--benchmark_out={results}")
            done(
                run(
                    self.bin / "timerbench", *told, HOME=str(self.folder), XDG_CACHE_HOME=str(cache)
                )
            )
        self.assertEqual(
            sorted(path.name for path in (cache / "timerbench").iterdir()),
            ["timerbench.verified", "timerbench_memory.verified"],
        )
        done(run(self.bin / "timerbench-report", results, f"--out={self.folder / 'page.html'}"))
        [campaign] = unpacked((self.folder / "page.html").read_text())["campaigns"]
        self.assertIn("log_wheel_256", [backend["name"] for backend in campaign["backends"]])

    def test_the_report_tells_its_own_name_and_leaves_no_file_behind(self) -> None:
        told = run(self.bin / "timerbench-report")
        self.assertEqual(told.returncode, 2)
        self.assertTrue(told.stderr.startswith("timerbench-report: "), told.stderr)
        self.assertIn("timerbench-report results", done(run(self.bin / "timerbench-report", "-h")))
        listed = done(run("dpkg-deb", "--contents", self.package)).splitlines()
        packed = {line.split()[5].removeprefix("./").rstrip("/") for line in listed}
        root = self.folder / "root"
        there = {str(path.relative_to(root)) for path in root.rglob("*")}
        self.assertEqual(there - packed, set())

    def test_it_depends_on_what_its_programs_load(self) -> None:
        fields = done(run("dpkg-deb", "--field", self.package, "Depends"))
        for package in ("libbenchmark", "libfmt", "libhiredis", "python3-jinja2"):
            self.assertIn(package, fields)

    def test_the_example_builds_against_it(self) -> None:
        source = ROOT / "examples" / "epoll_timeouts"
        prefix = self.folder / "root" / "usr"
        build = self.folder / "example"
        done(run("cmake", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"))
        done(run("cmake", "--build", build))


if __name__ == "__main__":
    unittest.main()
