"""The history of instruction counts: what is added to it, what changed, and what is refused.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/history_scripts_test.py
"""

import json
import sys
import threading
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT, Scratch

from console import Failure
from files import locked
from history_testing import DATES, point
from results import history
from results.history import Point
from tables.history import answer_lines, markdown


def entry(backend: str, size: int = 1000, **figures: Any) -> dict[str, Any]:
    name = f"quick/churn/{size}/{backend}/manual_time"
    return {"name": name, "label": "granular, per request", **figures}


class HistoryScratch(Scratch):
    def setUp(self) -> None:
        super().setUp()
        self.file = self.folder / "history.jsonl"

    def history(self, *points: Point) -> history.History:
        history.add(self.file, list(points))
        return history.load(self.file)

    def campaign(self, commit: str = "aaa", **figures: Any) -> Path:
        """Two rounds of time, and counts at two sizes."""
        facts = {
            "commit": commit,
            "compiler": "GNU 12",
            "flags": "-O3",
            "grade": "C",
            "date": "2026-10-01",
        }
        times = [entry("ring_512", 10_000, items=10, ns_per_item=ns, round=i) for i, ns in
                 enumerate((7.0, 9.0))]  # fmt: skip
        self.write(times, **facts)
        counts = {1000: 60.0, 10_000: 70.5} | figures
        self.write(
            [entry("ring_512", size, instructions_per_item=n) for size, n in counts.items()],
            "instructions.json",
            inputs={"churn/10000/both": {"hashes": ["12"]}},  # type: ignore[arg-type]
            **facts,
        )
        return self.folder


class PointsTest(HistoryScratch):
    def test_the_largest_size_counts_with_the_time_of_the_same_campaign(self) -> None:
        [one] = history.points_of(self.campaign(), DATES.__getitem__)
        self.assertEqual(
            (one.date, one.commit, one.key), (DATES["aaa"], "aaa", ("churn", 10_000, "ring_512"))
        )
        self.assertEqual((one.instructions, one.ns, one.rounds), (70.5, [7, 8, 9], 2))
        self.assertEqual((one.compiler, one.grade, one.processor), ("GNU 12 -O3", "C", "Test 1000"))

    def test_times_of_another_commit_do_not_count(self) -> None:
        folder = self.campaign()
        path = folder / "results.json"
        path.write_text(path.read_text().replace('"commit": "aaa"', '"commit": "bbb"'))
        [one] = history.points_of(folder, DATES.__getitem__)
        self.assertEqual((one.ns, one.rounds), ([], 0))

    def test_disturbed_times_do_not_count(self) -> None:
        folder = self.campaign()
        path = folder / "results.json"
        path.write_text(path.read_text().replace('"round": 1', '"round": 1, "status": "noisy"'))
        [one] = history.points_of(folder, DATES.__getitem__)
        self.assertEqual(one.ns, [])

    def test_times_need_not_be_there(self) -> None:
        (self.campaign() / "results.json").unlink()
        [one] = history.points_of(self.folder, DATES.__getitem__)
        self.assertEqual((one.instructions, one.ns), (70.5, []))

    def test_an_unknown_commit_has_the_date_of_the_campaign(self) -> None:
        [one] = history.points_of(self.campaign(), lambda commit: "")
        self.assertEqual(one.date, "2026-10-01")

    def test_what_is_no_single_clean_commit_is_refused(self) -> None:
        for commit in ("", "aaa; bbb", "aaa-dirty"):
            with self.assertRaisesRegex(Failure, f"measured at '{commit}'"):
                history.points_of(self.campaign(commit), DATES.__getitem__)

    def test_a_campaign_without_counts_is_refused(self) -> None:
        (self.campaign() / "instructions.json").unlink()
        with self.assertRaisesRegex(Failure, "--passes=total,instructions"):
            history.points_of(self.folder, DATES.__getitem__)


class FileTest(HistoryScratch):
    def test_what_is_added_is_read_again(self) -> None:
        told = point("aaa", 70.5, ns=[7.0, 8.0, 9.0], rounds=2, grade="C", processor="P")
        self.assertEqual(self.history(told).points, {told.key: [told]})

    def test_two_that_add_at_once_lose_nothing(self) -> None:
        self.history(point("aaa", 1))
        theirs = self.folder / "theirs.jsonl"
        history.add(theirs, [point("aaa", 1), point("bbb", 2)])
        with locked(self.folder):  # as another process
            adding = threading.Thread(target=history.add, args=(self.file, [point("ccc", 3)]))
            adding.start()
            adding.join(0.2)
            self.assertTrue(adding.is_alive(), "waits")
            theirs.replace(self.file)
        adding.join()
        [points] = history.load(self.file).points.values()
        self.assertEqual([one.commit for one in points], ["aaa", "bbb", "ccc"])

    def test_a_commit_is_added_once_and_points_are_in_order_of_time(self) -> None:
        self.history(point("ccc", 3), point("aaa", 1))
        there = history.add(self.file, [point("aaa", 99), point("bbb", 2)])
        self.assertEqual(there, 1)
        [own] = history.load(self.file).points.values()
        self.assertEqual([one.instructions for one in own], [1, 2, 3])
        self.assertEqual(len(self.file.read_text().splitlines()), 3)

    def test_bad_files(self) -> None:
        with self.assertRaisesRegex(Failure, "No such file.*--add=FOLDER"):
            history.load(self.file)
        self.file.write_text("")
        with self.assertRaisesRegex(Failure, "no line"):
            history.load(self.file)
        good = json.loads(json.dumps(vars(point("aaa", 1))))
        for bad in (
            "{",
            "[]",
            "{}",
            json.dumps(good | {"instructions": 0}),
            json.dumps(good | {"instructions": "many"}),
            json.dumps(good | {"ns": [1, 2]}),
            json.dumps(good | {"ns": 5}),
            json.dumps(good | {"commit": 5}),
            json.dumps(good | {"more": 5}),
        ):
            self.file.write_text(json.dumps(good) + "\n" + bad + "\n")
            with self.assertRaisesRegex(Failure, "line 2: is no line of a history", msg=bad):
                history.load(self.file)
        with self.assertRaisesRegex(Failure, "no regular file"):
            history.load(self.folder)


class ChangesTest(HistoryScratch):
    def test_more_than_one_percent_is_a_change(self) -> None:
        told = self.history(
            *(point("aaa", 100, name) for name in ("same", "less", "more")),
            point("bbb", 100.9, "same"),
            point("bbb", 90, "less"),
            point("bbb", 150, "more"),
        )
        found = [(one.after.backend, round(one.ratio, 3)) for one in told.changes]
        self.assertEqual(found, [("more", 1.5), ("less", 0.9)])

    def test_slow_drift_is_no_change_and_the_latest_comes_first(self) -> None:
        told = self.history(point("ccc", 50), point("aaa", 100), point("bbb", 80))
        self.assertEqual([one.after.commit for one in told.changes], ["ccc", "bbb"])

    def test_another_compiler_or_trace_is_not_compared(self) -> None:
        for more in ({"compiler": "Clang"}, {"trace": "0"}):
            told = self.history(point("aaa", 100), point("bbb", 50, **more))
            self.assertEqual(told.changes, [])
            self.assertIn("1 of 1 step from a commit to the next are not", answer_lines(told)[1])
            self.file.unlink()

    def test_sentences(self) -> None:
        told = self.history(point("aaa", 100), point("bbb", 90))
        answer, sure, advice = answer_lines(told)
        self.assertEqual(
            answer,
            "In 1 cell over 2 commits 1 count of instructions changed by more than 1 %: 1 to fewer, 0 to "
            "more. The latest is at bbb: ring_512 on churn/10⁴, 100 → 90.0 (−10.0 %).",
        )
        self.assertTrue(sure.startswith("How sure: valgrind"))
        self.assertTrue(
            advice.endswith(
                "scripts/compare aaa bbb full --backends=ring_512 --workloads=churn --rounds=12"
            )
        )
        self.file.unlink()
        same = self.history(point("aaa", 100), point("bbb", 100))
        self.assertEqual(
            answer_lines(same)[0],
            "Of 1 cell over 2 commits no count of instructions changed by more than 1 %.",
        )
        self.file.unlink()
        self.assertIn("--add=FOLDER", answer_lines(self.history(point("aaa", 100)))[2])

    def test_the_table_has_the_largest_of_each_commit(self) -> None:
        names = [f"ring_{i}" for i in range(11)]
        told = self.history(
            *(point("aaa", 100, name, ns=[8.0, 9.0, 10.0], processor="P") for name in names),
            *(point("bbb", 102 + i, name, ns=[7.0, 8.0, 9.0], processor="P") for i, name in
              enumerate(names)),
        )  # fmt: skip
        text = markdown(told)
        self.assertIn("bbb, 2026-11-02:", text)
        rows = [[word.strip() for word in line.split("|")] for line in text.splitlines()]
        self.assertIn(["", "ring_10", "churn/10⁴", "100 → 112", "+12.0 %", "9.00 → 8.00", ""], rows)
        self.assertIn("Smaller changes: ring_2 on churn/10⁴, ", text)
        self.assertNotIn("| ring_2 ", text)

    def test_times_of_another_processor_are_not_shown(self) -> None:
        told = self.history(
            point("aaa", 100, ns=[8.0, 9.0, 10.0], processor="P"),
            point("bbb", 50, ns=[8.0, 9.0, 10.0], processor="Q"),
        )
        self.assertNotIn("9.00", markdown(told))


class CommandTest(HistoryScratch):
    def test_a_campaign_is_added_and_shown(self) -> None:
        self.campaign()
        run = self.run_script("compare", "--history", self.file, f"--add={self.folder}")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("Added 1 line to ", run.stdout)
        again = self.run_script("compare", self.file, "--history", f"--add={self.folder}")
        self.assertIn("Added 0 lines to ", again.stdout)
        self.assertIn("; 1 were there already.", again.stdout)

    def test_a_choice(self) -> None:
        self.history(point("aaa", 1, "one"), point("bbb", 2, "one"), point("aaa", 1, "two"))
        run = self.run_script("compare", "--history", self.file, "--backends=t*")
        self.assertIn("1 cell over 1 commit", run.stdout)
        run = self.run_script("compare", "--history", self.file, "--backends=three")
        self.assertEqual(run.returncode, 2)
        self.assertIn("no backend is 'three'; there are one, two", run.stderr)

    def test_wrong_use(self) -> None:
        for arguments, code, said in (
            ([self.folder / "none"], 3, "none: No such file or directory"),
            ([self.file, "--gate=3%"], 2, "unrecognized arguments: --gate=3%"),
            (["--add="], 2, "is empty"),
        ):
            run = self.run_script("compare", "--history", *arguments)
            self.assertEqual((run.returncode, len(run.stderr.splitlines())), (code, 1))
            self.assertIn(said, run.stderr)

    def test_the_published_history(self) -> None:
        """Every line is of a commit of this project."""
        told = history.load(ROOT / "results" / "history.jsonl")
        self.assertGreater(len(told.commits), 1)


if __name__ == "__main__":
    unittest.main()
