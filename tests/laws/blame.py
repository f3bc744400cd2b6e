"""Laws of the chain of blame: a NaN planted in an input is traced to its place and to no step."""

import re

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import scanviz
from scanviz.record.traces.blame import chain_of_blame
from scanviz.record.traces.model import first_bad_of
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import random_loops
from tests.laws.frame import built, gradients
from tests.laws.law import law

_ROW = re.compile(r"it came from your input (\w+)(?:\[([\d, ]+)\])?")


@law(
    sample=8,
    case=random_loops(smooth=True, stops=False, dtypes=("float64",), longest=8),
    gradient=st.booleans(),
    seed=st.integers(0, 999),
)
def a_nan_in_an_input_is_traced_to_the_input(case: LoopCase, gradient: bool, seed: int) -> None:
    """A NaN in one number of one input is traced to no step, and a named row is the row of that number."""
    loop = built(case)
    slopes = gradients(loop.cost, list(loop.given)) if gradient else []
    f = loop.function([*loop.results, *slopes], "numpy")
    values = [np.array(value) for value in loop.values]
    assume(any(value.size for value in values) and all(np.isfinite(array).all() for array in f(*values)))
    rng = np.random.default_rng(seed)
    chosen = int(rng.choice([k for k, value in enumerate(values) if value.size]))
    place = np.unravel_index(int(rng.integers(values[chosen].size)), values[chosen].shape)
    values[chosen][place] = np.nan
    name = list(loop.given)[chosen].name
    record = scanviz.trace(f, *values).record
    loops = {loop.key: loop for loop in record.loops}
    for key in loops:
        first = first_bad_of(trace for trace in record.traces if trace.loop == key)
        links = chain_of_blame(record, key)
        assert bool(links) == (first is not None)
        for link in links:
            assert " made it" not in link.words, links
            assert link.loop is None or (link.step or 0) < loops[link.loop].longest_run
            found = _ROW.search(link.words)
            if found is not None:
                at = tuple(map(int, (found[2] or "").replace(",", " ").split()))
                assert found[1] == name and at == place[: len(at)], (link.words, name, place)
