"""Programs: what is run. A linear list of instructions over numbered registers, and plans of their memory."""
