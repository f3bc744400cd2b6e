"""Truth of profiles: statements about thirteen loops beside independent instruments.

    python benchmarks/profile_truth.py [--mode TIER] [--load N] [--profiles N] [--rounds N] [--only WORD …] [--json FILE]

Stated are the typical step, the parts of it and the hottest operation, and the parts of the whole run.  The instruments for steps
are the CPU time of the thread, of the plain function with more and with fewer steps, and of its plain code with one operation done
twice; for some loops also a copy by hand, less one operation in turn.  Those for the run are clocks in the script.
What parts come to above the whole, by the same instrument, is its error.  All is measured in turn, so that a machine that drifts
changes all.  A figure that an instrument cannot measure to half its goal is uncertain and does not count.

Lines of loops whose steps change as they go on stand beside the same lines by hand (``--only changing``).

Goals: 10 % for what takes 1 µs or more, 25 % for less; the same hottest operation in 10 of 10 profiles where it leads by 20 %;
less than 5 % of a run that no part accounts for; 15 % for the share of a line where steps change.
With ``--mode native`` typical steps and the parts of the run are looked at: in machine code no operation can be done twice from
outside, and operations that are done as one have no time of their own.  A step there is so short that it matters whether its rows
lie in a cache of the processor: calls are the same as those of the instrument, one after another, of no more steps, and several
to a profile.  ``--load N`` starts N processes that are busy all the time.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads of BLAS have CPU time of their own

import argparse
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from common import write_json
from truth_changing import rows as rows_of_changing
from truth_hand import HAND, hand_operations
from truth_instruments import Measured, PlainLoop, adding_up, middle, operations_cpu_ns, step_cpu_ns
from truth_parts import claims
from truth_workloads import CASES, Case

import scanviz

LEADS = 1.2
LONG_NS = 1000
MOST_UNATTRIBUTED = 0.05
NATIVE_STEPS = 5  # times as many steps a call, which are so much shorter
NATIVE_CALLS = 5  # of a profile: in the first the rows lie in no cache, which can double a step
BUSY = "while True: pass"
Row = dict[str, Any]


def goal(nanoseconds: float) -> float:
    return 0.10 if nanoseconds >= LONG_NS else 0.25


@contextmanager
def load(count: int) -> Iterator[None]:
    """Keep so many processes busy."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def profiled(case: Case, f: Any, arguments: tuple[Any, ...]) -> Any:
    if case.calls > 1:
        f = case.build()  # of a loop that was run often before, few runs would be looked at closely
        f(*arguments)
    is_native = scanviz.config.mode == "native"
    with scanviz.profile() as session:
        for _ in range(max(case.calls, NATIVE_CALLS if is_native else 1)):
            f(*arguments)
    return session.record


def row(case: Case, claim: str, instrument: str, stated: float, truth: Measured) -> Row:
    error = stated / truth.ns - 1 if truth.ns > 0 else float("inf")
    certain = truth.ns > 0 and truth.error_ns <= goal(truth.ns) / 2 * truth.ns
    return {
        "loop": case.name,
        "claim": claim,
        "instrument": instrument,
        "stated_ns": stated,
        "truth_ns": truth.ns,
        "truth_error_ns": truth.error_ns,
        "error": error,
        "goal": goal(truth.ns),
        "kept": abs(error) <= goal(truth.ns) if certain else None,
    }


def measured(case: Case, profiles: int, rounds: int) -> list[Row]:
    """Return the rows of one loop."""
    f, arguments = case.build(), case.inputs(case.steps)
    f(*arguments)
    records, steps = list[Any](), list[Measured]()
    for _ in range(profiles):
        steps.append(step_cpu_ns(case, f, max(3, rounds // 3)))
        records.append(profiled(case, f, arguments))
    loops = [next(loop for loop in record.loops if loop.name == case.loop) for record in records]
    whole = [_stated(case, record) for record in records]
    truth = middle([one.ns for one in steps])
    found = [row(case, "typical step", "CPU time", _beside(whole, steps, truth.ns), truth)]
    if scanviz.config.mode == "native":
        return [*found, *_of_the_run(case)]
    plain = PlainLoop(f, case.loop)
    places = [place for place in range(len(loops[0].operations)) if plain.has(place)]
    doubled = adding_up(operations_cpu_ns(case, f, plain, places, rounds), truth.ns, are_all=False)
    stated = {
        place: statistics.median(loop.operations[place].typical_ns for loop in loops) for place in places
    }
    labels = {place: loops[0].operations[place].label for place in places}
    for place, time in zip(places, doubled, strict=True):
        found.append(row(case, labels[place], "done twice", stated[place], time))
    if case.name in HAND:
        by_hand = adding_up(hand_operations(case, rounds), truth.ns, are_all=False)
        for place, time in zip(places, by_hand, strict=True):
            found.append(row(case, labels[place], "left out by hand", stated[place], time))
    return [*found, _hottest(case, loops, places, doubled), *_of_the_run(case)]


def _of_the_run(case: Case) -> list[Row]:
    """Return the rows of the parts of a whole run."""
    stated, unattributed = claims(case)
    rows = [
        row(case, f"run: {claim.name}", claim.instrument, claim.stated_ns, claim.truth) for claim in stated
    ]
    left = {
        "loop": case.name,
        "claim": "run: unattributed",
        "instrument": "its parts",
        "share": unattributed,
        "goal": MOST_UNATTRIBUTED,
        "kept": unattributed < MOST_UNATTRIBUTED,
    }
    return [*rows, left]


def _stated(case: Case, record: Any) -> float:
    """Return the stated time of a step, with work done for it outside loops, which is in the function's time too."""
    loops = [loop for loop in record.loops if loop.name in (case.loop, *case.others)]
    outside = sum(
        (operation.mean_ns or 0.0) * operation.samples
        for function in record.functions
        for operation in function.operations
        if operation.kind != "loop"
    )
    of_a_step = outside / max(1, loops[0].steps) if case.calls == 1 else 0.0
    return sum(loop.typical_ns for loop in loops) + of_a_step


def _beside(stated: list[float], truths: list[Measured], usual_ns: float) -> float:
    """Return the statement for a usual step: each profile beside the measurement just before.

    As it stands where a step is lost in the noise of calls, which is what was measured then.
    """
    if usual_ns <= 0 or any(truth.ns <= 0 for truth in truths):
        return statistics.median(stated)
    return usual_ns * statistics.median(one / truth.ns for one, truth in zip(stated, truths, strict=True))


def _hottest(case: Case, loops: list[Any], places: list[int], times: list[Measured]) -> Row:
    """Return in how many profiles the hottest operation is the one that it is, where it leads."""
    by_time = sorted(zip(places, times, strict=True), key=lambda each: -each[1].ns)
    (place, first), second = by_time[0], by_time[1][1] if len(by_time) > 1 else Measured(0.0, 0.0)
    doubt = first.error_ns + second.error_ns
    leads = first.ns - doubt > LEADS * second.ns
    named = [max(places, key=lambda k: loop.operations[k].typical_ns) for loop in loops if loop.typical_ns]
    right = sum(found == place for found in named)
    return {
        "loop": case.name,
        "claim": f"hottest: {loops[0].operations[place].label}",
        "instrument": "done twice",
        "right": right,
        "of": len(loops),
        "kept": right == len(loops) if leads else None,
    }


KINDS = ("steps and operations", "hottest operation", "parts of the run", "unattributed", "changing steps")


def kind_of(one: Row) -> str:
    """Return which of the goals a row belongs to."""
    if "right" in one:
        return KINDS[1]
    if "share" in one:
        return KINDS[3]
    if "truth_share" in one:
        return KINDS[4]
    return KINDS[2 if one["claim"].startswith("run: ") else 0]


def in_short(rows: list[Row]) -> str:
    """Return the counts of kept, missed and uncertain claims of each kind, with the worst errors of missed ones."""
    lines = []
    for kind in KINDS:
        mine = [one for one in rows if kind_of(one) == kind]
        kept, missed, unsure = (
            [one for one in mine if one["kept"] is is_kept] for is_kept in (True, False, None)
        )
        text = f"{kind:<22}{len(kept):>4} kept{len(missed):>4} missed{len(unsure):>4} uncertain"
        if missed:
            text += f": {', '.join(_missed(one) for one in missed)}"
        lines.append(text)
    return "\n".join(lines)


def _missed(one: Row) -> str:
    name = f"{one['loop']}, {one['claim'].removeprefix('run: ')}"
    if "right" in one:
        return f"{name} {one['right']} of {one['of']}"
    return f"{name} {one['share']:.1%}" if "share" in one else f"{name} {one['error']:+.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", default="numpy", choices=["numpy", "native"], help="the tier")
    parser.add_argument("--load", type=int, default=0, help="busy processes beside")
    parser.add_argument("--profiles", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="*", default=[], help="words of names of loops")
    parser.add_argument("--json", help="write the rows there")
    options = parser.parse_args()
    rows: list[Row] = []
    scanviz.config.mode = options.mode
    scanviz.config.native.threads = 1  # whose CPU clock is read
    print(f"{'':<46}{'instrument':<18}{'stated':>14}{'truth':>14}{'±':>12}{'error':>8}{'goal':>6}")
    with load(options.load):
        for case in CASES:
            if not options.only or any(word in case.name for word in options.only):
                print(case.name)
                if options.mode == "native" and case.calls == 1:
                    case = case._replace(steps=NATIVE_STEPS * case.steps)
                for one in measured(case, options.profiles, options.rounds):
                    print(_line(one))
                    rows.append({"mode": options.mode, "load": options.load, **one})
        for one in (
            rows_of_changing(options.profiles) if not options.only or "changing" in options.only else []
        ):
            print(_line(one))
            rows.append({"mode": options.mode, "load": options.load, **one})
    print(in_short(rows))
    write_json(options.json, rows, "profile_truth")


def _line(one: Row) -> str:
    verdict = {True: "", False: "  missed", None: "  uncertain"}[one["kept"]]
    head = f"  {one['claim'][:42]:<44}{one['instrument']:<18}"
    if "right" in one:
        return f"{head}{one['right']:>14} of {one['of']}{verdict}"
    if "share" in one:
        return f"{head}{one['share']:>48.1%}{one['goal']:>6.0%}{verdict}"
    if "truth_share" in one:
        shares = f"{one['stated_share']:>14.1%}{one['truth_share']:>14.1%}{'':>12}"
        head = f"  {one['loop'] + ', ' + one['claim']:<50}{one['instrument']:<12}"
        return f"{head}{shares}{one['error']:>+8.0%}{one['goal']:>6.0%}{verdict}"
    times = f"{one['stated_ns']:>14,.0f}{one['truth_ns']:>14,.0f}{one['truth_error_ns']:>12,.0f}"
    return f"{head}{times}{one['error']:>+8.0%}{one['goal']:>6.0%}{verdict}"


if __name__ == "__main__":
    main()
