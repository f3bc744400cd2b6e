"""Running Programs, whatever the tier: rows of a loop, its driver, who is told what, errors in the user's words."""
