"""Short explanations of a profile's words, for the report, the terminal application and the page.

``docs/reference/glossary.md`` begins each entry with the line here and adds to it; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable

GLOSSES: dict[str, str] = {
    "sequence": "an array whose rows the step reads, one after the other",
    "non-sequence": "an array that is the same at each step",
    "sitsot": "a state that reads its previous row and writes a new one",
    "mitsot": "a state that reads several earlier rows and writes a new one",
    "mitmot": "a buffer to whose rows several steps may write",
    "nitsot": "a result of each step that no later step reads",
    "carry": "a value passed from step to step; only the last is a result",
    "tap": "the distance of a row from the current step",
    "until": "the condition that ends a loop",
    "plumbing": "operations that a graph needs and you did not ask for",
    "typical step": "the median of the timed steps, without profiler overhead",
    "storing rows": "copying a step's results into the loop's arrays",
    "the loop itself": "the rest of a step's time, beside its operations and storing rows",
    "moved work": "operations that rewrites took out of a loop's step: done once, or for all steps at a time",
}


def gloss(word: str) -> str:
    """Return a word with its meaning, or only the word if it has none.

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
    """Return each distinct word that has a meaning, with it, in order of first appearance.

    Examples
    --------
    >>> glosses(["carry", "something", "carry"])
    ['carry: a value passed from step to step; only the last is a result']
    """
    return [gloss(word) for word in dict.fromkeys(words) if word.replace("_", "-") in GLOSSES]
