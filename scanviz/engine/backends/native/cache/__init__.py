"""Compile and link LLVM IR, and cache machine code on disk."""
