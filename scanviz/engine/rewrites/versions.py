"""A function's graph from one rewrite to the next, as the nodes that each rewrite changed.

A node is known by its node id, which it keeps when it is only rebuilt.  So a rewrite changes the nodes that it makes or takes
away, those that read something else afterwards, and those whose types or sizes are others because of that; not all that are
computed from these, though they are rebuilt too.  Within a sweep no graph is built but the last: each application is followed by
what it replaced (:func:`scanviz.engine.rewrites.settle.rebuilt` does it for all at once).  Where that does not lead to the very
graph that the sweep gave, its graphs are built one by one, which takes the square of the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from scanviz.engine.graph.in_turn import in_turn
from scanviz.engine.graph.nodes import Apply, Variable, rebuild
from scanviz.engine.graph.traversal import read_by, toposort
from scanviz.engine.rewrites.changes import Delta, NodeId
from scanviz.engine.rewrites.cost_history import SizeNumbers
from scanviz.engine.rewrites.rule_pass import Applied
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.variables import kind_of, taps_of

MOST_REBUILT = 20  # times as many nodes as there are, before an application is found by building its graph


class _Node:
    """A node of the present graph, or what wants its outputs."""

    __slots__ = ("apply", "id", "inputs", "live", "readers", "sizes")

    def __init__(self, apply: Apply | None, inputs: Sequence[_Ref] = ()) -> None:
        self.apply, self.inputs = apply, list(inputs)
        self.id: NodeId | None = None  # None as long as it is not in a version of the graph
        self.live = True
        self.readers: dict[_Node, None] = {}
        self.sizes: tuple[int, ...] = ()  # numbers of its inputs' types and sizes

    @property
    def now(self) -> Apply:
        """The node as it is now."""
        assert self.apply is not None
        return self.apply


_Ref = Variable | tuple[_Node, int]  # a leaf, or which output of a node


class _Work:
    """What one application comes to, while it is found out."""

    __slots__ = ("changed", "dirty", "loose")

    def __init__(self) -> None:
        # nodes that may be others now, with the ids that they had
        self.changed: dict[_Node, NodeId | None] = {}
        self.dirty: dict[_Node, None] = {}  # nodes whose inputs may be others
        self.loose: dict[_Node, None] = {}  # nodes that may have no reader any more

    def change(self, node: _Node) -> None:
        """Note that a node may be another one now."""
        if node.apply is not None:
            self.changed.setdefault(node, node.id)
        self.dirty[node] = None


class _UnclearError(Exception):
    """What a sweep did is not what its replacements say one by one."""


class Versions:
    """A graph that becomes another, time and again.

    Attributes
    ----------
    sizes : SizeNumbers
        What is known of the variables' sizes.
    occurrences : dict of Apply to int
        Which of the nodes with its node id an Apply is, where it is not the first.
    """

    def __init__(self) -> None:
        self.sizes = SizeNumbers()
        self.occurrences: dict[Apply, int] = {}
        self._nodes: dict[NodeId, _Node] = {}
        self._refs: dict[Variable, _Ref] = {}
        self._instead: dict[_Ref, _Ref] = {}  # what stands in the place of an output since the sweep began
        self._root = _Node(None)
        self._graph: Sequence[Variable] = ()

    def become(self, outputs: Sequence[Variable]) -> Delta:
        """Go to another graph, and return what is different there."""
        left: dict[int, list[_Node]] = {}
        for old in self._nodes.values():
            left.setdefault(old.now.node_id, []).append(old)
        self._refs, self._instead, self._graph = {}, {}, outputs
        changed: dict[_Node, NodeId | None] = {}
        for apply in toposort(outputs):
            node = _taken(left.get(apply.node_id, []), apply)
            if node is None:
                node = _Node(apply)
            if not self._settled(node, apply):
                changed[node] = node.id
        before = self._root.inputs
        self._root.inputs = [self._ref(output) for output in outputs]
        self._register(self._root)
        gone = [old for together in left.values() for old in together]
        return self._delta(gone, changed, before)

    def _settled(self, node: _Node, apply: Apply) -> bool:
        """Let a node be this Apply from now on, and return whether that makes no difference."""
        before, read, sizes = node.apply, node.inputs, node.sizes
        node.apply, node.inputs, node.readers = apply, [self._ref(variable) for variable in apply.inputs], {}
        node.sizes = self._sizes(apply.inputs)
        self._register(node)
        if before is None or node.id is None or sizes != node.sizes or not _same(before, apply):
            return False
        self.sizes.same(apply.outputs, before.outputs)
        return read == node.inputs

    def _register(self, node: _Node) -> None:
        """Let the outputs of a node stand for it, and those that it reads know it."""
        for ref in node.inputs:
            if not isinstance(ref, Variable):
                ref[0].readers[node] = None
        if node.apply is not None:
            self._refs.update((output, (node, k)) for k, output in enumerate(node.apply.outputs))
            if node.id is not None:
                self._note_occurrence(node.apply, node.id[1])

    def _note_occurrence(self, apply: Apply, occurrence: int) -> None:
        if occurrence:
            self.occurrences[apply] = occurrence
        else:
            self.occurrences.pop(apply, None)  # an Apply that was another one comes to be the first

    def _sizes(self, variables: Iterable[Variable]) -> tuple[int, ...]:
        return tuple(map(self.sizes.number, variables))

    def _ref(self, variable: Variable) -> _Ref:
        return self._present(self._refs.get(variable, variable))

    def _present(self, ref: _Ref) -> _Ref:
        """Return what stands in the place of an output now."""
        for _ in range(len(self._instead) + 1):
            other = self._instead.get(ref)
            if other is None:
                return ref
            ref = other
        raise _UnclearError

    def _delta(
        self, gone: Iterable[_Node], changed: dict[_Node, NodeId | None], before: Sequence[_Ref]
    ) -> Delta:
        """Return a difference, and give nodes that are new their ids: those of nodes of their node id that went, if there are any.

        Parameters
        ----------
        gone : iterable of _Node
            Nodes that are there no more.
        changed : dict of _Node to NodeId
            Nodes that are there, with the ids that they had.
        before : sequence of _Ref
            What was wanted of the graph.
        """
        left = [now for now in changed.values() if now is not None]
        for old in gone:
            if old.id is not None:
                left.append(old.id)
                del self._nodes[old.id]
                old.id = None
        for node in changed:
            if node.id is None:
                node_id, occurrence = node.now.node_id, 0
                while (node_id, occurrence) in self._nodes:
                    occurrence += 1
                node.id = (node_id, occurrence)
                self._nodes[node.id] = node
                self._note_occurrence(node.now, occurrence)
        new = tuple((node.id, node.now) for node in changed if node.id is not None)
        wanted = self._root.inputs
        others = [k for k, ref in enumerate(wanted) if k >= len(before) or ref != before[k]]
        return Delta(tuple(left), new, {k: _variable(wanted[k]) for k in others})

    def follow(self, sweep: Sequence[Applied]) -> list[Delta]:
        """Go through the graphs of a sweep's applications, and return what each of them changed."""
        if len(sweep) == 1:
            return [self.become(sweep[0].graph())]
        nodes, wanted = dict(self._nodes), self._root.inputs
        kept = [
            (node, (node.id, node.apply, node.inputs, dict(node.readers), node.sizes))
            for node in nodes.values()
        ]
        try:
            found = [self._applied(applied) for applied in sweep]
            rest = self.become(sweep[-1].graph())
            if not (rest.gone or rest.new or rest.outputs):
                return found
        except _UnclearError:
            pass
        self._nodes, self._root.inputs = nodes, wanted
        for node, state in kept:
            node.id, node.apply, node.inputs, node.readers, node.sizes = state
            node.live = True
        return [self.become(applied.graph()) for applied in sweep]

    def _applied(self, applied: Applied) -> Delta:
        """Change the graph as one application of a sweep does; all of them were found in the graph at its beginning."""
        work, wanted = _Work(), self._root.inputs
        if applied.step is not None:
            self._with_op(*applied.step, work)
        else:
            self._with_replaced(applied.replaced, work)
        gone = self._unused(work)
        self._rebuilt(work)
        changed = {node: work.changed[node] for node in _ordered(work.changed) if node.live}
        return self._delta(gone, changed, wanted)

    def _with_op(self, loop: Apply, make: Callable[[], Scan], work: _Work) -> None:
        """Give a loop another step."""
        ref = self._ref(loop.outputs[0])
        if isinstance(ref, Variable):
            raise _UnclearError
        node = ref[0]
        node.apply = rebuild(node.now, node.now.inputs, make())
        self._register(node)
        work.change(node)
        work.dirty.update(node.readers)

    def _with_replaced(self, replaced: Mapping[Variable, Variable], work: _Work) -> None:
        """Let others stand in the place of outputs."""
        pairs = [(self._ref(old), self._built(new, work)) for old, new in replaced.items()]
        fresh = set(work.changed)
        self._instead.update((old, new) for old, new in pairs if old != new)
        for old, _ in pairs:
            if isinstance(old, Variable):
                raise _UnclearError
            for node in list(old[0].readers):
                read = [self._present(ref) for ref in node.inputs]
                if read == node.inputs:
                    continue
                if node in fresh:
                    raise _UnclearError  # it reads what it stands in the place of
                self._disconnect(node, work)
                node.inputs = read
                self._connect(node, work)
                work.change(node)

    def _built(self, variable: Variable, work: _Work) -> _Ref:
        """Return what stands for a variable, with nodes for all that it is computed from and that there were none for."""

        def done(other: Variable) -> bool:
            return other.owner is None or other in self._refs

        # the first input's turn is first
        for value in in_turn(variable, lambda other: read_by(other)[::-1], done):
            apply = value.owner
            assert apply is not None  # what nothing computes is there
            node = _Node(apply, [self._ref(given) for given in apply.inputs])
            self._connect(node, work)
            work.change(node)
        return self._ref(variable)

    def _connect(self, node: _Node, work: _Work) -> None:
        """Let those that a node reads know it; those that were gone are there again."""
        waiting = [node]
        while waiting:
            node = waiting.pop()
            node.live = True
            self._register(node)
            for read in node.inputs:
                if not isinstance(read, Variable) and not read[0].live:
                    read[0].inputs = [self._present(ref) for ref in read[0].inputs]
                    waiting.append(read[0])
                    work.change(read[0])

    @staticmethod
    def _disconnect(node: _Node, work: _Work) -> None:
        for ref in node.inputs:
            if not isinstance(ref, Variable):
                ref[0].readers.pop(node, None)
                work.loose[ref[0]] = None

    def _unused(self, work: _Work) -> list[_Node]:
        """Return the nodes that nothing reads any more."""
        gone: list[_Node] = []
        waiting = [*work.changed, *work.loose]
        while waiting:
            node = waiting.pop()
            if node.live and not node.readers and node.apply is not None:
                node.live = False
                gone.append(node)
                self._disconnect(node, work)
                waiting += [ref[0] for ref in node.inputs if not isinstance(ref, Variable)]
        return gone

    def _rebuilt(self, work: _Work) -> None:
        """Rebuild nodes over what they read now, and those that read them as far as types or sizes become others."""
        waiting, left = deque(work.dirty), MOST_REBUILT * (len(self._nodes) + 100)
        while waiting:
            node = waiting.popleft()
            if node.apply is None or not node.live:
                continue
            left -= 1
            if not left:
                raise _UnclearError
            before, numbers = node.apply, self._sizes(node.apply.outputs)
            read = [_variable(ref) for ref in node.inputs]
            if any(a is not b for a, b in zip(read, before.inputs, strict=True)):
                node.apply = rebuild(before, read)
                self._register(node)
            sizes, known = self._sizes(read), node.sizes
            node.sizes = sizes
            if sizes == known and _same(before, node.apply):
                self.sizes.same(node.apply.outputs, before.outputs)
            work.change(node)
            if self._sizes(node.apply.outputs) != numbers:
                waiting.extend(node.readers)


def _variable(ref: _Ref) -> Variable:
    """Return what stands for an output now."""
    return ref if isinstance(ref, Variable) else ref[0].now.outputs[ref[1]]


def _ordered(nodes: Iterable[_Node]) -> list[_Node]:
    """Return nodes, each after those of them that it reads."""
    meant = dict.fromkeys(nodes)
    done: dict[_Node, None] = {}
    for first in meant:
        stack = [first]
        begun: set[_Node] = set()
        while stack:
            node = stack[-1]
            before = [ref[0] for ref in node.inputs if not isinstance(ref, Variable)]
            missing = [node for node in before if node in meant and node not in done]
            if node in done or not missing:
                stack.pop()
                done[node] = None
            elif node in begun:
                raise _UnclearError  # it reads its own result
            else:
                begun.add(node)
                stack += missing
    return list(done)


def _taken(candidates: list[_Node], apply: Apply) -> _Node | None:
    """Take the node that an Apply is out of those with its node id, None if it is new."""
    if not candidates:
        return None
    found = candidates[0]
    if len(candidates) > 1:  # a loop, and it with more results
        found = max(
            candidates, key=lambda candidate: (candidate.apply is apply, candidate.now.op is apply.op)
        )
    candidates.remove(found)
    return found


def _same(one: Apply, other: Apply) -> bool:
    """Return whether two Applies of a node are alike but for what they read."""
    if [(output.type, output.name) for output in one.outputs] != [
        (output.type, output.name) for output in other.outputs
    ]:
        return False
    if isinstance(one.op, Scan) and isinstance(other.op, Scan):
        return one.op is other.op or _described(one.op) == _described(other.op)
    return one.op == other.op


def _described(op: Scan) -> list[object]:
    """Return what a loop is, up to the very variables of its step."""
    found: list[object] = [op.settings, *op.inner_inputs, *op.inner_outputs]
    for variable in op.variables:
        found.append((kind_of(variable), variable.name, *taps_of(variable), getattr(variable, "keep", None)))
    return found
