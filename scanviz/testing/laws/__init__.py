"""What must hold of whatever can be drawn, one file a family; ``python -m scanviz.testing.laws`` searches for hours.

Examples
--------
>>> from scanviz.testing.laws import all_laws
>>> [each.name for each in all_laws(["loops"])][0]
'a_loop_gives_what_a_plain_python_loop_gives'
"""

from scanviz.testing.laws import (
    advice,
    axes,
    batch_draws,
    batches,
    comparing,
    distributions,
    draws,
    effects,
    facts,
    gradients,
    identities,
    inside,
    loop_gradients,
    loops,
    many_loops,
    measures,
    memory,
    named_views,
    names,
    numpy_names,
    oracle,
    own_time,
    parts,
    passed_over,
    pickles,
    places,
    plans,
    programs,
    records,
    rewrites,
    scalars,
    semantics,
    signals,
    sizes,
    threads,
    transforms,
    traps,
    turns,
    typical_step,
    versions,
    watching,
    work,
)
from scanviz.testing.laws.law import Law, all_laws, law

FAMILIES = (
    advice,
    axes,
    batch_draws,
    batches,
    comparing,
    distributions,
    draws,
    effects,
    facts,
    gradients,
    identities,
    inside,
    loop_gradients,
    loops,
    many_loops,
    measures,
    memory,
    named_views,
    names,
    numpy_names,
    oracle,
    own_time,
    parts,
    passed_over,
    pickles,
    rewrites,
    scalars,
    semantics,
    threads,
    transforms,
    traps,
    turns,
    typical_step,
    versions,
    watching,
    work,
    records,
    signals,
    sizes,
    places,
    plans,
    programs,
)
__all__ = ["FAMILIES", "Law", "all_laws", "law"]


def __dir__() -> list[str]:
    return sorted(__all__)
