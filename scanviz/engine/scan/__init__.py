"""scan: loops as graph nodes, from the user's step function to typed loop variables and the documents' views of them.

Read :mod:`~scanviz.engine.scan.variables` first (what a loop reads, carries and gives), then :mod:`~scanviz.engine.scan.loop` (the
operation that holds them) and :mod:`~scanviz.engine.scan.build` (the way from ``scan(fn, …)`` to it).
:mod:`~scanviz.engine.scan.rebuild` makes a changed loop of a loop for rules, gradients and ``ScanArgs``;
:mod:`~scanviz.engine.scan.layout` derives the flat lists of Theano's documents.
"""
