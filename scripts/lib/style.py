"""How a backend or service looks in every figure.

Its marker says of which family it is, its colour which of the family, its line how precise it is.
All colours differ from each other for readers with deuteranopia too, and can be read as text. No
two contenders of a campaign have the same marker and the same colour.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from zlib import crc32

# On light paper and on dark.
PALETTE = {
    "ink": ("#101010", "#e4e4e4"),
    "blue": ("#18246c", "#6078ff"),
    "sky": ("#186c90", "#0cc0f0"),
    "green": ("#248460", "#009c60"),
    "yellow": ("#483c00", "#d8fc00"),
    "orange": ("#c05400", "#e45400"),
    "red": ("#6c243c", "#f09c9c"),
    "violet": ("#a830ff", "#fc00a8"),
}
GREY = ("#6b6b6b", "#9a9a9a")  # of the first control

SHAPES = ("o", "s", "D", "^", "v")  # as matplotlib calls them; filled or open

# The shape of a family, and the words of a name that tell it.
FAMILIES: dict[str, tuple[str, set[str]]] = {
    "heap": ("o", {"heap"}),
    "wheel": ("s", {"wheel", "calendar"}),
    "ring": ("D", {"ring"}),
    "tree": ("^", {"map", "skiplist", "tree"}),
    "list": ("v", {"list", "scan"}),
    "server": ("o", {"redis"}),
    "control": ("", {"control", "null"}),
    "other": ("^", set()),
}
OPEN = {"server", "other"}  # families whose markers are not filled

# Of names that do not tell it.
FAMILY_OF = {
    "one_store": "control",
    "java_timer": "heap",
    "delay_queue": "heap",
    "system_timer": "wheel",
}

COLOURS = {
    "one_store": "ink",
    "scan": "ink",
    "tick_map": "orange",
    "ordered_map": "green",
    "skiplist": "violet",
    "binary_heap": "blue",
    "quad_heap": "sky",
    "pairing_heap": "violet",
    "fibonacci_heap": "red",
    "lazy_heap": "green",
    "redis_zset": "red",
    "redis_zset_poll": "orange",
    "ring_512": "orange",
    "ring_65536": "sky",
    "kafka_wheel_20": "red",
    "kafka_wheel_64": "violet",
    "kafka_wheel_256": "orange",
    "kafka_wheel_512": "green",
    "kafka_wheel_floor_20": "ink",
    "java_timer": "sky",
    "delay_queue": "orange",
    "system_timer": "red",
    "ring_timer": "violet",
    "redis_poller": "red",
}

# The precisions, in the order in which they are shown. Backends are ranked among those
# of the same precision; controls, and those that may be early, are not ranked at all.
PRECISIONS = {
    "exact": "fires in the first tick at or after the deadline",
    "granular": "the deadline rounded up to the granularity",
    "relative": "late by at most 8/63 of the delay",
    "unknown": "without a figure",
    "early": "the deadline rounded down, not ranked",
    "none": "what the harness itself costs, not ranked",
}
RANKED = ("exact", "granular", "relative")
HEADINGS = {
    "exact": "exact",
    "granular": "granular",
    "relative": "relative",
    "unknown": "without a figure",
    "early": "may be early, not ranked",
    "none": "controls, not ranked",
}
# Lengths of dashes and gaps; a line without them is solid.
DASHES: dict[str, tuple[float, ...]] = {
    "exact": (),
    "granular": (6, 1.5),
    "relative": (6, 1.5, 1.5, 1.5),
    "early": (2.5, 1.5),
    "none": (1, 1.5),
    "unknown": (),
}

# Services that are named for what is in them.
WRAPPED = re.compile(r"(locked|ticking|(?P<shards>sharded_\d+))_(?P<inner>\w+)")


@dataclass(frozen=True)
class Look:
    """Of a contender, beside the line of its precision."""

    shape: str
    is_open: bool  # the marker is not filled
    colours: tuple[str, str]

    @property
    def colour(self) -> str:
        """On light paper."""
        return self.colours[0]


def family(name: str) -> str:
    """Of a service that of the structure in it."""
    name = _inner(name)
    words = set(name.split("_"))
    known = (kind for kind, (_, telling) in FAMILIES.items() if words & telling)
    return FAMILY_OF.get(name, next(known, "other"))


def looks(names: Iterable[str]) -> dict[str, Look]:
    """By name. What is not in COLOURS has the first place that is free, from one on that its name
    determines; so it always looks the same unless others of the campaign are in its place.
    """
    found: dict[str, Look] = {}
    for name in sorted(set(names), key=lambda name: (_inner(name) not in COLOURS, len(name), name)):
        free = (look for look in _places(name) if look not in found.values())
        found[name] = next(free, next(_places(name)))
    return found


def _places(name: str) -> Iterator[Look]:
    """All looks, those of its family first."""
    kind = family(name)
    shape, _ = FAMILIES[kind]
    is_sharded = bool((wrapped := WRAPPED.fullmatch(name)) and wrapped["shards"])
    fills = [True, False] if kind in OPEN or is_sharded else [False, True]
    if kind == "control" and name not in COLOURS:
        yield Look("", False, GREY)
        fills = [False]
    colours = list(PALETTE)
    own = COLOURS.get(_inner(name)) or colours[crc32(name.encode()) % len(colours)]
    start = colours.index(own)
    for one in dict.fromkeys((shape, *SHAPES)):
        for is_open, i in itertools.product(fills, range(len(colours))):
            yield Look(one, is_open, PALETTE[colours[(start + i) % len(colours)]])


def _inner(name: str) -> str:
    """What a service is wrapped around."""
    while wrapped := WRAPPED.fullmatch(name):
        name = wrapped["inner"]
    return name
