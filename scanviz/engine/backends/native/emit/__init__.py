"""Emit a loop as LLVM IR.  To *write* something is to append its lines to the function; kernels write operations."""


class NotWrittenError(Exception):
    """A loop or an operation has no native code; the message is the reason."""


class RunError(NotWrittenError):
    """The code would fail when it runs: NumPy's code raises the error in its words."""
