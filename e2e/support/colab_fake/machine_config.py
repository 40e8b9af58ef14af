"""How the Jupyter server of a machine differs from a person's own."""

c = get_config()  # type: ignore[name-defined]  # noqa: F821
c.ServerApp.disable_check_xsrf = True
c.Session.key = b""
