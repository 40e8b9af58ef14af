"""How each client is started, with settings of its own and nothing of the person's."""

import json
import os
import subprocess
import sys
from pathlib import Path

from e2e.support.home import Home

TIMEOUT = 300.0
RECORDER = Path(__file__).with_name("recorder.py")
PROMPT = "Go on."


class ClientFailed(Exception):
    """The client could not be run, with what it printed."""


def server(program: str, folder: Path, copy: Path) -> list[str]:
    """The program, recorded, on a folder."""
    return [sys.executable, str(RECORDER), str(copy), program, "--no-browser", "--root", str(folder)]


def codex(binary: Path, url: str, command: list[str], folder: Path, home: Home) -> None:
    bare = {"PATH": os.environ["PATH"], "HOME": str(home.folder), "CODEX_HOME": str(home.folder)}
    settings = {
        "model": json.dumps(_catalogue_model(binary, bare)),
        "model_provider": '"scripted"',
        "model_providers.scripted": f'{{ name = "scripted", base_url = "{url}/v1", wire_api = "responses", env_key = "SCRIPTED_KEY" }}',
        "mcp_servers.cellbridge.command": json.dumps(command[0]),
        "mcp_servers.cellbridge.args": json.dumps(command[1:]),
        "mcp_servers.cellbridge.env": _inline_table(home.environment("models")),
        "mcp_servers.cellbridge.tool_timeout_sec": "200",
    }
    given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-C", str(folder)]
    _run([str(binary), "exec", *given, *options, PROMPT], {**bare, "SCRIPTED_KEY": "none"}, folder)


def claude_code(binary: Path, url: str, command: list[str], folder: Path, home: Home) -> None:
    configuration = home.folder / "mcp.json"
    entry = {"command": command[0], "args": command[1:], "env": home.environment("models")}
    configuration.write_text(json.dumps({"mcpServers": {"cellbridge": entry}}))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home.folder),
        "CLAUDE_CONFIG_DIR": str(home.folder),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # All tools in the first request: the scripted model does not search.
        "ENABLE_TOOL_SEARCH": "false",
    }
    options = ["--mcp-config", str(configuration), "--strict-mcp-config", "--allowedTools", "mcp__cellbridge"]
    _run([str(binary), "-p", PROMPT, *options], environment, folder)


def _catalogue_model(binary: Path, environment: dict[str, str]) -> str:
    """A model that Codex knows: to others it shows only the ends of long results."""
    listed = subprocess.run(
        [str(binary), "debug", "models"], env=environment, capture_output=True, timeout=TIMEOUT, check=True
    )
    return json.loads(listed.stdout)["models"][0]["slug"]


def _inline_table(values: dict[str, str]) -> str:
    return "{ " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items()) + " }"


def _run(command: list[str], environment: dict[str, str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClientFailed(str(error)) from None
    if done.returncode:
        raise ClientFailed(f"{command[0]} ended with {done.returncode}: {(done.stderr + done.stdout)[-2000:]}")
