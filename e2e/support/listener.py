"""Servers that are not Jupyter: one never replies, one records what it receives."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Listener:
    """A port, and all that was sent to it."""

    port: int = 0
    received: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def text(self) -> str:
        return b"".join(self.received).decode(errors="replace")


@asynccontextmanager
async def listening(answer: bytes | None = None) -> AsyncIterator[Listener]:
    """Accepts connections; replies `answer` to each request, or never replies."""
    listener = Listener()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while read := await reader.read(1 << 16):
                listener.received.append(read)
                if answer:
                    writer.write(answer)
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    listener.port = server.sockets[0].getsockname()[1]
    try:
        yield listener
    finally:
        server.close()
