"""Sets our clients of durable queues beside the benchmarks that come with the engines.

Both call the same private server with the same statements, in turn: first ours (the scenario `clients`
of the suite durable), then redis-benchmark, pgbench or the Ruby library beaneater (beanstalkd has no
benchmark). A call arms a timer or cancels it; redis-benchmark only arms, for it knows no id again. The
servers are private. beanstalkd has no passwords, and beaneater no unix sockets, so all runs in a
network of its own; where the system forbids that, beanstalkd is left out.

  scripts/engine-benchmarks
  scripts/engine-benchmarks --queues=redis_always,postgres_off --rounds=5 --seconds=3
  scripts/engine-benchmarks --into=docs/durable.md

The table has calls a second with 1 and with 16 clients: the median of the rounds, and how far a round
is from it. --into replaces what stands between the lines <!-- engines --> and <!-- end of engines -->
of a document.
"""

import argparse
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from campaign.process import tied
from campaign.scratch import remove_abandoned, scratch_folder
from console import ArgumentParser, Failure, complain, run_main, say
from files import add_into, filled, say_or_fill
from tables.answers import HOW_SURE, WHAT_TO_DO
from tables.replays import markdown_table
from words import digits, enumerated, grouped, machine_line

ROOT = Path(__file__).resolve().parents[2]
TIMERBENCH = ROOT / "build" / "durable" / "timerbench"
DURABLE = ROOT / "impls" / "durable"

CLIENTS = (1, 16)
CALLS_OF_A_TIMER = 2  # of ours: it is armed and cancelled
LONGEST_WAIT = 20.0  # seconds, for a server to answer, or to end
LONGEST_RUN = 300.0  # seconds, of a benchmark beyond the time that it is to measure
FAR_AWAY = 4_102_444_800  # a deadline that nobody reaches: 2100 in seconds since 1970
PAYLOAD = "x" * 16
OWN_NETWORK = "TIMERBENCH_OWN_NETWORK"  # in the environment once we are there
NONE = "–"
FEWER = 0.9  # calls of ours, as a share of theirs, below which the answer names a queue


@dataclass(frozen=True)
class Measured:
    """Calls a second of each round."""

    ours: list[float]
    theirs: list[float]  # empty: the benchmark has no such number of clients

    @property
    def ratio(self) -> float | None:
        return median(self.ours) / median(self.theirs) if self.theirs else None


class Engine(ABC):
    """A private server in a folder of its own, and its benchmark."""

    benchmark = ""
    url_variable = ""  # which takes our clients to the server
    most_clients = max(CLIENTS)
    advice = ""  # how to install the benchmark; empty: scripts/setup --durable does

    def __init__(self, folder: Path, setting: str) -> None:
        self.folder = folder
        self.setting = setting

    @abstractmethod
    def start(self) -> "subprocess.Popen[bytes]":
        ...

    @abstractmethod
    def answers(self) -> bool:
        ...

    @property
    @abstractmethod
    def url(self) -> str:
        ...

    def is_installed(self) -> bool:
        """Whether the benchmark is."""
        return True

    @abstractmethod
    def calls_per_second(self, clients: int, seconds: float) -> float:
        ...


class Redis(Engine):
    benchmark = "redis-benchmark"
    url_variable = "TIMERBENCH_REDIS_URL"

    def start(self) -> "subprocess.Popen[bytes]":
        policy = ["--appendonly", "no"] if self.setting == "memory" else []
        policy = policy or ["--appendonly", "yes", "--appendfsync", self.setting]
        return _start(
            *("redis-server", "--port", 0, "--unixsocket", self._socket, "--unixsocketperm", 700),
            *("--dir", self.folder, "--save", "", *policy),
        )

    @property
    def _socket(self) -> Path:
        return self.folder / "socket"

    @property
    def url(self) -> str:
        return f"unix://{self._socket}"

    def answers(self) -> bool:
        command = ["redis-cli", "-s", str(self._socket), "PING"]
        return _asked(*command).strip() == "PONG"

    def calls_per_second(self, clients: int, seconds: float) -> float:
        redis = ("redis-cli", "-s", self._socket)
        _run(*redis, "FLUSHALL")
        digest = _run(*redis, "SCRIPT", "LOAD", script_of_schedule()).strip()
        keys = [f"timerbench:durable:{{x}}:{name}" for name in ("due", "payload", "holder", "wake")]
        values = (0, FAR_AWAY * 10**6, "__rand_int__", PAYLOAD)
        arming = ("EVALSHA", digest, len(keys), *keys, *values)

        def rate(calls: int) -> float:
            said = _run(
                *("redis-benchmark", "-s", self._socket, "-c", clients, "-n", calls),
                *("-r", 10**9, "--csv", *arming),
                seconds=seconds,
            )
            return float(said.splitlines()[-1].split('","')[1])

        return rate(max(1000, int(rate(2000) * seconds)))


class Postgres(Engine):
    benchmark = "pgbench"
    url_variable = "TIMERBENCH_POSTGRES_URL"

    def start(self) -> "subprocess.Popen[bytes]":
        data = self.folder / "data"
        as_user: tuple[str, ...] = ()
        if os.geteuid() == 0:  # PostgreSQL refuses root
            shutil.chown(self.folder, "postgres")
            as_user = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")
        flags = (
            "--username=timerbench",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        )
        _run(*as_user, *tied(self._program("initdb"), "--pgdata", data, *flags))
        listens = ("-c", "listen_addresses=", "-c", "unix_socket_permissions=0700")
        program = (self._program("postgres"), "-D", data, "-k", self.folder, *listens)
        return _start(*program, as_user=as_user)

    @staticmethod
    def _program(name: str) -> Path:
        found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
        if not found:
            raise Failure(f"there is no {name}; scripts/setup --durable installs it")
        return found[-1]

    @property
    def url(self) -> str:
        return f"host={self.folder} user=timerbench dbname=postgres"

    def answers(self) -> bool:
        return "1 row" in _asked(self._program("psql"), self.url, "-c", "SELECT 1")

    def calls_per_second(self, clients: int, seconds: float) -> float:
        psql = (self._program("psql"), self.url, "-q", "-c")
        table = "beside.timers"
        columns = (
            "id bigint PRIMARY KEY, due bigint NOT NULL, deadline bigint NOT NULL, "
            "holder bigint NOT NULL, payload bytea NOT NULL"
        )
        _run(*psql, "DROP SCHEMA IF EXISTS beside CASCADE; CREATE SCHEMA beside")
        _run(*psql, f"CREATE TABLE {table} ({columns}); CREATE INDEX timers_due ON {table} (due)")
        script = self.folder / "arm_and_cancel.sql"
        arming, cancelling = statements_of_postgres(table)
        values = (":id", f"{FAR_AWAY * 10**9}", "0", f"'{PAYLOAD}'")
        for place, value in enumerate(values, 1):
            arming = arming.replace(f"${place}", value)
        cancelling = cancelling.replace("$1", ":id")
        script.write_text(f"\\set id random(1, {10**18})\n{arming};\n{cancelling};\n")
        said = _run(
            *(self._program("pgbench"), "-n", "-M", "prepared", "-c", clients, "-j", clients),
            *("-T", max(1, round(seconds)), "-f", script, self.url),
            environment={"PGOPTIONS": f"-c synchronous_commit={self.setting}"},
            seconds=seconds,
        )
        found = re.search(r"^tps = ([\d.]+)", said, re.MULTILINE)
        if not found:
            raise Failure(f"pgbench told no rate: {said.strip()[-200:]}")
        return 2 * float(found[1])


BEANEATER = """
require "beaneater"
server = Beaneater.new(ARGV[0])
tube = server.tubes["beside"]
calls, start = 0, Process.clock_gettime(Process::CLOCK_MONOTONIC)
while (spent = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) < ARGV[1].to_f
  job = tube.put("x" * 16, delay: 1_000_000)
  server.connection.transmit("delete #{job[:id]}")
  calls += 2
end
puts calls / spent
"""


class Beanstalkd(Engine):
    benchmark = "beaneater of Ruby"
    url_variable = "TIMERBENCH_BEANSTALKD_URL"
    most_clients = 1
    advice = "apt-get install ruby-beaneater"

    def start(self) -> "subprocess.Popen[bytes]":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        return _start(
            *("beanstalkd", "-l", "127.0.0.1", "-p", self._port, "-b", self.folder),
            f"-f{self.setting}",
        )

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self._port}"

    def answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def is_installed(self) -> bool:
        if not (ruby := shutil.which("ruby")):
            return False
        tried = subprocess.run([ruby, "-e", 'require "beaneater"'], capture_output=True)
        return tried.returncode == 0

    def calls_per_second(self, clients: int, seconds: float) -> float:
        return float(_run("ruby", "-e", BEANEATER, self.url, seconds, seconds=seconds))


ENGINES: dict[str, tuple[type[Engine], str]] = {
    "redis_memory": (Redis, "memory"),
    "redis_everysec": (Redis, "everysec"),
    "redis_always": (Redis, "always"),
    "postgres_on": (Postgres, "on"),
    "postgres_off": (Postgres, "off"),
    "beanstalkd_f0": (Beanstalkd, "0"),
    "beanstalkd_f50": (Beanstalkd, "50"),
}


def main() -> int:
    arguments = _parse()
    if arguments.into:
        filled(arguments.into, "engines", "")  # now rather than when all is measured
    is_private = is_in_own_network()
    remove_abandoned()
    measured = {}
    for queue in arguments.queues:
        if ENGINES[queue][0] is Beanstalkd and not is_private:
            complain(
                f"{queue} is left out: this system forbids a network of our own (unshare --net)"
            )
            continue
        say(f"{queue} ...")
        measured[queue], facts = measure(queue, arguments.rounds, arguments.seconds)
    if not measured:
        raise Failure("nothing was measured")
    text = answer(measured, arguments.rounds, arguments.seconds, facts)
    say_or_fill(text, arguments.into, "engines")
    return 0


def is_in_own_network() -> bool:
    """Starts the program anew in a network that nobody else sees. Returns whether it is there."""
    if OWN_NETWORK in os.environ:
        return True
    of_user = () if os.geteuid() == 0 else ("--user", "--map-current-user", "--keep-caps")
    enter = ["unshare", *of_user, "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    try:
        subprocess.run([*enter, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    os.environ[OWN_NETWORK] = "yes"
    os.execvp(enter[0], [*enter, *sys.orig_argv])


def measure(queue: str, rounds: int, seconds: float) -> tuple[dict[int, Measured], dict[str, str]]:
    """Returns the calls a second of both, by the number of clients, and the facts of the machine."""
    kind, setting = ENGINES[queue]
    results = {clients: Measured([], []) for clients in CLIENTS}
    with running(kind, setting) as engine:
        is_installed = engine.is_installed()
        if not is_installed:
            complain(f"{queue}: {engine.benchmark} is not installed; {engine.advice}")
        for _ in range(rounds):
            for clients, result in results.items():
                rate, facts = ours(queue, engine, clients, seconds)
                result.ours.append(rate)
                if is_installed and clients <= engine.most_clients:
                    result.theirs.append(engine.calls_per_second(clients, seconds))
    return results, facts


@contextmanager
def running(kind: type[Engine], setting: str) -> Iterator[Engine]:
    """Starts the server, and kills it at the end. Raises Failure if it does not answer."""
    with scratch_folder() as folder:
        engine = kind(folder, setting)
        server = engine.start()
        try:
            end = time.monotonic() + LONGEST_WAIT
            while not engine.answers():
                if server.poll() is not None or time.monotonic() > end:
                    raise Failure(
                        f"the server of {kind.__name__} does not answer; scripts/setup --durable "
                        "installs it"
                    )
                time.sleep(0.05)
            yield engine
        finally:
            # PostgreSQL waits for no client then, and leaves no shared memory.
            server.send_signal(signal.SIGINT)
            try:
                server.wait(LONGEST_WAIT)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(LONGEST_WAIT)


def ours(queue: str, engine: Engine, clients: int, seconds: float) -> tuple[float, dict[str, str]]:
    """Returns the calls a second of our clients, who arm timers and cancel them, and the facts of the
    machine.
    """
    with scratch_folder() as folder:
        out = folder / "results.json"
        _run(
            *(TIMERBENCH, "run", "--suite=durable", "--workloads=clients", f"--backends={queue}"),
            *(f"--sizes={clients}", f"--seconds={seconds}", "--benchmark_repetitions=1"),
            f"--benchmark_out={out}",
            environment={engine.url_variable: engine.url},
            seconds=seconds,
        )
        content = json.loads(out.read_text())
    [entry] = content["benchmarks"]
    facts = {name: str(fact).strip() for name, fact in content["context"].items()}
    if entry.get("error_occurred"):
        raise Failure(f"{queue} with {clients} clients: {entry['error_message']}")
    return CALLS_OF_A_TIMER * float(entry["timers_per_second"]), facts


def script_of_schedule() -> str:
    """Returns the script that arms timers, as the client of Redis has it."""
    return _found(r'kSchedule = R"\((.*?)\)";', DURABLE / "redis_queue.cc")


def statements_of_postgres(table: str) -> tuple[str, str]:
    """Returns the statements that arm and cancel a timer, as the client of PostgreSQL has them."""
    file = DURABLE / "postgres_queue.cc"
    arming = _found(r"arming = .*?fmt::format\((.*?),\s*table_, from\)", file)
    cancelling = _found(r"prepare\(kCancel, fmt::format\((.*?), table_\)", file)
    texts = ["".join(re.findall(r'"(.*?)"', text)) for text in (arming, cancelling)]
    return texts[0].format(table, ""), texts[1].format(table)


def _found(pattern: str, file: Path) -> str:
    found = re.search(pattern, file.read_text(encoding="utf-8"), re.DOTALL)
    if not found:
        raise Failure(f"{file}: the statement is not found that the benchmark is to repeat")
    return found[1]


def answer(
    measured: dict[str, dict[int, Measured]], rounds: int, seconds: float, facts: dict[str, str]
) -> str:
    """Returns the table in Markdown, after what it says in a sentence."""
    lines = [
        [
            f"`{queue}`",
            ENGINES[queue][0].benchmark,
            *(text for one in both.values() for text in _texts(one)),
        ]
        for queue, both in measured.items()
    ]
    titles = ["queue", "the engine's own benchmark"]
    for clients in CLIENTS:
        who = "1 client" if clients == 1 else f"{clients} clients"
        titles += [f"ours, {who}", "theirs", "ours / theirs"]
    return "\n\n".join(
        (
            _in_short(measured),
            HOW_SURE + _sureness(measured, rounds, seconds),
            f"{WHAT_TO_DO}If a ratio is below {digits(FEWER)}, our client limits the figure of that queue: another "
            "client could make up to 1 / ratio times as many calls.",
            markdown_table(titles, lines, names=2),
            machine_line(facts) + "\n",
        )
    )


def _sureness(measured: dict[str, dict[int, Measured]], rounds: int, seconds: float) -> str:
    if rounds == 1:
        return f"One round of {digits(seconds)} s each, so how far another may be from it is not known."
    each = [result for both in measured.values() for result in both.values()]
    off = max(_spread(values) for one in each for values in (one.ours, one.theirs) if values)
    return (
        f"Medians of {rounds} rounds of {digits(seconds)} s each, on one server and in turn. A round "
        f"differs from its median by up to {100 * off:.0f}%, so a queue is called slower only below {digits(FEWER)} "
        "times theirs."
    )


def _in_short(measured: dict[str, dict[int, Measured]]) -> str:
    slower = {
        queue: min(ratios)
        for queue, both in measured.items()
        if (ratios := [one.ratio for one in both.values() if one.ratio]) and min(ratios) < FEWER
    }
    ratios = [one.ratio for both in measured.values() for one in both.values() if one.ratio]
    if not ratios:
        return "**No benchmark of the engines was run.**"
    text = (
        f"Our clients make {digits(min(ratios))} to {digits(max(ratios))} times as many calls as the "
        "benchmarks beside them"
    )
    named = [f"`{queue}` ({digits(ratio)})" for queue, ratio in slower.items()]
    return f"**{text}{f'; fewer with {enumerated(named, len(named))}' if named else ''}.**"


def _texts(one: Measured) -> list[str]:
    ours_ = grouped(round(median(one.ours)))
    if one.ratio is None:
        return [ours_, NONE, NONE]
    return [ours_, grouped(round(median(one.theirs))), digits(one.ratio)]


def _spread(values: Sequence[float]) -> float:
    """Returns how far a value is from the median at most, as a share of it."""
    middle = median(values)
    return max(abs(value / middle - 1) for value in values)


def _start(*command: object, as_user: Sequence[str] = ()) -> "subprocess.Popen[bytes]":
    """Starts a server, which the kernel kills if this script is killed. `as_user` is the command that
    changes the user, which frees a process from such ties.
    """
    try:
        return subprocess.Popen(
            [*as_user, *tied(*command)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except FileNotFoundError as error:
        raise Failure("there is no setpriv; install util-linux") from error


def _asked(*command: object) -> str:
    """Returns what a program prints that may not be answered yet; empty if it is not in time."""
    try:
        return subprocess.run(
            [*map(str, command)], capture_output=True, text=True, timeout=LONGEST_WAIT
        ).stdout
    except subprocess.TimeoutExpired:
        return ""


def _run(*command: object, environment: dict[str, str] | None = None, seconds: float = 0) -> str:
    """Returns what it prints. `seconds` is for how long it is to measure. Raises Failure if it fails, or
    does not end.
    """
    name = Path(str(command[0])).name
    try:
        ended = subprocess.run(
            [*map(str, command)],
            env=os.environ | (environment or {}),
            capture_output=True,
            text=True,
            timeout=LONGEST_RUN + seconds,
        )
    except FileNotFoundError as error:
        raise Failure(f"there is no {command[0]}; install it") from error
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{name} has not ended after {digits(LONGEST_RUN + seconds)} s") from error
    if ended.returncode != 0:
        said = (ended.stderr.strip() or ended.stdout.strip() or "no word").splitlines()[0]
        raise Failure(f"{name} failed: {said}")
    return ended.stdout


def _queues(text: str) -> list[str]:
    chosen = text.split(",")
    if unknown := [queue for queue in chosen if queue not in ENGINES]:
        raise argparse.ArgumentTypeError(f"no queue '{unknown[0]}'; there are {', '.join(ENGINES)}")
    return chosen


def _parse() -> argparse.Namespace:
    parser = ArgumentParser(
        prog="scripts/engine-benchmarks",
        description=__doc__,
    )
    parser.add_argument(
        "--queues", metavar="LIST", type=_queues, default=list(ENGINES), help="default: all"
    )
    parser.add_argument("--rounds", metavar="N", type=int, default=3, help="default: 3")
    parser.add_argument("--seconds", metavar="S", type=float, default=2, help="default: 2")
    add_into(parser)
    arguments = parser.parse_args()
    if arguments.rounds < 1 or not 1 <= arguments.seconds < math.inf:
        parser.error("--rounds and --seconds are 1 or more")
    return arguments


if __name__ == "__main__":
    run_main("scripts/engine-benchmarks", main)
