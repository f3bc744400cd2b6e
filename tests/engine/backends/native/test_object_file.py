"""Object files made ready to run without LLVM: the same code at the same distances, and nothing that is not known."""

import ctypes
from contextlib import suppress

import numpy as np
import pytest

from scanviz.engine.backends.registry import availability

if not availability("native").works:
    pytest.skip(availability("native").why, allow_module_level=True)

from scanviz.engine.backends.native import jit, object_file
from scanviz.engine.backends.native.object_file import ForeignError, loaded
from scanviz.engine.backends.native.special import address_of

HEAD = "define i64 @scanviz_loop(i64 %a, i64 %b, ptr %where, ptr %d) {\n"
STORES = (
    """@table = private constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5], align 64
declare double @llvm.pow.f64(double, double)
declare double @scanviz.special.psi(double)
declare ptr @memcpy(ptr, ptr, i64)
define internal double @helper(double %x) noinline {
  %y = call double @llvm.pow.f64(double %x, double 0x4000666666666666)
  ret double %y
}
"""
    + HEAD
    + """
  %from = getelementptr double, ptr @table, i64 %a
  %x = load double, ptr %from
  %y = call double @helper(double %x)
  %z = call double @scanviz.special.psi(double %y)
  %q = fmul double %z, 0x400921FB54442D18
  store double %q, ptr %where
  ret i64 %b
}
"""
)
SWITCH = (
    HEAD
    + """
  switch i64 %a, label %other [ i64 0, label %zero i64 1, label %one i64 2, label %two i64 3, label %three i64 4, label %four ]
zero:
  ret i64 17
one:
  ret i64 -3
two:
  ret i64 %b
three:
  %m = mul i64 %b, %b
  ret i64 %m
four:
  call void asm sideeffect "nop", ""()
  ret i64 5
other:
  ret i64 0
}
"""
)
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


def both(text):
    """Return the function as it is loaded here, and by LLVM."""
    code = jit.object_of(text)
    here, llvm = loaded(code, jit.ENTRY, address_of), jit._loaded_by_llvm(code)
    return [(FUNCTION(address), held) for address, held in (here, llvm)]


def test_constants_functions_of_the_file_and_of_libraries_are_found():
    found = []
    for function, _ in both(STORES):
        out = np.zeros(4)
        assert [function(k, k, out.ctypes.data + 8 * k, None) for k in range(4)] == [0, 1, 2, 3]
        found.append(out)
    np.testing.assert_array_equal(*found)
    assert found[0].all()


def test_jumps_by_a_table_arrive():
    (here, _), (llvm, _) = found = both(SWITCH)
    assert len(found) == 2  # which holds the memory of both
    assert [here(k, 9, None, None) for k in range(-1, 6)] == [llvm(k, 9, None, None) for k in range(-1, 6)]


def test_a_function_that_no_library_has_is_refused():
    code = jit.object_of(
        "declare i64 @no_such_function_anywhere(i64)\n"
        + HEAD
        + "  %x = call i64 @no_such_function_anywhere(i64 %a)\n  ret i64 %x\n}\n"
    )
    with pytest.raises(ForeignError, match="no_such_function"):
        loaded(code, jit.ENTRY, address_of)


def test_memory_that_code_writes_to_is_left_to_llvm():
    code = jit.object_of(
        "@n = global i64 7\n" + HEAD + "  %x = load i64, ptr @n\n  store i64 %a, ptr @n\n  ret i64 %x\n}\n"
    )
    with pytest.raises(ForeignError):
        loaded(code, jit.ENTRY, address_of)
    assert jit.machine_of(code, True).function(1, 2, None, None) == 7


@pytest.mark.parametrize("seed", range(3))
def test_a_file_that_is_cut_off_or_changed_in_its_tables_ends_in_an_error_or_in_code(seed):
    """Never in a crash of the loader; an entry of the cache is compared with its digest before."""
    code, rng = jit.object_of(STORES), np.random.default_rng(seed)
    for end in range(0, len(code), 37):
        with pytest.raises(ForeignError):
            loaded(code[:end], jit.ENTRY, address_of)
    for _ in range(300):
        broken = bytearray(code)
        for at in rng.integers(0, len(code), 3):
            broken[at] = rng.integers(0, 256)
        with suppress(ForeignError):
            loaded(bytes(broken), jit.ENTRY, address_of)


def mapped(address):
    """Return what the system says of the memory at an address: how it may be used, and whether it is shared."""
    with open("/proc/self/maps") as lines:
        for line in lines:
            low, high = (int(part, 16) for part in line.split()[0].split("-"))
            if low <= address < high:
                return line.split()[1]
    raise AssertionError("the memory is not there")


def test_memory_cannot_be_written_once_it_can_be_run():
    _, held = loaded(jit.object_of(STORES), jit.ENTRY, address_of)
    assert mapped(ctypes.addressof(held[1])).startswith("r-x")


def test_a_child_process_cannot_change_the_code_of_its_parent():
    """One that has given up its rights, say."""
    _, held = loaded(jit.object_of(STORES), jit.ENTRY, address_of)
    assert mapped(ctypes.addressof(held[1])).endswith("p")  # private


def test_names_of_sections_that_are_not_needed():
    assert object_file._Section(".eh_frame", 1, 2, 0, 8, 0, 0, 8).is_needed is False
