"""Memory is planned: what does not fit is kept smaller, then left out."""

from scanviz.engine.program.instructions import LoopInstruction
from scanviz.profiler.recording.functions_met import Budget, function_size, loop_size
from scanviz.profiler.recording.loop_aggregate import totals_only
from tests.profiler.events import nested
from tests.profiler.records import RNN


def test_a_loop_reduced_to_totals_loses_the_description_of_its_step() -> None:
    kept = totals_only(RNN)
    assert (kept.name, kept.operations, kept.variables, kept.var_mappings) == ("rnn", (), (), {})


def test_sizes_are_estimated_before_descriptions_are_written() -> None:
    program = nested().program
    (loop,) = (each for each in program.instructions if isinstance(each, LoopInstruction))
    assert function_size(program) >= 700 * len(program.instructions)
    assert loop_size(loop) >= 700 * len(loop.body.instructions) + 800 * len(loop.states)


def test_a_budget_is_never_exceeded() -> None:
    budget, taken = Budget(10_000), 0
    for _ in range(100):
        taken += 700 * budget.take(700)
    assert taken <= 8_750
    for _ in range(100):
        taken += 100 * budget.take(100, last=True)
    assert 9_900 <= taken <= 10_000
