"""The scripts, on results made up here and with a fake timerbench.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/scripts_test.py
"""

import io
import itertools
import json
import os
import re
import resource
import subprocess
import sys
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from matplotlib.text import Annotation
from scripts_testing import ROOT, Scratch, texts_of

import plot
import style
from tables import replays as table
from tables.answers import answers
from console import Failure, duration
from figures import against_size, all_figures, limit, overview, per_workload
from figures.paper import paper_figures
from reports import CostReport
from results.replays import Results, load
from words import digits, power

ROSTER = {
    "null": "none",
    "one_store": "none",
    "scan": "exact",
    "tick_map": "granular",
    "ordered_map": "exact",
    "binary_heap": "exact",
    "quad_heap": "exact",
    "pairing_heap": "exact",
    "fibonacci_heap": "exact",
    "lazy_heap": "exact",
    "skiplist": "exact",
    "redis_zset": "exact",
    "redis_zset_poll": "exact",
    "ring_512": "granular",
    "ring_65536": "granular",
    "kafka_wheel_20": "granular",
    "kafka_wheel_64": "granular",
    "kafka_wheel_256": "granular",
    "kafka_wheel_512": "granular",
    "kafka_wheel_floor_20": "early",
    "my_new_wheel_8": "relative",
}
TIMEOUT = "timeout: one replay takes more than 1 s"


def measured(
    workload: str,
    size: int,
    backend: str,
    *costs: float,
    precision: str = "exact",
    item: str = "insert",
    items: int | None = None,
) -> list[dict[str, Any]]:
    """The entries of a cell, one for each round."""
    name = f"quick/{workload}/{size}/{backend}/manual_time"
    return [
        {
            "name": name,
            "run_type": "iteration",
            "repetition_index": i,
            "items": size if items is None else items,
            "ns_per_item": cost,
            "label": f"{precision}, per {item}",
        }
        for i, cost in enumerate(costs)
    ]


def failed(workload: str, size: int, backend: str, message: str = TIMEOUT) -> list[dict[str, Any]]:
    return [
        {
            "name": f"quick/{workload}/{size}/{backend}/manual_time",
            "run_type": "iteration",
            "error_occurred": True,
            "error_message": message,
        }
    ]


def whole_roster(sizes: list[int]) -> list[dict[str, Any]]:
    """All backends close together, where labels are in each other's way; two of them fail."""
    entries = []
    workloads = {
        "fill": "insert",
        "churn": "cancel + insert",
        "hold": "fire + insert",
        "bulk": "insert + fire",
    }
    for (workload, item), size in itertools.product(workloads.items(), sizes):
        for i, (backend, precision) in enumerate(ROSTER.items()):
            if backend == "redis_zset_poll" or (backend == "scan" and size > sizes[0]):
                entries += failed(workload, size, backend)
            else:
                cost = 20 + i // 2 * size**0.1
                entries += measured(
                    workload,
                    size,
                    backend,
                    cost,
                    cost * 1.1,
                    cost * 0.9,
                    precision=precision,
                    item=item,
                )
    for backend, precision in ROSTER.items():
        entries += measured("nginx_conn_per_request", 13862, backend, 2e4, precision=precision)
    return entries


class CostScratch(Scratch):
    def load(self, entries: Any, **facts: Any) -> Results:
        return load([self.write(entries, **facts)])


class LoadTest(CostScratch):
    def test_rounds_are_one_cell(self) -> None:
        aggregate = {
            "name": "quick/fill/10/scan/manual_time_mean",
            "run_type": "aggregate",
            "ns_per_item": 1e9,
        }
        results = self.load([*measured("fill", 10, "scan", 10.0, 12.0, 13.0), aggregate])
        cell = results.cells["fill", 10, "scan"]
        self.assertEqual(cell.cost, 12)
        self.assertAlmostEqual(cell.spread, 2 / 12)
        self.assertEqual((results.item("fill"), results.precision("scan")), ("insert", "exact"))

    def test_a_licence_is_told_wherever_the_backend_is(self) -> None:
        licence = "advance() walks every tick"
        described = {"scan": {"summary": "one array", "licence": licence}, "ring": {"licence": ""}}
        entries = [*measured("fill", 10, "scan", 10.0), *measured("fill", 10, "ring", 10.0)]
        results = self.load(entries, backends=described)
        self.assertIn(f" scan has a licence: {licence}.", table.caption(results, 10))
        self.assertNotIn("ring has", table.caption(results, 10))
        self.assertEqual(results.summary("scan"), f"one array; {licence}")

    def test_versions_of_libraries_are_told_and_of_own_code_not(self) -> None:
        library = {"precision": "exact library"}
        entries = [
            *measured("fill", 10, "scan", 10.0),
            *measured("fill", 10, "libev", 10.0, **library),
            *measured("fill", 10, "libev_2", 10.0, **library),
            *measured("fill", 10, "asio", 10.0, **library),
        ]
        follows = {"scan": "a sweep", "libev": "libev 4.33", "libev_2": "libev 4.33", "asio": ""}
        described = {name: {"summary": "a heap", "follows": text} for name, text in follows.items()}
        results = self.load(entries, backends=described)
        self.assertIn(
            "\n\nVersions. `libev`, `libev_2`: libev 4.33.\n\n", table.markdown(results, 10)
        )
        self.assertEqual(results.summary("libev"), "a heap; libev 4.33")
        self.assertEqual(results.summary("scan"), "a heap")

    def test_one_slow_round_of_many_is_not_the_spread(self) -> None:
        costs = [99.0, *(float(cost) for cost in range(96, 106))]  # 1 in 11: outside the interval
        results = self.load(measured("fill", 10, "scan", *costs))
        self.assertAlmostEqual(results.cells["fill", 10, "scan"].spread, 4 / 100)
        costs[0] = 250.0
        results = self.load(measured("fill", 10, "scan", *costs))
        self.assertAlmostEqual(results.cells["fill", 10, "scan"].spread, 4 / 101)
        told = "medians of 11 rounds, in ns, ± the farther end of the 95 % interval, at"
        self.assertIn(told, table.caption(results, 10))
        seldom = measured("fill", 10, "skiplist", 10.0, 11.0)
        results = self.load([*measured("fill", 10, "scan", *costs), *seldom])
        told = "2 to 11 rounds, in ns, ± the farther end of the 95 % interval, or the largest deviation"
        self.assertIn(f"{told} of fewer than 6, ", table.caption(results, 10))

    def test_several_files_are_more_rounds(self) -> None:
        one = self.write(measured("fill", 10, "scan", 10.0), "1.json", date="a")
        other = self.write(measured("fill", 10, "scan", 20.0, 30.0), "2.json", date="b")
        results = load([one, other])
        self.assertEqual(results.cells["fill", 10, "scan"].cost, 20)
        self.assertEqual(results.facts["date"], "a; b")
        self.assertEqual(results.facts["suite"], "quick")

    def test_cells_need_not_have_been_repeated_as_often(self) -> None:
        often = measured("fill", 10, "scan", 10.0, 12.0, 13.0)
        seldom = measured("fill", 10, "skiplist", 10.0, 11.0)
        never = failed("fill", 10, "ring_512", "timeout: too slow")
        self.assertEqual(str(self.load([*often, *never]).rounds), "3")
        results = self.load([*often, *seldom, *never])
        self.assertIn("medians of 2 to 3 rounds, in ns, ±", table.caption(results, 10))

    def test_figures_of_two_machines_do_not_mix(self) -> None:
        one = self.write(measured("fill", 10, "scan", 10.0), "1.json")
        other = self.write(measured("fill", 10, "scan", 10.0), "2.json", processor="Other")
        with self.assertRaisesRegex(Failure, "2.json: its processor is 'Other'"):
            load([one, other])

    def test_figures_of_two_commits_do_not_mix(self) -> None:
        one = self.write(measured("fill", 10, "scan", 10.0), "1.json", commit="a")
        other = self.write(measured("fill", 10, "scan", 10.0), "2.json", commit="b")
        with self.assertRaisesRegex(Failure, "2.json: its commit is 'b'"):
            load([one, other])

    def test_figures_of_two_traces_do_not_mix(self) -> None:
        def campaign(name: str, hash_: str, size: int = 10) -> Path:
            inputs: Any = {f"fill/{size}/both": {"hashes": [hash_]}}
            return self.write(measured("fill", size, "scan", 10.0), name, inputs=inputs)

        one, other = campaign("1.json", "a"), campaign("2.json", "b")
        with self.assertRaisesRegex(Failure, "2.json: replays another trace of fill/10 than"):
            load([one, other])
        load([one, campaign("2.json", "a")])
        load([one, campaign("2.json", "b", size=20)])

    def test_figures_of_other_builds_or_settings_do_not_mix(self) -> None:
        for key in (
            *("num_cpus", "compiler", "flags", "build", "granularity", "seed", "pages", "load"),
        ):
            one = self.write(measured("fill", 10, "scan", 10.0), "1.json", **{key: "a"})
            other = self.write(measured("fill", 10, "scan", 10.0), "2.json", **{key: "b"})
            with self.subTest(key), self.assertRaisesRegex(Failure, f"2.json: its {key} is 'b'"):
                load([one, other])

    def test_that_a_backend_is_wrong_counts_more_than_that_it_takes_too_long(self) -> None:
        slow = failed("fill", 10, "scan")
        for worse in ("wrong", "error"):
            bad = failed("fill", 10, "scan", f"{worse}: for a reason")
            for entries in ([*slow, *bad], [*bad, *slow]):
                cell = self.load(entries).cells["fill", 10, "scan"]
                self.assertEqual((cell.status, cell.failure), (worse, f"{worse}: for a reason"))

    def test_a_cell_of_which_any_round_failed_has_no_figure(self) -> None:
        for status in ("wrong", "crash"):
            bad = failed("fill", 10, "scan", f"{status}: for a reason")
            for entries in (
                [*bad, *measured("fill", 10, "scan", 1.0)],
                [*measured("fill", 10, "scan", 1.0), *bad],
            ):
                cell = self.load(entries).cells["fill", 10, "scan"]
                self.assertEqual((cell.has_figure, cell.status), (False, status))

    def test_cells_that_a_run_did_not_reach_are_counted(self) -> None:
        unreached = 3 * failed(
            "hold", 10, "scan", "interrupted: the run was ended before this cell"
        )
        results = self.load(measured("fill", 10, "scan", 1.0) + unreached)
        self.assertEqual((results.workloads, results.interrupted), (["fill"], 1))
        self.assertIn(
            "1 cell not measured, since the run was interrupted", table.markdown(results, 10)
        )
        self.assertTrue(
            any("interrupted, 1 cells missing" in text for text in texts_of(overview.draw(results)))
        )
        with self.assertRaisesRegex(Failure, "interrupted before any cell"):
            self.load(unreached)

    def test_whatever_is_not_a_result_is_refused_by_name(self) -> None:
        good: dict[str, Any] = measured("fill", 10, "scan", 1.0)[0]
        contents = {
            "": "not a complete JSON file",
            '{"context": {}, "benchm': "not a complete JSON file",
            "[]": "no list 'benchmarks'",
            '{"context": 7, "benchmarks": []}': "'context' is no object",
            "{}": "no list 'benchmarks'",
            '{"benchmarks": []}': "has no cells",
            '{"benchmarks": [7]}': "is not a cell",
        }
        changes: list[dict[str, Any]] = [
            {"name": "BM_sort/10"},
            {"name": "a/b/c/d"},
            {"name": None},
            {"label": ""},
            {"label": "sometimes, per insert"},
            {"name": "quick/fill/0/scan/manual_time"},
            {"name": "quick/fill/-5/scan/manual_time"},
            {"ns_per_item": 0},
            {"ns_per_item": "x"},
        ]
        for change in changes:
            contents[json.dumps({"benchmarks": [good | change]})] = "is not a cell"
        path = self.folder / "bad.json"
        for content, complaint in contents.items():
            path.write_text(content)
            with self.subTest(content), self.assertRaisesRegex(Failure, f"bad.json: .*{complaint}"):
                load([path])
        path.write_bytes(b'{"executable": "\xff"}')
        with self.assertRaisesRegex(Failure, "bad.json: not a complete JSON file"):
            load([path])
        with self.assertRaisesRegex(Failure, "results.json: No such file"):
            load([self.folder])

    def test_the_shown_size_is_the_nearest_by_ratio(self) -> None:
        results = self.load(
            [*measured("fill", 1000, "scan", 1.0), *measured("fill", 10**5, "scan", 1.0)]
        )
        shown = {size: results.shown_size("fill", size) for size in (1000, 9000, 30_000, 10**7)}
        self.assertEqual(shown, {1000: 1000, 9000: 1000, 30_000: 10**5, 10**7: 10**5})

    def test_the_first_is_not_beaten_in_the_rounds_that_it_shares(self) -> None:
        """Though another has the least median, of rounds in which nobody else was measured."""
        costs = {  # by round
            "often": {round_: 10.0 if round_ < 16 else 5.0 for round_ in range(40)},
            "early": dict.fromkeys(range(8), 6.0),
            "late": dict.fromkeys(range(8, 16), 8.0),
        }
        entries = [
            entry | {"round": round_}
            for name, rounds in costs.items()
            for round_, entry in zip(rounds, measured("fill", 10, name, *rounds.values()))
        ]
        ranking = self.load(entries).ranking("fill", 10, costs)
        self.assertEqual(ranking, [["early", "late"], ["often"]])

    def test_the_telling_size_is_the_largest_that_most_reached(self) -> None:
        def with_failures_at_1000(count: int) -> Results:
            entries = [e for i in range(8) for e in measured("fill", 100, f"b{i}", 1.0)]
            for i in range(8):
                entries += (
                    failed("fill", 1000, f"b{i}")
                    if i < count
                    else measured("fill", 1000, f"b{i}", 1.0)
                )
            return self.load(entries + measured("trace", 10**6, "b0", 1.0))

        self.assertEqual(with_failures_at_1000(2).telling_size(), 1000)
        self.assertEqual(with_failures_at_1000(3).telling_size(), 100)


class TableTest(CostScratch):
    def setUp(self) -> None:
        super().setUp()
        self.results = self.load(
            [
                *measured("fill", 1000, "null", 1.0, precision="none"),
                *measured("fill", 1000, "one_store", 2.0, precision="none"),
                *measured("fill", 1000, "scan", *6 * [10.0], 11.0),
                *measured("fill", 1000, "skiplist", *6 * [10.1], 8.0),
                *measured("fill", 1000, "binary_heap", *7 * [20.0]),
                *measured("fill", 1000, "ring_512", 15.0, precision="granular"),
                *measured("fill", 1000, "kafka_wheel_20", 12.0, precision="granular"),
                *measured("fill", 1000, "kafka_wheel_floor_20", 2.0, precision="early"),
                *failed("churn", 1000, "scan"),
                *measured("churn", 1000, "binary_heap", 5.0),
                *measured("nginx", 77, "scan", 5.0),
            ],
            commit="abc-dirty",
        )
        self.text = table.markdown(self.results, 1000)

    def row(self, backend: str) -> list[str]:
        line = next(line for line in self.text.splitlines() if line.startswith(f"| `{backend}`"))
        return [entry.strip() for entry in line.strip("|").split("|")]

    def test_a_cost_over_fewer_operations_is_marked(self) -> None:
        self.assertNotIn("†", self.text)
        self.text = table.markdown(
            self.load(
                [
                    *measured("churn", 1000, "scan", 10.0, items=500),
                    *measured("churn", 1000, "redis_zset", 900.0, items=20),
                ]
            ),
            1000,
        )
        self.assertEqual(self.row("redis_zset")[2:], ["900 †"])
        self.assertEqual(self.row("scan")[2:], ["10.0"])
        self.assertIn("† over fewer operations.", self.text)

    def test_less_than_half_of_the_operations_are_fewer(self) -> None:
        entries = [
            *measured("churn", 1000, "scan", 10.0, items=1000),
            *measured("churn", 1000, "skiplist", 11.0, items=600),
            *measured("churn", 1000, "redis_zset", 900.0, items=400),
        ]
        self.text = table.markdown(self.load(entries), 1000)
        self.assertEqual(self.row("redis_zset")[2], "900 †")
        self.assertEqual(self.row("skiplist")[2], "11.0")

    def test_a_cost_that_was_disturbed_is_marked(self) -> None:
        self.assertNotIn("‡", self.text)
        entries = measured("churn", 1000, "scan", 10.0, items=1000)
        entries += measured("churn", 1000, "skiplist", 11.0, items=400)
        for entry in entries:
            entry["status"] = "noisy"
        self.text = table.markdown(self.load(entries), 1000)
        self.assertEqual((self.row("scan")[2], self.row("skiplist")[2]), ("10.0 ‡", "11.0 †‡"))
        self.assertIn("‡ disturbed in a round.", self.text)

    def test_the_best_of_each_precision_is_bold(self) -> None:
        self.assertEqual(self.row("scan"), ["`scan`", "exact", "**10.0 ±10%**", "timeout", "5.00"])
        self.assertEqual(self.row("skiplist")[2], "**10.1 ±21%**")
        self.assertEqual(self.row("binary_heap")[2:], ["20.0 ±0%", "5.00", "–"])

    def test_nothing_is_bold_where_the_rounds_are_too_few(self) -> None:
        self.assertEqual(self.row("ring_512")[2], "15.0")
        self.assertEqual(self.row("kafka_wheel_20")[2], "12.0")

    def bold(self, *entries: dict[str, Any]) -> list[str]:
        """Who is bold on fill."""
        results = self.load(list(entries))
        return results.best("fill", 1000, results.backends)

    def test_bold_takes_rounds_enough_of_everyone_for_all_comparisons(self) -> None:
        def of(backend: str, cost: float, rounds: int) -> list[dict[str, Any]]:
            return measured("fill", 1000, backend, *rounds * [cost])

        names = ("scan", "skiplist", "lazy_heap", "quad_heap")
        four = [entry for i, name in enumerate(names) for entry in of(name, 10.0 * 2**i, 6)]
        self.assertEqual(self.bold(*four[:12]), ["scan"], "two by six rounds")
        self.assertEqual(self.bold(*four), [], "four take seven")
        self.assertEqual(self.bold(*of("scan", 10, 8), *of("skiplist", 20, 5)), [])

    def test_the_pace_of_the_rounds_is_told(self) -> None:
        paces = [1.2, 1.0, 0.9, 1.0, 1.0, 1.0]
        entries = [
            entry
            for backend, cost in (("scan", 10.0), ("skiplist", 20.0), ("quad_heap", 30.0))
            for entry in measured("fill", 1000, backend, *(cost * pace for pace in paces))
        ]
        text = table.markdown(self.load(entries), 1000)
        self.assertIn("a round took 0.90 to 1.20 of the usual time", text)
        self.assertNotIn("usual time", table.markdown(self.load(measured("fill", 1, "a", 9.0)), 1))

    def test_what_is_no_more_than_the_noise_is_bold_too(self) -> None:
        entries = [
            *measured("fill", 1000, "scan", *8 * [10.0]),
            *measured("fill", 1000, "skiplist", *8 * [10.5]),
        ]
        self.assertEqual(self.bold(*entries), ["scan"])
        again = measured("fill", 1000, "scan@again", *8 * [11.0])
        self.assertEqual(self.bold(*entries, *again), ["scan", "skiplist"])

    def test_who_is_less_precise_stands_apart(self) -> None:
        ranked, apart = self.text.split("Not ranked")
        for backend in ("null", "kafka_wheel_floor_20"):
            self.assertNotIn(f"`{backend}`", ranked)
            self.assertIn(f"`{backend}`", apart)
            self.assertNotIn("**", self.row(backend)[2])

    def test_for_how_many_operations_a_library_is_enough_is_told(self) -> None:
        library = {"precision": "exact library"}
        entries = [
            *measured("fill", 1000, "libuv", 9.0, **library),  # one kind of operation, so no column
            *measured("churn", 1000, "libuv", 52.0, **library),
            *measured("churn", 100_000, "libuv", 389.0, **library),
            *measured("churn", 1000, "libev", 21.0, **library),
            *measured("churn", 1000, "scan", 5000.0),
            *measured("churn", 1000, "heap", 9.0),
            *measured("churn", 1000, "wheel", 3.0, precision="granular"),
        ]
        text = table.markdown(self.load(entries), 1000)
        _, _, told = text.partition("Operations a second for which 1 % of a core pays")
        rows = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in told.splitlines()
            if line.startswith("|")
        ]
        self.assertEqual(
            [rows[0], *rows[2:]],
            [
                ["", "churn<br>10³ timers", "churn<br>10⁵ timers"],
                ["`libuv`", "190\u202f000", "26\u202f000"],
                ["`libev`", "480\u202f000", "–"],
                ["own, exact", "1\u202f100\u202f000 `heap`", "–"],
                ["own, granular", "3\u202f300\u202f000 `wheel`", "–"],
            ],
        )
        self.assertNotIn(
            "1 % of a core", table.markdown(self.load(measured("fill", 1, "a", 9.0)), 1)
        )

    def test_a_library_that_may_be_early_is_with_the_libraries(self) -> None:
        early = {"precision": "early library"}
        entries = [
            *measured("churn", 1000, "scan", 10.0),
            *measured("churn", 1000, "floor", 5.0, precision="early"),
            *measured("churn", 1000, "libev", 15.0, precision="exact library"),
            *measured("churn", 1000, "wheel", 20.0, **early),
        ]
        text = table.markdown(self.load(entries), 1000)
        own, _, rest = text.partition("\n\nNot ranked")
        apart, _, libraries = rest.partition("\n\nLibraries, compared among themselves:\n\n")
        libraries, _, enough = libraries.partition("\n\nOperations a second")
        for part, names in ((own, ["scan"]), (apart, ["floor"]), (libraries, ["libev", "wheel"])):
            self.assertEqual(re.findall(r"^\| `(\w+)`", part, re.MULTILINE), names)
        self.assertRegex(enough, r"\| `wheel` +\| +500\u202f000 \|")
        self.assertRegex(enough, r"\| own, early +\| +2\u202f000\u202f000 `floor` \|")

    def test_libraries_are_ranked_apart_from_own_code(self) -> None:
        entries = [
            *measured("fill", 1000, "scan", *8 * [10.0]),
            *measured("fill", 1000, "libev", *8 * [15.0], precision="exact library"),
            *measured("fill", 1000, "libuv", *8 * [90.0], precision="exact library"),
        ]
        results = self.load(entries)
        self.text = table.markdown(results, 1000)
        self.assertEqual(self.row("libev")[1:], ["exact library", "**15.0 ±0%**"])
        self.assertEqual(self.row("libuv")[2], "90.0 ±0%")
        own, libraries, *_ = answers(results, {"fill": 1000})
        self.assertIn("fill, 10³ timers, exact: scan 10.0 ns, the only one", own)
        self.assertIn("fill, 10³ timers, exact library: libev 15.0 ns, 6.0 times", libraries)

    def test_it_says_where_the_figures_come_from(self) -> None:
        for part in (
            "Test 1000",
            "abc-dirty",
            "`scripts/bench`",
            "per insert, 77",
            "10³ pending",
            f"scan: {TIMEOUT}",
        ):
            self.assertIn(part, self.text)

    def test_a_terminal_gets_the_same(self) -> None:
        with redirect_stdout(io.StringIO()) as out:
            table.print_on_terminal(self.results, 1000)
        for part in (
            "kafka_wheel_floor_20",
            "10.0 ±10%",
            "timeout",
            "one replay takes more than 1 s",
        ):
            self.assertIn(part, out.getvalue())


class PaperTest(CostScratch):
    def setUp(self) -> None:
        super().setUp()
        self.entries = [
            *measured(
                "fill", 1000, "ring_512", *(10.0 + i for i in range(8)), precision="granular"
            ),
            *measured(
                "fill", 1000, "tick_map", *(50.0 + i for i in range(8)), precision="granular"
            ),
            *measured("fill", 1000, "scan", 7.0),
            *measured("fill", 10_000, "ring_512", 20.0, precision="granular"),
            *failed("fill", 10_000, "scan"),
            *measured("50%_$", 1000, "scan", 5.0, item="a & b"),
        ]

    def paper(self, **facts: str) -> Path:
        run = self.run_plot("--paper", self.write(self.entries, **facts), "--size=1000")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return self.folder / "paper"

    def test_the_table(self) -> None:
        text = (self.paper() / "table.tex").read_text()
        lines = [
            line for line in text.splitlines() if line.endswith("\\\\") and "multi" not in line
        ]
        self.assertEqual({line.count(" & ") for line in lines}, {2})
        self.assertIn("\\begin{tabular}{lrr}", text)
        self.assertIn("50\\%\\_\\$", text)
        self.assertIn("per a \\& b", text)
        self.assertIn("\\textbf{13.5 {\\scriptsize [10.0, 17.0]}}", text)
        self.assertIn("\\texttt{tick\\_map} & 53.5 {\\scriptsize [50.0, 57.0]}", text)
        self.assertIn("\\texttt{scan} & 7.00 & 5.00", text, "one round has no interval")
        self.entries += measured("fill", 1000, "null", *8 * [1.0], precision="none", items=10)
        self.entries += measured("fill", 1000, "one_store", *8 * [2.0], precision="none")
        text = (self.paper() / "table.tex").read_text()
        self.assertIn("\\texttt{null} & 1.00 {\\scriptsize [1.00, 1.00]} $\\dagger$", text)
        self.assertEqual(text.count("textbf"), 1, "controls are not ranked")

    def test_the_table_has_workloads_of_other_sizes_too(self) -> None:
        self.entries += measured("trace", 77, "scan", 6.0)
        text = (self.paper() / "table.tex").read_text()
        self.assertIn("\\texttt{scan} & 7.00 & 5.00 & 6.00 \\\\\n", text)
        self.assertIn("\\texttt{tick\\_map} & 53.5 {\\scriptsize [50.0, 57.0]} & -- & --", text)

    def test_the_table_marks_doubtful_costs(self) -> None:
        self.entries[-1]["status"] = "noisy"
        self.entries += measured("50%_$", 1000, "skiplist", 9.0, items=400)
        text = (self.paper() / "table.tex").read_text()
        self.assertIn("\\texttt{scan} & 7.00 & 5.00 $\\ddagger$ \\\\\n", text)
        self.assertIn("\\texttt{skiplist} & -- & 9.00 $\\dagger$ \\\\\n", text)
        self.assertIn("† over fewer operations. ‡ disturbed in a round.", text)

    def test_the_method(self) -> None:
        text = (
            self.paper(commit="abc", grade="C", grade_reasons="load; swap") / "method.tex"
        ).read_text()
        for part in (
            "commit abc",
            "Test 1000",
            "Each of 5 cells",
            "No figure: 1 timeout (of 6 cells).",
            "graded C of A to F, for load, swap",
            "Nothing was measured twice",
            "\\texttt{scripts/bench}",
        ):
            self.assertIn(part, text)
        self.assertNotIn("Latin squares", text, "no campaign has made these")
        self.assertNotIn("verified against a model before", text)
        self.assertIn("Granules are of 1 tick.", text)
        self.assertNotIn("stayed disturbed", text)
        self.assertNotIn("virtual", text)
        self.entries += measured("fill", 1000, "scan@again", 7.7)
        inputs: Any = {"fill/10/both": {"summary": "arms"}}
        text = (self.paper(format="1", inputs=inputs) / "method.tex").read_text()
        self.assertNotIn("hashes confirm", text, "there are none")
        inputs["fill/10/both"]["hashes"] = ["ab"]
        text = (self.paper(format="1", inputs=inputs) / "method.tex").read_text()
        self.assertIn("hashes confirm", text)
        self.assertIn("Latin squares", text)
        self.assertIn("bound to one processor unless it is a server's client", text)
        self.assertIn("verified against a model before", text)
        self.entries[0]["status"] = "noisy"
        self.entries.append(failed("fill", 10, "scan", "interrupted: not reached")[0])
        text = (
            self.paper(format="1", granularity="4", grade="D", grade_reasons="hypervisor")
            / "method.tex"
        ).read_text()
        self.assertIn("Granules are of 4 ticks.", text)
        self.assertIn("In 1 cells a measurement stayed disturbed", text)
        self.assertIn("1 cells were not measured.", text)
        self.assertIn("a virtual machine with Test 1000", text)
        self.entries = [entry for entry in self.entries if entry.get("repetition_index", 0) < 3]
        text = (self.paper(format="1") / "method.tex").read_text()
        self.assertIn("3 rounds allow no interval", text)
        self.assertIn("nine pairs of ten differ by less than 10.0 \\%", text)

    def test_a_figure_is_a_column_wide(self) -> None:
        folder = self.paper()
        names = ["cost_50%_$.pdf", "cost_fill.pdf"]  # of one size, and of two
        self.assertEqual(sorted(path.name for path in folder.glob("*.pdf")), names)
        for name in names:
            [box] = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ", (folder / name).read_bytes())
            self.assertAlmostEqual(float(box), 3.33 * 72, places=1)

    def test_no_text_overlaps_another_or_leaves_the_page(self) -> None:
        for entries in (self.entries, whole_roster([10**3, 10**4, 10**5, 10**6, 10**7])):
            for name, draw in paper_figures(self.load(entries)):
                self.check_layout(name, draw())


class FigureTest(CostScratch):
    def test_no_text_overlaps_another_or_leaves_the_page(self) -> None:
        large = whole_roster([10**3, 10**4, 10**5, 10**6, 10**7])
        small = measured("fill", 10, "scan", 1.0, 2.0) + measured("fill", 100, "scan", 2.0, 3.0)
        for entries in (large, small):
            for name, draw in all_figures(self.load(entries), 10**5):
                self.check_layout(name, draw())

    def test_nothing_disappears(self) -> None:
        results = self.load(whole_roster([10**3, 10**4]))
        against = texts_of(against_size.draw(results, "fill"))
        for backend in ROSTER:
            self.assertTrue(any(text.split()[:1] == [backend] for text in against), backend)
        self.assertIn("scan  ✕ timeout at 10⁴", against)
        self.assertIn("redis_zset_poll  ✕ timeout at 10³", against)
        self.assertEqual(texts_of(per_workload.draw(results, 10**4)).count("✕ timeout"), 8)
        self.assertIn("✕ timeout 10⁴", texts_of(overview.draw(results)))

    def test_dots_are_sorted_among_those_of_the_same_precision(self) -> None:
        results = self.load(
            [
                *measured("fill", 10, "scan", 30.0),
                *measured("fill", 10, "skiplist", 20.0),
                *failed("fill", 10, "lazy_heap"),
                *measured("cancel", 10, "lazy_heap", 1.0),
                *measured("fill", 10, "ring_512", 40.0, precision="granular"),
                *measured("fill", 10, "null", 1.0, precision="none"),
            ]
        )
        names = [
            text
            for text in texts_of(per_workload.draw(results, 10))
            if text in ("null", *style.COLOURS, *style.HEADINGS.values())
        ]
        self.assertEqual(
            names[:8],
            [
                "exact",
                "skiplist",
                "scan",
                "lazy_heap",
                "granular",
                "ring_512",
                "controls, not ranked",
                "null",
            ],
        )

    def test_what_took_too_long_stands_behind_what_did_not_if_there_is_room(self) -> None:
        entries = [
            *measured("fill", 10, "scan", 3.0),
            *failed("fill", 100, "scan"),
            *measured("fill", 10, "skiplist", 1e6),
            *failed("fill", 100, "skiplist"),
            *measured("fill", 10, "lazy_heap", 1.0),
        ]
        figure = overview.draw(self.load(entries))
        [scan, skiplist] = [
            (note.xy[0], note.get_ha())
            for note in figure.axes[0].texts
            if isinstance(note, Annotation) and "timeout" in note.get_text()
        ]
        self.assertEqual(scan, (3.0, "left"))
        self.assertEqual(skiplist, (1e6, "right"))

    def test_the_distance_to_one_store_is_of_the_same_round(self) -> None:
        names = [f"my_heap_{i}" for i in range(limit.MOST)]
        entries = [
            *measured("fill", 10, "one_store", 1.0, 4.0, 2.0, precision="none"),
            *measured("fill", 10, "null", 0.5, 2.0, 1.0, precision="none"),
            *measured("fill", 10, "scan", 5.0, 8.0, 6.0),
            *measured("drain", 10, "one_store", 1.0, precision="none", item="fire"),
            *measured("drain", 10, "scan", 5.0, item="fire"),
            *(one for name in names for one in measured("fill", 10, name, 50.0, 50.0, 50.0)),
            *failed("fill", 100, "scan"),
        ]
        results = self.load(entries)
        self.assertEqual([*map(round, results.distances("fill", 10, "scan"))], [2, 3, 5])
        self.assertEqual(results.distances("drain", 10, "scan"), [], "it stores nothing")
        texts = texts_of(limit.draw(results))
        self.assertIn("scan  ✕ timeout at 100", texts)
        self.assertFalse({*names, "null", "one_store"} & {text.split("  ")[0] for text in texts})
        self.assertTrue(any("without drain, where one_store has" in text for text in texts))

        results.keep({"scan", names[0]}, {"fill", "drain"})
        self.assertEqual([*map(round, results.distances("fill", 10, "scan"))], [2, 3, 5])
        self.assertIn(f"{names[0]}  ×25.0", texts_of(limit.draw(results)))

        without = self.load([one for one in entries if "one_store" not in one["name"]])
        self.assertNotIn("limit", dict(all_figures(without, 10)))

    def test_labels_keep_their_order_and_distance(self) -> None:
        for wanted in ([0.5] * 12, [0.0, 0.01, 0.9, 0.91, 0.92], [1.0] * 3, [-1.0, -1.0, 0.0, 0.5]):
            places = against_size.spread_out(wanted, 0.05, 0.0, 1.0)
            self.assertTrue(all(0 <= place <= 1 + 1e-9 for place in places), places)
            for (a, x), (b, y) in itertools.combinations(zip(wanted, places), 2):
                self.assertGreaterEqual(abs(x - y), 0.05 - 1e-9)
                self.assertTrue(a == b or (a < b) == (x < y))
        self.assertEqual(against_size.spread_out([0.8, 0.2], 0.05, 0.0, 1.0), [0.8, 0.2])


class ReportTest(CostScratch):
    def test_pictures_and_table_are_written_whole(self) -> None:
        results = self.load(measured("fill", 10, "scan", 1.0) + measured("fill", 100, "scan", 2.0))
        paths = plot.write_report(CostReport(results, 100), self.folder)
        self.assertEqual(
            [path.name for path in paths],
            ["table.md", "cost_fill.png", "cost_per_workload_100.png", "overview.png"],
        )
        for path in paths[1:]:
            self.assertTrue(path.read_bytes().startswith(b"\x89PNG"))
            self.assertIn("</svg>", path.with_suffix(".svg").read_text())
        self.assertEqual(list(self.folder.glob("*.partial")), [])

    def test_one_size_has_no_cost_against_size(self) -> None:
        results = self.load(measured("fill", 10, "scan", 1.0))
        names = [path.name for path in plot.write_report(CostReport(results, 10), self.folder)]
        self.assertEqual(names, ["table.md", "cost_per_workload_10.png", "overview.png"])

    def test_without_any_figure_there_is_still_the_table(self) -> None:
        results = self.load(failed("fill", 10, "redis_zset", "unavailable: no redis-server"))
        with self.assertRaisesRegex(Failure, "none of the 1 cells has a figure"):
            plot.write_report(CostReport(results, 10), self.folder)
        self.assertIn("unavailable", (self.folder / "table.md").read_text())


class WordsTest(unittest.TestCase):
    def test_numbers(self) -> None:
        self.assertEqual(
            [power(n) for n in (1, 100, 1000, 30_000, 13862)],
            ["1", "100", "10³", "3·10⁴", "13\u202f862"],
        )
        self.assertEqual(
            [digits(x) for x in (0, 0.0146, 0.514, 1.0, 9.99, 12.34, 456.4, 999.7, 15539.2)],
            ["0", "0.015", "0.51", "1.00", "9.99", "12.3", "456", "1\u202f000", "15\u202f539"],
        )
        self.assertEqual(
            [duration(s) for s in (3.2, 59.7, 200, 3900)], ["3 s", "1 min", "3 min", "1 h 05 min"]
        )


class NoResultsTest(Scratch):
    def test_results_beside_those_that_are_not_there_are_named(self) -> None:
        (self.folder / "quick-1a2b3c").mkdir()
        self.write([], name="quick-1a2b3c/results.json")
        for name, told in (
            ("quick", "there is quick-1a2b3c"),
            ("[", "scripts/bench makes results"),
        ):
            run = subprocess.run(
                [ROOT / "scripts" / "plot", name], text=True, capture_output=True, cwd=self.folder
            )
            self.assertEqual(run.returncode, 1)
            self.assertEqual(
                run.stderr, f"scripts/plot: {name}: No such file or directory; {told}\n"
            )


class PlotCommandTest(Scratch):
    def test_errors_are_one_line(self) -> None:
        broken = self.folder / "broken.json"
        broken.write_text('{"benchmarks": [')
        good = self.write(measured("fill", 10, "scan", 1.0))
        cases: list[tuple[list[object], int, str]] = [
            ([broken], 1, "broken.json: not a complete JSON file"),
            ([self.folder / "none.json"], 1, "none.json: No such file"),
            ([], 2, "RESULTS"),
            *(
                (
                    [good, f"--size={size}"],
                    2,
                    f"--size: '{size}' is not a whole number from 1 to 10⁹",
                )
                for size in ("inf", "nan", "0", "1.5", "1e99")
            ),
            ([good, "--size=11"], 2, "no cell has 11 timers"),
            (
                [good, "--out=/proc/x"],
                1,
                "/proc/x: No such file or directory; choose another --out",
            ),
            ([""], 2, "RESULTS: is empty"),
            ([good, "--out="], 2, "--out: is empty"),
            ([good, "--tabl"], 2, "unrecognized arguments: --tabl"),  # options have one name each
        ]
        for arguments, code, complaint in cases:
            with self.subTest(complaint):
                ended = self.run_plot(*arguments)
                self.assertEqual((ended.returncode, ended.stdout), (code, ""))
                self.assertRegex(ended.stderr, f"^scripts/plot: .*{re.escape(complaint)}.*\n$")

    def test_what_may_never_end_is_not_read(self) -> None:
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for path in (pipe, "/dev/zero", "/dev/full"):
            for script, *more in (("plot",), ("report",), ("compare", path)):
                with self.subTest(path=path, script=script):
                    ended = self.run_script(script, path, *more)
                    self.assertIn(ended.returncode, (1, 3))
                    self.assertRegex(
                        ended.stderr, f"^scripts/{script}: {path}: is no regular file, .*\n$"
                    )

    def test_a_page_has_a_name(self) -> None:
        good = self.write(measured("fill", 10, "scan", 1.0))
        for out, told in (
            ("", "argument --out: is empty; name a file or a folder; see scripts/report --help"),
            (".", "--out: . is to be a page; call it report.html"),
            ("/", "--out: / is to be a page; call it report.html"),
            ("a/x.txt", "--out: a/x.txt is to be a page; call it x.html"),
        ):
            ended = self.run_script("report", good, f"--out={out}")
            self.assertEqual((ended.returncode, ended.stderr), (2, f"scripts/report: {told}\n"))

    def test_output_that_nobody_takes(self) -> None:
        """It is closed, cannot be encoded, or has no room."""
        good = self.write(measured("fill", 1000, "scan", 1.0, 1.1))
        compared = f"{good}:scan"
        for command in (("plot", good, "--table"), ("compare", compared, compared), ("plot", "-h")):
            for way, code, err in (
                (">&-", 0, ""),
                (">&- 2>&-", 0, ""),
                (">/dev/full", None, "standard output: No space left on device"),
            ):
                with self.subTest(command=command, way=way):
                    words = " ".join(map(str, command))
                    ended = subprocess.run(
                        f"{ROOT}/scripts/{words} {way}", shell=True, text=True, capture_output=True
                    )
                    self.assertEqual(ended.stdout, "")
                    self.assertEqual(ended.stderr, err and f"scripts/{command[0]}: {err}\n")
                    self.assertIn(ended.returncode, (1, 3) if code is None else (code,))
        ended = subprocess.run(
            [ROOT / "scripts" / "plot", good, "--table"],
            env=os.environ | {"PYTHONIOENCODING": "ascii"},
            text=True,
            capture_output=True,
        )
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertIn("at 10? pending timers", ended.stdout)

    def test_a_file_that_cannot_be_written_is_named(self) -> None:
        good = self.write(measured("fill", 10, "scan", 1.0))
        out = self.folder / "out"

        def nearly_full() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

        for script, name in (("plot", "overview.png"), ("report", "report.html")):
            place = out if script == "plot" else out / name
            ended = subprocess.run(
                [ROOT / "scripts" / script, good, f"--out={place}"],
                env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
                preexec_fn=nearly_full,
                text=True,
                capture_output=True,
            )
            self.assertRegex(
                ended.stderr,
                rf"^scripts/{script}: {out}/\w+.(png|html): File too large; make room, or choose "
                r"another --out\n$",
            )

    def test_the_table_alone(self) -> None:
        ended = self.run_plot(self.write(measured("fill", 10, "scan", 1.0)), "--table")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertIn("| `scan`  | exact     |               1.00 |", ended.stdout)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["results.json"])

    def test_several_results_are_merged_and_it_says_so(self) -> None:
        one = self.write(measured("fill", 10, "scan", 1.0), "1.json")
        other = self.write(measured("fill", 10, "scan", 3.0), "2.json")
        ended = self.run_plot(one, other, "--table")
        self.assertIn("2 results merged: 1 cells, 2 rounds each", ended.stderr)
        self.assertIn("2.00 ±50%", ended.stdout)

    def test_rounds_of_merged_results_are_different_rounds(self) -> None:
        files = [
            self.write(
                measured("fill", 10, "scan", *costs)
                + measured("fill", 10, "lazy_heap", *(10 * cost for cost in costs)),
                name,
            )
            for name, costs in (("1.json", (1.0, 1.1, 0.9)), ("2.json", (1.0, 0.9, 1.1)))
        ]
        results = load(files)
        self.assertEqual(len(results.cells["fill", 10, "scan"].by_round), 6)
        standings = results.standings("fill", 10, ["lazy_heap", "scan"])
        self.assertTrue(standings.is_sure)
        self.assertEqual(standings.best, ["scan"])


if __name__ == "__main__":
    unittest.main()
