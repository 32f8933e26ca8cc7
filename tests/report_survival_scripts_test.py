"""The page Survival of scripts/report, in a browser.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/report_survival_scripts_test.py
"""

import json
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from report_testing import FACTS, ReportTest
from scripts_testing import ROOT
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from survival_testing import (
    BROKEN,
    LOSSY,
    NO_START,
    SAFE,
    WHY,
    results,
    skipped,
    survived,
    timeline,
    timelines,
    write,
)

TILE = "[data-key='tile:{}/{}']"


class SurvivalTest(ReportTest):
    def page(self, entries: Any = None, distributions: Any = None) -> Path:
        entries = results() if entries is None else entries
        distributions = timelines() if distributions is None else distributions
        return self.report(write(self.folder, entries, distributions, **FACTS))

    def tile(self, queue: str, fault: str) -> Any:
        return self.browser.find_element(By.CSS_SELECTOR, TILE.format(queue, fault))

    def chosen(self) -> str:
        return str(self.run_js("document.querySelector('.chosen').innerText"))

    def focused(self) -> str:
        return str(self.run_js("document.activeElement.dataset.key"))

    def press(self, *keys: str) -> None:
        ActionChains(self.browser).send_keys(*keys).perform()
        self.settle()

    def test_the_answer_stands_first(self) -> None:
        self.open(self.page(), "survival")
        answer = str(self.run_js("document.querySelector('.answer').innerText"))
        self.assertTrue(answer.startswith("Of 3 queues 1 breaks its promise"), answer)
        for part in ("How sure:", "What to do:"):
            self.assertIn(part, answer)
        self.check_quiet()

    def test_a_report_of_faults_opens_on_this_page(self) -> None:
        self.open(self.page())
        self.assertEqual(self.run_js("document.title"), "timerbench: Survival")

    def test_tiles_tell_what_was_lost_and_what_that_means(self) -> None:
        self.open(self.page(), "survival")
        for queue, fault, verdict, text in (
            (SAFE, "power_cut", "KEPT", "0\nof 2.1k"),
            (LOSSY, "power_cut", "ALLOWED", "90†\nof 2.1k"),
            (BROKEN, "engine_stopped", "BROKEN", "7!\nof 2.1k"),
            (SAFE, "engine_stopped", "LEFT_OUT", "–"),
        ):
            tile = self.tile(queue, fault)
            self.assertEqual(tile.text, text)
            self.assertIn(verdict, tile.get_attribute("class").split())
            self.assertIn(f"{queue}, {fault}: ", tile.get_attribute("aria-label"))
        legend = str(self.run_js("document.querySelector('.legend').innerText"))
        for part in ("lost nothing", "lost what it may lose", "broke its promise", "cannot happen"):
            self.assertIn(part, legend)

    def test_a_power_cut_takes_all_of_what_is_not_on_disk(self) -> None:
        why = "it keeps nothing on disk"
        left_out = [skipped(fault, "redis_memory", why) for fault in ("power_cut", "disk_full")]
        self.open(self.page([*results(), *left_out]), "survival")
        tile = self.tile("redis_memory", "power_cut")
        self.assertEqual(tile.text, "all‡")
        self.assertIn("would lose all", tile.get_attribute("aria-label"))
        self.assertEqual(self.tile("redis_memory", "disk_full").text, "–")
        legend = str(self.run_js("document.querySelector('.legend').innerText"))
        self.assertIn("would lose all", legend)

    def test_at_first_the_broken_promise_is_shown(self) -> None:
        self.open(self.page(), "survival")
        for part in (
            f"{BROKEN} in engine_stopped",
            "The server is stopped for 5 s",
            "broke its promise",
            "7 of 2\u202f100 acknowledged timers, in 2 of 5 runs",
            f"in 2 of 5 runs: {WHY}",
            f"--workloads=engine_stopped --backends={BROKEN} --sizes=1 --seed=4",
        ):
            self.assertIn(part, self.chosen())

    def test_a_click_shows_the_time_line_of_the_run(self) -> None:
        self.open(self.page(), "survival")
        self.tile(LOSSY, "power_cut").click()
        self.settle()
        self.assertIn("90 of 2\u202f100 acknowledged timers", self.chosen())
        self.assertIn("may lose the latest", self.chosen())
        self.assertIn(f"{LOSSY} in power_cut: the run with seed 3", self.titles())
        self.assertIn("40 of 100 acknowledged timers never fired", self.text())
        self.assertEqual(self.run_js("location.hash"), f"#survival&queue={LOSSY}&fault=power_cut")
        rows = self.saved("CSV", "figure").splitlines()
        self.assertEqual(rows[0], "seconds,armed,acknowledged,due,fired")
        self.assertEqual(
            (rows[1], rows[21], rows[-1]), ("0,3,2,2,2", "0.4,3,2,2,0", "0.98,3,2,2,0")
        )
        self.assertEqual(len(rows), 51)
        picture = self.saved("SVG", "figure")
        for part in (
            "mended",
            "armed, a step",
            "fired, a step",
            "seconds since the begin",
            "--seed=3",
        ):
            self.assertIn(part, picture)
        self.check_quiet()

    def test_a_link_leads_to_a_tile(self) -> None:
        self.open(self.page(), f"survival&queue={SAFE}&fault=engine_stopped")
        self.assertIn("it has no server", self.chosen())
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "#page canvas"), [])

    def test_the_keyboard_moves_between_tiles(self) -> None:
        self.open(self.page(), "survival")
        tabbed = self.run_js("document.querySelectorAll('.survival .tile[tabindex=\"0\"]').length")
        self.assertEqual(tabbed, 1)
        self.browser.execute_script("arguments[0].focus()", self.tile(BROKEN, "engine_stopped"))
        self.press(Keys.ARROW_LEFT)
        self.assertEqual(self.focused(), f"tile:{BROKEN}/power_cut")
        self.press(Keys.ARROW_UP)
        self.press(Keys.ARROW_UP)
        self.press(Keys.ARROW_UP)  # there is no further one
        self.assertEqual(self.focused(), f"tile:{SAFE}/power_cut")
        self.press(Keys.ENTER)
        self.assertIn(f"{SAFE} in power_cut", self.chosen())
        self.assertEqual(self.focused(), f"tile:{SAFE}/power_cut", "the focus stays")
        self.assertEqual(self.tile(SAFE, "power_cut").get_attribute("aria-pressed"), "true")

    def test_a_fault_that_was_never_mended(self) -> None:
        lines = timelines()
        lines[f"faults/engine_stopped/5/{BROKEN}"][0]["timeline"]["strikes"] = [[0.4, None]]
        self.open(self.page(distributions=lines), "survival")
        self.assertIn("fault, never mended", self.saved("SVG", "figure"))

    def test_a_fault_that_struck_again_and_again(self) -> None:
        lines = timelines()
        lines[f"faults/engine_stopped/5/{BROKEN}"][0]["timeline"]["strikes"] = [
            [0.1, 0.2],
            [0.4, 0.5],
            [0.7, None],
        ]
        self.open(self.page(distributions=lines), "survival")
        self.assertIn("3 strikes", self.saved("SVG", "figure"))

    def test_an_engine_that_does_not_start_again(self) -> None:
        entries = [survived("power_cut", SAFE, "may lose all", lost=50, no_starts=2)]
        lines = {f"faults/power_cut/5/{SAFE}": [{"timeline": timeline(1, no_start=NO_START)}]}
        self.open(self.page(entries, lines), "survival")
        self.assertEqual(self.tile(SAFE, "power_cut").text, "50‡×\nof 2.1k")
        self.assertIn(
            f"after 2 of 5 runs the engine does not start again: {NO_START}", self.chosen()
        )
        legend = str(self.run_js("document.querySelector('.legend').innerText"))
        self.assertIn("× it does not start again", legend)
        self.assertNotIn("†", legend)

    def test_without_time_lines_the_figures_stand(self) -> None:
        self.open(self.page(distributions={}), "survival")
        self.assertIn("--seed=4", self.chosen())
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "#page canvas"), [])
        self.check_quiet()

    def test_without_any_figure_the_reasons_stand(self) -> None:
        self.open(
            self.page([skipped("power_cut", SAFE, "mounting a file needs root")], {}), "survival"
        )
        self.assertIn("mounting a file needs root", self.chosen())
        self.check_quiet()

    def test_the_filter_leaves_out_queues(self) -> None:
        self.open(self.page(), f"survival&only={SAFE},{LOSSY}")
        self.assertEqual(
            self.browser.find_elements(By.CSS_SELECTOR, TILE.format(BROKEN, "power_cut")), []
        )
        self.assertIn(f"{LOSSY} in power_cut", self.chosen())

    def test_all_figures_can_be_saved(self) -> None:
        self.open(self.page(), "survival")
        rows = self.saved("CSV", "section").splitlines()
        self.assertEqual(len(rows), 6)
        self.assertIn("fired_without_acknowledgement", rows[0])
        self.assertIn(f"power_cut,{LOSSY},may lose the latest,5,2100,90,", "\n".join(rows))

    def test_other_pages_know_the_suite(self) -> None:
        page = self.page()
        for name in ("backend", "machine", "raw"):
            self.open(page, name)
            self.assertNotIn("cannot be shown", self.text())
            self.check_quiet()
        self.assertIn("it has no server", self.text())

    def test_everything_fits_and_no_number_is_cut(self) -> None:
        """As many queues and faults as there are, on wide and narrow screens, light and dark."""
        entries = [
            survived(f"worker_killed_at_most_once_{i}", f"redis_cluster_wait_{j}", "may lose all",
                     lost=lost, acknowledged=123_456)
            for i in range(19)
            for j, lost in enumerate((0, 999, 9_949, 123_456))
        ]  # fmt: skip
        page = self.page(entries, {})
        self.addCleanup(self.browser.set_window_size, 1280, 1000)
        for width in (1280, 816):
            self.browser.set_window_size(width, 1000)
            self.open(page, "survival")
            self.assertLessEqual(self.run_js("document.documentElement.scrollWidth"), width)
            self.assertTrue(
                self.run_js(
                    "[...document.querySelectorAll('.survival .wide')].every("
                    "(one) => one.scrollWidth <= one.clientWidth)"
                ),
                "the matrix need not be scrolled",
            )
            cut = self.run_js(
                "[...document.querySelectorAll('button.tile')].filter("
                "(one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)"
            )
            self.assertEqual(cut, [])
            names = self.run_js(
                "[...document.querySelectorAll('.survival tbody th')].filter((one) =>"
                " one.firstChild.getBoundingClientRect().right >"
                " one.nextSibling.getBoundingClientRect().left).length"
            )
            self.assertEqual(names, 0)

    def test_text_on_tiles_is_legible(self) -> None:
        self.open(self.page(), "survival")

        def contrast(selector: str) -> float:
            colours = self.run_js(
                "((style) => [style.color, style.backgroundColor])("
                f"getComputedStyle(document.querySelector('{selector}')))"
            )
            bright, dark = sorted(map(_luminance, colours), reverse=True)
            return (bright + 0.05) / (dark + 0.05)

        for _ in range(2):
            for verdict in ("KEPT", "ALLOWED", "BROKEN", "LEFT_OUT"):
                self.assertGreater(contrast(f".survival td .tile.{verdict}"), 4.5, verdict)
            self.browser.find_element(By.ID, "theme").click()
            self.settle()

    def test_a_real_run(self) -> None:
        """A run of the queue that needs no server, as timerbench writes it."""
        out = self.folder / "results.json"
        subprocess.run(
            [
                *(ROOT / "build" / "release" / "timerbench", "run", "--suite=faults", "--sizes=1"),
                *("--workloads=engine_killed", "--backends=journal_wheel_0", "--verified"),
                f"--benchmark_out={out}",
            ],
            check=True,
            capture_output=True,
        )
        self.open(self.report(out), "survival")
        self.assertIn("journal_wheel_0 in engine_killed: the run with seed 1", self.titles())
        told = json.loads(out.with_suffix(".distributions.json").read_text())
        [[round_]] = told.values()
        saved = [line.split(",") for line in self.saved("CSV", "figure").splitlines()[1:]]
        self.assertEqual(sum(int(row[4]) for row in saved), sum(round_["timeline"]["fired"]))
        self.check_quiet()


def _luminance(colour: str) -> float:
    """Of rgb(r, g, b)."""
    parts = [int(part) / 255 for part in colour[4:-1].split(",")]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear))


if __name__ == "__main__":
    unittest.main()
