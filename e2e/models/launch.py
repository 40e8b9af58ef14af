"""How each client is started, with settings of its own and nothing of the person's."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT = 300.0
RECORDER = Path(__file__).with_name("recorder.py")
PROMPT = "Go on."


class ClientFailed(Exception):
    """The client could not be run, with what it printed."""


@dataclass
class Client:
    """A client's program, and the person who starts it in a folder."""

    binary: Path
    # The model service.
    url: str
    folder: Path
    variables: dict[str, str]


@dataclass
class Entry:
    """What a client is told of a server when it starts. Without it, it knows those of its configuration."""

    command: list[str]
    environment: dict[str, str]


@dataclass
class Socket:
    """The WebSocket of a server that is running."""

    url: str
    token: str


def recorded(program: str, folder: Path, copy: Path) -> list[str]:
    """The command of the program, recorded, on a folder."""
    return [sys.executable, str(RECORDER), str(copy), program, "--no-browser", "--root", str(folder)]


def codex(client: Client, entry: Entry | None) -> None:
    settings = {
        "model": json.dumps(_catalogue_model(client)),
        "model_provider": '"scripted"',
        "model_providers.scripted": f'{{ name = "scripted", base_url = "{client.url}/v1", wire_api = "responses", env_key = "SCRIPTED_KEY" }}',
    }
    if entry:
        settings |= {
            "mcp_servers.cellbridge.command": json.dumps(entry.command[0]),
            "mcp_servers.cellbridge.args": json.dumps(entry.command[1:]),
            "mcp_servers.cellbridge.env": _inline_table(entry.environment),
            "mcp_servers.cellbridge.tool_timeout_sec": "200",
        }
    given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-C", str(client.folder)]
    _run(client, ["exec", *given, *options, PROMPT], SCRIPTED_KEY="none")


def claude_code(client: Client, entry: Entry | Socket | None) -> None:
    options = ["--allowedTools", "mcp__cellbridge"]
    if entry:
        configuration = Path(client.variables["HOME"]) / "mcp.json"
        server: dict[str, Any]
        if isinstance(entry, Socket):
            server = {"type": "ws", "url": entry.url, "headers": {"Authorization": f"Bearer {entry.token}"}}
        else:
            server = {"command": entry.command[0], "args": entry.command[1:], "env": entry.environment}
        configuration.write_text(json.dumps({"mcpServers": {"cellbridge": server}}))
        options = ["--mcp-config", str(configuration), "--strict-mcp-config", *options]
    _run(
        client,
        ["-p", PROMPT, *options],
        **scripted_claude(client.url),
    )


def scripted_claude(url: str) -> dict[str, str]:
    """What makes Claude Code ask the model at this address."""
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # All tools in the first request: the scripted model does not search.
        "ENABLE_TOOL_SEARCH": "false",
    }


LAUNCH = {"Codex": codex, "Claude Code": claude_code}


def _catalogue_model(client: Client) -> str:
    """A model that Codex knows: to others it shows only the ends of long results."""
    listed = subprocess.run(
        [client.binary, "debug", "models"], env=client.variables, capture_output=True, timeout=TIMEOUT, check=True
    )
    return json.loads(listed.stdout)["models"][0]["slug"]


def _inline_table(values: dict[str, str]) -> str:
    return "{ " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in values.items()) + " }"


def _run(client: Client, arguments: list[str], **further: str) -> None:
    try:
        done = subprocess.run(
            [client.binary, *arguments],
            cwd=client.folder,
            env={**client.variables, **further},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClientFailed(str(error)) from None
    if done.returncode:
        raise ClientFailed(f"{client.binary} ended with {done.returncode}: {(done.stderr + done.stdout)[-2000:]}")
