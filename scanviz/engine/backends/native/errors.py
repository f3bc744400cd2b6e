"""What keeps a loop from native code."""


class NotWrittenError(Exception):
    """A loop has no native code, for the reason given."""


__all__ = ["NotWrittenError"]
