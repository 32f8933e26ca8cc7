"""The page History of scripts/report, in a browser.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/report_history_scripts_test.py
"""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from report_testing import PAGES, ReportTest

from history_testing import point
from results import history
from results.history import Point

POINTS = [
    point("aaa", 100, ns=[9.0, 10.0, 11.0], precision="granular", processor="P"),
    point("bbb", 100, precision="granular"),
    point("ccc", 80, ns=[7.0, 8.0, 9.0], precision="granular", processor="P"),
    point("aaa", 500, "scan", precision="exact"),
    point("ccc", 700, "scan", precision="exact", trace="of another load"),
    point("aaa", 10, "scan", workload="hold"),
    point("bbb", 20, "scan", workload="hold"),
]


class HistoryPageTest(ReportTest):
    def page(self, points: list[Point] = POINTS) -> Path:
        path = self.folder / "history.jsonl"
        history.add(path, points)
        return self.report(path)

    def radii(self) -> dict[str, list[float]]:
        """The sizes of the points of each line."""
        lines = self.run_js("mounted[0].data.datasets.map((one) => [one.label, one.pointRadius])")
        return dict(lines)

    def test_the_answer_stands_first_and_the_latest_change_is_shown(self) -> None:
        self.open(self.page())
        self.assertEqual(self.run_js("document.title"), "timerbench: History")
        answer = str(self.run_js("document.querySelector('.answer').innerText"))
        self.assertTrue(answer.startswith("In 3 cells over 3 commits 2 counts"), answer)
        for part in ("How sure:", "1 of 4 steps", "What to do:", "compare bbb ccc full"):
            self.assertIn(part, answer)
        self.assertEqual(
            self.titles(),
            [
                "churn at 10⁴ timers: instructions per item from commit to commit",
                "All changes, the latest commit first",
            ],
        )
        self.check_quiet()

    def test_changes_are_large_points(self) -> None:
        self.open(self.page(), "history")
        ring, scan = self.radii()["ring_512"], self.radii()["scan"]
        self.assertEqual([size > ring[0] for size in ring], [False, False, True])
        self.assertEqual([size > scan[0] for size in scan], [False, False], "another trace")

    def test_tables(self) -> None:
        self.open(self.page(), "history&w=churn")
        data, changes = self.tables()
        self.assertIn(
            ["ccc", "2026-11-03", "ring_512", "80", "−20.0 %", "8.00 [7.00 – 9.00]"], data
        )
        self.assertEqual(
            changes[1:],
            [
                ["ccc", "2026-11-03", "ring_512", "churn/10⁴", "100", "80", "−20.0 %", "–"],
                ["bbb", "2026-11-02", "scan", "hold/10⁴", "10", "20", "+100.0 %", "–"],
            ],
        )
        rows = self.saved("CSV", "figure").splitlines()
        self.assertEqual(rows[0], "commit,date,backend,instructions,change,ns")
        self.assertIn("bbb,2026-11-02,ring_512,100,,", rows)
        self.assertIn("scripts/compare --history", self.saved("SVG", "figure"))

    def test_of_many_backends_those_that_changed_are_drawn(self) -> None:
        names = [f"ring_{i}" for i in range(20)]
        same = [point(commit, 9, name) for commit in ("aaa", "bbb") for name in names]
        self.open(self.page([*same, *POINTS[:3]]), "history")
        self.assertEqual(list(self.radii()), ["ring_512"])
        self.assertIn("Drawn are those that changed, 1 of 21", self.text())
        self.open(self.page([*same, *POINTS[:3]]), "history&only=ring_1,ring_2")
        self.assertEqual(list(self.radii()), ["ring_1", "ring_2"])
        self.assertNotIn("All changes", self.text())

    def test_without_a_change(self) -> None:
        self.open(self.page(POINTS[:2]), "history")
        self.assertIn("no count of instructions changed", self.text())
        self.assertEqual(len(self.titles()), 1)

    def test_the_other_pages_know_what_it_is(self) -> None:
        self.open(self.page())
        for name in PAGES:
            self.go(name)
            self.assertNotIn("cannot be shown", self.text(), name)
            for word in ("false", "undefined", "NaN"):
                self.assertNotIn(word, self.whole_text(), name)
        self.open(self.page(), "raw")
        self.assertIn("ring_512", self.text())
        self.assertIn("backend", self.tables()[0][0])
        self.check_quiet()

    def test_a_broken_line_is_refused(self) -> None:
        path = self.folder / "history.jsonl"
        path.write_text('{"commit": 5}\n')
        run = self.run_report(path, "--out", self.folder / "never.html")
        self.assertEqual((run.returncode, len(run.stderr.splitlines())), (1, 1))
        self.assertIn("history.jsonl, line 1: is no line of a history", run.stderr)
        self.assertFalse((self.folder / "never.html").exists())


if __name__ == "__main__":
    unittest.main()
