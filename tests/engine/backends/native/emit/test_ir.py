"""Code as it is written: subexpressions computed once, and loop hints for LLVM."""

from scanviz.engine.backends.native.emit.ir import Code, Value, constant

NUMBER, ADDRESS = Value("%n", "int64"), Value("%a", "address")


def test_repeated_address_arithmetic_in_a_block_is_emitted_once():
    code = Code()
    first, again = (code.at(ADDRESS, code.along(constant(8, "int64"), NUMBER, 24)) for _ in range(2))
    assert first == again and len(code.lines) == 3
    assert code.at(ADDRESS, code.times(NUMBER, 8)) != first
    code.begin("further")  # a block that others may lead to
    assert code.at(ADDRESS, code.along(constant(8, "int64"), NUMBER, 24)) != first


def test_retracted_values_are_not_reused():
    code = Code()
    taken = code.times(NUMBER, 24)
    code.take_back(0, "entry")
    assert code.times(NUMBER, 24) != taken and len(code.lines) == 1


def test_the_origin_of_a_loop_number_is_opaque_to_llvm():
    code = Code()
    with code.counted(0, 64, 8) as number:
        code.load(code.at(ADDRESS, code.times(number, 8)), "float64", 8)
    phi, seen = (next(line for line in code.lines if word in line) for word in (" = phi ", " = freeze "))
    assert seen.strip().startswith(f"{number.text} = ") and number.text not in phi
