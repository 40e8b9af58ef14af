"""Packages are installed into the environment of the kernel by what fits it. Only real installers and environments show that."""

import os
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from e2e.support.agents.python_sdk import PythonAgent, python_agent
from e2e.support.home import Home, new_mark
from e2e.support.notebook_server import launch, nothing_is_left
from e2e.support.program import Launch


class Index:
    """A folder of wheels in place of a package index: no test depends on what others publish."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def add(self, name: str, version: str, requires: str = "", code: str = "") -> None:
        info = f"{name}-{version}.dist-info"
        needed = f"Requires-Dist: {requires}\n" if requires else ""
        files = {
            f"{name}.py": f"version = {version!r}\n{code}",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        record = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
        with zipfile.ZipFile(self.folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            for path, text in {**files, f"{info}/RECORD": record}.items():
                wheel.writestr(path, text)

    @property
    def environment(self) -> dict[str, str]:
        """Makes pip and uv look here alone."""
        return {
            "PIP_FIND_LINKS": str(self.folder),
            "PIP_NO_INDEX": "1",
            "UV_FIND_LINKS": str(self.folder),
            "UV_NO_INDEX": "1",
            "UV_OFFLINE": "1",
            "UV_PYTHON_DOWNLOADS": "never",
        }


class Machine:
    """A machine with one environment, which has no pip, and whose kernel is called `tried`."""

    def __init__(self, folder: Path, *, has_uv: bool) -> None:
        self.mark, self.home, self.root = new_mark(), Home(folder / "home"), folder / "root"
        self.first_on_path: list[str] = []
        self.home.folder.mkdir()
        self.root.mkdir()
        self.index = Index(folder / "index")
        for version in ("1.0", "2.0"):
            self.index.add("colours", version, requires="shades")
        self.index.add("shades", "3.1")
        self.programs = folder / "programs"
        self.programs.mkdir()
        if has_uv:
            (self.programs / "uv").symlink_to(os.environ["CELLBRIDGE_E2E_UV"])
        self.environment = self.root / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.environment], check=True)
        self._lend_the_kernel()
        python = str(self.environment / "bin/python")
        self.home.install("tried", [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"])

    def _lend_the_kernel(self) -> None:
        """ipykernel from the tests' environment, as no index here has it; without that environment's pip."""
        lent = self.root.parent / "lent"
        lent.mkdir()
        [own] = self.environment.glob("lib/python3*/site-packages")
        for entry in (Path(sys.prefix) / own.relative_to(self.environment)).iterdir():
            if not entry.name.startswith(("pip", "uv", "_virtualenv", "distutils-precedence")):
                (lent / entry.name).symlink_to(entry)
        (own / "lent.pth").write_text(f"{lent}\n")

    def launch(self, *options: str) -> Launch:
        started = launch(self.root, self.home, *options, mark=self.mark)
        path = os.pathsep.join([*self.first_on_path, str(self.programs), "/usr/bin", "/bin"])
        # Without a Python or an installer of the tests.
        started.environment.update(self.index.environment, PATH=path, VIRTUAL_ENV="")
        return started

    def set_traps(self) -> Path:
        """Everything in the folder that could lead an installer astray. What is executed writes into the file that this returns."""
        mark, other = self.root.parent / "executed", Index(self.root.parent / "other")
        other.add("colours", "6.6.6", requires="more")
        other.add("shades", "3.1")
        other.add("more", "1")
        code = f"open({str(mark)!r}, 'a').write(__name__)\n"
        for name in ("pip", "ensurepip", "uv", "sitecustomize", "usercustomize", "site", "encodings", "tempfile"):
            (self.root / f"{name}.py").write_text(code)
        settings = f'find-links = [{str(other.folder)!r}]\nno-index = true\n'
        target = f"[pip]\ntarget = {str(self.root / 'target')!r}\n"
        (self.root / "uv.toml").write_text(settings + target)
        for name in ("pip.conf", "pip.ini"):
            (self.root / name).write_text(f"[global]\nfind-links = {other.folder}\n[install]\ntarget = {self.root / 'target'}\n")
        bin = self.root / "bin"
        bin.mkdir()
        for name in ("uv", "python", "python3", "pip", "conda", "mamba", "micromamba", "pixi", "git"):
            (bin / name).write_text(f"#!/bin/sh\necho $0 $@ >> {mark}\n")
            (bin / name).chmod(0o755)
        (self.root.parent / "link").symlink_to(bin)
        self.first_on_path = ["bin", "", str(bin), str(self.root.parent / "link")]
        return mark

    def installed(self, name: str) -> str | None:
        """The version of a package in the environment."""
        found = [path.name for path in self.environment.glob(f"lib/python3*/site-packages/{name}-*.dist-info")]
        return found[0].removeprefix(f"{name}-").removesuffix(".dist-info") if found else None

    @asynccontextmanager
    async def agent(
        self, *options: str, answer: Callable[[str], str | None] | None = None
    ) -> AsyncIterator[PythonAgent]:
        started = self.launch(*options)
        mode = "connect" if (self.root / "a.ipynb").exists() else "create"
        try:
            async with python_agent(started, answer=answer) as agent:
                await call(agent, "use_notebook", notebook_path="a.ipynb", mode=mode, kernel_name="tried")
                yield agent
        finally:
            nothing_is_left(self.mark, self.home)


async def call(agent: PythonAgent, tool: str, **given: object) -> str:
    return (await agent.call(tool, given)).text


async def add(agent: PythonAgent, *packages: str, **given: object) -> tuple[bool, str]:
    """Whether it failed, and what it says."""
    answer = await agent.call("add_packages", {"packages": list(packages), **given})
    return answer.is_error, answer.text


def lend_pip(machine: Machine) -> None:
    subprocess.run([machine.environment / "bin/python", "-m", "ensurepip", "--default-pip"], check=True, capture_output=True)


async def installs(agent: PythonAgent, machine: Machine, installer: str) -> None:
    """A plan changes nothing, and is what is done; what is there or unknown is said."""
    failed, plan = await add(agent, "colours<2", preview=True)
    assert not failed and f"with {installer}:" in plan and "+ colours 1.0" in plan and "+ shades 3.1" in plan
    assert machine.installed("colours") is None
    failed, done = await add(agent, "colours<2")
    assert not failed and "colours 1.0, shades 3.1" in done and "Can be imported now: colours." in done
    assert "'1.0'" in await call(agent, "execute_code", code="import colours; colours.version")
    failed, again = await add(agent, "colours")
    assert not failed and "Nothing to do: colours 1.0 is installed" in again
    failed, unknown = await add(agent, "nosuchthing")
    assert failed and "nosuchthing" in unknown and installer in unknown


async def test_packages_are_installed_with_uv(tmp_path: Path) -> None:
    machine = Machine(tmp_path, has_uv=True)
    async with machine.agent("--allow-install") as agent:
        await installs(agent, machine, "uv pip")
        # What is loaded stays what it was until the kernel is restarted.
        failed, newer = await add(agent, "colours>=2")
        assert not failed and "colours 1.0 → 2.0" in newer and "old colours in memory" in newer
        assert "'1.0'" in await call(agent, "execute_code", code="import colours; colours.version")
        failed, restarted = await add(agent, "colours==1.0", restart=True)
        assert not failed and "was restarted" in restarted
        assert "'1.0'" in await call(agent, "execute_code", code="import colours; colours.version")
        assert "execution_count" not in (machine.root / "a.ipynb").read_text()
        failed, recorded = await add(agent, "colours==1.0", record="notebook")
        assert not failed and "Nothing to install" in recorded and "Recorded in the notebook" in recorded
        assert '#     "colours==1.0",' in await call(agent, "read_cell", cell_index=0)
        failed, noted = await add(agent, "shades", preview=True)
        assert not failed and "Also changes the inline script metadata" in noted
        failed, option = await add(agent, "--index-url=http://127.0.0.1/")
        assert failed and "is not the name of a package" in option


@pytest.mark.parametrize("has_uv", [True, False], ids=["uv", "pip"])
async def test_nothing_of_the_folder_decides_what_is_installed(tmp_path: Path, has_uv: bool) -> None:
    machine = Machine(tmp_path, has_uv=has_uv)
    if not has_uv:
        lend_pip(machine)
    mark = machine.set_traps()
    async with machine.agent("--allow-install") as agent:
        failed, plan = await add(agent, "colours<2", preview=True)
        assert not failed and "+ colours 1.0" in plan and not mark.exists(), plan
        # What is not the default is shown.
        assert str(machine.index.folder) in plan and "index" in plan, plan
        failed, done = await add(agent, "colours<2")
    assert not failed and "colours 1.0, shades 3.1" in done and not mark.exists(), done
    assert machine.installed("colours") == "1.0" and not (machine.root / "target").exists()


@pytest.mark.parametrize("has_uv", [True, False], ids=["uv", "pip"])
async def test_the_accepted_versions_are_installed_and_no_others(tmp_path: Path, has_uv: bool) -> None:
    machine = Machine(tmp_path, has_uv=has_uv)
    if not has_uv:
        lend_pip(machine)

    def answer(question: str) -> str:
        assert "+ colours 2.0" in question
        machine.index.add("colours", "6.6.6", requires="more")
        machine.index.add("colours", "2.0.1", requires="more")
        machine.index.add("more", "1")
        return "yes"

    async with machine.agent(answer=answer) as agent:
        failed, done = await add(agent, "colours")
        assert not failed and "colours 2.0, shades 3.1" in done and "plan" not in done, done
    assert machine.installed("colours") == "2.0" and machine.installed("more") is None


async def test_a_file_that_was_exchanged_after_the_question_is_not_installed(tmp_path: Path) -> None:
    machine = Machine(tmp_path, has_uv=False)
    lend_pip(machine)

    def answer(_: str) -> str:
        machine.index.add("colours", "2.0", requires="shades", code="print('exchanged')")
        return "yes"

    async with machine.agent(answer=answer) as agent:
        failed, refused = await add(agent, "colours")
        assert failed and "HASH" in refused.upper(), refused
    assert machine.installed("colours") is None


async def test_the_reply_names_what_is_installed_in_fact(tmp_path: Path) -> None:
    """By an installer that installs something else."""
    machine = Machine(tmp_path, has_uv=True)
    real = os.environ["CELLBRIDGE_E2E_UV"]
    (machine.programs / "uv").unlink()
    (machine.programs / "uv").write_text(
        f'#!/bin/sh\ncase "$*" in *--dry-run*|*compile*) exec {real} "$@";; esac\n'
        f"exec {real} --no-config pip install --python {machine.environment}/bin/python colours==2.0\n"
    )
    (machine.programs / "uv").chmod(0o755)
    async with machine.agent("--allow-install") as agent:
        failed, done = await add(agent, "colours<2")
        assert not failed and "colours 2.0, shades 3.1" in done, done
        assert "differs from the plan, which was: colours 1.0, shades 3.1." in done


async def test_a_project_of_uv_records_what_is_added(tmp_path: Path) -> None:
    machine = Machine(tmp_path, has_uv=True)
    project = '[project]\nname = "tried"\nversion = "0"\nrequires-python = ">=3.9"\ndependencies = []\n'
    (machine.root / "pyproject.toml").write_text(project)
    environment = machine.launch().environment
    subprocess.run(["uv", "lock", "--quiet"], cwd=machine.root, env=environment, check=True)
    # Nobody named it in the project, and it stays.
    subprocess.run(
        ["uv", "pip", "install", "--quiet", "--python", machine.environment, "shades"], env=environment, check=True
    )
    async with machine.agent("--allow-install") as agent:
        failed, done = await add(agent, "colours<2")
        assert not failed and "uv add" in done and "Recorded in pyproject.toml and uv.lock" in done
        assert "colours<2" in (machine.root / "pyproject.toml").read_text()
        assert "colours" in (machine.root / "uv.lock").read_text()
        assert (machine.installed("colours"), machine.installed("shades")) == ("1.0", "3.1")
        failed, done = await add(agent, "colours>=2", record="no")
        assert not failed and "uv pip" in done and machine.installed("colours") == "2.0"
        assert "colours<2" in (machine.root / "pyproject.toml").read_text()


async def test_the_settings_of_a_project_of_uv_are_shown(tmp_path: Path) -> None:
    machine = Machine(tmp_path, has_uv=True)
    other = Index(tmp_path / "other")
    other.add("colours", "6.6.6")
    project = '[project]\nname = "tried"\nversion = "0"\nrequires-python = ">=3.9"\ndependencies = []\n'
    settings = f'[tool.uv]\nfind-links = ["{other.folder}"]\n[tool.uv.pip]\ntarget = "{tmp_path}/target"\n'
    (machine.root / "pyproject.toml").write_text(project + settings)
    environment = machine.launch().environment
    subprocess.run(["uv", "lock", "--quiet"], cwd=machine.root, env=environment, check=True)
    async with machine.agent("--allow-install") as agent:
        failed, plan = await add(agent, "colours", preview=True)
        assert not failed and str(other.folder) in plan and "(of the project)" in plan, plan
        planned = "6.6.6" if "+ colours 6.6.6" in plan else "2.0"
        failed, done = await add(agent, "colours")
        assert not failed and f"colours {planned}" in done and "differs" not in done, done
    assert machine.installed("colours") == planned and not (tmp_path / "target").exists()


async def test_the_person_sees_the_plan_and_decides(tmp_path: Path) -> None:
    machine = Machine(tmp_path, has_uv=True)
    questions: list[str] = []
    replies: list[str | None] = [None, "yes"]

    def answer(question: str) -> str | None:
        questions.append(question)
        return replies.pop(0)

    async with machine.agent(answer=answer) as agent:
        failed, declined = await add(agent, "colours", reason="to draw")
        assert failed and "declined" in declined and machine.installed("colours") is None
        failed, _ = await add(agent, "colours")
        assert not failed and machine.installed("colours") == "2.0"
    assert "+ colours 2.0" in questions[0] and "+ shades 3.1" in questions[0] and "to draw" in questions[0]
    async with machine.agent() as agent:
        assert "add_packages" not in {tool["name"] for tool in await agent.tools()}
        failed, refused = await add(agent, "colours==1.0")
        assert failed and "cannot ask" in refused and machine.installed("colours") == "2.0"


async def test_a_cell_whose_installation_failed_says_so_and_pip_is_installed_first(tmp_path: Path) -> None:
    machine = Machine(tmp_path, has_uv=False)
    async with machine.agent("--allow-install") as agent:
        answer = await call(agent, "execute_code", code="%pip install colours", timeout=120)
        assert "[COMPLETED" in answer and "Nothing was installed" in answer and "add_packages" in answer
        # pip comes with Python.
        failed, refused = await add(agent, "nosuchcolours")
        assert failed and "had no pip, which was added first" in refused, refused
        await installs(agent, machine, "pip")
