"""The terminal application: walk through a loop, from a saved profile or while its script runs.

``state`` holds the selection and how keys move it, without Textual; ``app`` shows it; each file of ``views`` is one tab.  Every
view reads the record and the state, and changes nothing but the state.
"""
