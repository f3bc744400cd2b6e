"""Running machine code: whole loops, parts of them by threads, whole functions; what is handed over, counted and timed."""
