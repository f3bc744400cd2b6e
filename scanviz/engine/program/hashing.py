"""The structural hash of a Program: equal for Programs that compute the same in the same way, in every process.

Operations, types, constants, slots and wishes about memory and tiers count.  Names of registers and loops, lines of the user
and what belongs to one process do not.
"""

from __future__ import annotations

import hashlib
import json

from scanviz.engine.graph.declaration import WORDS
from scanviz.engine.program.file import little_endian, to_data
from scanviz.engine.program.instructions import Program

_OF_A_PROCESS = ("key", "node_id", "frees")
_FOR_PEOPLE = ("provenance", "profile", *WORDS)


def structural_hash(program: Program) -> str:
    """Return 64 hexadecimal digits that tell a program from all others.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.engine.program.lower import lower
    >>> x, y = T.vector("x"), T.vector("y")
    >>> one, other = (structural_hash(lower([v], [T.exp(v)], n)) for v, n in ((x, "f"), (y, "g")))
    >>> one == other, one == structural_hash(lower([x], [T.tanh(x)], "f"))
    (True, False)
    """
    data, arrays = to_data(program, frozenset((*_OF_A_PROCESS, *_FOR_PEOPLE)))
    found = hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode())
    for array in arrays:
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(little_endian(array))
    return found.hexdigest()
