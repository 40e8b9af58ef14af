
# The members of a value that a path leads to.

import ast


def follow(value, path):
    """The member that `path` leads to, as in `.layers[3].weight`."""
    if not path:
        return value
    try:
        tree = ast.parse(f"x{path}", mode="eval").body
    except SyntaxError:
        raise Refused(f"The path {path!r} cannot be read; it may be like .layers[3].weight or ['key'].") from None
    steps = []
    while not isinstance(tree, ast.Name):
        if isinstance(tree, ast.Attribute):
            steps.append((False, tree.attr))
            tree = tree.value
        elif isinstance(tree, ast.Subscript):
            try:
                steps.append((True, ast.literal_eval(tree.slice)))
            except ValueError:
                raise Refused("An index in a path is a number or a text.") from None
            tree = tree.value
        else:
            raise Refused("A path holds only names after a point, and numbers or texts in brackets.")
    for is_item, key in reversed(steps):
        value = item(value, key) if is_item else attribute(value, key)
    return value


def item(value, key):
    kind = type(value)
    for base in (list, tuple, dict):
        if is_kind(kind, base):
            if type(key) not in (int, str, bytes, float, bool, type(None)) and base is not dict:
                raise Refused("An item has a number or a text.")
            try:
                return base.__getitem__(value, key)
            except (LookupError, TypeError) as error:
                raise Refused(f"There is no item [{key!r}]: {error}.") from None
    parts = torch_members(value)
    if str(key) in parts:
        return parts[str(key)]
    known = library_class(kind)
    if is_lazy(kind, known):
        raise Refused("It is lazy, and would have to be computed.")
    if is_of_library(kind):
        try:
            return value[key]
        except Exception as error:
            raise Refused(f"There is no item [{key!r}] ({name_of_type(type(error))}).") from None
    raise Refused(f"An item of {name_of_type(kind)} would run its own code.")


def own_attributes(value):
    """The `__dict__` of an object, if it has one."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return own if type(own) is dict else {}


def attribute(value, name):
    """What is stored under the name; of a library's classes also what they compute."""
    for stored in (own_attributes(value), torch_members(value)):
        if name in stored:
            return stored[name]
    places = (type.__dict__["__dict__"].__get__(base) for base in bases_of_type(type(value)))
    found = next((place[name] for place in places if name in place), None)
    kind = type(found)
    if kind is types.MemberDescriptorType:
        try:
            return found.__get__(value)
        except AttributeError:
            raise Refused(f"{name!r} has no value.") from None
    if is_one_of(kind, (*FUNCTIONS, int, float, str, bool, *CONTAINERS)):
        return found
    if is_lazy(type(value), library_class(type(value))):
        raise Refused("It is lazy, and would have to be computed.")
    if not is_of_library(type(value)):
        if found is None:
            raise Refused(f"{name_of_type(type(value))} has no attribute {name!r}.")
        raise Refused(f"{name!r} is computed by code of its class.")
    try:
        return getattr(value, name)
    except Exception as error:
        raise Refused(f"There is no attribute {name!r} ({name_of_type(type(error))}).") from None


def is_of_library(kind):
    """Whether the class and its bases come from Python or from an installed package, not from the person."""
    return all(is_installed(root_of(base)) for base in bases_of_type(kind)) and module_of(kind) != "unittest.mock"


def is_installed(root):
    # Python 3.9 does not name its modules.
    if root == "builtins" or root in getattr(sys, "stdlib_module_names", ()):
        return True
    module = sys.modules.get(root)
    file = module.__dict__.get("__file__") if type(module) is types.ModuleType else None
    return type(file) is str and ("site-packages" in file or "dist-packages" in file)


def torch_members(value):
    """The parts of a PyTorch module, which are no attributes of their own."""
    if not any(module_of(base).startswith("torch.nn.") for base in bases_of_type(type(value))):
        return {}
    own = own_attributes(value)
    parts = (own.get(name) for name in ("_modules", "_parameters", "_buffers"))
    return {name: it for part in parts if is_kind(type(part), dict) for name, it in dict.items(part)}
