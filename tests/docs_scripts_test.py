"""The documents say what is true: head comments have their lines.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/docs_scripts_test.py
"""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BACKENDS = [
    header
    for header in sorted((ROOT / "impls").glob("*/*.h"))
    if header.parent.name in ("queues", "redis") and ".paper =" in header.read_text()
]


def head_comment(source: Path) -> str:
    """The comment that a file begins with, without its slashes."""
    lines = []
    for line in source.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").removeprefix(" "))
    return "\n".join(lines)


class HeadCommentTest(unittest.TestCase):
    def test_every_backend_says_what_holds_what_it_costs_and_when_it_is_bad(self) -> None:
        for header in BACKENDS:
            labels = re.findall(r"^([A-Z][a-z]+):", head_comment(header), re.MULTILINE)
            with self.subTest(header.name):
                self.assertEqual(
                    [label for label in labels if label not in ("Example", "Deviates")],
                    ["Invariants", "Cost", "Good", "Bad", "Follows"],
                )

    def test_invariants_are_numbered(self) -> None:
        for header in BACKENDS:
            _, _, rest = head_comment(header).partition("\nInvariants")
            if rest.startswith(": those of "):
                continue
            block = rest.partition("\n\n")[0]
            numbers = [int(n) for n in re.findall(r"^  (\d+)\. ", block, re.MULTILINE)]
            with self.subTest(header.name):
                self.assertTrue(numbers)
                self.assertEqual(numbers, list(range(1, len(numbers) + 1)))


if __name__ == "__main__":
    unittest.main()
