"""All of Google's side for one account: the sign-in, the API and the machines, at one address."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.applications import Starlette

from e2e.support.colab_fake.api import ColabApi
from e2e.support.colab_fake.server import serving
from e2e.support.colab_fake.sign_in import GoogleSignIn


class Google:
    """One account, whose machines keep their files below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.sign_in = GoogleSignIn()
        self.api = ColabApi(self.sign_in, folder)
        # `--google-stand-in`.
        self.address = ""

    def check(self, printed: Iterable[str], home: Path, left: Iterable[str] = ()) -> None:
        """Nothing was sent that may not be, nothing secret was printed or written below `home` except what the file of the login is
        for, and only the machines `left` run."""
        assert not self.api.violations, self.api.violations
        texts = list(printed)
        # A log without lines would show nothing.
        assert not self.api.requests or any("Google's API has answered" in text for text in texts)
        for secret in self.sign_in.issued:
            assert not any(secret in text for text in texts), f"printed: {secret[:8]}"
        for file in (each for each in home.rglob("*") if each.is_file()):
            content = file.read_bytes()
            found = [secret for secret in self.sign_in.issued if secret.encode() in content]
            if file.match("colab/login.json"):
                found = [it for it in found if it != self.sign_in.client_secret and not it.startswith("1//")]
            assert not found, f"{file} has a secret"
        assert sorted(self.api.machines) == sorted(left), "machines that run"


@contextmanager
def google_at_loopback(folder: Path) -> Iterator[Google]:
    """Serves everything on a free port, and ends the machines afterwards."""
    google = Google(folder)
    try:
        routes = [*google.sign_in.routes(), *google.api.routes()]
        with serving(Starlette(routes=routes)) as google.address:
            yield google
    finally:
        google.api.stop()
