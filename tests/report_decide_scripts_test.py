"""The report's page Decide, in a real browser: the answer for one's load, and what it rests on.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/report_decide_scripts_test.py
"""

import csv
import io
import json
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from report_testing import PAGES, ROUNDS, ReportTest, costs, entry, failed, load
from scripts_testing import ROOT
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import published
from page import heads
from page.contents import contents


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
                "100\u202f000 a second take 0.10 % of a core.",
                "If no timer may be late": "lazy: 40.1 ns per request, 300 B a timer. "
                "100\u202f000 a second take 0.40 % of a core; "
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
        self.assertRegex(
            sentence, r"^heap\d, heap\d, heap\d and 2 more \(tied\): \d+\.\d to \d+\.\d ns"
        )

    def test_the_rate_and_the_number_of_timers_are_told_in_core_and_memory(self) -> None:
        page = self.report(self.generated())
        self.answer(page, "decide&n=1000&never=100&delay=30000000000&rate=5000000")
        exact = self.answers()["If no timer may be late"]
        self.assertIn("5\u202f000\u202f000 a second take 20.0 % of a core", exact)
        self.assertIn("1\u202f000 timers take 0.30 MB", exact)

    def test_a_load_between_two_sizes_is_answered_at_both(self) -> None:
        page = self.report(self.generated())
        text = self.answer(page, "decide&n=50000&never=100&delay=30000000000")
        self.assertIn("For churn at 10³ and 10⁵, the measured load that is nearest to yours:", text)
        self.assertIn("lazy: 40.1 ns at 10³, 120 ns at 10⁵ per request", text)
        self.assertIn(
            "Your load differs: 1\u202f000 and 100\u202f000 timers instead of 50\u202f000. Nothing",
            text,
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
        self.assertEqual(
            self.browser.current_url, address, "what is not understood changes nothing"
        )
        field = self.browser.find_element(By.CSS_SELECTOR, "[data-key='n:typed']")
        self.assertEqual(field.get_attribute("aria-invalid"), "true")
        self.assertIn("Not understood; write 200k.", self.text())
        for key, typed, advice in (
            ("never", "101", "write 99 %"),
            ("never", "0.99", "write 99 %"),  # a share or per cent?
            ("delay", "60", "write 60s or 15ms"),
        ):
            self.type(key, typed)
            self.assertEqual(self.browser.current_url, address)
            self.assertIn(advice, self.text())
        self.type("never", "0.5 %")
        self.assertIn("never=0.5", self.browser.current_url)

    def test_a_load_that_is_named_shows_its_numbers_until_one_is_changed(self) -> None:
        self.open(self.report(self.generated()), "decide&n=7&never=3&delay=5")
        self.choose("load", "hold/1000")
        fields = (
            "['n', 'never', 'delay'].map((key) =>"
            " document.querySelector(`[data-key='${key}:typed']`).value)"
        )
        self.assertEqual(self.run_js(fields), ["1\u202f000", "0 %", "1 s"])
        self.type("n", "2k")
        self.assertEqual(self.run_js(fields), ["2k", "0 %", "1 s"])
        self.assertNotIn("load=", self.browser.current_url)
        self.assertIn("1\u202f000 timers instead of 2\u202f000", self.text())

    def test_what_is_typed_can_be_read(self) -> None:
        self.open(self.report(self.generated()), "decide&n=100000000&rate=100000000")
        hidden = self.run_js(
            "[...document.querySelectorAll('.measure input[type=text]')]"
            ".filter((field) => field.scrollWidth > field.clientWidth).map((field) => field.value)"
        )
        self.assertEqual(hidden, [])

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
            self.assertEqual((said, "Your load differs" in text), (differs, differs), delay)

    def test_libraries_are_ranked_after_own_code(self) -> None:
        names = {
            "libev": "exact library",
            "heap": "exact",
            "library_wheel": "granular library",
            "wheel": "granular",
        }
        entries = [
            one
            for name, precision in names.items()
            for one in costs("quick/idle/1000", name, precision, 5)
        ]
        page = self.report(self.campaign(entries, inputs={"idle/1000/both": load(1.0, 1000, 7e9)}))
        self.open(page, "decide&load=idle/1000")
        columns = self.browser.find_elements(By.CSS_SELECTOR, ".answers section")
        self.assertEqual(
            [column.text.splitlines()[0] for column in columns],
            [
                "If a granule late is fine",
                "If no timer may be late",
                "Of the libraries, if a granule late is fine",
                "Of the libraries, if no timer may be late",
            ],
        )
        self.assertIn("libev: 5", columns[3].text)
        self.assertNotIn("\nService\n", columns[3].text)  # none is made of a library
        self.assertIn("\nService\n", columns[1].text)
        said = self.run_js("document.querySelector('.answer').textContent")
        self.assertIn("build/peers/timerbench run", said)

    def test_what_the_library_that_one_uses_is_enough_for(self) -> None:
        entries: list[Any] = []
        for size, library, own in ((1000, 50.0, 5.0), (100_000, 400.0, 16.0)):
            entries += costs(f"peers/churn/{size}", "libuv", "exact library", library)
            entries += costs(f"peers/churn/{size}", "calendar", "exact", own)
            entries += costs(f"peers/churn/{size}", "wheel", "granular", own / 2)
        page = self.report(self.campaign(entries))
        address = "decide&load=churn/100000&rate=100000"
        self.assertNotIn("You use", self.answer(page, address))
        self.assertIn(
            "You use libuv: 1 % of a core pays for 200\u202f000 a second at 10³, "
            "25\u202f000 a second at 10⁵. Your 100\u202f000 take less at 10³ timers, where it is "
            "enough. At 10⁵ calendar, which is as punctual, takes 0.16 % of a core instead of 4.01 %: "
            "25 times cheaper.",
            self.answer(page, f"{address}&use=libuv"),
        )
        self.assertIn(
            "it is enough", self.answer(page, "decide&load=churn/100000&rate=1000&use=libuv")
        )
        self.assertIn(
            "take more at every measured size",
            self.answer(page, "decide&load=churn/100000&rate=1000000&use=libuv"),
        )
        self.check_quiet()

    def test_a_library_without_a_figure_is_not_enough(self) -> None:
        entries = [
            *costs("peers/churn/1000", "glib", "exact library", 138.0),
            failed("peers/churn/100000", "glib", "timeout: over 5 s"),
            failed("peers/churn/1000000", "glib", "skipped: timed out at a smaller size"),
        ]
        for size in (1000, 100_000, 1_000_000):
            entries += costs(f"peers/churn/{size}", "calendar", "exact", 5)
        page = self.report(self.campaign(entries))
        self.assertIn(
            "You use glib: 1 % of a core pays for 72\u202f000 a second at 10³; without a figure: "
            "10⁵ (timeout), 10⁶ (skipped). Your 50\u202f000 take less at 10³ timers, where it is "
            "enough.",
            self.answer(page, "decide&load=churn/1000000&rate=50000&use=glib"),
        )

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
            (
                "n=200000&never=99&delay=60000000000",
                "idle_connections --set timeout=60s --sizes=200k",
            ),
            (
                "n=123456&never=99&delay=75000000000",
                "idle_connections --set timeout=75s --sizes=123456",
            ),
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

    def test_the_commands_run(self) -> None:
        """Of each load that was published, for others than itself."""
        self.open(self.report(published.latest(published.MAIN)))
        commands = self.run_js(
            """loadsOf(CAMPAIGNS[0]).filter(({share}) => share !== null).flatMap((load) =>
              [[1, load.share], [1.37, load.share], [0.8, 0.5], [1, 0], [1, 1]].map(([times, share]) =>
                commandFor(load, {population: 2345, share, delay: load.delay * times})))"""
        )
        self.assertGreater(len(set(commands)), 20)
        for command in set(commands):
            program, *arguments = shlex.split(command)
            run = subprocess.run(
                [ROOT / program, *arguments, "--benchmark_list_tests"],
                capture_output=True,
                text=True,
            )
            self.assertEqual((run.returncode, run.stderr), (0, ""), command)
            self.assertIn("/2345/lazy_heap", run.stdout, command)

    def test_a_workload_that_a_suite_has_made_is_named_by_its_generator(self) -> None:
        """bench/suites/events.toml has hold_uniform, and map.toml requests_50."""
        for workload, share, parameters, command in (
            (
                *("hold_uniform", 0.0, {"delay": "uniform 1ms 20s"}),
                "hold --set delay='uniform 1ms 20s'",
            ),
            (
                *("requests_50", 0.5, {"latency": "uniform 1ms 60s"}),
                "requests --set timeout='constant 30s' --set latency='uniform 1ms 60s'",
            ),
        ):
            inputs = {f"{workload}/1000/both": load(share, 1000, 30e9) | {"parameters": parameters}}
            entries = costs(f"own/{workload}/1000", "heap", "exact", 5)
            text = self.answer(self.report(self.campaign(entries, inputs=inputs)))
            self.assertIn(f"--workloads={command} --sizes=1k", text)

    def test_what_to_do_with_the_answer(self) -> None:
        """From the headers of this tree, whatever the results are."""
        entries = costs("quick/churn/1000", "kafka_wheel_256", "granular", 5)
        entries += costs("quick/churn/1000", "mine", "exact", 5)
        text = self.answer(self.report(self.campaign(entries)))
        for said in (
            "impls/queues/kafka_wheel.h, follows Kafka SystemTimer",
            "a cascade moves a whole bucket",
            "locked_kafka_wheel_256",
            "none in this tree",
        ):
            self.assertIn(said, text)

    def test_what_is_unfolded_stays_so_when_a_choice_changes(self) -> None:
        entries = costs("quick/churn/1000", "kafka_wheel_256", "granular", 5)
        self.open(self.report(self.campaign(entries)), "decide")
        fold = "document.querySelector('#page details.use')"
        for is_open in (False, True):
            self.browser.execute_script(f"{fold}.open = {str(is_open).lower()}")
            self.type("n", "2k" if is_open else "3k")
            self.assertEqual(self.browser.execute_script(f"return {fold}.open"), is_open)

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
            "Caveat: a call in your program takes longer: a replay overlaps neighbouring operations. "
            "One advance of ring took 286 µs at 10³ timers, which moved 20\u202f000 timers.",
            text,
        )

    def test_too_few_rounds_are_told_and_what_helps(self) -> None:
        """Rounds that took too long were tried: no command makes more of them."""
        note = "document.querySelector('.sureness')?.textContent ?? ''"
        entries: list[Any] = []
        for size in (1000, 100_000):
            for name in ("heap", "lazy", "oak"):
                entries += costs(f"quick/churn/{size}", name, "exact", 5)
            entries += costs(f"quick/churn/{size}", "ring", "granular", 5)[:3]
        late = failed("quick/churn/1000", "oak", "timeout: over 5 s")
        late_in = {4, 5, 6, 7, 8}
        some_late = [
            late | {"round": one["round"], "repetition_index": one["round"]}
            if "/1000/oak" in one["name"] and one["round"] in late_in
            else one
            for one in entries
        ]
        page = self.report(self.campaign(some_late))
        told = (
            "How sure: the order of the exact backends{} is not yet sure: oak took too long in some "
            "rounds, which leaves 5 of 10, and to rank 3 backends takes 7. The filter can leave out "
            "what is so late, and the order of the others is sure."
        )
        for address, where in (("decide&load=churn/1000", ""), ("map", " on 1 of 2 loads")):
            self.open(page, address)
            self.assertEqual(self.run_js(note), told.format(where))
            self.assertNotIn("--rounds", self.run_js(note))
        for address in ("decide&load=churn/100000", "map&only=heap,lazy"):
            self.open(page, address)
            self.assertEqual(self.run_js(note), "", address)

        few = [one for one in entries if one["round"] < 6]
        command = "scripts/bench quick --sizes=1k,100k --rounds=6"
        page = self.report(self.campaign(few, command=command))
        for address, where in (("decide&load=churn/1000", ""), ("map", " on 2 of 2 loads")):
            self.open(page, address)
            self.assertEqual(
                self.run_js(note),
                f"How sure: the order of the exact backends{where} is not yet sure: there are "
                "6 rounds, and to rank 3 backends takes 7."
                "Measure morescripts/bench quick --sizes=1k,100k --rounds=7",
            )
            self.assertNotIn("scripts/bench quick --sizes=1k,100k --rounds=7", self.text())
        self.check_quiet()

    def test_the_same_caveat_however_many_rounds_there_are(self) -> None:
        entries = costs("quick/churn/1000", "heap", "exact", 5)
        entries += costs("quick/churn/1000", "lazy", "exact", 5)
        for some in (entries, [one for one in entries if one["round"] < 2]):
            text = self.answer(self.report(self.campaign(some)))
            self.assertIn("Caveat: a call in your program takes longer", text)

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
        self.assertIn("Your load differs: delays of 1 s instead of 30 s", self.text())
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
        self.assertIn("left out, for late by up to 8/63 of the delay (gears)", self.text())
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
            self.assertIn("Your load was measured.", text)
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
        self.assertIn("For churn at 10³ and 10⁵, the measured load that is nearest to yours", text)
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
        self.assertIn("Your load differs: 100 % instead of 95 % cancelled or moved. Nothing", text)
        text = self.answer(page, "decide&n=1000000&never=100&delay=30000000000")
        self.assertIn(
            "Your load differs: 100\u202f000 timers instead of 1\u202f000\u202f000.", text
        )
        text = self.answer(page, "decide&n=1000&never=100&delay=32000000000")
        self.assertIn("Your load differs: delays of 30 s instead of 32 s.", text)
        text = self.answer(page, "decide&n=1000&never=100&delay=30000000000")
        self.assertIn("Your load was measured.", text)

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
        self.assertIn("† over fewer operations. ‡ disturbed in a round.", self.text())

    def test_a_figure_that_a_round_has_missed_is_marked(self) -> None:
        entries = costs("quick/churn/1000", "heap", "exact", 5)
        entries += costs("quick/churn/1000", "late", "exact", 50)
        entries[-1] = failed("quick/churn/1000", "late", "timeout: over 5 s")
        page = self.report(self.campaign(entries))
        self.open(page, "decide")
        self.assertEqual([row[1] for row in self.tables()[0][1:]], ["heap", "late §"])
        self.assertIn("§ took too long in a round.", self.text())
        title = "document.querySelector('#page td span[title^=timeout]').title"
        self.assertEqual(self.run_js(title), "timeout in 1 of 10 rounds")
        self.go("scaling")
        self.assertIn("§", self.tables()[0][2][3])
        self.assertIn("§ took too long in a round.", self.text())
        self.go("raw")
        self.assertIn("timeout in 1 of 10 rounds", self.tables()[0][2][-1])
        self.go("machine")
        self.assertIn("2 cells, of which 1 with late rounds", self.text())

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


class Backend(ReportTest):
    """One backend on every load."""

    def generated(self) -> Path:
        name = "quick/churn"
        entries = [
            *costs(f"{name}/1000", "heap", "exact", 100),
            *costs(f"{name}/1000", "lazy", "exact", 50),
            *costs(f"{name}/100000", "heap", "exact", 900),
            *costs(f"{name}/100000", "lazy", "exact", 90),
            *costs("quick/hold/1000", "heap", "exact", 10),
            *costs("quick/hold/1000", "lazy", "exact", 20),
            *costs(f"{name}/1000", "ring", "granular", 1),
            failed("quick/bulk/1000", "heap", "timeout: over 5 s"),
        ]
        passes = {
            kind: [
                entry(f"{name}/100000", "heap", "exact", **{counter: heap}),
                entry(f"{name}/100000", "lazy", "exact", **{counter: lazy}),
            ]
            for kind, counter, heap, lazy in (
                ("tails", "worst_ns", 7000.0, 500.0),
                ("memory", "bytes_per_timer", 64.0, 40.0),
                ("instructions", "instructions_per_item", 752.0, 310.0),
            )
        }
        return self.campaign(entries, passes=passes)

    def test_the_worst_load_comes_first_with_all_that_may_explain_it(self) -> None:
        self.open(self.report(self.generated()), "backend&of=heap")
        [rows] = self.tables()
        self.assertEqual(
            [row[0] for row in rows[1:]], ["churn at 10⁵", "churn at 10³", "hold at 10³"]
        )
        worst = rows[1]
        self.assertEqual(worst[2], "lazy")
        self.assertRegex(worst[3], r"×(9|10)\.?\d* \[.+ – .+\]")
        self.assertEqual(worst[4:8], ["slower", "7.00 µs, 500 ns", "64.0 B, 40.0 B", "752, 310"])
        self.assertEqual(rows[3][2:5], ["heap", "1", "the best"])
        self.assertRegex(
            self.text(),
            r"on 1 of 4 loads; on 1 it has no figure. Its worst is churn at 10⁵, where it takes \S+ times as long as lazy",
        )
        self.assertIn("heap bulk at 10³ (timeout: over 5 s)", self.text())
        [row, *_] = csv.DictReader(io.StringIO(self.saved("CSV", "figure")))
        self.assertEqual((row["worst_ns"], row["best_worst_ns"]), ("7000", "500"))
        self.check_quiet()

    def test_one_that_is_alone_in_its_precision_is_the_best(self) -> None:
        self.open(self.report(self.generated()), "backend&of=ring")
        self.assertEqual(self.tables()[0][1][2:5], ["ring", "1", "the best"])

    def test_names_tiles_and_pairs_lead_there(self) -> None:
        page = self.report(self.generated())
        self.open(page, "decide&load=churn/1000")
        self.browser.find_element(By.CSS_SELECTOR, ".answers a.name").click()
        self.settle()
        self.assertTrue(self.browser.current_url.endswith("#backend&of=ring"))
        self.open(page, "map")
        canvas = self.browser.find_element(By.CSS_SELECTOR, "#page canvas")
        place = self.run_js(
            "mounted[0].getDatasetMeta(0).data.map(({x, y}) => [x, y])[0].map((at, i) =>"
            " at - [mounted[0].width, mounted[0].height][i] / 2)"
        )
        ActionChains(self.browser).move_to_element_with_offset(
            canvas, *map(int, place)
        ).click().perform()
        self.settle()
        self.assertIn("#backend&of=lazy", self.browser.current_url)
        self.open(page, "pairwise&b=heap&b2=lazy")
        self.browser.find_element(By.LINK_TEXT, "churn at 10⁵").click()
        self.settle()
        self.assertIn("heap against the best on all loads", self.titles())

    def test_the_sentence_the_chart_and_the_table_count_the_same(self) -> None:
        """Single operations are counted apart from whole loads."""
        entries: list[Any] = []
        for name, item, heap, lazy in (
            ("churn", "request", 100, 50),
            ("hold", "request", 50, 100),
            ("fill", "insert", 10, 20),
            ("cancel", "cancel", 10, 20),
            ("drain", "fire", 500, 1),
        ):
            entries += [
                one | {"label": f"exact, per {item}"}
                for backend, cost in (("heap", heap), ("lazy", lazy))
                for one in costs(f"quick/{name}/1000", backend, "exact", cost)
            ]
        entries.append(failed("quick/churn/100000", "heap", "timeout: over 5 s"))
        entries.append(failed("quick/drain/100000", "heap", "skipped: timeout"))
        self.open(self.report(self.campaign(entries)), "backend&of=heap")
        self.assertIn(
            "on 1 of 3 loads; on 1 it has no figure. Its worst is churn at 10³, where", self.text()
        )
        self.assertIn(
            "on 2 of 4 single operations; on 1 it has no figure. Its worst is drain at 10³, where",
            self.text(),
        )
        self.assertIn("Loads without a figure: heap churn at 10⁵ (timeout", self.text())
        self.assertIn("Single operations without a figure: heap drain at 10⁵ (skip", self.text())
        drawn = self.run_js("mounted.map(({data}) => data.labels)")
        self.assertEqual(drawn, [["churn at 10³"], ["drain at 10³"]])
        loads, operations = (table[1:] for table in self.tables())
        self.assertEqual([row[0] for row in loads], ["churn at 10³", "hold at 10³"])
        self.assertEqual(
            sorted(row[0] for row in operations), ["cancel at 10³", "drain at 10³", "fill at 10³"]
        )
        self.assertEqual([row[4] for row in operations].count("the best"), 2)
        self.open(self.report(self.campaign(entries[: 2 * ROUNDS])), "backend&of=lazy")
        self.assertIn("on 1 of 1 load.", self.text(), "also who is always the best")
        self.check_quiet()

    def test_how_to_take_a_queue_of_this_tree(self) -> None:
        entries = [
            one
            for name, precision in (("log_wheel_256", "granular"), ("heap", "exact"))
            for one in costs("quick/churn/1000", name, precision, 9)
        ]
        page = self.report(self.campaign([*entries, *costs("quick/churn/1000", "null", "none", 1)]))
        self.open(page, "backend&of=log_wheel_256")
        self.assertIn(
            'In a program: #include "timerbench/queues/log_wheel.h" has timerbench::LogWheel<256>; '
            "how to install it: docs/use_in_your_program.md",
            self.text(),
        )
        for name in ("heap", "null"):  # of another tree; a control
            self.open(page, f"backend&of={name}")
            self.assertNotIn("#include", self.text())

    def test_a_service_has_a_page_too(self) -> None:
        entries = [
            entry("accuracy/rate/1000", "locked_binary_heap", "exact", lateness_p50_ns=80e3),
            failed("accuracy/rate/10000", "locked_binary_heap", "crash: killed by SIGSEGV"),
        ]
        page = self.report(self.generated(), self.campaign(entries, "services", suite="accuracy"))
        self.open(page, "backend&of=locked_binary_heap")
        self.assertIn("impls/services/locked.h", self.text())
        self.assertEqual(
            self.tables()[0][1][:4], ["rate", "10³ timers per second", "ok", "80.0 µs"]
        )
        self.assertIn("crash: killed by SIGSEGV", self.text())
        self.browser.find_element(By.LINK_TEXT, "Accuracy").click()
        self.settle()
        self.assertIn("rate: lateness p50 by timers per second", self.titles())


class Filter(ReportTest):
    """Which backends are shown, on every page."""

    def generated(self) -> Path:
        entries = [
            one
            for size in (1000, 10_000)
            for name, precision in (
                ("quad_heap", "exact"),
                ("lazy_heap", "exact"),
                ("skiplist", "exact"),
                ("ring_512", "granular"),
                ("null", "none"),
            )
            for one in costs(f"quick/churn/{size}", name, precision, 10)
        ]
        return self.campaign(entries)

    def shown(self) -> set[str]:
        """The names in all tables."""
        return {cell for table in self.tables() for row in table for cell in row} & {
            *("quad_heap", "lazy_heap", "skiplist", "ring_512", "null")
        }

    def test_by_precision_family_and_name(self) -> None:
        page = self.report(self.generated())
        for only, names in (
            ("exact", {"quad_heap", "lazy_heap", "skiplist"}),
            ("heap", {"quad_heap", "lazy_heap"}),
            ("heap,ring_512", {"quad_heap", "lazy_heap", "ring_512"}),
            ("exact,heap,ring_512", {"quad_heap", "lazy_heap"}),
            ("skiplist", {"skiplist"}),
        ):
            for name in ("decide", "scaling", "raw"):
                self.open(page, f"{name}&only={only}")
                self.assertEqual(self.shown(), names, (name, only))
                self.assertIn(f"Filtered: {len(names)} of 5 are shown", self.text())
        self.open(page, "scaling&only=heap")
        rows = list(csv.DictReader(io.StringIO(self.saved("CSV", "figure"))))
        self.assertEqual({row["backend"] for row in rows}, {"quad_heap", "lazy_heap"})
        self.assertEqual(self.run_js("mounted[0].data.datasets.length"), 2)
        baselines = Select(self.browser.find_element(By.CSS_SELECTOR, "[data-key='b']")).options
        self.assertEqual(
            [option.text for option in baselines], ["none: in ns", "quad_heap", "lazy_heap"]
        )
        self.check_quiet()

    def test_it_stays_from_page_to_page_and_in_the_address(self) -> None:
        self.open(self.report(self.generated()), "decide&only=heap")
        for name in ("scaling", "map", "pairwise", "backend", "raw"):
            self.go(name)
            self.assertIn("only=heap", self.browser.current_url)
            self.assertIn("Filtered: 2 of 5 are shown", self.text())
        for name in PAGES:
            self.go(name)
            self.assertNotIn("cannot be shown", self.text())
        self.check_quiet()

    def test_what_matches_nothing_shows_all(self) -> None:
        page = self.report(self.generated())
        self.open(page, "scaling&only=granular,heap")
        self.assertIn("Nothing here is granular and heap: all are shown.", self.text())
        self.assertEqual(len(self.shown()), 5)
        self.open(page, "scaling&only=nonsense")
        self.assertNotIn("Filtered", self.text())

    def test_by_keyboard(self) -> None:
        self.open(self.report(self.generated()), "scaling")
        self.browser.find_element(By.CSS_SELECTOR, ".filter summary").send_keys(Keys.ENTER)
        self.settle()
        self.browser.switch_to.active_element.send_keys(Keys.TAB)
        self.browser.switch_to.active_element.send_keys(Keys.SPACE)
        self.settle()
        now = self.browser.switch_to.active_element
        self.assertEqual(now.get_attribute("data-key"), "only:exact", "it stays where one is")
        self.assertIn("only=exact", self.browser.current_url)
        now.send_keys(Keys.SPACE)
        self.settle()
        self.assertNotIn("only=", self.browser.current_url)
        self.assertTrue(self.run_js("document.querySelector('.filter').open"))


class Services(ReportTest):
    """What counters are called, and why there is none."""

    def test_sizes_are_called_what_they_count(self) -> None:
        entries = [
            entry(f"accuracy/{scenario}/1000", "swift", "exact", lateness_p50_ns=8e4)
            for scenario in ("rate", "herd", "idle", "nginx_keepalive_c256")
        ]
        page = self.report(self.campaign(entries, suite="accuracy"))
        for scenario, said in (
            ("rate", "timers per second"),
            ("herd", "timers"),
            ("idle", "timers"),
        ):
            self.open(page, f"accuracy&w={scenario}")
            self.assertIn(f"{scenario} at 10³ {said}: lateness p50", self.titles())
        self.open(page, "raw")
        sizes = {row[0]: row[1] for row in self.tables()[0][1:]}
        self.assertEqual(
            (sizes["rate"], sizes["nginx_keepalive_c256"]), ("10³ timers per second", "10³ timers")
        )
        rows = list(csv.DictReader(io.StringIO(self.saved("CSV"))))
        self.assertEqual({(row["size"], row["size_is"]) for row in rows},
                         {("1000", "timers per second"), ("1000", "timers")})  # fmt: skip

    def test_what_a_service_does_not_have_is_not_said_to_lack_samples(self) -> None:
        late = {"lateness_p50_ns": 8e4, "lateness_p99_ns": 9e4}
        entries = [
            entry("accuracy/rate/1000", "control", "none", **late),
            entry(
                "accuracy/rate/1000", "swift", "exact", **late, processing_p99_ns=5e3, cpu_share=0.1
            ),
            entry("accuracy/rate/1000", "seldom", "exact", lateness_p50_ns=8e4),
        ]
        page = self.report(self.campaign(entries, suite="accuracy"))
        for counter, found in (
            ("processing_p99_ns", {"control": "–", "swift": "5.00 µs", "seldom": "–"}),
            ("cpu_share", {"control": "–", "swift": "10.0 %", "seldom": "–"}),
            (
                "lateness_p99_ns",
                {"control": "90.0 µs", "swift": "90.0 µs", "seldom": "too few samples"},
            ),
        ):
            self.open(page, f"accuracy&f={counter}")
            one, everything = self.tables()
            self.assertEqual({row[1]: row[3] for row in one[1:]}, found)
            at = everything[0].index(one[0][3])
            self.assertEqual({row[0]: row[at] for row in everything[1:]}, found)


class Heads(unittest.TestCase):
    """What the headers of this tree say of their backends."""

    def test_each_backend_and_service_of_the_rosters_is_described(self) -> None:
        named = re.compile(r"^    (\w+(?:<.*>)?)[,>]", re.MULTILINE)
        for roster in ("queues", "services"):
            text = (ROOT / "impls" / roster / "roster.h").read_text().partition("TypeList<")[2]
            names = [heads._name_of(type_) for type_ in named.findall(text)]
            self.assertGreater(len(names), 5)
            for name in names:
                told = heads.told_of(name)
                self.assertTrue((ROOT / told["header"]).is_file(), name)
                self.assertTrue(told["good"] and told["bad"], name)
                for word in ("Follow", "Deviat", "Cost:", "  "):
                    self.assertNotIn(word, told["good"] + told["bad"], name)

    def test_slots_are_those_of_wheels_and_rings(self) -> None:
        for name, slots, has_levels in (
            ("kafka_wheel_256", 256, True),
            ("kafka_wheel_20", 20, True),
            ("ring_65536", 65_536, False),
        ):
            told = heads.told_of(name)
            self.assertEqual((told["slots"], told["has_levels"]), (slots, has_levels))
            self.assertIn(str(slots), told["type"])
        self.assertEqual(heads.told_of("quad_heap")["type"], "QuadHeap")
        self.assertNotIn("slots", heads.told_of("quad_heap"))
        self.assertEqual(heads.told_of("mine_7"), {"services": [], "alike": []})

    def test_of_a_process_its_file_is_told(self) -> None:
        for name, file in (
            ("java_kafka_wheel", "java/JavaKafkaWheel.java"),
            ("go_container_heap", "go/go_container_heap.go"),
            ("node_timers", "node/node_timers.js"),
            ("tokio_delay_queue", "rust/tokio_delay_queue.rs"),
            ("erlang_gb_sets", "erlang/erlang_gb_sets.erl"),
            ("python_heapq", "python/python_heapq.py"),
        ):
            self.assertEqual(heads.told_of(name)["header"], f"impls/peers/{file}")

    def test_what_a_library_follows_is_told_with_the_version_that_was_measured(self) -> None:
        entries = [
            entry("peers/churn/1000", "libuv", "exact library", ns_per_item=50.0),
            entry("peers/churn/1000", "quad_heap", "exact", ns_per_item=50.0),
        ]
        context = {"backends": {"libuv": {"follows": "libuv 1.44.2, libuv1-dev"}}}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.json"
            path.write_text(json.dumps({"context": context, "benchmarks": entries}))
            [campaign] = contents([path])["campaigns"]
        follows = {one["name"]: one["follows"] for one in campaign["backends"]}
        self.assertEqual(follows["libuv"], "libuv 1.44.2, libuv1-dev")
        self.assertEqual(follows["quad_heap"], heads.told_of("quad_heap")["follows"])
        self.assertEqual(heads.told_of("libuv")["follows"], "libuv", "no version is known")

    def test_services_of_a_structure(self) -> None:
        self.assertIn("locked_binary_heap", heads.services_of("binary_heap"))
        self.assertIn("locked_kafka_wheel_256", heads.services_of("kafka_wheel_256"))
        self.assertEqual(heads.services_of("kafka_wheel_512"), [])
        self.assertIn("locked_kafka_wheel_256", heads.services_alike("kafka_wheel_512"))
        self.assertEqual(heads.services_of("ordered_map"), [])

    def test_services_are_those_that_the_program_tells(self) -> None:
        run = subprocess.run(
            [ROOT / "build/release/timerbench", "list", "--json"], capture_output=True, check=True
        )
        for backend in json.loads(run.stdout)["backends"]:
            self.assertEqual(heads.services_of(backend["name"]), backend["services"], backend)


if __name__ == "__main__":
    unittest.main()
