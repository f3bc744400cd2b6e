"""What modes and linkers of Theano and PyTensor are here: an error that meets such a name says what to write."""

from __future__ import annotations

_USUAL = "nothing: leave mode out, which is the fastest that pays, with all rewrites"
_UNREWRITTEN = 'mode=scanviz.Mode("numpy", rewrites="none"), or "reference", the oracle of all tiers'
_COMPILED = 'mode="native" for machine code; left out, a loop gets it where it pays'
_WATCHED = "no mode: `scanviz check SCRIPT` finds the first NaN or infinity"
_VERIFIED = 'no mode: `scanviz rewrites --verify SCRIPT`; mode="reference" computes without rewrites'
_PROFILED = "function(…, profile=True), or `scanviz profile SCRIPT`"
_PRINTED = "no mode: `scanviz profile --values SCRIPT`, or scanviz.trace(f, …)"
_ANSWERS = {
    "fastrun": _USUAL,
    "vm": _USUAL,
    "cvm": _USUAL,
    "fastcompile": _UNREWRITTEN,
    "py": _UNREWRITTEN,
    "c": _COMPILED,
    "c|py": _COMPILED,
    "numba": _COMPILED,
    "jax": _COMPILED,
    "nanguardmode": _WATCHED,
    "debugmode": _VERIFIED,
    "profilemode": _PROFILED,
    "monitormode": _PRINTED,
}


def answer_to(name: str) -> str | None:
    """Return what to write where another library's mode is asked for; None of a name that is none.

    Examples
    --------
    >>> answer_to("DEBUG_MODE") == answer_to("DebugMode")
    True
    >>> answer_to("FAST_COMPILE")
    'mode=scanviz.Mode("numpy", rewrites="none"), or "reference", the oracle of all tiers'
    """
    return _ANSWERS.get(name.lower().replace("_", ""))
