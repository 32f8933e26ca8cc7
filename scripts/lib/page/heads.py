"""Reads the headers of this tree for facts on backends: the header, its source, when it is good and
bad, and the services that drive it.

The headers are read when a page is made, so that old results have these facts too. A backend from
outside the tree has none. Of a process only the file is known.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
IMPLS = ROOT / "impls"

# Reads the name in a backend's traits, which may include a setting; FOLLOWS reads on from there.
NAME = re.compile(r"\.name\s*=(?P<names>[^;]*?),\s*\.summary")
LITERAL = re.compile(r'(?<!<)"(\w+)"')
TYPE = re.compile(r"^(?:class|struct) (\w+)", re.MULTILINE)
SETTING = re.compile(r'kSettingName<"(\w+)",\s*(\w+)>')
PREFIX = re.compile(r'kPrefixedName<"(\w+)"')  # of services around any backend
QUEUE = re.compile(r"\.queue\s*=\s*([\w<>]+)::traits")  # of a service
FOLLOWS = re.compile(r'\.paper\s*=\s*"([^"]*)"')

# Searched in a head comment with joined lines.
VERDICT = re.compile(r"Good:? (.*?)\s+Bad:? (.*?)(?:\n|\s+(?:Follow|Deviat)\w+:|$)")


@dataclass(frozen=True)
class Head:
    """The facts in a backend's header."""

    header: str  # relative to the root
    type: str  # in C++, without template arguments
    follows: str
    queue: str  # the type of the queue that a service drives; may be empty
    good: str  # when the backend is good
    bad: str
    has_slots: bool  # whether the number in the name counts slots
    has_levels: bool  # whether each level is a fixed number of times as wide as the level below


def told_of(backend: str) -> dict[str, Any]:
    """Returns all facts on a backend or service besides its figures."""
    told: dict[str, Any] = {"services": services_of(backend), "alike": services_alike(backend)}
    if head := head_of(backend):
        told |= {name: getattr(head, name) for name in ("header", "follows", "good", "bad")}
        told["type"] = type_of(backend)
        setting = re.search(r"_(\d+)$", backend)
        if setting and head.has_slots:
            told |= {"slots": int(setting[1]), "has_levels": head.has_levels}
    elif program := _programs().get(backend):
        told["header"] = str(program.relative_to(ROOT))
    return told


def head_of(backend: str) -> Head | None:
    """Finds a backend by its full name, without its setting, or without the inner backend."""
    names = (backend, re.sub(r"_\d+$", "_N", backend), f"{backend.partition('_')[0]}_*")
    return next((head for name in names if (head := _heads().get(name))), None)


def type_of(backend: str) -> str:
    """Returns the C++ type with the setting in the name: Ring<512>."""
    head, setting = head_of(backend), re.search(r"_(\d+)$", backend)
    if not head:
        return ""
    return f"{head.type}<{setting[1]}>" if setting else head.type


def services_of(backend: str) -> list[str]:
    """Returns the services that drive the backend, by their names or their traits."""
    type_ = type_of(backend)
    return [
        name
        for name in _services()
        if name.endswith(f"_{backend}")
        or (type_ and (head := head_of(name)) and head.queue == type_)
    ]


def services_alike(backend: str) -> list[str]:
    """Returns the services that drive the same structure with another setting."""
    base, setting = re.subn(r"_\d+$", "", backend)
    alike = [name for name in _services() if re.search(rf"_{base}_\d+$", name)]
    return [name for name in alike if not name.endswith(f"_{backend}")] if setting else []


@cache
def _heads() -> dict[str, Head]:
    """Returns heads by name; name_N stands for several settings, name_* for a wrapper of other
    backends.
    """
    return {
        name: head
        for path in sorted(IMPLS.glob("**/*.h"))
        for name, head in _heads_in(path, path.read_text(encoding="utf-8"))
    }


@cache
def _programs() -> dict[str, Path]:
    """Returns the sources of processes by name; JavaNull.java is java_null."""
    return {
        _snake(path.stem): path
        for path in (IMPLS / "peers").glob("*/*")
        if path.suffix in (".erl", ".go", ".java", ".js", ".py", ".rs")
    }


def _heads_in(path: Path, text: str) -> Iterator[tuple[str, Head]]:
    comment = _comment(text)
    verdict = VERDICT.search(comment)
    good, bad = verdict.groups() if verdict else ("", "")
    for match in NAME.finditer(text):
        follows = FOLLOWS.search(text, match.end())
        queue = QUEUE.search(text, match.end())
        settings = SETTING.findall(match["names"])
        head = Head(
            header=str(path.relative_to(ROOT)),
            type=TYPE.findall(text, 0, match.start())[-1],
            follows=follows[1].strip() if follows else "",  # of a library without its version
            queue=queue[1] if queue else "",
            good=good,
            bad=bad,
            has_slots=any(parameter == "Slots" for _, parameter in settings),
            has_levels="Slots^n" in comment,
        )
        names = [f"{base}_N" for base, _ in settings] or LITERAL.findall(match["names"])
        around = [f"{name}_*" for name in PREFIX.findall(match["names"]) or [path.stem]]
        for name in names or around:
            yield name, head


def _comment(text: str) -> str:
    """Returns the head comment of a header, one line per paragraph."""
    lines = itertools.takewhile(lambda line: line.startswith("//"), text.splitlines())
    return "".join(f" {content}" if (content := line[2:].strip()) else "\n" for line in lines)


@cache
def _services() -> list[str]:
    """Returns the services in the roster; Locked<KafkaWheel<256>> is locked_kafka_wheel_256."""
    text = (IMPLS / "services" / "roster.h").read_text(encoding="utf-8")
    roster = re.search(r"TypeList<(.*)>;", text, re.DOTALL)
    without_comments = re.sub(r"//.*", "", roster[1] if roster else "")
    return [_name_of(type_) for type_ in _split(without_comments)]


def _split(types: str) -> list[str]:
    """Splits at the commas outside of brackets."""
    parts, depth = [""], 0
    for letter in types:
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _name_of(type_: str) -> str:
    """Puts the settings of a service before the inner name: sharded_4_locked_binary_heap."""
    if type_.isdigit():
        return type_
    outer, _, inner = type_.partition("<")
    name = _snake(outer)
    arguments = _split(inner.removesuffix(">")) if inner else []
    return "_".join([name, *map(_name_of, sorted(arguments, key=lambda one: not one.isdigit()))])


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
