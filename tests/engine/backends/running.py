"""Building loops of any kinds by hand and running them on a tier, for the tests of the backends."""

from collections.abc import Sequence as SequenceOf

import numpy as np

from scanviz.engine.backends.registry import resolve
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Variable, build
from scanviz.engine.observation.probe import Probe
from scanviz.engine.observe import Observer
from scanviz.engine.program.lower import lower
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.settings import ScanSettings
from scanviz.engine.scan.variables import Until
from tests.engine.backends.cupy import stand_in

stand_in.register()
TIERS = ("reference", "numpy", "stand-in")


def loop(variables, n_steps, outer, until=None, **settings):
    """Return the outer results of a loop of given loop variables, in their order."""
    settings.setdefault("name", "loop")
    op = Scan(variables, None if until is None else Until(until), ScanSettings(**settings))
    return list(build(op, [n_steps, *outer]))


def compiled(tier, inputs, outputs):
    """Return the executable of a graph."""
    return resolve(tier).compile(lower(inputs, outputs, "test"))


def run(
    tier,
    inputs: SequenceOf[Variable],
    outputs: SequenceOf[Variable],
    values,
    observer: Observer | None = None,
):
    """Return outputs for values of inputs, after checking that the inputs stay as they are."""
    arrays = [np.array(value, variable.type.dtype) for value, variable in zip(values, inputs, strict=True)]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False  # writing into an input is an error at once
    probe = None if observer is None else Probe(1, (observer,))
    results = compiled(tier, inputs, outputs).run(arrays, probe)
    for old, new in zip(before, arrays, strict=True):
        np.testing.assert_array_equal(old, new)
    return results


def check(inputs, outputs, values, tiers=TIERS):
    """Check that every tier agrees with the plain meaning of the operations; return the result."""
    arrays = {
        variable: np.array(value, variable.type.dtype) for value, variable in zip(values, inputs, strict=True)
    }
    with np.errstate(all="ignore"):
        expected = [np.asarray(each) for each in evaluate(list(outputs), arrays)]
    for tier in tiers:
        for found, wanted in zip(run(tier, inputs, outputs, values), expected, strict=True):
            assert isinstance(found, np.ndarray), tier
            assert found.dtype == wanted.dtype, tier
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12, err_msg=tier)
            assert found.shape == wanted.shape, tier
    return expected
