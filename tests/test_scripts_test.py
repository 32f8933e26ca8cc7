"""scripts/test, with a CMake and a CTest that only pretend.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/test_scripts_test.py
"""

import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

DPKG_QUERY = """#!/bin/sh
echo installed
"""
# FAILS is a preset that cannot be built, HANGS one whose build does not end.
CMAKE = """#!/bin/sh
cd "$(dirname "$0")"
case "$*" in
  --list-presets*) printf '  "%s"\\n' release debug asan tsan; exit ;;
  --preset*) exit ;;
esac
echo "builds $3" >>events
[ "$3" != "$FAILS" ] || { echo "$3 does not compile"; exit 1; }
[ "$3" != "$HANGS" ] || { echo $$ >pid && exec sleep 60; }
echo "built $3" >>events
"""
# A preset named DURING_TESTS is built while the one before is tested, or its tests fail after 20 s.
CTEST = """#!/bin/sh
cd "$(dirname "$0")"
echo "Test project"
echo "tests $2" >>events
[ -z "$DURING_TESTS" ] || [ "$2" = "$DURING_TESTS" ] ||
  timeout 20 sh -c "until grep -q 'builds $DURING_TESTS' events; do sleep 0.05; done" || exit 1
[ "$2" != "$FAILS_TESTS" ] || { echo "1 test failed"; exit 1; }
echo "tested $2" >>events
"""


class TestTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in (("dpkg-query", DPKG_QUERY), ("cmake", CMAKE), ("ctest", CTEST)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def run_tests(self, *presets: str, **environment: str) -> tuple[int, str, str]:
        """Its status, what it prints, and its errors."""
        told = subprocess.run(
            [str(ROOT / "scripts" / "test"), *presets],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", **environment},
        )
        return told.returncode, told.stdout, told.stderr

    def events(self) -> list[str]:
        return (self.folder / "events").read_text().splitlines()

    def test_the_next_preset_is_built_while_one_is_tested(self) -> None:
        code, out, err = self.run_tests("debug", "asan", DURING_TESTS="asan")
        self.assertEqual((code, err), (0, ""), out)
        events = self.events()
        self.assertEqual(events[:2], ["builds debug", "built debug"])
        self.assertLess(events.index("builds asan"), events.index("tested debug"))
        self.assertLess(events.index("built asan"), events.index("tests asan"))
        self.assertEqual(events[-1], "tested asan")

    def test_a_build_that_fails_while_tests_run_shows_its_output(self) -> None:
        code, _, err = self.run_tests("debug", "asan", "tsan", FAILS="asan", DURING_TESTS="asan")
        self.assertEqual(code, 1)
        self.assertIn("asan does not compile\n", err)
        self.assertEqual(err.splitlines()[-1], "scripts/test: building asan failed; see above")
        self.assertIn("tested debug", self.events(), "the tests that run are not stopped")
        self.assertNotIn("tests asan", self.events())

    def test_tests_that_fail_end_the_build(self) -> None:
        code, _, err = self.run_tests(
            "debug", "asan", FAILS_TESTS="debug", HANGS="asan", DURING_TESTS="asan"
        )
        self.assertEqual((code, err), (1, "scripts/test: a test of debug failed\n"))
        build = Path("/proc", (self.folder / "pid").read_text().strip(), "stat")
        end = time.monotonic() + 20
        while build.exists() and build.read_text().split()[2] != "Z":
            self.assertLess(time.monotonic(), end, "the build goes on")
            time.sleep(0.05)

    def test_a_preset_that_is_not_known_builds_nothing(self) -> None:
        code, _, err = self.run_tests("debug", "fast")
        self.assertEqual(code, 2)
        self.assertEqual(
            err, "scripts/test: no preset 'fast'; there are release, debug, asan, tsan\n"
        )
        self.assertFalse((self.folder / "events").exists())


if __name__ == "__main__":
    unittest.main()
