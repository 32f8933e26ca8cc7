"""Shared by the tests of scripts/report: results for pages, and one browser."""

import functools
import json
import math
import random
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any, ClassVar

from scripts_testing import ROOT, Scratch
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

import published

REAL = [*published.latest_of_all(), *ROOT.glob("results/*.jsonl")]
PAGES = [
    *("decide", "scaling", "limit", "map", "tails", "accuracy", "contention", "purgatory"),
    *("durable", "survival", "history", "memory", "pairwise", "backend", "machine", "raw"),
]
ROUNDS = 10
FACTS: dict[str, Any] = {
    "granularity": "1",
    "grade": "C",
    "num_cpus": 2,
    "caches": [
        {"type": "Data", "level": 1, "size": 32768},
        {"type": "Instruction", "level": 1, "size": 4096},
        {"type": "Unified", "level": 2, "size": 2**20},
    ],
    "limits": {
        "clock_ns": 20.0,
        "append_ns": 1.0,
        "sleep_late_ns": 5e4,
        "memory": [{"bytes": 32768, "random_access_ns": 2.0, "list_walk_ns": 2.0}],
    },
}


def entry(
    name: str, backend: str, precision: str, round_: int = 0, **figures: Any
) -> dict[str, Any]:
    return {
        "name": f"{name}/{backend}/manual_time",
        "label": f"{precision}, per request",
        "run_type": "iteration",
        "round": round_,
        "repetition_index": round_,
        "items": 100.0,
        **figures,
    }


def failed(name: str, backend: str, why: str) -> dict[str, Any]:
    return {"name": f"{name}/{backend}/x", "error_occurred": True, "error_message": why}


def costs(name: str, backend: str, precision: str, cost: float, noise: float = 0.01) -> list[Any]:
    generator = random.Random(f"{name}{backend}")
    return [
        entry(name, backend, precision, i, ns_per_item=cost * math.exp(generator.gauss(0, noise)))
        for i in range(ROUNDS)
    ]


def load(share: float, size: int, delay: float) -> dict[str, Any]:
    return {
        "cancelled_share": share,
        "moved_share": 0.0,
        "fired_share": 1 - share,
        "peak_pending": size,
        "delay_ns": {"p50": delay, "p99": 2 * delay},
        "hashes": ["abc"],
    }


@functools.cache
def browser_of_module() -> webdriver.Chrome:
    """Starts one browser for all tests of a module, as that takes seconds."""
    unittest.addModuleCleanup(browser_of_module.cache_clear)
    profile = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(profile.cleanup)
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (
        *("headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run"),
        *("disable-background-networking", "disable-component-update", "disable-sync"),
        *("window-size=1280,1000", f"user-data-dir={profile.name}"),
    ):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    unittest.addModuleCleanup(browser.quit)
    return browser


class ReportTest(Scratch):
    """Tests of pages; all of a module share one browser."""

    browser: ClassVar[webdriver.Chrome]

    @classmethod
    def setUpClass(cls) -> None:
        cls.browser = browser_of_module()

    def report(self, *results: Path, out: str = "report.html") -> Path:
        run = self.run_report(*results, "--out", self.folder / out)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return self.folder / out

    @staticmethod
    @functools.cache
    def real_report() -> Path:
        """Of all that is published; made once for a module, as it takes seconds."""
        unittest.addModuleCleanup(ReportTest.real_report.cache_clear)
        folder = tempfile.TemporaryDirectory()
        unittest.addModuleCleanup(folder.cleanup)
        page = Path(folder.name) / "report.html"
        run = ReportTest.run_report(*REAL, "--out", page)
        assert (run.returncode, run.stderr) == (0, ""), run.stderr
        return page

    @staticmethod
    def run_report(*arguments: object) -> "subprocess.CompletedProcess[str]":
        return Scratch.run_script("report", *arguments)

    def campaign(
        self, entries: list[Any], name: str = "campaign", passes: Any = None, **facts: Any
    ) -> Path:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        context = {"processor": "Test 1000", "suite": "quick", "command": "scripts/bench quick"}
        context |= FACTS | facts
        for file, content in {"results": entries, **(passes or {})}.items():
            text = json.dumps({"context": context, "benchmarks": content})
            (folder / f"{file}.json").write_text(text)
        return folder

    def open(self, page: Path, hash_: str = "") -> None:
        self.browser.get("about:blank")
        for kind in ("browser", "performance"):
            self.browser.get_log(kind)
        self.browser.get(f"{page.as_uri()}{hash_ and '#' + hash_}")
        self.wait("return document.body.dataset.ready === 'yes'")

    def wait(self, condition: str) -> None:
        WebDriverWait(self.browser, 120).until(lambda browser: browser.execute_script(condition))

    def check_quiet(self) -> None:
        """Checks that there was no error and no network request."""
        self.assertEqual(self.browser.get_log("browser"), [])
        messages = [
            json.loads(line["message"])["message"] for line in self.browser.get_log("performance")
        ]
        urls = [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
        asked = [url for url in urls if not url.startswith(("file:", "data:", "blob:"))]
        self.assertEqual(asked, [])

    def go(self, page: str) -> None:
        self.browser.find_element(By.CSS_SELECTOR, f"nav a[href='#{page}']").click()
        self.settle()

    def choose(self, key: str, value: str) -> None:
        control = self.browser.find_element(By.CSS_SELECTOR, f"[data-key='{key}']")
        Select(control).select_by_value(value)
        self.settle()

    def settle(self) -> None:
        """Waits until the page has drawn."""
        self.browser.execute_async_script(
            "const done = arguments[0];"
            "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));"
        )

    def run_js(self, expression: str, *arguments: Any) -> Any:
        return self.browser.execute_script(f"return {expression}", *arguments)

    def text(self) -> str:
        return str(self.browser.execute_script("return document.getElementById('page').innerText"))

    def whole_text(self) -> str:
        """Returns the text of the page, with closed parts."""
        return str(self.run_js("document.getElementById('page').textContent"))

    def tables(self) -> list[list[list[str]]]:
        """Returns the text of all tables by row, with closed ones."""
        tables: list[list[list[str]]] = self.browser.execute_script(
            "return [...document.querySelectorAll('#page table')].map((table) =>"
            " [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim())))"
        )
        return tables

    def titles(self) -> list[str]:
        titles: list[str] = self.browser.execute_script(
            "return [...document.querySelectorAll('#page h3')].map((title) => title.textContent)"
        )
        return titles

    def saved(self, kind: str, of: str = "") -> str:
        """Returns what a button would save, as text; a PNG in base64."""
        return str(
            self.browser.execute_async_script(
                """
                const [kind, of, done] = arguments;
                const before = window.download;
                window.download = async (name, type, content) => {
                  window.download = before;
                  if (!(content instanceof Blob)) return done(content);
                  const bytes = new Uint8Array(await content.arrayBuffer());
                  done(btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')));
                };
                document.querySelector(`#page ${of} [data-export="${kind}"]`).click();
                """,
                kind,
                of,
            )
        )

    def generated(self) -> Path:
        """Two loads: lazy and heap tie on one, ring is less precise, and oak does not finish."""
        entries: list[Any] = []
        for size, scale in ((1000, 1.0), (100_000, 3.0)):
            name = f"quick/churn/{size}"
            entries += costs(name, "heap", "exact", 100 * scale)
            entries += costs(name, "lazy", "exact", 40 * scale)
            entries += costs(name, "lazy@again", "exact", 40 * scale)
            entries += costs(name, "ring", "granular", 10)
            entries += costs(name, "null", "none", 1)
            entries.append(failed(name, "oak", "timeout: over 5 s"))
        entries += costs("quick/hold/1000", "heap", "exact", 70, 0.05)
        entries += costs("quick/hold/1000", "lazy", "exact", 70, 0.05)
        inputs = {
            "churn/1000/both": load(1.0, 1000, 3e10),
            "churn/100000/both": load(1.0, 100_000, 3e10),
            "hold/1000/both": load(0.0, 1000, 1e9),
        }
        name = "quick/churn/1000"
        tails = [
            entry(name, "heap", "exact", worst_ns=120.0, worst_fired=3.0, advance_count=1000.0,
                  advance_max_ns=500.0, clock_ns=20.0),
            entry(name, "ring", "granular", worst_ns=90_000.0, worst_moved=77.0, worst_level=2.0,
                  advance_count=1000.0, advance_max_ns=95_000.0, clock_ns=20.0),
        ]  # fmt: skip
        memory = [
            entry(name, "heap", "exact", bytes_per_timer=56.0, peak_bytes=56_000.0),
            entry(name, "lazy", "exact", bytes_per_timer=300.0, peak_bytes=300_000.0),
            failed(name, "oak", "timeout: over 5 s"),
        ]
        passes = {
            "tails": tails,
            "memory": memory,
            "instructions": [entry(name, "heap", "exact", instructions_per_item=752.0)],
            "counters": [entry(name, "heap", "exact", cycles_per_item=310.0)],
        }
        folder = self.campaign(entries, passes=passes, inputs=inputs)
        distributions = {
            f"{name}/heap": [{"advance": {"edges": [10, 20, 40], "counts": [900, 100]}}],
            f"{name}/ring": [
                {
                    "advance": {"edges": [10, 100], "counts": [1000]},
                    "timeline": {
                        "op": list(range(2000)),
                        "max_ns": [90_000 if i == 777 else 30 for i in range(2000)],
                        "fired": [0] * 2000,
                        "moved": [77 if i == 777 else 0 for i in range(2000)],
                    },
                }
            ],
        }
        (folder / "tails.distributions.json").write_text(json.dumps(distributions))
        return folder
