"""The findings of docs/findings.md, with the figures of the published campaigns.

Each is a sentence, what was measured, its command and its limits. Who is named in it, and by how much
one is ahead, comes from the figures. What a sentence claims beyond that is checked: if a campaign says
otherwise, scripts/publish fails, and somebody must write another sentence.
"""

from findings.parts import Finding, text
from findings.programs import libraries, runtimes
from findings.structures import handles, heap_or_wheel, logs, reach, worst_calls
from findings.survival import durable
from findings.threads import locks, waits
from pictures import Picture
from published import find

MAKERS = (
    heap_or_wheel,
    handles,
    logs,
    worst_calls,
    reach,
    libraries,
    runtimes,
    locks,
    waits,
)


def findings() -> str:
    """Returns all findings, numbered; without those whose campaign is not published yet."""
    return "\n\n".join(text(number, found) for number, found in enumerate(_all(), 1)) + "\n"


def pictures() -> list[Picture]:
    """Returns the picture of each."""
    return [found.picture for found in _all()]


def _all() -> list[Finding]:
    return [make() for make in (*MAKERS, *([durable] if find("durable") else []))]
