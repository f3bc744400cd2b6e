"""How rules are applied: phases in rounds, one pass of a rule, the graph rebuilt, and what each pass changed."""
