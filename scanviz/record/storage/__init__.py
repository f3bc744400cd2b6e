"""The ``.scanviz`` file: a zip of JSON and arrays, written atomically, with every size checked on reading."""
