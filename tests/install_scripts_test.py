"""The installed queues, used from outside: by the example, and by a project that has headers of the
same names.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/install_scripts_test.py
"""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES CXX)
find_package(timerbench {version} REQUIRED)
add_executable(outside outside.cc)
target_include_directories(outside PRIVATE .)
target_link_libraries(outside PRIVATE timerbench::queues)
"""
PAGE = (ROOT / "docs" / "use_in_your_program.md").read_text()
MAIN = PAGE.partition("```cpp\n")[2].partition("```")[0]
PRINTED = PAGE.partition("It prints:\n\n```\n")[2].partition("```")[0]


def run(*command: object) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, timeout=100)


class InstallTest(unittest.TestCase):
    folder: Path
    installed: Path
    headers: list[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.installed = cls.folder / "installed"
        build = cls.folder / "queues"
        cls.done(run("cmake", "-S", ROOT, "-B", build, "-DTIMERBENCH_QUEUES_ONLY=ON"))
        cls.done(run("cmake", "--install", build, "--prefix", cls.installed))
        include = cls.installed / "include"
        cls.headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.*"))

    @staticmethod
    def done(ended: subprocess.CompletedProcess[str]) -> str:
        if ended.returncode != 0:
            raise AssertionError(ended.stdout + ended.stderr)
        return ended.stdout

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
        project = self.outside("0.1")
        self.done(self.configure(project))
        self.done(run("cmake", "--build", project / "build"))
        self.assertEqual(self.done(run(project / "build" / "outside")), PRINTED)

    def test_a_version_that_is_not_installed_is_refused(self) -> None:
        told = self.configure(self.outside("1.0"))
        self.assertNotEqual(told.returncode, 0)
        self.assertIn('compatible with requested version "1.0"', told.stderr)

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
        self.done(self.configure(source))
        self.done(run("cmake", "--build", self.folder / "example"))
        wakeups = []
        for way in ([], ["--tick"]):
            told = self.done(run(self.folder / "example" / "epoll_timeouts", *way))
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
            wakeups.append(woken)
        self.assertLess(wakeups[0], wakeups[1])
        few = run(
            "sh", "-c", 'ulimit -n 50 && exec "$0"', self.folder / "example" / "epoll_timeouts"
        )
        self.assertEqual(few.returncode, 2)
        self.assertIn("it needs 65 open files", few.stdout)


if __name__ == "__main__":
    unittest.main()
