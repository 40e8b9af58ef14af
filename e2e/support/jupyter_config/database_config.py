"""A Jupyter server whose notebooks are in no file, but in a stand-in for a database, which can be made to fail.

Like many that people have, it keeps no checkpoints, and reports hashes only if jupyter-collaboration wants them. A
file `fault` in the server's folder says what fails and how, as in `save full`, for as long as it is there."""

import asyncio
import copy
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path

from jupyter_server.services.contents.checkpoints import AsyncCheckpoints
from jupyter_server.services.contents.manager import AsyncContentsManager
from tornado import web


class NoCheckpoints(AsyncCheckpoints):
    async def list_checkpoints(self, path):
        return []


class Database(AsyncContentsManager):
    checkpoints_class = NoCheckpoints

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._rows = {}

    async def get(self, path, content=True, type=None, format=None):
        await self._fail_on_request("get", path)
        path = path.strip("/")
        if path == "":
            rows = [self._model(each, content=False) for each in self._rows]
            return self._entry("", "directory", rows if content else None, "json")
        if path not in self._rows:
            raise web.HTTPError(404, f"there is no {path}")
        return self._model(path, content)

    async def save(self, model, path=""):
        await self._fail_on_request("save", path)
        path = path.strip("/")
        now = datetime.now(timezone.utc)
        created = self._rows[path]["created"] if path in self._rows else now
        kept = {key: copy.deepcopy(model.get(key)) for key in ("type", "format", "content")}
        self._rows[path] = {**kept, "created": created, "last_modified": now}
        return self._model(path, content=False)

    async def delete_file(self, path):
        del self._rows[path.strip("/")]

    async def rename_file(self, old_path, new_path):
        self._rows[new_path.strip("/")] = self._rows.pop(old_path.strip("/"))

    async def file_exists(self, path=""):
        return path.strip("/") in self._rows

    async def dir_exists(self, path):
        return path.strip("/") == ""

    async def is_hidden(self, path):
        return False

    def _model(self, path, content):
        row = copy.deepcopy(self._rows[path])
        model = self._entry(path, row["type"], row["content"] if content else None, row["format"])
        return model | {"created": row["created"], "last_modified": row["last_modified"]}

    def _entry(self, path, type, content, format):
        time = datetime.fromtimestamp(0, timezone.utc)
        shown = format or "json" if content is not None else None
        entry = {"name": path, "path": path, "type": type, "content": content, "format": shown, "mimetype": None}
        return entry | {"created": time, "last_modified": time, "writable": True, "size": None}

    async def _fail_on_request(self, action, path):
        fault = Path("fault")
        if not (fault.exists() and path.endswith(".ipynb") and fault.read_text().startswith(action)):
            return
        match fault.read_text().split()[1]:
            case "broken":
                raise RuntimeError("the database is away")
            case "full":
                raise web.HTTPError(507, "the quota is used up")
            case "hanging":
                Path("hangs").touch()
                while fault.exists():
                    await asyncio.sleep(0.01)


class Hashing(Database):
    async def get(self, path, content=True, type=None, format=None, require_hash=False):
        model = await super().get(path, content, type, format)
        if require_hash:
            model |= {"hash": model["last_modified"].isoformat(), "hash_algorithm": "time"}
        return model


c = get_config()  # noqa: F821
c.ServerApp.contents_manager_class = Hashing if find_spec("jupyter_server_ydoc") else Database
