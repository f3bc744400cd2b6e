"""Native code of one formula, run on arrays."""

import ctypes

import numpy as np

from scanviz.engine.backends.native.cache import jit
from scanviz.engine.backends.native.emit import ir
from scanviz.engine.backends.native.kernels import formulas


def run(block, arrays, lanes):
    """Return what native code of a formula gives of arrays, so many elements at once; all are as long, a multiple of the lanes."""
    code, count = ir.Code(), len(arrays[0])
    results = [np.empty(count, block.dtypes[number]) for number in block.results]
    places = [
        code.load(code.at(ir.Value("%addresses", "address"), 8 * k), "address", alignment=8)
        for k in range(len(arrays) + len(results))
    ]
    with code.counted(0, count, lanes) as number:

        def address(k, array):
            return code.at(places[k], code.times(number, array.itemsize))

        given = [code.load(address(k, array), array.dtype.name, lanes) for k, array in enumerate(arrays)]
        for k, value in enumerate(formulas.write(code, block, given)):
            code.store(code.splat(value, lanes), address(len(arrays) + k, results[k]))
    code.line("ret i64 0")
    machine = jit.compiled(jit.module_text(code))
    table = (ctypes.c_void_p * len(places))(*(array.ctypes.data for array in [*arrays, *results]))
    machine.function(0, 0, ctypes.addressof(table), None)
    return results
