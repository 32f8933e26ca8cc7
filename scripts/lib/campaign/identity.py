"""Identifies everything that could change a figure. If any of it differs, the cell is measured
again.

The identity covers the backend's source and its includes, the source of the harness, the compiler
and its flags, the hash of the trace, the machine, the kind of figure, and the version of this
format. A trace that --trace names counts with all that its files say. What a durable timer survives
is not a matter of the machine, so a campaign of the suite faults goes on on another one.
"""

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from campaign.plan import Cell, Input, Plan
from results.grid import FORMAT
from results.survival import SUITE as SURVIVAL

ROOT = Path(__file__).resolve().parents[3]
RECORDINGS = Path("bench/traces")  # in the project

# The code that measures a contender: folders, whose files count together with the headers they
# include, and single files.
REPLAYS = ("bench/replay",)
REALTIME = (
    "bench/realtime",
    "bench/replay/durations.cc",
    *(f"bench/workloads/{name}.h" for name in ("arrivals", "herd")),
)
DURABLE = (
    "bench/durable",
    *(f"bench/realtime/{name}.cc" for name in ("pace", "paced")),
    "bench/replay/durations.cc",
    *(f"bench/workloads/{name}.h" for name in ("jobs", "orders")),
)
FAULTS = ("bench/faults", "bench/durable/proxy.cc", "impls/durable/worker.cc")
PROCESSES = ("bench/process", "bench/system/supervised_program.cc")
VERDICTS = ("bench/verify", "bench/realtime/audited_service.cc", "bench/realtime/contention.cc")

LONGEST_SCRIPT = 1 << 12  # bytes; it only runs another program

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
ROSTER = "roster.h"  # includes all contenders; belongs to no contender's source


def cell_identity(plan: Plan, one: Input, cell: Cell, how: list[str]) -> str:
    """Returns sixteen digits that do not depend on the number of rounds. `how`: other facts about
    how the cell is measured.
    """
    facts = plan.build(cell).facts
    backend = facts["backends"].get(cell.backend, {})
    on_the_wall_clock = {"durable": DURABLE, "faults": FAULTS}.get(plan.suite, REALTIME)
    harness = REPLAYS if plan.is_replayed else on_the_wall_clock
    replayed = {key: one.facts.get(key) for key in ("hashes", "items", "unit_ns")}
    timed = {key: plan.facts.get(key) for key in ("seconds", "seed")} | {"choice": plan.choice}
    named = [trace for trace in _named_traces(plan.choice) if Path(trace).stem == one.workload]
    if not plan.is_replayed and not named:
        named = [str(ROOT / RECORDINGS / one.workload)]
    traces = _trace_files(named)
    return digest(
        {
            "format": FORMAT,
            "cell": cell.name,
            "how": how,
            "input": replayed if plan.is_replayed else timed,
            "granularity": plan.facts["granularity"],
            "pages": plan.facts.get("pages", ""),
            "source": contender_hash(backend, harness, plan.build(cell).timerbench),
            "build": build_of(facts),
            "machine": "" if plan.suite == SURVIVAL else machine_key(),
        }
        | ({"traces": list(map(_content, traces))} if traces else {})
    )


def choice_key(choice: Sequence[str], project: Path) -> str:
    """Returns what a choice means: its options, and the content of the suite, the traces and the
    programs that they name. A suite of the project may replay any of its recordings.
    """
    suite, *options = choice
    name = suite.partition("=")[2]
    own = project / "bench" / "suites" / f"{name}.toml"
    suites = [path for path in (Path(name), own) if path.is_file()]
    recordings = sorted((project / RECORDINGS).glob("*"))
    commands = [option.partition("=")[2] for option in options if option.startswith("--process=")]
    programs = [path for command in commands for path in files_of_command(command)]
    files = [*suites, *recordings, *_trace_files(_named_traces(choice)), *programs]
    return digest([*choice, *map(_content, files)])


def _named_traces(choice: Sequence[str]) -> Iterator[str]:
    """Yields the traces that --trace names."""
    options = iter(choice)
    for option in options:
        name, equals, value = option.partition("=")
        if name == "--trace":
            yield from (value if equals else next(options, "")).split(",")


def _trace_files(traces: Iterable[str]) -> list[Path]:
    """Returns the files NAME.npy and NAME.json of each trace that there is."""
    stems = [trace.removesuffix(".npy").removesuffix(".json") for trace in traces]
    paths = [Path(stem + ending) for stem in stems for ending in (".npy", ".json")]
    return [path for path in paths if path.is_file()]


@cache
def _content(file: Path) -> str:
    """Hashes a file. It is read once, since a trace may have gigabytes."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def build_of(facts: dict[str, Any]) -> list[str]:
    """Returns how a program was compiled, from the plan that it printed."""
    return [str(facts["machine"].get(key)) for key in ("compiler", "flags", "build")]


@cache
def machine_key() -> str:
    """Returns the machine facts that do not change from one moment to the next."""
    processor = re.search(
        r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE
    )
    caches = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))
    return digest(
        {
            "processor": processor and processor[1],
            "kernel": os.uname().release,
            "processors": os.cpu_count(),
            "caches": [path.read_text().strip() for path in caches],
        }
    )


def contender_hash(facts: Mapping[str, Any], harness: tuple[str, ...], program: Path) -> str:
    """Hashes what a contender is made of, and the `harness` that measures it. `facts`: what the
    program told of it.
    """
    if process := facts.get("process"):
        named = [*files_of_command(process["command"]), *map(Path, process["files"])]
        files = [path for path in named if path.is_file()]
        own = _harness_sources((*harness, *PROCESSES), ROOT)
        return digest([process, *map(_content, [*files, *sorted(own)])])
    if not facts.get("file"):  # the control, which is the harness itself
        return digest(list(map(_content, sorted(_harness_sources(harness, ROOT)))))
    # A compiler that was called with relative paths, as ccache calls it, tells relative ones.
    file = (program.parent / facts["file"]).resolve()
    return source_hash(str(file), harness, program)


def files_of_command(command: str) -> list[Path]:
    """Returns the files that a command names, and those that a short script among them names."""
    files = []
    with contextlib.suppress(ValueError):  # no command line
        files = [path for word in shlex.split(command) if (path := _found(word))]
    for path in list(files):
        text = path.read_bytes()[:LONGEST_SCRIPT]
        if text.startswith(b"#!/bin/sh") and len(text) < LONGEST_SCRIPT:
            last = text.decode(errors="replace").strip().splitlines()[-1]
            files += files_of_command(last)
    return files


def _found(word: str) -> Path | None:
    """Returns the file of a word, or of the program that it names."""
    path = Path(word)
    if not path.is_file() and "/" not in word:
        path = Path(shutil.which(word) or "")
    return path if path.is_file() else None


@cache
def source_hash(file: str, harness: tuple[str, ...], program: Path) -> str:
    """Hashes a contender's header, the headers it includes, and beside each the .cc and .cmake file
    and the folder of its name, which has code of other languages; the `harness` that measures it;
    and, for a library or a header outside the project, all that was read from outside to build it.
    """
    content = hashlib.sha256()
    projects = (folder.parent for folder in Path(file).parents if folder.name == "impls")
    root = next((folder for folder in projects if (folder / "bench" / "replay").is_dir()), None)
    sources = _sources([Path(file)], root or ROOT, "cc", "cmake")
    sources |= _harness_sources(harness, root or ROOT)
    if not root or Path(file).is_relative_to(root / "impls" / "peers"):
        read, command = _read_from_outside(file, program)
        sources |= read
        content.update(command.encode())
    for path in sorted(sources):
        content.update(path.name.encode() + b"\0" + path.read_bytes())
    return content.hexdigest()[:16]


def _harness_sources(harness: tuple[str, ...], root: Path) -> set[Path]:
    """Returns the files of the harness and all that they include."""
    found: set[Path] = set()
    for part in harness:
        path = root / part
        files = [*path.glob("*.h"), *path.glob("*.cc")] if path.is_dir() else [path]
        found |= _sources(files, root)
    return found


def _sources(files: list[Path], root: Path, *beside: str) -> set[Path]:
    """Returns all included files. With endings, also the files that share a name with one of them
    and have one of the endings, and those in the folder of its name.
    """
    found: set[Path] = set()
    while files:
        file = files.pop()
        if file in found or file.name == ROSTER or not file.is_file():
            continue
        found.add(file)
        files += [file.with_suffix(f".{ending}") for ending in beside]
        files += file.with_suffix("").glob("*") if beside else []
        for name in INCLUDE.findall(file.read_text(encoding="utf-8", errors="replace")):
            files += [folder / name for folder in (file.parent, root / "impls", root / "bench")]
    return found


@cache
def _read_from_outside(file: str, program: Path) -> tuple[set[Path], str]:
    """Returns the files outside the project that the compiler read for the backend of a header, with
    the libraries that the linker read, and the command that compiled it, according to Ninja. Returns
    the program itself if Ninja does not know it.
    """
    build = program.parent
    compiled = re.search(
        rf"^(\S*\bbackends/{re.escape(Path(file).stem)}\.cc\.o): #deps.*\n((?: .*\n)+)",
        _ninja(build, "deps"),
        re.MULTILINE,
    )
    linked = _ninja(build, "inputs", program.name)
    if not (compiled and linked):
        return {program}, ""
    *_, command = ["", *_ninja(build, "commands", compiled[1]).splitlines()]
    command = re.sub(r"^\S*ccache ", "", command)
    names = {line.strip() for text in (compiled[2], linked) for line in text.splitlines()}
    files = {path for name in names if (path := (build / name).resolve()).is_file()}
    own = (ROOT / "impls", ROOT / "bench", build.resolve())
    outside = {path for path in files if not any(map(path.is_relative_to, own))}
    return outside, command.replace(str(ROOT), "")


def _ninja(build: Path, *tool: str) -> str:
    """Returns the output of a Ninja tool, or nothing if Ninja does not know the build."""
    try:
        told = subprocess.run(["ninja", "-C", build, "-t", *tool], capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return told.stdout


def digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
