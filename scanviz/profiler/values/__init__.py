"""Values of loop variables: kept for chosen loops, checked, or computed again."""
