"""Two Jupyter servers in one process, as programs have them that embed Jupyter.

It is started with a token, and with a root folder and a port for each. Agents may only read at the first; the second is
set up for jupyter-mcp-server, and leaves little to each agent."""

import sys

from jupyter_server.serverapp import ServerApp
from traitlets.config import Config

SETTINGS = [
    {"CellbridgeApp": {"read_only": True}},
    {
        "JupyterMCPServerExtensionApp": {"document_url": "local", "runtime_url": "local", "document_id": "given.ipynb"},
        "CellbridgeApp": {"max_notebooks": 2, "max_runs": 1},
    },
]


def start(root: str, port: str, token: str, settings: dict) -> ServerApp:
    config = Config(settings)
    config.ServerApp.update({"ip": "127.0.0.1", "port": int(port), "open_browser": False, "root_dir": root})
    config.ServerApp.update({"allow_root": True, "port_retries": 0, "jpserver_extensions": {"cellbridge": True}})
    config.IdentityProvider.token = token
    server = ServerApp(config=config)
    server.initialize(argv=[])
    server.start_app()
    return server


def main() -> None:
    token, *places = sys.argv[1:]
    servers = [
        start(root, port, token, settings)
        for root, port, settings in zip(places[::2], places[1::2], SETTINGS, strict=True)
    ]
    servers[0].start_ioloop()


if __name__ == "__main__":
    main()
