# Problems of a notebook that are certain before it runs. Nothing of it is run. A false alarm costs more than a problem that is missed:
# where a cell may provide something, nothing is said about it.

import ast
import re

from .near_paths import exists, nearest_path
from .surroundings import Surroundings, quietly

# Words of code after which modules may be elsewhere, and files may be there.
MOVES_MODULES = ("sys.path", "chdir", "%cd", "addsitedir", "PYTHONPATH", "sys.modules", "__init__.py", "clone")
MAKES_FILES = ("chdir", "%cd", "urlretrieve", "urlopen", "requests.", "extract", "download", "subprocess", "system(")
INSTALLS_MORE = (" -r", " -e", " .", "git+", ".txt", ".whl", "{", "$", "(")
# Functions that read a file, besides those whose names begin with `read_` or `scan_`, and prefixes of those that write one.
READERS = {"load", "loadtxt", "genfromtxt", "fromfile", "imread", "loadmat", "open_dataset", "load_workbook", "load_image"}
WRITERS = ("to_", "save", "dump", "write", "copy", "move", "extract", "download", "urlretrieve", "retrieve", "fetch", "export", "render")
WRITERS += ("unpack", "generate", "create", "make")
OPENERS = {("open",), *((it, "open") for it in ("io", "codecs", "gzip", "bz2", "Image"))}
NAMED_FILES = ("filepath_or_buffer", "file", "filename", "fname", "path", "source")
SUPPRESSING = {"suppress", "raises", "assertRaises", "assertRaisesRegex"}
FILE = re.compile(r"(?![/ ])[^:*?\[{<>$%~\\\n|,]*[^/\s:*?\[{<>$%~\\|,][^/:*?\[{<>$%~\\\n|,]*\.[A-Za-z0-9]{1,8}")
RUN = re.compile(r"(?:-[a-zA-Z]\S*\s+)*([\w./-]+)")
# The attributes of one name that are followed.
MAX_DEPTH = 5


def problems(cells, path, packages, folder=None, site=None):
    """The causes, each with the indices of its cells. A cell has its index, its source, the same without magics as Python, unless that
    cannot be read, the lines above that, and whether it may not fail."""
    found, wanted = [], Wanted(cells, path, packages)
    surroundings = Surroundings(folder, site)
    for index, _, python, above, is_checked in cells:
        misplaced = misplaced_in(python) if python and is_checked else None
        if misplaced:
            found.append([[index], f"syntax error in line {above + misplaced[0]}: {misplaced[1]}"])
    missing = {name: surroundings.absent_part(name) for name in wanted.modules}
    absent = {part for part in missing.values() if part}
    found += [[wanted.modules[name], f"module `{part}` is not installed"] for name, part in missing.items() if part]
    for attribute, its_cells in wanted.attributes.items():
        lack = surroundings.first_lack(attribute.split("."))
        # A module that is not installed is reported once.
        if lack and ".".join(lack) not in absent:
            found.append([its_cells, f"`{lack[0]}` has no `{lack[1]}`"])
    for file, its_cells in wanted.files.items():
        if not exists(file, folder):
            near = nearest_path(file, folder)
            found.append([its_cells, f"file `{file}` does not exist" + (f"; the nearest is `{near}`" if near else "")])
    return {"problems": found, "absent": sorted(absent)}


def misplaced_in(python):
    """The line and the cause of a statement that Python can read and not compile, as `return` outside of a function. IPython compiles
    each by itself, and allows `await` there."""
    try:
        body = quietly(python, ast.PyCF_ONLY_AST).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in body:
        try:
            quietly(ast.Module(body=[node], type_ignores=[]))
        except SyntaxError as error:
            return error.lineno or node.lineno, error.msg
        except (ValueError, RecursionError, MemoryError):
            return None
    return None


class Needs(ast.NodeVisitor):
    """Needs of a cell, also in its functions: not where a branch may leave it out, or an error is handled."""

    def __init__(self, python):
        # Each name that it imports with what it stands for: `np` with `numpy`.
        self.modules, self.imports, self.members = set(), [], set()
        # Names that it binds otherwise; attributes that it reads, and those that it may set or asks for.
        self.bound, self.attributes, self.set = set(), set(), set()
        # Texts that name a file to a call that surely reads it, and those of them that no branch may leave out.
        self.reads, self.files = [], set()
        # The program or notebook that it runs first, which may write any file.
        self.runs, self.writes_files, self.is_guarded = None, python is None, False
        try:
            self.visit(quietly(python or "", ast.PyCF_ONLY_AST))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass

    def guarded(self, node):
        before, self.is_guarded = self.is_guarded, True
        self.generic_visit(node)
        self.is_guarded = before

    visit_If = visit_While = visit_Match = visit_IfExp = visit_BoolOp = guarded

    def visit_Try(self, node):
        (self.guarded if node.handlers else self.generic_visit)(node)

    visit_TryStar = visit_Try

    def visit_With(self, node):
        calls = [it.context_expr.func for it in node.items if isinstance(it.context_expr, ast.Call)]
        is_suppressing = any(path_of(it)[-1:] and path_of(it)[-1] in SUPPRESSING for it in calls)
        (self.guarded if is_suppressing else self.generic_visit)(node)

    visit_AsyncWith = visit_With

    def visit_Import(self, node):
        for it in node.names:
            root = it.name.partition(".")[0]
            self.imports.append((it.asname or root, it.name if it.asname else root))
            self.need(self.modules, it.name)

    def visit_ImportFrom(self, node):
        module = None if node.level else node.module
        for it in node.names:
            if module is None or it.name == "*":
                self.bound.add(it.asname or it.name)
            else:
                self.imports.append((it.asname or it.name, f"{module}.{it.name}"))
                self.need(self.members, f"{module}.{it.name}")
        if module:
            self.need(self.modules, module)

    def need(self, needs, name):
        if not self.is_guarded:
            needs.add(name)

    # Annotations are often not evaluated.

    def visit_FunctionDef(self, node):
        self.bound.add(node.name)
        for part in (*node.decorator_list, node.args, *node.body):
            self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_arg(self, node):
        self.bound.add(node.arg)

    def visit_AnnAssign(self, node):
        for part in (node.target, node.value):
            if part is not None:
                self.visit(part)

    def visit_ClassDef(self, node):
        self.bound.add(node.name)
        self.generic_visit(node)

    def bind(self, node):
        name = node.rest if hasattr(node, "rest") else node.name
        if name:
            self.bound.add(name)
        self.generic_visit(node)

    visit_ExceptHandler = visit_MatchAs = visit_MatchStar = visit_MatchMapping = bind

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load):
            self.bound.add(node.id)

    def visit_Attribute(self, node):
        names = path_of(node)
        if names[0] is None:
            return self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            self.need(self.attributes, ".".join(names))
        else:
            self.set.add(".".join(names))

    def visit_Call(self, node):
        self.call([it for it in path_of(node.func) if it], node.args, {it.arg: it.value for it in node.keywords})
        self.generic_visit(node)

    def call(self, path, args, keywords):
        if not path:
            return
        function = path[-1]
        texts = [literal_of(it) for it in args[:2]] + [None, None]
        # The calls that IPython makes of `!` and `%`.
        if function == "system":
            self.writes_files = True
        elif function == "run_line_magic" and texts[0] == "run":
            file = RUN.match(texts[1] or "")
            if file and not self.writes_files and not self.is_guarded:
                name = file.group(1)
                self.runs = name if name.endswith((".py", ".ipy", ".ipynb")) else f"{name}.py"
                self.reads.append(name)
            self.writes_files = True
        if function in ("setattr", "hasattr", "getattr", "delattr") and texts[1] and isinstance(args[0], ast.Name):
            self.set.add(f"{args[0].id}.{texts[1]}")
        named = (literal_of(keywords[it]) for it in NAMED_FILES if it in keywords)
        file = texts[0] if texts[0] is not None else next(filter(None, named), None)
        is_reading = function.startswith(("read_", "scan_")) or function in READERS
        if function == "open":
            mode = args[1] if len(args) > 1 else keywords.get("mode")
            mode = "r" if mode is None else literal_of(mode) or ""
            is_reading = tuple(path) in OPENERS and None not in keywords and mode.startswith("r") and "+" not in mode
        elif function in ("read_sql", "read_sql_query", "read_clipboard"):
            is_reading = False
        if file is None or len(file) > 200 or not FILE.fullmatch(file):
            is_writing = function == "open" and not is_reading and (args or keywords)
            self.writes_files = self.writes_files or bool(is_writing) or function.startswith(WRITERS)
        elif is_reading:
            self.reads.append(file)
            self.need(self.files, file)


class Wanted:
    """Needs of a notebook from outside, each with its cells."""

    def __init__(self, cells, path, packages):
        self.modules, self.attributes, self.files = {}, {}, {}
        needs = [Needs(python) for _, _, python, _, _ in cells]
        names = imported_names(needs)
        is_set = {name for it in needs for name in it.set}
        # The sources of the cells above, the files that they read, and whether they write any.
        above, reads, has_moved, has_written = "", [], False, False
        for (index, source, _, _, is_checked), need in zip(cells, needs):
            above += source + "\n"
            reads += need.reads
            has_moved = has_moved or any(word in source for word in MOVES_MODULES)
            has_made = has_written or any(word in source for word in MAKES_FILES)
            has_written = has_made or need.writes_files
            files = {need.runs} if need.runs and not has_made else set() if has_written else need.files
            if is_checked:
                self.add(self.modules, (it for it in need.modules if not has_moved and not may_provide(above, it, packages)), index)
                self.add(self.attributes, need.members, index)
                self.add(self.attributes, filter(None, (target_of(it, names, is_set) for it in need.attributes)), index)
                self.add(self.files, (it for it in files if is_within(path, it) and is_only_read(above, reads, it)), index)

    def add(self, wanted, names, index):
        for name in names:
            its = wanted.setdefault(name, [])
            if index not in its:
                its.append(index)


def target_of(attribute, names, is_set):
    """The member of a module that an attribute of a name is, unless a cell sets it."""
    name, *rest = attribute.split(".")
    parts = range(1, len(rest) + 2)
    if name not in names or any(".".join([name, *rest][:at]) in is_set for at in parts):
        return None
    return ".".join([names[name], *rest[:MAX_DEPTH]])


def imported_names(needs):
    """The modules and their members that names stand for, whichever cell uses them."""
    targets = {}
    for name, target in (it for need in needs for it in need.imports):
        targets.setdefault(name, set()).add(target)
    bound = {name for need in needs for name in need.bound}
    return {name: next(iter(its)) for name, its in targets.items() if len(its) == 1 and name not in bound}


def may_provide(text, module, packages):
    """Whether the text may make the module: it names its file, or has a command that may install it."""
    root = module.partition(".")[0]
    names = [it.lower() for it in (root, packages.get(root)) if it]
    if f"{root}.py" in text or f"{root}/" in text:
        return True
    lines = (line.lower() for line in text.splitlines() if "install" in line)
    return any(part in line for line in lines for part in (*INSTALLS_MORE, *names))


def is_within(notebook, file):
    """Whether a file named from a notebook's folder lies in the place."""
    depth = notebook.count("/") + 1
    for part in file.split("/"):
        depth += -1 if part == ".." else part not in ("", ".")
        if depth <= 0:
            return False
    return True


def is_only_read(text, reads, file):
    """Whether nothing but the texts that are read mentions the file."""
    name = file.rpartition("/")[2]
    return text.count(name) <= sum(read.count(name) for read in reads)


def path_of(expression):
    """`plt`, `style`, `use` of `plt.style.use`; `None` first if another expression is before."""
    names = []
    while isinstance(expression, ast.Attribute):
        names.insert(0, expression.attr)
        expression = expression.value
    return [expression.id if isinstance(expression, ast.Name) else None, *names]


def literal_of(node):
    return node.value if isinstance(node, ast.Constant) and type(node.value) is str else None
