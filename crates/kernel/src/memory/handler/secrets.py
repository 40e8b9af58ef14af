# What is a secret: what a person has typed for `getpass`, and what names look like.
#
# Which names look like those of secrets. `memory/between_runs/secrets.rs` says the same for kernels without the handler.

import re

HIDDEN = "<hidden: its name looks like a secret>"
HIDDEN_VALUE = "<hidden>"
HIDDEN_TYPED = "<hidden: it was typed as a password>"
# What was typed as a password, the last of it.
TYPED = []
MAX_TYPED = 100
# Shorter ones could be part of any text.
MIN_PART = 4
MAX_SEARCHED = 100_000
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Words of a name, and what they end with.
SECRET_WORDS = {"pass", "pwd", "passcode", "auth", "authorization", "bearer", "jwt"}
SECRET_ENDS = ("secret", "secrets", "token", "tokens")
# Parts of a name without the characters between its words.
SECRET_PARTS = ("passw", "passphrase", "credential", "apikey", "privatekey", "authkey", "accesskey")
# A key with one of these words before it is none that opens anything.
OTHER_KEYS = {"sort", "primary", "foreign", "group", "cache", "row", "column", "col", "dict", "map", "join", "partition", "hash"}
OTHER_KEYS |= {"public", "index", "unique", "merge", "random", "main"}


def remember_typed(kernel):
    """From now on, what a person types for `getpass` is known."""
    asked = getattr(kernel, "getpass", None)
    if asked is None:
        return
    # Another server may have done so.
    TYPED.extend(getattr(asked, "typed", ()))
    asked = getattr(asked, "asked", asked)

    def getpass(*args, **kwargs):
        typed = asked(*args, **kwargs)
        if type(typed) is str and typed and typed not in TYPED:
            TYPED.append(typed)
            del TYPED[:-MAX_TYPED]
        return typed

    getpass.typed, getpass.asked = TYPED, asked
    kernel.getpass = getpass


def is_typed(value):
    """Whether a text or bytes are, or contain, what was typed as a password."""
    kind = type(value)
    if not TYPED or kind not in (str, bytes, bytearray):
        return False
    if kind is not str:
        value = bytes(value[:MAX_SEARCHED]).decode(errors="replace")
    value = value[:MAX_SEARCHED]
    return any(value == typed or (len(typed) >= MIN_PART and typed in value) for typed in TYPED)


def is_secret(name):
    words = [word.lower() for word in WORDS.findall(name[:500])]
    joined = "".join(words)
    if any(word in SECRET_WORDS or word.endswith(SECRET_ENDS) for word in words) or any(part in joined for part in SECRET_PARTS):
        return True
    before, last = words[-2:] if len(words) > 1 else ("", "")
    return last == "pat" or (last in ("key", "keys") and before not in OTHER_KEYS)


def is_secret_path(path):
    """Whether a name in a path looks like a secret."""
    return any(is_secret(part) for part in re.split(r"\W+", path))


def is_secret_key(key):
    return type(key) is str and is_secret(key)
