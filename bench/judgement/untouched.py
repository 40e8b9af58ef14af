"""A notebook that is only run: no cell is stale then, and a verification finds no difference that is not there."""

import json
import subprocess
from pathlib import Path
from typing import Any

from bench.judgement.outputs import short
from bench.judgement.packages import Example
from bench.judgement.rerun import Failure, Score, Truth, sources
from bench.judgement.session import environment, is_stale, session


def judge_untouched(program: str, example: Example, truth: Truth, folder: Path) -> Score:
    score = Score()
    path = example.copy_to(folder / "root")
    texts = sources(path)
    variables = environment(folder / "home")
    with session(program, path, variables) as opened:
        opened.run_all()
        marks = opened.states()
        saved = opened.saved()
    for index, mark in marks.items():
        score.add("cells run")
        if is_stale(mark):
            score.fail(Failure("stale after running all", example.name, index, texts[index], said=mark))
        elif mark:
            score.add(f"after running all: {mark.split(':')[0]}")
    verdicts = verify(program, path, variables)
    for cell in verdicts["cells"]:
        index = cell["index"]
        if index not in truth.run:
            continue
        score.add("cells verified")
        is_same = truth.is_steady(index) and saved[index] == truth.run[index].outputs
        if cell["verdict"] != "identical" and is_same:
            said = f"{cell['verdict']}: {cell.get('diff', '')[:300]}"
            score.fail(Failure("false alarm", example.name, index, texts[index], said=said, right=short(saved[index])))
        elif cell["verdict"] == "identical" and not is_same and truth.is_steady(index):
            right = f"saved {short(saved[index])}, fresh {short(truth.run[index].outputs)}"
            score.fail(Failure("our run unlike nbclient's", example.name, index, texts[index], said="identical", right=right))
    return score


def verify(program: str, path: Path, variables: dict[str, str]) -> dict[str, Any]:
    """The report of `cellbridge verify`."""
    command = [program, "verify", path.name, "--json"]
    done = subprocess.run(command, cwd=path.parent, env=variables, capture_output=True, text=True, timeout=600)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)[0]
