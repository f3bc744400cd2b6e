"""Laws of pickles: a function, pickled and loaded, is the function; not one that computes the same with other loops."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.graph.nodes import Apply, Variable, is_floating
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.mode import Mode
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    LoopInstruction,
    Program,
    all_loops,
)
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.variables import LoopVariable
from scanviz.record.program_snapshot import forward_loops
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import random_loops
from tests.laws.frame import built
from tests.laws.law import law

_COPIES: dict[str, Callable[[Any], Any]] = {
    "pickled": lambda f: pickle.loads(pickle.dumps(f)),
    "pickled twice": lambda f: pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(f)))),
    "pickled by the old protocol": lambda f: pickle.loads(pickle.dumps(f, protocol=2)),
    "copied": copy.deepcopy,
}


def _derivatives(results: list[Variable], inputs: list[Variable], order: int) -> list[Variable]:
    """Return gradients of a cost of the results, of all orders up to ``order``."""
    smooth = [result for result in results if is_floating(result)]
    wrt = [variable for variable in inputs if is_floating(variable)]
    if not smooth or not wrt:
        return []
    found: list[Variable] = []
    cost = sum((T.sum(T.sin(T.cast(variable, "float64"))) for variable in smooth), T.constant(0.0))
    for k in range(order):
        gradients = pull_back({cost: T.constant(1.0)}, wrt)
        known = [gradient for gradient in gradients if isinstance(gradient, Variable)]
        found += known
        cost = sum(
            (T.sum(T.cos(T.cast(variable, "float64")) * (k + 1)) for variable in known), T.constant(0.0)
        )
        if not known:
            break
    return found


def _function(case: LoopCase, order: int, rewrites: str) -> tuple[Any, list[Any]]:
    loop = built(case)
    wanted = [*loop.results, *_derivatives(loop.results, list(loop.given), order)]
    return loop.function(wanted, Mode("numpy", rewrites), updates=loop.updates), loop.values


def _nodes(f: Any) -> list[tuple[object, ...]]:
    """Return the operations of a function's outputs, and the loop variables shared by loops.

    One operation in the steps of several loops is there once.
    """
    wanted = [*(output.variable for output in f.spec.outputs), *f.spec.updates.values()]
    found: dict[Apply, None] = {}
    waiting = toposort(wanted)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found[node] = None
            waiting += [inner for _, results in node.op.subgraphs() for inner in toposort(results)]
    numbers: dict[LoopVariable, int] = {}
    ordered = sorted(found, key=lambda node: node.node_id)
    return [
        (str(node.op), str([output.type for output in node.outputs]), _held(node, numbers))
        for node in ordered
    ]


def _held(node: Apply, numbers: dict[LoopVariable, int]) -> list[int]:
    variables = node.op.variables if isinstance(node.op, Scan) else ()
    return [numbers.setdefault(variable, len(numbers)) for variable in variables]


def written(program: Program) -> list[Any]:
    """Return a program as plain data, loops and branches included, without process-specific parts."""
    place = {loop.key: k for k, (loop, _) in enumerate(all_loops(program))}
    constants = {
        number: (value.dtype.str, value.shape, value.tobytes()) for number, value in program.constants.items()
    }
    registers = [(str(register.type), register.name) for register in program.registers]
    instructions = [_instruction(instruction, program, place) for instruction in program.instructions]
    return [registers, program.inputs, program.outputs, constants, instructions]


def _instruction(line: AnyInstruction, program: Program, place: dict[int, int]) -> list[Any]:
    text: list[Any] = [str(line.op), line.inputs, line.outputs, line.frees, str(line.provenance)]
    match line:
        case LoopInstruction():
            forward = [place[key] for key in forward_loops(line, program, ())[0][:1]]
            slots = [line.sequences, line.states, line.step_outputs, line.carries, line.non_sequences]
            asked = [line.name, line.n_steps, line.until, line.allow_gc, line.mode, line.profile, line.reuse]
            text += [asked, str(slots), forward, written(line.body)]
        case BranchInstruction():
            text += [line.condition, line.then_inputs, line.else_inputs]
            text += [written(line.then_program), written(line.else_program)]
        case _:
            pass
    return text


@law(
    sample=6,
    case=random_loops(
        dtypes=("float64",), longest=4, smooth=True, stops=False
    )  # steps whose derivatives need their values
    | random_loops(dtypes=("float64", "float32", "int64"), longest=4),
    order=st.integers(0, 3),
    rewrites=st.sampled_from(["all", "none"]),
    how=st.sampled_from(sorted(_COPIES)),
)
def a_pickled_function_agrees_with_the_original(case: LoopCase, order: int, rewrites: str, how: str) -> None:
    """A pickled and loaded function runs the same Program, loops and gradient pairs, bit for bit."""
    f, values = _function(case, order, rewrites)
    again = _COPIES[how](f)
    assert _nodes(again) == _nodes(f)
    assert written(again.program) == written(f.program)
    for _ in range(2):  # updates of shared variables too
        for mine, theirs in zip(f(*values), again(*values), strict=True):
            assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
            assert np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
