"""What a line of JSON must have, and of which type, before anything relies on it."""

from collections.abc import Iterator
from typing import Any, Union

# A type, or several; of a list that of its members; of an object those of its members by name,
# where "*" stands for all that are not named, and "name?" may be missing.
Schema = Union[type, tuple[type, ...], list["Schema"], dict[str, "Schema"]]


def mismatches(value: Any, schema: Schema, place: str = "") -> Iterator[str]:
    """The places at which the value is something else."""
    if isinstance(schema, type | tuple):
        types = schema if isinstance(schema, tuple) else (schema,)
        if type(value) not in types:  # so that a bool is no int
            yield place
    elif isinstance(schema, list):
        if not isinstance(value, list):
            yield place
            return
        for i, member in enumerate(value):
            yield from mismatches(member, schema[0], f"{place}[{i}]")
    elif not isinstance(value, dict):
        yield place
    else:
        yield from _of_members(value, schema, f"{place}." if place else "")


def _of_members(value: dict[str, Any], schema: dict[str, Schema], prefix: str) -> Iterator[str]:
    for key, of_member in schema.items():
        name = key.removesuffix("?")
        if name in value:
            yield from mismatches(value[name], of_member, prefix + name)
        elif key == name != "*":
            yield prefix + name
    if "*" in schema:
        for name in value.keys() - {key.removesuffix("?") for key in schema}:
            yield from mismatches(value[name], schema["*"], prefix + name)
