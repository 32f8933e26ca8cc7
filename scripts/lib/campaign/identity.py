"""What could change a figure: if any of it is different, the cell is measured again.

That is the backend's source with all that it includes, the compiler and its flags, the trace by its
hash, the machine, what the figure is of, and the version of this format.
"""

import hashlib
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from campaign.plan import Cell, Input, Plan
from results.grid import FORMAT

ROOT = Path(__file__).resolve().parents[3]
HARNESS = Path("bench", "replay", "make_backend.h")  # compiled together with every backend

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def cell_identity(plan: Plan, one: Input, cell: Cell, how: list[str]) -> str:
    """Sixteen digits, the same for any number of rounds. `how`: what else is said of measuring it."""
    facts = plan.build(cell).facts
    backend = facts["backends"].get(cell.backend, {})
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
            "source": source_hash(backend["file"]) if backend.get("file") else "",
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
def source_hash(file: str) -> str:
    """Of a backend's header, the headers that it includes, and the .cc beside each; and of the headers
    that all are compiled together with.
    """
    content = hashlib.sha256()
    root = next((folder.parent for folder in Path(file).parents if folder.name == "impls"), ROOT)
    sources = _sources([Path(file)], root, "cc") | _sources([root / HARNESS], root)
    for path in sorted(sources):
        content.update(path.name.encode() + b"\0" + path.read_bytes())
    return content.hexdigest()[:16]


def _sources(files: list[Path], root: Path, *beside: str) -> set[Path]:
    """All that these include, and what has the same name with one of these endings."""
    found: set[Path] = set()
    while files:
        file = files.pop()
        if file in found or not file.is_file():
            continue
        found.add(file)
        files += [file.with_suffix(f".{ending}") for ending in beside]
        for name in INCLUDE.findall(file.read_text(encoding="utf-8", errors="replace")):
            files += [folder / name for folder in (file.parent, root / "impls", root / "bench")]
    return found


def digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
