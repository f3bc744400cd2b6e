"""The same loops on a GPU in scanviz and its peers, float32: one file a tool, one function a loop.

A function takes the sizes of a loop and its inputs as NumPy arrays, puts them on the device, and returns a call to time, which
gives the loop's one result when the device is done.  ``reference.py`` has inputs and results in NumPy's float64.
"""
