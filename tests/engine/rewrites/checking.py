"""What tests of rules share: graphs written as text, values compared, reasons for refusals."""

import numpy as np

import scanviz
from scanviz import Mode
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Constant
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from scanviz.engine.scan.variables import kind_of
from scanviz.testing import rewritten_by


def written(variable):
    """Return a graph as one line: names of inputs, values of constants, operations with parameters."""
    if isinstance(variable, Constant):
        return str(variable.value.tolist())
    node = variable.owner
    if node is None:
        return variable.name
    inputs = ", ".join(written(each) for each in node.inputs)
    parameters = node.op.parameters
    if parameters is None:
        return f"{node.op.name}({inputs})"
    if node.op.name in ("index", "assign"):
        return f"{node.op}({inputs})"
    shown = ",".join(str(parameter) for parameter in parameters if not isinstance(parameter, bool))
    return f"{node.op.name}<{shown}>({inputs})"


def after(rule, variable):
    """Return how a graph is written after a rule alone."""
    return written(rewritten_by(rule, [variable])[0])


def reasons(rule, variable):
    """Return why a rule does not fire in a graph."""
    history = RewriteHistory([variable], Selection("none").including(rule))
    return [refusal.why for refusal in history.refusals(rule)]


def check_same(found, expected):
    """Check that arrays are equal in every bit, but for what kind of NaN they hold."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        there = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[there], np.signbit(expected)[there])


def check_kept(rules, variables, givens):
    """Check that rules keep the values of variables, or their error, and return the graph after them."""
    changed = rewritten_by(rules, variables)
    with np.errstate(all="ignore"):
        for old, new in zip(variables, changed, strict=True):
            assert new.type.dtype == old.type.dtype and new.type.ndim == old.type.ndim
            check_same(evaluate(new, givens), evaluate(old, givens))
    return changed


def kinds(op):
    """Return kinds and names of a loop's variables."""
    return [(kind_of(variable), variable.name) for variable in op.variables]


def refusals(wanted, rule, inputs, **options):
    """Return why a rule does not fire in a function."""
    f = scanviz.function(inputs, wanted, on_unused_input="ignore", **options)
    return " | ".join(refusal.why for refusal in f.rewrites.refusals(rule))


def agree(inputs, wanted, *values, tolerance=1e-12):
    """Check that a function gives the same with all rewrites and without any, on both tiers."""
    plain = scanviz.function(inputs, wanted, mode=Mode("reference", "none"))(*values)
    for tier in ("numpy", "reference"):
        found = scanviz.function(inputs, wanted, mode=Mode(tier))(*values)
        for a, b in zip(found, plain, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    return plain
