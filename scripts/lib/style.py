"""How a backend or service looks in every figure: its colour says which it is, its marker how
precise it is.
"""

import colorsys
import re
from zlib import crc32

# Hues are families, shades are settings. Chosen to differ for colour-blind readers too.
COLOURS = {
    "null": "#8c8c8c",
    "one_store": "#5a5a5a",
    "scan": "#000000",
    "tick_map": "#8a8000",
    "ordered_map": "#1b7837",
    "binary_heap": "#08519c",
    "quad_heap": "#3f8fd2",
    "pairing_heap": "#5e4fa2",
    "fibonacci_heap": "#9e90d6",
    "lazy_heap": "#2fb5d2",
    "skiplist": "#66b032",
    "redis_zset": "#c00000",
    "redis_zset_poll": "#f0655a",
    "ring_512": "#b35806",
    "ring_65536": "#f2a33c",
    "kafka_wheel_20": "#6b0057",
    "kafka_wheel_64": "#a3198a",
    "kafka_wheel_256": "#d64fb5",
    "kafka_wheel_512": "#ef97d3",
    "kafka_wheel_floor_20": "#a08299",
    # Services, of the family of the structure in them.
    "control": "#8c8c8c",
    "java_timer": "#2fb5d2",
    "delay_queue": "#3f8fd2",
    "system_timer": "#6b0057",
    "ring_timer": "#b35806",
    "redis_poller": "#c00000",
}

# The precisions, in the order in which they are shown. Backends are ranked among those
# of the same precision; controls, and those that may be early, are not ranked at all.
PRECISIONS = {
    "exact": "fires in the first tick at or after the deadline",
    "granular": "the deadline rounded up to the granularity",
    "relative": "late by at most 1/8 of the delay",
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
MARKERS = {"exact": "o", "granular": "s", "relative": "^", "early": "D", "none": "", "unknown": "x"}
LINES = {
    "exact": "-",
    "granular": "-",
    "relative": "-.",
    "early": "--",
    "none": ":",
    "unknown": "-",
}

# Services that are named for what is in them.
WRAPPED = re.compile(r"(locked|ticking)_(?P<inner>\w+)")
SHARDED = re.compile(r"sharded_\d+_(?P<inner>\w+)")


def colour(backend: str) -> str:
    """Its own, that of the structure in a service, or one that its name determines."""
    if backend in COLOURS:
        return COLOURS[backend]
    if service := WRAPPED.fullmatch(backend):
        return colour(service["inner"])
    if service := SHARDED.fullmatch(backend):
        return _lighter(colour(service["inner"]))
    hash_ = crc32(backend.encode())
    hue, value = hash_ % 360 / 360, 0.55 + hash_ // 360 % 3 * 0.15
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.8, value)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def _lighter(tint: str) -> str:
    parts = (int(tint[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * 0.45):02x}" for part in parts)
