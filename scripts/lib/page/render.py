"""Renders the contents and the programs of the page into one HTML file."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from console import Failure

HERE = Path(__file__).parent
CHART_JS = Path("/usr/share/javascript/chart.js/chart.min.js")  # from Debian's libjs-chart.js

# In the order of their dependencies.
PROGRAMS = (
    *("statistics", "words", "results", "elements", "failures", "view", "svg", "charts"),
    *(
        "loads",
        "filter",
        "decide",
        "scaling",
        "limit",
        "map",
        "tails",
        "services",
        "survival",
        "history",
        "memory",
    ),
    *("pairwise", "backend", "machine", "raw", "main"),
)


def render(contents: dict[str, Any]) -> str:
    """Returns the page. The data are compressed, because unpacking is faster than reading from
    disk.
    """
    if not CHART_JS.exists():
        raise Failure(f"{CHART_JS}: not there; scripts/setup installs libjs-chart.js")
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined
    )
    text = json.dumps(contents, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    packed = gzip.compress(text.encode(), mtime=0)
    return environment.get_template("page.html").render(
        title=" and ".join(campaign["name"] for campaign in contents["campaigns"][:3]),
        style=_inline(HERE / "page.css"),
        chart_js=_inline(CHART_JS),
        programs=[_inline(HERE / "js" / f"{name}.js") for name in PROGRAMS],
        data=base64.b64encode(packed).decode(),
    )


def unpacked(page: str) -> Any:
    """Returns the contents of a rendered page."""
    _, _, rest = page.partition('id="data">')
    data, _, _ = rest.partition("<")
    return json.loads(gzip.decompress(base64.b64decode(data)))


def _inline(path: Path) -> Markup:
    text = path.read_text(encoding="utf-8")
    if "</script" in text or "</style" in text:
        raise Failure(f"{path}: would end the element that it is put into")
    return Markup(text)
