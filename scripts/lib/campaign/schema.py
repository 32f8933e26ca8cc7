"""Checks the members and types of JSON before they are used."""

from collections.abc import Iterator
from typing import Any, Union

# A type or a tuple of types; for a list, the type of its members; for an object, the types of its
# members by name. "*" stands for all other members, and "name?" is optional.
Schema = Union[type, tuple[type, ...], list["Schema"], dict[str, "Schema"]]


def mismatches(value: Any, schema: Schema, place: str = "") -> Iterator[str]:
    """Yields the places where the value differs from the schema."""
    if isinstance(schema, type | tuple):
        types = schema if isinstance(schema, tuple) else (schema,)
        if type(value) not in types:  # isinstance would take a bool for an int
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
