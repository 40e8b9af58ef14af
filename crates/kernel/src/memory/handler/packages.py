# Packages of the environment in which the kernel runs. What is run to change them is decided elsewhere.

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading

from .kinds import Refused

MAX_OUTPUT = 200_000
# How many programs that have ended are remembered.
KEPT_JOBS = 4
PLATFORM = re.compile(r"(linux|osx|win|emscripten|wasi)-\w+")


class Job:
    """A program that runs beside the kernel, with what it prints."""

    def __init__(self, command, seconds):
        self.output, self.lock = bytearray(), threading.Lock()
        # ipykernel asks programs for colours.
        plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "CLICOLOR_FORCE")}
        # In a session of its own, an interrupt of the kernel does not reach it.
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**plain, "NO_COLOR": "1"},
        )
        self.timer = threading.Timer(seconds, self.end)
        self.timer.daemon = True
        self.timer.start()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for part in iter(lambda: self.process.stdout.read1(65536), b""):
            with self.lock:
                self.output += part
                del self.output[:-MAX_OUTPUT]
        self.process.wait()
        self.timer.cancel()

    def state(self):
        is_over = not self.reader.is_alive()
        with self.lock:
            output = self.output.decode(errors="replace")
        return {"status": self.process.returncode if is_over else None, "output": output if is_over else output[-200:]}

    def end(self):
        try:
            os.killpg(self.process.pid, 9)
        except (AttributeError, OSError):
            self.process.kill()


class Packages:
    """Answers questions about packages; see `crates/workspace/src/packages`."""

    def __init__(self):
        self.jobs = {}

    def environment(self):
        prefix, project = os.path.realpath(sys.prefix), os.path.dirname(os.path.realpath(sys.prefix))
        is_virtual = sys.prefix != sys.base_prefix
        is_conda = os.path.isdir(os.path.join(prefix, "conda-meta"))
        pixi = prefix.split(f"{os.sep}.pixi{os.sep}envs{os.sep}")
        in_project = is_virtual and all(os.path.isfile(os.path.join(project, file)) for file in ("pyproject.toml", "uv.lock"))
        marker = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
        return {
            "python": sys.executable,
            "version": ".".join(str(part) for part in sys.version_info[:3]),
            "prefix": prefix,
            "is_externally_managed": not is_virtual and not is_conda and os.path.exists(marker),
            "is_writable": os.access(sysconfig.get_path("purelib"), os.W_OK),
            "has_pip": is_importable("pip"),
            "has_ensurepip": is_importable("ensurepip"),
            "uv": program("uv"),
            "uv_project": project if in_project else None,
            "is_conda": is_conda,
            "conda": next(filter(None, map(program, ("micromamba", "mamba", "conda"))), None) or os.environ.get("CONDA_EXE"),
            "channels": channels(prefix) if is_conda else [],
            "pixi": program("pixi"),
            "pixi_project": pixi[0] if len(pixi) == 2 else None,
            "pixi_environment": pixi[1] if len(pixi) == 2 else None,
        }

    def start(self, command, seconds):
        try:
            job = Job(command, seconds)
        except OSError as error:
            raise Refused(f"{command[0]} could not be started: {error}") from None
        over = [number for number, it in self.jobs.items() if not it.reader.is_alive()]
        # Another server may not have asked yet how its last one ended.
        for number in over[:-KEPT_JOBS]:
            del self.jobs[number]
        self.jobs[job.process.pid] = job
        return {"job": job.process.pid}

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
        from importlib.machinery import PathFinder

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


def program(name):
    """The path of a program: on the PATH, in the environment, or where its installer puts it."""
    home = os.path.expanduser("~")
    folders = [os.path.dirname(sys.executable), f"{home}/.local/bin", f"{home}/.cargo/bin", f"{home}/.pixi/bin"]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))


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
    from importlib.machinery import PathFinder

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
