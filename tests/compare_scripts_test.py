"""Comparisons: few false alarms, small effects found, and nothing compared that should not be.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/compare_scripts_test.py
"""

import itertools
import json
import math
import os
import random
import subprocess
import sys
import unittest
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import ROOT, BenchScratch, Scratch, copy_fake_timerbench

from results.statistics import (
    Comparison,
    compare,
    holm,
    median_interval,
    noise_floor,
    paired_log_ratios,
    rounds_needed,
    sign_test,
)

RECORDED = json.loads((Path(__file__).parent / "data" / "recorded_rounds.json").read_text())
PAIRS = [  # of each backend with itself, measured side by side in 60 rounds
    list(zip(costs, RECORDED["ns_per_item"][f"{name}@again"]))
    for name, costs in RECORDED["ns_per_item"].items()
    if not name.endswith("@again")
]
NOISE = noise_floor([[math.log(b / a) for a, b in pair] for pair in PAIRS])


def simulated(rng: random.Random, rounds: int, factor: float) -> Comparison:
    """Two backends that differ by a factor, made of recorded rounds of one with itself."""
    values = []
    for a, b in rng.sample(rng.choice(PAIRS), rounds):
        if rng.random() < 0.5:  # which of the two was first says nothing
            a, b = b, a
        values.append(math.log(b * factor / a))
    return compare([values], NOISE, margin=0.03)[0]


class FalseAlarmTest(unittest.TestCase):
    def test_a_backend_and_itself_raise_an_alarm_in_less_than_one_case_of_twenty(self) -> None:
        for seed, rounds in itertools.product((1, 2, 3), (6, 12, 30)):
            rng = random.Random(seed)
            words = [simulated(rng, rounds, 1).word for _ in range(400)]
            alarms = words.count("faster") + words.count("slower")
            self.assertLessEqual(alarms, 20, (seed, rounds))

    def test_without_the_least_effect_intervals_alone_keep_their_promise(self) -> None:
        for seed, rounds in itertools.product((1, 2), (6, 12, 30)):
            rng = random.Random(seed)
            misses = 0
            for _ in range(400):
                interval = simulated(rng, rounds, 1).ratio
                misses += not interval.low <= 1 <= interval.high
            self.assertLessEqual(misses, 30, (seed, rounds))  # 20 and three standard deviations

    def test_of_many_comparisons_at_once_hardly_any_family_has_one(self) -> None:
        rng = random.Random(5)
        families = 0
        for _ in range(200):
            family = [[rng.gauss(0, 0.1) for _ in range(12)] for _ in range(20)]
            words = {result.word for result in compare(family, 0, margin=0.01)}
            families += bool(words & {"faster", "slower"})
        self.assertLessEqual(families, 18)  # 5 % of 200, and three standard deviations

    def test_two_percent_are_found(self) -> None:
        for seed, factor, word in ((1, 1.02, "slower"), (2, 1 / 1.02, "faster")):
            rng = random.Random(seed)
            found = sum(simulated(rng, 50, factor).word == word for _ in range(400))
            self.assertGreaterEqual(found, 360)

    def test_what_is_found_is_not_the_opposite(self) -> None:
        rng = random.Random(7)
        for _ in range(400):
            self.assertNotEqual(simulated(rng, 12, 1.05).word, "faster")


class WordTest(unittest.TestCase):
    def judge(self, *values: float, noise: float = 0.0, margin: float = 0.03) -> str:
        return compare([[math.log(value) for value in values]], noise, margin)[0].word

    def test_four_words(self) -> None:
        self.assertEqual(self.judge(*[1.10, 1.11, 1.12] * 3), "slower")
        self.assertEqual(self.judge(*[0.90, 0.91, 0.92] * 3), "faster")
        self.assertEqual(self.judge(*[0.99, 1.0, 1.01] * 3), "equivalent")
        self.assertEqual(self.judge(*[0.8, 1.0, 1.3] * 3), "unresolved")

    def test_five_rounds_say_nothing(self) -> None:
        self.assertEqual(self.judge(*[1.5] * 5), "unresolved")
        self.assertEqual(self.judge(*[1.5] * 6), "slower")

    def test_an_effect_must_exceed_one_percent_and_the_noise(self) -> None:
        self.assertEqual(self.judge(*[1.008, 1.009] * 6), "equivalent")
        self.assertEqual(self.judge(*[1.04, 1.05] * 6, noise=math.log(1.06)), "unresolved")
        self.assertEqual(self.judge(*[1.07, 1.08] * 6, noise=math.log(1.06)), "slower")

    def test_holm(self) -> None:
        self.assertEqual(holm([0.01]), [0.05])
        alphas = holm([0.001, 0.04, 0.02])
        self.assertAlmostEqual(alphas[0], 0.05 / 3)
        self.assertAlmostEqual(alphas[2], 0.05 / 2)
        self.assertAlmostEqual(alphas[1], 0.05)
        # From the first on that fails, all are judged as that one.
        self.assertEqual([round(a, 4) for a in holm([0.001, 0.04, 0.03])], [0.0167, 0.025, 0.025])

    def test_rounds_needed(self) -> None:
        self.assertEqual([rounds_needed(n) for n in (1, 2, 20, 190)], [6, 7, 10, 13])

    def test_sign_test(self) -> None:
        self.assertEqual(sign_test([1.0] * 6), 2 / 64)
        self.assertEqual(sign_test([1.0, -1.0]), 1.0)
        self.assertEqual(sign_test([]), 1.0)

    def test_the_interval_and_the_test_agree(self) -> None:
        rng = random.Random(11)
        for _ in range(300):
            values = [rng.gauss(0.3, 1) for _ in range(rng.randint(6, 40))]
            interval = median_interval(values)
            excludes = interval.low > 0 or interval.high < 0
            self.assertEqual(excludes, sign_test(values) <= 0.05, values)

    def test_only_rounds_of_both_are_pairs(self) -> None:
        ratios = paired_log_ratios({0: 1.0, 1: 2.0, 3: 1.0}, {1: 4.0, 2: 9.0, 3: 1.0})
        self.assertEqual(ratios, [math.log(2), 0.0])

    def test_the_noise_floor_is_what_nine_of_ten_stay_below(self) -> None:
        self.assertEqual(noise_floor([]), 0.0)
        self.assertAlmostEqual(noise_floor([[i / 100] for i in range(1, 11)]), 0.09)


PRECISIONS = {"null": "none", "libuv": "exact library", "java_wheel": "early library"}


def entries(costs: dict[str, list[float]], workload: str = "fill") -> list[dict[str, Any]]:
    return [
        {
            "name": f"quick/{workload}/1000/{backend}/manual_time",
            "label": f"{PRECISIONS.get(backend, 'exact')}, per insert",
            "items": 1000,
            "ns_per_item": cost,
            "round": round_,
        }
        for backend, values in costs.items()
        for round_, cost in enumerate(values)
    ]


class CompareCommandTest(Scratch):
    SCAN = [10.0, 10.1, 10.2, 10.0, 9.9, 10.1, 10.0, 9.9]

    def campaign(self, name: str, costs: dict[str, list[float]], **facts: Any) -> Path:
        return self.campaign_of(name, entries(costs), **facts)

    def campaign_of(self, name: str, benchmarks: list[dict[str, Any]], **facts: Any) -> Path:
        folder = self.folder / name
        folder.mkdir()
        content = {
            "context": {"processor": "Test 1000", "format": "1", **facts},
            "benchmarks": benchmarks,
        }
        (folder / "results.json").write_text(json.dumps(content))
        return folder

    def compare(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return self.run_script("compare", *arguments)

    def service(
        self, cell: str, item: str, saturated: int = 0, **figures: float
    ) -> list[dict[str, Any]]:
        """The rounds of a cell on the wall clock, whose figures vary as SCAN does."""
        return [
            {
                "name": f"{cell}/x",
                "label": f"exact, per {item}" + ", saturated" * (i < saturated),
                "round": i,
                **{name: figure * cost for name, figure in figures.items()},
            }
            for i, cost in enumerate(self.SCAN)
        ]

    def test_two_campaigns(self) -> None:
        slower = [cost * 1.2 for cost in self.SCAN]
        before = self.campaign("before", {"null": self.SCAN, "scan": self.SCAN, "heap": self.SCAN})
        after = self.campaign("after", {"null": self.SCAN, "scan": slower, "wheel": self.SCAN})
        ended = self.compare(before, after)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(
            ended.stdout,
            r"fill/10³ +\| scan +\| +10.0 \| +12.0 \| 1.200 \[1.2.*\] .* \*\*slower\*\*",
        )
        self.assertIn("1 comparison of B with A over 8 rounds: 1 slower", ended.stdout)
        self.assertIn(
            "\nNot compared: controls: null; only in A: heap on fill/10³; "
            "only in B: wheel on fill/10³.\n",
            ended.stdout,
        )
        self.assertIn("1 slower. A ratio below 1 means that B is cheaper.\n\n|", ended.stdout)
        self.assertIn("measured apart, and the controls differ by up to 0 %", ended.stdout)
        for gate, code in (("3%", 1), ("25%", 0)):
            gated = self.compare(before, after, "--gate", gate)
            self.assertEqual(gated.returncode, code)
            self.assertIn("slower by more than " + gate.replace("%", " %"), gated.stdout)
        self.assertEqual(self.compare(after, before, "--gate=3%").returncode, 0)

    def test_two_backends_of_a_campaign(self) -> None:
        folder = self.campaign(
            "one",
            {"scan": self.SCAN, "heap": [c / 2 for c in self.SCAN], "scan@again": self.SCAN},
        )
        ended = self.compare(f"{folder}:scan", f"{folder}:heap")
        self.assertIn("**faster**", ended.stdout)
        self.assertIn("differs from itself by up to 0 %", ended.stdout)
        again = self.compare(f"{folder}:scan", f"{folder}:scan@again")
        self.assertIn("1 equivalent", again.stdout)

    def test_an_order_that_both_are_sure_of_is_contradictory(self) -> None:
        ahead, behind = self.SCAN, [cost * 1.2 for cost in self.SCAN]
        far = [cost * 3 for cost in self.SCAN]
        one = self.campaign("one", {"scan": ahead, "heap": behind, "wheel": far})
        other = self.campaign("other", {"scan": behind, "heap": ahead, "wheel": far})
        ended = self.compare(one, other, "--order")
        self.assertEqual((ended.returncode, ended.stderr), (1, ""))
        self.assertTrue(
            ended.stdout.startswith(
                "The order of the first three is the same in 0 of 1 contest, unresolved in 0, and contradictory "
                "in 1. The first of A is the cheapest of B too in 0 of 1 contest; in the others it "
                "costs 20.0 % more there (median), and at most 20.0 % more (fill/10³, exact).\n"
            )
        )
        self.assertRegex(
            ended.stdout,
            r"\| fill/10³, exact \| contradictory: scan, heap +\| scan, heap, wheel +\| heap, scan, wheel",
        )
        same = self.compare(one, one, "--order")
        self.assertEqual(same.returncode, 0)
        self.assertIn("same in 1 of 1 contest", same.stdout)
        self.assertIn("cheapest of B too in 1 of 1 contest.\n", same.stdout)
        self.assertNotIn("|", same.stdout)

    def test_an_order_that_one_is_not_sure_of_is_unresolved(self) -> None:
        # In half of the rounds one is behind, in half ahead, and a little more so.
        tied = [cost * (0.98 if i % 2 else 1.01) for i, cost in enumerate(self.SCAN)]
        one = self.campaign("one", {"scan": self.SCAN, "heap": [c * 1.2 for c in self.SCAN]})
        other = self.campaign("other", {"scan": self.SCAN, "heap": tied})
        few = self.campaign("few", {"scan": [12.0] * 5, "heap": [10.0] * 5})
        few_told = "unresolved in 1; none has the 6 rounds that a contradiction takes. "
        for b, said in ((other, "unresolved in 1, and contradictory in 0. "), (few, few_told)):
            ended = self.compare(one, b, "--order")
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))
            self.assertIn(said, ended.stdout)

    def test_what_a_choice_by_the_first_campaign_costs_in_the_second(self) -> None:
        folders = []
        for name, factors in (("one", [1, 1, 1, 1]), ("other", [0.5, 0.6, 0.8, 1.5])):
            benchmarks = [
                one
                for workload, factor in zip(("fill", "hold", "churn", "drain"), factors)
                for one in entries(
                    {"scan": self.SCAN, "heap": [1.2 * factor * c for c in self.SCAN]}, workload
                )
            ]
            folders.append(self.campaign_of(name, benchmarks))
        # There the heap takes 0.6, 0.72, 0.96 and 1.8 times as long as the scan.
        self.assertIn(
            "The first of A is the cheapest of B too in 1 of 4 contests; in the others it costs "
            "38.9 % more there (median), and at most 66.7 % more (fill/10³, exact).\n",
            self.compare(*folders, "--order").stdout,
        )

    def test_an_order_is_one_of_two_campaigns_with_the_same_machine(self) -> None:
        one = self.campaign("one", {"scan": self.SCAN, "heap": self.SCAN})
        elsewhere = self.campaign("elsewhere", {"scan": self.SCAN}, processor="Other")
        alone = self.campaign("alone", {"scan": self.SCAN, "null": self.SCAN})
        for a, b, code, said in (
            (f"{one}:scan", f"{one}:heap", 2, "--order: name two campaigns, without a backend"),
            ("HEAD", "HEAD", 2, "--order: name two campaigns, without a backend"),
            (one, elsewhere, 3, "processor differs"),
            (one, alone, 3, "have no contest of two backends in common"),
        ):
            ended = self.compare(a, b, "--order")
            self.assertEqual(ended.returncode, code, ended.stderr)
            self.assertIn(said, ended.stderr)
        gated = self.compare(one, one, "--order", "--gate=3%")
        self.assertEqual(gated.returncode, 2)
        self.assertIn("not allowed with argument", gated.stderr)

    def test_a_library_with_own_code_and_with_itself(self) -> None:
        costs = {"scan": self.SCAN, "libuv": [c * 9 for c in self.SCAN], "java_wheel": self.SCAN}
        folder = self.campaign("one", costs)
        for own, library, word in (
            ("scan", "libuv", "slower"),
            ("scan", "java_wheel", "equivalent"),
        ):
            ended = self.compare(f"{folder}:{own}", f"{folder}:{library}")
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))
            self.assertIn(f"1 comparison of B with A over 8 rounds: 1 {word}.", ended.stdout)
        ended = self.compare(folder, self.campaign("other", costs | {"libuv": self.SCAN}))
        self.assertRegex(ended.stdout, r"fill/10³ +\| libuv +\| .* \*\*faster\*\*")
        self.assertIn("\nNot compared: controls: java_wheel.\n", ended.stdout)

    def test_a_backend_is_compared_with_its_twin_and_not_with_its_own_rounds(self) -> None:
        folder = self.campaign(
            "one", {"scan": self.SCAN, "scan@again": [cost * 1.2 for cost in self.SCAN]}
        )
        ended = self.compare(f"{folder}:scan", f"{folder}:scan@again")
        self.assertRegex(ended.stdout, r"\n\| fill/10³ \| +10.0 \| +12.0 \| 1.200 ")
        self.assertIn("A = `", ended.stdout)

    def test_a_gate_lets_pass_what_is_not_surely_slower(self) -> None:
        factors = [0.8, 0.9, 1.05, 1.1, 1.1, 1.3, 1.4, 1.5]
        noisy = [cost * factor for cost, factor in zip(self.SCAN, factors)]
        folder = self.campaign("one", {"scan": self.SCAN, "heap": noisy})
        ended = self.compare(f"{folder}:scan", f"{folder}:heap", "--gate=3%")
        self.assertRegex(ended.stdout, r" 1.100 \[0.8.* unresolved")
        self.assertEqual(ended.returncode, 0)
        self.assertIn("none of 1 is slower", ended.stdout)

    def test_a_gate_of_nothing_is_a_gate(self) -> None:
        before = self.campaign("before", {"scan": self.SCAN})
        after = self.campaign("after", {"scan": [cost * 1.2 for cost in self.SCAN]})
        ended = self.compare(before, after, "--gate=0%")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("1 of 1 is slower by more than 0 %", ended.stdout)

    def test_what_controls_differ_by_hides_what_is_smaller(self) -> None:
        before = self.campaign("before", {"null": self.SCAN, "scan": self.SCAN})
        after = self.campaign(
            "after",
            {"null": [c * 1.1 for c in self.SCAN], "scan": [c * 1.08 for c in self.SCAN]},
        )
        ended = self.compare(before, after)
        self.assertIn("the controls differ by up to 10.0 %", ended.stdout)
        self.assertIn("1 unresolved", ended.stdout)

    def test_without_controls_nobody_tells_how_much_the_machine_changed(self) -> None:
        before, after = (self.campaign(name, {"scan": self.SCAN}) for name in ("a", "b"))
        ended = self.compare(before, after)
        self.assertIn("no control tells how much the machine changed", ended.stdout)
        self.assertNotIn("the controls differ", ended.stdout)

    def test_the_noise_of_either_campaign_hides_what_is_smaller(self) -> None:
        quiet = {"scan": self.SCAN}
        noisy = {
            "scan": [cost * 1.08 for cost in self.SCAN],
            "scan@again": [cost * 1.3 for cost in self.SCAN],
        }
        a, b = self.campaign("a", quiet), self.campaign("b", noisy)
        for one, other in ((a, b), (b, a)):
            self.assertIn("1 unresolved", self.compare(one, other).stdout)

    def test_noise_hides_what_is_smaller(self) -> None:
        noisy = [cost * 1.3 for cost in self.SCAN]
        folder = self.campaign(
            "one",
            {"scan": self.SCAN, "scan@again": noisy, "heap": [c * 1.2 for c in self.SCAN]},
        )
        ended = self.compare(f"{folder}:scan", f"{folder}:heap")
        self.assertIn("1 unresolved", ended.stdout)

    def test_services_by_the_figure_of_their_suite_or_another(self) -> None:
        def of(service: str, rate: float, late: float) -> list[dict[str, Any]]:
            cell = f"contention/own/2/{service}"
            return self.service(cell, "call", calls_per_second=rate, schedule_p99_ns=late)

        benchmarks = of("slow", 1e5, 100) + of("fast", 2e5, 300) + of("fast@again", 2e5, 300)
        benchmarks[0].pop("schedule_p99_ns")  # too few samples in a round
        path = self.folder / "results.json"
        path.write_text(json.dumps({"context": {}, "benchmarks": benchmarks}))
        ended = self.compare(f"{path}:slow", f"{path}:fast")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(ended.stdout, r"own/2 +\| +1.000 +\| +500 .* 0.500 .*\*\*faster")
        self.assertIn("differs from itself by up to 0 %", ended.stdout)
        late = self.compare(f"{path}:slow", f"{path}:fast", "--figure=schedule_p99_ns")
        self.assertIn("no cells to compare; without a figure in A: own/2", late.stderr)
        same = self.compare(f"{path}:fast", f"{path}:fast@again", "--figure=schedule_p99_ns")
        self.assertIn("A, schedule_p99", same.stdout)
        self.assertIn("1 equivalent", same.stdout)

    def test_a_figure_that_came_down_to_0_has_no_ratio_and_is_not_lost(self) -> None:
        def campaign(name: str, wakeups: float) -> Path:
            few = self.service("accuracy/rate/100/swift", "fire", wakeups_per_second=wakeups)
            many = self.service("accuracy/rate/1000/swift", "fire", wakeups_per_second=1)
            return self.campaign_of(name, few + many)

        a, b = campaign("a", 10), campaign("b", 0)
        ended = self.compare(a, b, "--figure=wakeups_per_second", "--gate=3%")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)
        self.assertIn("whose figure is 0 in a round, so there is no ratio: ", ended.stdout)
        self.assertIn("A, wakeups_per_second", ended.stdout)

    def test_who_does_not_keep_up_is_not_compared(self) -> None:
        def campaign(name: str, saturated: int) -> Path:
            figures = {"cpu_ns_per_request": 1, "actual_per_second": 1}
            swift = self.service("purgatory/low/1000/swift", "request", saturated, **figures)
            calm = self.service("purgatory/low/1000/calm", "request", 4, **figures)
            return self.campaign_of(name, swift + calm)

        a, b = campaign("a", 0), campaign("b", 5)
        ended = self.compare(a, b, "--gate=3%")
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stdout, r"low/10³ +\| calm")
        self.assertNotRegex(ended.stdout, r"low/10³ +\| swift")
        self.assertIn("with one in A: swift on low/10³ (saturated)", ended.stdout)
        ended = self.compare(a, b, "--figure=actual_per_second")
        self.assertRegex(ended.stdout, r"low/10³ +\| swift", "what it does a second is its figure")

    def test_too_few_rounds_are_told(self) -> None:
        folder = self.campaign("one", {"scan": self.SCAN[:3], "heap": [1.0, 1.0, 1.0]})
        ended = self.compare(f"{folder}:scan", f"{folder}:heap")
        self.assertIn("1 unresolved", ended.stdout)
        self.assertIn("With 3 rounds this cannot be sure; 6 are needed", ended.stdout)

    def test_a_gate_does_not_let_through_what_is_broken_or_could_not_be_judged(self) -> None:
        good = self.campaign("good", {"scan": self.SCAN, "heap": self.SCAN})
        broken = self.campaign("broken", {"scan": self.SCAN, "heap": self.SCAN})
        content = json.loads((broken / "results.json").read_text())
        name = next(e["name"] for e in content["benchmarks"] if "heap" in e["name"])
        content["benchmarks"] = [e for e in content["benchmarks"] if "heap" not in e["name"]]
        content["benchmarks"].append(
            {"name": name, "error_occurred": True, "error_message": "wrong: fired early"}
        )
        (broken / "results.json").write_text(json.dumps(content))
        ended = self.compare(good, broken, "--gate=3%")
        self.assertEqual(ended.returncode, 1)
        self.assertIn(
            "Gate: without a figure in B, and with one in A: heap on fill/10³ (wrong)", ended.stdout
        )
        self.assertEqual(self.compare(broken, good, "--gate=3%").returncode, 0, "it was mended")
        few = self.campaign("few", {"scan": self.SCAN[:3]})
        ended = self.compare(few, few, "--gate=3%")
        self.assertEqual(ended.returncode, 3)
        self.assertIn(
            "the gate does not hold: With 3 rounds this cannot be sure; 6 are needed", ended.stderr
        )
        some = self.campaign("some", {"scan": self.SCAN, "heap": self.SCAN[:3]})
        ended = self.compare(good, some, "--gate=3%")
        self.assertEqual(ended.returncode, 3)
        self.assertIn("With 3 rounds 1 of 2 comparisons cannot be sure; 7 are needed", ended.stderr)
        self.assertRegex(ended.stdout, r"\n\| fill/10³ \| heap .*\| +3 \| unresolved")

    def test_a_gate_says_nothing_of_what_was_not_reached(self) -> None:
        good = self.campaign("good", {"scan": self.SCAN, "heap": self.SCAN})
        cut = self.campaign("cut", {"scan": self.SCAN})
        content = json.loads((cut / "results.json").read_text())
        left = {"name": "quick/fill/1000/heap/manual_time", "error_occurred": True}
        content["benchmarks"].append(left | {"error_message": "interrupted: not reached"})
        (cut / "results.json").write_text(json.dumps(content))
        ended = self.compare(good, cut, "--gate=3%")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertIn("Not compared: only in A: heap on fill/10³", ended.stdout)

    def test_one_side_with_a_backend_and_one_without_is_a_mistake(self) -> None:
        folder = self.campaign("one", {"scan": self.SCAN})
        ended = self.compare(folder, f"{folder}:scan")
        self.assertEqual((ended.returncode, ended.stdout), (2, ""))
        self.assertIn("name a backend on both sides, or on neither", ended.stderr)

    def test_what_should_not_be_compared_is_refused(self) -> None:
        good = self.campaign("good", {"scan": self.SCAN})
        machine = self.campaign("machine", {"scan": self.SCAN}, processor="Other 2000")
        version = self.campaign("version", {"scan": self.SCAN}, format="2")
        other = self.campaign("other", {"heap": self.SCAN})
        empty = self.folder / "empty"
        empty.mkdir()
        traces = [
            self.campaign(f"t{i}", {"scan": self.SCAN}, inputs={"fill/1000/both": {"hashes": [i]}})
            for i in (1, 2)
        ]
        realtime = self.folder / "realtime.json"
        entry = {"name": "purgatory/low/1/delay_queue", "label": "exact, per request"}
        entry |= {"cpu_ns_per_request": 5.0}
        realtime.write_text(json.dumps({"context": {}, "benchmarks": [entry]}))
        cases: list[tuple[list[object], int, str]] = [
            ([good, machine], 3, "processor differs, 'Test 1000' and 'Other 2000'.*--force"),
            ([good, version], 3, "is of format 2, and these scripts read 1"),
            ([good, other], 3, "; only in A: scan on fill/10³; only in B: heap on"),
            (traces, 3, "no cells to compare; of another trace: scan on fill/10³"),
            ([good, empty], 3, "results.json: No such file"),
            ([good, ""], 2, "B: is empty; name results or a commit"),
            ([good, f"{good}:heap"], 2, "has no backend 'heap'; there are scan"),
            ([good, realtime], 3, "has ns to compare, and .* cpu_ns_per_request: unlike suites"),
            ([realtime, realtime, "--figure=speed"], 2, "no 'speed'; there are cpu_ns_per_request"),
            ([good, good, "--figure=x_ns"], 2, "of replays, of which the cost is compared"),
            ([good, good, "--gate=3"], 2, "'3' is not a share such as 3%"),
            ([good], 2, "required: B"),
        ]
        for arguments, code, complaint in cases:
            with self.subTest(complaint):
                ended = self.compare(*arguments)
                self.assertEqual((ended.returncode, ended.stdout), (code, ""))
                self.assertRegex(ended.stderr, f"^scripts/compare: .*{complaint}.*\n$")
        forced = self.compare(good, machine, "--force")
        self.assertEqual(forced.returncode, 0)
        self.assertIn("processor differs", forced.stdout)

    def test_facts_that_must_agree_and_those_of_which_a_difference_is_told(self) -> None:
        good = self.campaign("good", {"scan": self.SCAN})
        for key in ("processor", "num_cpus", "kernel", "granularity", "seed"):
            with self.subTest(key):
                ended = self.compare(good, self.campaign(key, {"scan": self.SCAN}, **{key: "77"}))
                self.assertEqual((ended.returncode, ended.stdout), (3, ""))
                self.assertIn(f"{key} differs, '", ended.stderr)
        for key in ("commit", "compiler", "flags", "build", "pages"):
            with self.subTest(key):
                ended = self.compare(good, self.campaign(key, {"scan": self.SCAN}, **{key: "77"}))
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))
                self.assertIn(f"{key} differs, '' and '77'.", ended.stdout)

    def test_medians_are_those_of_the_rounds(self) -> None:
        folder = self.campaign("one", {"scan": self.SCAN, "heap": self.SCAN[::-1]})
        ended = self.compare(f"{folder}:scan", f"{folder}:heap")
        ratio = median(b / a for a, b in zip(self.SCAN, self.SCAN[::-1]))
        self.assertIn(f"{ratio:.3f} [", ended.stdout)


CMAKE = """#!/bin/sh
[ -e broken ] && echo "it is broken" && exit 1
[ "$1" = --build ] || exit 0
mkdir -p build/release && cp timerbench build/release/timerbench
"""


class CommitsTest(BenchScratch):
    """Commits of a project that is nothing but a fake timerbench."""

    def setUp(self) -> None:
        super().setUp()
        self.project = self.folder / "project"
        self.project.mkdir()
        (self.folder / "cmake").write_text(CMAKE)
        (self.folder / "cmake").chmod(0o755)
        self.git("init", "--quiet", "--initial-branch=main")
        self.timerbench = self.project / "timerbench"
        copy_fake_timerbench(self.timerbench)
        self.commit("fast")
        copy_fake_timerbench(self.timerbench, is_other=True)
        self.commit("slow")

    def git(self, *arguments: str) -> None:
        names = ("-c", "user.name=Nobody", "-c", "user.email=nobody@nowhere")
        subprocess.run(["git", "-C", self.project, *names, *arguments], check=True)

    def commit(self, tag: str) -> None:
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", tag)
        self.git("tag", tag)

    def compare(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = (
            "import pathlib, bench\n"
            f"bench.ROOT = pathlib.Path({str(self.project)!r})\n"
            "import compare, console\n"
            "console.run_main('scripts/compare', compare.main, failure=3)"
        )
        environment = {
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "scripts" / "lib"),
            "SOURCE": f"{self.source}/",
        }
        return subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env=os.environ | environment,
            text=True,
            capture_output=True,
        )

    def test_each_is_measured_by_its_own_build_and_the_second_is_judged(self) -> None:
        for a, b, row in (
            ("fast", "slow", r" 1.00 \| +2.00 \| 2.00 .*\*\*slower\*\*"),
            ("slow", "fast", r" 2.00 \| +1.00 \| 0.500 .*\*\*faster\*\*"),
        ):
            ended = self.compare(a, b, "quick", "--rounds=7")
            self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)
            self.assertRegex(ended.stdout, r"\| scan +\| +" + row)
        self.assertNotIn("Building", ended.stdout, "that was done")
        self.assertEqual(len(list(self.project.glob("build/commits/*/build/release/*"))), 2)

    def test_services_are_compared_by_their_figure(self) -> None:
        options = ("accuracy", "--rounds=7", "--sizes=1000")
        ended = self.compare("fast", "slow", *options)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)
        self.assertRegex(ended.stdout, r"\| A, lateness_p50 \|")
        self.assertRegex(ended.stdout, r"low/10³ +\| delay_queue +\|")

    def test_what_cannot_be_compared_is_refused(self) -> None:
        (self.project / "broken").write_text("")
        self.commit("broken")
        for arguments, code, complaint in (
            (("fast", "fast"), 2, "both are the same commit"),
            (("fast", "slow", "--out=x"), 2, "--out is not for comparing commits"),
            (("fast", "slow", "faults"), 2, "the suite faults counts what survives"),
            (("fast", "nowhere"), 2, "'nowhere' is neither results nor a commit"),
            (("broken", "fast"), 3, r"commit [0-9a-f]{9} cannot be built; see /.*\.log"),
        ):
            with self.subTest(complaint):
                ended = self.compare(*arguments)
                self.assertRegex(ended.stderr, f"^scripts/compare: .*{complaint}.*\n$")
                self.assertEqual(ended.returncode, code)
        [log] = self.project.glob("build/commits/*.log")
        self.assertEqual(log.read_text(), "it is broken\n")


if __name__ == "__main__":
    unittest.main()
