"""The table of services: its marks and its order, of results made up here, and its command.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/services_scripts_test.py
"""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from scripts_testing import Scratch


def entry(name: str, label: str = "exact, per fire", **counters: float) -> dict[str, object]:
    return {"name": f"{name}/manual_time", "run_type": "iteration", "label": label, **counters}


def late(service: str, ns: float, label: str = "exact, per fire") -> dict[str, object]:
    return entry(f"accuracy/rate/10000/{service}", label, lateness_p50_ns=ns)


class ServicesTest(Scratch):
    def setUp(self) -> None:
        super().setUp()
        limit = {"error_occurred": True, "error_message": "limit: no files are left"}
        self.accuracy = self.write(
            [
                late("libuv_loop", 999_600, "exact library, per fire"),
                late("java_timer", 71_400),
                late("java_timer", 71_600),
                late("java_timer", 99_000, "exact, per fire, saturated"),
                late("control", 448.4),
                late("delay_queue", 5.11e8, "exact, per fire, saturated"),
                {**entry("accuracy/herd/100000/libuv_loop"), **limit},
            ],
            "accuracy.json",
        )
        self.contention = self.write(
            [entry("contention/own/2/java_timer", calls_per_second=9.94e6)], "contention.json"
        )
        self.purgatory = self.write(
            [entry("purgatory/low/100000/delay_queue", cpu_ns_per_request=3967)], "purgatory.json"
        )

    def services(self, *arguments: object) -> tuple[int, str, str]:
        ended = self.run_script("services", *arguments)
        return ended.returncode, ended.stdout, ended.stderr

    def test_it_has_a_line_for_each_service_and_a_column_for_each_figure(self) -> None:
        code, text, complaint = self.services(self.purgatory, self.contention, self.accuracy)
        self.assertEqual((code, complaint), (0, ""))
        _, _, *lines = [line for line in text.splitlines() if line.startswith("|")]
        self.assertEqual(
            [[cell.strip() for cell in line.strip("|").split("|")] for line in lines],
            [
                ["`control`", "448 ns", "", "", ""],
                ["`java_timer`", "72 µs †", "", "9.9", ""],
                ["`delay_queue`", "511 ms *", "", "", "3.97"],
                ["`libuv_loop`", "1.0 ms", "limit", "", ""],
            ],
            "columns in which nobody has a figure are left out",
        )

    def test_it_fills_a_document_again_and_again(self) -> None:
        document = self.folder / "page.md"
        document.write_text("before\n<!-- services -->\nold\n<!-- end of services -->\nafter\n")
        results = (self.accuracy, self.contention, self.purgatory)
        for _ in range(2):
            self.assertEqual(self.services(*results, f"--into={document}"), (0, "", ""))
            text = document.read_text()
            self.assertTrue(text.startswith("before\n<!-- services -->\n\n| service "))
            self.assertTrue(text.endswith(".\n\n<!-- end of services -->\nafter\n"))
            self.assertEqual(text.count("`control`"), 1)

    def test_what_it_cannot_do_is_one_line(self) -> None:
        bare = self.folder / "bare.md"
        bare.write_text("nothing\n")
        results = (self.accuracy, self.contention, self.purgatory)
        elsewhere = self.write(
            [entry("purgatory/low/100000/delay_queue", cpu_ns_per_request=3967)],
            "elsewhere.json",
            processor="Other",
        )
        for arguments, complaint in (
            ((*results[:2], elsewhere), "the processor differs between the suites, Other and Test"),
            (results[:2], "there are no results of the suite purgatory; scripts/bench makes them"),
            ((*results, f"--into={bare}"), "has no lines <!-- services -->"),
        ):
            code, text, said = self.services(*arguments)
            self.assertNotEqual(code, 0)
            self.assertEqual((text, said.count("\n")), ("", 1))
            self.assertIn(complaint, said)
        self.assertEqual(bare.read_text(), "nothing\n")


if __name__ == "__main__":
    unittest.main()
