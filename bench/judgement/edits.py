"""Edits that a person might make: those of a table, and random ones."""

import ast
import random
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.judgement.names import parsed

LIST = Path(__file__).parent / "edits.toml"
SWAPS = {"+": "-", "-": "+", "*": "/", "/": "*", "<": ">=", ">": "<=", "==": "!="}
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Lt: "<", ast.Gt: ">", ast.Eq: "=="}


@dataclass(frozen=True)
class Edit:
    notebook: str
    cell: int
    old: str
    new: str
    kind: str
    # Edits of a file beside the notebook name it, and no cell.
    file: str = ""

    def applied(self, source: str) -> str:
        return self.new if self.kind != "chosen" else source.replace(self.old, self.new, 1)


def chosen() -> list[Edit]:
    """The edits of the table."""
    return [Edit(**entry, kind="chosen") for entry in tomllib.loads(LIST.read_text())["edit"]]


def drawn(notebook: str, sources: dict[int, str], count: int, seed: str) -> list[Edit]:
    """Random edits, the same for the same seed: the kind first, so that the rare kinds are drawn as often."""
    chance = random.Random(seed)
    by_kind: dict[str, list[Edit]] = {}
    for index, source in sources.items():
        for kind, new in candidates(source):
            if parsed(new) is not None and new != source:
                by_kind.setdefault(kind, []).append(Edit(notebook, index, source, new, kind))
    picked: list[Edit] = []
    while len(picked) < count and by_kind:
        kind = chance.choice(sorted(by_kind))
        edit = by_kind[kind].pop(chance.randrange(len(by_kind[kind])))
        if not by_kind[kind]:
            del by_kind[kind]
        # One edit of a cell is enough.
        if all(edit.cell != other.cell for other in picked):
            picked.append(edit)
    return picked


def candidates(source: str) -> Iterator[tuple[str, str]]:
    """Each possible edit of a cell, as the kind and the cell's new source."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    text = Text(source)
    arguments = [node for node in ast.walk(tree) if isinstance(node, ast.arguments)]
    defaults = {id(default) for node in arguments for default in (*node.defaults, *node.kw_defaults)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and is_number(node.value):
            kind = "default" if id(node) in defaults else "number"
            yield kind, text.replaced(*text.place(node), other_number(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            start, end = text.place(node)
            literal = text.between(start, end)
            if re.fullmatch(r"(['\"])[^'\"\n]+\1", literal):
                yield "string", text.replaced(start, end, f"{literal[:-1]}2{literal[-1]}")
        elif isinstance(node, (ast.BinOp, ast.Compare)):
            yield from other_operator(text, node)
    for statement in tree.body if len(tree.body) > 1 else ():
        if statement.lineno == statement.end_lineno and not isinstance(statement, (ast.Import, ast.ImportFrom)):
            lines = source.split("\n")
            yield "deleted line", "\n".join(lines[: statement.lineno - 1] + lines[statement.lineno :])


class Text:
    """A source by the positions of `ast`, which count bytes in a line."""

    def __init__(self, source: str) -> None:
        self.bytes = source.encode()
        self.lines = [0]
        for line in self.bytes.split(b"\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)

    def place(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset

    def between(self, start: int, end: int) -> str:
        return self.bytes[start:end].decode()

    def replaced(self, start: int, end: int, new: str) -> str:
        return (self.bytes[:start] + new.encode() + self.bytes[end:]).decode()


def other_operator(text: Text, node: ast.BinOp | ast.Compare) -> Iterator[tuple[str, str]]:
    right, operator = (node.right, node.op) if isinstance(node, ast.BinOp) else (node.comparators[0], node.ops[0])
    start, end = text.place(node.left)[1], text.place(right)[0]
    between, sign = text.between(start, end), SIGNS.get(type(operator))
    if sign and between.count(sign) == 1:
        yield "operator", text.replaced(start, end, between.replace(sign, SWAPS[sign]))


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def other_number(value: float) -> str:
    return str(value + 1) if isinstance(value, int) else repr(round(value * 1.25, 6) or 0.5)
