"""Makes one HTML file of results, which any browser opens without a network.

RESULTS are folders of scripts/bench, or files that 'timerbench run --benchmark_out' wrote, of any
suites. The page also shows the passes in a folder (tails.json, memory.json and so on). Each folder
or file stays a campaign of its own; their results are not mixed. A file that ends in .jsonl is a
history of scripts/compare --history.

  scripts/report results/local/quick
  scripts/report results/local/* --out=timers.html
  scripts/report results/local/full results/history.jsonl --out=timers.html
"""

import argparse
from pathlib import Path

from console import ArgumentParser, UsageError, run_main
from files import make_folder, path_argument, replacing
from page.contents import contents
from page.render import render


# An installed one has another name.
IN_TREE, INSTALLED = "scripts/report", "timerbench-report"
NAME = IN_TREE if (Path(__file__).parents[2] / "CMakeLists.txt").exists() else INSTALLED


def main() -> int:
    arguments = _parse()
    out = arguments.out or _place_of(arguments.results)
    if out.suffix not in (".html", ".htm"):
        page = out / "report.html" if out.is_dir() else out.with_suffix(".html")
        raise UsageError(f"--out: {out} is to be a page; call it {page.name}")
    text = render(contents(arguments.results))
    make_folder(out.parent)
    with replacing(out) as partial:
        partial.write_text(text, encoding="utf-8")
    print(out)
    return 0


def _place_of(results: list[Path]) -> Path:
    """Returns the folder of a single campaign; several campaigns have no common one."""
    if len(results) > 1:
        return Path("report.html")
    return (results[0] if results[0].is_dir() else results[0].parent) / "report.html"


def _parse() -> argparse.Namespace:
    parser = ArgumentParser(
        prog=NAME,
        description=(__doc__ or "").replace(IN_TREE, NAME),
    )
    parser.add_argument("results", nargs="+", type=path_argument, metavar="RESULTS")
    parser.add_argument(
        "--out",
        type=path_argument,
        metavar="FILE",
        help="file to write (default: report.html in the folder of RESULTS, or in the working folder if "
        "there are several)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    run_main(NAME, main)
