# How much memory values take.

from itertools import islice

from .kinds import (
    ARRAYS,
    COLUMNS,
    CONTAINERS,
    FRAMES,
    is_arrow_array,
    is_kind,
    is_lazy,
    is_one_of,
    is_sparse,
    library_class,
    own_attributes,
)
from .plain import is_plain, pandas_arrays

# So many parts of all values are looked at, and at least so many of each.
MAX_PARTS = 20_000
LEAST_PARTS = 50


class Bytes:
    """The memory that values take, with what they hold, as far as that is known without their code. The parts of a container that are
    not looked at count as the average of the others, and make the number an estimate."""

    def __init__(self, values):
        self.share = max(MAX_PARTS // max(values, 1), LEAST_PARTS)

    def of(self, value):
        self.left, self.seen, self.is_estimate = self.share, set(), False
        return {"bytes": self.whole(value), "is_estimate": self.is_estimate}

    def whole(self, value):
        # What holds a value keeps it alive, so no other has its id.
        if id(value) in self.seen:
            return 0
        self.seen.add(id(value))
        try:
            return self.of_library(value) or self.of_parts(value)
        except Exception:
            return 0

    def of_library(self, value):
        kind = type(value)
        known = library_class(kind)
        if is_lazy(kind, known) or not is_plain(known, value):
            return 0
        if known.startswith("pandas.") and (known in FRAMES or known in COLUMNS):
            return sum(map(self.of_array, pandas_arrays(known, value)))
        if known in ("polars.DataFrame", "polars.Series"):
            return int(value.estimated_size())
        if is_sparse(known):
            return sum(int(it.nbytes) for it in own_attributes(value).values() if library_class(type(it)) == "numpy.ndarray")
        if known.startswith("torch."):
            return int(value.element_size() * value.nelement())
        if known in ARRAYS:
            return self.of_array(value)
        has_bytes = known in FRAMES or is_arrow_array(known) or known in ("xarray.DataArray", "xarray.Dataset")
        return int(value.nbytes) if has_bytes else 0

    def of_array(self, array):
        own = int(array.nbytes)
        if library_class(type(array)) != "numpy.ndarray" or array.dtype.kind != "O":
            return own
        return own + self.added(array.reshape(-1)[: self.left].tolist(), int(array.size))

    def of_parts(self, value):
        kind = type(value)
        base = next((it for it in (*CONTAINERS, str, bytes, bytearray, int) if is_kind(kind, it)), object)
        own = base.__sizeof__(value)
        if base is dict:
            pairs = islice(dict.items(value), self.left)
            return own + self.added([it for pair in pairs for it in pair], 2 * dict.__len__(value))
        if is_one_of(base, CONTAINERS):
            return own + self.added(list(islice(base.__iter__(value), self.left)), base.__len__(value))
        attributes = [] if is_kind(kind, type) else list(own_attributes(value).values())
        return own + self.added(attributes, len(attributes))

    def added(self, parts, count):
        total, looked = 0, 0
        for part in parts:
            if self.left <= 0:
                break
            self.left, looked = self.left - 1, looked + 1
            total += self.whole(part)
        if looked < count:
            self.is_estimate = True
        return total * count // looked if looked else 0
