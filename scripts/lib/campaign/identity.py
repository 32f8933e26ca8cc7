"""What could change a figure: if any of it is different, the cell is measured again.

That is the backend's source with all that it includes, the source of what measures it, the compiler
and its flags, the trace by its hash, the machine, what the figure is of, and the version of this format.
"""

import hashlib
import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from campaign.plan import Cell, Input, Plan
from results.grid import FORMAT

ROOT = Path(__file__).resolve().parents[3]

# What finds out something of a contender: folders whose files count with the headers that they include,
# and files.
REPLAYS = ("bench/replay",)
REALTIME = ("bench/realtime", "bench/replay/durations.cc")
VERDICTS = ("bench/verify", "bench/realtime/audited_service.cc", "bench/realtime/contention.cc")

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
ROSTER = "roster.h"  # includes all contenders; none is part of another


def cell_identity(plan: Plan, one: Input, cell: Cell, how: list[str]) -> str:
    """Sixteen digits, the same for any number of rounds. `how`: what else is said of measuring it."""
    facts = plan.build(cell).facts
    file = facts["backends"].get(cell.backend, {}).get("file")
    harness = REPLAYS if plan.is_replayed else REALTIME
    replayed = {key: one.facts.get(key) for key in ("hashes", "items", "unit_ns")}
    timed = {key: plan.facts.get(key) for key in ("seconds", "seed")} | {"choice": plan.choice}
    return digest(
        {
            "format": FORMAT,
            "cell": cell.name,
            "how": how,
            "input": replayed if plan.is_replayed else timed,
            "granularity": plan.facts["granularity"],
            "pages": plan.facts.get("pages", ""),
            "source": source_hash(file, harness, plan.build(cell).timerbench) if file else "",
            "build": build_of(facts),
            "machine": machine_key(),
        }
    )


def build_of(facts: dict[str, Any]) -> list[str]:
    """How a program was compiled, by what it tells of a plan."""
    return [str(facts["machine"].get(key)) for key in ("compiler", "flags", "build")]


@cache
def machine_key() -> str:
    """Of what does not change from one moment to the next."""
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


@cache
def source_hash(file: str, harness: tuple[str, ...], program: Path) -> str:
    """Of a contender's header, the headers that it includes and the .cc beside each; of the `harness`
    that finds out something of it; and, if the header is not of the project, of whatever else was not
    when the program was built.
    """
    content = hashlib.sha256()
    root = next((folder.parent for folder in Path(file).parents if folder.name == "impls"), None)
    sources = _sources([Path(file)], root or ROOT, "cc")
    for part in harness:
        path = (root or ROOT) / part
        files = [*path.glob("*.h"), *path.glob("*.cc")] if path.is_dir() else [path]
        sources |= _sources(files, root or ROOT)
    if not root:
        sources |= _read_from_outside(program)
    for path in sorted(sources):
        content.update(path.name.encode() + b"\0" + path.read_bytes())
    return content.hexdigest()[:16]


def _sources(files: list[Path], root: Path, *beside: str) -> set[Path]:
    """All that these include, and what has the same name with one of these endings."""
    found: set[Path] = set()
    while files:
        file = files.pop()
        if file in found or file.name == ROSTER or not file.is_file():
            continue
        found.add(file)
        files += [file.with_suffix(f".{ending}") for ending in beside]
        for name in INCLUDE.findall(file.read_text(encoding="utf-8", errors="replace")):
            files += [folder / name for folder in (file.parent, root / "impls", root / "bench")]
    return found


@cache
def _read_from_outside(program: Path) -> set[Path]:
    """What the compiler has read of the rosters, and the linker of libraries, but for the project's own
    files: as Ninja knows it. The program itself where it does not know the program.
    """
    build = program.parent
    compiled = re.findall(
        r"^\S*roster_shard\S*: #deps.*\n((?: .*\n)+)", _ninja(build, "deps"), re.MULTILINE
    )
    linked = _ninja(build, "inputs", program.name)
    if not (compiled and linked):
        return {program}
    names = {line.strip() for text in (*compiled, linked) for line in text.splitlines()}
    files = {path for name in names if (path := (build / name).resolve()).is_file()}
    own = (ROOT / "impls", ROOT / "bench", build.resolve())
    return {path for path in files if not any(map(path.is_relative_to, own))}


def _ninja(build: Path, *tool: str) -> str:
    """What it knows of a build; nothing if that is not its own."""
    try:
        told = subprocess.run(["ninja", "-C", build, "-t", *tool], capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return told.stdout


def digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
