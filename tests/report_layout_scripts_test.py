"""How figures look, in pictures and in scripts/report: colours, labels, what fits where.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/report_layout_scripts_test.py
"""

import itertools
import math
import re
import sys
import unittest
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT

import style
from results.grid import read_json

Vector = Sequence[float]

# Of linear RGB: what is left for eyes without M cones (Machado, Oliveira & Fernandes 2009).
DEUTERANOPIA = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
TO_XYZ = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
WHITE = (0.95047, 1.0, 1.08883)


def times(matrix: Sequence[Vector], vector: Vector) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def linear(colour: str) -> list[float]:
    """RGB of #rrggbb, from 0 to 1."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]


def contrast(one: str, other: str) -> float:
    """As WCAG 2 has it."""
    low, high = sorted(times(TO_XYZ, linear(colour))[1] for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: Vector) -> tuple[float, float, float]:
    x, y, z = (
        math.cbrt(part) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116
        for part in (value / white for value, white in zip(times(TO_XYZ, rgb), WHITE))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen_without_green(colour: str) -> tuple[float, float, float]:
    return lab([min(1.0, max(0.0, part)) for part in times(DEUTERANOPIA, linear(colour))])


def delta_e(one: Vector, other: Vector) -> float:
    """CIEDE2000, of two in Lab (Sharma, Wu & Dalal 2005)."""
    chroma = (math.hypot(*one[1:]) + math.hypot(*other[1:])) / 2
    stretch = 1.5 - math.sqrt(chroma**7 / (chroma**7 + 25**7)) / 2
    a1, a2 = one[1] * stretch, other[1] * stretch
    c1, c2 = math.hypot(a1, one[2]), math.hypot(a2, other[2])
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 for b, a in ((one[2], a1), (other[2], a2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    light, chroma = (one[0] + other[0]) / 2, (c1 + c2) / 2
    weight = 1 + sum(
        factor * math.cos(math.radians(times_ * hue + shift))
        for factor, times_, shift in ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63))
    )
    dl = (other[0] - one[0]) / (1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * chroma)
    dh = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)) / (1 + 0.015 * chroma * weight)
    rotation = -2 * math.sqrt(chroma**7 / (chroma**7 + 25**7))
    rotation *= math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    return math.sqrt(dl**2 + dc**2 + dh**2 + rotation * dc * dh)


def papers() -> list[dict[str, str]]:
    """The colours of the page, light and dark."""
    css = (ROOT / "scripts" / "lib" / "page" / "page.css").read_text()
    blocks = re.findall(r":root[^{]*\{([^}]*)\}", css)[:2]
    return [dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block)) for block in blocks]


def measured_names() -> list[set[str]]:
    """Of each published campaign the contenders."""
    return [
        {entry["name"].split("/")[3].partition("@")[0] for entry in read_json(file)["benchmarks"]}
        for file in sorted(ROOT.glob("results/2*/results.json"))
    ]


class Colours(unittest.TestCase):
    # Of names that nobody has seen: of known families, of none, and services around them.
    UNKNOWN = [
        *(f"index_heap_{arity}" for arity in (2, 4, 8)),
        *("log_wheel", "log_calendar", "my_wheel", "hashed_ring", "b_tree", "linked_list", "cal"),
        *("libuv", "libevent", "folly", "asio", "netty", "uv_timer", "my_redis"),
        *(f"{word}_{name}" for word in ("locked", "ticking", "sharded_8") for name in ("cal", "scan")),
    ]

    def test_the_difference_of_colours(self) -> None:
        """Vectors of Sharma, Wu & Dalal."""
        for one, other, expected in (
            ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
            ((50, 2.5, 0), (50, 0, -2.5), 4.3065),
            ((50, 2.49, -0.001), (50, -2.49, 0.0011), 7.2195),
            ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
            ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
        ):
            self.assertAlmostEqual(delta_e(one, other), expected, places=4)

    def test_two_of_a_campaign_differ_in_marker_or_in_colour(self) -> None:
        """Also for who has no M cones, on light paper and on dark."""
        for names in (*measured_names(), {*style.COLOURS, *self.UNKNOWN}):
            for (one, a), (other, b) in itertools.combinations(style.looks(names).items(), 2):
                if (a.shape, a.is_open) != (b.shape, b.is_open):
                    continue
                for mine, yours in zip(a.colours, b.colours):
                    self.assertGreater(
                        delta_e(seen_without_green(mine), seen_without_green(yours)),
                        14,
                        (one, other),
                    )
                    self.assertGreater(
                        delta_e(lab(linear(mine)), lab(linear(yours))), 18, (one, other)
                    )

    def test_an_unknown_name_looks_the_same_in_every_campaign(self) -> None:
        for name in self.UNKNOWN:
            alone = style.looks([name])[name]
            self.assertEqual(style.looks(["one_store", name, "null"])[name], alone)
        names = [*style.COLOURS, *self.UNKNOWN]
        self.assertEqual(style.looks(names), style.looks(reversed(names)))

    def test_more_names_than_looks(self) -> None:
        names = [f"heap_{i}" for i in range(200)]
        self.assertEqual(set(style.looks(names)), set(names))

    def test_families(self) -> None:
        for name, family in (
            ("binary_heap", "heap"),
            ("log_calendar", "wheel"),
            ("tick_map", "tree"),
            ("sharded_4_locked_kafka_wheel_256", "wheel"),
            ("redis_zset_poll", "server"),
            ("one_store", "control"),
            ("ringo", "other"),
        ):
            self.assertEqual(style.family(name), family)

    def test_all_can_be_read(self) -> None:
        """Contenders, whose names are written in their colours, and the words of the page."""
        for i, paper in enumerate(papers()):
            for colours in (*style.PALETTE.values(), style.GREY):
                self.assertGreaterEqual(contrast(colours[i], paper["paper"]), 4.5, colours[i])
            for word, ground in itertools.product(
                ("ink", "faint", "accent", "good", "bad"), ("paper", "raised", "shade")
            ):
                self.assertGreaterEqual(contrast(paper[word], paper[ground]), 4.5, (word, ground))


if __name__ == "__main__":
    unittest.main()
