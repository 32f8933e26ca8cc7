"""What a cell is measured again for: all that could change its figure, and nothing else.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/campaign_identity_scripts_test.py
"""

import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT

import campaign.identity
from campaign.identity import (
    REALTIME,
    REPLAYS,
    VERDICTS,
    cell_identity,
    choice_key,
    contender_hash,
    source_hash,
)
from campaign.plan import Build, Cell, Input, Plan


class IdentityTest(unittest.TestCase):
    FACTS: dict[str, Any] = {
        "suite": "quick",
        "kind": "replays",
        "granularity": 1,
        "pages": "",
        "backends": {"scan": {}},
        "machine": {"compiler": "C 1", "flags": "-O3", "build": "Release"},
    }
    CELL = Cell("quick/fill/10/scan")

    def identity(
        self,
        how: tuple[str, ...] = ("total",),
        hashes: str = "abc",
        unit: float = 1e6,
        choice: tuple[str, ...] = (),
        **facts: Any,
    ) -> str:
        facts = self.FACTS | facts
        told = {"hashes": [hashes], "items": 10, "unit_ns": unit}
        one = Input("fill", 10, (self.CELL,), told)
        plan = Plan(choice, facts, (one,), {"": Build(Path("timerbench"), facts)})
        return cell_identity(plan, one, self.CELL, list(how))

    def test_is_of_all_that_could_change_a_figure(self) -> None:
        self.assertEqual(self.identity(), self.identity(), "the same")
        machine = self.FACTS["machine"]
        others = [
            self.identity(granularity=4),
            self.identity(pages="2m"),
            self.identity(hashes="abd"),
            self.identity(how=("tails",)),
            self.identity(unit=1e3),
            self.identity(machine=machine | {"compiler": "C 2"}),
            self.identity(machine=machine | {"flags": "-O2"}),
            self.identity(machine=machine | {"build": "Debug"}),
        ]
        with unittest.mock.patch("campaign.identity.machine_key", return_value="another"):
            others.append(self.identity())
            survival = self.identity(suite="faults", kind="realtime")
        self.assertEqual(survival, self.identity(suite="faults", kind="realtime"), "on any machine")
        self.assertEqual(len({self.identity(), *others}), 1 + len(others))
        services = {"kind": "realtime", "seconds": 1, "seed": 1}
        others = [
            self.identity(**services),
            self.identity(**services | {"seconds": 2}),
            self.identity(**services | {"seed": 2}),
            self.identity(choice=("--rate=1",), **services),
        ]
        self.assertEqual(len(set(others)), len(others))

    def test_a_choice_means_what_the_files_say_that_it_names(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            project = Path(name)
            files = [
                project / file
                for file in ("bench/suites/full.toml", "bench/suites/quick.toml")
                + ("bench/traces/nginx.npy", "a.npy", "b.json", "c.npy", "d.npy")
            ]
            for file in files:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()

            def meant() -> str:
                campaign.identity._content.cache_clear()
                traces = (f"--trace={project}/a,{project}/b.json", "--trace", f"{project}/c.npy")
                return choice_key(["--suite=quick", *traces], project)

            changing = []
            for file in files:
                before = meant()
                file.write_text("edited")
                if meant() != before:
                    changing.append(file.name)
            self.assertEqual(changing, ["quick.toml", "nginx.npy", "a.npy", "b.json", "c.npy"])

    def test_source_is_all_that_is_compiled_into_a_backend_and_no_other(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            files = {
                "impls/queues/wheel.h": '#include "queues/slots.h"\n',
                "impls/queues/slots.h": '#include "core/bits.h"\n',
                "impls/core/bits.h": "",
                "impls/core/bits.cc": '#include "core/bits.h"\n',
                "bench/replay/make_backend.h": '#include "replay/loop.h"\n',
                "bench/replay/loop.h": "",
                "bench/replay/loop.cc": '#include "queues/roster.h"\n',
                "impls/queues/roster.h": '#include "queues/other.h"\n',
                "impls/queues/other.h": "",
                "bench/verify/contract.cc": "",
            }
            for file, text in files.items():
                path = Path(name, file)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)

            def hash_of(harness: tuple[str, ...]) -> str:
                source_hash.cache_clear()
                return source_hash(str(Path(name, "impls/queues/wheel.h")), harness, Path("none"))

            def changes(file: str, harness: tuple[str, ...]) -> bool:
                before = hash_of(harness)
                with Path(name, file).open("a") as edited:
                    edited.write("// edited\n")
                return hash_of(harness) != before

            changed = {file for file in files if changes(file, REPLAYS)}
            self.assertEqual(changed, set(list(files)[:7]))
            changed = {file for file in files if changes(file, VERDICTS)}
            self.assertEqual(changed, {*list(files)[:4], "bench/verify/contract.cc"})

    def test_a_cell_depends_on_what_measures_it(self) -> None:
        backends = {"scan": {"file": str(ROOT / "impls" / "queues" / "scan.h")}}
        for kind, folder in (("replays", "bench/replay"), ("realtime", "bench/realtime")):
            with unittest.mock.patch("campaign.identity.source_hash", return_value="") as asked:
                self.identity(kind=kind, seconds=1, seed=1, backends=backends)
            self.assertIn(folder, asked.call_args.args[1])

    def test_the_control_depends_on_the_harness(self) -> None:
        self.assertNotEqual(
            contender_hash({}, REPLAYS, Path("none")), contender_hash({}, REALTIME, Path("none"))
        )

    def test_on_the_wall_clock_a_cell_depends_on_the_projects_recording(self) -> None:
        services = {"kind": "realtime", "seconds": 1, "seed": 1}
        with tempfile.TemporaryDirectory() as name:
            recording = Path(name, "fill.npy")
            with unittest.mock.patch("campaign.identity.RECORDINGS", Path(name)):
                identities = [self.identity(**services)]
                for content in ("one", "another"):
                    recording.write_text(content)
                    campaign.identity._content.cache_clear()
                    identities.append(self.identity(**services))
        self.assertEqual(len(set(identities)), 3)

    def test_a_contender_is_found_from_where_it_was_compiled(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            project = Path(name).resolve()
            (project / "bench" / "replay").mkdir(parents=True)
            (project / "impls").mkdir()
            header = project / "impls" / "wheel.h"
            header.write_text("")
            program = project / "build" / "release" / "timerbench"
            hashes = {
                contender_hash({"file": file}, REPLAYS, program)
                for file in (str(header), "../../impls/wheel.h")
            }
            self.assertEqual(len(hashes), 1)
            header.write_text("// edited")
            source_hash.cache_clear()
            edited = contender_hash({"file": "../../impls/wheel.h"}, REPLAYS, program)
            self.assertNotIn(edited, hashes)

    def test_out_of_tree_all_that_is_read_counts(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            files = {
                "build.ninja": "rule compile\n"
                " command = g++ -MD -MF $out.d -I. -c $in -o $out\n depfile = $out.d\n deps = gcc\n"
                "rule link\n command = cat $in > $out\n"
                "build backends/my_wheel.cc.o: compile my_wheel.cc\n"
                "build backends/other.cc.o: compile other.cc\n"
                "build timerbench: link backends/my_wheel.cc.o backends/other.cc.o | ../lib.a\n",
                "my_wheel.cc": '#include "../my_wheel.h"\n',
                "other.cc": '#include "../other.h"\n',
                "../my_wheel.h": "#include <../slots.h>\n",
                "../slots.h": '#include "part.c"\n',
                "../part.c": "",
                "../lib.a": "",
                "../other.h": "",
            }
            (folder / "build").mkdir()
            for file, text in files.items():
                (folder / "build" / file).write_text(text)
            subprocess.run(["ninja", "-C", folder / "build"], check=True, capture_output=True)

            def own_hash() -> str:
                for cached in (source_hash, campaign.identity._read_from_outside):
                    cached.cache_clear()
                program = folder / "build" / "timerbench"
                return source_hash(str(folder / "my_wheel.h"), REPLAYS, program)

            def changes(file: str) -> bool:
                before = own_hash()
                with (folder / file).open("a") as edited:
                    edited.write("// edited\n")
                return own_hash() != before

            changed = [path.name for path in sorted(folder.glob("*.*")) if changes(path.name)]
            self.assertEqual(changed, ["lib.a", "my_wheel.h", "part.c", "slots.h"])
            before = own_hash()
            rules = folder / "build" / "build.ninja"
            rules.write_text(rules.read_text() + " # of the link\n")
            self.assertEqual(own_hash(), before)
            rules.write_text(rules.read_text().replace("g++", "g++ -std=c++20"))
            self.assertNotEqual(own_hash(), before, "how it is compiled counts")
            (folder / "build" / "build.ninja").unlink()
            self.assertTrue(changes("build/timerbench"), "of another build system: the program")

    def test_of_a_library_what_it_was_built_from_counts_too(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            library = Path(name) / "lib.a"
            (Path(name) / "bench" / "replay").mkdir(parents=True)
            for folder, counts in (("peers", True), ("queues", False)):
                header = Path(name) / "impls" / folder / "some.h"
                header.parent.mkdir(parents=True)
                header.write_text("")
                hashes = set()
                for version in ("1.0", "1.1"):
                    library.write_text(version)
                    source_hash.cache_clear()
                    with unittest.mock.patch(
                        "campaign.identity._read_from_outside", return_value=({library}, "")
                    ):
                        hashes.add(source_hash(str(header), REPLAYS, Path("none")))
                self.assertEqual(len(hashes) == 2, counts, folder)

    def test_how_a_library_is_linked_counts(self) -> None:
        """Also what a shared header says of it, in the file beside."""
        libev = ROOT / "impls" / "peers" / "libev.h"
        sources = {
            path.resolve().name for path in campaign.identity._sources([libev], ROOT, "cc", "cmake")
        }
        self.assertLessEqual({"libev.cmake", "virtual_loop.h", "virtual_loop.cmake"}, sources)

    def test_code_of_other_languages_in_the_folder_of_its_name_counts(self) -> None:
        jvm = ROOT / "impls" / "peers" / "services" / "jvm_timers.h"
        sources = {path.name for path in campaign.identity._sources([jvm], ROOT, "cc", "cmake")}
        self.assertLessEqual({"jvm_timers.cmake", "jvm.h", "JdkTimer.java"}, sources)

    def test_backends_have_sources_of_their_own(self) -> None:
        queues = ROOT / "impls" / "queues"
        names = ("scan", "ring", "kafka_wheel", "ordered_map")
        hashes = {source_hash(str(queues / f"{name}.h"), REPLAYS, Path("none")) for name in names}
        self.assertEqual(len(hashes), 4)


if __name__ == "__main__":
    unittest.main()
