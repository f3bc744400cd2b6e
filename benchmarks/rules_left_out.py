"""What each rule does to real programs: functions without one rule at a time, beside the functions as they are.

    python benchmarks/rules_left_out.py [WORD …] [--seconds 2] [--mode native] [--quick] [--json FILE]

Programs are the workloads of ``peers.py``, the examples and ``tests/programs``; with words those alone whose names hold one.  Each
runs in a process of its own.  Its functions run in turn with and without a rule, and the processor's time is taken: a machine that
is busy with other work changes that least.  A rule must make no function more than 1.3 times slower, nor its peak memory more than
1.5 times larger (from 16 MB on, inputs counted).  Where it seems to, it is measured again, three times as long.  What stays is
printed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import write_json

from scanviz.record.graphs.rewrites import LARGER, NOTICED_BYTES, SLOWER

HERE = Path(__file__).resolve().parent
SCRIPTS = [
    *sorted((HERE.parent / "examples").glob("*.py")),
    *sorted((HERE.parent / "tests/programs").glob("test_*.py")),
]
LONGEST = 600  # seconds that a program may take


def programs(words: list[str]) -> list[str]:
    """Return the names of programs: workloads, and paths of scripts."""
    from peers import WORKLOADS

    named = [*WORKLOADS, *(str(path.relative_to(HERE.parent)) for path in SCRIPTS)]
    return [name for name in named if not words or any(word in name for word in words)]


def calls_of(program: str, mode: str, quick: bool) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the functions of a program, with the inputs of a call."""
    from scanviz.engine.measurement.captured_calls import CapturedCalls

    with CapturedCalls().observing() as captured:
        if program.endswith(".py"):
            _run(program)
        else:
            import peers
            from peer_programs import inputs, scanviz_loops

            family, sizes = peers.sized(program, quick)
            scanviz_loops.MODE = mode
            getattr(scanviz_loops, family)(*sizes)(*getattr(inputs, family)(*sizes))
    for call in captured.calls:
        yield call.function, call.arrays


def _run(program: str) -> None:
    path = str(HERE.parent / program)
    if "tests/" in program:
        import pytest

        pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", path])
    else:
        sys.argv = [path]
        sys.path.insert(0, str(Path(path).parent))  # examples import one another
        runpy.run_path(path, run_name="__main__")


def harm(row: dict[str, Any]) -> str:
    """Return the errors of a rule's results, if any."""
    if row["high"] * SLOWER < 1.0:
        return f"{1 / row['ratio']:.2f} times slower"
    with_it, without = (row["given_bytes"] + row[name] for name in ("with_bytes", "without_bytes"))
    return (
        f"{with_it / without:.2f} times the memory" if with_it > max(LARGER * without, NOTICED_BYTES) else ""
    )


def measure(program: str, mode: str, seconds: float, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield what each rule does to each function of a program."""
    from scanviz.engine.measurement.ablation import NONE, ablate

    for function, arrays in list(calls_of(program, mode, quick)):
        given = sum(getattr(array, "nbytes", 0) for array in arrays)
        for effect in ablate(function, arrays, seconds, time.process_time_ns):
            row = _row(program, function.name, given, effect)
            if effect.rule != NONE and harm(row):
                again = ablate(function, arrays, 3 * seconds, time.process_time_ns, among=[effect.rule])
                row = _row(program, function.name, given, next(again))
            yield row


def _row(program: str, function: str, given: int, effect: Any) -> dict[str, Any]:
    names = (
        "rule",
        "ratio",
        "low",
        "high",
        "rounds",
        "with_ns",
        "without_ns",
        "with_bytes",
        "without_bytes",
        "agrees",
    )
    return {
        "program": program,
        "function": function,
        "given_bytes": given,
        **{name: getattr(effect, name) for name in names},
    }


def in_process(program: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure a program in a process of its own."""
    command = [
        sys.executable,
        __file__,
        "--one",
        program,
        "--mode",
        options.mode,
        "--seconds",
        str(options.seconds),
    ]
    # threads of OpenBLAS that wait for one another on a busy machine take most of a call
    alone = {**os.environ, **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")}
    command += ["--quick"] if options.quick else []
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LONGEST, check=False, env=alone
        )
        text, failed = done.stdout, done.returncode and f"exit code {done.returncode} {done.stderr[-300:]}"
    except subprocess.TimeoutExpired as late:
        text, failed = (late.stdout or b"").decode(), f"not at its end after {LONGEST} s"
    if failed:
        print(f"{program}: {failed}", file=sys.stderr)
    return [json.loads(line.removeprefix("ROW ")) for line in text.splitlines() if line.startswith("ROW ")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="of the names of programs")
    parser.add_argument("--mode", default="native", help="of the workloads")
    parser.add_argument("--seconds", type=float, default=2.0, help="for all rules of a function, about")
    parser.add_argument("--quick", action="store_true", help="a tenth of the steps of workloads")
    parser.add_argument("--json", help="write the rows there")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        for row in measure(options.one, options.mode, options.seconds, options.quick):
            print("ROW " + json.dumps(row), flush=True)
        return 0
    rows, wrong = [], 0
    for program in programs(options.words):
        for row in in_process(program, options):
            rows.append({**row, "harm": harm(row) if row["rule"].isidentifier() else ""})
            if rows[-1]["harm"]:
                wrong += 1
                print(f"{program}, {row['function']}: {row['rule']}: {rows[-1]['harm']}", flush=True)
    least = min(
        (row for row in rows if row["rule"].isidentifier()), key=lambda row: row["ratio"], default=None
    )
    print(f"{len(rows)} effects measured, {wrong} beyond what a rule may do; the least ratio: {least}")
    write_json(options.json, rows, "rules_left_out")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
