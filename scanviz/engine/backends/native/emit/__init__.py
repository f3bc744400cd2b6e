"""Writing a loop in LLVM's language: values, places, steps and programs.  What operations are is in ``kernels``."""


class NotWrittenError(Exception):
    """A loop has no native code, for the reason given."""


class RunError(NotWrittenError):
    """What is written is an error when it is run: NumPy's code says so in its words."""
