"""Laws of compared profiles: matching of edited programs, and merging without loss."""

from typing import TypeVar

from hypothesis import strategies as st
from msgspec.structs import replace

from scanviz.profiler.compare.comparison import compare
from scanviz.profiler.compare.figures import Figure
from scanviz.profiler.compare.matching import aligned_operations, head
from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.storage.check import check
from scanviz.record.storage.merging import merged
from scanviz.record.summary.run_breakdown import parts_of
from scanviz.record.values import SourceRecord
from tests.laws.law import law
from tests.laws.run_breakdown import records

Placed = TypeVar("Placed", FunctionRecord, LoopRecord, OperationRecord)
_FUNCTIONS = ("tanh", "exp", "sum")
_NEW = "erf"  # what an edit adds is none of these


@st.composite
def edited_steps(draw: st.DrawFn) -> tuple[list[Figure], list[Figure], list[int | None]]:
    """Draw the operations of a step, those of an edited one, and for each of these its place in the first, None if it is new."""
    old = [
        _operation(
            f"{draw(st.sampled_from(_FUNCTIONS))}({draw(st.sampled_from('ab'))})", draw(st.sampled_from("uv"))
        )
        for _ in range(draw(st.integers(0, 8)))
    ]
    new, places = list[Figure](), list[int | None]()
    file = draw(st.sampled_from(["rnn.py", "other.py"]))
    for place, figure in enumerate(old):
        if draw(st.integers(0, 4)) == 0:
            new.append(_operation(f"{_NEW}({place})", draw(st.sampled_from("uv")), file))
            places.append(None)
        reads = f"edited {place}" if draw(st.integers(0, 3)) == 0 else figure.name.partition("(")[2][:-1]
        text = f"edited {place}" if draw(st.booleans()) else _text(figure)
        new.append(_operation(f"{head(figure.name)}({reads})", text, file))
        places.append(place)
    return old, new, places


def _operation(label: str, text: str, file: str = "rnn.py") -> Figure:
    return Figure("operation", (label,), (), label, (), SourceRecord(file, 1, text), 1, None)


def _text(figure: Figure) -> str:
    return figure.source.text if figure.source is not None else ""


@law(sample=150, steps=edited_steps())
def an_edited_step_keeps_its_operations(
    steps: tuple[list[Figure], list[Figure], list[int | None]],
) -> None:
    """Operations with an edited line, file or input match their old ones in order; added operations are new."""
    old, new, places = steps
    pairs = aligned_operations(old, new)
    assert pairs == [(place, k) for k, place in enumerate(places) if place is not None], (old, new)


@law(sample=40, record=records(), lines=st.integers(0, 9))
def a_program_in_another_file_is_the_same_program(record: ProfileRecord, lines: int) -> None:
    """A copy of a program under another name, with moved lines, has the same functions, loops and operations."""
    record = replace(record, repeats=())
    copy = replace(
        record,
        script="copy.py",
        functions=tuple(_copied(function, lines) for function in record.functions),
        loops=tuple(_copied(loop, lines) for loop in record.loops),
    )
    rows = compare(record, copy).rows
    assert {row.verdict for row in rows} <= {"same", "not measured"}, rows
    assert len(rows) == len(compare(record, record).rows)


def _copied(thing: Placed, lines: int) -> Placed:
    source = thing.source
    if source is None:
        moved = None
    else:
        moved = replace(source, file=f"copy_of_{source.file}", line=source.line + lines)
    if isinstance(thing, OperationRecord):
        return replace(thing, source=moved)
    name = thing.name
    if source is not None and moved is not None:
        name = name.replace(f"{source.file}:{source.line}", f"{moved.file}:{moved.line}")
    operations = tuple(_copied(operation, lines) for operation in thing.operations)
    return replace(thing, source=moved, name=name, operations=operations)


@law(sample=40, some=st.lists(records(), min_size=1, max_size=3))
def a_merged_profile_keeps_everything_of_its_origins(some: list[ProfileRecord]) -> None:
    """A merged profile has the functions, loops and links of its origins, and its parts sum to the whole."""
    whole = merged([(f"origin {k}", record) for k, record in enumerate(some)])
    check(whole)
    parts = parts_of(whole)
    assert sum(part.own_ns for part in parts) == parts[0].total_ns
    functions = iter(whole.functions)
    for k, record in enumerate(some):
        for function in record.functions:
            found = next(functions)
            assert found.origin == f"origin {k}"
            assert (found.calls, found.total_ns, found.source) == (
                function.calls,
                function.total_ns,
                function.source,
            )
            assert _tree(whole, found.key) == _tree(record, function.key)
    assert next(functions, None) is None
    assert whole.wall_ns == sum(record.wall_ns for record in some)


def _tree(record: ProfileRecord, function: int, parent: int | None = None) -> list[object]:
    """Return the loops in a function or loop, with their contents, by their times and the places of their operations."""
    return [
        (loop.name, loop.steps, loop.total_ns, _links(record, loop), _tree(record, function, loop.key))
        for loop in record.loops
        if loop.function == function and loop.parent == parent
    ]


def _links(record: ProfileRecord, loop: LoopRecord) -> list[object]:
    """Return the operations of a loop, and the loops that they name."""
    steps = {one.key: one.steps for one in record.loops}
    linked = [one.loop and steps[one.loop] for one in loop.operations]
    forward = None if loop.gradient_of is None else steps.get(loop.gradient_of)
    return [*(operation.label for operation in loop.operations), *linked, forward]
