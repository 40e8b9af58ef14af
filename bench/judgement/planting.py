"""Changes saved outputs by little, as another environment or a hand would: a verification has to see each of them."""

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat

from bench.judgement.packages import Example
from bench.judgement.rerun import Failure, Score, Truth, fresh_run, sources
from bench.judgement.session import environment, session
from bench.judgement.untouched import verify

# Neither a part of a name, date, time or version, nor a duration, which may differ.
NUMBER = re.compile(r"(?<![\w:.\-+/])\d+\.\d{1,8}(?![\w:.\-/]|\s*(?:s|ms|µs|us|min|h|sec|seconds|minutes)\b)")
WORD = re.compile(r"\b[a-z]{5,}\b")
IN_HTML = re.compile(r">[^<>]*?(\d+\.\d+)[^<>]*<")
ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
OBJECT = re.compile(r"^<[^>]*>$|\.Chart\(\.\.\.\)$")
TITLE = re.compile(r"\b(?:suptitle|(?:set_)?(?:title|xlabel|ylabel))\(\s*(?P<quote>[\"'])[^\"'\n]*(?P=quote)")
DATA = re.compile(r"plotly|vega")
# What a title is run with, and what the planted picture shows.
SHOWN, PLANTED = " 3", " 8"
PICTURES = 2


def plant_and_verify(program: str, example: Example, truth: Truth, folder: Path) -> Score:
    score = Score()
    path = example.copy_to(folder / "root")
    steady = {at: text for at, text in sources(path).items() if truth.is_steady(at)}
    titled = titles(steady, truth)
    notebook = nbformat.read(path, as_version=4)
    for index, source in titled.items():
        notebook.cells[index].source = source.replace("\0", SHOWN)
    nbformat.write(notebook, path)
    variables = environment(folder / "home")
    with session(program, path, variables) as opened:
        opened.run_all()
    saved = nbformat.read(path, as_version=4)
    planted = dict(plant_pictures(example, saved, titled, folder))
    chance = random.Random(example.name)
    for kind, change in CHANGES.items():
        free = [at for at in steady if at not in planted and at not in titled]
        chance.shuffle(free)
        if (index := next((at for at in free if change(saved.cells[at].outputs, chance)), None)) is not None:
            planted[index] = kind
    nbformat.write(saved, path)
    if planted:
        judge(score, example, planted, {**steady, **titled}, verify(program, path, variables)["cells"])
    return score


def judge(score: Score, example: Example, planted: dict[int, str], texts: dict[int, str], verdicts: list[dict[str, Any]]) -> None:
    by_index = {cell["index"]: cell for cell in verdicts}
    for index, kind in planted.items():
        score.add(f"planted: {kind}")
        cell = by_index.get(index, {"verdict": "not compared"})
        if cell["verdict"] in ("identical", "not compared"):
            score.fail(Failure("missed", example.name, index, texts[index], said=f"{kind}: {cell['verdict']}", right="it differs"))


def titles(steady: dict[int, str], truth: Truth) -> dict[int, str]:
    """Cells that show one picture with a title, with a mark where the digit goes."""
    found = {}
    for index, source in steady.items():
        match = TITLE.search(source)
        if match and sum("image/png" in output.get("data", {}) for output in truth.run[index].raw) == 1:
            found[index] = f"{source[: match.end() - 1]}\0{source[match.end() - 1 :]}"
    return dict(list(found.items())[:PICTURES])


def plant_pictures(example: Example, saved: Any, titled: dict[int, str], folder: Path) -> Iterator[tuple[int, str]]:
    """Draws the pictures with another digit in the title, in a kernel of their own."""
    if not titled:
        return
    drawn = fresh_run(example, folder / "drawn", {at: text.replace("\0", PLANTED) for at, text in titled.items()})
    for index in titled:
        other = next((output for output in drawn[index].raw if "image/png" in output.get("data", {})), None)
        own = next((output for output in saved.cells[index].outputs if "image/png" in output.get("data", {})), None)
        if own and other and own.data["image/png"].strip() != other["data"]["image/png"].strip():
            own.data["image/png"] = other["data"]["image/png"]
            yield index, "picture"


def change_text(outputs: list[Any], chance: random.Random) -> bool:
    return change_plain(outputs, chance, WORD, lambda word: word[:-1] + ("a" if word[-1] != "a" else "e"))


def change_number(outputs: list[Any], chance: random.Random) -> bool:
    return change_plain(outputs, chance, NUMBER, other_digit)


def change_plain(outputs: list[Any], chance: random.Random, what: re.Pattern[str], other: Callable[[str], str]) -> bool:
    """In printed text, or in a result that is only text."""
    for output in outputs:
        if output.output_type == "stream" and output.name == "stdout":
            holder, key = output, "text"
        elif output.output_type == "execute_result" and set(output.data) == {"text/plain"} and not OBJECT.match(output.data["text/plain"]):
            holder, key = output.data, "text/plain"
        else:
            continue
        # Later prints take back what comes before a carriage return.
        matches = list(what.finditer(holder[key])) if "\r" not in holder[key] else []
        if matches:
            match = chance.choice(matches)
            holder[key] = holder[key][: match.start()] + other(match[0]) + holder[key][match.end() :]
            return True
    return False


def other_digit(number: str) -> str:
    """The first digit after the point counts the other way."""
    at = number.index(".") + 1
    return f"{number[:at]}{(int(number[at]) + 3) % 10}{number[at + 1 :]}"


def change_table(outputs: list[Any], chance: random.Random) -> bool:
    """A row less, in HTML and in the text beside it."""
    for output in outputs:
        data = output.get("data", {})
        rows = list(ROW.finditer(data.get("text/html", "")))
        lines = data.get("text/plain", "").split("\n")
        if len(rows) > 3 and len(lines) > 3:
            row = rows[-1]
            data["text/html"] = data["text/html"][: row.start()] + data["text/html"][row.end() :]
            data["text/plain"] = "\n".join(lines[:-1])
            return True
    return False


def change_html(outputs: list[Any], chance: random.Random) -> bool:
    """A number in HTML whose text only names an object."""
    for output in outputs:
        data = output.get("data", {})
        html = data.get("text/html", "")
        matches = list(IN_HTML.finditer(html)) if OBJECT.match(data.get("text/plain", "<>")) and "<script" not in html else []
        if matches:
            match = chance.choice(matches)
            data["text/html"] = html[: match.start(1)] + other_digit(match[1]) + html[match.end(1) :]
            return True
    return False


def change_chart(outputs: list[Any], chance: random.Random) -> bool:
    """A number of a chart's data or layout."""
    for output in outputs:
        for mime, data in output.get("data", {}).items():
            if DATA.search(mime) and (places := list(numbers(data))):
                holder, key = chance.choice(places)
                holder[key] += 1
                return True
    return False


def numbers(data: Any) -> Iterator[tuple[Any, Any]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, item in items:
        if isinstance(item, (int, float)) and not isinstance(item, bool):
            yield data, key
        elif key not in ("template", "config", "$schema"):
            yield from numbers(item)


CHANGES: dict[str, Callable[[list[Any], random.Random], bool]] = {
    "chart": change_chart,
    "HTML": change_html,
    "table": change_table,
    "number": change_number,
    "text": change_text,
}
