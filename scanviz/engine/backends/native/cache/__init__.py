"""Machine code of emitted texts: kept on disk, compiled and linked by LLVM."""
