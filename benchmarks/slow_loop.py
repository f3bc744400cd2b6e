"""What each change of docs/slow_loop.md buys: the page's versions, each run whole in a process of its own, in turns.

    python benchmarks/slow_loop.py [--rounds 5] [--json results/slow_loop.json] [--write]

A version is the page's first block, its own block, and the search at the end.  *CPU* is what the process and its threads had of the
processor, imports included; the smallest of the rounds is shown.  ``--write`` puts what was measured into the page: the table, and
the answer of each version's profile.  All figures of the page are in these places, below comments ``<!-- measured: … -->``.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import write_json

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "slow_loop.md"
BLOCK = re.compile(r"^```(?:python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SEARCH = """
found = minimize(cost, guess, method="L-BFGS-B", jac={jac})
print(np.exp(found.x).round(2), "after", found.nfev, "calls")
"""
NAMES = ("as written", "built once", "with a gradient")


def versions() -> dict[str, str]:
    """Return the page's programs by name, in its order."""
    setup, *blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    blocks = [block for block in blocks if re.search(r"^(cost = |def cost)", block, re.MULTILINE)]
    return {
        name: setup + block + SEARCH.format(jac="scanviz.grad" in block)
        for name, block in zip(NAMES, blocks, strict=True)
    }


def longer(program: str) -> str:
    """Return a program with ten times as many measurements."""
    return program.replace("STEPS = 100, 2000", "STEPS = 100, 20_000")


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program, the last argument, in a folder of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "88"}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "radar.py")
        program.write_text(arguments[-1], "utf-8")
        command = [sys.executable, *arguments[:-1], program.name]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment, cwd=folder
        )


def cpu_and_wall(program: str) -> tuple[float, float, str]:
    """Run a program; return its CPU seconds, its wall seconds and its output."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    printed = _run(program).stdout.strip()
    passed, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, passed, printed


def excerpt(report: str) -> str:
    """Return the answer of a report, without its last line about the saved profile."""
    answer = report[report.index("radar.py took") :]
    return answer[: answer.index("Saved ")].rstrip()


def measured(name: str, content: str, page: str) -> str:
    """Return the page with what stands below a comment replaced."""
    pattern = re.compile(
        rf"(<!-- measured: {re.escape(name)} -->\n\n)(```text\n.*?\n```\n|(?:\|[^\n]*\n)+)", re.DOTALL
    )
    found, count = pattern.subn(lambda match: f"{match[1]}{content}\n", page)
    if count != 1:
        raise SystemExit(f"{PAGE.name} has {count} places for {name!r}")
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as the page's table."""
    lines = ["| version | calls | CPU s | with 20,000 measurements |", "|---|---|---|---|"]
    for row in rows:
        long = "–" if row["long_cpu_s"] is None else f"{row['long_cpu_s']:.1f}"
        lines.append(f"| {row['version']} | {row['calls']} | {row['cpu_s']:.1f} | {long} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and print a line a version."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="write the rows there")
    parser.add_argument("--write", action="store_true", help="put what was measured into the page")
    options = parser.parse_args()
    programs = versions()
    rounds = [
        {name: cpu_and_wall(program) for name, program in programs.items()} for _ in range(options.rounds)
    ]
    rows = []
    print("CPU s  wall s  20,000: CPU s  version, and what it prints")
    for name, program in programs.items():
        cpu, wall = (min(runs[name][part] for runs in rounds) for part in (0, 1))
        printed = rounds[0][name][2]
        is_short = name == NAMES[0]  # minutes without information
        long = None if is_short else min(cpu_and_wall(longer(program))[0] for _ in range(options.rounds))
        calls = int(printed.split()[-2])
        rows.append({"version": name, "calls": calls, "cpu_s": cpu, "wall_s": wall, "long_cpu_s": long})
        print(
            f"{cpu:5.2f}  {wall:6.2f}  {'–' if long is None else format(long, '.2f'):>13}  {name}: {printed}"
        )
    write_json(options.json, rows, "slow_loop")
    if options.write:
        page = measured("table", table(rows), PAGE.read_text("utf-8"))
        for name in NAMES:
            report = excerpt(_run("-m", "scanviz", "profile", "-o", "radar.scanviz", programs[name]).stderr)
            page = measured(f"profile, {name}", f"```text\n{report}\n```", page)
        PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
