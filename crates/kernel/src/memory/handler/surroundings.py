# The modules that code can import, and their members. Of modules that are not loaded, the files are read. Where a module may
# define more than can be seen, nothing is missing. In a kernel nothing is imported; without one, only parts of this Python.

import ast
import os
import re
import sys
import types

from .kinds import MISSING, class_entry, entry, is_kind, is_of_library, own_attributes

MAX_TEXT_OF_FILE = 2_000_000
MAX_FILES = 5000
# What may define names that a source does not show: anywhere, and called while the module is imported.
HIDDEN_NAMES = re.compile(r"globals\(\)(\[[^\]]*\]\s*=[^=]|\.update)|modules\[__name__")
DEFINING = {"globals", "locals", "vars", "exec", "setattr", "attach", "attach_stub", "import_module", "global_enum"}
# Parts of Python that show something when they are imported, or do not belong to it everywhere.
NOISY = {"antigravity", "this", "idlelib", "turtle", "turtledemo", "test", "lib2to3", "__main__"}
# What may import modules that have no file of their own.
HIDDEN_MODULES = re.compile(r"sys\.modules\[|__path__|meta_path")


class Surroundings:
    """`site` are the folders with packages of an environment that does not run, or none for those of this Python; without it, what this
    process has counts."""

    def __init__(self, folder=None, site=None):
        self.is_running, self.known = site is None, {}
        versions = {it for folder in site or () for it in re.findall(r"python(\d+\.\d+)", folder)}
        self.has_own_python = site == [] or versions == {"%d.%d" % sys.version_info[:2]}
        if site == []:
            from site import getsitepackages, getusersitepackages

            site = [*getsitepackages([sys.base_prefix, sys.base_exec_prefix]), getusersitepackages()]
        own = [os.path.abspath(it) for it in sys.path if it] if site is None else [it for it in sys.path if it]
        self.path = [folder or os.getcwd(), *with_pth(site or own), *own]

    def spec(self, name):
        """Where a module is; `None` if it is nowhere, and `True` if that cannot be said."""
        if name not in self.known:
            self.known[name] = self.find(name)
        return self.known[name]

    def find(self, name):
        from importlib.machinery import ModuleSpec, PathFinder

        parent, _, last = name.rpartition(".")
        try:
            if not parent:
                if last in sys.builtin_module_names:
                    return ModuleSpec(last, None)
                if not self.is_running and last in getattr(sys, "stdlib_module_names", ()):
                    return PathFinder.find_spec(last, self.path) or True
                found = PathFinder.find_spec(last, self.path)
                return found or self.found_otherwise(last)
            above = self.spec(parent)
            if above is None or above is True:
                return above
            places = above.submodule_search_locations
            return PathFinder.find_spec(name, list(places)) if places is not None else None
        except Exception:
            return True

    def found_otherwise(self, name):
        """Editable installations have finders of their own, and files that name what these find."""
        if self.is_running:
            if any(is_of_library(type(it)) and it.find_spec(name, None) for it in sys.meta_path if type(it) is not type):
                return True
        for folder in self.path:
            for file in listed(folder):
                if file.endswith(".pth") or file.startswith("__editable__"):
                    if re.search(rf"\b{re.escape(name)}\b", read_text(os.path.join(folder, file))):
                        return True
        return None

    def is_absent(self, name):
        if self.is_running and sys.modules.get(name) or self.spec(name) is not None:
            return False
        above = self.spec(name.rpartition(".")[0]) if "." in name else None
        return above is None or not HIDDEN_MODULES.search(source_of(above) or "__path__")

    def absent_part(self, name):
        """The first of a module and those above it that is not there."""
        parts = name.split(".")
        above = (".".join(parts[:at]) for at in range(1, len(parts) + 1))
        return next(filter(self.is_absent, above), None)

    def first_lack(self, parts):
        """The first of these names that the module or class before it lacks, with what is before it."""
        module = sys.modules.get(parts[0]) if self.is_running else None
        if type(module) is not types.ModuleType:
            return self.first_lack_in_files(parts)
        value = module
        for at, name in enumerate(parts[1:], 1):
            before = ".".join(parts[:at])
            if type(value) is types.ModuleType:
                stored = own_attributes(value)
                found = entry(stored.items(), name)
                if found is MISSING:
                    is_package = entry(stored.items(), "__path__") is not MISSING
                    if is_package and self.spec(f"{before}.{name}") is not None:
                        return self.first_lack_in_files(parts)
                    if f"{before}.{name}" in sys.modules:
                        return None
                    if entry(stored.items(), "__getattr__") is not MISSING and not self.is_lacking(before, name):
                        return None
                    return [before, name]
                value = found
            elif is_kind(type(value), type) and is_of_library(value):
                hooks = (class_entry(type(value), "__getattr__"), class_entry(value, "__getattr__"))
                own = (class_entry(value, name), class_entry(type(value), name), *hooks)
                return [before, name] if all(it is MISSING for it in own) else None
            else:
                return None
        return None

    def first_lack_in_files(self, parts):
        for at in range(1, len(parts)):
            before, name = ".".join(parts[:at]), parts[at]
            if self.spec(before) is None:
                return None
            submodule = self.spec(f"{before}.{name}")
            names = self.names_of(before)
            if submodule is None and self.is_lacking(before, name):
                return [before, name]
            if submodule in (None, True) or (names or {}).get(name) is False:
                return None
        return None

    def is_lacking(self, module, name):
        names = self.names_of(module)
        return names is not None and name not in names

    def names_of(self, module):
        """What a module defines, each with whether it may be a module; `None` if it may define more."""
        key = f"names of {module}"
        if key not in self.known:
            # For modules that import one another.
            self.known[key] = None
            spec = self.spec(module)
            source = source_of(spec)
            if self.is_of_python(module):
                self.known[key] = names_of_loaded(module)
            elif source is not None:
                names = self.names_in(source, module, spec.submodule_search_locations is not None)
                if names is None:
                    names = self.names_of_stub(spec, module)
                self.known[key] = names
        return self.known[key]

    def is_of_python(self, module):
        """Whether it is a part of the Python that runs, which is no kernel, and the kernel's."""
        root = module.partition(".")[0]
        if self.is_running or not self.has_own_python or root in NOISY or root not in getattr(sys, "stdlib_module_names", ()):
            return False
        origin = getattr(self.spec(root), "origin", None)
        return origin is None or os.path.isabs(origin) and is_below(os.path.dirname(os.__file__), origin)

    def names_of_stub(self, spec, module):
        stub = read_text(f"{spec.origin}i")
        names = self.names_in(stub, module, spec.submodule_search_locations is not None) if stub else None
        if names is not None:
            # What the code itself mentions outside of its texts may be there all the same.
            names.update(self.names_in(source_of(spec), module, True, is_part=True) or {})
        return names

    def names_in(self, source, module, is_package, is_part=False):
        if len(source) > MAX_TEXT_OF_FILE or (not is_part and HIDDEN_NAMES.search(source)):
            return None
        try:
            tree = quietly(source, ast.PyCF_ONLY_AST)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        names = dict.fromkeys(("__name__", "__doc__", "__file__", "__path__", "__dict__", "__spec__", "__loader__", "__package__"), False)
        names.update(dict.fromkeys(("__builtins__", "__cached__", "__annotations__", "__class__"), False))
        is_whole = True
        for node in statements(tree.body):
            if isinstance(node, ast.Import):
                names.update((it.asname or it.name.partition(".")[0], True) for it in node.names)
            elif isinstance(node, ast.ImportFrom):
                origin = absolute(node, module, is_package)
                for it in node.names:
                    if it.name != "*":
                        names[it.asname or it.name] = node.module is None or origin == module
                        continue
                    others = self.names_of(origin)
                    is_whole = is_whole and others is not None
                    names.update(others or {})
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                is_whole = is_whole and node.name != "__getattr__" and not used_in(node.decorator_list) & DEFINING
                names[node.name] = False
            else:
                own = [it for part in own_parts(node) for it in ast.walk(part)]
                used = used_in(own_parts(node))
                is_whole = is_whole and not used & {*DEFINING, "__dict__"}
                names.update((it.id, False) for it in own if isinstance(it, ast.Name) and not isinstance(it.ctx, ast.Load))
                if "__all__" in used:
                    names.update((it.value, True) for it in own if isinstance(it, ast.Constant) and type(it.value) is str and it.value not in names)
        names.update((name, False) for it in ast.walk(tree) if isinstance(it, ast.Global) for name in it.names)
        return names if is_whole or is_part else None


def names_of_loaded(module):
    try:
        names = vars(__import__(module, fromlist=["*"]))
    except Exception:
        return None
    return None if "__getattr__" in names else {name: type(it) is types.ModuleType for name, it in names.items()}


def is_below(folder, file):
    parts = os.path.relpath(file, folder).split(os.sep)
    return parts[0] not in ("..", "site-packages", "dist-packages")


def quietly(source, flags=0):
    """Compiles without the warnings of the compiler, which the cell that runs would show. Filters are not replaced, nor is it said that they
    changed: other threads would notice both."""
    import warnings

    own, filters = ("ignore", None, Warning, re.compile("<cellbridge>"), 0), warnings.filters
    filters.insert(0, own)
    try:
        return compile(source, "<cellbridge>", "exec", flags | getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0), dont_inherit=True)
    finally:
        filters.remove(own)


def used_in(parts):
    own = [it for part in parts for it in ast.walk(part)]
    return {it.id for it in own if isinstance(it, ast.Name)} | {it.attr for it in own if isinstance(it, ast.Attribute)}


def own_parts(node):
    """The parts of a statement that are no statements themselves."""
    for name, part in ast.iter_fields(node):
        for it in part if isinstance(part, list) else [part]:
            if isinstance(it, ast.AST) and not isinstance(it, (ast.stmt, ast.ExceptHandler, getattr(ast, "match_case", ast.stmt))):
                yield it


def statements(body):
    """Those that run when a module is imported, with those of its branches."""
    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for part in ("body", "orelse", "finalbody"):
                yield from statements(getattr(node, part, []) if isinstance(getattr(node, part, []), list) else [])
            for part in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
                yield from statements(part.body)


def absolute(node, module, is_package):
    parts = module.split(".")
    base = parts[: len(parts) - node.level + is_package] if node.level else []
    return ".".join([*base, *([node.module] if node.module else [])])


def source_of(spec):
    origin = getattr(spec, "origin", None)
    return read_text(origin) if origin and origin.endswith(".py") else None


def read_text(file):
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read(MAX_TEXT_OF_FILE + 1)
    except OSError:
        return ""


def listed(folder):
    try:
        return sorted(os.listdir(folder))[:MAX_FILES]
    except OSError:
        return []


def with_pth(folders):
    """These folders, and those that their `.pth` files name."""
    for folder in folders:
        yield folder
        for file in listed(folder):
            if file.endswith(".pth"):
                for line in read_text(os.path.join(folder, file)).splitlines():
                    if line.strip() and not line.startswith(("#", "import ", "import\t")):
                        yield os.path.join(folder, line.rstrip())
