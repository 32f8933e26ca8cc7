"""The documents are true: links lead somewhere, commands run, head comments have their lines.

Run by scripts/test, or: /usr/bin/python3 -m unittest tests/docs_scripts_test.py
"""

import contextlib
import functools
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterator
from colorsys import hsv_to_rgb
from pathlib import Path
from typing import NamedTuple
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))

from PIL import Image, ImageChops
from scripts_testing import ROOT
from survival_testing import CONTEXT, survived

import findings
import limit_tables
import publish
import published
import readme
from console import Failure
from history_testing import point
from page.contents import contents
from pictures import Picture
from reports import Choice
from results import history
from results.grid import packed
from results.passes import load_pass
from results.replays import Results, load
from services import SUITES, services_table
from tables.chosen import rough as times
from tables.libraries import libraries_table
from words import grouped

README = ROOT / "README.md"
CONTENTS = ROOT / "docs" / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
DOCUMENTS = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *PAGES]
PUBLISHED = published.latest("full") / "table.md"
LIBRARIES = published.latest("peers") / "table.md"
RUNTIMES = published.latest("processes") / "table.md"
TIMERBENCH = "build/release/timerbench"
# The same program with libraries and engines that CI lacks.
WITH_MORE = ("build/peers/timerbench", "build/durable/timerbench")
# The installed ones, by those of the tree.
INSTALLED = {"timerbench": TIMERBENCH, "timerbench-report": "./scripts/report"}
OF_PEERS = ("peers", "processes", "service_peers")  # suites that only it can measure
PATIENCE = 600  # seconds, after which a command counts as hanging
HEADERS = [  # of backends and services
    header for header in sorted((ROOT / "impls").glob("**/*.h")) if ".paper =" in header.read_text()
]

FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(.+?<<'(\w+)'\n(?:.*\n)*?\2|.+)$", re.MULTILINE)  # with a here-document
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


class Line(NamedTuple):
    document: Path
    text: str

    @property
    def runs(self) -> bool:
        """Whether it is quick and needs nothing: neither root nor what another command makes."""
        comment = self.text.partition(" # ")[2]
        return not comment.startswith(("takes ", "needs ")) and not self.text.startswith("sudo ")

    def commands(self) -> Iterator[list[str]]:
        """The words of each program that the line starts."""
        words = shlex.shlex(self.text.partition("<<")[0], posix=True, punctuation_chars=True)
        words.whitespace_split = True
        command: list[str] = []
        for word in [*words, "&&"]:
            if word in ("&&", ";", "|"):
                yield command
                command = []
            elif command or word != "sudo":
                command.append(word)


def lines(document: Path) -> list[Line]:
    """The lines of its blocks of shell commands; one with a file that it is given is one."""
    return [
        Line(document, text.strip())
        for language, block in FENCE.findall(document.read_text())
        if language == "sh"
        for text, *_ in COMMAND.findall(block)
    ]


def anchors(document: Path) -> set[str]:
    """The anchors that GitHub gives to its headings."""
    prose = FENCE.sub("", document.read_text())
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def output(*command: str) -> str:
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    return result.stdout + result.stderr


@functools.cache
def known_to(program: str, *subcommands: str) -> str:
    """The text that names a program's options."""
    if program.endswith("scripts/bench"):
        return output(program, "--help") + known_to(TIMERBENCH, "run")
    if program.endswith("scripts/compare"):  # of two commits, or over all
        own = output(program, "--help") + output(program, "--history", "--help")
        return own + known_to("./scripts/bench")
    return output(program, *subcommands, "--help")


def table_cells(document: Path) -> dict[tuple[str, str], str]:
    """The figures of its tables, by backend and workload."""
    cells = {}
    header: list[str] = []
    for line in document.read_text().splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if row[0] == "backend":
            header = [cell.partition("<br>")[0] for cell in row]
        elif header and row[0].startswith("`"):
            for workload, cell in list(zip(header, row))[2:]:
                cells[row[0], workload] = cell
        elif not line.startswith("|"):
            header = []
    return cells


def rough(cost: float) -> str:
    """Two digits of a cost, or all above the point, as documents tell it."""
    return grouped(round(cost)) if cost >= 9.5 else f"{cost:.1f}"


def costs_with(again: Results) -> Callable[[str], Results]:
    """Returns what costs_of() is if the main suite has this second campaign."""
    return lambda suite: again if suite == "full-again" else published.costs_of(suite)


class ReadmeTest(unittest.TestCase):
    def test_it_is_short(self) -> None:
        self.assertLessEqual(len(README.read_text().splitlines()), 130)

    def test_its_figures_are_those_of_the_published_campaign(self) -> None:
        published = table_cells(PUBLISHED)
        shown = table_cells(README)
        self.assertEqual(len(shown), 5 * 4)
        for cell, figure in shown.items():
            self.assertEqual(figure, published[cell], cell)

    def test_nobody_is_cheaper_than_whom_it_names(self) -> None:
        results = load([PUBLISHED.parent])
        sizes = {"10³": 1_000, "10⁵": 100_000, "10⁷": 10_000_000}
        rows = re.findall(
            r"^\| (?:.*: `(\w+)`)? *\| (10.) +\| (`.*)$", README.read_text(), re.MULTILINE
        )
        self.assertEqual(len(rows), 3 + 2 + 3 + 3)
        workload = ""
        for named, pending, choices in rows:
            workload = named or workload
            for precision, cell in zip(("granular", "exact"), choices.split("|")):
                with self.subTest(workload=workload, pending=pending, precision=precision):
                    [name, *_] = re.findall(r"`(\w+)`", cell)
                    costs = published.costs(results, workload, precision, sizes[pending])
                    self.assertEqual(costs[name], min(costs.values()))
                    told = f": {rough(costs[name])} ns"
                    self.assertTrue(cell.strip().endswith(told), (cell, told))

    def test_its_sentences_are_those_of_scripts_publish(self) -> None:
        publish.main(["--check"])

    def test_a_figure_that_is_typed_by_hand_is_found_and_mended(self) -> None:
        published = README.read_text()
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "README.md"
            own = [
                (str(copy), name, make) for file, name, make in publish.PARTS if file == copy.name
            ]
            with mock.patch.object(publish, "PARTS", own):
                for typed, part in ((r"\d+ ns", "answers"), (r"±\d+%", "table")):
                    copy.write_text(re.sub(typed, "1", published, count=1))
                    with self.assertRaisesRegex(Failure, rf"\({part}\): not as published"):
                        publish.main(["--check"])
                    publish.main([])
                    self.assertEqual(copy.read_text(), published)

    def test_nothing_is_written_if_one_sentence_does_not_hold(self) -> None:
        def fails() -> str:
            raise Failure("does not hold")

        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "README.md"
            stale = "<!-- a -->\n\nstale\n<!-- end of a -->\n"
            copy.write_text(stale)
            parts = ((str(copy), "a", lambda: "new"), (str(copy), "b", fails))
            with mock.patch.object(publish, "PARTS", parts):
                with self.assertRaisesRegex(Failure, "does not hold"):
                    publish.main([])
            self.assertEqual(copy.read_text(), stale)

    def test_a_backend_of_the_table_that_has_no_figure_is_named(self) -> None:
        results = load([PUBLISHED.parent])
        first, second, *_ = readme.SHOWN
        results.cells["hold", 100_000, second].costs.clear()
        del results.cells["hold", 100_000, first]
        for name in (first, second):
            with (
                mock.patch.object(readme, "costs_of", lambda _: results),
                self.assertRaisesRegex(
                    Failure, f"^results: {name} has no figure for hold of 100000 timers$"
                ),
            ):
                readme.table()
            results.cells["hold", 100_000, name] = results.cells["churn", 100_000, name]

    def test_a_second_campaign_says_what_a_choice_costs_there(self) -> None:
        again = load([PUBLISHED.parent])

        def told() -> str:
            with (
                mock.patch.object(
                    readme, "find", lambda suite: published.find(suite) or PUBLISHED.parent
                ),
                mock.patch.object(readme, "costs_of", costs_with(again)),
            ):
                return " ".join(readme.answers().split())

        repeated = "repeated 22 of the 22 cells below: in"
        self.assertIn(f"{repeated} 22 the first is the cheapest again. With ticks", told())
        (first, cost), (_, next_cost), *_ = published.costs(again, "hold", "exact", 100_000).items()
        cell = again.cells["hold", 100_000, first]
        cell.costs = [1.5 * next_cost / cost * of_round for of_round in cell.costs]
        self.assertIn(
            f"{repeated} 21 the first is the cheapest again, else it costs at most 50 % more",
            told(),
        )

    def test_the_report_has_the_campaigns_that_are_published(self) -> None:
        self.assertLess(publish.REPORT.stat().st_size, 3_000_000)
        first, *others = publish.sources_of(publish.REPORT)
        self.assertEqual(first, str(published.latest("full").relative_to(ROOT)))
        self.assertIn("results/history.jsonl", others)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "results" / "report.html"
            copy.parent.mkdir()
            with (
                mock.patch.object(publish, "REPORT", copy),
                mock.patch.object(publish, "RESULTS", copy.parent),
                mock.patch.object(publish, "PARTS", ()),
                mock.patch.object(publish, "all_sources", lambda: [Path(first)]),
            ):
                for there in (None, publish.ROOT / "results" / "report.html"):
                    if there:
                        shutil.copy(there, copy)
                    with self.assertRaisesRegex(Failure, "report.html: not as published"):
                        publish.main(["--check"])
                    publish.main([])
                    self.assertEqual(list(publish.sources_of(copy)), [first])
                    publish.main(["--check"])

    def test_a_history_that_grew_is_reported_anew(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source = Path("history.jsonl")
            file = Path(folder) / source
            history.add(file, [point("aaa", 1)])
            told = {str(source): contents([file])["campaigns"][0]["machine"]}
            with (
                mock.patch.object(publish, "ROOT", Path(folder)),
                mock.patch.object(publish, "sources_of", lambda _: told),
            ):
                self.assertFalse(publish.is_stale(file, [source]))
                history.add(file, [point("bbb", 2)])
                self.assertTrue(publish.is_stale(file, [source]))

    def test_a_folder_without_the_name_of_a_suite_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("2026-01-02-arm-graviton4-full", "2026-01-02-full"):
                (Path(folder) / "results" / name).mkdir(parents=True)
            with mock.patch.object(published, "ROOT", Path(folder)):
                with self.assertRaisesRegex(Failure, "2026-01-02-full: is not named DATE-MAKER"):
                    published.find("full")
                (Path(folder) / "results" / "2026-01-02-full").rmdir()
                found = published.find("full")
        self.assertEqual(found and found.name, "2026-01-02-arm-graviton4-full")

    def test_a_campaign_that_was_measured_anew_is_reported_anew(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            own = root / "results" / PUBLISHED.parent.name
            own.mkdir(parents=True)
            for file in ("results.json.gz", "table.md"):
                shutil.copy(PUBLISHED.parent / file, own)
            with (
                mock.patch.object(publish, "ROOT", root),
                mock.patch.object(publish, "RESULTS", own.parent),
                mock.patch.object(publish, "REPORT", own.parent / "report.html"),
                mock.patch.object(publish, "PARTS", ()),
                mock.patch.object(publish, "all_sources", lambda: [own.relative_to(root)]),
            ):
                publish.main([])
                publish.main(["--check"])
                table = own / "table.md"
                table.write_text(re.sub(r"commit \w+", "commit 1234567", table.read_text()))
                with self.assertRaisesRegex(Failure, "report.html: not as published"):
                    publish.main(["--check"])

    def check_publishing(self, file: Path) -> None:
        """Publishes a file of a campaign that was not as it is published, and is then."""
        with (
            mock.patch.object(publish, "RESULTS", file.parents[1]),
            mock.patch.object(publish, "PARTS", ()),
        ):
            with self.assertRaisesRegex(Failure, f"{file.name}: not as published"):
                publish.main(["--check"])
            publish.main([])
            publish.main(["--check"])

    def test_pictures_of_results_have_few_colours_but_those_of_all_marks(self) -> None:
        before = Image.new("RGB", (640, 480), "white")
        for i in range(250):  # many shades of blue, each on a line
            before.paste((i, (i + 255) // 2, 255), (0, i, 640, i + 1))
        for i in range(20):  # marks of a few pixels
            mark = tuple(round(255 * part) for part in hsv_to_rgb(i / 20, 0.9, 0.6))
            before.paste(mark, (30 * i + 10, 400, 30 * i + 16, 406))
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / "2026-01-01-here-full" / "cost.png"
            picture.parent.mkdir()
            before.save(picture)
            self.check_publishing(picture)
            with Image.open(picture) as image:
                after = image.convert("RGB")
        difference = max(most for _, most in ImageChops.difference(before, after).getextrema())
        self.assertLess(difference, 5, "of 255, of the pixel that changed most")

    def test_files_of_results_are_compressed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            campaign = Path(folder) / "2026-01-01-here-full"
            campaign.mkdir()
            file = campaign / "results.json"
            entry = {"label": "exact, per insert", "items": 1, "ns_per_item": 7}
            content = {"benchmarks": [{"name": "full/fill/1/scan", **entry}]}
            file.write_text(json.dumps(content))
            self.check_publishing(file)
            self.assertFalse(file.exists())
            for path in (campaign, file, packed(file)):
                self.assertEqual(load([path]).cells["fill", 1, "scan"].cost, 7)

    def test_what_durable_queues_lose_is_told_as_far_as_it_is_known(self) -> None:
        def said(**lost: dict[str, int]) -> str:
            """Publishes a campaign in which each queue has lost so many timers in each fault; of 300
            none is left, for it did not start again."""
            entries = [
                survived(
                    fault,
                    queue,
                    acknowledged=300,
                    lost=count,
                    lossy=min(count, 1),
                    no_starts=5 * (count == 300),
                )
                for queue, faults in lost.items()
                for fault, count in faults.items()
            ]
            with tempfile.TemporaryDirectory() as folder:
                campaign = Path(folder) / "results" / "2026-01-01-my-machine-faults"
                campaign.mkdir(parents=True)
                content = {"context": CONTEXT, "benchmarks": entries}
                (campaign / "results.json").write_text(json.dumps(content))
                with contextlib.ExitStack() as there:
                    for module in (publish, published):
                        there.enter_context(mock.patch.object(module, "ROOT", Path(folder)))
                    published.survivors.cache_clear()
                    there.callback(published.survivors.cache_clear)
                    return readme._durable() + publish.survivors()

        crashes = dict.fromkeys(readme.CRASHES, 0)
        keeps, forgets = {**crashes}, {**crashes, "power_cut": 7}
        text = said(journal_wheel_0=keeps, redis_everysec=forgets)
        self.assertIn(
            "take `journal_wheel_0` in one process, which lost nothing in 10 kills of the engine and "
            "10 simulated power cuts. `redis_everysec` lost timers in 1 of 5 cuts.",
            text,
        )
        self.assertNotIn("lost timers", said(journal_wheel_0=keeps))
        stuck = "With a spoilt last block `sqlite_full` (in 5 of 5 runs) did not start."
        self.assertNotIn(
            "With a spoilt last block", said(sqlite_full={**keeps, "last_block_spoilt": 7})
        )
        self.assertIn(stuck, said(sqlite_full={**keeps, "last_block_spoilt": 300}))
        self.assertIn(
            "take `journal_wheel_0` in one process, `sqlite_full` in a file of one machine, "
            "`redis_always` or `postgres_on` on a server; these and 1 other lost nothing",
            said(
                redis_always=keeps,
                sqlite_full=keeps,
                postgres_on=keeps,
                journal_wheel_0=keeps,
                beanstalkd_f0=keeps,
            ),
        )
        for unknown in (
            {"power_cut": 0},
            {"lease_ends": 0},
            {**crashes, "engine_killed": 7},
            {**crashes, "power_cut_while_busy": 7},
        ):
            self.assertNotIn("lost nothing", said(journal_wheel_0=unknown).partition("(")[0])

    def test_it_leads_to_the_contents_and_they_to_every_page(self) -> None:
        self.assertIn("docs/README.md", LINK.findall(README.read_text()))
        targets = LINK.findall(CONTENTS.read_text())
        for page in PAGES:
            if page != CONTENTS:
                self.assertIn(page.name, targets)


def paid_for(document: Path) -> dict[tuple[str, str], str]:
    """For how many operations 1 % of a core pays, by the first cell of the row and the column."""
    cells = {}
    header: list[str] = []
    for line in document.read_text().splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if len(row) > 1 and not row[0] and all(" timers" in cell for cell in row[1:]):
            header = row
        elif not line.startswith("|"):
            header = []
        elif header and not row[0].startswith("-"):
            cells |= {(row[0], column): cell for column, cell in zip(header[1:], row[1:])}
    return cells


@functools.cache
def published_payments() -> dict[tuple[str, str], str]:
    """The same of the published campaign with libraries."""
    told = libraries_table(load([LIBRARIES.parent]))
    assert told
    titles, lines = told
    return {
        (name, column): cell
        for name, *entries in lines
        for column, cell in zip(titles[1:], entries)
    }


def costs_by_size(document: Path) -> Iterator[tuple[str, str, str]]:
    """Backend, workload and cell of the tables whose cells have costs in ns at several sizes."""
    header: list[str] = []
    for line in document.read_text().splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if row[0].startswith("in ns, at "):
            header = row
        elif header and row[0].startswith("`"):
            for workload, cell in zip(header[1:], row[1:]):
                yield row[0].split("`")[1], workload, cell
        elif not line.startswith("|"):
            header = []


class LibrariesTest(unittest.TestCase):
    def test_costs_are_those_of_the_published_campaigns(self) -> None:
        for document, table, sizes, least in (
            ("peers.md", LIBRARIES, (1_000, 100_000, 1_000_000), 6 * 12),
            ("processes.md", RUNTIMES, (1_000, 100_000), 2 * 14),
        ):
            results = load([table.parent])
            shown = list(costs_by_size(ROOT / "docs" / document))
            self.assertGreaterEqual(len(shown), least, document)
            for name, workload, cell in shown:
                cells = [results.cell(workload, size, name) for size in sizes]
                figures = [rough(one.cost) if one and one.has_figure else "–" for one in cells]
                self.assertEqual(cell, " / ".join(figures), (document, name, workload))

    def test_what_they_are_enough_for_is_of_the_published_campaign(self) -> None:
        published = published_payments()
        shown = paid_for(ROOT / "docs" / "peers.md")
        self.assertGreaterEqual(len(shown), 5 * 6)
        for cell, figure in shown.items():
            self.assertEqual(figure, published[cell], cell)

    def test_so_is_what_the_readme_says(self) -> None:
        [said] = re.findall(r"1 % of a core is enough.*?\)\.", README.read_text(), re.DOTALL)
        published = published_payments()
        own = published["own, exact", "churn<br>10⁵ timers"]
        told = re.findall(
            r"(\d[\d ]*\d) (?:cancels and armings a\s+second\s+)?with\s+`(\w+)`", said
        )
        self.assertGreaterEqual(len(told), 5)
        for figure, name in told:
            cell = published.get((f"`{name}`", "churn<br>10⁵ timers"), own)
            self.assertEqual(figure.replace(" ", "\u202f"), cell.partition(" `")[0], name)


class FindingsTest(unittest.TestCase):
    def test_one_that_does_not_hold_any_more_is_named(self) -> None:
        results = load([PUBLISHED.parent])
        for (workload, _, backend), cell in results.cells.items():
            if workload == "churn" and ("wheel" in backend or "ring" in backend):
                cell.costs = [100 * cost for cost in cell.costs]
        said = "docs/findings.md: 'a wheel is ahead from a size on' does not hold"
        with mock.patch.object(findings.structures, "costs_of", lambda suite: results):
            with self.assertRaisesRegex(Failure, said):
                findings.findings()

    def test_a_second_campaign_is_told(self) -> None:
        again = load([PUBLISHED.parent])
        for cell in [cell for cell in again.cells if cell[1] > 10**6]:
            del again.cells[cell]
        ring = again.cells["bulk", 100_000, "ring_65536"]
        ring.costs = [2 * cost for cost in ring.costs]
        _, best = published.cheapest(again, "bulk", "granular")

        with (
            mock.patch.object(findings.parts, "find", lambda suite: PUBLISHED.parent),
            mock.patch.object(findings.parts, "linked", lambda suite, text: text),
            mock.patch.object(findings.threads, "linked", lambda suite, text: text),
            mock.patch.object(findings.parts, "costs_of", costs_with(again)),
        ):
            told = " ".join(findings.findings().split())
        self.assertIn(
            f"On another virtual machine it is {times(ring.cost / best)} times as dear as the best (its table).",
            told,
        )
        self.assertEqual(told.count("(its table)"), 4 + 5, "those of full, and one of each other")
        self.assertRegex(told, r"times cheaper with 10⁶ \(its table\)")
        self.assertRegex(told, r"they cost [\d.]+ to [\d.]+ times as much at 10⁶ \(its table\)")

    def test_a_machine_is_called_slower_if_it_is(self) -> None:
        again = load([PUBLISHED.parent])
        for cell in again.cells.values():
            cell.costs = [1.2 * cost for cost in cell.costs]
        with (
            mock.patch.object(findings.parts, "find", lambda suite: PUBLISHED.parent),
            mock.patch.object(findings.parts, "linked", lambda suite, text: text),
            mock.patch.object(findings.parts, "costs_of", costs_with(again)),
        ):
            for grade, where in (("hypervisor", "a slower virtual machine"), ("", "a slower mach")):
                again.facts["grade_reasons"] = grade
                told = findings.parts.elsewhere(lambda results: "it is so")
                self.assertIn(f" On {where}", told)

    def test_each_has_a_picture_of_what_it_says(self) -> None:
        self.assertEqual(len(findings.pictures()), 10)
        pictures = publish.all_pictures()
        self.assertEqual(len({picture.path for picture in pictures}), len(pictures))
        for picture in pictures:
            self.assertTrue(picture.is_drawn(), picture.name)

    def test_a_picture_of_something_else_is_found_and_drawn_anew(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(PUBLISHED.parent / "results.json.gz", folder)
            heaps, heap = (
                Picture(Path(folder), "heaps", "cost_churn", "", Choice(backends, ["churn"]))
                for backends in (["index_heap_4", "binary_heap"], ["index_heap_4"])
            )
            self.assertFalse(heaps.is_drawn(), "it is not there")
            heap.draw()
            self.assertFalse(heaps.is_drawn(), "another backend")
            heaps.draw()
            self.assertTrue(heaps.is_drawn())
            publish.make_small(heaps.path)
            self.assertTrue(publish.is_small(heaps.path) and heaps.is_drawn())
            with self.assertRaisesRegex(Failure, "cost_of_all is none of cost_fill, "):
                Picture(Path(folder), "heaps", "cost_of_all", "").draw()

    def test_without_its_campaign_one_is_left_out(self) -> None:
        with mock.patch.object(findings, "find", lambda suite: None):
            told = findings.findings()
        self.assertIn(f"## {len(findings.MAKERS)}. ", told)
        self.assertNotIn("redis", told)


class LimitTest(unittest.TestCase):
    @contextlib.contextmanager
    def campaigns(self, **costs: dict[str, float | tuple[float, ...]]) -> Iterator[None]:
        """Has campaigns published. `costs`: of a backend, or of its rounds, by SUITE__WORKLOAD, of
        10^6 timers, or by SUITE__WORKLOAD__SIZE.
        """
        precisions = {"one_store": "none", "log_calendar_256": "exact", "scan": "exact"}
        entries: dict[str, list[dict[str, object]]] = {}
        for cell, of_backends in costs.items():
            suite, workload, size = f"{cell}__1000000".split("__")[:3]
            for backend, ns in {"log_calendar_256": 1, "scan": 1, **of_backends}.items():
                entry = {"label": f"{precisions.get(backend, 'granular')}, per insert"}
                name = f"{suite}/{workload}/{size}/{backend}"
                for number, one in enumerate(ns if isinstance(ns, tuple) else (ns,)):
                    entries.setdefault(suite, []).append(
                        {**entry, "name": name, "items": 1, "ns_per_item": one, "round": number}
                    )
        with tempfile.TemporaryDirectory() as folder:
            by_suite = {}
            for suite, own in entries.items():
                file = Path(folder) / f"{suite}.json"
                file.write_text(json.dumps({"context": {}, "benchmarks": own}))
                by_suite[suite] = load([file])
            with (
                mock.patch.object(limit_tables, "costs_of", by_suite.__getitem__),
                mock.patch.object(limit_tables, "SIZES", (1_000_000,)),
                mock.patch.object(limit_tables, "SIZES_OF_MAIN", (1_000_000,)),
                mock.patch.object(limit_tables, "MANY", 1_000_000),
                mock.patch.object(published, "latest", lambda suite: ROOT / "results" / suite),
            ):
                yield

    def row(self, table: str, name: str) -> list[str]:
        """Returns the cells of the first line that begins with this."""
        line = next(line for line in table.splitlines() if line.startswith(f"| `{name}`"))
        return [cell.strip() for cell in line.strip("|").split("|")]

    def test_the_rival_is_the_cheapest_without_logs_and_a_load_counts_once(self) -> None:
        even = {"log_wheel_256": 10, "ring_65536": 10.9}
        with self.campaigns(
            timeouts__ahead={
                "log_wheel_256": 10,
                "log_ring_65536": 1,
                "ring_65536": 30,
                "ring_512": 20,
            },
            timeouts__behind={"log_wheel_256": 10, "ring_65536": 5, "ring_512": 8},
            events__even=even,
            adversarial__even={"log_wheel_256": 10, "ring_65536": 1},
        ):
            told = limit_tables.loads()
        self.assertEqual(
            self.row(told, "log_wheel_256"),
            ["`log_wheel_256`", "10⁶", "1", "1", "1", "1.09", "0.50 `behind`", "2.0 `ahead`"],
        )
        self.assertIn("- `log_wheel_256` with 10⁶ timers: 0.50 `behind` (`ring_65536`).", told)
        self.assertIn("- `log_calendar_256` with 10⁶ timers: none.", told)

    def test_a_ratio_is_that_of_the_best_other_to_the_log(self) -> None:
        costs = {"log_wheel_256": 40, "ring_512": 90, "ring_65536": 100}
        with self.campaigns(
            full__hold=costs,
            full__fill={"log_wheel_256": 40, "ring_512": 4},
            full__nginx__77={"log_wheel_256": 10, "ring_512": 70},
        ):
            told = limit_tables.ratios()
        self.assertIn("are 7.0 and 1.00 in `nginx`.", told.replace("\n", " "))
        self.assertNotIn("| `nginx`", told)
        self.assertEqual(
            self.row(told, "log_wheel_256`: `hold"),
            ["`log_wheel_256`: `hold`", "2.2 (40)", "`ring_512`, 90"],
        )
        self.assertEqual(self.row(told, "fill"), ["`fill`", "0.10 (40)", "`ring_512`, 4.0"])
        self.assertEqual(
            self.row(told, "log_calendar_256`: `hold"),
            ["`log_calendar_256`: `hold`", "1.00 (1.0)", "`scan`, 1.0"],
        )

    def test_a_second_campaign_says_how_far_ratios_reach(self) -> None:
        again: dict[str, dict[str, float | tuple[float, ...]]] = {
            "full-again__hold": {"log_wheel_256": 100, "ring_512": 60},
            "full-again__churn": {"log_wheel_256": 40, "ring_512": 50},
            "full-again__drain": {"ring_512": (10, 30)},
        }
        with self.campaigns(
            full__hold={"log_wheel_256": 40, "ring_512": 80},
            full__churn={"log_wheel_256": 40, "ring_512": 40},
            **again,
        ):
            told = limit_tables.ratios_elsewhere()
            reach = limit_tables.reach_of_ratios()
        self.assertEqual(self.row(told, "churn"), ["`churn`", "1.25 (40)", "`ring_512`, 50"])
        self.assertEqual(reach, "0.30 to 1.2")
        self.assertIn("cells at least: 3.0 and 3.0 with 10⁶ timers.", told.replace("\n", " "))

    def test_ticks_are_told_without_recordings(self) -> None:
        costs = {"log_wheel_256": 40, "ring_512": 90}
        with self.campaigns(
            resolution__hold_us=costs, resolution__hold_ns=costs, resolution__nginx__77=costs
        ):
            told = limit_tables.ticks()
        self.assertEqual(self.row(told, "hold_ns"), ["`hold_ns`", "2.2 (40)", "`ring_512`, 90"])
        self.assertNotIn("nginx", told)

    def test_distances_are_multiples_of_one_store(self) -> None:
        costs = {"log_wheel_256": 40, "log_calendar_256": 48, "one_store": 4}
        with self.campaigns(
            full__hold=costs,
            full__nginx__77=costs,
            timeouts__churn={"log_wheel_256": 40},
            events__hold={**costs, "one_store": 1},
            adversarial__sparse={**costs, "one_store": 10},
        ):
            told = limit_tables.distances()
        self.assertEqual(self.row(told, "hold"), ["`hold`", "10, 12"])
        self.assertEqual(self.row(told, "sparse"), ["`sparse`", "4.0, 4.8"])
        self.assertNotIn("nginx", told)
        self.assertNotIn("churn", told, "it has no store")

    def test_ideas_are_multiples_of_the_wheel(self) -> None:
        costs = {"log_wheel_256": 40, "log_wheel_64": 50, "one_store": 4}
        longest = {"log_wheel_256": 2000.0, "one_store": 30.0}
        calls = [
            {"name": f"ablation/hold/1000000/{name}", "label": "exact, per insert", "worst_ns": ns}
            for name, ns in longest.items()
        ]
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "tails.json"
        file.write_text(json.dumps({"context": {}, "benchmarks": calls}))
        with (
            self.campaigns(ablation__hold=costs),
            mock.patch.object(limit_tables, "tails", lambda suite: load_pass(file)),
        ):
            told, longest_of = limit_tables.ideas().split("\n\n")
        self.assertEqual(self.row(longest_of, "log_wheel_256"), ["`log_wheel_256`", "2.0 µs"])
        self.assertEqual(self.row(longest_of, "log_wheel_64"), ["`log_wheel_64`", "–"])
        self.assertNotIn("one_store", longest_of, "it fires nothing")
        self.assertEqual(self.row(told, "log_wheel_256"), ["`log_wheel_256`, ns", "40"])
        self.assertEqual(self.row(told, "log_wheel_64"), ["`log_wheel_64`", "1.25"])
        self.assertEqual(self.row(told, "one_store"), ["`one_store`", "0.10"])

    def test_advances_are_told_from_the_shortest_on(self) -> None:
        def tell(_: object, workload: str, size: int, backend: str, counter: str) -> float:
            self.assertEqual(size, limit_tables.MANY)
            longest = {"churn": 3000, "drain": 1000}.get(workload, 2000)
            return longest if backend == "log_wheel_256" and counter == "worst_ns" else 7000

        with mock.patch.object(limit_tables, "value_of", tell):
            told = limit_tables.advances()
        self.assertEqual(
            self.row(told, "drain")[:4], ["`drain`", "1.0 µs", "7\u202f000", "7\u202f000"]
        )
        names = [line.split("`")[1] for line in told.splitlines()[2:]]
        self.assertEqual([names[0], names[-1]], ["drain", "churn"])

    def test_an_answer_that_does_not_hold_any_more_is_refused(self) -> None:
        @functools.cache
        def slower(suite: str) -> Results:
            results = load([published.latest(suite)])
            for (_, _, backend), cell in results.cells.items():
                if backend.startswith("log_wheel"):
                    cell.costs = [100 * cost for cost in cell.costs]
            return results

        limit_tables.answer()
        with mock.patch.object(limit_tables, "costs_of", slower):
            with self.assertRaisesRegex(Failure, "log_wheel_256 is ahead in less than half"):
                limit_tables.answer()


class ServicesTest(unittest.TestCase):
    def test_its_tables_are_of_the_published_campaigns(self) -> None:
        page = (ROOT / "docs" / "services.md").read_text()
        for part, prefix, least in (("own services", "", 14), ("services", "service_peers_", 24)):
            _, _, rest = page.partition(f"<!-- {part} -->\n")
            shown, end, _ = rest.partition(f"<!-- end of {part} -->\n")
            self.assertTrue(end)
            folders = [published.latest(prefix + suite) for suite in SUITES]
            table = services_table(folders)
            self.assertGreaterEqual(len(table.splitlines()), least)
            for service in ("locked_log_wheel_256", "sharded_4_locked_log_wheel_256"):
                self.assertIn(f"`{service}`", table)
            for line, expected in zip(shown.strip().splitlines(), table.splitlines(), strict=True):
                self.assertEqual(line, expected)
            for folder in folders:
                self.assertIn(f"results/{folder.name}/table.md", page)


class LinkTest(unittest.TestCase):
    def test_links_lead_somewhere(self) -> None:
        for document in DOCUMENTS:
            for target in LINK.findall(document.read_text()):
                if "://" in target:
                    continue
                path, _, anchor = target.partition("#")
                file = (document.parent / path).resolve() if path else document
                with self.subTest(document=document.name, target=target):
                    self.assertTrue(file.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(file))

    def test_every_page_leads_to_another(self) -> None:
        for page in PAGES:
            names = {other.name for other in PAGES if other != page}
            with self.subTest(page.name):
                targets = {target.partition("#")[0] for target in LINK.findall(page.read_text())}
                self.assertTrue(names & targets)


class CommandTest(unittest.TestCase):
    def test_programs_files_and_options_exist(self) -> None:
        for document in DOCUMENTS:
            for line in lines(document):
                for command in line.commands():
                    with self.subTest(document=document.name, command=shlex.join(command)):
                        self._check(command, line.text)

    def _check(self, command: list[str], line: str) -> None:
        program, *arguments = command
        program = TIMERBENCH if program in WITH_MORE else INSTALLED.get(program, program)
        if program == "cmake":
            self._check_cmake(arguments)
        elif program.startswith("build/release/tests/"):
            self.assertTrue((ROOT / "tests" / f"{Path(program).name}.cc").exists())
        elif "/" not in program:
            if f"needs {program}" not in line:
                self.assertTrue(shutil.which(program), f"{program} is missing")
        elif program.startswith("/tmp/"):
            pass  # made by the commands before
        else:
            self.assertTrue((ROOT / program).exists(), "is timerbench built?")
            subcommands = []
            if program == TIMERBENCH:
                depth = 2 if arguments[0] == "trace" else 1
                subcommands, arguments = arguments[:depth], arguments[depth:]
            for option in re.findall(r"(?:^| )(--[\w-]+)", " ".join(arguments)):
                self.assertRegex(known_to(program, *subcommands), rf"{option}\b")
        for argument in command:
            if re.match(r"(bench|tests|results/2|impls)[\w-]*/", argument):
                self.assertTrue(list(ROOT.glob(argument.partition(":")[0] + "*")), argument)

    def _check_cmake(self, arguments: list[str]) -> None:
        for name, value in zip(arguments, arguments[1:]):
            if name == "--preset":
                self.assertIn(f'"name": "{value}"', (ROOT / "CMakePresets.json").read_text())
        for variable in re.findall(r"-D(TIMERBENCH_\w+)=", " ".join(arguments)):
            self.assertIn(variable, (ROOT / "CMakeLists.txt").read_text())
        if "--target" in arguments:
            for target in arguments[arguments.index("--target") + 1 :]:
                source = ROOT / "tests" / f"{target}.cc"
                self.assertTrue(target == "timerbench" or source.exists(), target)

    def test_what_is_chosen_can_be_measured(self) -> None:
        """Names of suites, backends, workloads and parameters, of what is too slow to run here."""
        for document in DOCUMENTS:
            for line in lines(document):
                for program, *arguments in line.commands():
                    if "my_" in line.text or {"--help", *OF_PEERS} & set(arguments):
                        continue
                    if program.endswith("scripts/bench"):
                        arguments = self._as_run(arguments)
                    elif [program, *arguments[:1]] != [TIMERBENCH, "run"]:
                        continue
                    with self.subTest(document=document.name, line=line.text):
                        result = subprocess.run(
                            [TIMERBENCH, *arguments, "--benchmark_list_tests"],
                            cwd=ROOT,
                            capture_output=True,
                            text=True,
                            timeout=PATIENCE,
                        )
                        self.assertEqual(result.returncode, 0, result.stderr)

    def _as_run(self, arguments: list[str]) -> list[str]:
        """The command of timerbench that chooses the same cells as scripts/bench does, but those of
        the libraries, which CI lacks.
        """
        suite = "quick"
        if arguments and not arguments[0].startswith("--"):
            suite, *arguments = arguments
        known = known_to(TIMERBENCH, "run")
        shared = [
            argument.replace("=libraries,", "=")
            for argument in arguments
            if argument.partition("=")[0] in known
        ]
        return ["run", f"--suite={suite}", *shared]

    def test_quick_commands_run(self) -> None:
        for document in DOCUMENTS:
            for line in lines(document):
                if not line.runs:
                    continue
                with self.subTest(document=document.name, line=line.text):
                    self.assertNotIn("scripts/setup", line.text, "it installs packages")
                    result = subprocess.run(
                        ["bash", "-euo", "pipefail", "-c", line.text],
                        cwd=ROOT,
                        capture_output=True,
                        text=True,
                        timeout=PATIENCE,
                    )
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_documents_name_every_suite(self) -> None:
        named = (ROOT / "docs" / "workloads.md").read_text()
        for suite in sorted((ROOT / "bench" / "suites").glob("*.toml")):
            self.assertIn(f"`{suite.stem}`", named)


def head_comment(source: Path) -> str:
    """The comment that a file begins with, without its slashes."""
    comment = []
    for line in source.read_text().splitlines():
        if not line.startswith("//"):
            break
        comment.append(line.removeprefix("//").removeprefix(" "))
    return "\n".join(comment)


class HeadCommentTest(unittest.TestCase):
    def test_every_header_says_what_it_costs_and_when_it_is_good_or_bad(self) -> None:
        for header in HEADERS:
            labels = re.findall(r"^([A-Z][a-z]+):", head_comment(header), re.MULTILINE)
            wanted = ["Cost", "Good", "Bad", "Follows"]
            if header.parent.name != "services":
                wanted.insert(0, "Invariants")
            with self.subTest(header.name):
                labels = [label for label in labels if label not in ("Example", "Deviates")]
                self.assertEqual(labels, wanted)

    def test_invariants_are_numbered(self) -> None:
        for header in HEADERS:
            _, _, rest = head_comment(header).partition("\nInvariants:\n")
            block = rest.partition("\n\n")[0]
            numbers = [int(n) for n in re.findall(r"^  (\d+)\. ", block, re.MULTILINE)]
            with self.subTest(header.name):
                self.assertEqual(bool(numbers), bool(rest))
                self.assertEqual(numbers, list(range(1, len(numbers) + 1)))


if __name__ == "__main__":
    unittest.main()
