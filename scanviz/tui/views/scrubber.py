"""A line for a run's steps: where the cursor is, which steps were kept, whether it plays; a click goes to a step."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from rich.text import Text
from textual.events import Click
from textual.message import Message

from scanviz.tui.text.colours import CYAN
from scanviz.tui.views.base import TextBlock


class Scrubber(TextBlock):
    """The line."""

    FILLS: ClassVar[bool] = False

    class Chosen(Message):
        """A step was clicked."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._before = self._cells = self._steps = 0

    def draw(
        self, step: int, steps: int, kept: Collection[int], speed: int, plays: bool, told: str, width: int
    ) -> None:
        """Show where a run is, in so many columns."""
        head = f"{'▶' if plays else '▷'} {f'{speed}/s' if plays else 'space'} "
        text = f" step {step} of {steps}{f' · {told}' if told else ''}"
        self._before, self._steps = len(head) + 1, steps
        self._cells = max(8, min(100, width) - len(head) - len(text) - 2)
        self.show(
            Text(head, style="bold")
            .append_text(track(step, steps, kept, self._cells))
            .append(text, "not bold")
        )

    def on_click(self, event: Click) -> None:
        """Go to the step under the mouse."""
        cell = event.x - self._before
        if 0 <= cell < self._cells and self._steps:
            self.post_message(self.Chosen(cell_step(cell, self._steps, self._cells)))


def cell_step(cell: int, steps: int, cells: int) -> int:
    """Return the step that a cell stands for.

    Examples
    --------
    >>> [cell_step(cell, 100, 10) for cell in (0, 5, 9)]
    [0, 55, 99]
    """
    return round(cell * (steps - 1) / max(1, cells - 1))


def track(step: int, steps: int, kept: Collection[int], cells: int) -> Text:
    """Return the steps of a run as cells: those in which values were kept are thick, the cursor is a dot.

    Examples
    --------
    >>> track(4, 10, {0, 1, 9}, 10).plain
    '├━━┈┈●┈┈┈┈━┤'
    """
    thick = {round(step * (cells - 1) / max(1, steps - 1)) for step in kept}
    at = round(step * (cells - 1) / max(1, steps - 1))
    text = Text("├", style="dim")
    for cell in range(cells):
        sign = "●" if cell == at else "━" if cell in thick else "┈"
        text.append(sign, style="bold" if cell == at else f"not bold {CYAN}" if cell in thick else "dim")
    return text.append("┤", style="dim")


__all__ = ["Scrubber", "cell_step", "track"]
