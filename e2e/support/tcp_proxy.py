"""A bad network: a TCP proxy that cuts and drops traffic."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_PIECE = 1 << 16


class TcpProxy:
    """Stands between the program and a server; everything can be changed while connections are open."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        # How many connections were made so far, and which are open.
        self.accepted = 0
        # Whether each WebSocket is closed once it is open.
        self.closes_sockets = False
        self._open: set[asyncio.StreamWriter] = set()
        self._refuses = False
        self._flows = asyncio.Event()
        self._flows.set()
        self._pumps: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def cut(self) -> None:
        """Resets every open connection; new ones are made."""
        for writer in list(self._open):
            _reset(writer)

    def refuse(self) -> None:
        """Cuts, and resets every new connection as well."""
        self._refuses = True
        self.cut()

    def freeze(self) -> None:
        """Passes nothing in either direction and closes nothing: half-open connections."""
        self._flows.clear()

    def restore(self) -> None:
        """Accepts new connections again; frozen ones are reset."""
        self._refuses = False
        if not self._flows.is_set():
            self.cut()
            self._flows.set()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self._refuses:
            _reset(writer)
            return
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            _reset(writer)
            return
        self._open |= {writer, back}
        pumps = [asyncio.create_task(self._pump(*ends)) for ends in [(reader, back), (there, writer)]]
        self._pumps |= set(pumps)
        await asyncio.wait(pumps)
        self._pumps -= set(pumps)
        self._open -= {writer, back}
        for end in (writer, back):
            end.close()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while read := await source.read(_PIECE):
                await self._flows.wait()
                is_closed = self.closes_sockets and read.startswith(b"HTTP/1.1 101 ")
                # A server may send messages with the head, after which the socket would be a good one.
                sink.write(read.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if is_closed else read)
                await sink.drain()
                if is_closed:
                    break
            if sink.can_write_eof():
                sink.write_eof()
        except OSError:
            # One end is closed, so the other is closed too.
            _reset(sink)

    async def close(self) -> None:
        self._flows.set()
        self.cut()
        for pump in list(self._pumps):
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)


def _reset(writer: asyncio.StreamWriter) -> None:
    end = writer.get_extra_info("socket")
    if end is not None and not writer.transport.is_closing():
        # A linger time of zero makes closing a reset.
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@asynccontextmanager
async def tcp_proxy(target: int) -> AsyncIterator[TcpProxy]:
    """A proxy for a port of this machine; it passes everything on until a test changes that."""
    proxy = TcpProxy(target)
    listener = await asyncio.start_server(proxy._accepted, "127.0.0.1", 0)
    proxy.port = listener.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        listener.close()
        await proxy.close()
