"""Keys that jump: to the slowest step, to the first NaN and what made it, to a loop's gradient and back."""

from __future__ import annotations

from scanviz.tui.tabbed_app import TabbedApp


def to_other_loop(app: TabbedApp) -> None:
    """Go from a loop to its gradient, and back."""
    others = (app.state.forward_loop(), *app.state.gradient_loops())
    found = next((other for other in others if other is not None), None)
    if found is None:
        app.notify("This loop has no back-propagation here, and is none.")
    else:
        app.state = app.state.at_loop(found)


def to_slowest_step(app: TabbedApp) -> None:
    """Go to the slowest step."""
    step = app.state.slowest_step()
    if step is None:
        app.notify("No steps of this loop were kept.")
    else:
        app.state = app.state.at_step(step)


def to_first_bad(app: TabbedApp) -> None:
    """Go to the first step with a NaN or an infinity; from there to what gave or made it."""
    found = app.state.at_first_bad()
    if found is not None and (found.loop, found.step) == (app.state.loop, app.state.step):
        found = app.state.at_cause() or found
    if found is not None:
        app.state = found
        app.view.point()
    elif app.state.record.traces:
        app.notify("No value that was kept is NaN or infinite.")
    else:
        app.notify("No values were kept: scanviz profile --values SCRIPT keeps them.")


__all__ = ["to_first_bad", "to_other_loop", "to_slowest_step"]
