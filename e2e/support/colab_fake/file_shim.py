"""The program that serves files on Colab's machines in Jupyter's place (`colab-fileshim.py`): as little as Google's clients ask of it.

Whole files by the contents API, without hashes, chunks, renames and `/files`.
"""

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


def file_shim(root: Path) -> Starlette:
    """Serves the files below `root`."""

    async def contents(request: Request) -> Response:
        file = root / request.path_params["path"]
        if request.method == "PUT":
            body = await request.json()
            if "chunk" in body:
                return JSONResponse({"message": "Unexpected field: chunk"}, 400)
            file.write_bytes(_written(body))
            return JSONResponse(_model(root, file, None), 201)
        if not file.exists():
            return JSONResponse({"message": f"No such file or directory: {file}"}, 404)
        if request.method == "DELETE":
            file.unlink()
            return Response(status_code=204)
        wants = request.query_params
        return JSONResponse(_model(root, file, wants.get("format") if wants.get("content") == "1" else None, wants))

    return Starlette(routes=[Route("/api/contents/{path:path}", contents, methods=["GET", "PUT", "DELETE"])])


def _written(body: dict[str, Any]) -> bytes:
    match body:
        case {"type": "notebook", "content": content}:
            return json.dumps(content, indent=1).encode()
        case {"format": "base64", "content": content}:
            return base64.b64decode(content)
        case {"content": content}:
            return str(content).encode()
    raise ValueError(body)


def _model(root: Path, file: Path, form: str | None, wants: Any = None) -> dict[str, Any]:
    status, wants = file.stat(), wants or {}
    model: dict[str, Any] = {
        "name": file.name,
        "path": str(file.relative_to(root)),
        "type": "directory" if file.is_dir() else "notebook" if file.suffix == ".ipynb" else "file",
        "writable": True,
        "size": None if file.is_dir() else status.st_size,
        "last_modified": datetime.fromtimestamp(status.st_mtime, UTC).isoformat(),
        "created": datetime.fromtimestamp(status.st_ctime, UTC).isoformat(),
        "content": None,
        "format": None,
    }
    if wants.get("content") != "1":
        return model
    if file.is_dir():
        return model | {"format": "json", "content": [_model(root, each, None) for each in sorted(file.iterdir())]}
    if wants.get("type") == "notebook":
        return model | {"format": "json", "content": json.loads(file.read_bytes())}
    if form == "base64":
        return model | {"type": "file", "format": form, "content": base64.encodebytes(file.read_bytes()).decode()}
    return model | {"type": "file", "format": "text", "content": file.read_text()}
