"""The person's secrets."""

from google.colab import _message


class SecretNotFoundError(Exception):
    """There is no such secret."""


class NotebookAccessError(Exception):
    """This notebook may not read it."""


def get(key: str) -> str:
    """Asks the page for a secret."""
    answer = _message.ask("GetSecret", {"key": key}, 10.0)
    if not answer.get("exists"):
        raise SecretNotFoundError(key)
    if not answer.get("access"):
        raise NotebookAccessError(key)
    return answer["payload"]
