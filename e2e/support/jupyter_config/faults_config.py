"""A Jupyter server whose storage fails for some names, and forks the server for others."""

import gc
import multiprocessing
import weakref

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

_FORK = multiprocessing.get_context("fork")


class Storage(AsyncLargeFileManager):
    async def get(self, path, *arguments, **options):
        if "broken" in path:
            raise RuntimeError("the database is away")
        if "forked" in path:
            child = _FORK.Process(target=_in_the_child)
            child.start()
            child.join()
            if child.exitcode != 0:
                raise RuntimeError(f"the child ended with {child.exitcode}")
        return await super().get(path, *arguments, **options)


def _in_the_child():
    """What a program does that was forked from the server, and then ends."""
    import asyncio

    from cellbridge._native import Core

    event_loop = asyncio.new_event_loop()
    cores = [each for each in gc.get_objects() if isinstance(each, Core)]
    # Objects of native code may be unknown to the collector.
    cores = cores or [each._core for each in gc.get_objects() if type(each).__name__ == "CellbridgeApp"]
    for core in cores:
        try:
            core.answer(event_loop, "GET", "/mcp/healthz", [], b"", "", "", (True, True, True, True))
        except RuntimeError:
            pass
        else:
            raise AssertionError("a forked child is answered by threads that it has not")
    assert cores, "the extension is not there"
    weakref.finalize._exitfunc()
    gc.collect()


c = get_config()  # noqa: F821
c.ServerApp.contents_manager_class = Storage
