"""Groups: which instructions are done as one, in which order, and why others are not."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.backends import registry
from scanviz.engine.program.file import from_bytes, structural_hash, to_bytes
from scanviz.engine.program.instructions import loops
from scanviz.engine.program.lower import lower
from scanviz.engine.program.plan import Where, chains, plan_loop, single
from scanviz.engine.program.planned import notes_of
from scanviz.engine.program.printer import program_text
from tests.support.arena import EVERYTHING
from tests.support.arena_tier import ArenaTier

X, H0, W = T.matrix("X"), T.vector("h0"), T.matrix("W")
ROWS = np.sin(np.arange(12.0)).reshape(4, 3)


def planned(step, groups=chains, size=4):
    """Return the body of a loop over X with a state, the names of its groups' operations, and its plan."""
    rows, _ = scanviz.scan(step, X, H0, name="loop")
    (found,) = loops(lower([X, H0, W], [rows], "test"))
    shapes = [(size,) if register.type.ndim == 1 else (size, size) for register in found.body.registers[:3]]
    made = plan_loop(found, shapes[: len(found.body.inputs)], groups, EVERYTHING)
    names = [tuple(found.body.instructions[k].op.name for k in group) for group in made.groups]
    return found.body, names, made


def refusals(body, made):
    """Return the names of neighbours that are not done as one, with the reason."""
    name = lambda k: body.instructions[k].op.name  # noqa: E731
    return [(name(e.first), name(e.second), e.refusal.why) for e in made.fusions if e.refusal is not None]


def test_distant_instructions_form_one_group_if_order_allows():
    def step(x, h):
        wide = T.exp(x)
        total = T.sum(x)
        return wide * 2.0 + h * total

    _, names, made = planned(step)
    assert ("exp", "multiply", "multiply", "add") in names
    assert sum(place.location is Where.LOCAL for place in made.places) == 3


def test_an_operation_between_two_prevents_their_fusion_and_is_named():
    body, names, made = planned(lambda x, h: (wide := T.exp(x)) / T.sum(wide) + h)
    assert names == [("exp",), ("sum",), ("divide", "add")] or names[0] == ("exp",)
    assert ("exp", "divide", "`sum` has to be done between them") in refusals(body, made)
    assert ("exp", "sum", "a reduction, `sum`, reads it") in refusals(body, made)


def test_a_smaller_operand_is_broadcast_into_a_group_and_made_outside_of_it():
    def step(x, h):
        wide = T.exp(T.outer(x, x) + T.tanh(h))
        return T.sum(T.sqrt(wide), axis=0)

    body, names, made = planned(step)
    assert ("add", "exp", "sqrt") in [name[-3:] for name in names]
    assert ("tanh", "add", "another shape: (4,) and (4, 4)") in refusals(body, made)


def test_another_shape_prevents_fusion_except_for_numbers():
    def step(x, h):
        return T.exp(x[:1]) + x * T.exp(h[0])

    body, _, made = planned(step)
    assert refusals(body, made) == [
        ("index", "exp", "`index`, which is not elementwise, gives it"),
        ("exp", "add", "another shape: (1,) and (4,)"),
    ]


def test_readers_of_the_same_array_form_one_group():
    rows, _ = scanviz.scan(lambda x: [T.exp(x), T.tanh(x), T.sum(x)], X, name="loop")
    (found,) = loops(lower([X], rows, "test"))
    made = plan_loop(found, [(4,)], chains, EVERYTHING)
    assert [len(group) for group in made.groups] == [2, 1]
    (match,) = (fusion for fusion in made.fusions if fusion.refusal is None)
    assert match.register == found.body.inputs[0]


def test_fused_groups_keep_the_order_of_errors():
    def step(x, h):
        first = T.specify_shape(x, (7,))
        return T.exp(x) + T.specify_shape(h, (5,))[0] + first[0] * T.tanh(T.exp(x))

    body, _, made = planned(step)
    order = [k for group in made.groups for k in group if body.instructions[k].op.facts.raises]
    assert order == sorted(order) and len(order) > 3
    assert any(len(group) > 2 for group in made.groups)


def test_single_groups_keep_the_order_and_report_no_fusions():
    body, _, made = planned(lambda x, h: T.exp(x) * 2.0 + h, single)
    assert made.groups == tuple((k,) for k in range(len(body.instructions)))
    assert made.fusions == ()


@pytest.fixture
def arena(monkeypatch):
    monkeypatch.setattr(registry, "_factories", {"arena": ArenaTier})
    monkeypatch.setattr(registry, "_made", {})


def built(step, mode):
    rows, _ = scanviz.scan(step, X, H0, W, name="rnn")
    return scanviz.function([X, H0, W], rows, mode=mode)


def cell(x, h, w):
    gate = T.nnet.sigmoid(x + h)
    return gate * T.tanh(T.dot(h, w)) + (1.0 - gate) * h


def test_groups_and_refused_fusions_are_in_the_rewrite_history(arena):
    f = built(cell, "arena")
    assert not [rewrite for rewrite in f.rewrites if rewrite.rule == "fuse_elementwise"]  # no shapes were met
    np.testing.assert_allclose(
        f(ROWS, np.ones(3), np.eye(3)), built(cell, "reference")(ROWS, np.ones(3), np.eye(3))
    )
    (found,) = (rewrite for rewrite in f.rewrites if rewrite.rule == "fuse_elementwise")
    assert found.phase == "memory" and found.paths == (("rnn",),)
    assert "`rnn`: 7 operations done in 1 group, 6 results never in memory" in found.message
    whys = {refusal.why: refusal for refusal in f.rewrites.refusals("fuse_elementwise")}
    assert "`dot`, which is not elementwise, gives it" in whys
    assert whys["`dot`, which is not elementwise, gives it"].path == ("rnn",)
    assert "test_groups.py" in whys["`dot`, which is not elementwise, gives it"].source


def test_a_tier_of_single_instructions_has_no_groups_in_its_history():
    f = built(cell, "numpy")
    f(ROWS, np.ones(3), np.eye(3))
    assert not [rewrite for rewrite in f.rewrites if rewrite.rule == "fuse_elementwise"]
    assert not f.rewrites.refusals("fuse_elementwise")


def test_groups_are_made_only_where_the_rule_is_selected(arena):
    f = built(cell, Mode("arena").excluding("fuse_elementwise"))
    f(ROWS, np.ones(3), np.eye(3))
    (made,) = f.memory_plans().values()
    assert all(len(group) == 1 for group in made.groups) and made.fusions == ()
    assert not f.program.fuse and not from_bytes(to_bytes(f.program)).fuse
    assert structural_hash(f.program) != structural_hash(built(cell, "arena").program)


def test_groups_are_printed_as_such(arena):
    f = built(cell, "arena")
    f(ROWS, np.ones(3), np.eye(3))
    text = program_text(f.program, "rnn", notes_of(f.program, f.memory_plans()), lines=False)
    lines = [line.strip() for line in text.splitlines()]
    assert lines.count("as one") == 1
    assert lines[lines.index("as one") + 1].endswith("never in memory")
    assert "dot(" in lines[lines.index("as one") - 1]


def test_a_sum_over_no_axes_is_fused_and_stored_only_for_other_readers(arena):
    def built_for(mode):
        rows, _ = scanviz.scan(cell, X, H0, W, name="rnn")
        return scanviz.function([X, H0, W], scanviz.grad(T.sum(rows), [X, H0]), mode=mode)

    given = ROWS, np.ones(3), np.eye(3) * 0.5
    f = built_for("arena")
    for found, expected in zip(f(*given), built_for("reference")(*given), strict=True):
        np.testing.assert_allclose(found, expected)
    (backward,) = (loop for loop in loops(f.program) if loop.name == "grad_of_rnn")
    made, body = f.memory_plans()[backward.key], backward.body
    sums = {k for k, instruction in enumerate(body.instructions) if instruction.op.name == "sum_to_shape"}
    assert sums and any(sums & set(group) for group in made.groups if len(group) > 1)
