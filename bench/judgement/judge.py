"""All that is measured with one notebook."""

import argparse
import shutil
import tempfile
import traceback
from dataclasses import asdict
from pathlib import Path

from bench.judgement import edits
from bench.judgement.orders import ORDERS, judge_order, orders_of
from bench.judgement.packages import Example
from bench.judgement.planting import plant_and_verify
from bench.judgement.rerun import Failure, Score, Truth, judge_edit, sources
from bench.judgement.untouched import judge_untouched


def judge_example(given: tuple[argparse.Namespace, Example, int, list[edits.Edit], list[edits.Edit]]) -> Score:
    options, example, count, chosen, ordered = given
    score = Score()
    with tempfile.TemporaryDirectory(prefix="judgement-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        truth = Truth(example, folder / "truth")
        if "run" in options.parts:
            with attempt(score, example, "run") as step:
                step(judge_untouched(options.program, example, truth, folder / "untouched"))
        if "plant" in options.parts:
            with attempt(score, example, "plant") as step:
                step(plant_and_verify(options.program, example, truth, folder / "planted"))
        drawn = edits.drawn(example.name, sources(example.path), count, example.name)
        for number, edit in enumerate([*chosen, *drawn]):
            with attempt(score, example, "edit", edit) as step:
                step(judge_edit(options.program, example, edit, truth, folder / f"edit-{number}"))
                score.add(f"edits, {'chosen' if edit.kind == 'chosen' else 'random'}")
            shutil.rmtree(folder / f"edit-{number}", ignore_errors=True)
        if "orders" in options.parts and not ordered:
            ordered = edits.drawn(example.name, sources(example.path), 1, f"orders of {example.name}")
        for number, edit in enumerate(ordered):
            for order in orders_of(edit):
                at = folder / f"order-{number}-{ORDERS.index(order)}"
                with attempt(score, example, order.name, edit) as step:
                    step(judge_order(options.program, example, edit, order, truth, at))
                    score.add("orders")
                shutil.rmtree(at, ignore_errors=True)
    return score


class attempt:  # noqa: N801
    """One failing notebook or edit does not end the measurement."""

    def __init__(self, score: Score, example: Example, what: str, edit: edits.Edit | None = None) -> None:
        self.score, self.example, self.what, self.edit = score, example, what, edit

    def __enter__(self):
        return lambda part: merge(self.score, part)

    def __exit__(self, kind, error, trace) -> bool:
        if isinstance(error, Exception):
            said = "".join(traceback.format_exception(error))[-1500:]
            edit = asdict(self.edit) if self.edit else None
            self.score.fail(Failure(f"not judged ({self.what})", self.example.name, self.edit.cell if self.edit else -1, "", edit, said))
            return True
        return False


def merge(total: Score, part: Score) -> None:
    for name, count in part.counts.items():
        total.add(name, count)
    total.failures += part.failures
