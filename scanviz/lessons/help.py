"""``F1`` in ``scanviz learn``: what the keys do in the lessons, and the words that they and the pictures use."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from scanviz.lessons.player import Player
from scanviz.tui.help import HelpScreen

ABOUT = """A lesson

Its text, the program that it is about, an exercise to complete, and the program step by step. F4 goes from one to the next.
What you write stays while you go from lesson to lesson."""


class LessonHelp(HelpScreen):
    """A page of keys.

    Parameters
    ----------
    player : Player
        The steps: their keys are told, too, which work while one is there.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("f1", "app.pop_screen", "close")]

    def __init__(self, player: Player) -> None:
        super().__init__(None, player.view)
        self._player = player

    def about(self) -> str:
        """Return what one is looking at."""
        return ABOUT

    def parts(self) -> list[tuple[str, object]]:
        """Return what has keys, with the titles of their lists."""
        return [("everywhere", self.app), ("in the steps", self._player), ("", self._player.view)]


__all__ = ["LessonHelp"]
