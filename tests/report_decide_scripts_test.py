"""The report's page Decide, in a real browser: the answer for one's load, and what it rests on.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/report_decide_scripts_test.py
"""

import csv
import io
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from report_testing import ROUNDS, ReportTest, costs, load
from selenium.webdriver.common.by import By


class Decide(ReportTest):
    """What is to be used for a load."""

    def test_decide(self) -> None:
        self.open(self.report(self.generated()), "decide&load=churn/1000")
        self.assertEqual(
            self.titles(),
            [
                *("churn at 10³, exact", "churn at 10³, granular"),
                *("Without a figure", "churn at 10³, controls, not ranked"),
            ],
        )
        exact, granular, controls = self.tables()
        self.assertEqual([row[1] for row in exact[1:]], ["lazy", "heap"])
        self.assertEqual([row[0] for row in exact[1:]], ["1", "2"])
        self.assertIn("slower", exact[2])
        self.assertEqual([row[1] for row in granular[1:]], ["ring"])
        self.assertNotIn("rank", controls[0])
        self.assertIn("oak (timeout: over 5 s)", self.text())
        self.assertIn("56.0 B", exact[2])
        self.assertIn("752", exact[2])
        self.check_quiet()

    def test_decide_by_sliders_and_limits(self) -> None:
        self.open(self.report(self.generated()), "decide&never=0&n=1000")
        self.assertIn("hold, at most 10³ timers, 0 % of them cancelled or moved", self.text())
        self.assertIn("It is not yours: delays 30.0 times as short.", self.text())
        [exact] = self.tables()
        self.assertEqual([row[0] for row in exact[1:]], ["1", "1"], "they are not told apart")
        self.open(self.report(self.generated()), "decide&load=churn/1000")
        self.choose("mem", "64")
        self.assertEqual([row[1] for row in self.tables()[0][1:]], ["heap"])
        self.assertIn("lazy (its memory a timer is 300 B)", self.text())
        self.choose("tail", "10000")
        self.assertIn("ring (its memory a timer was not measured)", self.text())
        self.choose("mem", "")
        self.assertIn("ring (its longest advance is 90.0 µs)", self.text())
        self.check_quiet()

    def test_decide_by_granularity(self) -> None:
        """In granules of ten ticks of 1 ms a timer is late by up to 10 ms."""
        inputs = {"churn/1000/both": load(0.9, 1000, 3e10) | {"unit_ns": 1e6}}
        entries = [
            *costs("quick/churn/1000", "heap", "exact", 50),
            *costs("quick/churn/1000", "ring", "granular", 5),
            *costs("quick/churn/1000", "gears", "relative", 4),
        ]
        page = self.report(self.campaign(entries, inputs=inputs, granularity="10"))
        ranked = {
            "": ["heap", "ring", "gears"],
            "100000000": ["heap", "ring"],
            "10000000": ["heap", "ring"],
            "1000000": ["heap"],
            "0": ["heap"],
        }
        for late, names in ranked.items():
            self.open(page, f"decide&late={late}")
            self.assertEqual([table[1][1] for table in self.tables()], names, late)
        self.assertIn("left out, for late by up to its granule of 10 ms (ring)", self.text())
        self.assertIn("left out, for late by up to an eighth of the delay (gears)", self.text())
        self.assertIn("Measured in granules of 10 ticks (10 ms)", self.text())
        self.check_quiet()

    def test_only_exact_ones_are_ranked_though_the_granule_is_not_known(self) -> None:
        self.open(self.report(self.generated()), "decide&load=churn/1000&late=0")
        self.assertIn("left out, for late by up to a granule (ring)", self.text())
        self.assertNotIn("churn at 10³, granular", self.titles())

    def test_a_load_is_known_by_its_peak_its_moves_and_its_delays(self) -> None:
        inputs = {
            "keepalive/1000/both": load(0.0, 777, 1e9) | {"moved_share": 0.9},
            "churn/1000/both": load(0.5, 1000, 1e6),
            "hold/1000/both": load(0.5, 1000, 1e9),
        }
        entries: list[Any] = []
        for name in ("keepalive", "churn", "hold"):
            entries += costs(f"quick/{name}/1000", "heap", "exact", 5)
        page = self.report(self.campaign(entries, inputs=inputs))
        self.open(page, "decide&load=keepalive/1000")
        self.assertIn(
            "keepalive, at most 777 timers, 90.0 % of them cancelled or moved", self.text()
        )
        for delay, name in (("1000000", "churn"), ("1000000000", "hold")):
            self.open(page, f"decide&n=1000&never=50&delay={delay}")
            self.assertIn(f"nearest load that was measured: {name}, at most 10³", self.text())
            self.assertIn("That is yours.", self.text())
        self.go("map")
        self.assertEqual(
            [row[:2] for row in self.tables()[0][1:]],
            [["churn", "50.0 %"], ["hold", "50.0 %"], ["keepalive", "90.0 %"]],
        )

    def test_decide_without_knowing_the_loads(self) -> None:
        entries = [
            *costs("quick/churn/1000", "heap", "exact", 5),
            *costs("quick/churn/100000", "heap", "exact", 50),
        ]
        page = self.report(self.campaign(entries))
        for timers, found in ((2000, "10³"), (30_000, "10⁵")):
            self.open(page, f"decide&n={timers}")
            self.assertIn(
                f"nearest load that was measured: churn, at most {found} timers.", self.text()
            )
        self.assertIn("does not say how many timers are cancelled", self.text())
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "[data-key='never']"), [])

    def test_a_load_is_that_of_backends_in_this_process(self) -> None:
        inputs = {
            "churn/1000/local": load(0.9, 1000, 3e10),
            "churn/1000/remote": load(0.1, 30, 3e10),
        }
        folder = self.campaign(costs("quick/churn/1000", "heap", "exact", 5), inputs=inputs)
        self.open(self.report(folder), "decide")
        self.assertIn("churn, at most 10³ timers, 90.0 % of them cancelled", self.text())

    def test_baselines(self) -> None:
        self.open(self.report(self.generated()), "decide&load=churn/1000&b=ring")
        exact, granular, _ = self.tables()
        heap = next(row for row in exact if row[1] == "heap")
        self.assertRegex(heap[3], r"×(9|10)\.?\d* \[.+ – .+\]")
        self.assertIn("the baseline", granular[1])
        self.go("scaling")
        self.choose("b", "lazy")
        [rows] = self.tables()
        ratios = {(row[0], row[1]): row[4] for row in rows[1:]}
        self.assertRegex(ratios["10³", "heap"], r"×2\.\d\d \[2\.\d\d – 2\.\d\d\]")
        self.assertEqual(ratios["10³", "oak"], "–")
        self.check_quiet()

    def test_what_is_far_from_ones_load_is_said(self) -> None:
        self.open(self.report(self.generated()), "decide&n=50000&never=95&delay=30000000000")
        self.assertIn(
            "It is not yours: 2.00 times as many timers; 100 % instead of 95.0 % cancelled or moved.",
            self.text(),
        )
        self.open(self.report(self.generated()), "decide&n=1000000&never=100&delay=30000000000")
        self.assertIn("It is not yours: 10.0 times as few timers.", self.text())
        self.open(self.report(self.generated()), "decide&n=1000&never=100&delay=30000000000")
        self.assertIn("That is yours.", self.text())

    def test_a_single_operation_is_no_load(self) -> None:
        entries = [
            *costs("quick/cancel/1000", "heap", "exact", 5),
            *costs("quick/churn/1000", "heap", "exact", 50),
        ]
        for one in entries[:ROUNDS]:
            one["label"] = "exact, per cancel"
        page = self.report(self.campaign(entries))
        self.open(page, "decide&n=1000")
        self.assertIn("nearest load that was measured: churn", self.text())
        self.choose("load", "cancel/1000")
        self.assertIn("It is a part of a load: a single kind of operation.", self.text())
        self.go("map")
        self.assertEqual([row[0] for row in self.tables()[0][1:]], ["churn"])
        self.browser.find_element(By.CSS_SELECTOR, "[data-key='parts']").click()
        self.settle()
        self.assertEqual([row[0] for row in self.tables()[0][1:]], ["cancel", "churn"])

    def test_a_baseline_without_a_figure(self) -> None:
        self.open(self.report(self.generated()), "decide&load=churn/1000&b=oak")
        self.assertIn("oak has no figure on this load to compare with", self.text())
        self.assertEqual([row[3] for row in self.tables()[0][1:]], ["–", "–"])
        rows = list(csv.DictReader(io.StringIO(self.saved("CSV", "figure"))))
        self.assertEqual([row["ratio"] for row in rows], ["", ""])

    def test_marks_of_doubt(self) -> None:
        entries = costs("quick/churn/1000", "heap", "exact", 5)
        few = costs("quick/churn/1000", "few", "exact", 50)
        for one in few:
            one["items"] = 20.0
        few[3]["status"] = "noisy"
        self.open(self.report(self.campaign(entries + few)), "decide")
        self.assertEqual([row[1] for row in self.tables()[0][1:]], ["heap", "few † ‡"])

    def test_noise_keeps_apart_what_is_no_more_than_that(self) -> None:
        name = "quick/churn/1000"
        entries = [
            *costs(name, "heap", "exact", 100, 0.001),
            *costs(name, "lazy", "exact", 105, 0.001),
            *costs(name, "heap@again", "exact", 110, 0.001),
        ]
        page = self.report(self.campaign(entries))
        self.open(page, "decide")
        self.assertEqual([row[0] for row in self.tables()[0][1:]], ["1", "1"])
        self.assertIn("unresolved", self.tables()[0][2])
        self.go("map")
        self.assertEqual(self.tables()[0][1][5], "lazy")


if __name__ == "__main__":
    unittest.main()
