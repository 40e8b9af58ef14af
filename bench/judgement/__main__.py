"""Whether what Cellbridge says of stale cells and of reruns is right, on notebooks that come with packages.

`cargo xtask bench judgement` runs it with the program, in an environment that has the packages which the notebooks use. nbclient runs the
same notebooks, before and after each edit, and decides what is right.
"""

import argparse
import collections
import json
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from bench.judgement import edits
from bench.judgement.fork_server import fork_server
from bench.judgement.judge import judge_example, merge
from bench.judgement.orders import tables
from bench.judgement.packages import examples
from bench.judgement.rerun import Score
from bench.judgement.small import small_examples

TARGETS = {
    "stale after running all": "0",
    "silent": "0",
    "false stale": "≤ 5 % of those reported",
    "unlike a fresh run, silent": "0",
    "stale after running stale": "0",
    "false alarm": "0",
    "missed": "0",
}
# Below these, `of` is what a failure is a part of.
OF = {
    "stale after running all": ["cells run"],
    "false stale": ["reported"],
    "unlike a fresh run, silent": ["compared after the rerun"],
    "false alarm": ["cells verified"],
}


def main() -> None:
    options = arguments()
    start = time.monotonic()
    found = [] if options.only.startswith("small/") else examples(options.cache)
    found = [example for example in found if not options.only or options.only in example.name]
    table = edits.chosen() if "chosen" in options.parts else []
    count = options.edits if "random" in options.parts else 0
    work = [(options, example, share(count, len(found), at), [e for e in table if e.notebook == example.name], []) for at, example in enumerate(found)]
    if "orders" in options.parts:
        small = [(example, own) for example, own in small_examples(options.cache) if options.only in example.name]
        work += [(options, example, 0, [], own) for example, own in small]
    total = Score()
    with tempfile.TemporaryDirectory() as folder, fork_server(Path(folder)), ProcessPoolExecutor(options.workers) as pool:
        started = {pool.submit(judge_example, given): given[1].name for given in work}
        for done in as_completed(started):
            merge(total, done.result())
            print(f"{started[done]}: {done.result().counts.get('silent', 0)} silent", flush=True)
            write(total, options.report)
    report(total, len(found), time.monotonic() - start)
    print(f"\nEach failure is in {options.report}.")


def write(total: Score, report: Path) -> None:
    """After each notebook, so that those who fix what fails need not wait for the last."""
    failures = [asdict(failure) for failure in total.failures]
    report.write_text(json.dumps({"counts": total.counts, "failures": failures}, ensure_ascii=False, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("cache", type=Path)
    parser.add_argument("report", type=Path)
    parser.add_argument("--only", default="", help="notebooks whose name has this part")
    parser.add_argument("--edits", type=int, default=110, help="random edits of all notebooks together")
    parser.add_argument("--parts", default="run,plant,chosen,random,orders", help="what is measured, with commas between")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    return parser.parse_args()


def share(count: int, parts: int, at: int) -> int:
    return count // parts + (at < count % parts)


def report(total: Score, notebooks: int, seconds: float) -> None:
    counts = collections.Counter(total.counts)
    planted = sum(count for name, count in counts.items() if name.startswith("planted"))
    print(f"\n{notebooks} notebooks, {seconds / 60:.0f} minutes\n")
    print("| | count | of | target |\n|---|---|---|---|")
    for name, target in TARGETS.items():
        whole = sum(counts[part] for part in OF.get(name, []))
        if name == "missed":
            whole = planted
        part = f"{whole}" + (f" ({counts[name] / whole:.1%})" if whole else "")
        if name == "silent":
            part = f"{counts['edits, chosen'] + counts['edits, random']} edits"
        print(f"| {name} | {counts[name]} | {part} | {target} |")
    for name in sorted(name for name in set(counts) - set(TARGETS) if "\t" not in name):
        print(f"| {name} | {counts[name]} | | |")
    if counts["orders"]:
        print("", *tables(counts), sep="\n")


if __name__ == "__main__":
    main()
