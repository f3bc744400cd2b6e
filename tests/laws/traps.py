"""Laws of misuse: whatever a public function of tensors is given, it makes variables or raises an error written for people.

Functions are those that the modules offer in ``__all__``, so a new one is searched from its first day.  What they are given is
drawn without regard for what they want: other types, dtypes and numbers of dimensions, values where variables belong and the
reverse.
"""

import inspect
import traceback
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import InternalError, ScanvizError
from scanviz.engine.graph.declaration import Op, declarations, declared
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import DTYPES
from scanviz.engine.mode import Mode
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from tests.laws.law import law


def public_functions() -> dict[str, Callable[..., Any]]:
    """Return the public functions of the tensor modules, by their names with that of the module."""
    found: dict[str, Callable[..., Any]] = {}
    for module in (T, T.nnet, T.linalg):
        for name in _names(module):
            function = getattr(module, name)
            if inspect.isfunction(function):
                found[f"{module.__name__.removeprefix('scanviz.')}.{name}"] = function
    return found


def _names(module: ModuleType) -> Iterator[str]:
    yield from module.__all__


def _pair() -> Any:
    return scanviz.scan(lambda x_t, h: h + x_t, sequences=T.vector("x"), outputs_info=0.0, name="sums")


FUNCTIONS = public_functions()
_MAKERS = sorted(
    name for name, make in FUNCTIONS.items() if make.__module__.endswith(".constructors")
)  # many, alike
_OTHERS = sorted(set(FUNCTIONS) - set(_MAKERS))
_PAIR = _pair()
_VARIABLES = [T.tensor(dtype, (None,) * ndim, f"{dtype}_{ndim}") for dtype in DTYPES for ndim in range(4)] + [
    T.tensor("float64", shape, "fixed") for shape in ((3,), (1, 3), (0,), (2, 3))
]
_VALUES = [
    None, True, False, 0, 1, -1, 2, 7, 2.5, -0.5, float("nan"), 1e300, 2**40, 2**70, 1j, "", "x", "float32", "same", b"x",
    object(), int, len, lambda *anything: None, ..., slice(None), slice(0, 2), {}, {"input": 1}, set(), frozenset({1}), (), [],
    (0,), (0, 1), (2, 3), [1.0, 2.0], [[1, 2], [3, 4]], [[1, 2], [3]], ["a"], [None], [True, False], (None, 1), ("x", 0), range(3),
    np.float32(1.5), np.int8(3), np.bool_(True), np.arange(3), np.ones((2, 3)), np.ones((2, 2, 2), "float32"), np.array(4.0),
    np.zeros((0, 3)), np.array([True, False]), np.array(["a"]), np.array([None]), np.array([1j]), np.dtype("float32"),
    np.datetime64("2020-01-01"), Exception("mine"), _PAIR, _PAIR.updates, scanviz.until(T.scalar() > 0),
    T.random.RandomStreams(1), scanviz.shared(1.0), T.constant([1.0, 2.0]), T.constant(3), T.constant(True),
]  # fmt: skip


def arguments(fitting: int = 1) -> st.SearchStrategy[Any]:
    """Anything that a user may give to a function, fitting or not; more often a variable of floats for a larger ``fitting``."""
    one = st.one_of(st.sampled_from(_VARIABLES), st.sampled_from(_VALUES))
    floats = st.sampled_from(
        [variable for variable in _VARIABLES if variable.dtype in ("float64", "float32", "int64")]
    )
    return st.one_of(*[floats] * fitting, one, one, st.lists(one, max_size=3), st.tuples(one, one))


@st.composite
def calls(draw: Any) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """A function's name with positional and named arguments that its signature takes."""
    name = draw(st.one_of(st.sampled_from(_MAKERS), *[st.sampled_from(_OTHERS)] * 6))
    positional: list[Any] = []
    named: dict[str, Any] = {}
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    several = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += draw(st.lists(arguments(), max_size=3))
        elif parameter.kind is parameter.VAR_KEYWORD:
            continue
        elif parameter.default is parameter.empty:
            positional.append(draw(arguments(fitting=8)))
        elif (not several or parameter.kind is parameter.KEYWORD_ONLY) and draw(st.booleans()):
            named[parameter.name] = draw(arguments())
    return name, tuple(positional), named


def is_symbolic(result: Any) -> bool:
    """Return whether a result is a variable, or a list or tuple of variables and of values known without running."""
    if isinstance(result, list | tuple):
        return all(is_symbolic(item) for item in result)
    return isinstance(result, Variable)


@law(sample=300, call=calls())
def misuse_of_a_function_is_an_error_for_users(
    call: tuple[str, tuple[Any, ...], dict[str, Any]],
) -> None:
    """A public function with any arguments makes variables or raises a ScanvizError without internal names."""
    name, positional, named = call
    try:
        result = FUNCTIONS[name](*positional, **named)
    except InternalError:
        raise
    except ScanvizError as error:
        assert error.what and "Variable(" not in error.what, error
        return
    assert is_symbolic(result), f"{name} gave {result!r}"


_ENTRIES: dict[str, Callable[..., Any]] = {
    "scan": lambda first, second, **more: scanviz.scan(
        lambda *given: given[0] if given else 1.0, first, second, **more
    ),
    "scan_checkpoints": lambda first, second, **more: scanviz.scan_checkpoints(
        lambda *given: given[0] if given else 1.0, first, second, **more
    ),
    "scan of": lambda first, second, **more: scanviz.scan(lambda x_t: first, T.vector("x"), second, **more),
    "scan fn": lambda first, second, **more: scanviz.scan(first, second, n_steps=2),
    "map": lambda first, second, **more: scanviz.map(lambda *given: given[0], first, second),
    "reduce": lambda first, second, **more: scanviz.reduce(lambda *given: given[0], first, second),
    "filter": lambda first, second, **more: scanviz.filter(lambda *given: given[0] > 0, first, second),
    "until": lambda first, second, **more: scanviz.until(first),
    "ifelse": lambda first, second, **more: scanviz.ifelse(T.scalar() > 0, first, second),
    "grad": lambda first, second, **more: scanviz.grad(first, second),
    "jacobian": lambda first, second, **more: scanviz.jacobian(first, second),
    "hessian": lambda first, second, **more: scanviz.hessian(first, second),
    "Rop": lambda first, second, **more: scanviz.Rop(first, T.vector("x"), second),
    "Lop": lambda first, second, **more: scanviz.Lop(first, T.vector("x"), second),
    "function": lambda first, second, **more: scanviz.function(first, second, on_unused_input="ignore"),
    "updates": lambda first, second, **more: scanviz.function([], [], updates=first, givens=second),
    "Updates": lambda first, second, **more: scanviz.Updates(first) + second,
    "shared": lambda first, second, **more: scanviz.shared(first, name=second),
    "indexed": lambda first, second, **more: T.tensor3("x")[first, second],
    "assigned": lambda first, second, **more: T.set_subtensor(T.matrix("x")[first], second),
    "sum": lambda first, second, **more: T.vector("x") + first,
    "raised": lambda first, second, **more: first ** T.vector("x"),
    "clip": lambda first, second, **more: T.vector("x").clip(first, second),
}
_OPTIONS = (
    "non_sequences",
    "n_steps",
    "truncate_gradient",
    "go_backwards",
    "name",
    "strict",
    "mode",
    "allow_gc",
    "return_list",
)


@law(
    sample=150,
    entry=st.sampled_from(sorted(_ENTRIES)),
    first=arguments(fitting=3),
    second=arguments(fitting=3),
    more=st.dictionaries(st.sampled_from(_OPTIONS), arguments(), max_size=2),
)
def misuse_of_a_loop_or_of_methods_is_an_error_for_users(
    entry: str, first: Any, second: Any, more: dict[str, Any]
) -> None:
    """scan, grad, function and methods of variables, with any arguments, succeed or raise a ScanvizError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _ENTRIES[entry](first, second, **more)
    except InternalError:
        raise
    except ScanvizError as error:
        assert error.what, error
    except TypeError as error:
        own = traceback.extract_tb(error.__traceback__)[-1]
        assert "scanviz" not in own.filename or own.filename == __file__, (
            error
        )  # Python's own refusal of an operator or a call


_ELEMENTWISE = sorted(
    declaration.name
    for declaration in declarations()
    if isinstance(declaration, ElementwiseDeclaration) and hasattr(T, declaration.name)
)
_NUMBERS = [variable for variable in _VARIABLES if variable.dtype != "bool"]


@law(
    sample=60,
    name=st.sampled_from(
        [*_ELEMENTWISE, "sum", "mean", "max", "dot", "cast", "stack", "set_subtensor", "until", "ifelse"]
    ),
    place=st.integers(0, 2),
    number=st.sampled_from(_NUMBERS),
    same=st.booleans(),
)
def the_bool_of_an_identity_test_is_never_a_number(
    name: str, place: int, number: Variable, same: bool
) -> None:
    """``a == b`` on variables gives a Python bool, which no operation accepts as a number or condition."""
    found: Any = (number == number) if same else (number == T.scalar())  # that is the mistake
    assert type(found) is bool
    calls: dict[str, Callable[[], Any]] = {
        "cast": lambda: T.cast(found, "float64"),
        "stack": lambda: T.stack([T.scalar(), found]),
        "set_subtensor": lambda: T.set_subtensor(T.vector()[0], found),
        "until": lambda: scanviz.until(found),
        "ifelse": lambda: scanviz.ifelse(found, number, number),
    }
    if name in _ELEMENTWISE:
        arity, _ = Op(declared(name)).arity
        given = [found if k == place % arity else number for k in range(arity)]
        calls[name] = lambda: getattr(T, name)(*given)
    elif name not in calls:
        calls[name] = lambda: getattr(T, name)(*([found, number][: 2 if name == "dot" else 1]))
    try:
        result = calls[name]()
    except ScanvizError as error:
        assert isinstance(error, TypeError) and "T.eq(a, b)" in str(error.fix), error
        return
    raise AssertionError(f"{name} took {found} and gave {result!r}")


@law(
    sample=25,
    places=st.lists(st.integers(-3, 2), min_size=1, max_size=6),
    wrong=st.tuples(st.integers(0, 5), st.sampled_from([-9, -4, 3, 8])),
    go_backwards=st.booleans(),
    fed_back=st.booleans(),
    tap=st.sampled_from([0, -1, 1]),
    tier=st.sampled_from(["numpy", "reference"]),
    rewrites=st.booleans(),
)
def an_index_out_of_bounds_names_its_loop_and_step(
    places: list[int],
    wrong: tuple[int, int],
    go_backwards: bool,
    fed_back: bool,
    tap: int,
    tier: str,
    rewrites: bool,
) -> None:
    """An index out of bounds in a step is an error of that loop and step, wherever a rule moved it."""
    position = wrong[0] % len(places)
    given = np.array([*places[:position], wrong[1], *places[position + 1 :], *[0] * abs(tap)], np.int64)
    where, values = T.lvector("where"), T.vector("values")

    def step(place: Variable, *before: Variable) -> Variable:
        found = values[place] * 2.0
        return found + before[0] if before else T.tanh(found)

    rows = scanviz.scan(
        step,
        sequences={"input": where, "taps": [tap]},
        outputs_info=0.0 if fed_back else None,
        go_backwards=go_backwards,
        name="picks",
        return_updates=False,
    )
    seen = given[: len(given) - abs(tap)] if tap <= 0 else given[abs(tap) :]
    if go_backwards:
        seen = seen[::-1]
    outside = [k for k, index in enumerate(seen) if not -3 <= index < 3]
    compute = scanviz.function([where, values], rows, mode=Mode(tier, "all" if rewrites else "none"))
    try:
        compute(given, [1.0, 2.0, 3.0])
    except ScanvizError as error:
        assert outside and isinstance(error, IndexError), error
        assert "`picks`" in error.what and f"index {seen[outside[0]]} " in error.what, error
        assert error.step == outside[0], (error, outside)
    else:
        assert not outside
