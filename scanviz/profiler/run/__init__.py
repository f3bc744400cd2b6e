"""Run a program under the recorder or the checker: a script as ``__main__``, its exits, its profile."""
