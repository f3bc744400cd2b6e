"""Recording: the engine's events, kept as a record in bounded memory."""
