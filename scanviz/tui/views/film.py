"""The film of a function's rewrites: a picture per frame with fixed rows, and the curve of costs below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from scanviz.record.errors import ScanvizError
from scanviz.record.graphs.rewrites import RewritesRecord
from scanviz.render.characters import CharacterDrawing, Moment
from scanviz.render.film.drawing import SECONDS
from scanviz.render.film.frames import Film, GraphVersions, moment_of, versions_of
from scanviz.tui.text.colours import CYAN, GREEN, RED, YELLOW
from scanviz.tui.text.drawn import parts_of, styled
from scanviz.tui.views.base import TextBlock
from scanviz.tui.views.lines import LinesPane

WORDS = 120  # columns of words beside lines between nodes
_HEIGHT = 4  # rows of the curve
_AXIS = 7  # columns for numbers left of it
_WIDEST = 6  # columns of a frame in it
MOST_FRAMES = 10**6
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_CHANGED = {"added": f"bold {GREEN}", "removed": RED}


class FilmPane(LinesPane):
    """The picture of a frame, in which changes are marked instead of a cursor."""

    CURSOR = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "frame(-1)", "frame before"),
        Binding("right", "frame(1)", "next frame"),
        Binding("space", "play", "play"),
        Binding("home", "end(0)", "first frame", show=False),
        Binding("end", "end(1)", "last frame", show=False),
        Binding("escape", "close", "list", show=False),
    ]

    @property
    def _film(self) -> FilmView:
        film = self.parent
        assert isinstance(film, FilmView)
        return film

    def action_frame(self, by: int) -> None:
        """Go a frame forward or back."""
        self._film.skip(by)

    def action_end(self, last: int) -> None:
        """Go to the first frame or the last."""
        self._film.skip(MOST_FRAMES if last else -MOST_FRAMES)

    def action_play(self) -> None:
        """Play, or stop."""
        self._film.play()

    def action_close(self) -> None:
        """Go back to the list."""
        self._film.stop()
        self._film.post_message(FilmView.Closed())


class FilmView(Widget):
    """The film.

    Attributes
    ----------
    frame : int
        The visible frame.
    """

    class Moved(Message):
        """Another frame is shown: the graph after ``after`` rewrites."""

        def __init__(self, after: int) -> None:
            super().__init__()
            self.after = after

    class Closed(Message):
        """The user goes back to the list."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.frame = 0
        self.film: Film | None = None
        self._drawing: CharacterDrawing | None = None
        self._made_of: object = None
        self._versions: tuple[RewritesRecord, GraphVersions] | None = None
        self._moments: list[Moment] = []
        self._timer: Timer | None = None
        self._drawn_for = 0  # columns

    def compose(self) -> ComposeResult:
        """Lay the film out."""
        yield TextBlock(id="film-caption")
        yield FilmPane(id="film-pane")
        yield TextBlock(id="film-curve")

    @property
    def pane(self) -> FilmPane:
        """The picture."""
        return self.query_one("#film-pane", FilmPane)

    @property
    def plays(self) -> bool:
        """True while the film plays."""
        return self._timer is not None

    def show_film(self, history: RewritesRecord, scan: str | None, rewrite: int, width: int) -> None:
        """Show the frame after a rewrite; of one loop alone, or of the whole graph."""
        made_of = (id(history), scan, width)
        if made_of != self._made_of:
            self._made_of = made_of
            self.pane.scroll_to(0, 0, animate=False)
            try:
                if self._versions is None or self._versions[0] is not history:
                    self._versions = history, versions_of(history)
                self._take(self._versions[1].film(scan), width)
            except ScanvizError as error:  # graphs of a record are read only now
                self.film, self._drawing = None, None
                self.query_one("#film-caption", TextBlock).show(str(error))
                self.pane.show([])
        if self.film is None:
            return
        if self.film.frames[self.frame].after not in (rewrite + 1, 0 if rewrite == 0 else -1):
            self.frame = frame_after(self.film, rewrite + 1)
        self._draw(width)

    def _take(self, film: Film, width: int) -> None:
        self.film, self.frame = film, min(self.frame, len(film.frames) - 1)
        self._moments = [moment_of(film, k) for k in range(len(film.frames))]
        self._drawing = CharacterDrawing(film.whole, width, words=WORDS, moments=self._moments)

    def _draw(self, width: int) -> None:
        film, drawing = self.film, self._drawing
        if film is None or drawing is None:
            return
        moment, parts = self._moments[self.frame], parts_of(film.whole, film.whole)
        lines = list(drawing.lines(moment))
        texts = []
        for line in lines:
            text = styled(line, parts.get(line.part))
            change = moment.changes.get(line.part)
            if change:
                text.stylize(_CHANGED[change], line.rails)
            texts.append(text)
        changed = [k for k, line in enumerate(lines) if line.part in moment.changes and line.text.strip()]
        self.pane.show(texts)
        if changed:
            self.pane.bring(min(changed[-1], changed[0] + max(1, self.pane.size.height - 5)))
            self.pane.bring(changed[0])
        self.query_one("#film-caption", TextBlock).show(caption(film, self.frame, self.plays))
        self._drawn_for = width
        counts = [frame.operations for frame in film.frames]
        self.query_one("#film-curve", TextBlock).show(curve(counts, self.frame, width))

    def go_to(self, frame: int) -> None:
        """Show a frame."""
        if self.film is not None:
            self.frame = max(0, min(frame, len(self.film.frames) - 1))
            self._draw(self.size.width)
            self.post_message(self.Moved(self.film.frames[self.frame].after))

    def skip(self, by: int) -> None:
        """Stop, and move by a number of frames."""
        self.stop()
        self.go_to(self.frame + by)

    def on_click(self, event: Click) -> None:
        """Go to the frame that was clicked in the curve."""
        if self.film is not None and event.widget is self.query_one("#film-curve"):
            frame = (event.x - _AXIS) // cell_width(len(self.film.frames), self._drawn_for)
            if 0 <= frame < len(self.film.frames):
                self.skip(frame - self.frame)

    def play(self) -> None:
        """Play, or stop."""
        if self.plays:
            self.stop()
            self._draw(self.size.width)
        elif self.film is not None:
            self._timer = self.set_interval(SECONDS, self._on)
            self.go_to(0 if self.frame + 1 >= len(self.film.frames) else self.frame + 1)

    def _on(self) -> None:
        """Go a frame forward; stop at the end, or when another tab is chosen."""
        if self.film is None or self.frame + 1 >= len(self.film.frames) or not self.size.width:
            self.stop()
            self._draw(self.size.width)
        else:
            self.go_to(self.frame + 1)

    def stop(self) -> None:
        """Stop playing."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None


def frame_after(film: Film, after: int) -> int:
    """Return the last frame that shows at most ``rewrites`` rewrites."""
    return max((k for k, frame in enumerate(film.frames) if frame.after <= after), default=0)


def caption(film: Film, number: int, plays: bool) -> Text:
    """Return the caption of a frame: its rewrite, its effect, and the number of operations before and after."""
    frame = film.frames[number]
    text = Text(f"{'▶' if plays else '▷'} frame {number + 1} of {len(film.frames)} · ", "dim", no_wrap=True)
    text.append(f"{frame.caption}", "not dim bold")
    text.append(f" · {_counts([item.operations for item in film.frames], number)} {film.counted}", "not dim")
    if film.floating:
        text.append(f" · {_counts(film.floating, number)} floating-point", "not dim")
    return text.append(f"\n{frame.text}", "not dim")


def _counts(values: Sequence[int], number: int) -> str:
    here, before = values[number], values[max(0, number - 1)]
    return f"{here:,}" if here == before else f"{before:,} → {here:,}"


def cell_width(count: int, width: int) -> int:
    """Return the columns of a frame in the curve.

    Examples
    --------
    >>> cell_width(5, 80), cell_width(40, 80), cell_width(400, 80)
    (6, 1, 1)
    """
    return max(1, min(_WIDEST, (width - _AXIS - 1) // max(1, count)))


def curve(values: list[int], cursor: int, width: int) -> Text:
    """Return numbers as bars; the bar under the cursor has another colour.

    Examples
    --------
    >>> print(curve([8, 4], 1, 30).plain)
         8 ██████
           ██████
           ████████████
           ████████████
         0 ──────▲▲▲▲▲▲
    """
    cells, most = cell_width(len(values), width), max(values, default=1) or 1
    room = (width - _AXIS - 1) // cells  # frames that are seen
    first = max(0, min(cursor - room // 2, len(values) - room))
    seen = list(enumerate(values))[first : first + room]
    text = Text(no_wrap=True)
    for row in range(_HEIGHT - 1, -1, -1):
        text.append(f"{most if row == _HEIGHT - 1 else '':>{_AXIS - 1}} ", "dim")
        for number, value in seen:
            eighths = max(0, min(8, round(value / most * 8 * _HEIGHT) - 8 * row))
            text.append(_EIGHTHS[eighths] * cells, f"bold {YELLOW}" if number == cursor else CYAN)
        text.rstrip()
        text.append("\n")
    text.append(f"{0:>{_AXIS - 1}} ", "dim")
    for number, _ in seen:
        text.append(
            ("▲" if number == cursor else "─") * cells, f"bold {YELLOW}" if number == cursor else "dim"
        )
    return text
