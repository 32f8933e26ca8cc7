"""The scripts on results of the suites on the wall clock, made up here.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/realtime_scripts_test.py
"""

import gzip
import io
import itertools
import json
import re
import sys
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import BenchScratch, Scratch, texts_of

import plot
from console import Failure
from results import realtime
from results.grid import read_files
from results.realtime import RealtimeResults
from reports import Choice, RealtimeReport, open_report
from tables.latex import latex_realtime_table
from words import time

Entries = list[dict[str, Any]]

ROSTER = {
    "ticking_scan": "exact",
    "locked_binary_heap": "exact",
    "locked_kafka_wheel_256": "granular",
    "java_timer": "exact",
    "delay_queue": "exact",
    "ring_timer": "granular",
    "system_timer": "granular",
    "redis_poller": "exact",
    "sharded_4_locked_kafka_wheel_256": "granular",
    "my_new_service": "relative",
}
SKIPPED = "skipped: saturated at two smaller sizes already"
TASKS = ("task_10us", "task_10us_executor_2", "task_1ms", "task_1ms_executor_2")


def measured(name: str, label: str = "exact, per fire", **counters: float) -> Entries:
    """The entry of one round. In the names of counters p99_9 is p99.9."""
    own = {key.replace("p99_9", "p99.9"): value for key, value in counters.items()}
    return [
        {
            "name": f"{name}/iterations:1/manual_time",
            "run_type": "iteration",
            "real_time": 1e9,
            "label": label,
            **own,
        }
    ]


def failed(name: str, message: str) -> Entries:
    return [{"name": f"{name}/manual_time", "error_occurred": True, "error_message": message}]


def late(
    name: str, label: str = "exact, per fire", factor: float = 1, **counters: float
) -> Entries:
    """A cell of accuracy."""
    return measured(
        name,
        label,
        offered_per_second=1000,
        achieved_per_second=1000,
        lateness_p50_ns=60e3 * factor,
        lateness_p99_ns=150e3 * factor,
        lateness_p99_9_ns=900e3 * factor,
        lateness_max_ns=2e6 * factor,
        wakeups_per_second=100,
        cpu_share=0.05,
        **counters,
    )


def accuracy(services: dict[str, str] = ROSTER) -> Entries:
    """The whole suite; the last service saturates early, the third but last is not there."""
    entries: Entries = []
    for size in (100, 1000, 10_000, 100_000):
        entries += late(f"accuracy/rate/{size}/control", "none, per sleep")
        for i, (service, precision) in enumerate(services.items()):
            name, label = f"accuracy/rate/{size}/{service}", f"{precision}, per fire"
            if service == "redis_poller":
                entries += failed(name, "unavailable: no redis-server")
            elif service == "my_new_service" and size > 1000:
                entries += failed(name, SKIPPED)
            else:
                is_full = service == "my_new_service" and size == 1000
                entries += late(name, label + ", saturated" * is_full, 1 + i * size**0.1)
    for way in ("condition", "sleep_then_spin"):
        entries += late(f"accuracy/wait_{way}/1000/control", "none, per sleep")
        entries += late(f"accuracy/wait_{way}/1000/locked_binary_heap")
    for scenario in ("granularity_10ms", "granularity_100ms", "poll_10ms"):
        entries += late(f"accuracy/{scenario}/1000/ring_timer", factor=100)
    for scenario, size, service in itertools.product(TASKS, (1000, 50_000), services):
        entries += late(f"accuracy/{scenario}/{size}/{service}")
    entries += late("accuracy/herd/100000/java_timer", first_lateness_ns=5e3, last_lateness_ns=7e6)
    entries += measured("accuracy/idle/1/java_timer", "exact, per second", wakeups_per_second=0)
    return entries


class ComparedFigureTest(Scratch):
    def test_more_calls_and_fewer_wakeups_are_better(self) -> None:
        entries = [
            *measured(
                "contention/own/1/few", "exact, per call", calls_per_second=1, wakeups_per_second=1
            ),
            *measured(
                "contention/own/1/many", "exact, per call", calls_per_second=2, wakeups_per_second=2
            ),
        ]
        results = realtime.load_files(read_files([self.write(entries)]))
        for figure, best in (("calls_per_second", "many"), ("wakeups_per_second", "few")):
            costs = results.as_costs(figure)
            cells = {name: costs.cells["own", 1, name].cost for name in ("few", "many")}
            self.assertEqual(min(cells, key=cells.__getitem__), best)


def contention(services: dict[str, str] = ROSTER, sizes: tuple[int, ...] = (1, 2, 4, 8)) -> Entries:
    return [
        entry
        for pattern, size in itertools.product(("own", "cross", "hot"), sizes)
        for i, (service, precision) in enumerate(services.items())
        for round_ in range(3)
        for entry in measured(
            f"contention/{pattern}/{size}/{service}",
            f"{precision}, per call",
            calls_per_second=1e6 * (i + 1) * (1 + round_ / 10) / size,
            cpu_ns_per_call=50 + i,
            schedule_p50_ns=100 + i,
            schedule_p99_9_ns=5000 + i,
            cancel_p50_ns=90 + i,
            cancel_p99_9_ns=4000 + i,
            fired_share=0.002,
        )
    ]


def purgatory(services: tuple[str, ...] = ("delay_queue", "system_timer")) -> Entries:
    return [
        entry
        for scenario, size in itertools.product(("low", "high", "short"), (1000, 10_000, 500_000))
        for service in services
        for entry in measured(
            f"purgatory/{scenario}/{size}/{service}",
            "exact, per request" + ", saturated" * (size == 500_000),
            target_per_second=size,
            actual_per_second=size,
            cpu_share=0.00002 * size**0.8,
            cpu_ns_per_request=3e4,
            timed_out_share=0.078,
            expected_timed_out_share=0.0787,
            lateness_p50_ns=1e5,
            lateness_p99_ns=1e6,
        )
    ]


QUEUES = {
    "journal_wheel_0": "keeps all",
    "redis_always": "keeps all",
    "redis_cluster": "may lose all",
}


def durable(queues: dict[str, str] = QUEUES) -> Entries:
    """Each scenario of the suite; the control is beside what is late."""
    entries: Entries = []
    for i, (queue, promise) in enumerate(queues.items()):
        label, server = f"{promise}, per timer", {"server_cpu_ns_per_timer": 5e3 + i}
        for scenario, size in itertools.product(("clients", "batch"), (1, 4, 16)):
            entries += measured(
                f"durable/{scenario}/{size}/{queue}",
                label,
                timers_per_second=1000 * size / (i + 1),
                client_cpu_ns_per_timer=9e3,
                fsyncs_per_timer=2 / size if promise == "keeps all" else 0,
                **server,
                **({"network_bytes_per_timer": 1300} if i == 2 else {}),
            )
        for scenario in ("rate", "orders", "jobs"):
            for size in (1000, 10_000):
                full = ", saturated" * (size == 10_000)
                entries += late(f"durable/{scenario}/{size}/{queue}", label + full, 1 + i)
        entries += measured(
            f"durable/idle/1000/{queue}",
            f"{promise}, per hour",
            cpu_ns_per_hour=4e9 * (i + 1),
            worker_wakeups_per_hour=72_000,
            fsyncs_per_hour=0,
            **({"server_wakeups_per_hour": 4e6, "network_bytes_per_hour": 3.4e9} if i == 2 else {}),
        )
        entries += measured(
            f"durable/pending/1000000/{queue}",
            label,
            timers_per_second=900,
            bytes_in_memory=150 + i,
            bytes_on_disk=41,
            restart_seconds=0.5,
        )
    for scenario, size in itertools.product(("rate", "orders", "jobs"), (1000, 10_000)):
        entries += late(f"durable/{scenario}/{size}/control", "none, per timer")
    return entries


HISTOGRAM = {"count": 4, "mean": 1e5, "max": 2e5, "edges": [5e4, 1e5, 2e5], "counts": [3, 1]}
NONE = {"count": 0, "mean": 0, "max": 0, "edges": [], "counts": []}
PARTS = {"lateness": HISTOGRAM, "wakeup": HISTOGRAM, "rounding": NONE, "processing": HISTOGRAM}


def distributions_of(entries: Entries) -> dict[str, Any]:
    """For each cell with figures."""
    names = ["/".join(entry["name"].split("/")[:4]) for entry in entries if "label" in entry]
    return {name: [PARTS] for name in names}


class RealtimeScratch(Scratch):
    def open(
        self, entries: Entries, distributions: Any = None, size: int | None = None
    ) -> RealtimeReport:
        path = self.write(entries, num_cpus="2")
        if distributions is not None:
            beside = path.with_suffix(".distributions.json")
            beside.write_text(json.dumps(distributions))
        report = open_report([path], Choice(size=size))
        assert isinstance(report, RealtimeReport)
        return report

    def load(self, entries: Entries, distributions: Any = None) -> RealtimeResults:
        return self.open(entries, distributions).results


class LoadTest(RealtimeScratch):
    NAME = "accuracy/rate/100/java_timer"
    KEY = ("rate", 100, "java_timer")

    def test_rounds_are_one_cell(self) -> None:
        aggregate = {"name": self.NAME + "_mean", "run_type": "aggregate"}
        entries = [*measured(self.NAME, lateness_p50_ns=1), *measured(self.NAME, lateness_p50_ns=3)]
        cell = self.load([*entries, aggregate]).cells[self.KEY]
        self.assertEqual(cell.value("lateness_p50_ns"), 2)
        self.assertEqual(cell.value("lateness_p99_ns"), None)
        self.assertEqual((cell.saturated, cell.cut_short), (0, False))

    def test_the_label_says_what_became_of_it(self) -> None:
        results = self.load(measured(self.NAME, "granular, per fire, saturated, interrupted"))
        self.assertEqual(results.precision("java_timer"), "granular")
        self.assertEqual(results.item("rate"), "fire")
        self.assertTrue(results.cells[self.KEY].saturated)
        self.assertEqual(results.cut_short, 1)

    def test_the_table_tells_how_many_rounds_were_saturated(self) -> None:
        once = [*late(self.NAME), *late(self.NAME, "exact, per fire, saturated")]
        self.assertIn("100.0 %, saturated in 1 of 2 ", self.open(once).markdown())

    def test_a_cell_of_which_any_round_failed_has_no_figure(self) -> None:
        bad = failed(self.NAME, "wrong: 3 timers fired twice")
        cell = self.load([*measured(self.NAME, lateness_p50_ns=1), *bad]).cells[self.KEY]
        self.assertEqual((cell.has_figure, cell.status), (False, "wrong"))
        self.assertEqual(cell.value("lateness_p50_ns"), None)

    def test_distributions_of_all_rounds_are_one(self) -> None:
        other = {"edges": [2e4, 5e4, 1e5], "counts": [2, 2]}
        rounds = [{"lateness": HISTOGRAM}, {"lateness": other, "rounding": NONE}]
        results = self.load(late(self.NAME), {self.NAME: rounds, "accuracy/rate/9/other": []})
        lateness = results.cells[self.KEY].distribution("lateness")
        assert lateness
        self.assertEqual(lateness.edges, [2e4, 5e4, 1e5, 2e5])
        self.assertEqual(lateness.below, [0, 2, 7, 8])
        self.assertIsNone(results.cells[self.KEY].distribution("rounding"))

    def test_whatever_is_no_distribution_is_refused_by_name(self) -> None:
        for content in (
            [],
            {"a": 7},
            {self.NAME: 7},
            {self.NAME: [{"lateness": 7}]},
            {self.NAME: [{"lateness": {"edges": [1, 2], "counts": [1, 2]}}]},
            {self.NAME: [{"lateness": {"edges": [2, 1], "counts": [1]}}]},
            {self.NAME: [{"lateness": {"edges": [1, None], "counts": [1]}}]},
        ):
            complaint = "results.distributions.json: not the distributions"
            with self.subTest(content), self.assertRaisesRegex(Failure, complaint):
                self.load(late(self.NAME), content)

    def test_distributions_may_be_compressed(self) -> None:
        entries = late(self.NAME)
        plain = self.open(entries, distributions_of(entries))
        beside = self.folder / "results.distributions.json"
        compressed = beside.with_suffix(".json.gz")
        compressed.write_bytes(gzip.compress(beside.read_bytes()))
        beside.unlink()
        self.assertEqual(self.open(entries).results, plain.results)
        self.assertEqual(self.open(entries).warnings(), [])
        for content in (compressed.read_bytes()[:-9], b"{}"):
            compressed.write_bytes(content)
            complaint = "results.distributions.json.gz: not a complete JSON file"
            with self.subTest(content), self.assertRaisesRegex(Failure, complaint):
                self.open(entries)

    def test_whatever_is_not_a_cell_is_refused_by_name(self) -> None:
        good = measured(self.NAME)[0]
        for change in (
            {"name": "accuracy/rate/x/java_timer"},
            {"name": "accuracy/rate"},
            {"label": "exact"},
            {"label": "sometimes, per fire"},
            {"label": "exact, per fire, tired"},
        ):
            with self.subTest(change), self.assertRaisesRegex(Failure, "json: .*is not a cell"):
                self.load([good | change])

    def test_suites_do_not_mix(self) -> None:
        quick = {"name": "quick/fill/10/scan", "label": "exact, per insert", "ns_per_item": 1}
        for other in (purgatory(), [quick]):
            complaint = "1.json: results of the suites .* and .* do not belong in one plot"
            one = self.write(late(self.NAME) + other, "1.json")
            with self.assertRaisesRegex(Failure, complaint):
                open_report([one])
            good, odd = self.write(late(self.NAME), "0.json"), self.write(other, "1.json")
            with self.assertRaisesRegex(Failure, complaint):
                open_report([good, odd])

    def test_the_telling_rate_is_one_that_most_keep_up_with(self) -> None:
        def telling(saturated_at: int) -> int:
            entries: Entries = []
            for size, i in itertools.product((100, 1000, 10_000, 100_000, 1_000_000), range(4)):
                label = "exact, per fire" + ", saturated" * (i < 2 and size >= saturated_at)
                entries += late(f"accuracy/rate/{size}/s{i}", label)
            return self.load(entries).telling_size("rate")

        self.assertEqual(telling(10**7), 10_000)
        self.assertEqual(telling(10**4), 1000)
        self.assertEqual(telling(100), 100)


class FigureTest(RealtimeScratch):
    def names(self, report: RealtimeReport) -> list[str]:
        names = []
        for name, draw in report.figures():
            names.append(name)
            self.check_layout(name, draw())
        return names

    def test_accuracy(self) -> None:
        entries = accuracy()
        names = ["lateness_ecdf", "lateness_by_rate", "waiting", "granularity", "task_cost"]
        self.assertEqual(self.names(self.open(entries, distributions_of(entries))), names)

    def test_rows_of_two_rates_say_which(self) -> None:
        sizes = (1000, 10_000)
        entries = [one for size in sizes for one in late(f"accuracy/wait_timerfd/{size}/swift")]
        texts = texts_of(dict(self.open(entries).figures())["waiting"]())
        for power in ("10³", "10⁴"):
            self.assertIn(f"timerfd, {power}/s", texts)

    def test_contention(self) -> None:
        names = ["throughput_own", "throughput_cross", "throughput_hot", "finer_locks"]
        report = self.open(contention())
        self.assertEqual(self.names(report), names)
        figures = {name: texts_of(draw()) for name, draw in report.figures()}
        self.assertTrue(any("2 processors" in text for text in figures["throughput_own"]))
        self.assertIn("locked_binary_heap", figures["finer_locks"])
        self.assertNotIn("java_timer", figures["finer_locks"])

    def test_purgatory(self) -> None:
        report = self.open(purgatory())
        names = ["cpu_by_rate", "cpu_per_request", "expiry_lateness"]
        self.assertEqual(self.names(report), names)
        texts = texts_of(next(draw() for _, draw in report.figures()))
        self.assertIn("7.87 % of the requests time out", texts)
        self.assertIn("saturated: achieved < 99 %", texts)

    def test_durable(self) -> None:
        report = self.open(durable())
        names = ["durable_throughput", "durable_lateness", "durable_size", "durable_syncs"]
        self.assertEqual(self.names(report), [*names, "durable_idle"])
        figures = {name: texts_of(draw()) for name, draw in report.figures()}
        self.assertIn("control", figures["durable_lateness"])
        self.assertNotIn("control", figures["durable_throughput"])

    def test_durable_queues_of_different_promises_have_one_scale(self) -> None:
        panels = dict(self.open(durable()).figures())["durable_throughput"]().axes
        ranges = {axes.texts[0].get_text(): axes.get_ylim() for axes in panels if axes.texts}
        promises = set(QUEUES.values())
        for scenario in ("clients", "batch"):
            of_scenario = [ranges[f"{scenario}, {promise}"] for promise in promises]
            self.assertEqual(len(set(of_scenario)), 1, ranges)

    def test_durable_for_a_paper(self) -> None:
        figures = dict(self.open(durable()).paper_figures())
        self.assertIn("durable_clients_timers_per_second", figures)
        self.assertIn("durable_rate_lateness_p99", figures)
        self.assertIn(
            "timers a call", " ".join(texts_of(figures["durable_batch_timers_per_second"]()))
        )

    def test_one_service_and_one_size_are_enough(self) -> None:
        one = late("accuracy/rate/100/java_timer")
        names = ["lateness_ecdf", "lateness_by_rate"]
        self.assertEqual(self.names(self.open(one, distributions_of(one))), names)
        (self.folder / "results.distributions.json").unlink()
        self.assertEqual(
            self.names(self.open(contention({"java_timer": "exact"}, (4,)))),
            ["throughput_own", "throughput_cross", "throughput_hot"],
        )
        self.assertEqual(
            self.names(self.open(purgatory(("delay_queue",))[:1])),
            ["cpu_by_rate", "cpu_per_request", "expiry_lateness"],
        )

    def test_without_distributions_all_else_is_drawn(self) -> None:
        report = self.open(accuracy())
        names = ["lateness_by_rate", "waiting", "granularity", "task_cost"]
        self.assertEqual([name for name, _ in report.figures()], names)
        self.assertRegex("".join(report.warnings()), "results.distributions.json is missing")
        self.assertEqual(self.open(contention()).warnings(), [])

    def test_the_size_is_the_rate_of_the_distributions(self) -> None:
        entries = accuracy()
        report = self.open(entries, distributions_of(entries), size=100)
        title = "Lateness of timers at 100 a second, and the reasons"
        self.assertIn(title, texts_of(next(draw() for _, draw in report.figures())))

    def test_cells_without_figures_only(self) -> None:
        for suite, scenario in (("accuracy", "rate"), ("contention", "own"), ("purgatory", "low")):
            report = self.open(failed(f"{suite}/{scenario}/1/java_timer", "error: no memory"))
            self.assertEqual(list(report.figures()), [])
            with self.assertRaisesRegex(Failure, "none of the 1 cells has a figure"):
                plot.write_report(report, self.folder)
            self.assertIn("java_timer: error: no memory", (self.folder / "table.md").read_text())


class TableTest(RealtimeScratch):
    def row(self, text: str, size: str, service: str) -> list[str]:
        rows = [
            [entry.strip() for entry in line.strip("|").split("|")]
            for line in text.splitlines()
            if line.startswith("|")
        ]
        return next(row[2:] for row in rows if row[:2] == [size, f"`{service}`"])

    def test_accuracy(self) -> None:
        text = self.open(accuracy()).markdown()
        self.assertEqual(
            self.row(text, "100", "control")[:5],
            ["100.0 %", "60.0 µs", "150 µs", "900 µs", "2.00 ms"],
        )
        self.assertIn("100.0 %, saturated", self.row(text, "10³", "my_new_service"))
        self.assertEqual(self.row(text, "100", "redis_poller")[:2], ["unavailable", "–"])
        self.assertNotIn("| 10⁴      | `my_new_service`", text)
        for part in ("is skipped at all larger ones", "redis_poller: unavailable: no redis-server"):
            self.assertIn(part, text)
        herd = text[text.index("## herd") :]
        self.assertRegex(herd.splitlines()[2], r"\| timers +\|.* first +\|.* last +\|")
        idle = text[text.index("## idle") :]
        self.assertEqual(self.row(idle, "1", "java_timer"), ["0"])

    def test_contention(self) -> None:
        text = self.open(contention()).markdown()
        self.assertEqual(
            self.row(text, "1", "ticking_scan"),
            ["1.10 ±9%", "50.0 ns", "100 ns", "5.00 µs", "90.0 ns", "4.00 µs", "0.20 %"],
        )
        self.assertIn("Medians of 3 rounds ± the largest deviation", text)
        self.assertIn("Test 1000, 2 processors", text)

    def test_purgatory(self) -> None:
        text = self.open(purgatory()).markdown()
        self.assertIn("7.80 %", self.row(text, "10³", "delay_queue"))
        self.assertIn("| requests/s | service ", text)

    def test_durable(self) -> None:
        text = self.open(durable()).markdown()

        def sheet(scenario: str) -> str:
            return text[text.index(f"## {scenario}") :].partition("\n## ")[0]

        titles = sheet("clients").splitlines()[2]
        self.assertRegex(titles, r"\| fsyncs a timer \| TCP bytes a timer \|$")
        self.assertEqual(self.row(sheet("clients"), "1", "redis_always")[-2:], ["2.00", "–"])
        self.assertEqual(self.row(sheet("clients"), "1", "redis_cluster")[-2:], ["0", "1\u202f300"])
        self.assertEqual(
            self.row(sheet("orders"), "10³", "control")[:5],
            ["100.0 %", "60.0 µs", "150 µs", "900 µs", "2.00 ms"],
        )
        self.assertIn("100.0 %, saturated", self.row(sheet("jobs"), "10⁴", "redis_always"))
        self.assertRegex(sheet("orders").splitlines()[2], r"^\| orders +\| service ")
        self.assertEqual(
            self.row(sheet("idle"), "10³", "redis_cluster"),
            ["72\u202f000", "4\u202f000\u202f000", "12.0 s", "0", "3\u202f400"],
        )
        self.assertIn("- idle, 10³ timers, keeps all: journal_wheel_0 4.00 s of CPU", text)
        self.assertIn("- orders, 10³ orders, keeps all: journal_wheel_0 60.0 µs late", text)
        self.assertIn("`control`: how late the machine itself wakes up", text)

    def test_libraries_have_a_table_of_their_own(self) -> None:
        services = {"libuv_loop": "exact library", "java_timer": "exact"}
        report = self.open(contention(services, (4,)))
        sheet = report.markdown().partition("## own")[2].partition("\n## ")[0]
        own, _, libraries = sheet.partition("\n\nLibraries, compared among themselves:\n\n")
        self.assertRegex(own, r"^\n\n\| threads +\| service(.|\n)*`java_timer`[^\n]*$")
        self.assertRegex(libraries, r"^\| threads +\| service(.|\n)*`libuv_loop`[^\n]*\n$")
        self.assertNotIn("libuv_loop", own)
        with redirect_stdout(io.StringIO()) as out:
            report.print_on_terminal()
        self.assertRegex(out.getvalue(), r"java_timer .*\n *libraries *\n.* libuv_loop ")
        latex = latex_realtime_table(report.results, None)
        self.assertRegex(latex, r"java\\_timer .*\n\\midrule\n.*libuv\\_loop ")

    def test_a_size_narrows_it(self) -> None:
        text = self.open(contention(), size=4).markdown()
        self.assertIn("| 4       | `java_timer`", text)
        self.assertNotIn("| 1       |", text)

    def test_an_interrupted_run_says_so(self) -> None:
        entries = [
            *late("accuracy/rate/100/java_timer"),
            *late("accuracy/rate/100/delay_queue", "exact, per fire, interrupted"),
            *failed("accuracy/rate/100/ring_timer", "interrupted: the run was ended"),
        ]
        text = self.open(entries).markdown()
        self.assertIn("1 cell not measured, since the run was interrupted", text)
        self.assertIn("1 cells were measured for a shorter time", text)

    def test_a_terminal_gets_the_same(self) -> None:
        report = self.open(accuracy())
        with redirect_stdout(io.StringIO()) as out:
            report.print_on_terminal()
        for part in ("sharded_4_locked_kafka_wheel_256", "100.0 %, saturated", "900 µs", "herd"):
            self.assertIn(part, out.getvalue())

    def test_durations(self) -> None:
        self.assertEqual(
            [time(ns) for ns in (0, 41.4, 999.7, 62_140, 1.2e6, 3e9)],
            ["0 ns", "41.4 ns", "1.00 µs", "62.1 µs", "1.20 ms", "3.00 s"],
        )


class PlotCommandTest(RealtimeScratch):
    def test_pictures_and_table_are_written(self) -> None:
        ended = self.run_plot(self.write(purgatory()))
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        for name in ("table.md", "cpu_by_rate.png", "cpu_by_rate.svg", "cpu_per_request.png"):
            self.assertTrue((self.folder / name).exists(), name)

    def test_errors_are_one_line(self) -> None:
        mixed = self.write(purgatory() + contention(), "mixed.json")
        good = self.write(purgatory())
        cases: list[tuple[list[object], int, str]] = [
            ([mixed], 1, "mixed.json: results of the suites purgatory and contention do not"),
            ([good, "--size=77"], 2, "no cell has 77 requests per second; there are 10³, 10⁴"),
        ]
        for arguments, code, complaint in cases:
            with self.subTest(complaint):
                ended = self.run_plot(*arguments)
                self.assertEqual((ended.returncode, ended.stdout), (code, ""))
                self.assertRegex(ended.stderr, f"^scripts/plot: .*{re.escape(complaint)}.*\n$")


class BenchTest(BenchScratch):
    draws = True
    LEFT = ("results.json", "results.distributions.json.gz", "table.md", "cpu_by_rate.png")

    def test_verifies_measures_and_reports(self) -> None:
        code, out, err = self.run_bench("purgatory", "--seconds=0.5")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("ok: 20 scenarios", out)
        self.assertIn("`delay_queue`", out)
        for name in self.LEFT:
            self.assertTrue((self.out / name).exists(), name)
            self.assertIn(name, out)
        results = json.loads((self.out / "results.json").read_text())
        self.assertEqual(results["context"]["command"], "scripts/bench purgatory --seconds=0.5")
        self.assertEqual(
            [entry["round"] for entry in results["benchmarks"]],
            [0, 1] * 6,
            "two services and a twin",
        )
        distributions = json.loads(
            gzip.decompress((self.out / "results.distributions.json.gz").read_bytes())
        )
        self.assertEqual(len(distributions["purgatory/low/1000/delay_queue"]), 2)

    def test_a_service_that_breaks_its_contract_is_not_measured(self) -> None:
        code, out, err = self.run_bench("purgatory", ACTS="delay_queue=unverified")
        self.assertEqual(code, 1)
        self.assertIn("cells failed: purgatory/low/1000/delay_queue", err)
        results = json.loads((self.out / "results.json").read_text())
        for entry in results["benchmarks"]:
            is_wrong = "delay_queue" in entry["name"]
            self.assertEqual(
                str(entry.get("error_message")).startswith("wrong: fired early"), is_wrong
            )

    def test_what_is_saturated_at_two_sizes_is_not_tried_at_larger_ones(self) -> None:
        self.run_bench("purgatory", "--sizes=10,20,30,40", ACTS="delay_queue=saturated")
        entries = json.loads((self.out / "results.json").read_text())["benchmarks"]
        self.assertEqual(
            {e["name"]: e["error_message"] for e in entries if "error_message" in e},
            {
                f"purgatory/low/{size}/{service}/manual_time": (
                    "skipped: saturated at two smaller sizes already"
                )
                for size in (30, 40)
                for service in ("delay_queue", "delay_queue@again")
            },
        )

    def test_the_help_names_the_suites(self) -> None:
        code, out, _ = self.run_bench("--help")
        self.assertEqual(code, 0)
        for suite in ("accuracy", "contention", "purgatory"):
            self.assertIn(f"\n  {suite} ", out)


if __name__ == "__main__":
    unittest.main()
