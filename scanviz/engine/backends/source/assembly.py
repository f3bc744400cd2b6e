"""Assemble a function from the lines of a loop (:mod:`scanviz.engine.backends.source.loop`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scanviz.engine.backends.source.compiled import NOTE_FAILURE, CompiledSource, compile_source
from scanviz.engine.program.plan import wraps
from scanviz.engine.runtime.calling import DONE

if TYPE_CHECKING:
    from scanviz.engine.backends.source.loop import SourceWriter


def assembled(writer: SourceWriter) -> CompiledSource:
    """Compile the function of a loop whose lines are written."""
    lines: list[str] = []
    where: dict[int, int] = {}
    name = writer.emitter.fresh(f"run_{writer.loop.name}")
    lines.append(f"def {name}(arena, first, last):")
    lines.append("    try:")
    lines.extend(f"        {text}" for text in _taken(writer))
    put_steps(writer, lines, where)
    lines += ["    except Exception as error:", f"        return {NOTE_FAILURE}(arena, first, error)"]
    lines.extend(f"    {text}" for text in writer.leave("last"))
    lines.append(f"    return last, {DONE}, -1")
    return compile_source(lines, name, writer.emitter, where, f"loop {writer.loop.name}")


def put_steps(writer: SourceWriter, lines: list[str], where: dict[int, int]) -> None:
    """Append the lines of the steps and before them; ``where`` maps lines to instructions."""
    indent = " " * 8
    opened = ["counted, ticks = arena.record"] if writer.variant == "steps" else []
    lines.extend(f"{indent}{text}" for text in [*opened, *_fixed_arrays(writer), *writer.before])
    if writer.once:
        lines.append(f"{indent}t = {writer.first}")  # the step that an error here reports
    for text, index in writer.once:
        lines.append(f"{indent}{text}")
        where[len(lines)] = index
    lines.append(f"{indent}for {_header(writer)}:")
    for text, instruction in writer.body or [("pass", None)]:
        lines.append(f"{indent}    {text}")
        if instruction is not None:
            where[len(lines)] = instruction


def _fixed_arrays(writer: SourceWriter) -> list[str]:
    """Return the lines that make 0-d arrays of invariant scalars that ufuncs read."""
    emitter = writer.emitter
    wanted = [
        (emitter.name(number), name) for number, name in emitter.arrays.items() if number in emitter.fixed
    ]
    return [f"{name} = {writer.as_array()}({scalar})" for scalar, name in wanted]


def _taken(writer: SourceWriter) -> list[str]:
    """Return the lines that unpack the arena."""
    states, outputs = writer.row_stores[: len(writer.states)], writer.row_stores[len(writer.states) :]
    parts = (
        (writer.sequences, "sequences"),
        ([writer.emitter.name(slot.read) for slot in writer.loop.carries], "carried"),
        ([writer.emitter.name(slot.inner) for slot in writer.loop.non_sequences], "fixed"),
        (writer.buffers, "buffers"),
        (states, "states"),
        (outputs, "outputs"),
    )
    lines = [f"{', '.join(names)}, = arena.{source}" for names, source in parts if names]
    for rows, row_store in zip([*writer.states, *writer.outputs], writer.row_stores, strict=True):
        lines.append(f"{rows} = {row_store}.array")
    for slot, size, row_store in zip(writer.loop.states, writer.sizes, states, strict=True):
        lines += [f"{size} = {row_store}.size"] if wraps(slot) else []
    for output, size, row_store in zip(writer.loop.step_outputs, writer.output_sizes, outputs, strict=True):
        lines += [f"{size} = {row_store}.size or 1"] if output.keep_last is not None else []
    if writer.variant == "ops":
        lines.append("record = arena.record")
    return [*lines, "probe = arena.probe"] if writer.runners else lines


def _header(writer: SourceWriter) -> str:
    """Return the head of the ``for`` loop; in the steps variant its iteration reads the clock."""
    counted = [("t", f"range({writer.first}, last)")]
    if writer.variant == "steps":
        # a tick follows the last step too
        counted = [("_", "ticks"), ("t", "counted")]
    if len(counted) == 1 and not writer.iterated:
        return f"t in range({writer.first}, last)"
    names = ", ".join(name for name, _ in (*counted, *writer.iterated))
    sources = ", ".join(source for _, source in (*counted, *writer.iterated))
    return f"{names} in zip({sources})"
