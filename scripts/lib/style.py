"""The look of a backend or service in every figure.

The marker shows the family, the colour the member of the family, and the line style the precision.
All colours can be told apart with deuteranopia and are legible as text. No two contenders of a
campaign share both marker and colour.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from zlib import crc32

# Colours on light and on dark paper.
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

SHAPES = ("o", "s", "D", "^", "v")  # matplotlib's names; filled or open

# The shape of a family, and the words in a name that identify it.
FAMILIES: dict[str, tuple[str, set[str]]] = {
    "control": ("", {"control", "null"}),
    "library": ("^", {"asio", "dpdk", "glib", "libev", "libevent", "libuv", "sd"}),
    "ace": ("v", {"ace"}),
    "kernel": ("v", {"posix", "timerfds", "uring"}),
    "jvm": ("D", {"caffeine", "java", "jdk", "netty"}),
    "runtime": ("o", {"erlang", "go", "node", "python", "rust", "tokio"}),
    "radix": ("o", {"radix"}),
    "heap": ("o", {"heap"}),
    "calendar": ("s", {"calendar", "ladder"}),
    "wheel": ("s", {"wheel"}),
    "ring": ("D", {"ring"}),
    "tree": ("^", {"btree", "map", "multiset", "skiplist", "tree"}),
    "list": ("v", {"lawn", "list", "scan"}),
    "server": ("o", {"redis"}),
    "other": ("^", set()),
}
OF_LIBRARIES = {"library", "ace", "kernel", "jvm", "runtime"}
OPEN = {"calendar", "radix", "server", "other", *OF_LIBRARIES}  # families whose markers are open

# Families of names without such a word.
FAMILY_OF = {
    "one_store": "control",
    "java_timer": "heap",
    "delay_queue": "heap",
    "system_timer": "wheel",
}

COLOURS = {
    "one_store": "ink",
    "scan": "ink",
    "lawn": "blue",
    "tick_map": "yellow",
    "ordered_map": "green",
    "avl_multiset": "sky",
    "btree": "red",
    "segment_tree": "blue",
    "skiplist": "violet",
    "binary_heap": "blue",
    "quad_heap": "sky",
    "index_heap_2": "orange",
    "index_heap_4": "ink",
    "index_heap_8": "yellow",
    "pairing_heap": "violet",
    "fibonacci_heap": "red",
    "lazy_heap": "green",
    "radix_heap": "green",
    "redis_zset": "red",
    "redis_zset_poll": "orange",
    "ring_512": "orange",
    "ring_65536": "red",
    "log_ring_65536": "green",
    "kafka_wheel_20": "red",
    "kafka_wheel_60": "yellow",
    "kafka_wheel_64": "violet",
    "kafka_wheel_256": "orange",
    "kafka_wheel_512": "green",
    "kafka_wheel_floor_20": "ink",
    "log_wheel_256": "sky",
    "calendar_queue": "blue",
    "ladder_queue": "sky",
    "log_calendar_256": "violet",
    "linux_wheel": "blue",
    "java_timer": "sky",
    "delay_queue": "orange",
    "system_timer": "red",
    "ring_timer": "violet",
    "redis_poller": "red",
    "journal_wheel_0": "ink",
    "journal_wheel_1": "violet",
    "journal_wheel_10": "blue",
    "sqlite_full": "green",
    "sqlite_normal": "yellow",
    "postgres_on": "sky",
    "postgres_off": "blue",
    "redis_memory": "orange",
    "redis_everysec": "violet",
    "redis_always": "red",
    "beanstalkd_f0": "yellow",
    "beanstalkd_f50": "red",
    "bullmq": "green",
    "etcd_leases": "orange",
    "redis_replica": "sky",
    "redis_cluster": "green",
    "redis_cluster_wait": "ink",
}

# Of libraries and runtimes, and of the services over them, the same in every campaign. Their markers,
# which are open, tell them from own code.
LIBRARY_COLOURS = {
    "libuv": "green",
    "libuv_loop": "green",
    "libev": "blue",
    "libev_loop": "blue",
    "libevent": "red",
    "libevent_loop": "red",
    "libevent_common_timeouts": "violet",
    "libevent_loop_precise": "violet",
    "asio": "orange",
    "asio_loop_1": "orange",
    "asio_loop_4": "yellow",
    "glib": "sky",
    "sd_event_loop": "sky",
    "dpdk_timers": "ink",
    "ace_heap": "blue",
    "ace_wheel": "green",
    "ace_hash": "yellow",
    "ace_list": "red",
    "timerfds": "ink",
    "posix_timers": "orange",
    "io_uring_timeouts": "violet",
    "java_priority_queue": "sky",
    "jdk_timer": "sky",
    "java_delay_queue": "orange",
    "jdk_delay_queue": "orange",
    "java_skip_list": "red",
    "jdk_scheduled_executor": "red",
    "java_kafka_wheel": "ink",
    "netty_wheel": "green",
    "netty_wheel_1": "green",
    "netty_wheel_10": "yellow",
    "caffeine_wheel": "violet",
    "go_container_heap": "blue",
    "go_timers_1": "blue",
    "go_runtime_timers": "violet",
    "go_timers_2": "violet",
    "rust_binary_heap": "orange",
    "tokio_delay_queue": "red",
    "node_timers": "green",
    "erlang_gb_sets": "ink",
    "python_heapq": "yellow",
}

_OWN = {
    "exact": "fires in the first tick at or after the deadline",
    "granular": "the deadline rounded up to the granularity",
    "relative": "late by at most 8/63 of the delay",
}
LIBRARY = " library"  # ends the precisions of libraries
_LIBRARIES = {f"{name}{LIBRARY}": name for name in _OWN}
# Of durable queues it is no precision, but what they promise after a power cut.
_DURABLE = {
    "keeps all": "all acknowledged timers are kept after a power cut",
    "may lose the latest": "timers that were acknowledged last may be lost",
    "may lose all": "a power cut may lose all timers",
}

# The precisions in display order, as 'timerbench' calls them. Backends are ranked within their
# precision, and libraries apart from own code. Controls and backends that may fire early are not
# ranked.
PRECISIONS = {
    **_OWN,
    **{library: f"as {name}, of a library" for library, name in _LIBRARIES.items()},
    **_DURABLE,
    "unknown": "without a figure",
    "early": "the deadline rounded down, not ranked",
    f"early{LIBRARY}": "as early, of a library, not ranked",
    "none": "what the harness itself costs, not ranked",
}
RANKED = (*_OWN, *_LIBRARIES, *_DURABLE)
HEADINGS = {
    **{name: name for name in _OWN},
    **{library: f"libraries, {name}" for library, name in _LIBRARIES.items()},
    **{name: name for name in _DURABLE},
    "unknown": "without a figure",
    "early": "may be early, not ranked",
    f"early{LIBRARY}": "libraries, may be early, not ranked",
    "none": "controls, not ranked",
}
# Lengths of dashes and gaps; without any, the line is solid.
DASHES: dict[str, tuple[float, ...]] = {
    "exact": (),
    "granular": (6, 1.5),
    "relative": (6, 1.5, 1.5, 1.5),
    "early": (2.5, 1.5),
    f"early{LIBRARY}": (2.5, 1.5),
    "none": (1, 1.5),
    "unknown": (),
}
DASHES |= {library: DASHES[name] for library, name in _LIBRARIES.items()}
DASHES |= {name: DASHES[own] for name, own in zip(_DURABLE, _OWN)}

# Services whose names contain an inner structure.
WRAPPED = re.compile(r"(locked|ticking|(?P<shards>sharded_\d+))_(?P<inner>\w+)")


@dataclass(frozen=True)
class Look:
    """The look of a contender, except for the line of its precision."""

    shape: str
    is_open: bool  # the marker is not filled
    colours: tuple[str, str]

    @property
    def colour(self) -> str:
        """The colour on light paper."""
        return self.colours[0]


def family(name: str) -> str:
    """Returns the family; for a service, that of its inner structure."""
    name = _inner(name)
    words = set(name.split("_"))
    known = (kind for kind, (_, telling) in FAMILIES.items() if words & telling)
    return FAMILY_OF.get(name, next(known, "other"))


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Returns the look of each name. A name without a colour of its own gets the first free look, from
    a start that depends on the name. So its look is stable unless others in the campaign take it.
    """
    found: dict[str, Look] = {}
    for name in sorted(set(names), key=lambda name: (not _colour(name), len(name), name)):
        free = (look for look in _places(name) if look not in found.values())
        found[name] = next(free, next(_places(name)))
    return found


def _places(name: str) -> Iterator[Look]:
    """Yields all looks, those of the name's family first."""
    kind = family(name)
    shape, _ = FAMILIES[kind]
    is_sharded = bool((wrapped := WRAPPED.fullmatch(name)) and wrapped["shards"])
    fills = [True, False] if kind in OPEN or is_sharded else [False, True]
    shapes: tuple[str, ...] = (shape, *SHAPES)
    if kind == "control" and not _colour(name):
        yield Look("", False, GREY)
        shapes = SHAPES  # without a marker some colours are too near to grey
    colours = list(PALETTE)
    own = _colour(name) or colours[crc32(name.encode()) % len(colours)]
    start = colours.index(own)
    for one in dict.fromkeys(shapes):
        for is_open, i in itertools.product(fills, range(len(colours))):
            yield Look(one, is_open, PALETTE[colours[(start + i) % len(colours)]])


def _colour(name: str) -> str:
    """Returns the colour that the name has in every campaign; nothing if it is unknown."""
    inner = _inner(name)
    return COLOURS.get(inner, LIBRARY_COLOURS.get(inner, ""))


def _inner(name: str) -> str:
    """Returns the innermost name of a service."""
    while wrapped := WRAPPED.fullmatch(name):
        name = wrapped["inner"]
    return name
