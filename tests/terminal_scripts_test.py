"""What a terminal shows: answers, and tables whose rows are lines at any width, also while it is measured.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/terminal_scripts_test.py
"""

import contextlib
import fcntl
import io
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT, BenchScratch
from scripts_test import CostScratch, failed, measured, whole_roster

from rich.cells import cell_len
from results.replays import Results
from tables import latex, sureness
from tables import replays as table
from tables.answers import answers
from words import digits, enumerated, times_less

WIDTHS = (80, 120, 200)
CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    """A program on a terminal of its own, and what that has received."""

    def __init__(self, argv: list[str], width: int, height: int, env: dict[str, str]) -> None:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        environment = {
            key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")
        }
        self.program = subprocess.Popen(
            argv,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment | {"TERM": "xterm"} | env,
        )
        os.close(theirs)
        self._ours = ours
        self.raw = ""

    def read_until(self, pattern: str) -> str:
        """Until that has come since the last time, or the end of the program; what came."""
        begin = len(self.raw)
        with contextlib.suppress(OSError):  # nobody writes to it any more
            while not re.search(pattern, self.raw[begin:]):
                if not (data := os.read(self._ours, 65536)):
                    break
                self.raw += data.decode(errors="replace")
        return self.raw[begin:]

    def end(self) -> str:
        """All lines that it has received, after its end."""
        self.read_until(r"\Z(?!)")
        self.program.wait()
        os.close(self._ours)
        return CONTROL_SEQUENCE.sub("", self.raw).replace("\r", "")


class AnswersTest(CostScratch):
    def answers(self, *entries: object) -> list[str]:
        results = self.load([entry for group in entries for entry in group])  # type: ignore[attr-defined]
        return answers(results, table.sizes_at(results, 1000))

    def test_a_sentence_for_each_workload_and_precision(self) -> None:
        told = self.answers(
            measured("churn", 1000, "lazy_heap", *8 * [96.0]),
            measured("churn", 1000, "quad_heap", *8 * [230.4]),
            measured("churn", 1000, "binary_heap", *8 * [500.0]),
            measured("churn", 1000, "ring_512", *8 * [9.0], precision="granular"),
            measured("churn", 1000, "null", *8 * [1.0], precision="none"),
            measured("hold", 1000, "lazy_heap", *8 * [100.0]),
            measured("hold", 1000, "quad_heap", *8 * [110.0]),
            failed("hold", 1000, "ring_512"),
        )
        self.assertEqual(
            told[:3],
            [
                "churn, 10³ timers, exact: lazy_heap 96.0 ns, 2.4 times cheaper than quad_heap",
                "churn, 10³ timers, granular: ring_512 9.00 ns, the only one",
                "hold, 10³ timers, exact: lazy_heap 100 ns, 9 % cheaper than quad_heap",
            ],
        )
        self.assertRegex(told[3], "^How sure: 'cheaper' means .* at most 5 % .sign test, Holm..$")
        self.assertEqual(len(told), 4, "of controls there is nothing to say")

    def test_who_alone_has_a_figure_was_not_the_only_one(self) -> None:
        told = self.answers(
            measured("churn", 1000, "ring_512", *8 * [9.0], precision="granular"),
            measured("hold", 1000, "ring_65536", *8 * [7.0], precision="granular"),
            failed("hold", 1000, "ring_512"),
        )
        self.assertEqual(
            told,
            [
                "churn, 10³ timers, granular: ring_512 9.00 ns, the only one",
                "hold, 10³ timers, granular: ring_65536 7.00 ns, the only one with a figure",
            ],
        )

    def test_those_that_are_not_told_apart_are_tied(self) -> None:
        names = ("scan", "skiplist", "lazy_heap", "quad_heap", "ordered_map")
        alike = [measured("fill", 1000, name, *9 * [10.0]) for name in names]
        slower = measured("fill", 1000, "binary_heap", *9 * [30.0])
        self.assertEqual(
            self.answers(*alike, slower)[0],
            "fill, 10³ timers, exact: scan 10.0 ns, tied with skiplist, lazy_heap and 2 others, "
            "3.0 times cheaper than binary_heap",
        )
        self.assertEqual(
            self.answers(*alike[:2])[0], "fill, 10³ timers, exact: scan 10.0 ns, tied with skiplist"
        )

    def test_an_order_so_far_is_not_sold_as_more(self) -> None:
        told = self.answers(
            measured("fill", 1000, "scan", 10.0, 10.0),
            measured("fill", 1000, "skiplist", 90.0, 90.0),
        )
        self.assertEqual(
            told,
            [
                "fill, 10³ timers, exact: scan 10.0 ns, then skiplist 90.0 ns",
                "How sure: 'then' is the order so far: it takes 6 rounds to be sure, and some have only 2.",
            ],
        )

    def test_the_difference_is_the_median_of_the_rounds(self) -> None:
        told = self.answers(
            measured("fill", 1000, "scan", *9 * [10.0]),
            measured("fill", 1000, "skiplist", *8 * [20.0], 90.0),
        )
        self.assertEqual(
            told[0], "fill, 10³ timers, exact: scan 10.0 ns, 2.0 times cheaper than skiplist"
        )

    def test_the_rounds_that_it_takes_suffice_for_every_workload(self) -> None:
        few = [measured("fill", 1000, name, 10.0) for name in ("scan", "skiplist")]
        many = [measured("hold", 1000, name, 10.0) for name in ("scan", "skiplist", "quad_heap")]
        self.assertIn("it takes 7 rounds to be sure", self.answers(*few, *many)[-1])

    def test_words(self) -> None:
        self.assertEqual(enumerated(["a"], 2), "a")
        self.assertEqual(enumerated(["a", "b", "c"], 2), "a, b and c")
        self.assertEqual(enumerated(["a", "b", "c", "d"], 2), "a, b and 2 others")
        lines = (ROOT / "tests" / "data" / "number_words.txt").read_text().splitlines()
        self.assertGreater(len(lines), 20)
        for line in lines:
            kind, value, words = line.split("\t")
            number = float(value)
            said = f"{digits(number)} ns" if kind == "cost" else times_less(number, "cheaper")
            self.assertEqual(said, words, value)


class TableTest(CostScratch):
    def printed(self, results: Results, width: int, size: int = 1000) -> list[str]:
        with redirect_stdout(io.StringIO()) as out, patch.dict(os.environ, COLUMNS=str(width)):
            table.print_on_terminal(results, size)
        return out.getvalue().splitlines()

    def test_a_row_is_a_line_at_any_width_and_nothing_is_lost(self) -> None:
        results = self.load(whole_roster([1000, 100_000]))
        rows = table.rows(results, 100_000)
        for width in WIDTHS:
            with self.subTest(width):
                lines = self.printed(results, width, 100_000)
                self.assertLessEqual(max(map(cell_len, lines)), width)
                self.assertNotIn("…", "".join(lines))
                for row in rows:
                    own = [line for line in lines if line.startswith(f"{row.backend} ")]
                    parts = [part for line in own for part in line.split(" ")]
                    for entry in row.entries:
                        self.assertIn(entry.figure or entry.word, parts)
                heads = [line for line in lines if line.startswith("10⁵ timers")]
                self.assertEqual(len(heads), {80: 2, 120: 1, 200: 1}[width])

    def test_ranks_are_shared_by_those_that_are_not_told_apart(self) -> None:
        costs = {"scan": 10.0, "skiplist": 10.0, "lazy_heap": 20.0, "quad_heap": 40.0}
        entries = [
            e for name, cost in costs.items() for e in measured("fill", 1000, name, *9 * [cost])
        ]
        entries += measured("fill", 1000, "null", *9 * [1.0], precision="none")
        lines = [line.split() for line in self.printed(self.load(entries), 80)]
        ranks = {line[0]: line[1] for line in lines if line[:1] and line[0] in costs}
        self.assertEqual(ranks, {"scan": "1", "skiplist": "1", "lazy_heap": "3", "quad_heap": "4"})
        self.assertEqual(
            [line for line in lines if line[:1] == ["null"]], [["null", "1.00", "±0%"]]
        )

    def test_rows_stand_by_their_ranks_and_who_fails_is_last(self) -> None:
        entries = [
            *measured("fill", 1000, "scan", 1.0),
            *failed("churn", 1000, "scan"),
            *failed("hold", 1000, "scan"),
        ]
        for workload in ("fill", "churn", "hold"):
            entries += measured(workload, 1000, "skiplist", 30.0)
            entries += measured(workload, 1000, "lazy_heap", 20.0)
        names = [row.backend for row in table.rows(self.load(entries), 1000)]
        self.assertEqual(names, ["lazy_heap", "skiplist", "scan"])

    def test_one_footnote_if_most_are_disturbed(self) -> None:
        entries = [
            entry
            for i in range(10)
            for entry in measured("fill", 1000, f"b{i}", 10.0 + i, 10.0 + i)
        ]
        for noisy, marked in ((4, 2), (12, 0)):
            for i, entry in enumerate(entries):
                entry["status"] = "noisy" if i < noisy else "ok"
            text = table.markdown(self.load(entries), 1000)
            self.assertEqual(
                sum("‡" in line for line in text.splitlines() if "| `b" in line), marked
            )
            self.assertEqual(
                "Most of them (6 of 10 cells) were disturbed in a round." in text, not marked
            )

    def test_of_a_few_cells_each_keeps_its_mark(self) -> None:
        entries = [e for i in range(9) for e in measured("fill", 1000, f"b{i}", 10.0 + i)]
        for entry in entries:
            entry["status"] = "noisy"
        text = table.markdown(self.load(entries), 1000)
        self.assertEqual(sum("‡" in line for line in text.splitlines() if "| `b" in line), 9)

    def test_a_late_timeout_is_told_beside_the_median_of_the_others(self) -> None:
        late = failed("fill", 1000, "scan", "timeout: one replay takes more than 1 s")
        results = self.load([*measured("fill", 1000, "scan", 10.0, 11.0, 12.0), *late])
        cell = results.cells["fill", 1000, "scan"]
        self.assertEqual(
            (cell.cost, cell.failure, cell.doubt), (11.0, "", "timeout in 1 of 4 rounds")
        )
        text = table.markdown(results, 1000)
        self.assertIn(" 11.0 ±9% § |", text)
        self.assertIn(
            "- scan on fill at 10³: timeout in 1 of 4 rounds, the figure is the median of the others",
            text,
        )

    def test_what_mostly_takes_too_long_has_no_figure(self) -> None:
        late = 2 * failed("fill", 1000, "scan", "timeout: too slow")
        cell = self.load([*measured("fill", 1000, "scan", 10.0), *late]).cells["fill", 1000, "scan"]
        self.assertEqual(
            (cell.status, cell.failure), ("timeout", "timeout: in 2 of 3 rounds, too slow")
        )
        cell = self.load(late).cells["fill", 1000, "scan"]
        self.assertEqual(cell.failure, "timeout: too slow")
        even = [*measured("fill", 1000, "scan", 10.0, 11.0), *late]
        self.assertTrue(self.load(even).cells["fill", 1000, "scan"].has_figure)


class DoubtsTest(CostScratch):
    def of_twins(self, *ratios: float) -> Results:
        entries = measured("fill", 1000, "scan", *len(ratios) * [10.0])
        return self.load(
            [*entries, *measured("fill", 1000, "scan@again", *(10 * r for r in ratios))]
        )

    def test_what_is_claimed_follows_the_intervals(self) -> None:
        """Medians may agree where the rounds do not."""
        calm = self.of_twins(1.006, *4 * [0.999, 1.006])
        wild = self.of_twins(1.006, *4 * [0.70, 1.30])
        for results, noise, reach in ((calm, "0.60 %", "0.60 %"), (wild, "0.60 %", "42.9 %")):
            [line] = sureness.noise_lines(results)
            self.assertIn(f"measured scan twice. The two figures differ by {noise} (median", line)
            self.assertIn(f"intervals of these differences reach {reach} (median)", line)
            self.assertIn(
                f"reach {reach} (median)",
                latex.method(results, results.rounds).replace("\\%", "%"),
            )
        few = self.of_twins(1.0, 1.01)
        self.assertIn("It takes 6 rounds to say how sure that is.", sureness.noise_lines(few)[0])
        self.assertIn("The rounds are too few for intervals.", latex.method(few, few.rounds))

    def test_rounds_that_waited_for_memory_are_told(self) -> None:
        entries = measured("fill", 1000, "scan", *20 * [10.0])
        self.assertEqual(sureness.memory_lines(self.load(entries)), [])
        for reads, told in (
            (20 * [80.0], "No measurement had to wait"),
            (19 * [80.0] + [160.0], "1.5 times as long beside 1 of 20 measurements"),
            ([40.0] + 18 * [80.0] + [160.0], "at most 2.00 times as long"),
        ):
            for entry, read in zip(entries, reads):
                entry["memory_probe_ns"] = read
            text = table.markdown(self.load(entries), 1000)
            self.assertIn("Memory: a read took 80.0 ns (median)", text)
            self.assertIn(told, text)

    def test_measurements_that_something_unknown_slowed_down_are_told(self) -> None:
        entries = measured("fill", 1000, "scan", *6 * [10.0])
        for rounds, told in (
            ([10.0, 14.9], "Outliers: none of 14 measurements"),
            (
                [44.0, 15.1],
                "Outliers: 2 of 14 measurements, in 2 rounds, cost more than 1.5 times the median "
                "of their cell. The worst cost 4.4 times as much: heap on fill at 10³ in round 7.",
            ),
        ):
            cells = [*entries, *measured("fill", 1000, "heap", *6 * [10.0], *rounds)]
            self.assertIn(told, table.markdown(self.load(cells), 1000))
        self.assertEqual(sureness.outlier_lines(self.load(entries[:5])), [])


class OnTerminalTest(BenchScratch):
    def bench(self, *arguments: str, width: int, height: int = 40, **acts: str) -> Terminal:
        return Terminal(
            [sys.executable, "-c", self.program, *arguments, f"--out={self.out}"],
            width,
            height,
            {
                "PYTHONPATH": str(ROOT / "scripts" / "lib"),
                "SOURCE": f"{self.source}/",
                "ACTS": ",".join(f"{name}={act}" for name, act in acts.items()),
            },
        )

    def test_the_table_is_there_while_it_is_measured_and_stays(self) -> None:
        arguments = ("--rounds=90", "--workloads=fill,churn,hold,bulk,drain,cancel")
        for width in WIDTHS:
            with self.subTest(width):
                self.setUp()
                terminal = self.bench(*arguments, width=width, scan="slow")
                shown = terminal.read_until(r"Measuring [^\n]*1\d/1080")
                self.assertRegex(CONTROL_SEQUENCE.sub("", shown), r"scan +(1 +1.00 *)+")
                terminal.program.send_signal(signal.SIGINT)
                text = terminal.end()
                self.assertEqual(terminal.program.returncode, 1)
                self.assertIn("Interrupted: finishing; once more ends at once", text)
                _, last = text.split("\nMeasured ")
                self.assertRegex(last, r"fill, 10 timers, exact: (scan|ring_512) 1.00 ns")
                self.assertRegex(last, r"\nring_512 +[12] +1.00")
                shown = last.partition("Drawing")[0].splitlines()
                self.assertLessEqual(max(map(cell_len, shown)), width)

    def test_a_long_name_leaves_room_for_the_counts(self) -> None:
        terminal = self.bench(
            "--rounds=20",
            "--workloads=fill_of_a_long_name_as_recordings_have_it",
            width=80,
            scan="slow",
            ring_512="slow",
        )
        terminal.read_until(r"about [^\n]* left[^\n]*fill_of")
        terminal.program.send_signal(signal.SIGTERM)
        self.assertRegex(
            terminal.end(), r"Measuring \S+ +\d+/40 about \d+ s left quick/fill_of\S*…"
        )

    def test_long_lines_are_broken_between_words(self) -> None:
        passes = "--passes=tails,memory,counters"
        terminal = self.bench("--rounds=1", passes, width=80, scan="fails wrong")
        text = terminal.end()
        self.assertRegex(text, r"has journal.jsonl,[^\n]* [a-z]+.json,\n[a-z]")
        lines = text[text.index("Drawing") :].splitlines()
        self.assertLessEqual(max(map(cell_len, lines)), 80)
        told = self.bench("--help", width=60).end().splitlines()
        self.assertLessEqual(max(map(cell_len, told)), 60)
        self.assertIn("Results go to results/local/SUITE, or to the DIR of --out.", told)
        told = self.bench("--rounds=many", width=60).end().splitlines()
        self.assertEqual(
            told,
            [
                "scripts/bench: argument --rounds: 'many' is not a whole",
                "number from 1 to 10 000; see scripts/bench --help",
            ],
        )

    def test_a_small_window_has_the_first_of_each_precision(self) -> None:
        terminal = self.bench("--rounds=40", width=60, height=9, scan="slow", ring_512="2.5")
        shown = terminal.read_until(r"Measuring [^\n]*[4-9]/80")
        terminal.program.send_signal(signal.SIGTERM)
        self.assertRegex(CONTROL_SEQUENCE.sub("", shown), r"scan +1 +1.00")
        terminal.end()


class CompareTest(CostScratch):
    def test_two_backends_with_long_names_are_one_table(self) -> None:
        names = ("kafka_wheel_floor_256", "redis_zset_poll_pipelined")
        workload = "nginx_conn_per_request"
        path = self.write(
            [e for name in names for e in measured(workload, 13862, name, *8 * [1310.0])]
        )
        argv = [str(ROOT / "scripts" / "compare"), *(f"{path}:{name}" for name in names)]
        lines = Terminal(argv, 80, 40, {}).end().splitlines()
        self.assertEqual(sum(line.startswith("workload ") for line in lines), 1)
        [row] = [line for line in lines if line.startswith(f"{workload}/13")]
        self.assertTrue(row.endswith(" equivalent"), row)


if __name__ == "__main__":
    unittest.main()
