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

from report_testing import ROUNDS, ReportTest, costs, entry, load
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


class Decide(ReportTest):
    """What is to be used for a load."""

    def answers(self) -> dict[str, str]:
        """By the condition, the sentences above the controls."""
        answers: dict[str, str] = self.run_js(
            "Object.fromEntries([...document.querySelectorAll('.answers section')].map((section) =>"
            " [section.querySelector('h3').textContent, section.querySelector('p').textContent]))"
        )
        return answers

    def answer(self, page: Path, address: str = "decide") -> str:
        """All that stands above the controls."""
        self.open(page, address)
        return str(self.run_js("document.querySelector('.answer').textContent"))

    def test_the_answer_comes_first(self) -> None:
        text = self.answer(self.report(self.generated()), "decide&load=churn/1000")
        self.assertIn("For churn at 10³: 1\u202f000 timers, 100 % of them cancelled", text)
        self.assertEqual(
            self.answers(),
            {
                "If a granule late is fine": "ring: 10.0 ns per request. "
                "At 100\u202f000 operations a second that is 0.10 % of a core.",
                "If no timer may be late": "lazy: 40.1 ns per request, 300 B a timer. "
                "At 100\u202f000 operations a second that is 0.40 % of a core; "
                "1\u202f000 timers take 0.30 MB.",
            },
        )
        tops = self.run_js(
            "[...document.querySelectorAll('.answers section'), document.querySelector('.controls'),"
            " document.querySelector('#page figure')].map((one) => one.getBoundingClientRect().top)"
        )
        self.assertEqual(tops[0], tops[1], "side by side")
        self.assertEqual(tops[1:], sorted(tops[1:]))
        self.check_quiet()

    def test_tied_ones_are_named_together(self) -> None:
        entries: list[Any] = []
        for i in range(5):
            entries += costs("quick/churn/1000", f"heap{i}", "exact", 50 + i / 100)
        self.answer(self.report(self.campaign(entries)))
        [sentence] = self.answers().values()
        self.assertRegex(sentence, r"^heap\d, heap\d, heap\d and 2 more \(tied\): \d+\.\d to \d+\.\d ns")

    def test_the_rate_and_the_number_of_timers_are_told_in_core_and_memory(self) -> None:
        page = self.report(self.generated())
        self.answer(page, "decide&n=1000&never=100&delay=30000000000&rate=5000000")
        exact = self.answers()["If no timer may be late"]
        self.assertIn("At 5\u202f000\u202f000 operations a second that is 20.0 % of a core", exact)
        self.assertIn("1\u202f000 timers take 0.30 MB", exact)

    def test_a_load_between_two_sizes_is_answered_at_both(self) -> None:
        page = self.report(self.generated())
        text = self.answer(page, "decide&n=50000&never=100&delay=30000000000")
        self.assertIn("For churn at 10³ and 10⁵, the nearest to yours that was measured:", text)
        self.assertIn("lazy: 40.1 ns at 10³, 120 ns at 10⁵ per request", text)
        self.assertIn(
            "Not yours: 1\u202f000 and 100\u202f000 timers instead of 50\u202f000. Nothing", text
        )
        self.assertIn("churn at 10³, exact", self.titles())
        self.assertIn("churn at 10⁵, exact", self.titles())

    def test_the_best_differs_by_size(self) -> None:
        entries: list[Any] = []
        for size, heap, lazy in ((1000, 10, 50), (100_000, 500, 50)):
            entries += costs(f"quick/churn/{size}", "heap", "exact", heap)
            entries += costs(f"quick/churn/{size}", "lazy", "exact", lazy)
        self.answer(self.report(self.campaign(entries)), "decide&n=10000")
        [sentence] = self.answers().values()
        self.assertRegex(sentence, r"^at 10³ heap: \S+ ns; at 10⁵ lazy: \S+ ns per request\.")

    def test_numbers_can_be_typed(self) -> None:
        page = self.report(self.generated())
        self.open(page, "decide")
        for key, typed, kept in (
            ("n", "200k", "n=200000"),
            ("delay", "1.5 min", "delay=90000000000"),
            ("never", "99.5 %", "never=99.5"),
            ("rate", "2e6", "rate=2000000"),
        ):
            self.type(key, typed)
            self.assertIn(kept, self.browser.current_url)
        text = self.run_js("document.querySelector('.answer').textContent")
        self.assertIn("instead of 200\u202f000", text)
        address = self.browser.current_url
        self.type("n", "many")
        self.assertEqual(self.browser.current_url, address, "what is not understood changes nothing")
        field = self.browser.find_element(By.CSS_SELECTOR, "[data-key='n:typed']")
        self.assertEqual(field.get_attribute("aria-invalid"), "true")
        self.type("never", "101")
        self.assertEqual(self.browser.current_url, address)

    def type(self, key: str, text: str) -> None:
        field = self.browser.find_element(By.CSS_SELECTOR, f"[data-key='{key}:typed']")
        field.clear()
        field = self.browser.find_element(By.CSS_SELECTOR, f"[data-key='{key}:typed']")
        self.browser.execute_script("arguments[0].value = ''", field)
        field.send_keys(text, Keys.ENTER)
        self.settle()

    def test_delays_on_both_sides_of_a_level_are_not_alike(self) -> None:
        """256² ticks of 1 ms are 65.5 s, and so is one round of 65 536."""
        inputs = {"idle/1000/both": load(1.0, 1000, 66e9) | {"unit_ns": 1e6}}
        names = {"kafka_wheel_256": "granular", "ring_65536": "granular", "heap": "exact"}
        entries = [
            one
            for name, precision in names.items()
            for one in costs("quick/idle/1000", name, precision, 5)
        ]
        page = self.report(self.campaign(entries, inputs=inputs))
        for delay, differs in ((64.5, True), (65.4, True), (66.0, False), (67.0, False)):
            text = self.answer(page, f"decide&n=1000&never=100&delay={delay * 1e9:.0f}")
            said = "a level of kafka_wheel_256 and ring_65536 ends, at 65.5 s" in text
            self.assertEqual((said, "Not yours" in text), (differs, differs), delay)

    def test_the_command_for_exactly_the_load(self) -> None:
        idle = load(0.99, 100_000, 75e9) | {"parameters": {"timeout": "75s", "size": 100_000}}
        hold = load(0.0, 100_000, 7e9) | {"parameters": {"delay": "exponential 10s"}}
        inputs = {"idle_connections/100000/both": idle, "hold_short/100000/both": hold}
        entries = [
            *costs("full/idle_connections/100000", "heap", "exact", 5),
            *costs("full/hold_short/100000", "heap", "exact", 5),
        ]
        page = self.report(self.campaign(entries, inputs=inputs))
        for address, command in (
            ("n=200000&never=99&delay=60000000000", "idle_connections --set timeout=60s --sizes=200k"),
            ("n=123456&never=99&delay=75000000000", "idle_connections --set timeout=75s --sizes=123456"),
            (
                "n=100000&never=50&delay=60000000000",
                "requests --set timeout='constant 60s' --set latency='uniform 1ms 2min' --sizes=100k",
            ),
            (
                "n=100000&never=0&delay=60000000000",
                "hold_short --set delay='exponential 86562ms' --sizes=100k",
            ),
        ):
            text = self.answer(page, f"decide&{address}")
            self.assertIn(f"build/release/timerbench run --workloads={command}", text)

    def test_a_workload_that_a_suite_has_made_is_named_by_its_generator(self) -> None:
        """bench/suites/map.toml has requests_50."""
        inputs = {"requests_50/1000/both": load(0.5, 1000, 30e9) | {"parameters": {"latency": "x"}}}
        folder = self.campaign(costs("map/requests_50/1000", "heap", "exact", 5), inputs=inputs)
        text = self.answer(self.report(folder))
        self.assertIn(
            "--workloads=requests --set timeout='constant 30s' --set latency='uniform 1ms 60s'", text
        )

    def test_what_to_do_with_the_answer(self) -> None:
        """From the headers of this tree, whatever the results are."""
        entries = costs("quick/churn/1000", "kafka_wheel_256", "granular", 5)
        entries += costs("quick/churn/1000", "mine", "exact", 5)
        text = self.answer(self.report(self.campaign(entries)))
        for said in (
            "impls/queues/kafka_wheel.h, follows Kafka SystemTimer",
            "a cascade moves a whole bucket",
            "locked_kafka_wheel_256",
            "not in this tree",
        ):
            self.assertIn(said, text)

    def test_links_lead_to_the_same_load(self) -> None:
        self.open(self.report(self.generated()), "decide&load=churn/1000")
        link = "#page a[href='#tails&w=churn&s=1000']"
        self.browser.find_element(By.CSS_SELECTOR, link).click()
        self.settle()
        self.assertIn("churn at 10³: durations of advance", self.titles())
        self.browser.back()
        self.settle()
        self.assertIn("lazy: 40.1 ns", self.text())

    def test_a_long_advance_is_the_caveat(self) -> None:
        entries = costs("quick/churn/1000", "ring", "granular", 5)
        tails = [
            entry("quick/churn/1000", "ring", "granular", worst_ns=286e3, worst_moved=20_000.0)
        ]
        text = self.answer(self.report(self.campaign(entries, passes={"tails": tails})))
        self.assertIn(
            "Caveat: one advance of ring took 286 µs at 10³ timers, which moved 20\u202f000 timers.", text
        )

    def test_tables(self) -> None:
        self.open(self.report(self.generated()), "decide&load=churn/1000")
        granular, exact, controls = self.tables()
        self.assertEqual(
            [title for title in self.titles() if title.startswith("churn at 10³, ")],
            ["churn at 10³, granular", "churn at 10³, exact", "churn at 10³, controls, not ranked"],
        )
        self.assertEqual([row[1] for row in exact[1:]], ["lazy", "heap"])
        self.assertEqual([row[0] for row in exact[1:]], ["1", "2"])
        self.assertIn("slower", exact[2])
        self.assertEqual([row[1] for row in granular[1:]], ["ring"])
        self.assertNotIn("rank", controls[0])
        self.assertIn("oak (timeout: over 5 s)", self.text())
        self.assertIn("56.0 B", exact[2])
        self.assertIn("752", exact[2])
        self.check_quiet()

    def test_each_round_is_a_dot(self) -> None:
        entries = costs("quick/churn/1000", "heap", "exact", 100)
        self.open(self.report(self.campaign(entries)), "decide")
        medians, rounds = self.run_js("mounted[0].data.datasets.map(({data}) => data)")
        self.assertEqual(len(medians), 1)
        self.assertEqual(
            sorted(point["x"] for point in rounds),
            sorted(float(f"{one['ns_per_item']:.7g}") for one in entries),
        )

    def test_limits(self) -> None:
        self.open(self.report(self.generated()), "decide&never=0&n=1000")
        self.assertIn("Not yours: delays of 1 s instead of 30 s", self.text())
        [exact] = self.tables()
        self.assertEqual([row[0] for row in exact[1:]], ["1", "1"], "they are not told apart")
        self.open(self.report(self.generated()), "decide&load=churn/1000")
        self.choose("mem", "64")
        exact, _ = self.tables()
        self.assertEqual([row[1] for row in exact[1:]], ["heap"])
        self.assertIn("lazy (its memory a timer is 300 B)", self.text())
        self.choose("tail", "10000")
        self.assertIn("ring (its memory a timer was not measured)", self.text())
        self.choose("mem", "")
        self.assertIn("ring (its longest advance is 90.0 µs)", self.text())
        self.check_quiet()

    def test_what_shows_as_the_limit_is_within_it(self) -> None:
        name = "quick/churn/1000"
        entries = costs(name, "heap", "exact", 5) + costs(name, "lazy", "exact", 50)
        memory = [
            entry(name, "heap", "exact", bytes_per_timer=32.04),
            entry(name, "lazy", "exact", bytes_per_timer=32.06),
        ]
        folder = self.campaign(entries, passes={"memory": memory})
        self.open(self.report(folder), "decide&mem=32")
        self.assertIn("heap: 5.0", self.answers()["If no timer may be late"])
        self.assertIn("lazy (its memory a timer is 32.1 B)", self.text())

    def test_decide_by_granularity(self) -> None:
        """Granules of ten ticks of 1 ms add up to 9 ms to what any timer waits for its tick."""
        inputs = {"churn/1000/both": load(0.9, 1000, 3e10) | {"unit_ns": 1e6}}
        entries = [
            *costs("quick/churn/1000", "heap", "exact", 50),
            *costs("quick/churn/1000", "ring", "granular", 5),
            *costs("quick/churn/1000", "gears", "relative", 4),
        ]
        page = self.report(self.campaign(entries, inputs=inputs, granularity="10"))
        ranked = {
            "": ["ring", "gears", "heap"],
            "100000000": ["ring", "heap"],
            "10000000": ["ring", "heap"],
            "1000000": ["heap"],
            "0": ["heap"],
        }
        for late, names in ranked.items():
            self.open(page, f"decide&late={late}")
            self.assertEqual([table[1][1] for table in self.tables()], names, late)
        self.assertIn("left out, for late by up to its granule of 10 ms (ring)", self.text())
        self.assertIn("left out, for late by up to an eighth of the delay (gears)", self.text())
        self.assertIn("Measured in granules of 10 ticks (10 ms)", self.whole_text())
        self.check_quiet()

    def test_in_granules_of_one_tick_granular_ones_are_as_exact_as_any(self) -> None:
        """Whether the length of a tick is known or not."""
        for inputs in ({}, {"churn/1000/both": load(0.9, 1000, 3e10) | {"unit_ns": 1e6}}):
            entries = [
                *costs("quick/churn/1000", "heap", "exact", 50),
                *costs("quick/churn/1000", "ring", "granular", 5),
            ]
            self.open(self.report(self.campaign(entries, inputs=inputs)), "decide&late=0")
            self.assertIn("churn at 10³, granular", self.titles())
            self.assertNotIn("left out", self.text())
            self.assertIn("a granular backend is as exact as any here", self.whole_text())

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
        text = self.answer(page, "decide&load=keepalive/1000")
        self.assertIn("keepalive at 10³: 777 timers, 90 % of them cancelled or moved", text)
        for delay, name in (("1000000", "churn"), ("1000000000", "hold")):
            text = self.answer(page, f"decide&n=1000&never=50&delay={delay}")
            self.assertIn(f"For {name} at 10³: 1\u202f000 timers", text)
            self.assertIn("That is yours, and was measured.", text)
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
        text = self.answer(page, "decide&n=2000")
        self.assertIn("For churn at 10³ and 10⁵, the nearest to yours", text)
        self.assertIn("does not say how many timers are cancelled", text)
        self.assertIn("run --workloads=churn --sizes=2k", text)
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "[data-key='never']"), [])

    def test_a_load_is_that_of_backends_in_this_process(self) -> None:
        inputs = {
            "churn/1000/local": load(0.9, 1000, 3e10),
            "churn/1000/remote": load(0.1, 30, 3e10),
        }
        folder = self.campaign(costs("quick/churn/1000", "heap", "exact", 5), inputs=inputs)
        text = self.answer(self.report(folder))
        self.assertIn("churn at 10³: 1\u202f000 timers, 90 % of them cancelled", text)

    def test_baselines(self) -> None:
        self.open(self.report(self.generated()), "decide&load=churn/1000&b=heap")
        _, exact, controls = self.tables()
        lazy = next(row for row in exact if row[1] == "lazy")
        self.assertRegex(lazy[3], r"×0\.\d+ \[.+ – .+\]")
        self.assertEqual(lazy[4], "faster")
        self.assertIn("the baseline", exact[2])
        self.go("scaling")
        self.choose("b", "lazy")
        [rows] = self.tables()
        ratios = {(row[0], row[1]): row[4] for row in rows[1:]}
        self.assertRegex(ratios["10³", "heap"], r"×2\.\d\d \[2\.\d\d – 2\.\d\d\]")
        self.assertEqual(ratios["10³", "oak"], "–")
        self.check_quiet()

    def test_none_is_judged_by_a_baseline_of_another_precision(self) -> None:
        self.open(self.report(self.generated()), "decide&load=churn/1000&b=heap")
        granular, exact, controls = self.tables()
        for [row] in (granular[1:], controls[1:]):
            self.assertRegex(" ".join(row), r"×0\.\d+ \[.+ – .+\] of another precision")
        greens = self.run_js("[...document.querySelectorAll('#page .faster')].length")
        self.assertEqual(greens, 1, "lazy alone, which is exact too")
        self.open(self.report(self.generated()), "pairwise&b=heap&b2=ring")
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "figure .faster"), [])
        faint = self.run_js("themeOf().faint")
        colours = self.run_js("mounted[0].data.datasets[0].pointBackgroundColor")
        self.assertEqual(set(colours), {faint})

    def test_what_is_far_from_ones_load_is_said(self) -> None:
        page = self.report(self.generated())
        text = self.answer(page, "decide&n=1000&never=95&delay=30000000000")
        self.assertIn("Not yours: 100 % instead of 95 % cancelled or moved. Nothing", text)
        text = self.answer(page, "decide&n=1000000&never=100&delay=30000000000")
        self.assertIn("Not yours: 100\u202f000 timers instead of 1\u202f000\u202f000.", text)
        text = self.answer(page, "decide&n=1000&never=100&delay=32000000000")
        self.assertIn("Not yours: delays of 30 s instead of 32 s.", text)
        text = self.answer(page, "decide&n=1000&never=100&delay=30000000000")
        self.assertIn("That is yours, and was measured.", text)

    def test_a_single_operation_is_no_load(self) -> None:
        entries = [
            *costs("quick/cancel/1000", "heap", "exact", 5),
            *costs("quick/churn/1000", "heap", "exact", 50),
        ]
        for one in entries[:ROUNDS]:
            one["label"] = "exact, per cancel"
        page = self.report(self.campaign(entries))
        self.assertIn("For churn at 10³", self.answer(page, "decide&n=1000"))
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
        self.assertEqual([row[3] for row in self.tables()[1][1:]], ["–", "–"])
        rows = list(csv.DictReader(io.StringIO(self.saved("CSV", "figure"))))
        self.assertEqual([row["ratio"] for row in rows], [""])

    def test_marks_of_doubt(self) -> None:
        entries = costs("quick/churn/1000", "heap", "exact", 5)
        few = costs("quick/churn/1000", "few", "exact", 50)
        for one in few:
            one["items"] = 20.0
        few[3]["status"] = "noisy"
        self.open(self.report(self.campaign(entries + few)), "decide")
        self.assertEqual([row[1] for row in self.tables()[0][1:]], ["heap", "few † ‡"])
        self.assertIn("† measured over fewer operations. ‡ disturbed in a round.", self.text())

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
