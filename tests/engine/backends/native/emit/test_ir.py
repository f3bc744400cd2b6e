"""Code as it is written: subexpressions computed once, and loop hints for LLVM."""

from scanviz.engine.backends.native.emit.ir import Code, Value

NUMBER, ADDRESS = Value("%n", "int64"), Value("%a", "address")


def test_the_origin_of_a_loop_number_is_opaque_to_llvm():
    code = Code()
    with code.counted(0, 64, 8) as number:
        code.load(code.at(ADDRESS, code.times(number, 8)), "float64", 8)
    phi, seen = (next(line for line in code.lines if word in line) for word in (" = phi ", " = freeze "))
    assert seen.strip().startswith(f"{number.text} = ") and number.text not in phi
