"""How to apply every declared operation to something at hand, for laws that ask all of them: one row an operation.

A row takes a :class:`ValuePool`, which gives operands (earlier results of a random graph, or new inputs), and returns a variable
that the operation made.  It may raise a ScanvizError, or :class:`UnfitError`, where nothing at hand fits.  Those without a row
are in :data:`WITHOUT`, with the reason.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from scanviz import tensor as T
from scanviz.engine.graph.declaration import Declaration, Op, declarations
from scanviz.engine.graph.nodes import Variable, build_one, tensor_type
from scanviz.engine.graph.types import BOOLEAN, DTYPES, FLOATS, INTEGERS
from scanviz.engine.ops import control, creation, decompose, factorise, index, linalg, reduce, shape, sort
from scanviz.engine.ops.assign import ASSIGN, inc_subtensor, set_subtensor
from scanviz.engine.ops.control import IFELSE, ifelse
from scanviz.engine.ops.elementwise import CAST, cast
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.index import INDEX, LAST_ROW, STATE_HISTORY
from scanviz.engine.ops.join import CONCATENATE, REPEAT, concatenate, repeat
from scanviz.engine.ops.neural import LOG_SOFTMAX, SOFTMAX, log_softmax, softmax
from scanviz.engine.ops.shape import BROADCAST_SIZE
from scanviz.engine.ops.size_checks import FIRST_ROWS, SPECIFY_SHAPE, first_rows, specify_shape


class UnfitError(Exception):
    """Nothing at hand fits an operation."""


class ValuePool(Protocol):
    """Where operands come from."""

    def choose(self, options: Sequence[Any]) -> Any:
        """Return one of some options."""

    def array(self, ranks: Sequence[int] = (0, 1, 2), dtypes: Sequence[str] = DTYPES) -> Variable:
        """Return an array of one of the ranks and dtypes; raise UnfitError where there is none."""

    def operand(self) -> Any:
        """Return an operand of an elementwise operation: an array, or a number."""

    def matrix(self) -> Variable:
        """Return a square matrix that can be inverted and factorised; raise UnfitError where there is none."""


Row = Callable[[ValuePool], Variable]
ROWS: dict[Declaration, Row] = {}
WITHOUT: dict[str, str] = {
    "scan": "loops have laws of their own",
    "subgraph": "named subgraphs have a law of their own",
    **dict.fromkeys(("state_words", "words_state"), "words of random states, not numbers"),
    **{draw.name: "draws have laws of their own" for draw in declarations() if draw.name.startswith("draw_")},
    **dict.fromkeys(("print", "assert"), "what they do beside giving a value has laws of its own"),
    "state_shape": "a check of a loop that was unrolled or made shorter",
    **dict.fromkeys(("lu_factor", "lu_solve", "cholesky_solve"), "parts of solves, tested with them"),
}


def _axis(pool: ValuePool, ndim: int) -> int:
    if ndim == 0:
        raise UnfitError
    chosen: int = pool.choose(range(-ndim, ndim))
    return chosen


def _subsets(ndim: int) -> list[list[int]]:
    return [
        list(combination) for k in range(ndim + 1) for combination in itertools.combinations(range(ndim), k)
    ]


def _shuffled(pool: ValuePool, items: Sequence[Any]) -> list[Any]:
    return list(pool.choose(list(itertools.permutations(items))))


def _elementwise(declaration: ElementwiseDeclaration) -> Row:
    if declaration.arity == 1:
        return lambda pool: declaration(pool.array())
    return lambda pool: declaration(*(pool.operand() for _ in range(declaration.arity)))


def _reduction(declaration: reduce.ReductionDeclaration) -> Row:
    def row(pool: ValuePool) -> Variable:
        given = pool.array()
        ndim = tensor_type(given).ndim
        axes = pool.choose([None, *_subsets(ndim)])
        wanted = pool.choose([None, None, *DTYPES]) if declaration.name in ("sum", "prod") else None
        if wanted is not None and tensor_type(given).dtype in FLOATS and wanted not in FLOATS:
            raise UnfitError  # casts of floats out of range are machine-dependent
        return declaration(given, axes, keepdims=pool.choose((False, True)), dtype=wanted)

    return row


def _along(function: Callable[..., Variable], dtypes: Sequence[str] = DTYPES) -> Row:
    def row(pool: ValuePool) -> Variable:
        given = pool.array((1, 2), dtypes)
        return function(given, _axis(pool, tensor_type(given).ndim))

    return row


def _pair(function: Callable[..., Variable], ranks: Sequence[int]) -> Row:
    return lambda pool: function(pool.array(ranks), pool.array(ranks))


def _cast(pool: ValuePool) -> Variable:
    return cast(pool.array(), pool.choose(DTYPES))


def _sum_to_shape(pool: ValuePool) -> Variable:
    given = pool.array((1, 2))
    sizes = [
        T.constant(1) if pool.choose((False, True)) else shape.dimension(given, axis)
        for axis in range(tensor_type(given).ndim)
    ]
    return build_one(Op(reduce.SUM_TO_SHAPE), given, *sizes)


def _dimension(pool: ValuePool) -> Variable:
    given = pool.array((1, 2))
    return shape.dimension(given, _axis(pool, tensor_type(given).ndim))


def _broadcast_size(pool: ValuePool) -> Variable:
    sizes = [_dimension(pool), _dimension(pool) if pool.choose((False, True)) else T.constant(1)]
    return build_one(Op(BROADCAST_SIZE), *_shuffled(pool, sizes))


def _make_vector(pool: ValuePool) -> Variable:
    return shape.stack_scalars([pool.array((0,)) for _ in range(pool.choose((1, 2, 3)))])


def _sizes(given: Variable) -> list[Variable]:
    return [shape.dimension(given, axis) for axis in range(tensor_type(given).ndim)]


def _reshape(pool: ValuePool) -> Variable:
    given = pool.array()
    sizes: list[Any] = _shuffled(pool, _sizes(given))
    if pool.choose((False, True)):
        sizes = [-1, *sizes[1:]] if sizes and pool.choose((False, True)) else [-1]
    return shape.reshape(given, sizes)


def _specify_shape(pool: ValuePool) -> Variable:
    given = pool.array()
    return specify_shape(given, _sizes(given))


def _dimshuffle(pool: ValuePool) -> Variable:
    given = pool.array()
    order: list[Any] = _shuffled(pool, range(tensor_type(given).ndim))
    if len(order) < 2 and pool.choose((False, True)):
        order.insert(pool.choose(range(len(order) + 1)), "x")
    return shape.dimshuffle(given, *order)


def _alloc(pool: ValuePool) -> Variable:
    value, like = pool.array((0, 1)), pool.array((1, 2))
    return shape.alloc(value, _sizes(like))


def _key(pool: ValuePool, ndim: int) -> tuple[Any, ...]:
    parts = [slice(None), slice(None, None, -1), slice(1, None), slice(None, 1), 0, -1]
    return tuple(pool.choose(parts) for _ in range(ndim))


def _index(pool: ValuePool) -> Variable:
    given = pool.array((1, 2))
    return index.getitem(given, _key(pool, tensor_type(given).ndim))


def _assign(pool: ValuePool) -> Variable:
    given = pool.array((1, 2))
    part = index.getitem(given, _key(pool, tensor_type(given).ndim))
    write = pool.choose([set_subtensor, inc_subtensor])
    made: Variable = write(part, pool.array((0, 1, 2), (tensor_type(given).dtype,)))
    return made


def _last_row(pool: ValuePool) -> Variable:
    given = pool.array((1, 2))
    kind = tensor_type(given)
    return index.last_row(given, pool.array((kind.ndim - 1,), (kind.dtype,)))


def _first_rows(pool: ValuePool) -> Variable:
    given = pool.array((1, 2))
    return first_rows(given, shape.dimension(given, 0), "rows", "loop", None)


def _state_history(pool: ValuePool) -> Variable:
    given = pool.array((1, 2))
    kind = tensor_type(given)
    return index.state_history(given, pool.array((kind.ndim - 1,), (kind.dtype,)), 1)


def _ifelse(pool: ValuePool) -> Variable:
    first = pool.array()
    chosen: Variable = ifelse(
        pool.array((0,)), first, pool.array((tensor_type(first).ndim,), (tensor_type(first).dtype,))
    )
    return chosen


def _concatenate(pool: ValuePool) -> Variable:
    first = pool.array((1, 2))
    ndim = tensor_type(first).ndim
    return concatenate([first, pool.array((ndim,))], _axis(pool, ndim))


def _repeat(pool: ValuePool) -> Variable:
    given = pool.array((1, 2))
    return repeat(given, pool.choose((0, 1, 2)), _axis(pool, tensor_type(given).ndim))


def _rows_of_products(pool: ValuePool) -> Variable:
    """Return batched_dot of stacks of matrices."""
    first, second = (shape.dimshuffle(pool.array((2,)), 0, 1, "x") for _ in range(2))
    return linalg.batched_dot(first, shape.dimshuffle(second, 0, 2, 1))


def _arange(pool: ValuePool) -> Variable:
    return creation.arange(_dimension(pool))


def _eye(pool: ValuePool) -> Variable:
    return creation.eye(_dimension(pool), dtype=pool.choose(DTYPES))


def _diagonal_of(function: Callable[..., Variable], rank: int) -> Row:
    return lambda pool: function(pool.array((rank,)), pool.choose((0, -1, 1)))


def _triangle(pool: ValuePool) -> Variable:
    return creation.triangle(pool.array((2,)), pool.choose((0, -1, 1)), pool.choose((False, True)))


def _solve(pool: ValuePool) -> Variable:
    return factorise.solve(pool.matrix(), pool.array((1, 2), FLOATS))


def _lstsq(pool: ValuePool) -> Variable:
    x, _, _, values = decompose.lstsq(pool.matrix(), pool.array((1, 2), FLOATS))
    chosen: Variable = pool.choose((x, values))
    return chosen


def _solve_triangular(pool: ValuePool) -> Variable:
    return factorise.solve_triangular(pool.matrix(), pool.array((1, 2), FLOATS), lower=True)


def _searchsorted(pool: ValuePool) -> Variable:
    return sort.searchsorted(sort.sort(pool.array((1,))), pool.array(), pool.choose(("left", "right")))


def _bincount(pool: ValuePool) -> Variable:
    numbers = sort.argsort(pool.array((1,)))
    weights = pool.choose((None, None, 1.5))
    return sort.bincount(
        numbers, None if weights is None else cast(numbers, "float64") * weights, pool.choose((0, 4))
    )


def _tensordot(pool: ValuePool) -> Variable:
    return linalg.tensordot(pool.array((2,)), pool.array((2,)), pool.choose((0, 1, 2)))


for _each in declarations():
    if isinstance(_each, ElementwiseDeclaration):
        ROWS[_each] = _elementwise(_each)
    elif isinstance(_each, reduce.ReductionDeclaration):
        ROWS[_each] = _reduction(_each)
ROWS.update(
    {
        CAST: _cast,
        control.DISCONNECTED_GRAD: lambda pool: control.disconnected_grad(pool.array()),
        control.ZERO_GRAD: lambda pool: control.zero_grad(pool.array()),
        control.GRAD_CLIP: lambda pool: control.grad_clip(pool.array(), -1.0, 1.0),
        reduce.ARGMAX: _along(reduce.argmax),
        reduce.ARGMIN: _along(reduce.argmin),
        reduce.CUMSUM: _along(reduce.cumsum),
        reduce.CUMPROD: _along(reduce.cumprod),
        reduce.SUM_TO_SHAPE: _sum_to_shape,
        shape.DIMENSION: _dimension,
        BROADCAST_SIZE: _broadcast_size,
        shape.MAKE_VECTOR: _make_vector,
        shape.RESHAPE: _reshape,
        SPECIFY_SHAPE: _specify_shape,
        shape.DIMSHUFFLE: _dimshuffle,
        shape.ALLOC: _alloc,
        INDEX: _index,
        ASSIGN: _assign,
        LAST_ROW: _last_row,
        FIRST_ROWS: _first_rows,
        STATE_HISTORY: _state_history,
        IFELSE: _ifelse,
        CONCATENATE: _concatenate,
        REPEAT: _repeat,
        linalg.DOT: _pair(T.dot, (0, 1, 2)),
        linalg.MATMUL: _pair(T.matmul, (1, 2)),
        linalg.BATCHED_DOT: _rows_of_products,
        linalg.TENSORDOT: _tensordot,
        creation.ARANGE: _arange,
        creation.EYE: _eye,
        creation.TRIANGLE: _triangle,
        creation.DIAGONAL: _diagonal_of(creation.diagonal, 2),
        creation.FROM_DIAGONAL: _diagonal_of(creation.from_diagonal, 1),
        sort.SORT: _along(sort.sort),
        sort.ARGSORT: _along(sort.argsort),
        sort.SEARCHSORTED: _searchsorted,
        sort.BINCOUNT: _bincount,
        SOFTMAX: _along(softmax, (*FLOATS, *INTEGERS, BOOLEAN)),
        LOG_SOFTMAX: _along(log_softmax, (*FLOATS, *INTEGERS, BOOLEAN)),
        factorise.INV: lambda pool: factorise.inv(pool.matrix()),
        factorise.CHOLESKY: lambda pool: factorise.cholesky(pool.matrix()),
        factorise.DET: lambda pool: factorise.det(pool.matrix()),
        factorise.SLOGDET: lambda pool: factorise.slogdet(pool.matrix())[pool.choose((0, 1))],
        decompose.EIGH: lambda pool: decompose.eigh(pool.matrix(), pool.choose(("L", "U")))[0],
        decompose.EIGVALSH: lambda pool: decompose.eigvalsh(pool.matrix(), pool.choose(("L", "U"))),
        decompose.QR: lambda pool: decompose.qr(pool.matrix(), pool.choose((False, True)))[
            pool.choose((0, 1))
        ],
        decompose.SVD: lambda pool: decompose.svd(pool.matrix(), pool.choose((False, True)))[1],
        decompose.SVDVALS: lambda pool: decompose.svdvals(pool.matrix()),
        decompose.PINV: lambda pool: decompose.pinv(pool.matrix()),
        decompose.EXPM: lambda pool: decompose.expm(pool.matrix()),
        decompose.LSTSQ: _lstsq,
        factorise.SOLVE: _solve,
        factorise.SOLVE_TRIANGULAR: _solve_triangular,
    }
)
