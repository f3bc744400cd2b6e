"""What advice promises beside what following it delivers: scripts as one writes them first, and as they are advised to be.

    python benchmarks/advice.py [--json FILE] [--rounds 9] [KIND ...]

For each kind a script of ``benchmarks/advised/`` is profiled and ``scanviz advise`` is asked, as a user does both.  Then the script
as it was and as it is advised run in turn in one process, without a profile, timed by the CPU clock of their thread: other programs
change a little of that, and both alike.  *Delivered* is the median difference, round by round; its ratio to what was promised
should be 0.7 or more.  Results are compared first, where following advice is to leave them as they are.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import thread_time_ns
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a thread of BLAS is on another clock
os.environ.setdefault("SCANVIZ_MODE", "numpy")  # a loop that is compiled meanwhile is another one

import numpy as np  # reads the environment
from common import print_goals, write_json

HERE = Path(__file__).resolve().parent
KINDS = ("copies", "draws", "non_sequences", "same_at_every_call", "sequence_product", "short_inner_loops")
OTHER_NUMBERS = ("draws",)  # following these gives other results
GOAL = 0.7


def promised(kind: str, folder: Path) -> float | None:
    """Return the nanoseconds that advice of a kind promises for its script; None where it is not given."""
    script, profile = HERE / "advised" / f"{kind}.py", folder / f"{kind}.scanviz"
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    scanviz = [sys.executable, "-m", "scanviz"]
    subprocess.run([*scanviz, "profile", "-q", "-o", str(profile), str(script)], env=environment, check=True)
    done = subprocess.run(
        [*scanviz, "advise", "--json", str(profile)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    found = [each["gain_ns"] for each in json.loads(done.stdout)["advice"] if each["kind"] == kind]
    return float(found[0]) if found and found[0] is not None else None


def cpu_ns(action: Callable[[], Any]) -> int:
    begun = thread_time_ns()
    action()
    return thread_time_ns() - begun


def delivered(kind: str, rounds: int) -> list[tuple[int, int]]:
    """Return the CPU time of a kind's script before and after following the advice, round by round."""
    module = importlib.import_module(f"advised.{kind}")
    before, after = module.build(False), module.build(True)
    first, second = before(), after()
    if kind not in OTHER_NUMBERS:
        np.testing.assert_allclose(first, second, rtol=1e-6, atol=1e-9)
    return [(cpu_ns(before), cpu_ns(after)) for _ in range(rounds)]


def measured(kind: str, rounds: int, profiles: int, folder: Path) -> dict[str, Any]:
    """Return one row of the table."""
    text = [promised(kind, folder) for _ in range(profiles)]
    given = [time for time in text if time is not None]
    times = delivered(kind, rounds)
    gain = statistics.median(before - after for before, after in times)
    promise = statistics.median(given) if given else None
    return {
        "what": kind,
        "before_ms": 1e-6 * statistics.median(before for before, _ in times),
        "after_ms": 1e-6 * statistics.median(after for _, after in times),
        "promised_ms": None if promise is None else 1e-6 * promise,
        "least_promised_ms": 1e-6 * min(given) if given else None,
        "most_promised_ms": 1e-6 * max(given) if given else None,
        "given": f"{len(given)} of {profiles}",
        "delivered_ms": 1e-6 * gain,
        "ratio": None if not promise else gain / promise,
        "met": bool(promise) and gain / promise >= GOAL,
    }


def line(row: dict[str, Any]) -> str:
    """Return a row of the table."""
    promise = "–" if row["promised_ms"] is None else f"{row['promised_ms']:.1f} ms"
    ratio = "–" if row["ratio"] is None else f"{row['ratio']:.2f}"
    return (
        f"{row['what']:<20}{row['before_ms']:>7.1f} ms{row['after_ms']:>7.1f} ms{promise:>11}"
        f"{row['delivered_ms']:>8.1f} ms{ratio:>7}{GOAL:>6} {'met' if row['met'] else 'missed'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all by default")
    parser.add_argument("--rounds", type=int, default=9, help="of both scripts in turn")
    parser.add_argument(
        "--profiles", type=int, default=3, help="profiles of the first script; their median counts"
    )
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    unknown = set(options.kinds) - set(KINDS)
    if unknown:
        parser.error(f"no script for {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    print(
        f"{'advice':<20}{'before':>10}{'after':>10}{'promised':>11}{'delivered':>11}{'ratio':>7}{'goal':>6}"
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.kinds or KINDS:
            row = measured(kind, options.rounds, options.profiles, Path(folder))
            rows.append(row)
            print(line(row), flush=True)
    print_goals(rows)
    write_json(options.json, rows, "advice")


if __name__ == "__main__":
    main()
