"""Gives kernels ports that nothing takes before they listen there.

jupyter_client closes a port that it has chosen, and until the kernel listens, any connection of another test can get it. These
ports are below those that the system assigns, and each is claimed on the whole machine, as in `jupyter_server.free_port`.
"""

import random
import socket

from jupyter_client.connect import LocalPortCache

_claims: dict[int, socket.socket] = {}


def _find_available_port(self: LocalPortCache, ip: str) -> int:
    while True:
        port = random.randrange(10_000, 32_000)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0cellbridge-e2e-port-{port}")
            with socket.socket() as listener:
                listener.bind((ip, port))
        except OSError:
            claim.close()
            continue
        _claims[port] = claim
        return port


def _return_port(self: LocalPortCache, port: int) -> None:
    if claim := _claims.pop(port, None):
        claim.close()


LocalPortCache.find_available_port = _find_available_port
LocalPortCache.return_port = _return_port
