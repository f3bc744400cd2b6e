"""Random numbers of all steps as one draw before the loop: the graph, the results, and draws that stay."""

import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from scanviz.engine.scan.variables import kind_of
from scanviz.testing import rewritten_by
from tests.engine.rewrites.test_push_out import loop_in, operations

N = T.scalar("n", dtype="int64")
FEW = T.vector("few")


def walked(draw, n_steps=4, **options):
    """Return the rows and the last state of a loop whose step draws from its carried random state."""
    state = T.random.random_state(5)

    def step(h, state, few):
        state, value = draw(state, few, h)
        results = [0.5 * h + T.sum(T.cast(value, "float64")), state]
        return (results, {}, scanviz.until(h > 9.0)) if options.get("until") else results

    (h, last), _ = scanviz.scan(step, None, [T.zeros(()), state], [FEW], n_steps, name="walk")
    return h, last, state


def reasons(*outputs):
    history = RewriteHistory(list(outputs), Selection("none").including("batch_draws"))
    return [refusal.why for refusal in history.refusals("batch_draws")]


def test_a_loop_reads_the_numbers_of_its_steps_as_a_sequence():
    h, last, _ = walked(lambda s, few, h: T.random.normal(s, size=3))
    changed = rewritten_by("batch_draws", [h, last])
    assert "draw_normal" not in operations(loop_in(changed))
    assert sorted(kind_of(each) for each in loop_in(changed).variables if "few" not in each.name) == [
        "sequence",
        "sitsot",
    ]
    assert changed[1].owner.op.name == "draw_normal"


@pytest.mark.parametrize(
    "draw, why",
    [
        (lambda s, few, h: T.random.permutation(s, 4), "depend on one another"),
        (lambda s, few, h: T.random.normal(s, h), "changes from step to step"),
        (lambda s, few, h: T.random.normal(s, size=T.cast(h, "int64")), "is not known before `walk`"),
        (lambda s, few, h: T.random.normal(s, few), "the parameter `few` of"),
        (lambda s, few, h: T.random.normal(s, size=5000), "more than 4096 numbers"),
    ],
)
def test_draws_stay_where_their_place_among_all_numbers_or_their_gain_is_not_known(draw, why):
    h, last, _ = walked(draw)
    (found,) = reasons(h, last)
    assert why in found, found


def test_a_loop_that_may_end_early_draws_step_by_step():
    (found,) = reasons(*walked(lambda s, few, h: T.random.normal(s), until=True)[:2])
    assert "may end early" in found


def test_memory_bounds_how_much_is_drawn_before():
    few = walked(lambda s, few, h: T.random.normal(s, size=4000), 10**6)
    (found,) = reasons(*few[:2])
    assert "the numbers of all steps would take 32000000000 bytes" in found
    unknown = walked(lambda s, few, h: T.random.normal(s), N)
    (found,) = reasons(unknown[0][-1], unknown[1])
    assert "may take much more memory than the loop's inputs and results together" in found
    assert not reasons(*unknown[:2]), "as many rows are kept anyway"
