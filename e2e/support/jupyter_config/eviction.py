"""An extension that puts everybody out of every room at `POST /evict`, as a server does that has to let rooms go."""

from jupyter_server.base.handlers import APIHandler
from tornado import web


class Eviction(APIHandler):
    @web.authenticated
    def post(self):
        [collaboration] = self.serverapp.extension_manager.extension_apps["jupyter_server_ydoc"]
        rooms = collaboration.ywebsocket_server.rooms.values()
        clients = [client for room in rooms for client in room.clients]
        for client in clients:
            client.close(1001, "the room ends")
        self.finish({"clients": len(clients)})


def _jupyter_server_extension_points():
    return [{"module": "eviction"}]


def _load_jupyter_server_extension(serverapp):
    serverapp.web_app.add_handlers(".*$", [(f"{serverapp.base_url}evict", Eviction)])
