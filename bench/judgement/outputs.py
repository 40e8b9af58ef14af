"""What a cell shows, in a form that is equal for two runs of deterministic code: without ids, addresses and counts."""

import re
from collections.abc import Iterable
from typing import Any

# Ids that a library draws at random or counts in the kernel. Each is replaced by its place among those of the output.
IDS = re.compile(
    r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b"
    r"|\bp\d{4,}\b"
    # The names that Param (Panel, HoloViews) and control give by counting.
    r"|\b[A-Z][A-Za-z]+\d{5}\b|\bsys\[\d+\]"
    r"|(?<=T_)[0-9a-f]{5}(?=[_\"\s])"
    r"|(?<=sk-container-id-)\d+|(?<=sk-estimator-id-)\d+"
    r"|(?<=altair-viz-)[0-9a-f]+|\b[0-9a-f]{32}\b"
    r"|(?<=\")[mp][0-9a-f]{10}(?=\")|(?<=#)[mp][0-9a-f]{10}\b"
)
ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
# The tables of statsmodels and linearmodels name the day and the time, and a kept run may be of another day.
TIME = re.compile(r"\b\d\d:\d\d:\d\d\b|\b[A-Z][a-z]{2}, (?:[A-Z][a-z]{2} \d\d|\d\d [A-Z][a-z]{2}) \d{4}\b")
KERNEL_FILE = re.compile(r"(?:ipykernel_\d+|/tmp/[^\s\"']+)")


def canonical(outputs: Iterable[Any]) -> list[Any]:
    """The outputs of a cell; stderr is left out, as verify leaves it out."""
    shown: list[Any] = []
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            if output["name"] != "stdout":
                continue
            text = joined(output["text"])
            if shown and shown[-1][0] == "stdout":
                shown[-1] = ("stdout", shown[-1][1] + text)
            else:
                shown.append(("stdout", text))
        elif kind == "error":
            shown.append(("error", output["ename"], output["evalue"]))
        else:
            shown.append((kind, {mime: joined(data) for mime, data in output["data"].items()}))
    return plain([without_ids(part) for part in shown])


def joined(data: Any) -> Any:
    """nbformat allows a list of lines for a text."""
    if isinstance(data, list) and all(isinstance(line, str) for line in data):
        return "".join(data)
    return data


def without_ids(value: Any) -> Any:
    seen: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return seen.setdefault(match[0], f"id{len(seen)}")

    def walk(part: Any) -> Any:
        if isinstance(part, str):
            return TIME.sub("time", KERNEL_FILE.sub("file", ADDRESS.sub("address", IDS.sub(number, part))))
        if isinstance(part, dict):
            return {walk(key): walk(item) for key, item in part.items() if key != "image/png"} | (
                {"image/png": part["image/png"].strip()} if "image/png" in part else {}
            )
        if isinstance(part, (list, tuple)):
            return [walk(item) for item in part]
        return part

    return walk(value)


def plain(value: Any) -> Any:
    """Without the classes of nbformat."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def short(outputs: list[Any], limit: int = 300) -> str:
    """For a report."""
    text = re.sub(r"[A-Za-z0-9+/=]{200,}", "(picture)", repr(outputs))
    return text if len(text) <= limit else f"{text[:limit]}…"
