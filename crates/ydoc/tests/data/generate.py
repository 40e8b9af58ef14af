"""Writes the documents of this folder with the libraries that Jupyter servers use, and reads ours with them.

    pip install jupyter-ydoc==4.2.1 pycrdt==0.14.13 nbformat==5.11.1
    npm install @jupyter/ydoc@4.2.0 && node generate.mjs > javascript.update
    python generate.py            # writes NAME.update and NAME.ipynb, what Jupyter saves of it
    python generate.py check DIR  # reads DIR/*.update, checks that they are valid and equal to DIR/*.ipynb
"""

import json
import pathlib
import sys

import nbformat
from jupyter_ydoc import YNotebook
from pycrdt import Array, Doc, Map, Text

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def saved(document):
    """What the server writes."""
    content = nbformat.from_dict(YNotebook(document).get())
    text = nbformat.writes(content)
    nbformat.validate(nbformat.reads(text, as_version=4))
    return text + ("" if text.endswith("\n") else "\n")


def code(source, outputs=(), count=None, id="code", **metadata):
    return {
        "cell_type": "code",
        "id": id,
        "metadata": metadata,
        "source": source,
        "outputs": list(outputs),
        "execution_count": count,
    }


def text(kind, source, id, **more):
    return {"cell_type": kind, "id": id, "metadata": {}, "source": source, **more}


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


OUTPUTS = [
    stream("one\ntwo \U0001f600\n"),
    stream(["a\n", "b"], "stderr"),
    {"output_type": "display_data", "data": {"image/png": PIXEL, "text/plain": "<Figure>"}, "metadata": {"image/png": {"width": 640}}},
    {
        "output_type": "execute_result",
        "execution_count": 3,
        "data": {"text/plain": "'\U0001d518'", "text/html": "<b>\n</b>", "application/json": {"b": [1, 2.5, None], "a": True}},
        "metadata": {},
    },
    {"output_type": "error", "ename": "ValueError", "evalue": "no \u00e9", "traceback": ["\u001b[31mValueError\u001b[0m", "line"]},
]

NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python", "version": "3.11"},
        "widgets": {"state": {"x": 1.0, "y": 0.5}},
    },
    "cells": [
        text("markdown", "# Title \U0001f600\n\ntext", "title", attachments={"a.png": {"image/png": PIXEL}}),
        code("print('\U0001f469\u200d\U0001f52c')\n1", OUTPUTS, 3, "all", trusted=True, tags=["x"], collapsed=False),
        text("raw", "raw \u00e9", "raw", attachments={}),
        code("", id="empty"),
    ],
}


def standard():
    document = Doc(client_id=1)
    YNotebook(document).set(NOTEBOOK)
    return document


def plain_outputs():
    """As jupyter-server-documents and nbmodel write outputs: plain values, not shared ones."""
    document = Doc(client_id=2)
    notebook = YNotebook(document)
    notebook.set(NOTEBOOK)
    outputs = notebook.ycells[1]["outputs"]
    outputs.clear()
    for output in OUTPUTS:
        outputs.append({**output})
    notebook.ycells[1]["execution_count"] = 3.0
    notebook.ycells[1]["execution_state"] = "running"
    return document


def text_as_list():
    """As older versions of jupyter_ydoc wrote streams: text as a shared list of strings."""
    document = Doc(client_id=3)
    notebook = YNotebook(document)
    notebook.set({**NOTEBOOK, "cells": [code("1", id="list")]})
    notebook.ycells[0]["outputs"].append(Map({"output_type": "stream", "name": "stdout", "text": Array(["a\n", "b\n", "c"])}))
    return document


def history():
    """What is left after two people have typed, deleted and run."""
    one, two = Doc(client_id=4), Doc(client_id=5)
    YNotebook(one).set(NOTEBOOK)
    two.apply_update(one.get_update())
    first, second = YNotebook(one), YNotebook(two)
    source, printed = first.ycells[1]["source"], second.ycells[1]["outputs"][0]["text"]
    source += "\n# one \U0001f600"
    printed += "three\n"
    second.ycells[1]["source"].insert(0, "# two \U0001d518\n")
    first.ycells.insert(1, first.create_ycell(code("new", id="new")))
    del second.ycells[2]
    second.ycells[2]["metadata"]["k"] = {"v": 2.0}
    for target, source in ((one, two), (two, one), (one, two)):
        target.apply_update(source.get_update(target.get_state()))
    assert saved(one) == saved(two)
    return one


def version_4_4():
    document = Doc(client_id=6)
    YNotebook(document).set({**NOTEBOOK, "nbformat_minor": 4})
    return document


def main():
    if sys.argv[1:2] == ["check"]:
        for update in sorted(pathlib.Path(sys.argv[2]).glob("*.update")):
            document = Doc()
            document.apply_update(update.read_bytes())
            expected = update.with_suffix(".ipynb").read_text()
            found = saved(document)
            # Not the text: Python writes 2.5e-07, where others write 2.5e-7.
            assert json.loads(found) == json.loads(expected), f"{update}:\n{found}\n---\n{expected}"
            print(update.name, "is read and saved as expected")
        return
    folder = pathlib.Path(__file__).parent
    for make in (standard, plain_outputs, text_as_list, history, version_4_4):
        document = make()
        (folder / f"{make.__name__}.update").write_bytes(document.get_update())
        if make is plain_outputs:
            assert saved(document) == (folder / "standard.ipynb").read_text()
        else:
            (folder / f"{make.__name__}.ipynb").write_text(saved(document))
    document = Doc()
    document.apply_update((folder / "javascript.update").read_bytes())
    (folder / "javascript.ipynb").write_text(saved(document))


main()
