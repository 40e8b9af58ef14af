"""The person's account in a kernel."""

import os

from google.colab import _message


def authenticate_user() -> None:
    """Asks the page for the person's credentials, for as long as that takes."""
    if os.environ.get("USE_AUTH_EPHEM") == "0":
        input("Enter verification code: ")
        return
    _message.ask("request_auth", {"authType": "auth_user_ephemeral"})
