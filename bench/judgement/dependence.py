"""Which cells depend on an edit, followed by names from statement to statement: for cells whose values an edit could have changed,
but did not.

With the edit `k = 4` to `k = 2`, `best = select(k)` depends on it and so does a cell that reads `best`, even where it selects the same.
"""

import ast
import difflib
from collections.abc import Iterator

from bench.judgement.names import FUNCTIONS, bodies_of, parsed, reached


def dependent_cells(sources: dict[int, str], edited: int, new: str) -> set[int]:
    """The cells a statement of which reads a name that the edit reaches."""
    changed = {**sources, edited: new}
    bodies = bodies_of(changed)
    changing = {name for source in changed.values() for name in changing_functions(source)}
    modules = {name for source in changed.values() for name in imported(source)}
    touched, dependent = gone(sources[edited], new), set()
    reaching: set[str] = set()
    for index in sorted(changed):
        tree = parsed(changed[index])
        if index == edited:
            reaching |= touched
        for statement in tree.body if tree else ():
            is_new = index == edited and ast.dump(statement) in fresh_statements(sources[edited], new)
            if is_new or reached(statement, bodies) & reaching:
                reaching |= bound(statement) | (receivers(statement, changing) - modules)
                dependent.add(index)
            else:
                reaching -= replaced(statement)
    return dependent


def dumps(source: str) -> list[str]:
    tree = parsed(source)
    return [ast.dump(statement) for statement in tree.body] if tree else []


def fresh_statements(old: str, new: str) -> set[str]:
    before, after = dumps(old), dumps(new)
    blocks = difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_matching_blocks()
    same = {block.b + step for block in blocks for step in range(block.size)}
    return {text for at, text in enumerate(after) if at not in same}


def gone(old: str, new: str) -> set[str]:
    """Names that statements bound or changed which the edit has removed."""
    tree = parsed(old)
    left = fresh_statements(new, old)
    statements = [statement for statement in (tree.body if tree else ()) if ast.dump(statement) in left]
    return set().union(*(bound(statement) | receivers(statement, set()) for statement in statements))


def bound(statement: ast.stmt) -> set[str]:
    """Names that a statement binds, and those whose items or attributes it sets."""
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, FUNCTIONS):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            names.update(base(node))
    return names


def replaced(statement: ast.stmt) -> set[str]:
    """Names that the statement binds in any case, to something new."""
    if isinstance(statement, FUNCTIONS):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def changing_functions(source: str) -> Iterator[str]:
    """Functions that set items or attributes of a parameter, or call its methods."""
    for node in ast.walk(parsed(source) or ast.Module([], [])):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parameters = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
            changed = [name for statement in node.body for name in bound(statement) | receivers(statement, set())]
            if parameters & set(changed):
                yield node.name


def receivers(statement: ast.stmt, changing: set[str]) -> set[str]:
    """All that may be changed in place: objects whose methods are called, and what is passed to functions that do so."""
    names: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            names.update(base(node.func))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in changing:
            names.update(name for argument in node.args for name in base(argument))
    return names


def base(node: ast.AST) -> Iterator[str]:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def imported(source: str) -> set[str]:
    tree = parsed(source)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.alias)] if tree else []
    return {(node.asname or node.name).split(".")[0] for node in found}
