"""Print blocks as device functions of CUDA C++.

Every operation is rounded to its dtype, so the functions must be compiled without contraction (``--fmad=false``).  float16 is
computed in float32 and rounded after each operation.  A C++ compiler of the host compiles the text too, so tests run it without a
GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizNotImplementedError
from scanviz.engine.scalar.blocks import Block, Statement
from scanviz.engine.scalar.primitives import KINDS

TYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
    "float16": "sv_half", "float32": "float", "float64": "double",
}  # fmt: skip
_SIGNS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "quotient": "/", "bit_and": "&", "bit_or": "|", "bit_xor": "^",
    "shift_left": "<<", "shift_right": ">>", "equal": "==", "less": "<", "less_equal": "<=",
}  # fmt: skip
# the language's name → CUDA's, of functions of floating-point numbers
_FUNCTIONS = {
    "absolute": "fabs", "truncate": "trunc", "round_even": "rint", "remainder": "fmod", "power": "pow", "gammaln": "sv_gammaln",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh",
}  # fmt: skip
_FUNCTIONS |= {
    name: name
    for name in (
        "copysign", "floor", "ceil", "sqrt", "cbrt", "hypot", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos",
        "tan", "sinh", "cosh", "tanh", "erf", "erfc", "erfinv",
    )
}  # fmt: skip
# computed in unsigned integers, whose overflow C++ defines
_WRAPS = frozenset({"add", "subtract", "multiply", "shift_left"})

PRELUDE = """\
#ifndef __CUDACC__  // a compiler of the host
struct sv_half { _Float16 value; };
static inline float sv_float(sv_half x) { return x.value; }
static inline sv_half sv_round(float x) { return sv_half{(_Float16)x}; }
static inline sv_half sv_round(double x) { return sv_half{(_Float16)x}; }
static inline unsigned long long sv_high(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
#else
struct sv_half { unsigned short bits; };
__device__ inline float sv_float(sv_half x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits)); return y; }
__device__ inline sv_half sv_round(float x) { sv_half y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x)); return y; }
__device__ inline sv_half sv_round(double x) { sv_half y; asm("cvt.rn.f16.f64 %0, %1;" : "=h"(y.bits) : "d"(x)); return y; }
__device__ inline unsigned long long sv_high(unsigned long long a, unsigned long long b) { return __umul64hi(a, b); }
#endif
template <class To, class From> __device__ inline To sv_bits(From from) {
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
// A read that the compiler leaves where it stands: those ahead of several steps begin together.
template <class T> __device__ inline T sv_read(const T* place) {
#ifdef __CUDACC__
  if constexpr (sizeof(T) == 8) {
    unsigned long long bits;
    asm volatile("ld.global.cs.u64 %0, [%1];" : "=l"(bits) : "l"(place));
    return sv_bits<T>(bits);
  } else if constexpr (sizeof(T) == 4) {
    unsigned int bits;
    asm volatile("ld.global.cs.u32 %0, [%1];" : "=r"(bits) : "l"(place));
    return sv_bits<T>(bits);
  }
#endif
  return *place;
}
template <class Float> __device__ inline Float sv_gammaln(Float x) { return x - x != 0 && x < 0 ? x : lgamma(x); }
// Floats become integers as on x86: the least integer where they do not fit.
template <class Float> __device__ inline int sv_int(Float x) {
  return x >= (Float)-2147483648.0 && x < (Float)2147483648.0 ? (int)x : (int)0x80000000u;
}
template <class Float> __device__ inline long long sv_long(Float x) {
  return x >= (Float)-9223372036854775808.0 && x < (Float)9223372036854775808.0 ? (long long)x
                                                                                : (long long)0x8000000000000000ull;
}
template <class Float> __device__ inline unsigned long long sv_ulong(Float x) {
  const Float half = (Float)9223372036854775808.0;
  return x >= half ? (unsigned long long)sv_long(x - half) ^ 0x8000000000000000ull : (unsigned long long)sv_long(x);
}
"""


class CudaFunctions:
    """Device functions for blocks, each printed once.

    Examples
    --------
    >>> from scanviz.engine.scalar.blocks import typed
    >>> from scanviz.engine.scalar.expression import select, x
    >>> functions = CudaFunctions()
    >>> functions.name_for("relu", typed([select(x < 0, 0, x)], ["float32"]))
    'relu_1'
    >>> print(functions.text())
    __device__ inline float relu_1(float v0) {
      bool v2 = v0 < 0x0.0p+0f;
      float v3 = v2 ? 0x0.0p+0f : v0;
      return v3;
    }
    """

    def __init__(self) -> None:
        self._names: dict[Block, str] = {}
        self._texts: list[str] = []

    def name_for(self, hint: str, block: Block) -> str:
        """Return the name of the function that computes the first result of a block.

        Raises
        ------
        ScanvizNotImplementedError
            If an operation of the block has no CUDA code.
        """
        known = self._names.get(block)
        if known is None:
            name = f"{hint}_{len(self._names) + 1}"
            lines, results = self.lines(name, block)
            given = ", ".join(f"{TYPES[block.dtypes[k]]} v{k}" for k in range(block.arguments))
            made = TYPES[block.dtypes[block.results[0]]]
            body = "".join(f"  {line}\n" for line in lines)
            self._texts.append(
                f"__device__ inline {made} {name}({given}) {{\n{body}  return {results[0]};\n}}"
            )
            known = self._names[block] = name
        return known

    def lines(self, name: str, block: Block) -> tuple[list[str], list[str]]:
        """Return the statements that compute a block of the arguments ``v0``, ``v1``, …, and what its results are called."""
        printer = _Printer(self, name, block.arguments)
        results = printer.block(block, [f"v{k}" for k in range(block.arguments)])
        return printer.lines, results

    def table(self, name: str, values: bytes, dtype: str) -> str:
        """Return the name of a table in constant memory."""
        numbers = [literal(number, dtype) for number in np.frombuffer(values, dtype)]
        self.add(f"__constant__ {TYPES[dtype]} {name}[] = {{{', '.join(numbers)}}};")
        return name

    def add(self, text: str) -> None:
        """Add a declaration, unless it is there."""
        if text not in self._texts:
            self._texts.append(text)

    def text(self) -> str:
        """Return all functions."""
        return "\n".join(self._texts)


def literal(number: Any, dtype: str) -> str:
    """Return a number as CUDA C++ writes it, to the last bit."""
    kind = KINDS[dtype]
    if kind == "boolean":
        return "true" if number else "false"
    if kind == "floating":
        if dtype == "float16":
            return f"sv_round({literal(np.float32(number), 'float32')})"
        if not np.isfinite(number):
            width, suffix = ("uint32", "u") if dtype == "float32" else ("uint64", "ull")
            bits = np.array(number, dtype).view(width)
            return f"sv_bits<{TYPES[dtype]}>(0x{int(bits):x}{suffix})"
        return float(number).hex() + ("f" if dtype == "float32" else "")
    value, suffix = int(number), {"uint32": "u", "int64": "ll", "uint64": "ull"}.get(dtype, "")
    if value in (-(2**31), -(2**63)):  # C++ has no negative literals
        return f"({value + 1}{suffix} - 1)"
    return f"{value}{suffix}"


def converted(text: str, old: str, new: str) -> str:
    """Return a number cast to another dtype, as NumPy casts on x86."""
    if old == new:
        return text
    if old == "float16":
        text, old = f"sv_float({text})", "float32"
    if new == "bool":
        return f"{text} != 0"
    if new == "float16":
        text = text if old in ("float32", "float64") else f"(double){text}"
        return f"sv_round({text})"
    if KINDS[old] == "floating" and KINDS[new] != "floating":
        if new == "uint64":
            return f"sv_ulong({text})"
        return f"({TYPES[new]}){'sv_long' if new in ('int64', 'uint32') else 'sv_int'}({text})"
    return f"({TYPES[new]}){text}"


class _Printer:
    """The statements of one function."""

    def __init__(self, functions: CudaFunctions, name: str, arguments: int) -> None:
        self.functions, self.name, self.count = functions, name, arguments
        self.lines: list[str] = []
        self.indent = ""

    def let(self, dtype: str, text: str) -> str:
        """Declare a variable and return its name."""
        name = f"v{self.count}"
        self.count += 1
        self.line(f"{TYPES[dtype]} {name} = {text};")
        return name

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def block(self, block: Block, given: Sequence[str]) -> list[str]:
        """Print a block and return the names of its results."""
        values = dict(enumerate(given))
        # numbers of blocks and of variables agree as far as there is no block inside
        for statement in block.lines:
            names = self._statement(block, statement, [values[number] for number in statement.inputs])
            values.update(zip(statement.outputs, names, strict=True))
        return [values[number] for number in block.results]

    def _statement(self, block: Block, line: Statement, given: list[str]) -> list[str]:
        dtype = block.dtypes[line.outputs[0]]
        match line.op:
            case "constant":
                assert isinstance(line.data, bytes)
                self.count += 1
                return [literal(np.frombuffer(line.data, dtype)[0], dtype)]
            case "table":
                assert isinstance(line.data, bytes)
                table = self.functions.table(f"{self.name}_table{self.count}", line.data, dtype)
                return [self.let(dtype, f"{table}[{given[0]}]")]
            case "call":
                return self.block(line.blocks[0], given)
            case "when":
                return [self._when(line, given, dtype)]
            case "loop":
                return self._loop(block, line, given)
            case "select":
                return [self.let(dtype, f"{given[0]} ? {given[1]} : {given[2]}")]
            case "cast":
                return [self.let(dtype, converted(given[0], block.dtypes[line.inputs[0]], dtype))]
            case "bitcast":
                return [self.let(dtype, f"sv_bits<{TYPES[dtype]}>({given[0]})")]
        return [self.let(dtype, primitive(line.op, given, block.dtypes[line.inputs[0]]))]

    def _when(self, line: Statement, given: list[str], dtype: str) -> str:
        condition, otherwise, *captured = given
        name = self.let(dtype, otherwise)
        self.line(f"if ({condition}) {{")
        self.indent += "  "
        (found,) = self.block(line.blocks[0], captured)
        self.line(f"{name} = {found};")
        self.indent = self.indent[:-2]
        self.line("}")
        return name

    def _loop(self, block: Block, line: Statement, given: list[str]) -> list[str]:
        going, step = line.blocks
        count = len(line.outputs)
        carried = [
            self.let(block.dtypes[number], text) for number, text in zip(line.outputs, given, strict=False)
        ]
        values = [*carried, *given[count:]]
        turn = f"turn{self.count}"
        self.line(f"for (int {turn} = 0; {turn} < {line.data}; ++{turn}) {{")
        self.indent += "  "
        (wanted,) = self.block(going, values)
        self.line(f"if (!({wanted})) break;")
        found = self.block(step, values)
        # a result may be another carried value: all are read before one is written
        new = [self.let(block.dtypes[number], text) for number, text in zip(line.outputs, found, strict=True)]
        for name, text in zip(carried, new, strict=True):
            self.line(f"{name} = {text};")
        self.indent = self.indent[:-2]
        self.line("}")
        return carried


def primitive(name: str, given: Sequence[str], dtype: str) -> str:
    """Return a primitive of operands of one dtype.

    Raises
    ------
    ScanvizNotImplementedError
        If CUDA has no such function.
    """
    kind, made = KINDS[dtype], TYPES[dtype]
    if dtype == "float16":
        found = primitive(name, [f"sv_float({text})" for text in given], "float32")
        return found if name in ("equal", "less", "less_equal") else f"sv_round({found})"
    if kind == "floating" and name in _FUNCTIONS:
        return f"{_FUNCTIONS[name]}({', '.join(given)})"
    if name == "negate":
        return f"-{given[0]}" if kind == "floating" else f"({made})(0u - {_unsigned(given[0], dtype)})"
    if name == "bit_not":
        return f"!{given[0]}" if kind == "boolean" else f"({made})~{given[0]}"
    if name == "remainder":
        return f"({made})({given[0]} % {given[1]})"
    if name == "multiply_high":
        if dtype == "uint64":
            return f"sv_high({given[0]}, {given[1]})"
        return f"({made})((unsigned long long){given[0]} * {given[1]} >> {8 * np.dtype(dtype).itemsize})"
    if name not in _SIGNS:
        raise ScanvizNotImplementedError(f"`{name}` has no CUDA code")
    first, second = given
    if name.startswith("shift"):  # any result is right where the second is out of range, but C++ has none
        second = f"({second} & {8 * np.dtype(dtype).itemsize - 1})"
    if kind != "floating" and name in _WRAPS:
        first, second = _unsigned(first, dtype), _unsigned(second, dtype)
    text = f"{first} {_SIGNS[name]} {second}"
    return text if kind == "floating" or name in ("equal", "less", "less_equal") else f"({made})({text})"


def _unsigned(text: str, dtype: str) -> str:
    """Return an integer as the unsigned one that C++ computes with."""
    return f"({'unsigned long long' if dtype in ('int64', 'uint64') else 'unsigned int'}){text}"
