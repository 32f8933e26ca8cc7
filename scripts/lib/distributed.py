"""Says how many nodes a load of durable timers takes, by a model that is checked.

RESULTS is a folder of `scripts/bench durable`. The constants of the model (scripts/lib/node_model.py)
are measured there: processor time and synchronisations of a timer, bytes, time to be back after a
crash. The answer has three tables: what one node does, how many nodes the load takes, and what the
model predicts for cells that it was not fitted to, beside what was measured.

  scripts/distributed results/local/durable
  scripts/distributed results/local/durable --per-second=50k --pending=20M --cancelled=50
  scripts/distributed results/local/durable --into=docs/distributed.md

--into replaces what stands between the lines <!-- model --> and <!-- end of model --> of a document.
"""

import argparse
from pathlib import Path
from statistics import median

from console import ArgumentParser, Failure, run_main
from files import add_into, path_argument, say_or_fill
from node_model import Check, Load, Node, Work, checks, node_of, queues, size_of_one
from results.grid import read_files
from results.realtime import RealtimeResults, load_files
from tables.answers import HOW_SURE, WHAT_TO_DO
from tables.durable import WITHOUT_SERVER
from tables.replays import markdown_table
from words import counted, digits, enumerated, machine_line, power, remake_line, time

GIB = 1 << 30
UNITS = {"k": 1e3, "M": 1e6, "G": 1e9}
NONE = "–"

FAR_OFF = 0.5  # an error of a prediction

# A node of 64 GiB, half of it free: what an engine copies when it rewrites its file may take as much.
DEFAULT = Load(per_second=1e6, pending=1e9, cancelled=0.9, busy=0.7, memory=32 * GIB)


def main() -> int:
    arguments = _parse()
    results = load_files(read_files([arguments.results]))
    if results.suite != "durable":
        raise Failure(f"{arguments.results}: is of the suite {results.suite}; measure durable")
    load = Load(
        arguments.per_second,
        arguments.pending,
        arguments.cancelled / 100,
        arguments.busy / 100,
        arguments.memory * GIB,
    )
    text = answer(results, load, arguments.results)
    say_or_fill(text, arguments.into, "model")
    return 0


def answer(results: RealtimeResults, load: Load, source: Path) -> str:
    """Returns the answer in Markdown."""
    nodes = [node for queue in queues(results) if (node := node_of(results, queue, load.cancelled))]
    if not nodes:
        raise Failure(f"{source}: the model needs the scenarios clients and workers of a queue")
    able = [node for node in nodes if node.works(load)]
    if not able:
        raise Failure(
            f"{source}: a node that may be busy for {load.busy:.0%} does nothing; allow more by --busy"
        )
    checked = checks(results, int(results.facts.get("num_cpus", 1)))
    parts = [
        _in_short(able, load),
        HOW_SURE + _sureness(checked),
        f"{WHAT_TO_DO}Take the greater number, and look up below how long nothing fires after a node was killed "
        "(*silent*). Then ask for your load, with the last command below.",
        f"Figures from `{source}`, by `scripts/distributed`. {machine_line(results.facts)}",
        _load_said(load),
        _unable_said([node for node in nodes if node not in able]),
        _table_of_nodes(able, load),
        "A node has one processor for the engine, and a disk of its own. Where there are two figures, "
        "the first holds if many clients call at once, and the second if each request comes alone, as "
        "often as one node can take. "
        "The engine of journal_wheel and SQLite is in its clients, so the processor time of their own "
        "work is in it; they are not shared by machines, so a node there has timers that no other can arm. "
        "fsyncs: of a timer; – if they cannot be counted, and then the disk may be what "
        "limits a node. one is enough: for so many timers a second and so many pending. bytes: in "
        "memory; – if timers are on disk only. silent: how long nothing fires after a node was killed, "
        "with its share of the timers; late: the timers that fire late because of it.",
        "### How far the model is to be trusted",
        _trust(checked),
        *_worst_of(checked),
        f"Measured with: `{remake_line(results.facts)}`",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _in_short(nodes: list[Node], load: Load) -> str:
    """Answers first: the fewest nodes of each promise, of servers that machines share, and when one Redis
    is enough.
    """
    said = []
    servers = [node for node in nodes if not node.queue.startswith(tuple(WITHOUT_SERVER))] or nodes
    for promise in dict.fromkeys(node.promise for node in servers):
        same = [node for node in servers if node.promise == promise]
        best = min(same, key=lambda node: node.nodes(load))
        said.append(f"{_nodes(best, load)} of `{best.queue}` ({promise} in a power cut)")
    asked = f"{_power(load.per_second)} timers a second and {_power(load.pending)} pending"
    parts = [
        f"**For {asked} take {enumerated(said, len(said))}: the fewer if many clients call at once, the more if each "
        "request comes alone.**"
    ]
    redis = next((node for node in nodes if node.queue.startswith("redis_everysec")), None)
    if redis:
        (together, alone), pending = size_of_one(redis, load)
        parts.append(
            f"One Redis (`{redis.queue}`) is enough up to {_rounded(alone)} timers/s if each request "
            f"comes alone, and up to {_rounded(together)} if many clients call at once."
        )
        if pending:
            parts.append(f"Its memory is enough for {_rounded(pending)} pending.")
    return " ".join(parts)


def _nodes(node: Node, load: Load) -> str:
    least, most = node.fewest_and_most(load)
    return counted(most, "node") if least == most else f"{least} to {most} nodes"


def _load_said(load: Load) -> str:
    return (
        f"The load: {_power(load.per_second)} timers a second, {100 * load.cancelled:.0f} % of them "
        f"cancelled, and {_power(load.pending)} pending. A node may be busy for "
        f"{100 * load.busy:.0f} % of its time, and has {load.memory / GIB:g} GiB for timers."
    )


def _unable_said(unable: list[Node]) -> str:
    if not unable:
        return ""
    names = ", ".join(f"`{node.queue}`" for node in unable)
    return f"Left out, since waiting alone keeps a node busy for longer than that: {names}."


def _table_of_nodes(nodes: list[Node], load: Load) -> str:
    lines = []
    for node in nodes:
        (rate_together, rate_alone), pending = size_of_one(node, load)
        alone = node.alone(rate_alone)
        silent = node.failover(load)
        firing = load.per_second * (1 - load.cancelled) / node.nodes(load)
        late = None if silent is None else silent * firing
        memory = node.for_memory(load)
        lines.append(
            [
                f"`{node.queue}`",
                node.promise,
                _range(time(node.together.cpu * 1e9), time(alone.cpu * 1e9)),
                _range(_syncs(node.together), _syncs(alone)),
                NONE if node.bytes is None else digits(node.bytes),
                _range(_rounded(rate_together), _rounded(rate_alone)),
                NONE if pending is None else _rounded(pending),
                _range(*map(str, node.for_rate(load))),
                NONE if memory is None else str(memory),
                NONE if silent is None else f"{digits(silent)} s",
                NONE if late is None else _rounded(late),
            ]
        )
    titles = ["queue", "after a power cut", "CPU a timer", "fsyncs", "bytes", "one is enough, /s"]
    titles += ["pending", "nodes for the rate", "for the memory", "silent", "late"]
    return markdown_table(titles, lines)


def _syncs(work: Work) -> str:
    return NONE if work.syncs is None else digits(work.syncs)


def _range(together: str, alone: str) -> str:
    return together if together == alone else f"{together} – {alone}"


def _sureness(checked: list[Check]) -> str:
    errors = [abs(check.error) for check in checked]
    if not errors:
        return "Nothing checks the model."
    return (
        f"The model predicted {counted(len(errors), 'measured figure')} from others. It was off by {median(errors):.0%} in the "
        f"median, and by {max(errors):.0%} at most."
    )


def _trust(checked: list[Check]) -> str:
    if not checked:
        return "To check it, measure 16 clients or workers, and three sizes of pending."
    told = []
    for what in dict.fromkeys(check.what for check in checked):
        errors = [abs(check.error) for check in checked if check.what == what]
        told.append(
            f"{what}: median error {median(errors):.0%}, largest {max(errors):.0%}, of "
            f"{counted(len(errors), 'prediction')}"
        )
    return f"Each cell was predicted from others alone. {'; '.join(told)}."


def _worst_of(checked: list[Check]) -> list[str]:
    """Shows which predictions are off by more than FAR_OFF."""
    worst = sorted(checked, key=lambda check: -abs(check.error))
    worst = [check for check in worst if abs(check.error) > FAR_OFF]
    if not worst:
        return []
    return [f"Off by more than {FAR_OFF:.0%}:", _table_of_checks(worst)]


def _table_of_checks(checked: list[Check]) -> str:
    lines = [
        [
            f"`{check.queue}`",
            check.what,
            check.seen,
            power(check.at),
            digits(check.predicted),
            digits(check.measured),
            f"{check.error:+.0%}",
        ]
        for check in checked
    ]
    return markdown_table(
        ["queue", "what", "fitted to", "at", "predicted", "measured", "error"], lines
    )


def _power(number: float) -> str:
    return power(round(number))


def _rounded(number: float) -> str:
    """Two digits are all that a model knows."""
    return digits(float(f"{number:.1e}"))


def _number(text: str) -> float:
    """Parses 1000, 50k, 20M and 1G."""
    factor = UNITS.get(text[-1:], 1.0)
    try:
        number = float(text[:-1] if text[-1:] in UNITS else text) * factor
    except ValueError:
        number = 0
    if not 0 < number <= 1e15:
        raise argparse.ArgumentTypeError(f"'{text}' is no number such as 1000, 50k, 20M or 1G")
    return number


def _gib(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number <= 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of GiB such as 64")
    return number


def _percent(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError(f"'{text}' is no percentage")
    return number


def _share(text: str) -> float:
    if (number := _percent(text)) == 0:
        raise argparse.ArgumentTypeError("a node that may not work does nothing")
    return number


def _parse() -> argparse.Namespace:
    parser = ArgumentParser(
        prog="scripts/distributed",
        description=__doc__,
    )
    parser.add_argument("results", metavar="RESULTS", type=path_argument)
    parser.add_argument(
        "--per-second", type=_number, default=DEFAULT.per_second, help="timers (default: 1M)"
    )
    parser.add_argument(
        "--pending", type=_number, default=DEFAULT.pending, help="timers (default: 1G)"
    )
    parser.add_argument(
        "--cancelled",
        type=_percent,
        default=100 * DEFAULT.cancelled,
        help="percentage that does not fire (default: 90)",
    )
    parser.add_argument(
        "--busy",
        type=_share,
        default=100 * DEFAULT.busy,
        help="percentage of a node's time (default: 70)",
    )
    parser.add_argument(
        "--memory",
        type=_gib,
        default=DEFAULT.memory / GIB,
        help=f"GiB of a node for timers (default: {DEFAULT.memory / GIB:g})",
    )
    add_into(parser)
    return parser.parse_args()


if __name__ == "__main__":
    run_main("scripts/distributed", main)
