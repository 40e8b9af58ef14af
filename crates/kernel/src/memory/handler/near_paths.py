# A file or folder that is like one that code has not found.

import os
from itertools import islice

from .near import is_loosely, is_with_slips, is_without_spaces

MAX_ENTRIES = 5_000


def near_path(missing):
    """The path that is near, if one is, and the folder at which relative ones begin."""
    return {"nearest": nearest_path(missing) or same_name_below(missing), "folder": os.getcwd()}


def nearest_path(missing, base=None):
    """Each part that is not there is replaced by the only one that is like it. `base` is the working folder, if it is not that of the
    process."""
    parts = missing.replace(os.sep, "/").split("/")
    found = ""
    for at, part in enumerate(parts):
        path = found + part
        if part and not os.path.lexists(os.path.join(base or "", path)):
            near = nearest_of(part, entries(os.path.join(base or "", found) or "."))
            if near is None:
                return None
            path = found + near
        found = path if at == len(parts) - 1 else path + "/"
    return found if exists(found, base) and found != missing else None


def exists(path, base=None):
    return os.path.exists(os.path.join(base or "", path))


def same_name_below(missing):
    """The only path below the working folder with a name that is like that of the missing one."""
    name, found = os.path.basename(missing.replace(os.sep, "/")), []
    for folder, names in islice(folders_below("."), MAX_ENTRIES):
        near = name if name in names else nearest_of(name, names)
        if near is not None:
            found.append(os.path.normpath(os.path.join(folder, near)))
    return found[0] if len(found) == 1 else None


def folders_below(top):
    seen = 0
    for folder, folders, names in os.walk(top):
        folders[:] = [it for it in folders if not it.startswith((".", "__"))]
        seen += len(names) + len(folders)
        if seen > MAX_ENTRIES:
            return
        yield folder, names


def entries(folder):
    try:
        return list(islice((entry.name for entry in os.scandir(folder)), MAX_ENTRIES))
    except OSError:
        return []


def nearest_of(name, names):
    for is_like in (is_loosely, is_without_spaces, is_with_slips):
        found = is_like(name, names)
        if found:
            return found[0] if len(found) == 1 else None
    return None
