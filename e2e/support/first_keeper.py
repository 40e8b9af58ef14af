"""A keeper of the first version of the protocol, frozen: later servers have to work with what it says and writes.

It does not follow the program: what is here was true for version 1 (`kernel::keeper` in the commit that added this file).
It knows no turns and no limits, and ends only when it is asked to.

Its argument is its folder. It reads what goes into its `kernel.json`; in that, `runs` is what a client has run that has gone,
as `[{"run", "cell", "source"}]`. With `says` it stands for a keeper of that version, which refuses clients of others.
"""

import asyncio
import fcntl
import hashlib
import hmac
import json
import os
import shutil
import signal
import struct
import sys
import tempfile
import time
import uuid
from enum import IntEnum
from pathlib import Path
from typing import Any

import zmq
import zmq.asyncio
from jupyter_client.connect import write_connection_file

Json = Any
CHANNELS = ["shell", "control", "stdin", "iopub"]
DELIMITER = b"<IDS|MSG>"


class Client(IntEnum):
    """The frames of a client."""

    HELLO, ADOPT, FOLLOW, NOTE, SEND, ACKNOWLEDGE, INTERRUPT, RESTART, END, STORE = range(1, 11)


class Answer(IntEnum):
    """The frames of a keeper."""

    WELCOME, REFUSED, ADOPTED, RECORDS = range(1, 5)


class Record(IntEnum):
    """What the log holds."""

    FROM_KERNEL, TO_KERNEL, NOTE, EVENT, ACKNOWLEDGED, STORED = range(6)


def system_time(at: float) -> Json:
    return {"secs_since_epoch": int(at), "nanos_since_epoch": int(at % 1 * 1e9)}


def encoded(value: Json) -> bytes:
    return json.dumps(value).encode()


def with_length(payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + payload


def message_bytes(channel: str, parts: list[bytes]) -> bytes:
    head = struct.pack(">BI", CHANNELS.index(channel), len(parts))
    return head + b"".join(map(with_length, parts))


def message_of(payload: bytes) -> tuple[str, list[bytes]]:
    channel, count = struct.unpack_from(">BI", payload)
    parts, at = [], 5
    for _ in range(count):
        [length] = struct.unpack_from(">I", payload, at)
        parts.append(payload[at + 4 : at + 4 + length])
        at += 4 + length
    return CHANNELS[channel], parts


class Log:
    """One file of records, each behind its length: the milliseconds, the kind, the content."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"log.{0:020}"
        self._file = os.fdopen(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_WRONLY, 0o600), "wb", 0)
        self.end = 0
        self.grown = asyncio.Condition()

    async def append(self, kind: Record, content: bytes) -> int:
        start = self.end
        record = with_length(struct.pack(">QB", int(time.time() * 1000), kind) + content)
        self._file.write(record)
        async with self.grown:
            self.end += len(record)
            self.grown.notify_all()
        return start

    def read(self, start: int) -> bytes:
        with self._path.open("rb") as file:
            file.seek(start)
            return file.read(min(self.end - start, 1 << 18))


class Kernel:
    """The process, and messages as header, parent header, metadata, content, buffers."""

    def __init__(self, process: asyncio.subprocess.Process, connection: Json) -> None:
        self.process = process
        self.info: Json = {}
        self._key = connection["key"].encode()
        self._sockets: dict[str, zmq.asyncio.Socket] = {}
        context, identity = zmq.asyncio.Context.instance(), uuid.uuid4().hex.encode()
        for channel in CHANNELS:
            socket = context.socket(zmq.SUB if channel == "iopub" else zmq.DEALER)
            socket.setsockopt(zmq.LINGER, 0)
            if channel == "iopub":
                socket.setsockopt(zmq.SUBSCRIBE, b"")
            else:
                socket.setsockopt(zmq.IDENTITY, identity)
            socket.connect(f"tcp://127.0.0.1:{connection[f'{channel}_port']}")
            self._sockets[channel] = socket

    @classmethod
    async def start(cls, record: Json, folder: Path) -> "Kernel":
        file, connection = write_connection_file(str(folder / f"connection-{uuid.uuid4().hex}.json"))
        [program, argv] = record["choice"]["program"], record["choice"]["kernelspec"]["argv"]
        command = [program, *(word.replace("{connection_file}", file) for word in argv[1:])]
        null = asyncio.subprocess.DEVNULL
        streams = {"stdin": null, "stdout": null, "stderr": null}
        process = await asyncio.create_subprocess_exec(*command, cwd=record["folder"], **streams)
        kernel = cls(process, connection)
        await kernel._until_ready()
        return kernel

    async def send(self, channel: str, parts: list[bytes]) -> None:
        signature = hmac.new(self._key, b"".join(parts[:4]), hashlib.sha256).hexdigest().encode()
        await self._sockets[channel].send_multipart([DELIMITER, signature, *parts])

    async def receive(self, channel: str) -> list[bytes]:
        frames = await self._sockets[channel].recv_multipart()
        return frames[frames.index(DELIMITER) + 2 :]

    async def end(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        for socket in self._sockets.values():
            socket.close()

    async def _until_ready(self) -> None:
        """It replies, and what it publishes arrives."""
        is_published = False
        while not (self.info and is_published):
            await self.send("shell", request("kernel_info_request", {})[1])
            if await self._sockets["shell"].poll(200):
                self.info = json.loads((await self.receive("shell"))[3])["language_info"]
            is_published = is_published or bool(await self._sockets["iopub"].poll(200))


def request(kind: str, content: Json) -> tuple[str, list[bytes]]:
    """The `msg_id` and the parts of a request."""
    message = uuid.uuid4().hex
    header = {"msg_id": message, "msg_type": kind, "username": "first", "session": "first", "version": "5.3"}
    return message, [encoded(header), b"{}", b"{}", encoded(content)]


class Keeper:
    def __init__(self, record: Json, folder: Path) -> None:
        self._record = record
        self._folder = folder
        self._log = Log(folder)
        self._kernel: Kernel | None = None
        self._readers: list[asyncio.Task[None]] = []
        # The request of the run that the kernel works on.
        self._current: str | None = None
        self._last_request = time.time()
        self._runs: list[Json] = []
        # The processes of the clients, and those that follow the log.
        self._processes: dict[asyncio.StreamWriter, int] = {}
        self._attached: set[int] = set()
        self.is_over = asyncio.Event()

    async def start_kernel(self) -> None:
        kernel = self._kernel = await Kernel.start(self._record, self._folder)
        await self._log.append(Record.EVENT, encoded({"event": "ready", "language_info": kernel.info}))
        self._readers = [asyncio.create_task(self._read(kernel, channel)) for channel in CHANNELS]

    async def end_kernel(self) -> None:
        for reader in self._readers:
            reader.cancel()
        if self._kernel:
            await self._kernel.end()
        self._kernel, self._current = None, None

    async def run_for_a_client_that_has_gone(self, run: str, cell: str, source: str) -> None:
        message, parts = request("execute_request", {"code": source, "silent": False, "store_history": True})
        data = {"notebook": self._record["notebook"], "cell": cell, "source": source}
        await self._note({"run": run, "message": message, "data": data}, None)
        await self._send("shell", parts)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        followers = []
        try:
            while True:
                [length] = struct.unpack(">I", await reader.readexactly(4))
                frame = await reader.readexactly(length)
                if frame[0] == Client.FOLLOW:
                    [offset] = struct.unpack(">Q", frame[1:])
                    self._attached.add(self._processes[writer])
                    followers.append(asyncio.create_task(self._follow(writer, offset)))
                else:
                    await self._on_frame(frame[0], frame[1:], writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            # The client, or this program, ends.
            pass
        for follower in followers:
            follower.cancel()
        process = self._processes.pop(writer, None)
        if followers:
            self._attached.discard(process)
        orphans = [run for run in self._runs if run["owner"] is writer and run["fate"] != "acknowledged"]
        for run in orphans:
            run["owner"] = None
        if orphans:
            await self._log.append(Record.EVENT, encoded({"event": "orphaned"}))
        writer.close()

    async def _on_frame(self, tag: int, content: bytes, writer: asyncio.StreamWriter) -> None:
        match tag:
            case Client.HELLO:
                self._greet(json.loads(content), writer)
            case Client.ADOPT:
                self._answer(writer, Answer.ADOPTED, encoded(self._adopt(writer)))
            case Client.NOTE:
                await self._note(json.loads(content), writer)
            case Client.SEND:
                self._last_request = time.time()
                await self._send(*message_of(content))
            case Client.ACKNOWLEDGE:
                await self._settle(json.loads(content), Record.ACKNOWLEDGED)
            case Client.STORE:
                await self._settle(json.loads(content), Record.STORED)
            case Client.INTERRUPT:
                if self._kernel and json.loads(content) in (None, self._current):
                    self._kernel.process.send_signal(signal.SIGINT)
            case Client.RESTART:
                await self._log.append(Record.EVENT, encoded({"event": "restarting"}))
                await self.end_kernel()
                await self.start_kernel()
            case Client.END:
                self.is_over.set()

    def _greet(self, hello: Json, writer: asyncio.StreamWriter) -> None:
        says = self._record.get("says", 1)
        if hello["version"] != says:
            self._answer(writer, Answer.REFUSED, encoded(says))
            return
        welcome = {
            "version": says,
            "kernel": self._status(),
            "last_request": system_time(self._last_request),
            "attached": sorted(self._attached),
            "orphans": sum(run["owner"] is None and run["fate"] != "acknowledged" for run in self._runs),
        }
        self._processes[writer] = hello.get("process", 0)
        self._answer(writer, Answer.WELCOME, encoded(welcome))

    def _adopt(self, writer: asyncio.StreamWriter) -> Json:
        adopted = [run for run in self._runs if run["owner"] is None or run["fate"] == "acknowledged"]
        for run in adopted:
            run["owner"] = writer
        shown = [
            {
                "note": run["note"],
                "noted_at": system_time(run["at"]),
                "is_stored": run["fate"] == "stored",
                "is_acknowledged": run["fate"] == "acknowledged",
            }
            for run in adopted
        ]
        start = min((run["offset"] for run in adopted), default=self._log.end)
        return {"kernel": self._status(), "runs": shown, "from": start, "end": self._log.end}

    async def _follow(self, writer: asyncio.StreamWriter, offset: int) -> None:
        while True:
            async with self._log.grown:
                while self._log.end <= offset:
                    await self._log.grown.wait()
            records = self._log.read(offset)
            self._answer(writer, Answer.RECORDS, struct.pack(">Q", offset) + records)
            await writer.drain()
            offset += len(records)

    async def _note(self, note: Json, owner: asyncio.StreamWriter | None) -> None:
        offset = await self._log.append(Record.NOTE, encoded(note))
        known = [run for run in self._runs if run["note"]["run"] == note["run"]]
        if not known:
            self._runs.append({"note": note, "at": time.time(), "offset": offset, "owner": owner, "fate": "unknown"})
        elif note["message"] or not known[0]["note"]["message"]:
            known[0] |= {"note": note, "owner": owner}

    async def _settle(self, name: str, fate: Record) -> None:
        for run in self._runs:
            if run["note"]["run"] == name:
                run["fate"] = fate.name.lower()
        await self._log.append(fate, encoded(name))

    async def _send(self, channel: str, parts: list[bytes]) -> None:
        logged = parts[:3] if channel == "stdin" else parts
        await self._log.append(Record.TO_KERNEL, message_bytes(channel, logged))
        if self._kernel:
            await self._kernel.send(channel, parts)

    async def _read(self, kernel: Kernel, channel: str) -> None:
        while True:
            parts = await kernel.receive(channel)
            if channel == "iopub" and json.loads(parts[0])["msg_type"] == "status":
                self._on_status(json.loads(parts[3])["execution_state"], json.loads(parts[1]).get("msg_id"))
            await self._log.append(Record.FROM_KERNEL, message_bytes(channel, parts))

    def _on_status(self, state: str, message: str | None) -> None:
        if state == "busy" and message in [run["note"]["message"] for run in self._runs]:
            self._current = message
        elif state == "idle" and message == self._current:
            self._current = None

    def _status(self) -> Json:
        return {
            "phase": {"phase": "running" if self._kernel else "starting"},
            "is_busy": self._current is not None,
            "language_info": self._kernel.info if self._kernel else None,
            "process": self._kernel.process.pid if self._kernel else None,
        }

    def _answer(self, writer: asyncio.StreamWriter, tag: Answer, content: bytes) -> None:
        writer.write(with_length(bytes([tag]) + content))


async def main() -> None:
    folder, record = Path(sys.argv[1]), json.load(sys.stdin)
    folder.mkdir(mode=0o700)
    lock = os.open(folder / "lock", os.O_CREAT | os.O_WRONLY, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    keeper = Keeper(record, folder)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, keeper.is_over.set)
    await keeper.start_kernel()
    for run in record.pop("runs"):
        await keeper.run_for_a_client_that_has_gone(**run)
    # The path of the folder may be too long for a socket.
    socket = Path(tempfile.mkdtemp(prefix="cellbridge-", dir="/tmp")) / "s"
    server = await asyncio.start_unix_server(keeper.serve, socket)
    written = {**record, "started_at": system_time(time.time()), "process": os.getpid(), "socket": str(socket)}
    (folder / "kernel.new").write_text(json.dumps(written))
    (folder / "kernel.new").rename(folder / "kernel.json")
    await keeper.is_over.wait()
    server.close()
    await keeper.end_kernel()
    shutil.rmtree(socket.parent)
    shutil.rmtree(folder)


if __name__ == "__main__":
    asyncio.run(main())
