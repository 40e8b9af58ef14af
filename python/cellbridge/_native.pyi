from asyncio import AbstractEventLoop, Future
from collections.abc import Callable

def check_tools(tools: list[str], ask: list[str]) -> None: ...

class Core:
    def __new__(
        cls,
        config: str,
        connection: Callable[[str], str | None],
        file: Callable[[str], str | None],
        kernels: Callable[[str], str | None],
    ) -> Core: ...
    def answer(
        self,
        event_loop: AbstractEventLoop,
        method: str,
        path: str,
        headers: list[tuple[str, str]],
        body: bytes,
        user: str,
        credential: str,
        may: tuple[bool, bool, bool, bool],
    ) -> Future[tuple[int, list[tuple[str, str]], bytes, Stream | None]]: ...
    def open_socket(
        self,
        event_loop: AbstractEventLoop,
        headers: list[tuple[str, str]],
        user: str,
        credential: str,
        may: tuple[bool, bool, bool, bool],
    ) -> SocketSession | None: ...
    def metrics(self) -> tuple[int, int, int, list[tuple[str, int, int, int, float]]]: ...
    def close(self, event_loop: AbstractEventLoop) -> Future[None]: ...

class SocketSession:
    def send(self, event_loop: AbstractEventLoop, message: str) -> Future[None]: ...
    def next(self, event_loop: AbstractEventLoop) -> Future[str | None]: ...
    def close(self) -> None: ...

class Stream:
    def next(self, event_loop: AbstractEventLoop) -> Future[bytes | None]: ...
    def close(self) -> None: ...
