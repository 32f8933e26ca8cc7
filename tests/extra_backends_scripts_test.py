"""Backends from outside the tree: how each is compiled, and what CMake says of one that does not fit.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/extra_backends_scripts_test.py
"""

import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# For each adapter that checks the version of its library: the library's header, the macro, and who
# complains of another version.
ACE = ("ace/Version.h", "ACE_MINOR_VERSION", "ace/timers.h was written for ACE 7.0")
ASIO = ("boost/asio/version.hpp", "BOOST_ASIO_VERSION")
LIBEV = ("ev.h", "EV_VERSION_MINOR")
LIBEVENT = (
    "event2/event.h",
    "LIBEVENT_VERSION_NUMBER",
    "libevent.h was written for libevent 2.1.12",
)
VERSIONS = {
    "ace_hash": ACE,
    "ace_heap": ACE,
    "ace_list": ACE,
    "ace_wheel": ACE,
    "asio": (*ASIO, "asio.h was written for Boost.Asio 1.18"),
    "glib": ("glib.h", "GLIB_MINOR_VERSION", "glib.h was written for GLib 2.36 to 2.74"),
    "libev": (*LIBEV, "libev.h was written for libev 4.33"),
    "libevent": LIBEVENT,
    "libevent_common_timeouts": LIBEVENT,
    "libuv": ("uv.h", "UV_VERSION_MINOR", "libuv.h was written for libuv 1.30 to 1.44"),
    "services/asio_loop": (*ASIO, "asio_loop.h tells that it is of Boost.Asio 1.18"),
    "services/dpdk_timers": (
        *("rte_version.h", "RTE_VER_MONTH", "dpdk_timers.h tells that it is of DPDK 22.11"),
    ),
    "services/libev_loop": (*LIBEV, "libev_loop.h tells that it is of libev 4.33"),
}


class ExtraBackendsTest(unittest.TestCase):
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def configure(
        self, *headers: Path, peers: bool = False, folder: Path = ROOT
    ) -> subprocess.CompletedProcess[str]:
        backends = ";".join(map(str, headers))
        command = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", self.folder / "build"]
        command += [f"-DTIMERBENCH_EXTRA_BACKENDS={backends}", f"-DTIMERBENCH_PEERS={peers}"]
        return subprocess.run(command, capture_output=True, text=True, cwd=folder)

    def header(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def ninja(self, *tool: str) -> list[str]:
        command = ["ninja", "-C", self.folder / "build", "-t", *tool]
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        return told.stdout.splitlines()

    def compiled(self, name: str) -> str:
        """The command that compiles a backend, or a service: services/NAME."""
        folder, _, name = name.rpartition("/")
        unit = f"CMakeFiles/backend_{name}.dir/backends/{name}.cc.o"
        if folder:
            unit = f"impls/peers/{folder}/{unit.replace('backend_', 'service_')}"
        return self.ninja("commands", unit)[-1]

    def test_a_header_must_define_what_its_name_says(self) -> None:
        header = self.header("mycal.h", "class Cal {};  // not MycalQueue\n")
        told = self.configure(header)
        self.assertNotEqual(told.returncode, 0)
        self.assertIn(
            f"TIMERBENCH_EXTRA_BACKENDS: {header} must define timerbench::Mycal, as its name says; "
            "rename the class or the file, or add 'using Mycal = ...;'",
            " ".join(told.stderr.split()),
        )
        header.write_text("class Cal {};\nusing Mycal = Cal;\n")
        told = self.configure(header)
        self.assertEqual((told.returncode, told.stderr), (0, ""))

    def test_a_file_beside_the_header_says_what_this_backend_needs(self) -> None:
        peer = self.header("my_peer.h", "class MyPeer {};\n")
        library = self.header("libpeer.a", "")
        self.header(
            "my_peer.cmake",
            "target_include_directories(${backend} PRIVATE /opt/peer/include)\n"
            "target_compile_features(${backend} PRIVATE cxx_std_23)\n"
            f"target_link_libraries(${{backend}} PRIVATE {library} m)\n",
        )
        other = self.header("my_other.h", "class MyOther {};\n")
        told = self.configure(peer, other)
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        linked = [line.strip() for line in self.ninja("inputs", "timerbench")]
        self.assertIn(str(library), linked)
        for needed in ("-I/opt/peer/include", "-std=c++23"):
            self.assertIn(needed, self.compiled("my_peer").replace("c++2b", "c++23"))
            self.assertNotIn(needed, self.compiled("my_other"))

    def test_the_file_beside_is_noticed_when_it_is_added(self) -> None:
        header = self.header("my_late.h", "class MyLate {};\n")
        self.assertEqual(self.configure(header).returncode, 0)
        self.assertNotIn("-I/opt/late", self.compiled("my_late"))
        self.header("my_late.cmake", "target_include_directories(${backend} PRIVATE /opt/late)\n")
        build = ["cmake", "--build", self.folder / "build", "--target", "build.ninja"]
        subprocess.run(build, capture_output=True, check=True)
        self.assertIn("-I/opt/late", self.compiled("my_late"))

    def test_a_relative_path_begins_where_cmake_is_called(self) -> None:
        header = self.header("my_near.h", "class MyNear {};\n")
        told = self.configure(Path(header.name), folder=self.folder)
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.assertIn("my_near.cc.o", self.compiled("my_near"))

    def test_a_library_is_built_or_said_to_be_missing(self) -> None:
        told = self.configure(peers=True)
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        units = "\n".join(self.ninja("targets", "all"))
        for header in sorted((ROOT / "impls" / "peers").glob("*.h")):
            is_built = f"backend_{header.stem}.dir" in units
            is_missing = f"-- {header.stem} is not built: " in told.stdout
            self.assertNotEqual(is_built, is_missing, header.stem)
        self.assertIn("backend_asio.dir", units)  # Boost is there

    def test_a_library_of_another_version_does_not_compile(self) -> None:
        peers = ROOT / "impls" / "peers"
        self.assertLessEqual({path.stem for path in peers.glob("*.h")}, VERSIONS.keys())
        told = self.configure(peers=True)
        for name, (header, macro, complaint) in VERSIONS.items():
            with self.subTest(name):
                if f"-- {Path(name).name} is not built: " in told.stdout:
                    self.skipTest(f"the library of {name} is not installed")
                other = self.folder / "other" / name
                (other / header).parent.mkdir(parents=True)
                (other / header).write_text(
                    f"#include_next <{header}>\n#undef {macro}\n#define {macro} 99\n"
                )
                compiled = subprocess.run(
                    [*shlex.split(self.compiled(name)), f"-I{other}", "-fsyntax-only"],
                    cwd=self.folder / "build",
                    capture_output=True,
                    text=True,
                )
                self.assertNotEqual(compiled.returncode, 0)
                self.assertRegex(compiled.stderr, rf"error: static assertion failed.*{complaint}")

    def test_a_name_of_the_tree_and_names_that_are_none_are_refused(self) -> None:
        for name, said in (
            ("lawn.h", "has the name of"),
            ("my__wheel.h", "cannot name a class"),
            ("wheel_.h", "cannot name a class"),
        ):
            told = self.configure(self.header(name, "class Lawn {};\n"))
            self.assertNotEqual(told.returncode, 0)
            self.assertIn(said, " ".join(told.stderr.split()))
        self.assertIn("is no file", " ".join(self.configure(self.folder).stderr.split()))

    def test_two_headers_of_one_name_are_refused(self) -> None:
        (self.folder / "deeper").mkdir()
        one = self.header("my_twin.h", "class MyTwin {};\n")
        other = self.header("deeper/my_twin.h", "class MyTwin {};\n")
        told = self.configure(one, other)
        self.assertNotEqual(told.returncode, 0)
        self.assertIn(
            "TIMERBENCH_EXTRA_BACKENDS: two headers are called my_twin.h; rename one and its class",
            " ".join(told.stderr.split()),
        )


if __name__ == "__main__":
    unittest.main()
