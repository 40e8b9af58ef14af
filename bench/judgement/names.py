"""The names that a cell's code reads, to any depth: what counts is whether their values were the same in two runs."""

import ast
import builtins
import warnings

from IPython.core.inputtransformer2 import TransformerManager

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def parsed(source: str) -> ast.Module | None:
    """The cell as Python, with IPython's magics as calls."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(TransformerManager().transform_cell(source))
    except SyntaxError:
        return None


def read_by(tree: ast.AST) -> set[str]:
    """All names that the code loads anywhere; too many rather than too few."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names - set(dir(builtins))


def bodies_of(sources: dict[int, str]) -> dict[str, set[str]]:
    """What the notebook's functions and classes read."""
    bodies: dict[str, set[str]] = {}
    for source in sources.values():
        tree = parsed(source)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, FUNCTIONS):
                bodies.setdefault(node.name, set()).update(read_by(node))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        bodies.setdefault(target.id, set()).update(read_by(node.value))
    return bodies


def reached(tree: ast.AST, bodies: dict[str, set[str]]) -> set[str]:
    """What the code reads, and what the functions and classes that it reads use in turn. A definition alone reads nothing."""
    names, new = set(), set() if isinstance(tree, FUNCTIONS) else read_by(tree)
    while new:
        names |= new
        new = set().union(*(bodies.get(name, set()) for name in new)) - names
    return names
