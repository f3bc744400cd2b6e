"""A stepper: the rows of a loop's buffers before and after each step, on a page that needs no network."""
