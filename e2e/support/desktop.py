"""An X display without a monitor, and key presses for what a browser shows outside of its pages."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass
class Desktop:
    """An X display of its own."""

    display: str

    async def press(self, *keys: str) -> None:
        """Presses keys, one after another, in the window that has the keyboard."""
        environment = {**os.environ, "DISPLAY": self.display}
        process = await asyncio.create_subprocess_exec("xdotool", "key", "--delay", "100", *keys, env=environment)
        assert await process.wait() == 0, f"xdotool could not press {keys}"

    async def allow_the_permission_prompt(self) -> None:
        """Answers Chromium's bubble: the keyboard goes to it (its first button is Block), then on to Allow."""
        await self.press("alt+shift+a", "Tab", "Return")

    async def block_the_permission_prompt(self) -> None:
        await self.press("alt+shift+a", "Return")


@asynccontextmanager
async def desktop(size: tuple[int, int] = (1000, 700)) -> AsyncIterator[Desktop]:
    """Starts Xvfb on a display number that it finds itself."""
    assert shutil.which("Xvfb") and shutil.which("xdotool"), "install Debian's packages `xvfb` and `xdotool`"
    reading, writing = os.pipe()
    screen = f"{size[0]}x{size[1]}x24"
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", screen, "-nolisten", "tcp"]
    process = await asyncio.create_subprocess_exec(*command, pass_fds=[writing], stderr=asyncio.subprocess.DEVNULL)
    os.close(writing)
    try:
        number = await asyncio.to_thread(os.read, reading, 16)
        assert number, "Xvfb did not start"
        yield Desktop(f":{number.decode().strip()}")
    finally:
        os.close(reading)
        if process.returncode is None:
            process.terminate()
        await process.wait()
