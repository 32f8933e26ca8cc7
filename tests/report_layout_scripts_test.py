"""How figures look, in pictures and in scripts/report: colours, labels, what fits where.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/report_layout_scripts_test.py
"""

import itertools
import math
import random
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree
from base64 import b64decode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from report_testing import PAGES, ReportTest, costs, entry, failed
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from scripts_testing import ROOT, Scratch, drawn_texts

import matplotlib.pyplot as plt
from matplotlib.colors import to_rgba, to_rgba_array
from matplotlib.transforms import Bbox

import published
import style
import words
from figures.against_size import spread_out
from figures.parts import SHADE
from results import statistics
from reports import Choice, CostReport, Report, open_report
from results.grid import read_files

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


def is_shade(artist: Any) -> bool:
    """Whether a patch or a collection is filled with the grey of the harness."""
    colours = to_rgba_array(artist.get_facecolor())
    return [tuple(colour) for colour in colours[:1]] == [to_rgba(SHADE)]


def measured_names() -> list[set[str]]:
    """Of each published campaign the contenders."""
    return [
        {entry["name"].split("/")[3].partition("@")[0] for entry in file.entries}
        for file in read_files(sorted(ROOT.glob("results/2*")))
    ]


class Colours(unittest.TestCase):
    # Of names that nobody has seen: of known families, of none, and services around them.
    UNKNOWN = [
        *(f"d_heap_{arity}" for arity in (2, 4, 8)),
        *("log_wheel", "log_calendar", "my_wheel", "hashed_ring", "b_tree", "linked_list", "cal"),
        *("libhv", "libtw", "folly", "seastar", "ratas", "uv_timer", "my_redis"),
        *(
            f"{word}_{name}"
            for word in ("locked", "ticking", "sharded_8")
            for name in ("cal", "scan")
        ),
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

    def test_a_library_has_the_same_colour_in_every_campaign(self) -> None:
        seen = set()
        for names in measured_names():
            looks = style.looks(names)
            for name in names & style.LIBRARY_COLOURS.keys():
                self.assertEqual(looks[name], style.looks([name])[name], name)
                self.assertEqual(looks[name].colours, style.PALETTE[style.LIBRARY_COLOURS[name]])
                seen.add(name)
        self.assertEqual(seen, set(style.LIBRARY_COLOURS), "none is named in vain")

    def test_every_library_has_a_colour(self) -> None:
        peers = ROOT / "impls" / "peers"
        names = [path.stem for path in peers.glob("**/*.h") if ".paper =" in path.read_text()]
        self.assertGreater(len(names), 20)
        for name in names:
            settings = rf"{name}(_precise|_\d+)?"
            self.assertTrue(
                any(re.fullmatch(settings, known) for known in style.LIBRARY_COLOURS), name
            )
            self.assertIn(style.family(name), style.OF_LIBRARIES, name)

    def test_more_names_than_looks(self) -> None:
        names = [f"heap_{i}" for i in range(200)]
        self.assertEqual(set(style.looks(names)), set(names))

    def test_families(self) -> None:
        for name, family in (
            ("binary_heap", "heap"),
            ("log_calendar", "calendar"),
            ("log_wheel", "wheel"),
            ("tick_map", "tree"),
            ("sharded_4_locked_kafka_wheel_256", "wheel"),
            ("redis_zset_poll", "server"),
            ("one_store", "control"),
            ("java_null", "control"),
            ("java_timer", "heap"),
            ("java_kafka_wheel", "jvm"),
            ("ace_heap", "ace"),
            ("io_uring_timeouts", "kernel"),
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


class Pictures(Scratch):
    """Of scripts/plot."""

    def check_figures(self, report: Report, of_paper: bool = True) -> None:
        for name, draw in (*report.figures(), *(report.paper_figures() if of_paper else ())):
            self.check_layout(name, draw())

    def test_nothing_is_cut_off_or_overlaps(self) -> None:
        # Of each campaign whose figures are published. The suites of replays share their figures, so
        # only the largest of them is drawn narrow and for a paper, too.
        main, *others = (
            folder
            for folder in published.latest_of_all()
            if not folder.name.endswith(published.AGAIN)
        )
        for folder, width in itertools.product((main, *others), (None, 7.5)):
            with self.subTest(folder=folder.name, width=width):
                report = open_report([folder], Choice(width=width))
                is_like_others = isinstance(report, CostReport) and folder != main
                if width is None or not is_like_others:
                    self.check_figures(report, of_paper=not is_like_others)

    def test_long_titles_take_two_lines(self) -> None:
        workload = "all_connections_of_a_proxy_that_are_idle_most_of_the_time"
        entries = [
            one | {"items": 1000.0 if backend == "heap" else 10.0, "status": "noisy"}
            for size in (10, 1000)
            for backend in ("heap", "lazy_heap", "scan")
            for one in costs(f"quick/{workload}/{size}", backend, "exact", 5)[:7]
        ]
        report = open_report([self.write(entries)])
        self.check_figures(report)
        figure = dict(report.figures())[f"cost_{workload}"]()
        self.addCleanup(plt.close, figure)
        heads = [text.get_text() for text in figure.texts if text.get_fontsize() == 12]
        self.assertEqual(len(heads), 2)
        self.assertIn(workload, heads[0])

    def test_a_paper_names_who_has_no_figure(self) -> None:
        entries = [
            *(failed(f"quick/churn/{size}", "oak", "timeout: over 5 s") for size in (10, 1000)),
            *(
                one
                for size in (10, 1000)
                for one in costs(f"quick/churn/{size}", "heap", "exact", 5)
            ),
            failed("quick/nginx/77", "oak", "wrong: early"),
            *costs("quick/nginx/77", "heap", "exact", 5),
        ]
        figures = dict(open_report([self.write(entries)]).paper_figures())
        for name, said in (("cost_churn", "oak: timeout"), ("cost_nginx", "✕ wrong")):
            figure = figures[name]()
            self.addCleanup(plt.close, figure)
            self.assertIn(said, [text.get_text() for text in drawn_texts(figure)])

    def test_the_longest_advance_is_drawn_where_it_was_measured(self) -> None:
        cells = {name: ("quick/churn/1000", name, "exact") for name in ("heap", "ring")}
        cells["null"] = ("quick/churn/1000", "null", "none")
        folder = self.folder / "campaign"
        folder.mkdir()
        self.write(
            [one for cell in cells.values() for one in costs(*cell, 5)], "campaign/results.json"
        )
        self.assertNotIn("longest_advance", dict(open_report([folder]).figures()))
        times = {"heap": 400.0, "ring": 2e7, "null": 20.0}
        tails = [entry(*cells[name], worst_ns=time) for name, time in times.items()]
        self.write(tails, "campaign/tails.json")
        report = open_report([folder])
        self.check_figures(report, of_paper=False)
        figure = dict(report.figures())["longest_advance"]()
        self.addCleanup(plt.close, figure)
        [axes] = figure.axes
        drawn = [line.get_xdata()[0] for line in axes.lines]
        self.assertEqual(drawn, [times["heap"], times["ring"]], "not the control")

    def test_a_choice_of_backends_and_workloads(self) -> None:
        names = ("kafka_wheel_20", "kafka_wheel_256", "my_heap", "your_heap")
        entries = [
            one
            for workload, size, name in itertools.product(("churn", "hold"), (10, 1000), names)
            for one in costs(f"quick/{workload}/{size}", name, "exact", 5)
        ]
        entries += costs("quick/churn/10", "my_heap@again", "exact", 6)
        file = self.write(entries)
        chosen = open_report([file], Choice(["kafka_*", "your_heap"], ["ch*"]))
        everything = open_report([file])
        self.assertEqual(chosen.results.backends, [names[0], names[1], names[3]])
        self.assertEqual([name for name, _ in chosen.figures()][0], "cost_churn")
        self.assertEqual(chosen.results.looks, everything.results.looks)
        self.assertEqual(chosen.results.noise, everything.results.noise)
        self.assertGreater(chosen.results.noise, 0)

        out = self.folder / "some"
        ended = self.run_plot(file, "--backends=kafka_*", "--workloads=hold", "--out", out)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertEqual(
            sorted(path.name for path in out.glob("*.png")),
            ["cost_hold.png", "cost_per_workload_1000.png", "overview.png"],
        )
        self.assertNotIn("your_heap", (out / "table.md").read_text())
        for arguments, says in (
            (
                ["--backends=oak", "--table"],
                "--backends: no backend is 'oak'; there are kafka_wheel_20, ",
            ),
            (
                ["--workloads=x*", "--table"],
                "--workloads: no workload is 'x*'; there are churn, hold",
            ),
            (["--backends=my_heap"], "need --out, lest the figures of all be replaced"),
            (["--backends=,", "--table"], "--backends: invalid names value: ','"),
        ):
            ended = self.run_plot(file, *arguments)
            self.assertEqual(ended.returncode, 2, ended.stderr)
            self.assertIn(says, ended.stderr)

    def test_grey_is_named_where_it_is_drawn(self) -> None:
        """The harness is shaded where one sees it, even if the choice leaves its control out."""
        names = {"heap": ("exact", 90), "ring": ("granular", 50), "one_store": ("none", 9)}
        entries = [
            one
            for size in (10, 1000)
            for name, (precision, cost) in (names | {"null": ("none", 2)}).items()
            for one in costs(f"quick/churn/{size}", name, precision, cost)
        ]
        without = [one for one in entries if "/null/" not in one["name"]]
        for some, choice, is_shaded in (
            (entries, Choice(), True),
            (entries, Choice(["heap", "ring"]), True),
            (without, Choice(), False),
        ):
            figures = dict(open_report([self.write(some)], choice).figures())
            self.assertEqual(
                list(figures), ["cost_churn", "cost_per_workload_1000", "limit", "overview"]
            )
            for name, draw in figures.items():
                figure = draw()
                self.addCleanup(plt.close, figure)
                told = any("grey" in text.get_text() for text in figure.texts)
                self.assertEqual(told, is_shaded, name)
                [axes] = figure.axes
                shaded = [one for one in axes.patches + list(axes.collections) if is_shade(one)]
                self.assertEqual(len(shaded), int(is_shaded), name)
                for one in shaded:
                    seen = Bbox.intersection(one.get_window_extent(), axes.get_window_extent())
                    self.assertGreater(min(seen.width, seen.height), 10, name)

    def test_the_command_is_broken_between_names(self) -> None:
        names = ",".join(f"kafka_wheel_{i}" for i in range(60))
        command = f"scripts/bench full --backends={names} --rounds=8"
        entries = [one for size in (10, 99) for one in costs(f"quick/w/{size}", "heap", "exact", 5)]
        for name, draw in open_report([self.write(entries, command=command)]).figures():
            figure = draw()
            self.addCleanup(plt.close, figure)
            [footer] = [text for text in figure.texts if "reproduce" in text.get_text()]
            _, _, told = footer.get_text().partition("reproduce with: ")
            self.assertGreater(told.count("\n"), 3)
            whole = re.split("[ ,]", command)
            self.assertEqual([part for part in re.split("[ ,\n]", told) if part], whole, name)

    def test_the_width_of_figures(self) -> None:
        file = self.write(
            [one for size in (10, 99) for one in costs(f"quick/w/{size}", "heap", "exact", 5)]
        )
        for draw in (open_report([file], Choice(width=7.75)).figures(),
                     open_report([file], Choice(width=7.75)).paper_figures()):  # fmt: skip
            for name, one in draw:
                figure = one()
                self.assertAlmostEqual(figure.get_figwidth(), 7.75, places=6, msg=name)
                plt.close(figure)
        for arguments, says in (
            (["--width=2"], "--width: names take their room, so it is to be 7.5 inches at least"),
            (["--width=2", "--paper"], "so it is to be 2.5 inches at least"),
            (["--width=wide"], "invalid inches value: 'wide'"),
        ):
            ended = self.run_plot(file, *arguments)
            self.assertEqual(ended.returncode, 2, ended.stderr)
            self.assertIn(says, ended.stderr)


class Alike(ReportTest):
    """What is written in Python and in JavaScript says the same."""

    # Few, and where a power of 0.5 is no longer a number (1075).
    ROUNDS = (*range(0, 14), 45, 100, 1073, 1074, 1075, 1076, 1200, 2048, 4999, 5000)

    def setUp(self) -> None:
        super().setUp()
        self.open(self.report(self.write(costs("quick/fill/10", "scan", "exact", 1))))

    def check_alike(self, ours: Any, theirs: Any, what: object) -> None:
        """`theirs` has numbers as text, since JSON has no infinity."""
        if isinstance(ours, (list, tuple)):
            self.assertEqual(len(ours), len(theirs), what)
            for one, other in zip(ours, theirs):
                self.check_alike(one, other, what)
        elif isinstance(ours, (int, float)):
            other = float(theirs.replace("Infinity", "inf"))
            self.assertTrue(
                math.isclose(ours, other, rel_tol=1e-9, abs_tol=1e-300), (what, ours, other)
            )
        else:
            self.assertEqual(ours, theirs, what)

    def of_rounds(self) -> Iterator[tuple[str, list[float]]]:
        """Logarithms of ratios: scattered, tied, all or half of them 0, huge, and all on one side."""
        generator = random.Random(7)
        for n in self.ROUNDS:
            for shift in (0, 0.005, -0.03, 0.5):
                yield f"{n} around {shift}", [generator.gauss(shift, 0.02) for _ in range(n)]
            yield f"{n} tied", [generator.choice((-0.01, 0.02, 0.02, 0.03)) for _ in range(n)]
            yield f"{n} zeros", [0.0] * n
            yield f"{n} half zeros", [generator.choice((0.0, 0.0, -0.1, 0.2)) for _ in range(n)]
            yield f"{n} huge", [generator.choice((-1e3, -1e-300, 1e-9, 7e2, 8e2)) for _ in range(n)]
            yield f"{n} on one side", [generator.uniform(0.1, 0.2) for _ in range(n)]

    def test_of_rounds(self) -> None:
        vectors = list(self.of_rounds())
        theirs = self.run_js(
            "arguments[0].map((values) => [String(signTest(values)), values.length ?"
            " [0.05, 0.05 / 20, 1e-12, 0.3].map((alpha) => {"
            "   const {low, middle, high} = medianInterval(values, alpha);"
            "   return [low, middle, high].map(String);"
            " }) : []])",
            [values for _, values in vectors],
        )
        for (what, values), other in zip(vectors, theirs, strict=True):
            intervals = [
                statistics.median_interval(values, alpha) for alpha in (0.05, 0.05 / 20, 1e-12, 0.3)
            ] if values else []  # fmt: skip
            ours = [[one.low, one.middle, one.high] for one in intervals]
            self.check_alike([statistics.sign_test(values), ours], other, what)

    def test_comparisons(self) -> None:
        """Of many together, as Holm has it."""
        vectors = list(self.of_rounds())
        generator = random.Random(3)
        families = [vectors, *(generator.sample(vectors, size) for size in (1, 2, 7, 40))]
        for family, noise in itertools.product(families, (0.0, 0.004, 0.6)):
            pairs = [values for _, values in family]
            theirs = self.run_js(
                "compareAll(arguments[0], arguments[1]).map(({low, middle, high, p, rounds, word}) =>"
                " [...[low, middle, high, p, rounds].map(String), word])",
                pairs,
                noise,
            )
            ours = [
                [one.ratio.low, one.ratio.middle, one.ratio.high, one.p, one.rounds, one.word]
                for one in statistics.compare(pairs, noise, 0.03)
            ]
            for (what, _), one, other in zip(family, ours, theirs, strict=True):
                self.check_alike(one, other, (what, noise))
            self.check_alike(
                statistics.noise_floor(pairs),
                self.run_js("String(noiseFloor(arguments[0]))", pairs),
                noise,
            )
        for n in (1, 2, 20, 400, 10**6, 10**12):
            needed = self.run_js("String(roundsNeeded(arguments[0]))", n)
            self.check_alike(statistics.rounds_needed(n), needed, n)

    def test_rounds_in_which_both_were_measured(self) -> None:
        generator = random.Random(4)
        for n in (0, 1, 9, 5000):
            numbers = [generator.sample(range(n + n // 3), n) for _ in "ab"]
            a, b = ({i: 10 ** generator.uniform(-150, 150) for i in own} for own in numbers)
            theirs = self.run_js(
                "pairedLogRatios(...arguments[0].map((pairs) =>"
                " ({rounds: pairs.map(([i]) => i), costs: pairs.map(([, cost]) => cost)}))).map(String)",
                [list(one.items()) for one in (a, b)],
            )
            self.check_alike(statistics.paired_log_ratios(a, b), theirs, n)

    def test_words(self) -> None:
        generator = random.Random(5)
        numbers = [
            *(sign * 10 ** generator.uniform(-12, 20) for _ in range(2000) for sign in (1, -1)),
            *(generator.randint(1, 8000) / 8 for _ in range(500)),  # in the middle of two
            *(
                factor * 10.0**power
                for power in range(-9, 18)
                for factor in (0.9994, 0.9995, 1, 9.995)
            ),
            *(0.0, 62.1, 999.4, 999.5, 999.6, 1e15, 5e-324, 1.7e308),
        ]
        for name, ours in (("digits", words.digits), ("time", words.time), ("ratio", _ratio)):
            theirs = self.run_js(f"arguments[0].map({name})", numbers)
            for number, one, other in zip(numbers, map(ours, numbers), theirs, strict=True):
                self.assertEqual(one, other, (name, number))
        for number in ("NaN", "Infinity", "-Infinity"):
            self.assertEqual(words.digits(float(number)), self.run_js(f"digits({number})"))
        self.assertEqual(
            [words.percent(number) for number in (0, 1e-4, 0.0062, 0.2, 3)],
            self.run_js(
                "arguments[0].map((log) => percent(Math.expm1(log)))", [0, 1e-4, 0.0062, 0.2, 3]
            ),
        )
        sizes = [1, 9, 10, 999, 1000, 1234, 13862, 30_000, 10**7, 123_456_789, 2 * 10**12]
        for name in ("power", "counted"):
            ours_ = [
                words.power(size) if name == "power" else words.counted(size, "round")
                for size in sizes
            ]
            called = "power(size)" if name == "power" else "counted(size, 'round')"
            self.assertEqual(ours_, self.run_js(f"arguments[0].map((size) => {called})", sizes))

    def test_places_of_labels(self) -> None:
        generator = random.Random(6)
        for n in (0, 1, 2, 9, 40):
            for span in (10, 300, 2000):
                wanted = [float(generator.randint(0, span)) for _ in range(n)]
                theirs = self.run_js("spreadOut(arguments[0], 13, 5, 600).map(String)", wanted)
                self.check_alike(spread_out(wanted, 13, 5, 600), theirs, wanted)


def _ratio(value: float) -> str:
    return f"×{words.ratio(value)}"


class Lines(ReportTest):
    """Of charts: each has its name at its end, and one can be looked at alone."""

    NAMES = ("binary_heap", "lazy_heap", "ring_512", "kafka_wheel_floor_20")

    def setUp(self) -> None:
        super().setUp()
        entries: list[Any] = []
        for size, name in itertools.product((1000, 100_000), self.NAMES):
            if (name, size) != ("ring_512", 100_000):
                cost = (self.NAMES.index(name) // 2 + 1) * size / 100  # pairs lie on each other
                entries += costs(f"quick/churn/{size}", name, "exact", cost, 0)
        self.open(self.report(self.campaign(entries)), "scaling")

    def labels(self) -> list[dict[str, Any]]:
        labels: list[dict[str, Any]] = self.run_js("mounted[0].labels")
        return labels

    def test_names_stand_at_the_ends_of_lines(self) -> None:
        labels = self.labels()
        self.assertEqual([label["text"] for label in labels], list(self.NAMES))
        self.assertEqual([label["isCut"] for label in labels], [False, False, True, False])
        self.assertFalse(self.run_js("mounted[0].legend.options.display"))
        colours = self.run_js("mounted[0].data.datasets.map(({borderColor}) => borderColor)")
        self.assertEqual([label["colour"] for label in labels], colours)
        ys = sorted(label["y"] for label in labels)
        self.assertGreaterEqual(min(b - a for a, b in zip(ys, ys[1:])), 12)
        width = self.run_js(
            "Math.max(...mounted[0].labels.map(({left, text}) =>"
            " { mounted[0].ctx.font = `${labelSize(mounted[0].width)}px ${Chart.defaults.font.family}`;"
            " return left + mounted[0].ctx.measureText(text).width; })) - mounted[0].width"
        )
        self.assertLessEqual(width, 0, "none is cut off")

    def dim(self) -> list[str]:
        """The lines that are."""
        alphas = self.run_js("mounted[0].data.datasets.map((_, i) => alphaOf(mounted[0], i))")
        return [name for name, alpha in zip(self.NAMES, alphas) if alpha < 0.5]

    def test_a_line_under_the_pointer_dims_the_others(self) -> None:
        self.assertEqual(self.dim(), [])
        canvas = self.browser.find_element(By.CSS_SELECTOR, "#page canvas")
        [label] = [one for one in self.labels() if one["text"] == "lazy_heap"]
        width, height = canvas.size["width"], canvas.size["height"]

        def point_at(x: float, y: float) -> None:
            across, down = round(x - width / 2), round(y - height / 2)
            ActionChains(self.browser).move_to_element_with_offset(canvas, across, down).perform()
            self.settle()

        others = [name for name in self.NAMES if name != "lazy_heap"]
        point_at(label["left"] + 5, label["y"])
        self.assertEqual(self.dim(), others)
        point_at(300, height - 2)
        self.assertEqual(self.dim(), [], "far from all")
        [cut] = [one for one in self.labels() if one["text"] == "ring_512"]
        point_at(cut["from"]["x"], cut["from"]["y"] - 4)
        self.assertEqual(len(self.dim()), 3, "the nearest")
        self.check_quiet()

    def test_keys_go_from_line_to_line(self) -> None:
        canvas = self.browser.find_element(By.CSS_SELECTOR, "#page canvas")
        names = [one["text"] for one in sorted(self.labels(), key=lambda label: label["y"])]
        said = "document.querySelector('#page .unseen').textContent"
        canvas.send_keys(Keys.ARROW_DOWN)
        for name in names:
            self.assertEqual(self.dim(), [other for other in self.NAMES if other != name])
            self.assertIn(f"{name} at ", self.run_js(said))
            canvas.send_keys(Keys.ARROW_DOWN)
        self.assertEqual(self.dim(), [], "behind the last")
        canvas.send_keys(Keys.ARROW_UP)
        self.assertEqual(self.dim(), [name for name in self.NAMES if name != names[-1]])
        canvas.send_keys(Keys.ESCAPE)
        self.assertEqual(self.dim(), [])
        canvas.send_keys(Keys.ARROW_DOWN)
        canvas.send_keys(Keys.TAB)
        self.assertEqual(self.dim(), [])

    def test_what_is_saved_has_the_names_and_none_is_dim(self) -> None:
        self.browser.find_element(By.CSS_SELECTOR, "#page canvas").send_keys(Keys.ARROW_DOWN)
        svg = xml.etree.ElementTree.fromstring(self.saved("SVG", "figure"))
        texts = [node.text for node in svg.iter()]
        self.assertLessEqual(set(self.NAMES), set(texts))
        self.assertEqual([node for node in svg.iter() if node.attrib.get("opacity")], [])


class Services(ReportTest):
    """What whiskers are."""

    def open_rounds(self, *counts: int) -> None:
        entries = [
            entry(
                f"accuracy/rate/{1000 * (i + 1)}",
                "swift",
                "exact",
                j,
                lateness_p50_ns=1e4 * (j + 1),
            )
            for i, count in enumerate(counts)
            for j in range(count)
        ]
        self.open(self.report(self.campaign(entries, suite="accuracy")), "accuracy")

    def test_whiskers_are_intervals_where_there_are_rounds_enough(self) -> None:
        self.open_rounds(10, 10)
        self.assertEqual(self.tables()[0][1][3:6], ["55.0 µs", "20.0 µs", "90.0 µs"])
        [point, _] = self.run_js("mounted[0].data.datasets[0].data")
        self.assertEqual((point["low"], point["high"]), (2e4, 9e4))
        self.assertIn("Median of 10 rounds; whiskers are 95 % intervals of it.", self.text())
        self.open_rounds(10, 3)
        self.assertEqual(self.tables()[0][2][3:6], ["20.0 µs", "10.0 µs", "30.0 µs"])
        self.assertIn(
            "Median of 3 to 10 rounds; whiskers are 95 % intervals of it, or", self.text()
        )
        self.open_rounds(3, 3)
        self.assertIn(
            "Median of 3 rounds; whiskers reach from the least to the greatest, since", self.text()
        )


# What is wrong with how the page is laid out now, as sentences.
FAULTS = """
  const faults = []; // boxes are {what, left, top, right, bottom}
  const boxOf = (what, {left, top, right, bottom}) => ({what, left, top, right, bottom});
  const cut = (box, by) => ({
    ...box,
    left: Math.max(box.left, by.left),
    right: Math.min(box.right, by.right),
  });
  const overlaps = (a, b, slack) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > slack &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > slack;
  // All pairs of boxes that overlap.
  const check = (where, boxes, slack) => {
    boxes.sort((a, b) => a.top - b.top);
    boxes.forEach((a, i) => {
      for (let j = i + 1; j < boxes.length && boxes[j].top < a.bottom; ++j)
        if (overlaps(a, boxes[j], slack) && !(a.within && a.within === boxes[j].within))
          faults.push(`${where}: '${a.what}' overlaps '${boxes[j].what}'`);
    });
  };
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) faults.push('the page is wider than the window');

  // Text, controls and charts.
  const boxes = [];
  const scrollerOf = (element) => element.closest('.wide, nav');
  const add = (element, box) => {
    const scroller = scrollerOf(element);
    const limit = scroller ? scroller.getBoundingClientRect() : {left: 0, right: width};
    if (!scroller && (box.left < -1 || box.right > width + 1))
      faults.push(`'${box.what}' leaves the window`);
    const seen = cut(box, limit);
    if (seen.right - seen.left > 1) boxes.push(seen);
  };
  const isSeen = (element) =>
    element.checkVisibility() && !element.closest('.unseen, .skip, noscript, canvas, option, svg');
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.data.trim() || ['SCRIPT', 'STYLE'].includes(element.tagName) || !isSeen(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const box = boxOf(node.data.trim().slice(0, 40), rect);
      box.within = element.closest('button');
      add(element, box);
      for (let at = element; at && at !== document.body; at = at.parentElement) {
        if (getComputedStyle(at).overflowX !== 'hidden') continue;
        const limit = at.getBoundingClientRect();
        if (rect.right > limit.right + 1 || rect.bottom > limit.bottom + 1)
          faults.push(`'${box.what}' is clipped`);
      }
    }
  }
  for (const control of document.querySelectorAll('button, select, input, canvas')) {
    if (!isSeen(control) && control.tagName !== 'CANVAS') continue;
    if (!control.checkVisibility()) continue;
    const name = control.dataset.key ?? control.textContent.slice(0, 20) ?? control.tagName;
    add(control, {...boxOf(`[${name}]`, control.getBoundingClientRect()), within: control});
  }
  check('page', boxes, 1.5);

  // What charts write.
  for (const chart of mounted) {
    const {ctx} = chart;
    const written = [];
    const fillText = ctx.fillText;
    ctx.fillText = (text, x, y, ...rest) => {
      const {width, actualBoundingBoxAscent: up, actualBoundingBoxDescent: down} = ctx.measureText(text);
      const start = {center: width / 2, right: width, end: width}[ctx.textAlign] ?? 0;
      const matrix = ctx.getTransform();
      const ends = [[-start, -up], [width - start, down]].map(([across, along]) =>
        matrix.transformPoint({x: x + across, y: y + along}));
      const by = (side, how) => how(...ends.map((end) => end[side])) / chart.currentDevicePixelRatio;
      written.push({what: text, left: by('x', Math.min), right: by('x', Math.max),
        top: by('y', Math.min), bottom: by('y', Math.max)});
      fillText.call(ctx, text, x, y, ...rest);
    };
    chart.draw();
    delete ctx.fillText;
    const seen = written.filter(({what}) => String(what).trim());
    for (const {what, left, right, top, bottom} of seen)
      if (left < -1 || top < -1 || right > chart.width + 1 || bottom > chart.height + 1)
        faults.push(`chart: '${what}' is clipped`);
    check('chart', seen, 1.5);
  }
  return faults;
"""


class Layout(ReportTest):
    """Nothing overlaps and nothing is cut off, on any page and of any width."""

    def look_at(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})

    def check_pages(self, width: int, height: int) -> None:
        self.look_at(width, height)
        self.open(self.real_report())  # once, as it takes a second
        for name in PAGES:
            with self.subTest(page=name):
                self.go(name)
                self.check_page()
                self.browser.execute_script(
                    "for (const one of document.querySelectorAll('details')) one.open = true"
                )
                self.settle()
                self.check_page()

    def check_page(self) -> None:
        faults = self.browser.execute_script(FAULTS)
        self.assertEqual(faults[:12], [], f"{len(faults)} in all")

    def test_on_a_phone(self) -> None:
        self.check_pages(390, 844)

    def test_on_a_phone_a_chart_is_seen_at_once(self) -> None:
        self.look_at(390, 844)
        self.open(self.real_report())
        for name in PAGES:
            self.go(name)
            top = self.run_js(  # the chart of the page Survival is a matrix of tiles
                "document.querySelector('#page canvas, #page .survival')"
                "?.getBoundingClientRect().top"
            )
            self.assertLess(top or 0, 844 - 150, name)

    def test_on_a_tablet(self) -> None:
        self.check_pages(1024, 768)

    def test_on_a_screen(self) -> None:
        self.check_pages(1440, 900)

    def test_all_pages_are_named_on_a_screen(self) -> None:
        self.open(self.real_report())
        beyond = "((names) => names.scrollWidth - names.clientWidth)(document.querySelector('nav'))"
        for width in (1280, 1366, 1440, 1500, 1920):
            self.look_at(width, 900)
            self.assertLessEqual(self.run_js(beyond), 0, width)

    def test_tables_of_costs_fit_a_screen(self) -> None:
        self.look_at(1400, 900)
        is_cut = (
            "[...document.querySelectorAll('#page section .wide')]"
            ".filter((one) => one.scrollWidth > one.clientWidth).length"
        )
        for folder in ROOT.glob("results/*-full"):
            page = self.report(folder)
            for name in ("limit", "machine", "raw", "raw&find=timeout"):
                self.open(page, name)
                self.assertEqual(self.run_js(is_cut), 0, (folder.name, name))

    def test_a_long_failure_does_not_widen_a_table(self) -> None:
        self.look_at(1400, 900)
        why = "timeout: " + "one replay takes more than 60 s, which is its limit here, " * 5
        entries = [
            entry("accuracy/rate/1000", "swift", "exact", lateness_p50_ns=8e4),
            failed("accuracy/rate/1000", "oak", why),
        ]
        self.open(self.report(self.campaign(entries, suite="accuracy")), "accuracy")
        widths = self.run_js(
            "[...document.querySelectorAll('#page section .wide')]"
            ".filter((one) => one.textContent.includes('which is its limit'))"
            ".map((one) => one.scrollWidth - one.clientWidth)"
        )
        self.assertEqual(widths, [0])

    def test_on_paper(self) -> None:
        """No word reaches into the margin, and only the last sheet is less than half full."""
        self.open(self.real_report())
        for name in PAGES:
            with self.subTest(page=name):
                self.go(name)
                printed = self.folder / "page.pdf"
                printed.write_bytes(b64decode(self.browser.print_page()))
                boxes = subprocess.run(
                    ["pdftotext", "-bbox", printed, "-"], text=True, capture_output=True, check=True
                ).stdout
                sheets = re.findall(r'<page width="([\d.]+)".*?>(.*?)</page>', boxes, re.DOTALL)
                rights = [
                    [
                        float(width) - float(right)
                        for right in re.findall(r'xMax="([\d.]+)"', words_)
                    ]
                    for width, words_ in sheets
                ]
                self.assertNotIn([], rights, "an empty sheet")
                filled = self.filled(printed)
                self.assertGreater(min(filled[:-1], default=1), 0.5, filled)
                margin = 1 / 2.54 * 72
                self.assertGreater(min(map(min, rights)), margin - 1)
                self.browser.execute_script("dispatchEvent(new Event('beforeprint'))")
                self.check_page()
                self.browser.execute_script("dispatchEvent(new Event('afterprint'))")

    def filled(self, printed: Path) -> list[float]:
        """Of each sheet, down to where something is drawn."""
        for old in self.folder.glob("sheet-*.pgm"):
            old.unlink()
        subprocess.run(
            ["pdftoppm", "-gray", "-r", "18", printed, self.folder / "sheet"], check=True
        )
        shares = []
        for file in sorted(self.folder.glob("sheet-*.pgm")):
            _, size, _, pixels = file.read_bytes().split(b"\n", 3)
            width, height = map(int, size.split())
            rows = [pixels[i * width : (i + 1) * width] for i in range(height)]
            shares.append(max(i for i, row in enumerate(rows) if min(row) < 200) / height)
        return shares

    def test_tables_sort(self) -> None:
        entries: list[Any] = []
        for name, cost in (("oak", 100), ("ash", 9), ("elm", 20)):
            entries += costs("quick/churn/1000", name, "exact", cost, 0)
        entries.append(failed("quick/churn/1000", "fir", "timeout: over 5 s"))
        self.open(self.report(self.campaign(entries)), "raw")

        def names_by(title: str) -> list[str]:
            heads = self.browser.find_elements(By.CSS_SELECTOR, "#page th .sort")
            next(head for head in heads if head.text.rstrip(" ▴▾") == title).click()
            column = self.tables()[0][0].index("backend")
            return [row[column] for row in self.tables()[0][1:]]

        self.assertEqual(names_by("backend"), ["ash", "elm", "fir", "oak"])
        self.assertEqual(names_by("backend"), ["oak", "fir", "elm", "ash"])
        self.assertEqual(names_by("backend"), ["oak", "ash", "elm", "fir"], "as it was")
        self.assertEqual(names_by("ns [95 %]"), ["ash", "elm", "oak", "fir"])
        self.assertEqual(names_by("ns [95 %]"), ["oak", "elm", "ash", "fir"], "none comes last")
        self.assertEqual(
            self.run_js("document.querySelector('[aria-sort]').getAttribute('aria-sort')"),
            "descending",
        )
        self.go("decide")
        self.go("raw")
        column = self.tables()[0][0].index("backend")
        self.assertEqual(
            [row[column] for row in self.tables()[0][1:]], ["oak", "elm", "ash", "fir"]
        )

    def test_names_stay_while_a_table_scrolls(self) -> None:
        self.look_at(390, 844)
        page = self.real_report()
        for name in ("memory", "tails", "raw", "accuracy"):
            self.open(page, name)
            left = self.browser.execute_script(
                "const tables = [...document.querySelectorAll('.wide')];"
                "const wide = tables.find((one) => one.scrollWidth > one.clientWidth + 300);"
                "wide.scrollLeft = 300;"
                "return wide.querySelector('td.stays').getBoundingClientRect().left"
                " - wide.getBoundingClientRect().left"
            )
            self.assertAlmostEqual(left, 0, delta=1, msg=name)


if __name__ == "__main__":
    unittest.main()
