"""A $BROWSER that opens nothing: it hands the URL to the test, as a browser finds it in the page that it is given."""

import asyncio
import html
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from e2e.support.waiting import LONG

# A path with a space or of more than 127 bytes cannot stand in a script's first line.
_SCRIPT = """#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
import socket, sys

test = socket.socket(socket.AF_UNIX)
test.connect({address!r})
test.sendall("\\n".join(sys.argv[1:]).encode())
"""


@dataclass
class Opener:
    """The command to put into $BROWSER, and what it was given."""

    command: str
    given: asyncio.Queue[str]

    async def url(self) -> str:
        async with asyncio.timeout(LONG):
            page = Path(unquote(urlsplit(await self.given.get()).path)).read_text()
        found = re.search(r'http-equiv="refresh" content="0; url=([^"]*)"', page)
        assert found, page
        return html.unescape(found[1])


@asynccontextmanager
async def recording_opener(directory: Path) -> AsyncIterator[Opener]:
    given: asyncio.Queue[str] = asyncio.Queue()

    async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await given.put((await reader.read()).decode())
        writer.close()

    address = directory / "opened"
    script = directory / "browser"
    script.write_text(_SCRIPT.format(python=sys.executable, address=str(address)))
    script.chmod(0o700)
    server = await asyncio.start_unix_server(receive, address)
    try:
        yield Opener(str(script), given)
    finally:
        server.close()
