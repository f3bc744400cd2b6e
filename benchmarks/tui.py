"""The terminal application on a large record: how soon it opens, and how soon it answers a key.

Goals: a record of 1e6 steps, 200 loops and 10,000 nodes opens in under 1 s and answers a key in under 50 ms.  Measured is the whole
command in a terminal of its own: opening from the start of the process to the last byte that it draws before it is quiet, a key
from the byte that is sent to the last byte that is drawn in answer.

    python benchmarks/tui.py [--rounds 5] [--record FILE] [--json FILE]

FILE of --record is made if it is not there, and used again if it is.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import as_installed, write_json

import scanviz
from scanviz import tensor as T
from scanviz.record.storage.file import load, save

QUIET = 0.25  # seconds without a byte after which an answer is taken to be whole
GOAL_OPEN, GOAL_KEY = 1.0, 0.05
SIZE = (40, 120)
# Byte code as an installed package has it, in a folder of our own, so that the checkout stays clean.
CACHE = tempfile.TemporaryDirectory(prefix="scanviz-tui-")
ENVIRONMENT = {**as_installed(CACHE.name), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
# Keys of each tab, after the one that chooses it for the first time.
KEYS = {
    "Profile": "1jjkGgsS",
    "Steps": "2lllhGgs+++0or",
    "Graph": "3jlkhGgfFfF",
    "Slots": "4jjkmjm m",
    "Rewrites": "5jjk]][vvvGg",
    "Source": "6jjkss",
    "Values": "7lllhGg",
    "Output": "8",
    "tabs seen before": "12345678",
    "tree": "tjjjjjjkkk",
}


def chain(loops: int, name: str) -> Any:
    """Return a function of so many loops, 50 operations each."""
    x = T.vector("x")
    total: Any = 0.0
    for k in range(loops):

        def step(x_t: Any, h: Any, k: int = k) -> Any:
            found = T.tanh(x_t + h)
            for j in range(20):
                found = T.tanh(found * (1.0 + 0.01 * j) + 0.001 * k * x_t) if j % 3 else T.exp(-found) + h
            return found

        h, _ = scanviz.scan(step, x[k:], 0.0, name=f"{name} {k}")  # of other lengths, or they would be merged
        total = total + h[-1]
    return scanviz.function([x], total, name=name)


def large(path: Path, steps: int) -> None:
    """Write the profile of functions of 5000, 2500 and 2500 nodes, 200 loops in all, and one loop of many steps."""
    functions = [chain(100, "large"), chain(50, "half"), chain(50, "other half")]
    x = T.vector("x")
    sums, _ = scanviz.scan(lambda x_t, s: T.tanh(s + x_t), x, 0.0, name="long loop")
    long = scanviz.function([x], sums[-1], name="long")
    with scanviz.profile() as p:
        long(np.full(steps, 1e-3))
        for f in functions:
            f(np.full(150, 0.1))
    save(p.record, path)


class Terminal:
    """The command in a terminal of its own."""

    def __init__(self, arguments: list[str]) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "scanviz", "tui", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env=ENVIRONMENT,
        )
        os.close(slave)

    def answer(self, since: float, first: float, quiet: float = QUIET) -> tuple[float, int]:
        """Return the seconds until the last byte that is drawn, and how many are; the first may take longer."""
        last, count, patience = since, 0, first
        while select.select([self.master], [], [], patience)[0]:
            try:
                count += len(os.read(self.master, 1 << 20))
            except OSError:  # it has ended
                break
            last, patience = time.perf_counter(), quiet
        return last - since, count

    def press(self, key: str) -> tuple[float, int]:
        """Return the seconds in which a key is answered, and the bytes that were drawn."""
        since = time.perf_counter()
        os.write(self.master, key.encode())
        return self.answer(since, QUIET)

    def peak(self) -> int:
        """Return the most memory that the process has held, in bytes."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(text.split("VmHWM:")[1].split()[0])

    def close(self) -> None:
        """End it."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self.master)


def opening(path: Path, rounds: int) -> list[float]:
    """Return the seconds until the application is drawn, process start and imports included."""
    times = []
    for number in range(rounds + 1):
        terminal = Terminal([str(path)])
        taken = terminal.answer(terminal.begun, 20, 0.6)[0]
        terminal.close()
        if number:  # the first fills the cache of byte code
            times.append(taken)
    return times


def answering(path: Path, rounds: int) -> tuple[dict[str, list[tuple[str, float]]], int]:
    """Return for each tab its keys with the seconds they took, and the most memory held."""
    found: dict[str, list[tuple[str, float]]] = {title: [] for title in KEYS}
    peak = 0
    for _ in range(rounds):
        terminal = Terminal([str(path)])
        terminal.answer(terminal.begun, 20, 0.6)
        for title, keys in KEYS.items():
            for key in keys:
                found[title].append((key, terminal.press(key)[0]))
        peak = max(peak, terminal.peak())
        terminal.close()
    return found, peak


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--record")
    parser.add_argument("--json")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(chosen.record or Path(folder) / "large.scanviz")
        if not path.exists():
            large(path, chosen.steps)
        record = load(path)
        nodes = sum(
            len(f.graph.nodes) + sum(len(step.nodes) for step in f.graph.steps.values())
            for f in record.functions
            if f.graph is not None
        )
        begun = time.perf_counter()
        load(path)
        loading = time.perf_counter() - begun
        opened = opening(path, chosen.rounds)
        keys, peak = answering(path, chosen.rounds)
    text = [
        {
            "what": "opening",
            "steps": sum(loop.steps for loop in record.loops),
            "loops": len(record.loops),
            "nodes": nodes,
            "median s": round(statistics.median(opened), 3),
            "worst s": round(max(opened), 3),
            "of it reading the record s": round(loading, 3),
            "goal s": GOAL_OPEN,
            "peak MB": round(peak / 1e6),
        }
    ]
    for title, pairs in keys.items():
        by_key: dict[str, list[float]] = {}
        for key, spent in pairs:
            by_key.setdefault(key, []).append(spent)
        slowest = max(by_key, key=lambda key: statistics.median(by_key[key]))
        text.append(
            {
                "what": f"keys, {title}",
                "keys": len(pairs),
                "median ms": round(1e3 * statistics.median(spent for _, spent in pairs), 1),
                "worst ms": round(1e3 * max(spent for _, spent in pairs), 1),
                "slowest key": slowest,
                "its median ms": round(1e3 * statistics.median(by_key[slowest]), 1),
                "goal ms": 1e3 * GOAL_KEY,
            }
        )
    for row in text:
        print("  ".join(f"{name}: {value}" for name, value in row.items()))
    write_json(chosen.json, text, "tui")


if __name__ == "__main__":
    main()
