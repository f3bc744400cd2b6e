"""One command for a machine with a GPU: tests on it first, then scanviz beside CuPy, JAX and PyTorch, as JSON.

    python benchmarks/gpu.py --json gpu.json              # under ten minutes with 16 processes
    python benchmarks/gpu.py benchmark --only rnn         # workloads whose name has a word
    python tools/real_cupy                                # the same, checked and not timed, without a GPU

Outputs of each tool are compared with NumPy's float64 before anything is timed; all tools compute in exact float32.  Times are
medians of calls taken in turns, a ratio is the median of ratios round by round, and targets are those for one H200.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.metadata
import importlib.util
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import seconds, write_json
from gpu_programs import reference

from scanviz.engine.backends.registry import availability

HERE = Path(__file__).resolve()
REPOSITORY = HERE.parents[1]

TESTS = "tests/engine/backends/cupy"
PARTS = {
    "tests": "those marked gpu",
    "stand-in": "tests of the stand-in for CuPy, with CuPy in its place",
    "machine-code": "kernels compiled by NVRTC for two generations of GPUs",
    "laws": "laws that are tried on one tier of several",
    "benchmark": "seven loops, compared and timed",
}
PATIENCE, WORKLOAD_PATIENCE = 240.0, 90.0  # seconds on a GPU, for a part of the tests and for a workload
LINES, KEPT_LINES = 100, 2000  # of the output of a part that failed: printed, and written as JSON
PACKAGES = ("cupy-cuda13x", "cupy-cuda12x", "jax", "torch")


class Tool(NamedTuple):
    """A column: the file of ``gpu_programs``, the ending of its functions' names, and the package that it needs."""

    module: str
    ending: str = ""
    needs: str = "cupy"


TOOLS = {
    "scanviz": Tool("scanviz_loops"),
    "CuPy": Tool("cupy_loops"),
    "JAX": Tool("jax_loops", needs="jax"),
    "JAX tuned": Tool("jax_loops", "_tuned", "jax"),
    "torch graph": Tool("torch_loops", needs="torch"),
    "cuDNN": Tool("torch_loops", "_cudnn", "torch"),
}


class Workload(NamedTuple):
    """A loop: its function, sizes (the last of them steps), those of a check, and times in milliseconds to judge by.

    Tools that make a call for each step take ``fewer`` steps, if that is not 0; their times are multiplied.
    """

    family: str
    sizes: tuple[int, ...]
    small: tuple[int, ...]
    floor: float
    target: float
    tolerance: float
    fewer: int = 0


WORKLOADS = {
    "W1 leaky tanh, 1M wide, 1k": Workload("leaky_tanh", (2**20, 1000), (70, 30), 1.95, 2.3, 1e-4),
    "W2 leaky tanh, 4096 wide, 10k": Workload("leaky_tanh", (4096, 10_000), (70, 30), 0.25, 0.5, 1e-4),
    "W3 logistic map, one number, 10M": Workload("logistic", (10**7,), (40,), 50, 90, 1e-3, 10**5),
    "W4 linear recurrence, 512 wide, 64k": Workload("linear", (512, 65_536), (70, 30), 0.094, 0.16, 1e-3),
    "W5 rnn H 512 batch 16, 1k": Workload("rnn", (512, 16, 1000), (8, 3, 20), 0.25, 0.8, 2e-3),
    "W6 lstm H 1024 batch 64, 512": Workload("lstm", (1024, 64, 512), (8, 3, 20), 4.1, 6, 2e-3),
    "W7 Newton until close, 100k wide": Workload("newton", (100_000, 500), (50, 500), 0.05, 0.1, 2e-3),
}
CALL_EACH_STEP = ("CuPy", "JAX", "JAX tuned")
SECONDS, FEWEST, MOST = 4.0, 5, 50  # of the rounds of one workload, and how many

# tests


def commands(seconds: float, jobs: int) -> dict[str, list[str]]:
    """Return the arguments of Python for each part but the benchmark."""
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(jobs)]
    in_place = ["-p", f"{TESTS.replace('/', '.')}.real_library", "-m", "not gpu"]
    limits = ["--minutes", str(seconds / 60), "--jobs", str(jobs)]
    return {
        "tests": [*pytest, "-m", "gpu", "-rfEP", *marked_files()],
        "stand-in": [*pytest, *in_place, TESTS],
        "machine-code": [*pytest, f"{TESTS}/test_machine_code.py"],
        "laws": ["-m", "tests.laws", "--tier", "cupy", *limits],
    }


def marked_files() -> list[str]:
    """Return the files that have tests marked ``gpu``."""
    files = (REPOSITORY / "tests").rglob("test_*.py")
    marked = (path for path in files if "mark.gpu" in path.read_text(encoding="utf-8"))
    return sorted(str(path.relative_to(REPOSITORY)) for path in marked)


def suite(name: str, arguments: list[str], patience: float | None) -> dict[str, Any]:
    """Run a part of the tests, print how it ended, and return that with the end of its output."""
    print(f"{name:10} {PARTS[name]} …", flush=True)
    begun = time.monotonic()
    host = (
        {"HOST_CUPY": "off"} if name == "machine-code" else {}
    )  # NVRTC itself, in the environment of tools/real_cupy
    status, output = apart(arguments, patience, **host)
    lines = output.strip().splitlines() or ["no output"]
    seconds = time.monotonic() - begun
    if status:
        print("\n".join(lines[-LINES:]))
    print(f"{name:10} {'FAILED' if status else 'passed'} {seconds:6.0f} s   {lines[-1]}", flush=True)
    return {"part": name, "passed": not status, "seconds": round(seconds), "output": lines[-KEPT_LINES:]}


def apart(arguments: list[str], patience: float | None, **variables: str) -> tuple[int, str]:
    """Run Python in a process of its own and return its exit code and output; it is ended after so many seconds."""
    variables |= {**os.environ, **variables, "PYTHONPATH": str(REPOSITORY), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    pipes: dict[str, Any] = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with subprocess.Popen(command, cwd=REPOSITORY, env=variables, start_new_session=True, **pipes) as process:
        try:
            output, _ = process.communicate(timeout=patience)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)  # the processes that it started, too
            output, _ = process.communicate()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return 1, f"{output}\nno end after {patience:.0f} s"
    return process.returncode, output


# times


def made(tool: str, family: str, sizes: tuple[int, ...], given: Any) -> tuple[Callable[[], Any], Any] | None:
    """Return the call of a tool's loop and what moves its result to the host; None where the tool or its loop is missing."""
    found = TOOLS[tool]
    if importlib.util.find_spec(found.needs) is None:
        return None
    module = importlib.import_module(f"gpu_programs.{found.module}")
    make = getattr(module, family + found.ending, None)
    return None if make is None else (make(sizes, given), module.to_host)


@functools.cache
def values(family: str, sizes: tuple[int, ...]) -> tuple[Any, Any]:
    """Return inputs of a loop, and the part of its result that is compared."""
    given = getattr(reference, family)(*sizes)
    return given, reference.expected(family, sizes, given)


def one(name: str, check: bool) -> dict[str, Any]:
    """Compare the tools on a workload, and time them unless it is only checked."""
    workload = WORKLOADS[name]
    calls: dict[str, Callable[[], Any]] = {}
    factors: dict[str, float] = {}
    errors: dict[str, float] = {}
    for tool in TOOLS:
        sizes = workload.small if check else workload.sizes
        fewer = workload.fewer if tool in CALL_EACH_STEP and not check else 0
        factors[tool] = sizes[-1] / fewer if fewer else 1.0
        sizes = (*sizes[:-1], fewer or sizes[-1])
        given, expected = values(workload.family, sizes)
        found = made(tool, workload.family, sizes, given)
        if found is None:
            continue
        calls[tool], to_host = found
        errors[tool] = difference(to_host(reference.part(workload.family, calls[tool]())), expected)
        assert errors[tool] < workload.tolerance, f"{tool} differs by {errors[tool]:.2g}: {name}"
    row: dict[str, Any] = {"workload": name, "target_ms": workload.target, "floor_ms": workload.floor}
    row |= {"error": errors, "missing": [tool for tool in TOOLS if tool not in calls]}
    row["scanviz_ran"] = importlib.import_module("gpu_programs.scanviz_loops").how(calls["scanviz"])
    if check:
        return row
    times = in_turns(calls)
    row["ms"] = {tool: 1e3 * factors[tool] * statistics.median(each) for tool, each in times.items()}
    row["ratio"] = {
        tool: factors[tool] * statistics.median(a / b for a, b in zip(each, times["scanviz"], strict=True))
        for tool, each in times.items()
    }
    row["extrapolated"] = [tool for tool in times if factors[tool] != 1]
    row["met"] = row["ms"]["scanviz"] <= workload.target
    return row


def difference(found: Any, expected: Any) -> float:
    """Return the largest difference, relative where numbers are large; infinity where shapes differ."""
    if found.shape != expected.shape or not np.all(np.isfinite(found)):
        return float("inf")
    return float(np.max(np.abs(found - expected) / np.maximum(1, np.abs(expected)), initial=0.0))


def in_turns(calls: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """Return the seconds of calls of each tool, round by round in another order."""
    whole = sum(seconds(call) for call in calls.values())
    rounds = max(FEWEST, min(MOST, int(SECONDS / whole)))
    found: dict[str, list[float]] = {tool: [] for tool in calls}
    for number in range(rounds):
        for tool, call in random.Random(number).sample(list(calls.items()), len(calls)):
            found[tool].append(seconds(call))
    return found


def benchmark(words: list[str], check: bool) -> list[dict[str, Any]]:
    """Return the rows of workloads whose name has one of the words, each from a process of its own, printing them."""
    print(
        f"\n{'ms, and times as long as scanviz':<38}{'floor':>8}{'target':>8}",
        *(f"{tool:>18}" for tool in TOOLS),
    )
    rows = []
    for name in WORKLOADS:
        if not any(word in name for word in words):
            continue
        status, output = apart([str(HERE), "--one", name, *(["--check"] if check else [])], WORKLOAD_PATIENCE)
        row = (
            {"workload": name, "failed": output.splitlines()[-LINES:]}
            if status
            else json.loads(output.splitlines()[-1])
        )
        rows.append(row)
        print(f"{name:<38}{row_text(row)}", flush=True)
    return rows


def row_text(row: dict[str, Any]) -> str:
    """Return a row of the table without its name."""
    if "failed" in row:
        return "  FAILED\n" + "\n".join(row["failed"])
    cells = [f"{row['floor_ms']:>8g}{row['target_ms']:>8g}"]
    for tool in TOOLS:
        if tool in row["missing"]:
            cells.append(f"{'–':>18}")
        elif "ms" in row:
            mark = "~" if tool in row["extrapolated"] else ""
            cells.append(f"{mark + format(row['ms'][tool], '.4g'):>10} ({row['ratio'][tool]:.3g})".rjust(18))
        else:
            cells.append(f"{'differs ' + format(row['error'][tool], '.1e'):>18}")
    return " ".join(cells)


def device() -> dict[str, Any]:
    """Return which GPU this is, and the versions of what uses it."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    found = {"gpu": properties["name"].decode(), "driver": cupy.cuda.runtime.driverGetVersion()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def main() -> int:
    """Run the parts and return 1 if a test failed or a result differed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = "; ".join(f"{name}: {text}" for name, text in PARTS.items())
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"all by default; {parts}")
    parser.add_argument(
        "--check", action="store_true", help="small loops, compared and not timed; no part is ended"
    )
    parser.add_argument(
        "--only", nargs="*", default=[""], metavar="WORD", help="workloads whose name has one of these"
    )
    parser.add_argument(
        "--seconds", type=float, default=90.0, help="how long laws are searched (default: 90)"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--json", help="write all there")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one, given.check)))
        return 0
    if unknown := set(given.parts) - PARTS.keys():
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    found = availability("cupy")
    if not found.works:
        sys.exit(
            f"CuPy does not work here: {found.why}; {found.how_to_get}; without a GPU: python tools/real_cupy"
        )
    chosen = given.parts or list(PARTS)
    patience = None if given.check else given.seconds + PATIENCE
    ended = [
        suite(name, arguments, patience)
        for name, arguments in commands(given.seconds, given.jobs).items()
        if name in chosen
    ]
    rows = benchmark(given.only, given.check) if "benchmark" in chosen else []
    write_json(given.json, rows, "gpu", device=device(), parts=ended)
    failed = [row["workload"] for row in rows if "failed" in row]
    missed = [row["workload"] for row in rows if row.get("met") is False]
    for what, names in {"failed": failed, "target missed": missed}.items():
        if names:
            print(f"{what}: {', '.join(names)}")
    return 0 if all(part["passed"] for part in ended) and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
