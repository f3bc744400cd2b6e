"""Observing calls: the probe of a call, its levels, which steps are looked at, the times that are taken."""
