"""Answers questions about the variables of an IPython kernel, on its control channel, also while a cell runs.

`build.rs` joins the modules to one program, which runs once in the kernel, in a namespace of its own. For that, they import from one
another only at their top and only by `from .module import name`, each name is defined in one module, and `install`, which nobody imports,
is the last.

Nothing here may call code of the person: `type(value)` instead of `isinstance`, which asks `__class__`; slots of built-in types
instead of `len` and `repr`; facts of a library only for its own classes, not for subclasses, and only if it is loaded already.
"""
