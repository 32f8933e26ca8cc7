"""Formats numbers and facts for readers. page/js/words.js does the same for the report."""

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext

# Marks of a doubtful cost.
FEWER, NOISY, LATE = "†", "‡", "§"
MARKS = {
    FEWER: "over fewer operations",
    NOISY: "disturbed in a round",
    LATE: "took too long in a round",
}

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(size: int) -> str:
    """Formats a size: 10⁵, 3·10⁴ or 1 234."""
    exponent = len(str(size)) - 1
    factor, rest = divmod(size, 10**exponent)
    if exponent < 3 or rest:
        return grouped(size)
    tens = "10" + str(exponent).translate(SUPERSCRIPTS)
    return tens if factor == 1 else f"{factor}·{tens}"


def grouped(number: int) -> str:
    """Formats an integer: 1 234 567."""
    return f"{number:,}".replace(",", "\u202f")


def counted(number: int, thing: str) -> str:
    """Formats a count: 1 round, 2 rounds."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def digits(value: float) -> str:
    """Formats three digits, or two below 1: 0.015, 0.51, 12.3, 456, 15 539; 1.0·10⁻⁷ for tiny or
    huge values.
    """
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if not 1e-6 <= abs(value) < 1e15:
        mantissa, exponent = _rounded(value, ".1e").split("e")
        return f"{mantissa}·10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    if abs(value) >= 999.5:
        return _rounded(value, ",.0f").replace(",", "\u202f")
    magnitude = math.floor(math.log10(abs(value)) + 1e-9)
    return _rounded(value, f".{2 - magnitude if magnitude >= 0 else 1 - magnitude}f")


def _rounded(value: float, form: str) -> str:
    """Rounds half away from zero."""
    with localcontext(rounding=ROUND_HALF_UP):
        return format(Decimal(value), form)


def enumerated(names: Sequence[str], most: int) -> str:
    """Lists names as a, b and c; of a long list, the first `most` names and the
    number of others.
    """
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} others"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def times_less(ratio: float, what: str) -> str:
    """Says how 1 compares with `ratio`: 2.4 times cheaper, or 12 % cheaper, if `what` is cheaper."""
    if ratio < 1.5:
        return f"{100 * (1 - 1 / ratio):.0f} % {what}"
    return f"{digits(ratio) if ratio >= 100 else f'{ratio:.1f}'} times {what}"


def percent(log_ratio: float) -> str:
    """Formats a log-ratio in percent: 2.20 %."""
    return f"{digits(100 * math.expm1(log_ratio))} %"


def ratio(value: float) -> str:
    """Formats a ratio: 0.0042, 0.998, 2.31, 45.6; three decimals near 1."""
    if not 0.1 <= value < 10:
        return digits(value)
    return _rounded(value, ".3f" if value < 2 else ".2f")


def time(ns: float) -> str:
    """Formats a duration with three digits: 83.2 ns, 62.1 µs, 1.20 s."""
    for unit, factor in (("h", 3600e9), ("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= factor * 0.9995:
            return f"{digits(ns / factor)} {unit}"
    return f"{digits(ns)} ns"


def of_virtual(facts: dict[str, str]) -> str:
    """Returns the adjective of a machine that a hypervisor runs, else nothing."""
    return "virtual " if "hypervisor" in facts.get("grade_reasons", "") else ""


def machine_line(facts: dict[str, str]) -> str:
    """Describes the machine."""
    compiled = " ".join(facts[key] for key in ("compiler", "flags") if facts.get(key))
    parts = [
        facts.get("processor", "unknown processor") + _of_processors(facts),
        facts.get("kernel", ""),
        compiled,
        f"commit {facts['commit']}" if "commit" in facts else "",
        f"busy with other work: {facts['busy']}" if "busy" in facts else "",
        facts.get("date", "")[:10],
        _fitness(facts),
    ]
    return " · ".join(part for part in parts if part)


def _fitness(facts: dict[str, str]) -> str:
    """Says what timerbench doctor found."""
    if not (grade := facts.get("grade")):
        return ""
    reasons = reasons_of_grade(facts)
    return f"fitness {grade} (A is best, F is worst){f': {reasons}' if reasons else ''}"


def reasons_of_grade(facts: dict[str, str]) -> str:
    """Returns the reasons for the machine's grade; may be empty."""
    return facts.get("grade_reasons", "").replace("; ", ", ").replace("_", " ")


def _of_processors(facts: dict[str, str]) -> str:
    count = facts.get("num_cpus")
    return f", {count} processor{'' if count == '1' else 's'}" if count else ""


def remake_line(facts: dict[str, str]) -> str:
    """Returns the command that repeats the measurement."""
    return facts.get("command") or f"scripts/bench {facts.get('suite', '')}".strip()
