"""Writes the figures of README.md and of pages in docs/ from the campaigns in results/, and the
report of all of them.

  scripts/publish            writes what stands between marks such as <!-- answers -->, the
                             pictures that Picture describes, and results/report.html if it has
                             not the same campaigns; and compresses their JSON and their pictures
  scripts/publish --check    says whether all that is done, and changes nothing

Of each suite the latest folder counts: results/DATE-MACHINE-SUITE. So after a new campaign of a suite
its folder is put there, and this command does the rest.
"""

import argparse
import contextlib
import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

import distributed
import limit_tables
import readme
from console import ArgumentParser, Failure, run_main, say
from files import fill, filled, replacing, shown
from findings import findings, pictures
from history import HISTORY
from page.contents import contents
from page.render import render, unpacked
from pictures import Picture
from published import (
    FEW,
    MAIN,
    ROOT,
    SIZE,
    costs,
    costs_of,
    find,
    latest,
    latest_of_all,
)
from repeated import measured_twice
from results import history, realtime, survival
from results.grid import ResultFile, packed, read_files
from services import SUITES, services_table
from tables.chosen import rough as rough_number
from tables.durable import durable_answer, durable_table
from tables.replays import markdown_table
from tables.survival import answer_lines, broken_lines
from words import machine_line, power

RESULTS = ROOT / "results"
REPORT = RESULTS / "report.html"

PICTURES = {  # of durable queues
    "durable_throughput": "Timers a second of each queue, by clients, timers a call and workers",
    "durable_lateness": "How late the timers of each queue fire, by rate, orders and jobs",
}


def main(words: Sequence[str] | None = None) -> int:
    arguments = _parse(words)
    stale = []
    # All are made before the first is written: one that does not hold any more leaves nothing half done.
    texts = [(document, name, make()) for document, name, make in PARTS]
    for document, name, text in texts:
        path = ROOT / document
        if filled(path, name, text) != path.read_text(encoding="utf-8"):
            stale.append(f"{document} ({name})")
            if not arguments.check:
                fill(path, name, text)
    for picture in all_pictures():
        if not picture.is_drawn():
            stale.append(shown(picture.path))
            if not arguments.check:
                picture.draw()
    large: list[tuple[Path, Callable[[Path], None]]] = [
        *((file, pack) for file in sorted(RESULTS.glob("2*/*.json"))),
        *((file, make_small) for file in sorted(RESULTS.glob("2*/*.png")) if not is_small(file)),
    ]
    for file, reduce in large:
        stale.append(shown(file))
        if not arguments.check:
            reduce(file)
    sources = all_sources()
    if is_stale(REPORT, sources):
        stale.append(shown(REPORT))
        if not arguments.check:
            write_report(sources)
    if arguments.check and stale:
        raise Failure(f"{' and '.join(stale)}: not as published; run scripts/publish")
    say(f"Wrote {' and '.join(dict.fromkeys(stale))}." if stale else "All is as published.")
    return 0


def pack(file: Path) -> None:
    """Replaces a file of results by its compressed form."""
    with replacing(packed(file)) as partial:
        partial.write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    file.unlink()


def is_small(picture: Path) -> bool:
    with Image.open(picture) as image:
        return bool(image.mode == "P")


def make_small(picture: Path) -> None:
    """Leaves 256 colours, and a third of the bytes. They are spread over all that occur: colours by how
    often they occur would leave none for the few pixels of a mark.
    """
    spread = Image.Quantize.MAXCOVERAGE
    with Image.open(picture) as image:
        small = image.convert("RGB").quantize(256, spread, kmeans=1, dither=Image.Dither.NONE)
        told = PngInfo()
        for keyword, text in image.info.items():
            if isinstance(text, str):
                told.add_text(keyword, text)
    with replacing(picture) as partial:
        small.save(partial, "png", optimize=True, pnginfo=told)


def all_pictures() -> list[Picture]:
    """Returns those of the findings, of README, of the limit and of durable queues."""
    found = [*pictures(), readme.picture(), limit_tables.picture()]
    if find("durable"):
        found += [Picture(latest("durable"), name, name, shows) for name, shows in PICTURES.items()]
    return found


def all_sources() -> list[Path]:
    """Returns what the report has, below the project's folder: the latest campaign of each suite, and
    the history.
    """
    paths = [*latest_of_all(), HISTORY]
    return [path.relative_to(ROOT) for path in paths]


def sources_of(report: Path) -> dict[str, str]:
    """Returns the same of a report that is written, with the machine, commit and date of each; nothing
    if there is none.
    """
    if not report.exists():
        return {}
    campaigns = unpacked(report.read_text())["campaigns"]
    return {campaign["source"]: campaign["machine"] for campaign in campaigns}


def is_stale(report: Path, sources: Sequence[Path]) -> bool:
    """Whether it has other campaigns, one was measured anew, as its table says, or the history grew."""
    told = sources_of(report)
    if list(told) != list(map(str, sources)):
        return True
    return any(_is_other(ROOT / source, machine) for source, machine in told.items())


def _is_other(source: Path, machine: str) -> bool:
    """Whether the source is another now than the report has it with this line on its machine."""
    if source.suffix == HISTORY.suffix:
        return history.load(source).extent not in machine
    table = source / "table.md"
    return table.exists() and machine not in table.read_text(encoding="utf-8")


def write_report(sources: Sequence[Path]) -> None:
    with contextlib.chdir(ROOT), replacing(REPORT) as partial:
        partial.write_text(render(contents(sources)), encoding="utf-8")


def heaps() -> str:
    """Returns how many times as dear a heap of Boost is as one without handles."""
    full = costs_of(MAIN)
    sizes = (FEW, SIZE, 1_000_000)
    lines = []
    for workload in ("cancel", "churn", "hold"):
        found = [costs(full, workload, "exact", size) for size in sizes]
        told = [rough_number(of["quad_heap"] / of["index_heap_4"]) for of in found]
        lines.append([f"`{workload}`", *told])
    where = latest(MAIN).relative_to(ROOT)
    table = markdown_table(["", *map(power, sizes)], lines, names=1)
    return (
        f"{table}\n\nRatios of the medians of [the campaign of the README](../{where}/table.md).\n"
    )


def own_services() -> str:
    """Returns the table of own services."""
    return services_table([latest(suite) for suite in SUITES])


def services() -> str:
    """Returns the table of the services that a program has anyway, beside own ones."""
    return services_table([latest(f"service_peers_{suite}") for suite in SUITES])


def queues() -> str:
    """Returns what durable queues do, and how often that was measured."""
    return _if_published("durable", _queues)


def survivors() -> str:
    """Returns who loses what when something breaks, with the picture."""
    return _if_published("faults", _survivors)


def model() -> str:
    """Returns how many nodes a load takes."""
    return _if_published("durable", _model)


def _if_published(suite: str, tell: Callable[[list[ResultFile], Path], str]) -> str:
    """Returns what there is to tell of a campaign in this folder below the project's."""
    folder = find(suite)
    if folder is None:
        return f"No campaign is published yet; `./scripts/bench {suite}` measures one."
    return tell(read_files([folder]), folder.relative_to(ROOT))


def _queues(files: list[ResultFile], where: Path) -> str:
    results = realtime.load_files(files)
    pictures = [f"![{title}](../{where}/{name}.png)" for name, title in PICTURES.items()]
    answer = "\n\n".join(durable_answer(results))
    parts = [*pictures, f"[All figures](../{where}/table.md). {machine_line(results.facts)}\n"]
    return f"{answer}\n\n{durable_table(results)}\n" + "\n\n".join(parts)


def _survivors(files: list[ResultFile], where: Path) -> str:
    results = survival.load_files(files)
    picture = f"![Lost timers of each queue in each fault](../{where}/survival.png)"
    seen = f"[All figures](../{where}/table.md), with the command that repeats each run."
    broken = "\n".join(f"- {line}" for line in broken_lines(results))
    return "\n\n".join(filter(None, [*answer_lines(results), broken, picture, seen])) + "\n"


def _model(files: list[ResultFile], where: Path) -> str:
    return distributed.answer(realtime.load_files(files), distributed.DEFAULT, where)


PARTS = (
    ("README.md", "answers", readme.answers),
    ("README.md", "table", readme.table),
    ("docs/findings.md", "findings", findings),
    ("docs/limit.md", "answer", limit_tables.answer),
    ("docs/limit.md", "ratios", limit_tables.ratios),
    ("docs/limit.md", "ratios elsewhere", limit_tables.ratios_elsewhere),
    ("docs/limit.md", "ticks", limit_tables.ticks),
    ("docs/limit.md", "loads", limit_tables.loads),
    ("docs/limit.md", "advances", limit_tables.advances),
    ("docs/limit.md", "ideas", limit_tables.ideas),
    ("docs/limit.md", "distances", limit_tables.distances),
    ("docs/figures.md", "measured twice", measured_twice),
    ("docs/backends.md", "heaps", heaps),
    ("docs/services.md", "own services", own_services),
    ("docs/services.md", "services", services),
    ("docs/durable.md", "queues", queues),
    ("docs/durable.md", "survival", survivors),
    ("docs/distributed.md", "model", model),
)


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = ArgumentParser(
        prog="scripts/publish",
        description=__doc__,
    )
    parser.add_argument("--check", action="store_true", help="change nothing; fail if it differs")
    return parser.parse_args(words)


if __name__ == "__main__":
    run_main("scripts/publish", main)
