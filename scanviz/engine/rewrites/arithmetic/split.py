"""split_factorisation: a system solved in each step with one matrix is factorised once.

``solve(a, b)`` factorises a (2n³/3 operations) and then solves with the factors (2n² a right-hand side).  Where a is the same
at every step and b is not, the step solves with the factors, and PushOutNonSeqScan takes the factorisation out of the loop.
Both halves are the LAPACK calls that ``solve`` makes, so the numbers are the same.
"""

from __future__ import annotations

from scanviz.engine.errors import some
from scanviz.engine.graph.nodes import Apply, Variable, describe, tensor_type
from scanviz.engine.graph.provenance import made_by
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.control import always_computed
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, Refusal, named, rule
from scanviz.engine.scan.dependence import is_known, known_from
from scanviz.engine.scan.loop import SCAN, ScanView
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import Sequence as LoopSequence

NAME = "split_factorisation"


@rule(name=NAME, phase="loops", on=(SCAN,), single=True, tags=("scan", "push_out"))
def split_factorisation(node: Apply, level: Level) -> Match | Refusal | None:
    """Solve in each step with factors, where the matrix is the same at every step."""
    view = ScanView(node)
    nodes = toposort(view.op.inner_outputs)
    if not any(node.op.declaration.family == "factorise" for node in nodes):
        return None
    from scanviz.engine.ops.factorise import SOLVE  # much code, which few loops need

    solves = [node for node in nodes if node.op.declaration is SOLVE]
    if not solves:
        return None
    rows = [sequence.slice for sequence in view.op.of_type(LoopSequence)]
    same = known_from(view.op, view.fixed, nodes)
    before = known_from(view.op, [*view.fixed, *rows], nodes)
    needed = always_computed(view.op.inner_outputs)
    values: dict[Variable, Variable] = {}
    refusal: Refusal | None = None
    for solve in solves:
        matrix, side = solve.inputs
        if tensor_type(matrix).ndim != 2 or tensor_type(side).ndim > 2:
            refusal = Refusal("batches of systems are not split", 1)
        elif not is_known(matrix, same):
            refusal = Refusal(f"the matrix `{describe(matrix)}` changes from step to step", 2)
        elif is_known(side, before) or solve not in needed:
            refusal = Refusal("all right-hand sides are known before the loop: one solve takes them all", 3)
        else:
            values[solve.outputs[0]] = _by_factors(solve)
    if not values:
        return refusal
    _, mapping = rebuilt_loop(view, {}, values=values)
    message = f"`{view.op.scan_name}` factorises {named(describe(one.owner.inputs[0]) for one in values if one.owner)}"
    return Match(mapping, f"{message} once for {some(len(values), 'system')} a step")


def _by_factors(node: Apply) -> Variable:
    from scanviz.engine.ops.factorise import cholesky, cholesky_solve, lu_factor, lu_solve

    matrix, side = node.inputs
    wanted = tensor_type(node.outputs[0]).dtype
    with made_by(NAME, node.provenance, (node.node_id,)):
        if node.op.parameters.assume == "pos":
            return cast(cholesky_solve(cholesky(cast(matrix, wanted)), side), wanted)
        factors, pivots = lu_factor(cast(matrix, wanted))
        return cast(lu_solve(factors, pivots, side), wanted)
