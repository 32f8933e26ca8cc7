#!/usr/bin/env python3
"""Timers as Python's asyncio keeps them: a heapq of handles, cancelled ones stay until they surface.

A contender that is another program, and the example of docs/processes.md. asyncio rebuilds its heap
when more than half of at least 100 handles are cancelled, and so does this.
"""

import heapq
import itertools
import json
import platform
import sys
import time
from array import array
from pathlib import Path

ADVANCE = CANCEL = 0xFFFFFFFF
VERSION = f"Python {platform.python_version()} (python3)"
ABOUT = {"name": "python_heapq", "summary": "heapq with lazy deletion, as asyncio's timers"}
ABOUT |= {"precision": "exact", "ordered": True, "version": VERSION}


def replay(ops, setup, capacity, fires=None):
    """Replays the operations with new timers. Returns the JSON of its line."""
    heap = []  # handles [deadline, number, id]; those of cancelled timers have the id None
    handles = [None] * capacity
    now = fired = cancelled = in_heap = begin = 0
    for i, (id_, arg) in enumerate(ops):
        if i == setup:
            begin = time.perf_counter_ns()
        if id_ == ADVANCE:
            now += arg
            while heap and heap[0][0] <= now:
                deadline, _, due = heapq.heappop(heap)
                if due is None:
                    in_heap -= 1
                    continue
                handles[due] = None
                fired += 1
                if fires:
                    fires.write(f"{now},{due},{deadline}\n")
            continue
        if handle := handles[id_]:
            handle[2] = handles[id_] = None
            in_heap += 1  # cancelled handles that wait
            if in_heap * 2 > len(heap) >= 100:
                heap = [one for one in heap if one[2] is not None]
                heapq.heapify(heap)
                in_heap = 0
        if arg != CANCEL:
            handles[id_] = [now + arg, i, id_]
            heapq.heappush(heap, handles[id_])
        elif handle:
            cancelled += 1
    elapsed = time.perf_counter_ns() - begin if begin else 0
    pending = len(heap) - in_heap
    return {"elapsed_ns": elapsed, "fired": fired, "cancelled": cancelled, "pending": pending}


def load(path):
    """Returns the operations, how many are setup, and the capacity."""
    info = json.loads(Path(path + ".json").read_text(encoding="utf-8"))
    data = Path(path + ".npy").read_bytes()
    words = array("I", data[10 + int.from_bytes(data[8:10], "little") :])  # less the header
    return list(zip(words[::2], words[1::2])), info["setup_ops"], info["capacity"]


def main():
    options = dict(word[2:].split("=", 1) for word in sys.argv[2:] if word.startswith("--"))
    traces = [load(word) for word in sys.argv[2:] if not word.startswith("--")]
    if sys.argv[1] == "describe":
        print(json.dumps(ABOUT))
    elif "fires" in options:
        with open(options["fires"], "w", encoding="ascii") as fires:
            fires.write("now,id,deadline\n")
            print(json.dumps(replay(*traces[0], fires)))
    else:
        end = time.monotonic() + float(options["seconds"])
        for count, trace in enumerate(itertools.cycle(traces), 1):
            print(json.dumps(replay(*trace)), flush=True)
            if count >= max(3, len(traces)) and time.monotonic() > end:
                break


if __name__ == "__main__":
    main()
