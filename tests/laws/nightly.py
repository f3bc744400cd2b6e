"""Searching for what breaks a law, for as long as one likes: slices of all laws in turn, each in a process of its own.

A process for each slice means that a crash or a loop without end in one is a finding like any other, and that a leak in one
does not slow the next.  Slices differ by their seed, which is printed with what was found, so a finding can be seen again.
"""

import itertools
import json
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from tests.laws.law import Law, all_laws

_RESULT = "scanviz-law-slice "  # begins the line of a slice's output that holds its result


@dataclass(frozen=True, slots=True)
class SearchSlice:
    """What one process found of one law: how many examples it tried, for how many seconds, and what broke the law."""

    law: str
    seed: int
    examples: int
    seconds: float
    finding: str | None


@dataclass(slots=True)
class Search:
    """Counts of a search by law, and its findings."""

    examples: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    findings: list[SearchSlice] = field(default_factory=list)

    def add(self, one: SearchSlice) -> None:
        """Count a slice."""
        self.examples[one.law] += one.examples
        self.seconds[one.law] += one.seconds  # type: ignore[assignment]  # a Counter adds floats as well
        if one.finding is not None:
            self.findings.append(one)


def run_here(law: Law, seed: int, seconds: float) -> SearchSlice:
    """Try a law in this process for about ``seconds``, or until an example breaks it."""
    begun = time.monotonic()
    tried, examples, finding = 0, max(law.sample, 10), None
    for turn in itertools.count():
        try:
            tried += law.run(examples, seed * 1_000 + turn, on_break=_print_first)
        except Exception:
            finding = traceback.format_exc()
            break
        if time.monotonic() - begun > seconds:
            break
    return SearchSlice(law.name, seed, tried, time.monotonic() - begun, finding)


def _print_first() -> None:
    """Print the first break of a law, in case nobody waits for its smallest example."""
    print(f"broken first by:\n{traceback.format_exc()}", file=sys.stderr, flush=True)


def run_apart(law: Law, seed: int, seconds: float, patience: float) -> SearchSlice:
    """Try a law in a process of its own, which is ended after ``patience`` seconds."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "tests.laws", "--slice", law.name]
    command += ["--seed", str(seed), "--seconds", str(seconds)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired as error:
        words = getattr(error, "stderr", None) or b""  # bytes here, even where text was asked for
        message = f"no end after {patience:.0f} s\n{words.decode('utf-8', 'replace')}"
        return SearchSlice(law.name, seed, 0, time.monotonic() - begun, message)
    for line in reversed(done.stdout.splitlines()):
        if line.startswith(_RESULT):
            return SearchSlice(**json.loads(line.removeprefix(_RESULT)))
    message = f"the process ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return SearchSlice(law.name, seed, 0, time.monotonic() - begun, message)


def print_slice(one: SearchSlice) -> None:
    """Print a slice for the process that asked for it."""
    fields = {name: getattr(one, name) for name in ("law", "seed", "examples", "seconds", "finding")}
    print(_RESULT + json.dumps(fields), flush=True)


def search(
    names: Sequence[str], seconds: float, *, jobs: int = 2, seed: int = 0, slice_seconds: float = 20.0
) -> Iterator[SearchSlice]:
    """Yield each slice when it is done, until the time is over."""
    laws, until = all_laws(names), time.monotonic() + seconds
    turns = ((law, round_) for round_ in itertools.count(seed) for law in laws)
    with ThreadPoolExecutor(jobs) as pool:
        running: set[Future[SearchSlice]] = set()
        while True:
            while len(running) < jobs and time.monotonic() < until:
                law, round_ = next(turns)
                left = max(1.0, min(slice_seconds, until - time.monotonic()))
                running.add(pool.submit(run_apart, law, round_, left, 20 * slice_seconds))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()


def summary(total: Search) -> str:
    """Return the counts of a search as text, a law a line."""
    width = max(map(len, total.examples), default=0)
    lines = [
        f"{name:{width}}  {count:>9,} examples  {total.seconds[name]:7.0f} s"
        for name, count in sorted(total.examples.items())
    ]
    lines.append(
        f"{sum(total.examples.values()):,} examples of {len(total.examples)} laws, {len(total.findings)} findings"
    )
    return "\n".join(lines)
