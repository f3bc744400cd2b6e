"""Run machine code: loops, parts of loops by threads, whole functions; arguments, counts and times."""
