# Packages of the environment in which the kernel runs. What is run to change them is decided elsewhere.

import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
import tempfile
import threading
from importlib.machinery import PathFinder

from .kinds import Refused

MAX_OUTPUT = 200_000
# How many programs that have ended are remembered.
KEPT_JOBS = 4
NEUTRAL_FOLDER = os.environ.get("SYSTEMROOT") if os.name == "nt" else "/"
MAX_LINKS = 40
# Folders that the person has chosen, also where they lie in the served folder or hold it.
HOMES = ("HOME", "HOMEPATH", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TMPDIR", "TMP", "TEMP")
# They would install elsewhere or more, or colour what is read here.
MISLEADING = re.compile(
    r"PYTHON.*|PIP_(TARGET|PREFIX|ROOT|USER|PYTHON|EDITABLE|REQUIREMENT|REQUIRE_VIRTUALENV)|UV_PROJECT.*|UV_(CONFIG_FILE|NO_CONFIG)|(OLD)?PWD|FORCE_COLOR|CLICOLOR_FORCE"
)
PLATFORM = re.compile(r"(linux|osx|win|emscripten|wasi)-\w+")


class Job:
    """A program that runs beside the kernel, with what it prints. It works in a folder where nobody leaves settings or modules for it.

    `requirements` are the content of the file that `{requirements}` stands for in the command. `{report}` stands for a file into which
    pip reports its plan."""

    def __init__(self, command, seconds, folders, requirements=None):
        self.output, self.lock, self.report, self.files = bytearray(), threading.Lock(), None, {}
        for word, content in (("{requirements}", requirements or ""), ("{report}", "")):
            if word in command:
                number, self.files[word] = tempfile.mkstemp(suffix=".txt")
                with os.fdopen(number, "w", encoding="utf-8") as opened:
                    opened.write(content)
        try:
            # In a session of its own, an interrupt of the kernel does not reach it.
            self.process = subprocess.Popen(
                [self.files.get(word, word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=NEUTRAL_FOLDER,
                env={**unrecorded(variables_outside(folders)), "NO_COLOR": "1"},
            )
        except OSError:
            self.remove_files()
            raise
        self.timer = threading.Timer(seconds, self.end)
        self.timer.daemon = True
        self.timer.start()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def remove_files(self):
        for path in self.files.values():
            os.unlink(path)

    def read_report(self):
        """Of pip's report what says which files it would install. It also has their descriptions, which are long."""
        import json

        with open(self.files["{report}"], encoding="utf-8") as file:
            items = json.load(file)["install"]
        archives = [item.get("download_info", {}).get("archive_info") or {} for item in items]
        hashes = [archive.get("hashes") or dict([archive["hash"].split("=", 1)] if "hash" in archive else []) for archive in archives]
        names = [(item["metadata"]["name"], item["metadata"]["version"]) for item in items]
        packages = [{"name": name, "version": version, "hashes": each} for (name, version), each in zip(names, hashes)]
        return json.dumps({"install": packages})

    def read(self):
        for part in iter(lambda: self.process.stdout.read1(65536), b""):
            with self.lock:
                self.output += part
                del self.output[:-MAX_OUTPUT]
        self.process.wait()
        self.timer.cancel()
        try:
            if self.process.returncode == 0 and "{report}" in self.files:
                self.report = self.read_report()
        finally:
            self.remove_files()

    def state(self):
        is_over = not self.reader.is_alive()
        with self.lock:
            output = self.report or self.output.decode(errors="replace")
        return {"status": self.process.returncode if is_over else None, "output": output if is_over else output[-200:]}

    def end(self):
        try:
            os.killpg(self.process.pid, 9)
        except (AttributeError, OSError):
            self.process.kill()


class Packages:
    """Answers questions about packages; see `crates/workspace/src/packages`."""

    def __init__(self):
        # Nobody's code has run yet, if the kernel has just started.
        self.jobs, self.working_folder = {}, os.getcwd()
        self.folders = [self.working_folder]
        self.kept = {}

    def environment(self, folder=None):
        """`folder`: what lies there is not started, nor what lies where the kernel works."""
        self.folders = [os.path.abspath(each) for each in (folder, self.working_folder) if each]
        prefix, project = os.path.realpath(sys.prefix), os.path.dirname(os.path.realpath(sys.prefix))
        is_virtual = sys.prefix != sys.base_prefix
        is_conda = os.path.isdir(os.path.join(prefix, "conda-meta"))
        pixi = prefix.split(f"{os.sep}.pixi{os.sep}envs{os.sep}")
        in_project = is_virtual and all(os.path.isfile(os.path.join(project, file)) for file in ("pyproject.toml", "uv.lock"))
        marker = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
        condas = (self.program(name) for name in ("micromamba", "mamba", "conda", os.environ.get("CONDA_EXE", "")))
        return {
            "python": sys.executable,
            "version": ".".join(str(part) for part in sys.version_info[:3]),
            "prefix": prefix,
            "is_externally_managed": not is_virtual and not is_conda and os.path.exists(marker),
            "is_writable": os.access(sysconfig.get_path("purelib"), os.W_OK),
            "has_pip": PathFinder.find_spec("pip", site.getsitepackages()) is not None,
            "has_ensurepip": PathFinder.find_spec("ensurepip", [sysconfig.get_path("stdlib")]) is not None,
            "uv": self.program("uv"),
            "uv_config": self.uv_config(),
            "uv_project": project if in_project else None,
            "uv_settings": uv_settings(project) if in_project else None,
            "uv_projects": uv_projects(project) if in_project else [],
            "is_conda": is_conda,
            "conda": next(filter(None, condas), None),
            "channels": channels(prefix) if is_conda else [],
            "pixi": self.program("pixi"),
            "pixi_project": pixi[0] if len(pixi) == 2 else None,
            "pixi_environment": pixi[1] if len(pixi) == 2 else None,
            "uv_variables": {name: value for name, value in variables_outside(self.folders).items() if name.startswith("UV_")},
        }

    def program(self, name):
        """The path of a program: on the PATH, in the environment, or where its installer puts it."""
        home = os.path.expanduser("~")
        folders = os.environ.get("PATH", "").split(os.pathsep)
        folders += [os.path.dirname(sys.executable), *(f"{home}/{each}/bin" for each in (".local", ".cargo", ".pixi"))]
        outside = [folder for folder in folders if not any(lies_in(it, folder) for it in self.folders)]
        found = (shutil.which(name, path=folder) for folder in outside)
        return next((path for path in found if path and not any(lies_in(it, path) for it in self.folders)), None)

    def uv_config(self):
        """The person's own settings for uv, or those of the system. uv would also look in folders."""
        if os.environ.get("UV_NO_CONFIG", "").lower() in ("1", "true", "yes", "on"):
            return None
        home = os.path.expanduser("~")
        user = os.environ.get("APPDATA") if os.name == "nt" else os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
        system = os.environ.get("PROGRAMDATA") if os.name == "nt" else "/etc"
        paths = [os.path.join(folder, "uv", "uv.toml") for folder in (user, system) if folder]
        found = (path for path in (os.environ.get("UV_CONFIG_FILE", ""), *paths) if os.path.isfile(path))
        return next((path for path in found if not any(lies_in(it, path) for it in self.folders)), None)

    def versions(self):
        """The version of everything that is installed, by its normalized name."""
        PathFinder.invalidate_caches()
        found = {}
        for folder in (os.path.join(sys.prefix, "conda-meta"), *site.getsitepackages()):
            for entry in os.listdir(folder) if os.path.isdir(folder) else ():
                stem, kind = os.path.splitext(entry)
                if kind in (".dist-info", ".egg-info"):
                    name, _, version = stem.partition("-")
                    found.setdefault(normalized(name), version.partition("-")[0])
                elif kind == ".json" and stem.count("-") > 1:
                    name, version, _ = stem.rsplit("-", 2)
                    found[normalized(name)] = version
        return found

    def start(self, command, seconds, requirements=None):
        try:
            job = Job(command, seconds, self.folders, requirements)
        except OSError as error:
            raise Refused(f"{command[0]} could not be started: {error}") from None
        over = [number for number, it in self.jobs.items() if not it.reader.is_alive()]
        # Another server may not have asked yet how its last one ended.
        for number in over[:-KEPT_JOBS]:
            del self.jobs[number]
        self.jobs[job.process.pid] = job
        return {"job": job.process.pid}

    def keep(self, folder):
        """Remembers the files in which a project of uv records its packages."""
        paths = (os.path.join(folder, name) for name in ("pyproject.toml", "uv.lock"))
        self.kept = {path: bytes_of(path) for path in paths}
        return {}

    def restore(self):
        """Makes them as they were."""
        try:
            for path, content in self.kept.items():
                if not os.path.exists(path) or bytes_of(path) != content:
                    with open(path, "wb") as file:
                        file.write(content)
        except OSError as error:
            raise Refused(str(error)) from None
        return {}

    def poll(self, job):
        if job not in self.jobs:
            raise Refused("The started program is no longer known.")
        return self.jobs[job].state()

    def end(self, job):
        if job in self.jobs:
            self.jobs[job].end()
        return {}

    def distributions(self, names):
        """The version of each that is installed, its modules that can be imported, and those that are loaded."""
        PathFinder.invalidate_caches()
        found = {}
        for name in names:
            distribution = distribution_of(name)
            if distribution:
                modules = modules_of(distribution)
                version = str(distribution.version)
            else:
                version, modules = of_conda(name)
            if version:
                found[name] = {
                    "version": version,
                    "importable": [module for module in modules if is_importable(module)][:5],
                    "loaded": [module for module in modules if module in sys.modules],
                }
        return found


def lies_in(folder, path):
    """Whether a path lies in a folder, ends in it, or leads through it, as `files::lies_in` of the server decides. So does a relative
    path, whose meaning depends on the working directory."""
    if not os.path.isabs(path):
        return True
    folders = {os.path.normcase(each).rstrip(os.sep) + os.sep for each in (folder, os.path.realpath(folder))}

    def is_in(path):
        return any((os.path.normcase(path) + os.sep).startswith(each) for each in folders)

    drive, path_on_drive = os.path.splitdrive(path)
    rest, reached, links = path_on_drive.split(os.sep)[::-1], drive + os.sep, 0
    while rest:
        part = rest.pop()
        if part in ("", os.curdir):
            continue
        if part == os.pardir:
            reached = os.path.dirname(reached)
            continue
        reached, parent = os.path.join(reached, part), reached
        if is_in(reached):
            return True
        if os.path.islink(reached):
            links += 1
            if links > MAX_LINKS:
                return True
            target = os.readlink(reached)
            drive, target_on_drive = os.path.splitdrive(target)
            reached = drive + os.sep if os.path.isabs(target) else parent
            rest += target_on_drive.split(os.sep)[::-1]
    return is_in(os.path.realpath(path))


def variables_outside(folders):
    """The variables of this process without what leads into the folders, and without what would mislead an installer."""
    found = {}
    for name, value in os.environ.items():
        if MISLEADING.fullmatch(name):
            continue
        if name not in HOMES and not name.startswith("XDG_"):
            is_list = name.endswith(("PATH", "Path"))
            parts = value.split(os.pathsep) if is_list else [value]
            # Only in a list, a relative path is one.
            kept = [part for part in parts if not ((is_list or os.path.isabs(part)) and any(lies_in(it, part) for it in folders))]
            if not kept:
                continue
            value = os.pathsep.join(kept)
        found[name] = value
    return found


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def unrecorded(variables):
    """The indexes under their former names: `uv add` would write those under the new names into the project."""
    found = dict(variables)
    for new, old in (("UV_DEFAULT_INDEX", "UV_INDEX_URL"), ("UV_INDEX", "UV_EXTRA_INDEX_URL")):
        if new in found:
            # Under the former names an index has no name, as in `name=https://host`.
            addresses = [re.sub(r"^[\w.-]+=", "", index) for index in found.pop(new).split()]
            found[old] = " ".join(addresses + (found.get(old, "").split() if new == "UV_INDEX" else []))
    return found


def decoded(path):
    """The text of a file, or what cannot be read as TOML if it is too long. `None`: there is no such file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_OUTPUT + 1)
    except OSError:
        return None
    return text if len(text) <= MAX_OUTPUT else "["


def uv_settings(project):
    """The text of the file with a project's settings for uv."""
    texts = (decoded(os.path.join(project, name)) for name in ("uv.toml", "pyproject.toml"))
    return next((text for text in texts if text is not None), None)


def uv_projects(project):
    """The texts of the `pyproject.toml` of the project, and of the folders above it, to whose workspace it may belong."""
    found, folder = [], None
    while folder != project:
        folder, project = project, os.path.dirname(project)
        found.append(decoded(os.path.join(folder, "pyproject.toml")))
    return [text for text in found if text is not None]


def normalized(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def channels(prefix):
    """The channels from which the packages of a conda environment came."""
    import json

    found = {}
    for entry in os.scandir(os.path.join(prefix, "conda-meta")):
        if entry.name.endswith(".json"):
            try:
                with open(entry.path) as file:
                    channel = json.load(file).get("channel")
            except (OSError, ValueError):
                continue
            if type(channel) is str and channel:
                address, _, last = channel.rpartition("/")
                name = address if last == "noarch" or PLATFORM.fullmatch(last) else channel
                found[name] = found.get(name, 0) + 1
    return sorted(found, key=lambda name: -found[name])[:3]


def of_conda(name):
    """The version and the modules of a package of conda, which may have another name for Python, or none."""
    import json

    folder = os.path.join(sys.prefix, "conda-meta")
    for file in os.listdir(folder) if os.path.isdir(folder) else ():
        if file.endswith(".json") and file.rsplit("-", 2)[0] == name.lower():
            with open(os.path.join(folder, file)) as opened:
                record = json.load(opened)
            parts = [path.partition("site-packages/")[2].partition("/")[0] for path in record.get("files", ())]
            return str(record.get("version")), modules_of_files(parts)
    return None, []


def is_importable(name):
    return name in sys.builtin_module_names or PathFinder.find_spec(name) is not None


def distribution_of(name):
    from importlib import metadata

    context = metadata.DistributionFinder.Context(name=name)
    return next(iter(metadata.MetadataPathFinder.find_distributions(context)), None)


def modules_of(distribution):
    """The names under which a distribution is imported."""
    listed = distribution.read_text("top_level.txt")
    if listed:
        return modules_named(listed.split())
    return modules_of_files(str(file).replace(os.sep, "/").partition("/")[0] for file in distribution.files or ())


def modules_of_files(files):
    """The modules among files and folders of site-packages."""
    parts = {file for file in files if not file.endswith((".dist-info", ".egg-info", ".pth", ".data"))}
    return modules_named(sorted(part.partition(".")[0] for part in parts))


def modules_named(names):
    # mypyc adds a module with a hash as its name.
    return [name for name in dict.fromkeys(names) if name.isidentifier() and name != "__pycache__" and not name.endswith("__mypyc")]
