"""Store forwarding: a load returns the stored value unless the memory may have changed."""

import pytest

from scanviz.engine.backends.native.emit.ir import Code, Value, constant

A, B = ("buffer", 0, 0), ("buffer", 1, 0)


@pytest.fixture
def code():
    made = Code()
    for name, array in (("%a", A), ("%b", B)):
        made.memory.locate(Value(name, "address"), array, 0)
    return made


def at(code, offset, name="%a"):
    return code.at(Value(name, "address"), offset)


def number(code, lanes=1, dtype="float64"):
    return code.op("…", dtype, lanes)


def loads(code):
    return sum(" = load " in line for line in code.lines)


def test_a_stored_value_is_not_loaded_again(code):
    value = number(code, 4)
    code.store(value, at(code, 32))
    assert code.load(at(code, 32), "float64", 4) == value and not loads(code)


def test_lanes_of_a_stored_vector_are_extracted(code):
    code.store(number(code, 4), at(code, 0))
    assert code.load(at(code, 8), "float64").lanes == 1
    assert code.load(at(code, 16), "float64", 2).lanes == 2
    assert not loads(code)
    code.load(at(code, 24), "float64", 2)  # the second lane is elsewhere
    assert loads(code) == 1


def test_a_store_of_a_part_forgets_the_whole(code):
    part = number(code)
    code.store(number(code, 4), at(code, 0))
    code.store(part, at(code, 8))
    assert code.load(at(code, 8), "float64") == part and not loads(code)
    code.load(at(code, 16), "float64")
    code.load(at(code, 0), "float64", 4)
    assert loads(code) == 2


@pytest.mark.parametrize(
    "changes",
    [
        lambda code: code.store(number(code), Value("%elsewhere", "address")),
        lambda code: code.store(number(code), code.at(Value("%a", "address"), number(code, dtype="int64"))),
        lambda code: code.store(number(code), at(code, 4)),
        lambda code: code.begin("b1"),
        lambda code: code.line("call void @any(ptr %a)"),
        lambda code: code.line("store i128 %wide, ptr %a, align 4"),
    ],
)
def test_memory_that_may_have_changed_is_loaded(code, changes):
    code.store(number(code), at(code, 0))
    changes(code)
    code.load(at(code, 0), "float64")
    assert loads(code) == 1


@pytest.mark.parametrize(
    "changes",
    [
        lambda code: code.store(number(code), at(code, 8)),
        lambda code: code.store(number(code), at(code, 0, "%b")),
        lambda code: code.store(number(code), code.at(Value("%b", "address"), number(code, dtype="int64"))),
        lambda code: code.comment("a line for people"),
    ],
)
def test_memory_that_cannot_have_changed_is_not_loaded(code, changes):
    value = number(code)
    code.store(value, at(code, 0))
    changes(code)
    assert code.load(at(code, 0), "float64") == value and not loads(code)


def test_blocks_without_stores_keep_known_values(code):
    value = number(code)
    code.store(value, at(code, 0))
    with code.storing_nothing():
        code.begin("b1")
        code.load(at(code, 0), "float64")
        code.begin("b2")
    assert loads(code) == 1 and code.load(at(code, 0), "float64") == value


def test_values_of_another_type_at_the_same_place_are_loaded(code):
    code.store(number(code), at(code, 0))
    code.load(at(code, 0), "int64")
    code.load(at(code, 0), "float64", 2)
    assert loads(code) == 2


def test_short_loops_are_unrolled():
    few, many = Code(), Code()
    for code, most in ((few, 3), (many, 2)):
        found = code.turns(
            0, 3, [constant(0, "int64")], lambda n, so_far, code=code: [code.add(so_far[0], n)], most=most
        )
        seen = [value.text for value in code.over(0, 6, 2, most)]
        assert len(found) == 1 and len(seen) == (3 if most == 3 else 1)
    assert found[0].text.startswith("%") and not few.lines and any("phi" in line for line in many.lines)
