"""Recording: what the engine notifies, kept as a record in bounded memory."""
