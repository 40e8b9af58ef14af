"""The names that a cell's code reads, to any depth: what counts is whether their values were the same in two runs."""

import ast
import builtins
import warnings

from IPython.core.inputtransformer2 import TransformerManager


def parsed(source: str) -> ast.Module | None:
    """The cell as Python, with IPython's magics as calls."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(TransformerManager().transform_cell(source))
    except SyntaxError:
        return None


def read_by(source: str) -> set[str]:
    """All names that the code loads anywhere; too many rather than too few."""
    tree = parsed(source)
    if tree is None:
        return set()
    loaded = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    written = {node.target.id for node in ast.walk(tree) if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)}
    return (loaded | written) - set(dir(builtins))


def with_functions(sources: dict[int, str], index: int) -> set[str]:
    """What a cell reads, and what the notebook's functions and classes that it reads use in turn."""
    bodies: dict[str, set[str]] = {}
    for source in sources.values():
        tree = parsed(source)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                bodies.setdefault(node.name, set()).update(read_by(ast.unparse(node)))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        bodies.setdefault(target.id, set()).update(read_by(ast.unparse(node.value)))
    names, new = set(), read_by(sources[index])
    while new:
        names |= new
        new = set().union(*(bodies.get(name, set()) for name in new)) - names
    return names
