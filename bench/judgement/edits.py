"""Edits that a person might make: those of a table, and random ones."""

import ast
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.judgement.names import parsed

LIST = Path(__file__).parent / "edits.toml"
SWAPS = {"+": "-", "-": "+", "*": "/", "/": "*", "<": ">=", ">": "<=", "==": "!="}
OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Lt: "<", ast.Gt: ">", ast.Eq: "=="}


@dataclass(frozen=True)
class Edit:
    notebook: str
    cell: int
    old: str
    new: str
    kind: str

    def applied(self, source: str) -> str:
        return self.new if self.kind != "chosen" else source.replace(self.old, self.new, 1)


def chosen() -> list[Edit]:
    """The edits of the table, each of which names the cell by a text that is in no other code cell."""
    return [Edit(entry["notebook"], entry["cell"], entry["old"], entry["new"], "chosen") for entry in tomllib.loads(LIST.read_text()).get("edit", [])]


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
    defaults = {id(default) for node in ast.walk(tree) if isinstance(node, ast.arguments) for default in (*node.defaults, *node.kw_defaults) if default}
    lines = source.encode().split(b"\n")
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    text = source.encode()

    def replaced(begin: tuple[int, int], end: tuple[int, int], new: str) -> str:
        start, stop = offsets[begin[0] - 1] + begin[1], offsets[end[0] - 1] + end[1]
        return (text[:start] + new.encode() + text[stop:]).decode()

    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and is_number(node.value):
            kind = "default" if id(node) in defaults else "number"
            yield kind, replaced(*place(node), other_number(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value and node.lineno == node.end_lineno:
            segment = ast.get_source_segment(source, node)
            if segment and segment[0] in "'\"" and segment[0] * 3 != segment[:3]:
                yield "string", replaced(*place(node), f"{segment[:-1]}2{segment[-1]}")
        elif isinstance(node, (ast.BinOp, ast.Compare)):
            left = node.left
            right = node.right if isinstance(node, ast.BinOp) else node.comparators[0]
            sign = OPERATORS.get(type(node.op if isinstance(node, ast.BinOp) else node.ops[0]))
            between = (place(left)[1], place(right)[0])
            old = source and replaced_text(text, offsets, between)
            if sign and old.count(sign) == 1:
                yield "operator", replaced(*between, old.replace(sign, SWAPS[sign]))
    for statement in tree.body if len(tree.body) > 1 else ():
        if statement.lineno == statement.end_lineno and not isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield "deleted line", replaced((statement.lineno, 0), (statement.lineno + 1, 0), "") if statement.lineno < len(lines) else "\n".join(source.split("\n")[: statement.lineno - 1])


def place(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def replaced_text(text: bytes, offsets: list[int], between: tuple[tuple[int, int], tuple[int, int]]) -> str:
    begin, end = between
    return text[offsets[begin[0] - 1] + begin[1] : offsets[end[0] - 1] + end[1]].decode()


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def other_number(value: float) -> str:
    return str(value + 1) if isinstance(value, int) else repr(round(value * 1.25, 6) or 0.5)
