"""The notebooks that are judged: they come with source distributions of PyPI, which are downloaded once and checked by their hash."""

import hashlib
import json
import re
import shutil
import tarfile
import tomllib
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import nbformat
from pip._internal.configuration import Configuration
from pip._internal.models.index import PyPI

from bench.judgement.fork_server import KERNEL

LIST = Path(__file__).parent / "notebooks.toml"
# Parts of an example of sphinx-gallery; the comment that follows is text.
BLOCK = re.compile(r"^# %%.*$", re.MULTILINE)
HEAD = re.compile(r'(?:\s*#.*\n)*\s*r?"""(.*?)"""', re.DOTALL)
# What lies beside a notebook goes along with each copy, unless it is large.
LARGEST = 5_000_000
KERNELSPEC = {"name": KERNEL, "display_name": KERNEL, "language": "python"}


@dataclass(frozen=True)
class Example:
    """A notebook as its package brings it, unpacked, without outputs."""

    name: str
    path: Path
    cache: Path

    def files(self) -> list[tuple[str, str]]:
        """The modules beside it."""
        return sorted((file.name, file.read_text()) for file in self.path.parent.glob("*.py"))

    def copy_to(self, folder: Path) -> Path:
        """Copies the notebook, and the small files and folders beside it; returns the notebook's new path."""
        folder.mkdir(parents=True)
        for beside in self.path.parent.iterdir():
            files = [file for file in beside.rglob("*") if file.is_file()] if beside.is_dir() else [beside]
            is_notebook = any(file.suffix == ".ipynb" for file in files)
            if is_notebook or sum(file.stat().st_size for file in files) > LARGEST:
                continue
            if beside.is_dir():
                shutil.copytree(beside, folder / beside.name)
            else:
                shutil.copy(beside, folder / beside.name)
        return Path(shutil.copy(self.path, folder / "notebook.ipynb"))


def examples(cache: Path) -> list[Example]:
    """All notebooks of the list, in its order."""
    found = []
    for package in tomllib.loads(LIST.read_text())["package"]:
        archive = download(package["file"], package["sha256"], cache / "archives")
        folder = cache / "sources" / package["sha256"][:16]
        if not folder.exists():
            unpack(archive, folder)
        found += [prepare(package, path, folder, cache / "notebooks") for path in package["notebooks"]]
    return found


def download(file: str, digest: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / file
    if not archive.exists():
        data = urllib.request.urlopen(address(file), timeout=300).read()
        assert hashlib.sha256(data).hexdigest() == digest, f"{file} is not the file whose hash is listed"
        archive.write_bytes(data)
    return archive


def address(file: str) -> str:
    """Where the index that pip is set up for has a file. `pip download` would build the package to know its metadata."""
    configuration = Configuration(isolated=False)
    configuration.load()
    index = dict(configuration.items()).get("global.index-url", PyPI.simple_url)
    if isinstance(index, dict):
        index = next(iter(index.values()))
    project = re.sub(r"[-_.]+", "-", file.rsplit("-", 1)[0]).lower()
    url = f"{index.rstrip('/')}/{project}/"
    request = urllib.request.Request(url, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    files = json.load(urllib.request.urlopen(request, timeout=60))["files"]
    return next(entry["url"] for entry in files if entry["filename"] == file)


def unpack(archive: Path, folder: Path) -> None:
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    with tarfile.open(archive) as tar:
        tar.extractall(unfinished, filter="data")
    unfinished.rename(folder)


def prepare(package: dict, path: str, sources: Path, notebooks: Path) -> Example:
    """Makes a notebook of nbformat 4.5 without outputs, for the environment's kernel, in a folder with the files beside it."""
    [root] = sources.iterdir()
    source = root / package.get("folder", "") / path
    name = f"{package['name']}/{Path(path).with_suffix('').as_posix()}"
    folder = notebooks / name
    prepared = folder / "notebook.ipynb"
    if not prepared.exists():
        shutil.rmtree(folder, ignore_errors=True)
        notebook = convert(source.read_text()) if source.suffix == ".py" else nbformat.read(source, as_version=4)
        notebook.metadata = nbformat.from_dict({"kernelspec": KERNELSPEC})
        notebook.nbformat_minor = 5
        for number, cell in enumerate(notebook.cells):
            cell.id = f"cell-{number}"
            cell.pop("attachments", None)
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        Example(name, source, notebooks).copy_to(folder)
        nbformat.write(notebook, prepared)
    return Example(name, prepared, notebooks.parent / "runs")


def convert(script: str) -> nbformat.NotebookNode:
    """An example of sphinx-gallery as the notebook that its site offers: a cell for each block of text and of code."""
    head = HEAD.match(script)
    assert head, "an example starts with its title"
    cells = [nbformat.v4.new_markdown_cell(head[1].strip())]
    for number, block in enumerate(BLOCK.split(script[head.end() :])):
        lines = block.strip("\n").split("\n")
        text = next((at for at, line in enumerate(lines) if not line.startswith("#")), len(lines)) if number else 0
        if text:
            cells.append(nbformat.v4.new_markdown_cell("\n".join(line[2:] for line in lines[:text])))
        if code := "\n".join(lines[text:]).strip("\n"):
            cells.append(nbformat.v4.new_code_cell(code))
    return nbformat.v4.new_notebook(cells=cells)
