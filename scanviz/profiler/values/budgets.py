"""How long computing values again may take, and how much memory."""

SECONDS = 20.0  # that a window of steps may take
MEMORY = 2**30  # bytes that values may take beside what the process takes by itself

__all__ = ["MEMORY", "SECONDS"]
