"""The model of many nodes: its laws, what it predicts of results made up here, and its command.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/distributed_scripts_test.py
"""

import sys
import unittest
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT, Scratch

from node_model import Fires, Line, Load, Station, Work, checks, node_of
from results.grid import read_files
from results.realtime import RealtimeResults, load_files

MILLISECOND = 1e-3
LOAD = Load(per_second=1e6, pending=1e9, cancelled=0.9, busy=0.7, memory=64 << 30)


def entry(name: str, label: str = "keeps all, per timer", **counters: float) -> dict[str, object]:
    common = {"name": f"{name}/iterations:1/manual_time", "run_type": "iteration"}
    return {**common, "real_time": 1e9, "label": label, **counters}


def entries(queue: str = "redis_always", restart: float = 2e-6) -> list[dict[str, object]]:
    """Of a queue that keeps the model's laws."""
    station = Station(demand=0.1 * MILLISECOND, delay=MILLISECOND)
    cells = [
        entry(
            f"durable/{scenario}/{clients}/{queue}",
            timers_per_second=station.rate(clients),
            server_cpu_ns_per_timer=40_000 if scenario == "clients" else 10_000,
            client_cpu_ns_per_timer=20_000,
            fsyncs_per_timer=2 / clients if scenario == "clients" else 0.01,
            arm_p50_ns=5e5,
            cancel_p50_ns=5e5,
        )
        for scenario in ("clients", "workers")
        for clients in (1, 4, 16)
    ]
    for pending in (1, 1_000, 10_000, 100_000, 1_000_000):
        cells.append(
            entry(
                f"durable/pending/{pending}/{queue}",
                bytes_in_memory=200 + 1e6 / pending,
                restart_seconds=0.1 + restart * pending,
            )
        )
    return cells


IDLE = 0.02  # seconds of the processor a second
FIRING = 50e-6  # likewise, of a timer


def at_a_rate(queue: str = "redis_always") -> list[dict[str, object]]:
    """Of an engine that has something to do also while nothing comes; 10^5 is too much for it."""
    return [
        entry(
            f"durable/rate/{rate}/{queue}",
            offered_per_second=rate,
            achieved_per_second=rate if rate < 100_000 else rate / 2,
            server_cpu_ns_per_timer=1e9 * (IDLE / rate + FIRING),
            fsyncs_per_timer=2 * (100 / rate) ** 0.5,
        )
        for rate in (100, 1_000, 10_000, 100_000)
    ]


def journal() -> dict[str, object]:
    return entry("durable/clients/1/journal_wheel_0", timers_per_second=1e3, arm_p50_ns=5e5)


class LawTest(unittest.TestCase):
    def test_a_station_without_delay_has_one_rate(self) -> None:
        self.assertAlmostEqual(Station(MILLISECOND, 0).rate(1), 1000)
        self.assertAlmostEqual(Station(MILLISECOND, 0).rate(16), 1000)

    def test_clients_that_only_wait_do_not_disturb_each_other(self) -> None:
        self.assertAlmostEqual(Station(0, MILLISECOND).rate(16), 16_000)

    def test_the_rate_grows_up_to_the_station(self) -> None:
        station = Station(MILLISECOND, 9 * MILLISECOND)
        self.assertAlmostEqual(station.rate(1), 100)
        self.assertAlmostEqual(station.rate(2), 198.02, 2)  # 2 / (9 + 1 + 1/10)
        self.assertLessEqual(station.rate(64), 1000)
        self.assertGreater(station.rate(64), 999)

    def test_it_is_found_again(self) -> None:
        for station in (Station(1e-4, 1e-3), Station(1e-3, 1e-5), Station(0, 1e-3)):
            found = Station.through(station.rate(1), 4, station.rate(4))
            self.assertAlmostEqual(found.demand, station.demand, 9)
            self.assertAlmostEqual(found.rate(16), station.rate(16), delta=1e-3)

    def test_what_no_station_does_becomes_the_nearest(self) -> None:
        self.assertAlmostEqual(Station.through(100, 4, 900).rate(16), 1600, delta=1e-3)
        self.assertAlmostEqual(Station.through(100, 4, 50).rate(16), 100, delta=1e-3)

    def test_what_fires_do_in_a_second_is_on_lines_from_point_to_point(self) -> None:
        fires = Fires([(100, Work(3e-3, 2)), (300, Work(2e-3, 1))])
        for rate, cpu, syncs in (
            (50, 0.3, 200),
            (100, 0.3, 200),
            (200, 0.45, 250),
            (300, 0.6, 300),
        ):
            work = fires.at(rate)
            self.assertAlmostEqual(rate * work.cpu, cpu)
            self.assertAlmostEqual(rate * (work.syncs or 0), syncs)
        self.assertEqual(fires.at(3000), Work(2e-3, 1))
        uncounted = Fires([(100, Work(3e-3, 2)), (300, Work(2e-3, None))])
        self.assertIsNone(uncounted.at(200).syncs)

    def test_a_line(self) -> None:
        self.assertEqual(Line.through([(10, 3), (20, 5)]), Line(1, 0.2))
        self.assertEqual(Line.through([(10, 5), (20, 3)]), Line(3, 0))  # it does not fall


class ModelTest(Scratch):
    def load(self, cells: list[dict[str, object]]) -> RealtimeResults:
        return load_files(read_files([self.write(cells, num_cpus="2")]))

    def test_what_keeps_the_laws_is_predicted(self) -> None:
        found = checks(self.load(entries()), processors=100)
        self.assertEqual(
            [(check.what, check.at) for check in found],
            [
                ("timers/s, clients", 16),
                ("timers/s, workers", 16),
                ("bytes in memory", 1_000_000),
                ("seconds to be back", 100_000),
                ("seconds to be back", 1_000_000),
            ],
        )
        for check in found:
            self.assertAlmostEqual(check.error, 0, 6, check.what)

    def test_the_processors_are_a_bound(self) -> None:
        [clients, *_] = checks(self.load(entries()), processors=0)
        self.assertEqual(clients.predicted, 0)

    def test_a_prediction_does_not_see_what_it_predicts(self) -> None:
        cells = entries()
        for cell in cells:
            if "/16/" in str(cell["name"]):
                cell["timers_per_second"] = 1.0
        [clients, *_] = checks(self.load(cells), processors=100)
        self.assertAlmostEqual(clients.predicted, Station(1e-4, 1e-3).rate(16), delta=1e-3)
        self.assertEqual(clients.measured, 1)

    def test_a_node_is_what_was_measured(self) -> None:
        node = node_of(self.load([*entries(), journal()]), "redis_always", cancelled=0.9)
        assert node
        # Half of 40 us arms; nine in ten are cancelled, and one in ten fires.
        alone = node.alone(1000)
        for work, clients in ((alone, 1), (node.together, 16)):
            self.assertAlmostEqual(work.cpu, (20 + 0.9 * 20 + 0.1 * 10) * 1e-6)
            assert work.syncs
            self.assertAlmostEqual(work.syncs, (0.5 + 0.5 * 0.9) * 2 / clients + 0.1 * 0.01)
        self.assertAlmostEqual(node.sync_seconds or 0, 0.5 * MILLISECOND)
        assert alone.syncs
        by_disk = 0.7 / (alone.syncs * 0.5 * MILLISECOND)
        by_processor = 0.7 / node.together.cpu
        together, one_by_one = node.rates(busy=0.7)
        self.assertAlmostEqual(one_by_one, by_disk, 3)
        self.assertAlmostEqual(node.rate_alone(0.7), one_by_one)
        self.assertLess(together, by_processor)
        self.assertEqual(node.for_memory(LOAD), 3)  # 201 bytes of 10^9, in 64 GiB
        needed = (-(-(10**6) // together), -(-(10**6) // one_by_one))
        self.assertEqual(node.for_rate(LOAD), needed)
        self.assertEqual(node.nodes(LOAD), node.for_rate(LOAD)[1])
        silent = node.failover(LOAD)
        self.assertAlmostEqual(silent or 0, 0.1 + 2e-6 * 1e9 / node.nodes(LOAD), 6)

    def test_the_first_rate_is_of_many_clients_also_if_it_is_the_lower(self) -> None:
        node = node_of(self.load([*entries(), journal()]), "redis_always", cancelled=0.9)
        assert node
        node = replace(node, together=Work(cpu=1.0, syncs=0.0))
        together, alone = node.rates(busy=0.7)
        self.assertAlmostEqual(together, 0.7)
        self.assertGreater(alone, 100)
        first, second = node.for_rate(LOAD)
        self.assertGreater(first, second)
        self.assertEqual(node.nodes(LOAD), first, "enough however requests come")

    def test_requests_that_come_alone_cost_what_the_rates_say(self) -> None:
        results = self.load([*entries(), *at_a_rate(), journal()])
        node = node_of(results, "redis_always", cancelled=0.9)
        assert node
        for fired in (100, 700, 10_000):
            self.assertAlmostEqual(
                node.alone(10 * fired).cpu, 0.9 * 40e-6 + 0.1 * (IDLE / fired + FIRING)
            )
        self.assertAlmostEqual(node.alone(10 * 100).syncs or 0, 0.9 * 2 + 0.1 * 2)
        self.assertAlmostEqual(node.alone(10 * 10_000).syncs or 0, 0.9 * 2 + 0.1 * 0.2)
        self.assertAlmostEqual(node.together.cpu, 39e-6)
        node = node_of(results, "redis_always", cancelled=0)
        assert node
        self.assertAlmostEqual(node.alone(10_000).cpu, FIRING + IDLE / 10_000)
        rate = node.rate_alone(busy=0.7)
        self.assertAlmostEqual(rate * (node.alone(rate).syncs or 0) * 0.5 * MILLISECOND, 0.7)

    def test_the_processor_time_of_loads_is_checked(self) -> None:
        def checks_of(cpu: float, syncs: float) -> list[float]:
            orders = entry(
                "durable/orders/10000/redis_always",
                offered_per_second=500,
                achieved_per_second=500,
                server_cpu_ns_per_timer=cpu * 1e9,
                fsyncs_per_timer=syncs,
            )
            found = checks(self.load([*entries(), *at_a_rate(), orders, journal()]), processors=2)
            whats = ("CPU in µs, orders", "fsyncs, orders")
            errors = [check.error for what in whats for check in found if check.what == what]
            return [round(error, 6) for error in errors]

        # One in ten fires, so 5000 timers a second are armed. Those that fire synchronise 200 times a
        # second if 100 do, and 632 times if 1000 do; 500 are on the line between.
        right = 0.9 * 40e-6 + 0.1 * FIRING + IDLE / 5000
        syncs = 0.9 * 2 + 0.1 * (200 + (4 / 9) * (200 * 10**0.5 - 200)) / 500
        self.assertEqual(checks_of(right, syncs), [0, 0])
        self.assertEqual(checks_of(2 * right, 2 * syncs), [-0.5, -0.5])
        self.assertEqual(checks_of(right, 0.1), [0])  # by its own clock

    def test_rates_above_one_that_is_too_much_do_not_count(self) -> None:
        def rate_of(achieved: float) -> float:
            cells = at_a_rate()
            cells[0]["achieved_per_second"] = achieved
            node = node_of(self.load([*entries(), *cells, journal()]), "redis_always", 0.9)
            assert node
            return node.fires.points[0][0]

        self.assertEqual(rate_of(91), 91)
        self.assertEqual(rate_of(89), 1)  # of the clients and workers then, at any rate

    def test_an_engine_in_the_process_is_its_own_node(self) -> None:
        cells = entries("journal_wheel_0")
        for cell in cells:
            cell.pop("server_cpu_ns_per_timer", None)
        node = node_of(self.load(cells), "journal_wheel_0", cancelled=1)
        assert node
        self.assertAlmostEqual(node.alone(1000).cpu, 20e-6)

    def test_what_nobody_has_counted_does_not_limit_a_node(self) -> None:
        cells = [*entries(), journal()]
        for cell in cells:
            cell.pop("fsyncs_per_timer", None)
        node = node_of(self.load(cells), "redis_always", cancelled=0.9)
        assert node
        alone = node.alone(1000)
        self.assertIsNone(alone.syncs)
        self.assertAlmostEqual(node.rate_alone(0.7) * alone.cpu, 0.7)

    def test_without_its_scenarios_there_is_no_node(self) -> None:
        self.assertIsNone(node_of(self.load([journal()]), "journal_wheel_0", cancelled=0.9))


class CommandTest(Scratch):
    def distributed(self, *arguments: object) -> tuple[int, str, str]:
        ended = self.run_script("distributed", *map(str, arguments))
        return ended.returncode, ended.stdout, ended.stderr

    def test_it_answers_first_and_says_how_far_it_is_to_be_trusted(self) -> None:
        more = entries("redis_everysec", restart=0)
        for cell in more:
            cell["label"] = "may lose the latest, per timer"
        results = self.write([*entries(), journal(), *more], num_cpus="2", suite="durable")
        code, text, complaint = self.distributed(results, "--per-second=50k", "--pending=20M")
        self.assertEqual((code, complaint), (0, ""))
        self.assertRegex(
            text,
            r"^\*\*For 5·10⁴ timers a second and 2·10⁷ pending take \d+( to \d+)? nodes? of `redis_always` "
            r"\(keeps all in a power cut\) and \d+( to \d+)? nodes? of `redis_everysec` \(may lose the latest",
        )
        sure, to_do = text.split("\n\n")[1:3]
        self.assertRegex(
            sure, r"^How sure: The model predicted \d+ measured figures from others\. It was off by"
        )
        self.assertTrue(to_do.startswith("What to do: "), to_do)
        self.assertRegex(text, r"One Redis \(`redis_everysec`\) is enough up to [\d ]+ timers/s if")
        self.assertIn("Its memory is enough for", text)
        self.assertIn(str(results), text)
        self.assertRegex(text, r"timers/s, clients: median error \d+%, largest \d+%, of 2 ")

    def test_it_answers_with_what_machines_can_share(self) -> None:
        file = self.write(entries("postgres_on") + entries("journal_wheel_0"), num_cpus="2")
        [first, *rest] = self.distributed(file)[1].split("\n\n")
        self.assertIn("`postgres_on`", first)
        self.assertNotIn("journal_wheel_0", first)
        self.assertIn("| `journal_wheel_0`", "".join(rest))

    def test_what_has_no_time_for_timers_is_left_out(self) -> None:
        idles = [*entries("redis_always"), *at_a_rate("redis_always"), journal()]
        both = self.write([*idles, *entries("redis_everysec")], num_cpus="2")
        code, text, _ = self.distributed(both, f"--busy={50 * IDLE}")
        self.assertEqual(code, 0)
        self.assertIn("keeps a node busy for longer than that: `redis_always`.", text)
        self.assertNotIn("| `redis_always`", text)
        self.assertIn("| `redis_everysec`", text)
        alone = self.write(idles, "alone.json", num_cpus="2")
        code, text, complaint = self.distributed(alone, f"--busy={50 * IDLE}")
        self.assertEqual((code, text), (1, ""))
        self.assertIn("a node that may be busy for 1% does nothing", complaint)

    def test_it_fills_a_document_again_and_again(self) -> None:
        results = self.write([*entries(), journal()], num_cpus="2")
        document = self.folder / "page.md"
        earlier = "what an earlier run wrote"
        document.write_text(f"before\n<!-- model -->\n{earlier}\n<!-- end of model -->\nafter\n")
        for _ in range(2):
            self.assertEqual(self.distributed(results, f"--into={document}"), (0, "", ""))
            text = document.read_text()
            self.assertTrue(text.startswith("before\n<!-- model -->\n"))
            self.assertTrue(text.endswith("<!-- end of model -->\nafter\n"))
            self.assertNotIn(earlier, text)
            self.assertEqual(text.count("nodes for the rate"), 1)

    def test_what_it_cannot_do_is_one_line(self) -> None:
        other = self.write([entry("accuracy/rate/100/java_timer", "exact, per fire")], "other.json")
        results = self.write([*entries(), journal()], num_cpus="2")
        without_journal = self.write(entries(), "without_journal.json", num_cpus="2")
        bare = self.folder / "bare.md"
        bare.write_text("nothing\n")
        for arguments, complaint in (
            ((other,), "is of the suite accuracy"),
            ((self.write([journal()], "few.json"),), "the model needs the scenarios"),
            ((results, f"--into={bare}"), "has no lines <!-- model -->"),
            ((results, "--per-second=0"), "is no number such as"),
            ((results, "--pending=many"), "is no number such as"),
            ((results, "--pending=1Gk"), "is no number such as"),
            ((results, "--memory=64G"), "'64G' is no number of GiB such as 64"),
            ((without_journal,), "nobody has measured how long the disk takes"),
            ((results, "--busy=0"), "may not work"),
            ((results, "--cancelled=101"), "is no percentage"),
        ):
            with self.subTest(arguments):
                code, text, said = self.distributed(*arguments)
                self.assertNotEqual(code, 0)
                self.assertEqual((text, said.count("\n")), ("", 1))
                self.assertIn(complaint, said)
        self.assertEqual(bare.read_text(), "nothing\n")

    def test_the_document_of_the_project_can_be_filled(self) -> None:
        text = (ROOT / "docs" / "distributed.md").read_text()
        self.assertEqual(
            (text.count("<!-- model -->\n"), text.count("<!-- end of model -->\n")), (1, 1)
        )


if __name__ == "__main__":
    unittest.main()
