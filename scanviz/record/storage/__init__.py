"""The ``.scanviz`` file: a zip of JSON and arrays, written whole or not at all, and read with every size checked."""
