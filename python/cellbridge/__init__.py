"""Cellbridge inside Jupyter Server: agents reach its notebooks and kernels at `/mcp`."""


def _jupyter_server_extension_points():
    from .extension import CellbridgeApp

    return [{"module": "cellbridge", "app": CellbridgeApp}]
