"""scripts/report, in a real browser without a network: what its pages show is what the results say.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/report_scripts_test.py
"""

import csv
import io
import itertools
import json
import math
import random
import re
import statistics
import sys
import time
import unittest
import xml.etree.ElementTree
from base64 import b64decode
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from report_testing import PAGES, REAL, ROUNDS, ReportTest, costs, entry, failed
from scripts_testing import ROOT
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import style
from results.replays import Cell, Results
from results.replays import load as load_results
from words import digits


class Programs(unittest.TestCase):
    def test_no_two_files_declare_the_same_name(self) -> None:
        """All are programs of one page, where the later function would silently replace the other."""
        files = sorted((ROOT / "scripts" / "lib" / "page" / "js").glob("*.js"))
        declared = re.compile(r"^(?:async )?(?:class|const|function\*?|let) (\w+)", re.MULTILINE)
        names = [name for file in files for name in declared.findall(file.read_text())]
        self.assertGreater(len(names), 100)
        self.assertEqual([name for name in set(names) if names.count(name) > 1], [])


class Statistics(ReportTest):
    """What the page works out is what scripts/compare does."""

    def setUp(self) -> None:
        super().setUp()
        self.open(self.report(self.write(costs("quick/fill/10", "scan", "exact", 1))))

    def test_rankings(self) -> None:
        generator = random.Random(5)
        for _ in range(40):
            names = [f"b{i}" for i in range(generator.randint(1, 9))]
            base = generator.choices([1, 1.01, 1.2, 3], k=len(names))
            grid = Results()
            for name, cost in zip(names, base):
                numbers = range(generator.randint(5, 14))
                of_rounds = [cost * math.exp(generator.gauss(0, 0.03)) for _ in numbers]
                grid.cells["w", 10, name] = Cell(costs=of_rounds, rounds=list(numbers))
            theirs = self.run_js(
                "ranking(arguments[0].map(([backend, costs]) => ({backend, costs, cost: median(costs),"
                " rounds: costs.map((_, i) => i)})), 0).map((group) => group.map((cell) => cell.backend))",
                [[name, cell.costs] for (_, _, name), cell in grid.cells.items()],
            )
            self.assertEqual(grid.standings("w", 10, names).groups, theirs)

    def test_units(self) -> None:
        for expression, text in (
            ("bytes(1536)", "1.50 KiB"),
            ("bytes(3 * 2 ** 20)", "3.00 MiB"),
            ("time(7200e9)", "2.00 h"),
            ("time(90e9)", "90.0 s"),
            ("tick(time)(1e4)", "10 µs"),
            ("tick(count)(1500)", "1.5 k"),
            ("percent(0.5)", "50.0 %"),
            ("ratio(0.0042)", "×0.0042"),
            ("digits(undefined)", "–"),
            ("digits(NaN)", "–"),
            ("digits(1e-300)", "1.0·10⁻³⁰⁰"),
        ):
            self.assertEqual(self.run_js(expression), text, expression)

    def test_ticks_of_a_logarithmic_axis_stand_all_along_it(self) -> None:
        for low in (0.02, 1.3, 38.0):
            for decades in (0.5, 1.0, 1.6, 2.3, 2.9, 4.0, 9.5):
                high = low * 10**decades
                ticks = self.run_js("roundNumbers(arguments[0], arguments[1])", low, high)
                ends = [low, *ticks, high]
                gaps = [math.log10(b / a) / decades for a, b in zip(ends, ends[1:])]
                self.assertLess(max(gaps), 0.5, (low, decades, ticks))
                self.assertLessEqual(len(ticks), 12, (low, decades, ticks))

    def test_names_of_files_tell_sizes_apart(self) -> None:
        for title, name in (
            ("churn at 10⁵, exact", "churn_at_1e5_exact"),
            ("hold at 5·10⁴: durations", "hold_at_5e4_durations"),
            ("fill at 13\u202f862", "fill_at_13_862"),
        ):
            self.assertEqual(self.run_js("fileName(arguments[0])", title), name)

    def test_who_is_faster_in_the_rounds_that_both_have_is_first(self) -> None:
        """One that was measured in the first rounds only, when all was faster."""
        early = {i: 10.0 for i in range(8)}
        steady = {i: 9.0 if i < 8 else 12.0 for i in range(20)}
        entries = [
            entry("quick/churn/10", name, "exact", i, ns_per_item=cost)
            for name, rounds in (("early", early), ("steady", steady))
            for i, cost in rounds.items()
        ]
        results = load_results([self.write(entries)])
        groups = [["steady"], ["early"]]
        self.assertEqual(results.ranking("churn", 10, results.backends), groups)
        self.open(self.report(self.write(entries)), "map")
        ranked = "ranking(CAMPAIGNS[0].cells, 0).map((group) => group.map(({backend}) => backend))"
        self.assertEqual(self.run_js(ranked), groups)


class Pages(ReportTest):
    """Each page shows what its data say."""

    def test_each_page_says_where_it_was_measured(self) -> None:
        page = self.report(self.generated())
        for name in ("decide", "scaling", "map", "tails", "memory", "pairwise", "machine", "raw"):
            self.open(page, name)
            self.assertIn(
                "campaign · Test 1000, 2 processors · fitness C (A is best, F is worst)",
                self.whole_text(),
            )

    def test_each_page_says_how_well_it_was_measured(self) -> None:
        entries = costs("quick/churn/1000", "heap", "exact", 5)
        entries += costs("quick/churn/1000", "lazy", "exact", 50)
        entries[3]["status"] = "noisy"
        page = self.report(self.campaign(entries, grade_reasons="load; swap"))
        for name in ("decide", "scaling", "map", "pairwise", "machine"):
            self.open(page, name)
            self.assertIn("fitness C (A is best, F is worst): load, swap", self.whole_text(), name)
            self.assertIn("1 of 2 cells disturbed in a round", self.whole_text(), name)

    def test_scaling(self) -> None:
        self.open(self.report(self.generated()), "scaling")
        [rows] = self.tables()
        self.assertEqual(len(rows), 1 + 10)
        oak = next(row for row in rows if row[1] == "oak")
        self.assertIn("timeout: over 5 s", oak)
        self.assertEqual(self.browser.execute_script("return mounted[0].data.datasets.length"), 5)
        self.assertIn("oak at 10³ (timeout: over 5 s), at 10⁵ (timeout: over 5 s)", self.text())
        drawn = self.browser.execute_script("return mounted[0].config.options.plugins.marks")
        self.assertEqual(
            [(line["at"], line["text"]) for line in drawn["lines"]], [(512, "L1"), (2**14, "L2")]
        )
        self.assertEqual([round(point["high"]) for point in drawn["band"]], [1, 1], "the harness")
        self.assertIn("Shaded: what the harness itself takes", self.text())
        self.choose("b", "heap")
        band = self.browser.execute_script("return mounted[0].config.options.plugins.marks.band")
        for point in band:
            self.assertAlmostEqual(point["low"] * point["high"], 1)
            self.assertGreater(point["high"], 1.009)
        self.check_quiet()

    def test_limit(self) -> None:
        """Distances are those of the Python side, also if the floor is filtered out."""
        entries: list[Any] = []
        for size, scale in ((1000, 1.0), (100_000, 4.0)):
            name = f"quick/churn/{size}"
            entries += costs(name, "heap", "exact", 50 * scale)
            entries += costs(name, "ring", "granular", 6)
            entries += costs(name, "one_store", "none", scale)
            entries += costs(name, "null", "none", 1)
        drain = costs("quick/drain/1000", "heap", "exact", 5)
        drain += costs("quick/drain/1000", "one_store", "none", 5)
        entries += [one | {"label": one["label"].replace("request", "fire")} for one in drain]
        entries += costs("quick/churn/1000", "oak", "exact", 70)
        entries.append(failed("quick/churn/100000", "oak", "timeout: over 5 s"))
        folder = self.campaign(entries)
        page = self.report(folder)
        self.open(page, "limit&s=100000")
        results = load_results([folder])
        distance = statistics.median(results.distances("churn", 100_000, "heap"))
        self.assertIn(
            f"The nearest exact backend, heap, costs {digits(distance)} times as much as one store on "
            "churn at 10⁵ timers; the nearest granular backend, ring, 1.",
            self.text(),
        )
        self.assertIn("without it the distance would be longer.", self.text())
        self.assertRegex(self.text(), r"could save at most 19\d ns \(exact\) and 1.\d+ ns \(gran")
        self.assertIn("Without drain: only advances are measured", self.text())
        chart, every = self.tables()
        self.assertIn(["10⁵", "oak", "exact", "timeout: over 5 s"], chart)
        self.assertEqual(
            [[*row[:2], *row[4:6]] for row in every[1:]],
            [
                ["churn", size, precision, name]
                for size in ("10³", "10⁵")
                for precision, name in (("exact", "heap"), ("granular", "ring"))
            ],
        )
        lines = "mounted[0].data.datasets.map(({label, data}) => [label, data.length])"
        self.assertEqual(
            self.run_js(lines), [[name, 2] for name in ("heap", "ring", "oak", "one_store")]
        )
        ticks = self.run_js("mounted[0].scales.y.ticks.map(({label}) => label)")
        self.assertEqual(ticks, ["×0.2", "×0.5", "×1", "×2", "×5", "×10", "×20", "×50"])
        self.choose("s", "1000")
        self.assertIn("a store adds too little to tell", self.text())
        self.open(page, "limit&s=100000&only=heap")
        self.assertIn(f"heap, costs {digits(distance)} times", self.text())
        self.assertIn("Shaded: what the harness itself takes", self.text())
        least = self.run_js("mounted[0].scales.y.min")
        for point in self.run_js("mounted[0].config.options.plugins.marks.band"):
            self.assertGreater(point["high"], least, "it is seen")
        without = [one for one in entries if "/null/" not in one["name"]]
        for name in ("limit", "scaling"):
            self.open(self.report(self.campaign(without, name="bare")), name)
            self.assertNotIn("Shaded", self.text(), "nothing is")
        self.open(self.report(self.generated()), "scaling&only=heap")
        self.assertIn("Shaded: what the harness itself takes", self.text())
        least = self.run_js("mounted[0].scales.y.min")
        for point in self.run_js("mounted[0].config.options.plugins.marks.band"):
            self.assertGreater(point["high"], least, "it is seen")
        self.open(self.report(self.generated()), "limit")
        self.assertIn("No load here has a figure of one_store", self.text())
        self.check_quiet()

    def test_a_line_for_each_precision(self) -> None:
        entries: list[Any] = []
        for precision in style.PRECISIONS:
            entries += costs("quick/churn/1000", f"a_{precision}", precision, 10)
        self.open(self.report(self.campaign(entries)), "scaling")
        drawn = self.browser.execute_script(
            "return mounted[0].data.datasets.map(({label, borderDash}) =>"
            " [label, borderDash.map((length) => length / 1.5)])"
        )
        expected = {f"a_{name}": list(dashes) for name, dashes in style.DASHES.items()}
        self.assertEqual(dict(drawn), expected)

    def test_the_size_that_tells_most_is_shown_first(self) -> None:
        entries: list[Any] = []
        for size, failures in ((10, 0), (100, 1), (1000, 3)):
            name = f"quick/churn/{size}"
            for i in range(4):
                entries += (
                    [failed(name, f"b{i}", "timeout: over 5 s")]
                    if i < failures
                    else costs(name, f"b{i}", "exact", 10)
                )
        tails = [
            entry(f"quick/churn/{size}", f"b{i}", "exact", worst_ns=5.0)
            if i or size == 10
            else failed(f"quick/churn/{size}", "b0", "timeout: over 5 s")
            for size in (10, 100, 1000)
            for i in range(4 if size < 1000 else 1)
        ]
        self.open(self.report(self.campaign(entries, passes={"tails": tails})), "tails")
        shown = Select(self.browser.find_element(By.CSS_SELECTOR, "[data-key='s']"))
        self.assertEqual(shown.first_selected_option.get_attribute("value"), "100")
        few = [one for one in tails if "/100/" not in one["name"] and "/10/" not in one["name"]]
        few += [
            entry("quick/churn/10", "b1", "exact", worst_ns=5.0),
            failed("quick/churn/10", "b0", "timeout: over 5 s"),
        ]
        self.open(self.report(self.campaign(entries, passes={"tails": few})), "tails")
        shown = Select(self.browser.find_element(By.CSS_SELECTOR, "[data-key='s']"))
        self.assertEqual(shown.first_selected_option.get_attribute("value"), "10")

    def test_a_size_that_half_of_all_did_not_reach_is_not_shown_first(self) -> None:
        entries: list[Any] = []
        for name in ("b1", "b2", "b3", "b4"):
            entries += costs("quick/churn/10", name, "exact", 10)
        for name in ("b1", "b2"):
            entries += costs("quick/churn/100", name, "exact", 10)
        entries += [failed("quick/churn/100", name, "timeout: long") for name in ("b3", "b4")]
        self.open(self.report(self.campaign(entries)), "pairwise")
        self.assertIn("churn at 10: those that are exact, each with each", self.titles())

    def test_tails_open_with_a_workload_that_advances(self) -> None:
        entries, tails = [], []
        for workload, counters in (("fill", {}), ("churn", {"worst_ns": 5.0})):
            name = f"quick/{workload}/1000"
            entries += costs(name, "heap", "exact", 10, 0) + costs(name, "oak", "exact", 10, 0)
            tails += [entry(name, "heap", "exact", clock_ns=20.0, **counters)]
            tails += [failed(name, "oak", "timeout: over 5 s")]
        page = self.report(self.campaign(entries, passes={"tails": tails}))
        self.open(page, "tails")
        shown = Select(self.browser.find_element(By.CSS_SELECTOR, "[data-key='w']"))
        self.assertEqual(shown.first_selected_option.text, "churn")
        self.assertIn("churn at 10³: the longest advance", self.text())
        self.open(page, "tails&w=fill")
        self.assertNotIn("fill at 10³: the longest advance", self.text())
        self.assertIn("oak at 10³ (timeout: over 5 s)", self.text())

    def test_pages_of_passes_open_with_a_campaign_that_has_them(self) -> None:
        name = "quick/churn/1000"
        entries = costs(name, "heap", "exact", 10, 0)
        passes = {
            "tails": [entry(name, "heap", "exact", clock_ns=20.0, worst_ns=5.0)],
            "memory": [entry(name, "heap", "exact", bytes_per_timer=56.0)],
        }
        folders = [self.campaign(entries, "first"), self.campaign(entries, "second", passes)]
        page = self.report(*folders)
        for name, told in (("tails", "the longest advance"), ("memory", "56.0 B")):
            self.open(page, name)
            self.assertIn(told, self.text())
            shown = Select(self.browser.find_element(By.CSS_SELECTOR, "[data-key='c']"))
            self.assertTrue(shown.first_selected_option.text.startswith("second"))

    def test_campaigns_of_one_name_are_counted(self) -> None:
        folders = []
        for parent, cost in (("monday", 10), ("tuesday", 20)):
            (self.folder / parent).mkdir()
            entries = costs("quick/churn/1000", "heap", "exact", cost, 0)
            folders.append(self.campaign(entries, name=f"{parent}/quick"))
        self.open(self.report(*folders, self.campaign(entries, name="other")), "decide")
        options = Select(self.browser.find_element(By.CSS_SELECTOR, "[data-key='c']")).options
        self.assertEqual(
            [option.text for option in options],
            ["quick (1) · Test 1000", "quick (2) · Test 1000", "other · Test 1000"],
        )
        self.choose("c", "1")
        self.assertIn("20.0", self.tables()[0][1][2])

    def test_tiles_of_one_colour_have_markers_that_differ(self) -> None:
        """Of as many winners as there are backends; in the tiles and in the legend."""
        names = [name for name in style.COLOURS if name not in ("one_store", "null")]
        entries = [
            one
            for i, winner in enumerate(names)
            for name in (winner, names[i - 1])
            for one in costs(f"quick/w{i}/1000", name, "exact", 10 if name == winner else 99)
        ]
        self.open(self.report(self.campaign(entries)), "map")
        drawn = self.run_js(
            "mounted[0].data.datasets.map(({label, data}) => [label, data[0].colour,"
            " data[0].marker.pointStyle, data[0].marker.rotation ?? 0, data[0].marker.fill])"
        )
        self.assertEqual({name for name, *_ in drawn}, set(names))
        self.assertEqual(len({tuple(look) for _, *look in drawn}), len(names))
        legend = self.run_js(
            "mounted[0].legend.legendItems.map(({text, strokeStyle, pointStyle, rotation, fillStyle})"
            " => [text, strokeStyle, pointStyle, rotation, fillStyle])"
        )
        self.assertEqual(legend, drawn)
        svg = xml.etree.ElementTree.fromstring(self.saved("SVG", "figure"))
        self.assertLessEqual(set(names), {node.text for node in svg.iter()})
        self.check_quiet()

    def test_map(self) -> None:
        self.open(self.report(self.generated()), "map")
        [rows] = self.tables()
        found = {(row[0], row[2]): (row[3], row[5]) for row in rows[1:]}
        self.assertEqual(found["churn", "10³"], ("lazy", ""))
        self.assertEqual(found["churn", "10⁵"], ("lazy", ""))
        self.assertIn(found["hold", "10³"], (("lazy", "heap"), ("heap", "lazy")))
        tiles = self.browser.execute_script(
            "return mounted[0].data.datasets.flatMap((one) => one.data.map((tile) => [tile.lines[0], tile.isHatched]))"
        )
        self.assertEqual(sorted(is_open for _, is_open in tiles), [False, False, True])
        self.choose("p", "granular")
        [rows] = self.tables()
        self.assertEqual(
            [row[5] for row in rows[1:]], ["", "it alone has a figure", "it alone has a figure"]
        )
        self.check_quiet()

    def test_the_map_opens_with_the_campaign_that_was_measured_for_it(self) -> None:
        usual = self.campaign(costs("quick/churn/1000", "heap", "exact", 5), "usual")
        shares = self.campaign(costs("map/requests_50/1000", "heap", "exact", 5), "shares")
        self.open(self.report(usual, shares), "map")
        for page, expected in (("map", "shares"), ("scaling", "usual")):
            self.go(page)
            chosen = Select(self.browser.find_element(By.CSS_SELECTOR, "[data-key='c']"))
            self.assertIn(expected, chosen.first_selected_option.text)

    def test_tiles_of_a_map_are_of_those_that_the_legend_names(self) -> None:
        """Where the first load has none."""
        entries = [failed("quick/fill/10", name, "timeout: over 5 s") for name in ("heap", "lazy")]
        for workload, factor in (("churn", 2), ("hold", 0.5)):
            entries += costs(f"quick/{workload}/10", "heap", "exact", 10)
            entries += costs(f"quick/{workload}/10", "lazy", "exact", 10 * factor)
        self.open(self.report(self.campaign(entries)), "map")
        tiles = self.run_js(
            "mounted[0].data.datasets.map(({label, data}) =>"
            " [label, ...data.map(({x, lines}) => [x, lines[0]])])"
        )
        self.assertEqual(
            tiles, [["heap", [1, "heap"]], ["lazy", [2, "lazy"]], ["none", [0, "none"]]]
        )

    def test_tails(self) -> None:
        self.open(self.report(self.generated()), "tails")
        spectrum, worst, timeline = self.tables()
        heap = next(row for row in spectrum if row[0] == "heap")
        self.assertEqual(heap[2], "20.0 ns")  # nine tenths of 1000 lie below
        self.assertEqual(
            heap[3:6], ["37.3 ns", "–", "–"]
        )  # 20 * 2**0.9; beyond p99 there are too few
        ring = next(row for row in worst if row[0] == "ring")
        self.assertEqual(ring[2:7], ["90.0 µs", "–", "77", "–", "2"])
        self.assertLess(len(timeline), 310)
        ends = self.browser.execute_script(
            "return mounted[0].data.datasets.map(({label, data}) => [label, data.at(-1).x, data.at(-1).y])"
        )
        self.assertEqual(ends, [["heap", 1000, 500], ["ring", 1000, 95_000]], "the longest")
        points = {point["x"]: point for point in self.run_js("mounted[0].data.datasets[0].data")}
        self.assertEqual(next(iter(points)), 1, "all are longer than the shortest")
        self.assertEqual(points[10]["y"], 20)
        self.assertIn(["ring", "777", "90.0 µs", "0", "77"], timeline, "no peak is lost")
        self.choose("call", "cancel")
        self.assertIn("there are no samples", self.text())
        self.check_quiet()

    def test_memory_and_pairwise(self) -> None:
        self.open(self.report(self.generated()), "memory")
        bytes_, uses = self.tables()
        self.assertIn(["10³", "heap", "56.0 B"], bytes_)
        self.assertIn(["10³", "oak", "timeout: over 5 s"], bytes_)
        self.assertEqual(next(row for row in uses if row[0] == "heap")[-2:], ["752", "310"])
        self.assertEqual(uses[0][-2:], ["instructions (valgrind)", "cycles"])
        self.go("pairwise")
        self.choose("b", "heap")
        self.choose("b2", "lazy")
        pairs = self.tables()[0]
        self.assertEqual(
            [row[0] for row in pairs[1:]], ["churn at 10³", "churn at 10⁵", "hold at 10³"]
        )
        self.assertEqual([row[-1] for row in pairs[1:]], ["faster", "faster", "unresolved"])
        self.choose("b2", "ring")
        self.assertIn("Their precisions differ: A is exact, B granular.", self.text())
        self.assertNotIn("can be sure; it takes", self.text())
        self.choose("b2", "oak")
        self.assertIn("no load in common with figures of both", self.text())
        self.check_quiet()

    def test_rounds_too_few_for_all_comparisons_are_told(self) -> None:
        """The fewest count; and the more comparisons, the more rounds it takes."""
        entries: list[Any] = []
        for size, rounds in ((10, 6), (100, ROUNDS), (1000, ROUNDS)):
            for name in ("heap", "lazy"):
                entries += costs(f"quick/churn/{size}", name, "exact", 5)[:rounds]
        entries += costs("quick/churn/10", "oak", "exact", 50)
        self.open(self.report(self.campaign(entries)), "pairwise&b=heap&b2=lazy&s=10")
        self.assertIn("With 6 rounds none of 3 comparisons can be sure; it takes 7.", self.text())
        self.assertIn("3 comparisons, which takes 7 rounds; there are 6.", self.text())

    def test_what_is_faster_is_green_and_what_is_slower_is_red(self) -> None:
        page = self.report(self.generated())
        of_theme = "getComputedStyle(document.documentElement).getPropertyValue(arguments[0])"
        for a, b, word, name in (
            ("heap", "lazy", "faster", "--good"),
            ("lazy", "heap", "slower", "--bad"),
        ):
            self.open(page, f"pairwise&b={a}&b2={b}")
            colour = self.run_js(of_theme, name)
            self.assertEqual(
                self.run_js("mounted[0].data.datasets[0].pointBackgroundColor"),
                [colour, colour, self.run_js(of_theme, "--faint")],
            )
            parts = ", ".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
            written = f"getComputedStyle(document.querySelector('#page .{word}')).color"
            self.assertEqual(self.run_js(written), f"rgb({parts})")

    def test_the_pair_that_is_shown_first_has_the_same_precision(self) -> None:
        entries = costs("quick/churn/10", "ring", "granular", 5)
        for size in (10, 100, 1000):
            entries += costs(f"quick/churn/{size}", "null", "none", 1)
            entries += costs(f"quick/churn/{size}", "gears", "relative", 5)
            entries += costs(f"quick/churn/{size}", "heap", "exact", 5)
        entries += costs("quick/churn/10", "oak", "exact", 5)
        entries += costs("quick/churn/10", "lazy", "exact", 5)
        entries += costs("quick/churn/100", "lazy", "exact", 5)
        self.open(self.report(self.campaign(entries)), "pairwise")
        self.assertEqual(self.titles()[0], "lazy compared with heap")
        self.open(self.report(self.campaign(entries[:20])), "pairwise")
        self.assertEqual(self.titles()[0], "null compared with ring", "there are no others")

    def test_the_pair_that_is_shown_first_are_the_cheapest_of_the_first_load(self) -> None:
        entries: list[Any] = []
        for workload, item, order in (
            ("fill", "insert", ("oak", "elm", "ash", "fir")),
            ("churn", "request", ("fir", "ash", "elm", "oak")),
        ):
            for name, cost in zip(order, (10, 20, 40, 80)):
                for one in costs(f"quick/{workload}/1000", name, "exact", cost):
                    entries.append(one | {"label": f"exact, per {item}"})
        self.open(self.report(self.campaign(entries)), "pairwise")
        self.assertEqual(self.titles()[0], "ash compared with fir")
        shown = Select(self.browser.find_element(By.CSS_SELECTOR, "[data-key='w']"))
        self.assertEqual(shown.first_selected_option.text, "churn")

    def test_the_command_stands_once_and_is_broken_between_names(self) -> None:
        """Nowhere under a chart, but in each picture that is saved."""
        names = ",".join(f"kafka_wheel_{i}" for i in range(40))
        command = f"scripts/bench quick --backends={names} --rounds=8"
        folder = self.campaign(json.loads((self.generated() / "results.json").read_text())["benchmarks"],
                               name="long", command=command)  # fmt: skip
        page = self.report(folder)
        for name in ("decide", "scaling", "map", "pairwise", "backend", "raw"):
            self.open(page, name)
            self.assertEqual(self.whole_text().count(command), 1, name)
            self.assertNotIn("kafka_wheel_39", self.text(), "folded")
        self.browser.execute_script("document.querySelector('.provenance').open = true")
        broken = self.run_js(
            "[...document.querySelectorAll('.command span')].filter((one) =>"
            " one.getClientRects().length > 1 || one.offsetHeight > 25).length"
        )
        self.assertEqual(broken, 0)
        self.assertGreater(self.run_js("document.querySelector('.command').offsetHeight"), 40)
        self.open(page, "scaling")
        svg = xml.etree.ElementTree.fromstring(self.saved("SVG", "figure"))
        texts = [node.text or "" for node in svg.iter() if node.tag.endswith("text")]
        start = next(i for i, text in enumerate(texts) if text.startswith("Reproduce with: "))
        told = [part for text in texts[start:] for part in re.split("[ ,]", text) if part]
        whole = ["Reproduce", "with:", *re.split("[ ,]", command)]
        self.assertEqual(told[: len(whole)], whole)
        self.check_quiet()

    def test_machine_and_raw(self) -> None:
        self.open(self.report(self.campaign(costs("quick/churn/10", "heap", "exact", 5),
                                            memory="24684092 kB")), "machine")  # fmt: skip
        facts = self.tables()[0]
        self.assertEqual(facts[0], ["fact", "value"])
        self.assertIn(["memory", "23.5 GiB"], facts)
        self.open(self.report(self.generated()), "machine")
        for said in ("Test 1000", "C of A (best) to F", "A clock read takes 20.0 ns", "2 timeout"):
            self.assertIn(said, self.text())
        self.go("raw")
        found = self.browser.find_element(By.CSS_SELECTOR, "[data-key='find']")
        found.send_keys("timeout")
        self.settle()
        [rows] = self.tables()
        self.assertEqual([row[2] for row in rows[1:]], ["oak", "oak"])
        self.assertEqual([row[-1] for row in rows[1:]], 2 * ["timeout: over 5 s"])
        found = self.browser.switch_to.active_element  # typing has not lost the focus
        found.send_keys(Keys.BACKSPACE * 7, "heap hold")
        self.settle()
        [row] = list(csv.DictReader(io.StringIO(self.saved("CSV"))))
        self.assertEqual((row["workload"], row["backend"], row["status"]), ("hold", "heap", "ok"))
        self.assertEqual(len(row["rounds_ns"].split()), ROUNDS)
        self.check_quiet()

    def test_what_failed_in_a_pass_or_a_twin_is_told(self) -> None:
        entries = [
            *costs("quick/churn/1000", "heap", "exact", 5),
            failed("quick/churn/1000", "heap@again", "wrong: fired early"),
            failed("quick/churn/1000", "lazy", "interrupted: not reached"),
        ]
        passes = {
            "memory": [entry("quick/churn/1000", "heap", "exact", bytes_per_timer=5.0)],
            "instructions": [failed("quick/churn/1000", "heap", "crash: SIGSEGV under valgrind")],
        }
        self.open(self.report(self.campaign(entries, passes=passes)), "memory")
        self.assertIn(
            "Without a figure of instructions: heap at 10³ (crash: SIGSEGV under valgrind)",
            self.text(),
        )
        self.go("machine")
        self.assertIn("of those measured @again: heap at 10³ (wrong: fired early)", self.text())
        self.assertIn("the noise is unknown", self.text())
        self.assertIn("1 more were not reached", self.text())
        self.check_quiet()
        entries += costs("quick/hold/1000", "heap", "exact", 100)
        entries.append(failed("quick/hold/1000", "heap@again", "timeout: over 5 s"))
        self.open(self.report(self.campaign(entries)), "machine")
        told = "heap churn at 10³ (wrong: fired early), hold at 10³ (timeout: over 5 s)"
        self.assertIn(f"of those measured @again: {told}", self.text())
        self.check_quiet()

    def test_the_machine_page_has_the_sentences_of_the_table(self) -> None:
        slowed_down = [1.0, 1.5, 1.0, 1.0, 0.9, 1.0, 1.0, 1.0]
        entries = [
            entry(f"quick/{name}/1000", backend, "exact", i, ns_per_item=cost * slowed_down[i])
            for name, backend, cost in (
                ("churn", "heap", 10),
                ("churn", "lazy", 20),
                ("hold", "heap", 30),
            )
            for i in reversed(range(8))
        ]
        self.open(self.report(self.campaign(entries)), "machine")
        self.assertIn("Pace: a round took 0.90 to 1.50 of the usual time.", self.text())

    def test_rounds_are_paired_by_their_numbers(self) -> None:
        name = "quick/churn/1000"
        up = [
            entry(name, "heap", "exact", i, ns_per_item=10.0 * 2**i)
            for i in (3, 0, 5, 1, 4, 2, 7, 6)
        ]
        down = [entry(name, "lazy", "exact", i, ns_per_item=15.0 * 2**i) for i in range(8)]
        self.open(self.report(self.campaign(up + down)), "pairwise&b=heap&b2=lazy")
        self.assertIn("×1.500 [1.500 – 1.500]", self.tables()[0][1])
        matrix = self.tables()[1]
        self.assertEqual(matrix[1][1:], ["·", "×1.500"])
        self.assertEqual(matrix[2][1:], ["×0.667", "·"])
        words_ = self.browser.execute_script(
            "return [...document.querySelectorAll('.matrix td span[title]')].map((one) => one.title)"
        )
        self.assertIn("lazy compared with heap: slower", words_)
        self.assertIn("heap compared with lazy: faster", words_)

    def test_raw_has_each_round_as_it_was_measured(self) -> None:
        entries = costs("quick/churn/1000", "heap", "exact", 1234.5)
        self.open(self.report(self.campaign(entries)), "raw")
        [row] = csv.DictReader(io.StringIO(self.saved("CSV")))
        for saved, one in zip(row["rounds_ns"].split(), entries, strict=True):
            self.assertEqual(saved, f"{one['ns_per_item']:.7g}")

    def test_raw_saves_all_rows_and_shows_some(self) -> None:
        entries = [
            entry(f"quick/w{i}/1000", "heap", "exact", ns_per_item=float(i + 1)) for i in range(450)
        ]
        self.open(self.report(self.campaign(entries)), "raw")
        self.assertEqual(len(self.tables()[0]), 201)
        self.assertEqual(len(list(csv.DictReader(io.StringIO(self.saved("CSV"))))), 450)
        self.choose("rows", "2")
        self.assertEqual(len(self.tables()[0]), 51)

    def test_services(self) -> None:
        entries = [
            entry("accuracy/rate/1000", "control", "none", lateness_p50_ns=50e3, cpu_share=0.01),
            entry("accuracy/rate/1000", "swift", "exact", lateness_p50_ns=80e3, cpu_share=0.02),
            entry("accuracy/rate/10000", "swift", "exact", lateness_p50_ns=9e6, cpu_share=0.9)
            | {"label": "exact, per fire, saturated"},
            failed("accuracy/rate/1000", "dead", "crash: killed by SIGSEGV"),
            entry("accuracy/herd/10", "swift", "exact", lateness_p50_ns=1e3, cpu_share=0.0),
            entry("accuracy/rate/1000", "slow", "exact", lateness_p50_ns=90e3, cpu_share=0.02),
        ]
        distributions = {
            "accuracy/rate/1000/swift": [{"lateness": {"edges": [1e3, 1e5], "counts": [500]}}]
        }
        folder = self.campaign(entries, suite="accuracy", command="scripts/bench accuracy")
        (folder / "results.distributions.json").write_text(json.dumps(distributions))
        self.open(self.report(folder))
        self.assertTrue(self.browser.current_url.endswith("report.html"))
        self.assertIn(
            "rate: lateness p50 by timers per second", self.titles(), "the page that has results"
        )
        self.assertIn(
            "rate, 10³ timers/s, exact: swift 80.0 µs late (p50), then slow 90.0 µs late (p50)",
            self.run_js("document.querySelector('.answer').textContent"),
        )
        rows = self.tables()[0]
        self.assertIn(["10⁴", "swift", "exact", "9.00 ms", "9.00 ms", "9.00 ms", "no"], rows)
        self.assertIn("crash: killed by SIGSEGV", self.text())
        crosses = self.browser.execute_script(
            "return mounted[0].data.datasets.find(({label}) => label === 'swift').pointStyle"
        )
        self.assertEqual(crosses, ["triangle", "crossRot"])
        self.choose("s", "1000")
        self.assertIn("rate at 10³ timers per second: lateness", self.titles())
        self.choose("w", "herd")
        self.assertIn("herd at 10 timers: lateness p50", self.titles())
        self.choose("f", "cpu_share")
        self.assertIn("0 %", self.text())
        for page in PAGES:
            self.go(page)
        self.check_quiet()

    def test_whiskers_of_services_reach_from_the_least_to_the_greatest(self) -> None:
        entries = [
            entry("accuracy/rate/1000", "swift", "exact", i, lateness_p50_ns=late)
            for i, late in enumerate((30e3, 10e3, 50e3, 20e3))
        ]
        folder = self.campaign(entries, suite="accuracy")
        self.open(self.report(folder), "accuracy")
        self.assertEqual(self.tables()[0][1][3:6], ["25.0 µs", "10.0 µs", "50.0 µs"])
        [point] = self.browser.execute_script("return mounted[0].data.datasets[0].data")
        self.assertEqual((point["low"], point["x"], point["high"]), (10e3, 25e3, 50e3))

    def test_results_that_fail_or_are_interrupted(self) -> None:
        only_failures = self.campaign(
            [
                failed("quick/fill/10", "scan", "crash: killed by SIGSEGV"),
                failed("quick/fill/10", "ring", "oom"),
            ]
        )
        page = self.report(only_failures)
        for name in PAGES:
            self.open(page, name)
            self.check_quiet()
            if name in ("decide", "scaling", "map", "raw"):
                self.assertIn("crash: killed by SIGSEGV", self.text(), name)

    def test_what_there_is_not_is_not_written(self) -> None:
        without_failures = self.campaign(costs("quick/churn/10", "heap", "exact", 5), name="good")
        reports = [
            self.report(folder, out=f"{folder.name}.html")
            for folder in (self.generated(), without_failures)
        ]
        for report, name in itertools.product(reports, PAGES):
            self.open(report, name)
            for word in ("false", "undefined", "NaN"):
                self.assertNotIn(word, self.whole_text(), name)

    def test_names_are_only_text(self) -> None:
        nasty = "<img src=x onerror=alert(1)>&amp;\"'"
        folder = self.campaign(
            [
                *costs("quick/<b>fill/10", nasty, "exact", 1),
                *costs("quick/<b>fill/10", "plain", "exact", 2),
                failed("quick/<b>fill/10", "<i>", f"crash: {nasty}"),
            ],
            name="<script>alert(1)<",
            command="scripts/bench '<script>alert(2)</script>'",
        )
        page = self.report(folder)
        for name in PAGES:
            self.open(page, name)
            self.assertEqual(
                self.browser.execute_script(
                    "return document.querySelectorAll('#page img, #page b, #page i').length"
                ),
                0,
            )
            self.check_quiet()
        self.open(page, "raw")
        self.assertIn(nasty, self.text())
        self.open(page, "scaling")
        svg = self.saved("SVG", "figure")
        self.assertIn(nasty, [node.text for node in xml.etree.ElementTree.fromstring(svg).iter()])


class Everything(ReportTest):
    """What holds for all pages."""

    def test_real_results_on_all_pages(self) -> None:
        self.assertTrue(REAL)
        page = self.real_report()
        self.open(page)
        for name in PAGES:
            self.go(name)
            self.assertGreater(len(self.text()), 100, name)
            for word in ("false", "undefined", "NaN"):
                self.assertNotIn(word, self.whole_text(), name)
            self.assertNotIn("cannot be shown", self.text(), name)
            self.assertEqual(self.whole_text().count("Reproduce with: "), 1, name)
        for control in ("c", "w", "p", "s", "b", "f", "q", "load"):
            for name in (
                "decide",
                "scaling",
                "map",
                "accuracy",
                "contention",
                "purgatory",
                "pairwise",
            ):
                self.go(name)
                found = self.browser.find_elements(By.CSS_SELECTOR, f"select[data-key='{control}']")
                for value in (
                    [option.get_attribute("value") for option in Select(found[0]).options][-2:]
                    if found
                    else []
                ):
                    self.choose(control, str(value))
                    self.assertNotIn("cannot be shown", self.text(), (name, control, value))
        self.check_quiet()

    def test_a_link_restores_the_view(self) -> None:
        page = self.real_report()
        self.open(page)
        self.go("scaling")
        self.assertTrue(
            self.browser.current_url.endswith("#scaling"), "short where all is as it comes"
        )
        self.choose("w", "hold")
        self.choose("b", "ring_512")
        link, seen = self.browser.current_url, self.text()
        self.assertTrue(link.endswith("#scaling&w=hold&b=ring_512"), link)
        self.go("raw")
        self.browser.back()
        self.settle()
        self.assertEqual(self.text(), seen)
        self.browser.get("about:blank")
        self.browser.get(link)
        self.wait("return document.body.dataset.ready === 'yes'")
        self.assertEqual(self.text(), seen)
        for nonsense in (
            "nowhere",
            "decide&x=50%",
            "scaling&w=nothing&b=%25&=&&",
            "decide&n=abc&mem=-1&load=x",
        ):
            self.open(page, nonsense)
            self.assertNotIn("cannot be shown", self.text())
            self.check_quiet()

    def test_charts_can_be_taken_away(self) -> None:
        page = self.real_report()
        for name in ("decide", "scaling", "map", "accuracy", "contention", "pairwise"):
            self.open(page, name)
            svg = xml.etree.ElementTree.fromstring(self.saved("SVG", "figure"))
            texts = [node.text for node in svg.iter() if node.tag.endswith("text")]
            self.assertGreater(len(texts), 8, name)
            self.assertGreater(
                len([node for node in svg.iter() if node.tag.endswith("path")]), 10, name
            )
            png = b64decode(self.saved("PNG", "figure"))
            self.assertTrue(png.startswith(b"\x89PNG") and len(png) > 8000, name)
            size = self.browser.execute_script(
                "const {clientWidth, clientHeight} = document.querySelector('#page canvas');"
                "return [clientWidth, clientHeight];"
            )
            saved = [int(svg.attrib[key]) for key in ("width", "height")]
            self.assertEqual(saved, [size[0] + 24, size[1] + 74], "with title and command")
            inside = (int.from_bytes(png[at : at + 4]) for at in (16, 20))
            self.assertEqual([2 * length for length in saved], list(inside), "twice the pixels")
            rows = list(csv.reader(io.StringIO(self.saved("CSV", "figure"))))
            self.assertEqual(len(rows), len(self.tables()[0]), name)
            self.assertEqual({len(row) for row in rows}, {len(rows[0])}, name)
            self.check_quiet()

    def test_svg_is_drawn_as_on_the_screen(self) -> None:
        folder = self.campaign(
            costs("quick/churn/1000", "heap", "exact", 5)
            + costs("quick/churn/100000", "heap", "exact", 50)
        )
        self.open(self.report(folder), "scaling")
        svg = xml.etree.ElementTree.fromstring(self.saved("SVG", "figure"))
        tag = "{http://www.w3.org/2000/svg}"
        title = self.browser.execute_script("return mounted[0].options.scales.y.title.text")
        [upright] = [node for node in svg.iter(f"{tag}text") if node.text == title]
        self.assertTrue(upright.attrib["transform"].startswith("matrix(0 -1 1 0 "), "turned")
        axes = [
            [float(x) for x in re.findall(r"[-\d.]+", node.attrib["d"])]
            for node in svg.iter(f"{tag}path")
            if node.attrib.get("stroke") == self.run_js("themeOf(true).faint")
            and "stroke-dasharray" not in node.attrib
        ]
        lefts, tops, rights, bottoms = zip(*(axis for axis in axes if len(axis) == 4))
        area = [min(lefts), min(tops), max(rights), max(bottoms)]
        clips = {
            clip.attrib["id"]: [float(x) for x in re.findall(r"[-\d.]+", clip[0].attrib["d"])]
            for clip in svg.iter(f"{tag}clipPath")
        }
        whiskers = [
            group for group in svg.iter(f"{tag}g") if group[0].attrib.get("stroke-width") == "1.2"
        ]
        self.assertEqual(len(whiskers), 6, "a line and two ends for each point")
        for whisker in whiskers:
            at = clips[whisker.attrib["clip-path"][5:-1]]
            edges = [min(at[::2]), min(at[1::2]), max(at[::2]), max(at[1::2])]
            for edge, limit in zip(edges, area, strict=True):
                self.assertLessEqual(abs(edge - limit), 1, "none leaves the axes")

    def test_a_saved_svg_looks_like_the_saved_png(self) -> None:
        """Blurred, as fonts and smoothing differ a little."""
        compare = """
            const [svg, png, width, height, done] = arguments;
            const blocksOf = async (url) => {
              const image = new Image();
              image.src = url;
              await image.decode();
              const canvas = document.createElement('canvas');
              [canvas.width, canvas.height] = [width, height];
              const context = canvas.getContext('2d');
              context.drawImage(image, 0, 0, width, height);
              const {data} = context.getImageData(0, 0, width, height);
              const ink = new Map();
              for (let i = 0; i < width * height; ++i) {
                const block = `${Math.floor((i % width) / 20)}/${Math.floor(i / width / 20)}`;
                ink.set(block, (ink.get(block) ?? 0) + (255 - data[4 * i + 1]) / 255 / 400);
              }
              return ink;
            };
            Promise.all([
              blocksOf('data:image/svg+xml;charset=utf-8,' + encodeURIComponent(svg)),
              blocksOf('data:image/png;base64,' + png),
            ]).then(([one, other]) => {
              const inked = [...other].filter(([, ink]) => ink > 0.05);
              done([inked.length, inked.filter(([at, ink]) => one.get(at) < ink / 2).length]);
            });
        """
        page = self.real_report()
        for view in ("decide", "scaling", "map", "tails", "pairwise", "accuracy", "memory"):
            self.open(page, view)
            svg, png = self.saved("SVG", "figure"), self.saved("PNG", "figure")
            self.assertIn("Reproduce with: scripts/bench", svg)
            size = map(int, re.findall(r'(?:width|height)="(\d+)"', svg)[:2])
            inked, missing = self.browser.execute_async_script(compare, svg, png, *size)
            self.assertGreater(inked, 50, view)
            self.assertLess(missing, 0.03 * inked, view)

    def test_on_paper_charts_are_as_wide_as_the_paper(self) -> None:
        self.open(self.real_report(), "scaling")
        widths = "return mounted.map(({width}) => width)"
        before = self.browser.execute_script(widths)
        self.browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        self.assertLessEqual(max(self.browser.execute_script(widths)), 700)
        self.browser.execute_script("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.browser.execute_script(widths), before)

    def test_a_legend_goes_where_there_is_room(self) -> None:
        self.open(self.real_report(), "map")
        place = "return mounted[0].options.plugins.legend.position"
        self.assertEqual(self.browser.execute_script(place), "right")
        size = self.browser.get_window_size()
        self.addCleanup(self.browser.set_window_size, size["width"], size["height"])
        self.browser.set_window_size(700, 900)
        self.wait(f"{place} === 'bottom'")

    def test_what_is_searched_for_can_be_typed(self) -> None:
        entries = [
            one
            for size in range(1, 260)
            for one in costs(f"quick/{'hold' if size % 2 else 'fill'}/{size}", "lazy", "exact", 5)
        ]
        self.open(self.report(self.campaign(entries)), "raw")
        find = self.browser.find_element(By.CSS_SELECTOR, "[data-key='find']")
        find.click()
        for letter in "hold lazy":
            self.browser.switch_to.active_element.send_keys(letter)
            self.settle()
        find = self.browser.find_element(By.CSS_SELECTOR, "[data-key='find']")
        self.assertEqual(find.get_property("value"), "hold lazy")
        self.assertEqual(self.titles(), ["130 of 259 cells"])

    def test_the_skip_link_keeps_the_view(self) -> None:
        self.open(self.real_report(), "scaling")
        self.browser.find_element(By.CSS_SELECTOR, ".skip").send_keys(Keys.ENTER)
        self.settle()
        self.assertEqual(self.run_js("location.hash"), "#scaling")
        self.assertEqual(self.run_js("document.activeElement.id"), "page")

    def test_data_are_open_as_the_reader_left_them_on_each_page(self) -> None:
        self.open(self.real_report(), "pairwise")
        is_open = "document.querySelector('#page figure details').open"
        self.assertTrue(self.run_js(is_open))
        self.go("scaling")
        self.assertFalse(self.run_js(is_open))
        self.browser.find_element(By.CSS_SELECTOR, "#page figure summary").click()
        self.go("pairwise")
        self.browser.find_element(By.CSS_SELECTOR, "#page figure summary").click()
        self.go("scaling")
        self.assertTrue(self.run_js(is_open))
        self.go("pairwise")
        self.assertFalse(self.run_js(is_open))

    def test_keyboard(self) -> None:
        self.open(self.real_report(), "decide")
        body = self.browser.find_element(By.TAG_NAME, "body")
        body.send_keys(Keys.TAB)
        self.assertEqual(self.browser.switch_to.active_element.text, "To the figures")
        self.browser.switch_to.active_element.send_keys(Keys.TAB)
        self.browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
        self.browser.switch_to.active_element.send_keys(Keys.ENTER)
        self.settle()
        self.assertIn("#scaling", self.browser.current_url)
        self.go("decide")
        slider = self.browser.find_element(By.CSS_SELECTOR, "[data-key='n']")
        before = slider.get_attribute("aria-valuetext")
        slider.send_keys(Keys.ARROW_LEFT)
        self.settle()
        self.browser.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
        self.settle()
        now = self.browser.switch_to.active_element
        self.assertEqual(now.get_attribute("data-key"), "n", "it stays where one is")
        self.assertNotEqual(now.get_attribute("aria-valuetext"), before)
        self.assertIn("n=", self.browser.current_url)

    def test_dark_and_print(self) -> None:
        self.open(self.real_report(), "scaling")
        background = "return getComputedStyle(document.body).backgroundColor"
        self.assertEqual(self.browser.execute_script(background), "rgb(255, 255, 255)")
        self.browser.find_element(By.ID, "theme").click()
        self.settle()
        self.assertEqual(self.browser.execute_script(background), "rgb(20, 23, 26)")
        colours = self.browser.execute_script(
            "return mounted[0].data.datasets.map(({borderColor}) => borderColor)"
        )
        on_dark = {dark for _, dark in (*style.PALETTE.values(), style.GREY)}
        self.assertLessEqual(set(colours), on_dark)
        self.assertIn(
            "#ffffff", self.saved("SVG", "figure").partition("<path fill")[0], "paper is white"
        )
        printed = b64decode(self.browser.print_page())
        self.assertTrue(printed.startswith(b"%PDF") and len(printed) > 20_000)
        self.assertEqual(
            self.browser.execute_script(background), "rgb(20, 23, 26)", "and dark again"
        )
        self.check_quiet()

    def test_a_phone(self) -> None:
        page = self.real_report()
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": 375, "height": 800, "deviceScaleFactor": 2, "mobile": True},
        )
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})
        self.open(page)
        for name in PAGES:
            self.go(name)
            width = self.browser.execute_script("return document.documentElement.scrollWidth")
            self.assertLessEqual(width, 375, name)
        self.check_quiet()

    def test_ten_thousand_cells(self) -> None:
        generator = random.Random(4)
        sizes = [10**i for i in range(2, 7)]
        backends = [f"backend_{i}" for i in range(50)]
        entries, tails = [], []
        distributions: dict[str, Any] = {}
        for workload in (f"workload_{i}" for i in range(40)):
            for size in sizes:
                for backend in backends:
                    name = f"full/{workload}/{size}"
                    for i in range(6):
                        cost = generator.uniform(5, 5000)
                        entries.append(entry(name, backend, "exact", i, ns_per_item=cost))
                    count = {"advance_count": 1000.0, "worst_ns": generator.uniform(100, 1e6)}
                    tails.append(entry(name, backend, "exact", **count))
                    edges = sorted(generator.uniform(10, 1e5) for _ in range(40))
                    counts = [generator.randint(1, 1000) for _ in range(39)]
                    ops = {
                        column: [generator.randint(1, 10**5) for _ in range(60)]
                        for column in ("op", "max_ns", "fired", "moved")
                    }
                    histogram = {"edges": edges, "counts": counts}
                    distributions[f"{name}/{backend}"] = [{"advance": histogram, "timeline": ops}]
        folder = self.campaign(entries, passes={"tails": tails})
        (folder / "tails.distributions.json").write_text(json.dumps(distributions))
        page = self.report(folder)
        self.assertEqual(len(entries), 60_000)
        self.assertLessEqual(page.stat().st_size, 3 * 2**20)
        began = time.monotonic()
        self.open(page)
        for name in PAGES:
            self.go(name)
            self.assertNotIn("cannot be shown", self.text())
        self.assertLess(time.monotonic() - began, 60, "it hangs")
        self.check_quiet()


class BadInput(ReportTest):
    """One clear line, and nothing written."""

    def check_refused(self, *results: object, says: str) -> None:
        run = self.run_report(*results, "--out", self.folder / "never.html")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertRegex(run.stderr, says)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        self.assertEqual(list(self.folder.glob("never*")), [])

    def test_results_that_are_none(self) -> None:
        good = self.campaign(costs("quick/fill/10", "scan", "exact", 1), name="good")
        text = (good / "results.json").read_text()
        cut = self.folder / "cut"
        cut.mkdir()
        (cut / "results.json").write_text(text[: len(text) // 2])
        (self.folder / "empty").mkdir()
        foreign = self.folder / "foreign.json"
        foreign.write_text('{"benchmarks": [{"name": "BM_Sort/8", "real_time": 1}]}')
        for results, says in (
            (cut, "not a complete JSON file"),
            (self.folder / "empty", "No such file"),
            (foreign, "is not a cell"),
            (self.folder / "nowhere", "No such file"),
        ):
            self.check_refused(good, results, says=says)

    def test_figures_that_are_no_numbers(self) -> None:
        good = costs("quick/fill/10", "scan", "exact", 1)
        for name, facts, says in (
            ("a", {"inputs": [1]}, "its 'inputs' is no object of objects"),
            ("b", {"backends": {"scan": 3}}, "its 'backends' is no object of objects"),
            ("c", {"caches": [{"type": "Data"}]}, "not as scripts/bench .* write results"),
            ("d", {"limits": {"clock_ns": math.nan}}, "not as scripts/bench .* write results"),
        ):
            self.check_refused(self.campaign(good, name=name, **facts), says=says)
        good[-1]["items"] = math.nan
        self.check_refused(self.campaign(good, name="e"), says="not as scripts/bench")

    def test_results_are_not_overwritten(self) -> None:
        folder = self.campaign(costs("quick/fill/10", "scan", "exact", 1))
        before = (folder / "results.json").read_text()
        run = self.run_report(folder, "--out", folder / "results.json")
        self.assertEqual(run.returncode, 2)
        self.assertIn("is to be a page; call it results.html", run.stderr)
        self.assertEqual((folder / "results.json").read_text(), before)

    def test_passes_that_are_none(self) -> None:
        folder = self.campaign(costs("quick/fill/10", "scan", "exact", 1))
        (folder / "tails.json").write_text('{"benchmarks": [')
        self.check_refused(folder, says="tails.json: not a complete JSON file")
        (folder / "tails.json").write_text(
            json.dumps({"benchmarks": [entry("quick/fill/10", "scan", "exact", worst_ns=1)]})
        )
        (folder / "tails.distributions.json").write_text('{"quick/fill/10/scan": [{"advance": 3}]}')
        self.check_refused(folder, says="tails.distributions.json: not the distributions")
        timeline = {"op": [1, 2], "max_ns": [5], "fired": [0, 0], "moved": [0, 0]}
        (folder / "tails.distributions.json").write_text(
            json.dumps({"quick/fill/10/scan": [{"timeline": timeline}]})
        )
        self.check_refused(folder, says="tails.distributions.json: not the distributions")

    def test_a_folder_that_cannot_be_written(self) -> None:
        folder = self.campaign(costs("quick/fill/10", "scan", "exact", 1))
        (self.folder / "file").write_text("")
        run = self.run_report(folder, "--out", self.folder / "file" / "x.html")
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, r"scripts/report: .*file.*")

    def test_usage(self) -> None:
        self.assertEqual(self.run_report().returncode, 2)
        help_ = self.run_report("--help")
        self.assertEqual(help_.returncode, 0)
        self.assertIn("--out FILE", help_.stdout)


if __name__ == "__main__":
    unittest.main()
