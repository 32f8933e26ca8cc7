"""scripts/setup, with an apt-get that only pretends, and what the scripts share in the shell.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/setup_scripts_test.py
"""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from waiting import wait_for

ROOT = Path(__file__).resolve().parent.parent

# All is installed but ninja-build and valgrind; these need two packages more. STALE: the lists of
# packages are missing until they are fetched. OFFLINE: nothing can be fetched.
DPKG_QUERY = """#!/bin/sh
for name; do :; done
case $name in ninja-build | valgrind) exit 1 ;; *) echo installed ;; esac
"""
APT_GET = """#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >>calls
case "$*" in
  *update)
    [ -n "$OFFLINE" ] || touch updated
    [ -z "$OFFLINE" ] || echo "W: Failed to fetch http://debian/Release  Temporary failure resolving"
    exit ;;
esac
[ -z "$STALE" ] || [ -e updated ] || { echo "E: Unable to locate package valgrind"; exit 100; }
case "$*" in
  *--print-uris*)
    echo "0 upgraded, 4 newly installed, 0 to remove and 0 not upgraded."
    echo "Need to get 12.3 MB of archives."
    echo "After this operation, 45.6 MB of additional disk space will be used."
    exit ;;
esac
if [ -n "$OFFLINE" ]; then
  echo "The following NEW packages will be installed:"
  for i in $(seq 300); do echo "E: Failed to fetch http://debian/$i  Temporary failure resolving"; done
  exit 100
fi
for step in "Get:%s http://debian package" "Unpacking package-%s (1.2)" "Setting up package-%s (1.2)"; do
  for i in 1 2 3 4; do printf "$step ...\\n" $i; done
done
[ -z "$FAILS" ] || { echo "E: no space left"; exit 100; }
"""


class SetupTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        sudo = '#!/bin/sh\nexec "$@"\n'
        for name, text in (("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET), ("sudo", sudo)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def run_setup(self, *prefix: str, **environment: str) -> tuple[int, str, str]:
        """Its status, what it prints, and its errors."""
        told = subprocess.run(
            [*prefix, str(ROOT / "scripts" / "setup")],
            capture_output=True,
            env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", **environment},
        )
        return told.returncode, told.stdout.decode(), told.stderr.decode()

    def test_says_what_it_takes_and_how_far_it_is(self) -> None:
        code, out, err = self.run_setup()
        self.assertEqual((code, err), (0, ""))
        lines = out.splitlines()
        self.assertEqual(
            lines[:3],
            [
                "Installing 2 packages that are missing, and 2 that they need: ninja-build valgrind",
                "  Need to get 12.3 MB of archives.",
                "  After this operation, 45.6 MB of additional disk space will be used.",
            ],
        )
        self.assertIn("2 of 4 packages fetched", lines)
        self.assertEqual(lines[-1], "4 of 4 packages installed")

    def test_on_a_terminal_progress_is_one_line(self) -> None:
        code, out, _ = self.run_setup("script", "--quiet", "--return", "/dev/null", "--command")
        self.assertEqual(code, 0)
        self.assertTrue(out.endswith("\r4 of 4 packages installed\033[K\r\033[K"), out)
        self.assertEqual(out.count("\n"), 3)

    def test_fetches_lists_that_are_not_there(self) -> None:
        code, out, err = self.run_setup(STALE="yes")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("4 of 4 packages installed", out)

    def test_a_failure_shows_what_apt_said(self) -> None:
        code, _, err = self.run_setup(FAILS="yes")
        self.assertEqual(code, 1)
        self.assertEqual(
            err.splitlines(),
            ["E: no space left", "scripts/setup: installing failed; apt-get's errors are above"],
        )

    def test_without_a_network_a_few_lines_say_so(self) -> None:
        code, _, err = self.run_setup(OFFLINE="yes")
        self.assertEqual(code, 1)
        lines = err.splitlines()
        self.assertRegex(lines[0], "^E: Failed to fetch .* Temporary failure resolving$")
        self.assertLess(len(lines), 12)
        self.assertEqual(lines[-1], "scripts/setup: installing failed; apt-get's errors are above")

    def test_without_a_network_and_lists_the_network_is_named_first(self) -> None:
        code, out, err = self.run_setup(OFFLINE="yes", STALE="yes")
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(
            err.splitlines(),
            [
                "W: Failed to fetch http://debian/Release  Temporary failure resolving",
                "E: Unable to locate package valgrind",
                "scripts/setup: apt-get cannot install all of ninja-build valgrind; "
                "its errors are above",
            ],
        )

    def test_a_failure_that_apt_does_not_explain_is_shown_whole(self) -> None:
        (self.folder / "apt-get").write_text(
            "#!/bin/sh\necho sudo: a password is required >&2; exit 1"
        )
        code, _, err = self.run_setup()
        self.assertEqual(code, 1)
        self.assertIn("sudo: a password is required\n", err)


class CommonTest(unittest.TestCase):
    """What the scripts share in the shell."""

    def start(self, program: str, **options: Any) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["bash", "-c", f"source {ROOT}/scripts/lib/common.sh; {program}"],
            text=True,
            start_new_session=True,
            **options,
        )

    def test_a_script_that_is_killed_leaves_no_file(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for number in (signal.SIGTERM, signal.SIGKILL):
            script = self.start(
                f"quietly 'sleeping' bash -c 'touch {folder}/begun; sleep 60'",
                env=os.environ | {"TMPDIR": str(folder)},
            )
            begun = folder / "begun"
            wait_for(begun.exists, script, 60)
            os.killpg(script.pid, number)
            script.wait()
            begun.unlink()
            self.assertEqual(list(folder.iterdir()), [])

    def test_the_output_is_shown_only_of_what_fails(self) -> None:
        script = self.start(
            "quietly 'one' echo good; quietly 'two' bash -c 'echo b; echo c; false'; echo never",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, err = script.communicate()
        self.assertEqual((script.returncode, out), (1, ""))
        self.assertRegex(err, "^b\nc\nscripts/.*: two failed; its output is above\n$")

    def test_closed_output_is_no_failure(self) -> None:
        script = self.start("echo lost; echo end >&2", stderr=subprocess.PIPE, preexec_fn=close_1)
        self.assertEqual(script.communicate()[1], "end\n")
        self.assertEqual(script.returncode, 0)

    def test_arguments_that_a_script_does_not_know_are_refused(self) -> None:
        for name in ("setup", "lint"):
            for arguments in (["nope"], ["--nope"], ["nope", "--help"]):
                ended = subprocess.run(
                    [ROOT / "scripts" / name, *arguments], text=True, capture_output=True
                )
                self.assertEqual((ended.returncode, ended.stdout), (2, ""))
                self.assertEqual(
                    ended.stderr,
                    f"scripts/{name}: '{arguments[0]}' is not understood; "
                    f"see scripts/{name} --help\n",
                )


def close_1() -> None:
    os.close(1)


if __name__ == "__main__":
    unittest.main()
