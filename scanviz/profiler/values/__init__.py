"""Values over time: kept for chosen loops, or checked as they are computed."""
