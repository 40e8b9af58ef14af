"""`cellbridge colab login`, `status` and `logout`, against a stand-in for Google."""

import asyncio
import json
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import pytest_asyncio
from starlette.applications import Starlette

from e2e.support.colab_fake import COLAB, EMAIL, ColabApi, GoogleSignIn, failures, serving
from e2e.support.home import Home, new_mark
from e2e.support.program import program
from e2e.support.waiting import LONG

DAY = 24 * 3600
# What $BROWSER starts: follows the file and then Google, and writes down its arguments.
BROWSER = """
import pathlib, re, sys, urllib.request
pathlib.Path(sys.argv[1]).write_text(sys.argv[2])
page = urllib.request.urlopen(sys.argv[2]).read().decode()
address = re.search(r'href="([^"]+)"', page)[1].replace("&amp;", "&")
urllib.request.urlopen(address).read()
"""


class Running:
    """A command that waits for something."""

    def __init__(self, process: asyncio.subprocess.Process, said: list[str]) -> None:
        self._process, self._said = process, said

    async def address(self) -> str:
        assert self._process.stdout
        line = (await asyncio.wait_for(self._process.stdout.readline(), LONG)).decode()
        self._said.append(line)
        assert line.startswith("http://127.0.0.1:"), await self.end()
        return line.strip()

    async def type(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{line}\n".encode())
        await self._process.stdin.drain()

    async def says(self, text: str) -> None:
        """Waits for a line on standard error."""
        assert self._process.stderr
        line = ""
        while text not in line:
            line = (await asyncio.wait_for(self._process.stderr.readline(), LONG)).decode()
            self._said.append(line)
            assert line, f"the program ended without {text!r}: {self._said}"

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    async def end(self) -> tuple[int | None, str]:
        printed, complaints = await asyncio.wait_for(self._process.communicate(), LONG)
        self._said.append(text := (printed + complaints).decode())
        return self._process.returncode, text


class Machine:
    """A person's machine, whose outputs and files are searched for what has to stay secret."""

    def __init__(self, folder: Path, google: GoogleSignIn, address: str) -> None:
        self.home, self.google, self.address = Home(folder / "home"), google, address
        self.home.folder.mkdir()
        self.client = folder / "client.json"
        self.client.write_text(google.client_file)
        self.said: list[str] = []
        self.processes: list[asyncio.subprocess.Process] = []

    @property
    def file(self) -> Path:
        return self.home.folder / "state/cellbridge/colab/login.json"

    async def start(self, *command: str, **variables: str) -> Running:
        process = await asyncio.create_subprocess_exec(
            *[program(), "colab", *command, "--log-level", "trace", "--google-stand-in", self.address],
            env={**self.home.environment(new_mark()), **variables},
            cwd=self.home.folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self.processes.append(process)
        return Running(process, self.said)

    async def login(self, has_client: bool = False) -> Running:
        client = [] if has_client else ["-c", str(self.client)]
        return await self.start("login", "--no-browser", *client)

    async def sign_in(self, has_client: bool = False) -> tuple[int | None, str]:
        """Signs in with a browser on this machine; the program may know the client from the last time."""
        running = await self.login(has_client)
        await follow(await running.address())
        return await running.end()

    async def run(self, *command: str) -> tuple[int | None, str]:
        return await (await self.start(*command)).end()

    async def end(self) -> None:
        """Leaves no login that waits, if a test has failed."""
        for process in self.processes:
            if process.returncode is None:
                process.kill()
                await process.wait()

    def check_secrets(self) -> None:
        """Nothing secret was printed, and only the file of the login has the refresh token and the client's secret."""
        printed = "".join(self.said)
        for secret in self.google.issued:
            assert secret not in printed
        for file in (it for it in self.home.folder.rglob("*") if it.is_file()):
            text = file.read_bytes().decode(errors="replace")
            found = [secret for secret in self.google.issued if secret in text]
            if file == self.file:
                assert file.stat().st_mode & 0o777 == 0o600
                assert all(it == self.google.client_secret or it.startswith("1//") for it in found), found
            else:
                assert not found, file


async def follow(address: str) -> httpx.Response:
    """What a browser does: asks Google, and goes where it leads."""
    async with httpx.AsyncClient(trust_env=False, follow_redirects=True, timeout=LONG) as client:
        return await client.get(address)


async def redirect(address: str) -> str:
    """Where Google leads a browser on another machine, which does not get there."""
    async with httpx.AsyncClient(trust_env=False, timeout=LONG) as client:
        return (await client.get(address)).headers["location"]


@pytest.fixture
def google() -> GoogleSignIn:
    return GoogleSignIn()


@pytest.fixture
def api(google: GoogleSignIn, tmp_path: Path) -> ColabApi:
    return ColabApi(google, tmp_path / "machines")


@pytest.fixture
def address(google: GoogleSignIn, api: ColabApi) -> Iterator[str]:
    with serving(Starlette(routes=[*google.routes(), *api.routes()])) as address:
        yield address


@pytest_asyncio.fixture
async def machine(tmp_path: Path, google: GoogleSignIn, address: str) -> AsyncIterator[Machine]:
    machine = Machine(tmp_path, google, address)
    yield machine
    await machine.end()
    machine.check_secrets()


async def test_a_login_in_the_browser_that_is_opened(machine: Machine, tmp_path: Path) -> None:
    script, arguments = tmp_path / "browser.py", tmp_path / "arguments"
    script.write_text(BROWSER)
    running = await machine.start(
        "login", "-c", str(machine.client), BROWSER=f"{sys.executable} {script} {arguments} %s", no_proxy="*"
    )
    code, text = await running.end()
    assert code == 0 and "Signed in to Colab's API as ada@example.com." in text, text
    assert "Testing" in text and "after seven days" in text, text
    assert "API: answers" in text.splitlines(), text
    # The log, in which the secrets are looked for at the end, is not empty.
    assert "Google has answered a request for tokens" in text and "v1beta/subscription" in text, text
    # Other users see the arguments of a program.
    assert re.fullmatch(r"file:///\S+/open\.html", arguments.read_text())

    code, text = await machine.run("status")
    assert code == 0, text
    for line in [
        "Account: ada@example.com",
        f"OAuth client: {machine.google.client_id}",
        "State: valid",
        "Missing: nothing",
        "API: answers",
    ]:
        assert line in text.splitlines(), text
    assert COLAB in text and "Next:" not in text, text


async def test_a_login_of_gcloud_is_taken_over(machine: Machine, tmp_path: Path) -> None:
    assert (await machine.sign_in())[0] == 0
    stored = json.loads(machine.file.read_text())
    machine.file.unlink()
    adc = tmp_path / "adc.json"
    login = {name: stored[name] for name in ("client_id", "client_secret", "refresh_token")}
    for kind, status, said in [("authorized_user", 0, "API: answers"), ("service_account", 1, "no login of a person")]:
        adc.write_text(json.dumps(login | {"type": kind}))
        running = await machine.start("login", "--adc", GOOGLE_APPLICATION_CREDENTIALS=str(adc))
        code, text = await running.end()
        assert code == status and said in text, text
    assert json.loads(machine.file.read_text())["refresh_token"] == login["refresh_token"]


async def test_what_the_api_lacks_is_named_at_the_end(machine: Machine, api: ColabApi) -> None:
    for failure, said, step in [
        (failures.NOT_OPENED, "Method not found.", "developers.google.com/colab/api"),
        (failures.NOT_ENABLED, "Colab API has not been used in project 123456789012", "gcloud services enable"),
        (failures.SCOPE_INSUFFICIENT, "insufficient authentication scopes", "select everything"),
    ]:
        api.fail(failure)
        code, text = await machine.sign_in()
        assert code == 0 and "Signed in" in text and said in text and step in text, text
        api.fail(failure)
        code, text = await machine.run("status")
        assert code == 1 and "State: valid" in text and said in text and step in text, text


async def test_a_login_that_the_person_denies(machine: Machine) -> None:
    machine.google.denies = True
    code, text = await machine.sign_in()
    assert code == 1 and "You did not grant access" in text, text
    assert not machine.file.exists()
    code, text = await machine.run("status")
    assert code == 1 and "not signed in" in text and "--client-oauth-config FILE" in text, text


async def test_a_login_without_the_checkbox_for_colab_replaces_none(machine: Machine) -> None:
    assert (await machine.sign_in())[0] == 0
    before = machine.file.read_text()
    machine.google.unticked = {COLAB}
    code, text = await machine.sign_in()
    assert code == 1 and "its checkbox was not selected" in text and "select everything" in text, text
    assert machine.file.read_text() == before
    assert (await machine.run("status"))[0] == 0


async def test_a_login_without_the_email_address_is_enough(machine: Machine) -> None:
    machine.google.unticked = {EMAIL}
    code, text = await machine.sign_in()
    assert code == 0 and "the account is not known" in text, text
    code, text = await machine.run("status")
    assert code == 0 and "Missing: e-mail address" in text, text


async def test_only_the_answer_to_this_login_counts(machine: Machine) -> None:
    running = await machine.login()
    address = await running.address()
    target = parse_qs(urlsplit(address).query)["redirect_uri"][0]
    for forged in ["?code=4/0forged-code&state=guessed", "?error=access_denied", "favicon.ico"]:
        assert (await follow(f"{target}{forged}")).status_code in (400, 404)
    response = await follow(address)
    assert response.status_code == 200 and "return to the terminal" in response.text
    code, text = await running.end()
    assert code == 0, text


async def test_the_address_is_pasted_from_another_machine(machine: Machine) -> None:
    running = await machine.login()
    address = await running.address()
    await running.type("http://127.0.0.1:1/?code=4/0of-yesterday&state=of-yesterday")
    await running.says("another login")
    await running.type("hello")
    await running.says("neither an address")
    await running.type(await redirect(address))
    code, text = await running.end()
    assert code == 0 and "Signed in" in text, text


async def test_the_code_alone_is_pasted_and_the_code_of_another_login_is_worth_nothing(machine: Machine) -> None:
    running, other = await machine.login(), await machine.login()
    code = parse_qs(urlsplit(await redirect(await running.address())).query)["code"][0]
    await other.address()
    await other.type(code)
    status, text = await other.end()
    assert status == 1 and "does not accept the code" in text, text
    await running.type(code)
    status, text = await running.end()
    assert status == 0, text
    # The code was used, and its second use would end the login.
    again = await machine.login()
    await again.address()
    await again.type(code)
    assert (await again.end())[0] == 1


async def test_a_refresh_token_that_is_valid_once_is_replaced(machine: Machine) -> None:
    machine.google.rotates = True
    assert (await machine.sign_in())[0] == 0
    ended = await asyncio.gather(*[machine.run("status") for _ in range(5)])
    assert [code for code, _ in ended] == [0] * 5, ended
    (valid,) = machine.google.valid_refresh_tokens
    assert valid in machine.file.read_text()
    assert machine.google.requests.count("token refresh_token") == 5


async def test_the_end_is_announced_and_named(machine: Machine) -> None:
    machine.google.names_expiry = True
    assert (await machine.sign_in())[0] == 0
    machine.google.now += 6 * DAY
    code, text = await machine.run("status")
    assert code == 0 and "The login expires on" in text, text
    assert "Next: Run `cellbridge colab login` again." in text, text
    machine.google.now += DAY
    code, text = await machine.run("status")
    assert code == 1 and "State: not valid." in text and "a login ends after seven days" in text and "Next: Run" in text, text
    # The OAuth client is known.
    code, text = await machine.sign_in(has_client=True)
    assert code == 0, text
    assert (await machine.run("status"))[0] == 0


async def test_a_login_that_outlives_testing_has_no_end(machine: Machine) -> None:
    machine.google.is_in_testing = False
    assert (await machine.sign_in())[0] == 0
    login = json.loads(machine.file.read_text())
    machine.file.write_text(json.dumps(login | {"signed_in": login["signed_in"] - 8 * DAY}))
    code, text = await machine.run("status")
    assert code == 0 and "has no known end" in text and "Next:" not in text, text


async def test_a_login_that_was_revoked_at_google(machine: Machine) -> None:
    assert (await machine.sign_in())[0] == 0
    machine.google.revoke_all()
    code, text = await machine.run("status")
    assert code == 1 and "access was revoked" in text, text
    code, text = await machine.run("logout")
    assert code == 0 and "Google had ended it already" in text, text
    assert not machine.file.exists()


async def test_logout_revokes_and_removes(machine: Machine) -> None:
    assert (await machine.sign_in())[0] == 0
    code, text = await machine.run("logout")
    assert code == 0 and "Revoked the login" in text, text
    assert not machine.google.valid_refresh_tokens and not machine.file.exists()
    code, text = await machine.run("logout")
    assert code == 0 and "not signed in" in text, text


async def test_logout_removes_the_login_where_google_cannot_be_reached(tmp_path: Path, google: GoogleSignIn) -> None:
    with serving(google.application()) as address:
        machine = Machine(tmp_path, google, address)
        assert (await machine.sign_in())[0] == 0
    code, text = await machine.run("status")
    assert code == 1 and "State: not checked. Google cannot be reached" in text, text
    code, text = await machine.run("logout")
    assert code == 1 and "did not revoke it" in text and "myaccount.google.com" in text, text
    assert not machine.file.exists()
    machine.check_secrets()


async def test_a_client_that_was_deleted_or_is_of_another_kind(machine: Machine) -> None:
    assert (await machine.sign_in())[0] == 0
    machine.google.is_client_deleted = True
    code, text = await machine.run("status")
    assert code == 1 and "does not accept the OAuth client" in text and "--client-oauth-config FILE" in text, text
    machine.client.write_text(machine.google.client_file.replace('"installed"', '"web"'))
    code, text = await machine.run("login", "--no-browser", "-c", str(machine.client))
    assert code == 1 and "web application" in text, text


async def test_ctrl_c_ends_a_login_that_waits(machine: Machine) -> None:
    running = await machine.login()
    await running.address()
    running.interrupt()
    code, text = await running.end()
    assert code == 130 and "Interrupted." in text, text
    assert not machine.file.exists()


async def test_a_token_goes_only_to_the_server_that_issued_it(machine: Machine) -> None:
    assert (await machine.sign_in())[0] == 0
    with serving(GoogleSignIn().application()) as other:
        there = Machine.__new__(Machine)
        there.__dict__ = {**machine.__dict__, "address": other}
        code, text = await there.run("status")
        assert code == 1 and "belongs to another server" in text, text
    there.__dict__["address"] = "http://192.0.2.1:80"
    code, text = await there.run("status")
    assert code == 2 and "127.0.0.1" in text, text
