"""Two agents change a notebook in turns with a person, and undo what they or each other did: nothing that an undo did not make is lost
or overwritten.

`cargo xtask soak undo` goes on for a time, and a seed repeats what is chosen. Otherwise it takes some steps."""

import asyncio
import os
import random
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from e2e.support.jupyter_server import LIVE_FORMS, SharedServers
from e2e.support.soak.undo_places import Shared, in_folder, in_room
from e2e.support.soak.undo_story import Story

SECONDS = float(os.environ.get("CELLBRIDGE_SOAK_SECONDS", "0"))
SEED = int(os.environ.get("CELLBRIDGE_SOAK_SEED", "0")) or (random.randrange(1, 1 << 32) if SECONDS else 3)
STEPS = 0 if SECONDS else 16


@pytest.mark.timeout(SECONDS + 600)
async def test_no_undo_loses_what_others_have_made(jupyter_servers: SharedServers, tmp_path: Path) -> None:
    print(f"seed {SEED}")
    rooms = [in_room(form, jupyter_servers[form], tmp_path / form) for form in LIVE_FORMS]
    end = time.monotonic() + SECONDS
    async with asyncio.TaskGroup() as stories:
        for place in (in_folder(tmp_path / "folder"), *rooms):
            stories.create_task(tell(place, end))


async def tell(place: AbstractAsyncContextManager[Shared], end: float) -> None:
    async with place as shared:
        story = Story(shared, SEED)
        await story.start()
        steps = 0
        try:
            while steps < STEPS or time.monotonic() < end:
                await story.step()
                steps += 1
        except BaseException as error:
            error.add_note("\n".join([f"seed {SEED}, {shared.name}, after {steps} steps:", *story.last]))
            raise
        counted = ", ".join(f"{what}: {count}" for what, count in sorted(story.counts.items()))
        print(f"{shared.name}: {steps} steps; {counted}; lost: 0")
