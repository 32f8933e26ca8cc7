"""Backends from outside the tree: what CMake says of a header or a library that does not fit.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/extra_backends_scripts_test.py
"""

import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class ExtraBackendsTest(unittest.TestCase):
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def configure(self, **settings: object) -> subprocess.CompletedProcess[str]:
        command = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", self.folder / "build"]
        for name in ("BACKENDS", "LIBRARIES"):
            command.append(f"-DTIMERBENCH_EXTRA_{name}={settings.get(name.lower(), '')}")
        return subprocess.run(command, capture_output=True, text=True)

    def header(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def linked(self) -> list[str]:
        command = ["ninja", "-C", self.folder / "build", "-t", "inputs", "timerbench"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    def test_a_header_must_define_what_its_name_says(self) -> None:
        header = self.header("mycal.h", "class Cal {};  // not MycalQueue\n")
        told = self.configure(backends=header)
        self.assertNotEqual(told.returncode, 0)
        self.assertIn(
            f"TIMERBENCH_EXTRA_BACKENDS: {header} must define timerbench::Mycal, as its name says; "
            "rename the class or the file, or add 'using Mycal = ...;'",
            " ".join(told.stderr.split()),
        )
        header.write_text("class Cal {};\nusing Mycal = Cal;\n")
        told = self.configure(backends=header)
        self.assertEqual((told.returncode, told.stderr), (0, ""))

    def test_libraries_are_files_or_names(self) -> None:
        header = self.header("my_cal.h", "class MyCal {};\n")
        library = self.header("libcal.a", "")
        told = self.configure(backends=header, libraries=f"{library};m")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        linked = self.linked()
        self.assertIn(str(library), linked)
        self.assertTrue([path for path in linked if Path(path).name == "libm.so"], linked)

    def test_a_library_that_is_not_there_is_named(self) -> None:
        told = self.configure(libraries="no_such_library")
        self.assertNotEqual(told.returncode, 0)
        self.assertIn(
            "TIMERBENCH_EXTRA_LIBRARIES: there is no file and no library no_such_library; correct "
            "it, or do without by -DTIMERBENCH_EXTRA_LIBRARIES=",
            " ".join(told.stderr.split()),
        )


if __name__ == "__main__":
    unittest.main()
