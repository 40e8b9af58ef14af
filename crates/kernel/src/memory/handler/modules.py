# The modules that code has loaded from files that belong to no package.

import hashlib
import os
import sys
from importlib.machinery import ModuleSpec
from time import perf_counter

from .kinds import own_attributes

MAX_OWN = 200
MAX_FILE = 4 * 1024 * 1024
MAX_STAT_SECONDS = 0.001
# Those of packages, and of Python itself.
PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
LIBRARY = tuple({os.path.dirname(path(os.__file__)) + os.sep for path in (os.path.abspath, os.path.realpath)})


class Own:
    """A module, as it was loaded last."""

    def __init__(self, module, spec, file):
        # A module that is loaded again has another spec. As this one is kept, that cannot be in its place.
        self.module, self.spec, self.file = id(module), spec, file
        self.loaded = self.now = stamp(file)
        self.digest = None


class Modules:
    """`pending` has modules whose loading was not reported yet, with the digests of their contents."""

    def __init__(self, shell):
        self.shell = shell
        self.seen, self.others, self.own, self.pending = [], {}, {}, {}

    def look(self):
        """Looks for modules that were loaded since. What their files hold now counts as what was loaded: the look comes right after the run."""
        reloaded, modules = reloaded_at(self.shell), dict(sys.modules)
        # A thousand of them are compared like this in a hundredth of a millisecond.
        seen = list(map(id, modules.values()))
        names = self.own if seen == self.seen else modules
        self.seen = seen
        for name in list(names):
            module, own = modules.get(name), self.own.get(name)
            if self.others.get(name) == id(module) or module is None:
                continue
            spec = own_attributes(module).get("__spec__")
            if own and own.module == id(module) and own.spec is spec and reloaded.get(name, own.loaded[2]) == own.loaded[2]:
                continue
            file = own_file(spec)
            if file is None or len(self.own) >= MAX_OWN:
                self.others[name] = id(module)
                continue
            own = self.own[name] = Own(module, spec, file)
            own.digest = digest(file)
            self.pending[name] = [file, own.digest]

    def report(self):
        """The modules loaded since the last report, and the digests of files that changed after they were loaded."""
        loaded, self.pending = self.pending, {}
        changed, end = {}, perf_counter() + MAX_STAT_SECONDS
        for name, own in self.own.items():
            if perf_counter() < end:
                now = stamp(own.file)
                if now != own.now:
                    own.now, own.digest = now, digest(own.file)
            if own.now != own.loaded and own.digest is not None:
                changed[name] = own.digest
        return {"loaded": loaded, "changed_files": changed}


def reloaded_at(shell):
    """When the files were changed that `%autoreload` has loaded: it does so without a new spec."""
    try:
        return shell.magics_manager.registry["AutoreloadMagics"]._reloader.modules_mtimes
    except Exception:
        return {}


def own_file(spec):
    if type(spec) is not ModuleSpec or type(spec.origin) is not str or not spec.origin.endswith(".py"):
        return None
    file = os.path.abspath(spec.origin)
    is_of_package = any(part in file for part in PACKAGES) or file.startswith(LIBRARY)
    return file if not is_of_package and stamp(file)[1] is not None else None


def stamp(file):
    """When a file was changed, and how long it is."""
    try:
        found = os.stat(file)
        return found.st_mtime_ns, found.st_size, found.st_mtime
    except OSError:
        return 0, None, 0


def digest(file):
    """As `file_digests.rs` of the server has it: 0 if there is no file. `None` if it cannot be read, or is too long."""
    try:
        with open(file, "rb") as opened:
            content = opened.read(MAX_FILE + 1)
    except FileNotFoundError:
        return 0
    except OSError:
        return None
    return int.from_bytes(hashlib.sha256(content).digest()[:8], "big") if len(content) <= MAX_FILE else None
