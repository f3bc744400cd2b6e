"""Selection of rules: all, none, or some by name or tag.

Written as words with commas: ``"all"``, ``"none"``, ``"all,-PushOutDot1"``, ``"none,+merge_equal"``.  Rules tagged
``unsafe``, and those of other distributions (``outside``), are used only where they are named or asked for by such a tag.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.rewrites.rule import ON_REQUEST, Rule


class Selection(Struct, frozen=True):
    """Rules selected by name or tag.

    Attributes
    ----------
    base : str
        ``"all"`` or ``"none"``: what is selected before names are looked at.
    changes : tuple of (bool, str)
        Names and tags put in (True) or taken out (False), in order: the last that fits a rule counts.

    Examples
    --------
    >>> str(Selection("all").excluding("PushOutDot1"))
    'all,-PushOutDot1'
    """

    base: str = "all"
    changes: tuple[tuple[bool, str], ...] = ()

    def including(self, *names: str) -> Selection:
        """Return the selection with rules, or all rules of a tag, put in.

        Raises
        ------
        ScanvizValueError
            If there is no such rule or tag.
        """
        return self._with(True, names)

    def excluding(self, *names: str) -> Selection:
        """Return the selection with rules, or all rules of a tag, taken out.

        Raises
        ------
        ScanvizValueError
            If there is no such rule or tag.
        """
        return self._with(False, names)

    def _with(self, put_in: bool, names: tuple[str, ...]) -> Selection:
        from scanviz.engine.rewrites.families import (
            check_names,  # when it is used: it imports all files of rules
        )

        check_names(names)
        return Selection(self.base, (*self.changes, *((put_in, name) for name in names)))

    @property
    def left_out(self) -> frozenset[str]:
        """The names and tags that are taken out."""
        return frozenset(name for put_in, name in self.changes if not put_in)

    def has(self, rule: Rule) -> bool:
        """Return whether a rule is selected."""
        on_request = ON_REQUEST & rule.tags
        selected = self.base == "all" and not on_request
        for put_in, name in self.changes:
            by_tag = name in rule.tags and (not put_in or not on_request or name in on_request)
            if name == rule.name or by_tag:
                selected = put_in
        return selected

    def __str__(self) -> str:
        return ",".join([self.base, *(f"{'+' if put_in else '-'}{name}" for put_in, name in self.changes)])


def as_selection(given: object) -> Selection:
    """Return a selection from one, from words with commas, or from a list of names.

    Raises
    ------
    ScanvizTypeError
        If it is nothing of these.
    ScanvizValueError
        If a name is neither a rule's nor a tag.

    Examples
    --------
    >>> as_selection("none,+merge_equal")
    Selection(base='none', changes=((True, 'merge_equal'),))
    """
    if isinstance(given, Selection):
        return given
    if isinstance(given, str):
        words = [word.strip() for word in given.split(",") if word.strip()]
    elif isinstance(given, Iterable):
        words = ["none", *(str(name) for name in given)]
    else:
        raise ScanvizTypeError(
            "rewrites cannot be used",
            expected="'all', 'none', or names of rules and tags",
            found=repr(given),
        )
    if not words:
        raise ScanvizValueError("rewrites cannot be empty", fix="'none'")
    base = words[0] if words[0] in ("all", "none") else "all" if words[0][0] in "+-" else "none"
    selection = Selection(base)
    for word in words[1:] if words[0] in ("all", "none") else words:
        name = word.lstrip("+-")
        selection = selection.excluding(name) if word.startswith("-") else selection.including(name)
    return selection
