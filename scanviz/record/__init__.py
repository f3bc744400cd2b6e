"""The data model of all views: records of runs, loops and graphs, and the ``.scanviz`` file.

Views (reports, pictures, the terminal) read these and never a live engine object: a saved run and a live one look
alike.
"""
