"""What words of a profile mean, in a line each: told where a word stands, in the report, the terminal application and the page.

``docs/reference/glossary.md`` begins each entry with the line here and adds to it; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable

GLOSSES: dict[str, str] = {
    "sequence": "an array whose rows the step reads, one after the other",
    "non-sequence": "an array that is the same at each step",
    "sitsot": "a state of which a step reads the row before and writes one",
    "mitsot": "a state of which a step reads several rows before and writes one",
    "mitmot": "a buffer to whose rows several steps may write",
    "nitsot": "a result of each step that no later step reads",
    "carry": "what goes from step to step and only its last value comes out",
    "tap": "how far from the present step a row is",
    "until": "the condition that ends a loop",
    "plumbing": "operations that a graph needs and its reader does not ask for",
    "typical step": "the median of the steps that were timed, less what timing costs",
    "storing rows": "copying what a step gives to where the loop keeps it",
    "the loop itself": "what a step takes beside its operations and storing rows",
    "moved work": "operations that rewrites took out of a loop's step: done once, or for all steps at a time",
}


def gloss(word: str) -> str:
    """Return a word with its meaning in a line, the word alone where it has none; kinds of loop variables as records have them.

    Examples
    --------
    >>> gloss("mitmot")
    'mitmot: a buffer to whose rows several steps may write'
    >>> gloss("non_sequence")
    'non-sequence: an array that is the same at each step'
    """
    name = word.replace("_", "-")
    return f"{name}: {GLOSSES[name]}" if name in GLOSSES else word


def glosses(words: Iterable[str]) -> list[str]:
    """Return each different word with its meaning, in the order in which they come first.

    Examples
    --------
    >>> glosses(["carry", "something", "carry"])
    ['carry: what goes from step to step and only its last value comes out']
    """
    return [gloss(word) for word in dict.fromkeys(words) if word.replace("_", "-") in GLOSSES]
