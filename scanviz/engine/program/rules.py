"""Rules about a Program: memory that is shared instead of copied.  Phase ``memory``, recorded like rules about graphs.

A rule takes a program and gives the program with its change made, and one line a change.  It is applied to the bodies of
loops first.  ``fuse_elementwise`` and ``reuse_buffers`` are different: what is done as one, and which temporaries share a buffer,
depends on shapes, so it is planned when these are met (:mod:`scanviz.engine.program.plan`).  Whether that may be done stands in the
Program, and what was done is read of the plans (:mod:`scanviz.engine.program.planned`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from operator import is_not

from msgspec.structs import replace as with_fields

from scanviz.engine.ops.index import STATE_HISTORY
from scanviz.engine.program.instructions import (
    AnyInstruction,
    Instruction,
    LoopInstruction,
    Program,
    with_programs,
)
from scanviz.engine.program.lifetimes import taken_over, with_frees
from scanviz.engine.program.rows_over import laid_backwards, rows_over
from scanviz.engine.rewrites.pipeline import Application
from scanviz.engine.rewrites.rule import named, program_rule
from scanviz.engine.rewrites.selection import Selection

Changed = tuple[Sequence[AnyInstruction], list[str]]  # other instructions, and one line for each change
WHEN_PLANNED = frozenset(("fuse_elementwise", "reuse_buffers"))
OUTERMOST = frozenset(("rows_over_sequences",))  # arrays of a step stay from one to the next


def apply_memory_rules(program: Program, selection: Selection) -> tuple[Program, list[Application]]:
    """Return a program after the selected rules, with an application for each that changed something."""
    from scanviz.engine.rewrites.families import rules_of  # when it is used: it imports files of rules

    found: list[Application] = []
    for rule in rules_of("memory"):
        begun, messages = time.perf_counter_ns(), list[str]()
        if selection.has(rule):
            program = _applied(program, rule.act, messages, rule.name not in OUTERMOST)
        elif rule.name in WHEN_PLANNED:
            program = without(program, rule.name)
        if messages:
            text, elapsed = "; ".join(messages), time.perf_counter_ns() - begun
            where = len(found), "memory", rule.name, rule.where
            found.append(Application(*where, text, len(messages), ((),), elapsed))
    return program, found


def _applied(
    program: Program, act: Callable[[Program], Changed], messages: list[str], inside: bool
) -> Program:
    """Apply a rule to the bodies of a program's loops and branches, if it is for these, and then to it."""
    if inside:
        fresh = [
            one
            if isinstance(one, Instruction)
            else with_programs(one, lambda body: _applied(body, act, messages, inside))
            for one in program.instructions
        ]
        if any(map(is_not, fresh, program.instructions)):
            program = with_fields(program, instructions=tuple(fresh))
    changed, own = act(program)
    if not own:
        return program
    messages += own
    return with_fields(program, instructions=tuple(with_frees(changed, program.outputs, program.inputs)))


@program_rule(name="share_state_history", tags=("fusion",))
def share_state_history(program: Program) -> Changed:
    """Let a loop give the rows of a state with the initial ones in front: its buffer holds both, nothing is copied."""
    makers = {
        slot.result: (instruction.key, k, slot)
        for instruction in program.instructions
        if isinstance(instruction, LoopInstruction)
        for k, slot in enumerate(instruction.states)
    }
    given: dict[int, dict[int, int]] = {}  # key of a loop → its state → register of the whole history
    gone: set[int] = set()
    for place, instruction in enumerate(program.instructions):
        if instruction.op.declaration is not STATE_HISTORY or instruction.inputs[0] not in makers:
            continue
        key, k, slot = makers[instruction.inputs[0]]
        whole = slot.kind != "mitmot" and slot.keep_last is None
        same = slot.outer == instruction.inputs[1] and slot.offset == instruction.op.parameters.offset
        if whole and same and k not in given.get(key, {}):
            given.setdefault(key, {})[k] = instruction.outputs[0]
            gone.add(place)
    fresh: list[AnyInstruction] = []
    messages: list[str] = []
    for place, instruction in enumerate(program.instructions):
        if isinstance(instruction, LoopInstruction) and instruction.key in given:
            rows = given[instruction.key]
            slots = enumerate(instruction.states)
            states = tuple(with_fields(slot, history=rows.get(k, slot.history)) for k, slot in slots)
            outputs = (*instruction.outputs, *rows.values())
            names = named(instruction.states[k].name for k in rows)
            messages.append(
                f"`{instruction.name}` gives {names} with the initial rows in front, without a copy"
            )
            fresh.append(with_fields(instruction, states=states, outputs=outputs))
        elif place not in gone:
            fresh.append(instruction)
    return fresh, messages


@program_rule(name="ScanInplaceOptimizer", tags=("scan", "inplace"))
def scan_inplace(program: Program) -> Changed:
    """Let a loop work in the array that it starts from, where nothing else needs that."""
    fresh = taken_over(program.instructions, program.outputs, program.inputs)
    return fresh, [
        f"`{new.name}` works in the array that it starts from: {named(slot.name for slot in new.states if slot.in_place)}"
        for new, old in zip(fresh, program.instructions, strict=True)
        if new is not old and isinstance(new, LoopInstruction)
    ]


@program_rule(name="lay_rows_backwards", tags=("scan",))
def lay_rows_backwards(program: Program) -> Changed:
    """Let a loop lay down rows from the last to the first that are read in this order."""
    fresh, turned = laid_backwards(program.instructions, program.outputs)
    return fresh, [f"`{loop}` lays down `{rows}` from the last row to the first" for loop, rows in turned]


@program_rule(name="rows_over_sequences", tags=("scan", "inplace"))
def rows_over_sequences(program: Program) -> Changed:
    """Let a loop write each row of a result over the row of a sequence that the step has read, where nothing else needs that."""
    if not any(isinstance(one, LoopInstruction) and one.sequences for one in program.instructions):
        return program.instructions, []
    fresh, over = rows_over(program)
    return fresh, [
        f"`{loop}` may write `{output}` over the rows of `{rows}`, which nothing reads again"
        for loop, output, rows in over
    ]


@program_rule(name="fuse_elementwise", tags=("fusion",))
def fuse_elementwise(program: Program) -> Changed:
    """Let a tier that compiles do elementwise operations of one shape as one, with no memory between them."""
    return program.instructions, []


@program_rule(name="reuse_buffers", tags=("reuse",))
def reuse_buffers(program: Program) -> Changed:
    """Let temporaries of a step share buffers, and operations write over what nothing reads again."""
    return program.instructions, []


def without(program: Program, rule: str) -> Program:
    """Return a program whose plans do not use a memory rule, and neither do those of programs inside it."""
    fresh = [with_programs(instruction, partial(without, rule=rule)) for instruction in program.instructions]
    if rule == "reuse_buffers":
        fresh = [
            with_fields(loop, reuse=False) if isinstance(loop, LoopInstruction) else loop for loop in fresh
        ]
    fuse = program.fuse and rule != "fuse_elementwise"
    return with_fields(program, instructions=tuple(fresh), fuse=fuse)
