"""Executes each snippet in a real IPython kernel and saves its outputs as nbformat JSON, one file a snippet.

The files here were made with CPython 3.11.7 and the packages of `requirements.txt`:

    python3 -m venv env && env/bin/pip install -r requirements.txt && env/bin/python make.py [NAME...]
"""

import json
import pathlib
import sys
import tempfile

import nbformat
import nbformat.v4.nbbase
from nbclient import NotebookClient

# Altair's `application/vnd.vegalite.v6.json` is not valid nbformat (no `+json`); notebooks hold it all the same.
nbformat.v4.nbbase.validate = lambda *_, **__: None

# Paths of the machine it ran on.
PLACES = {sys.prefix: "/env", sys.base_prefix: "/usr", tempfile.gettempdir() + "/ipykernel_": "/tmp/ipykernel_"}

SNIPPETS = {}
for block in pathlib.Path(__file__).with_name("snippets.py").read_text().split("\n#: ")[1:]:
    name, source = block.split("\n", 1)
    SNIPPETS[name.strip()] = source.strip()


def main(wanted):
    here = pathlib.Path(__file__).parent
    notebook = nbformat.v4.new_notebook()
    names = [name for name in SNIPPETS if not wanted or name in wanted or name == "setup"]
    notebook.cells = [nbformat.v4.new_code_cell(SNIPPETS[name]) for name in names]
    NotebookClient(notebook, allow_errors=True, timeout=300).execute()
    for name, cell in zip(names, notebook.cells):
        if name == "setup":
            assert not cell.outputs, cell.outputs
            continue
        text = json.dumps(cell.outputs, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        for path, name_of_it in PLACES.items():
            text = text.replace(path, name_of_it)
        (here / f"{name}.json").write_text(text)
        print(f"{len(text):8} {name}")


main(sys.argv[1:])
