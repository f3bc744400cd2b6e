"""Writing a loop in LLVM's language: values, places, steps and programs.  What operations are is in ``kernels``."""
