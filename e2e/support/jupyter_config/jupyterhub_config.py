# The Hub of the tests: anybody may log in, servers are processes of the user who runs the tests.
# What changes from run to run comes in environment variables.
import json
import os

c = get_config()  # noqa: F821

c.JupyterHub.bind_url = os.environ["E2E_HUB_URL"]
c.JupyterHub.hub_port = int(os.environ["E2E_HUB_PORT"])
c.JupyterHub.db_url = "sqlite://"
c.JupyterHub.cookie_secret = os.urandom(32)
c.ConfigurableHTTPProxy.api_url = os.environ["E2E_HUB_PROXY_API"]
c.ConfigurableHTTPProxy.auth_token = os.urandom(16).hex()
c.ConfigurableHTTPProxy.command = json.loads(os.environ["E2E_HUB_PROXY"])
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.allow_named_servers = True
# Servers end with the Hub, and are not looked after in between.
c.JupyterHub.cleanup_servers = True

c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = os.environ["E2E_HUB_HOMES"] + "/{username}"
# A server that still starts a kernel ignores the first signal.
c.LocalProcessSpawner.interrupt_timeout = 1
c.LocalProcessSpawner.term_timeout = 1
c.LocalProcessSpawner.kill_timeout = 2
# However busy the machine is.
c.Spawner.start_timeout = 180
c.Spawner.http_timeout = 180
# No person opens JupyterLab, with which each start takes twice as long.
without_lab = dict.fromkeys(["jupyter_lsp", "jupyterlab", "notebook", "notebook_shim"], False)
c.Spawner.args = ["--allow-root", f"--ServerApp.jpserver_extensions={without_lab}"]
c.Spawner.environment = {name: os.environ[name] for name in os.environ["E2E_HUB_KEPT"].split()}

c.JupyterHub.load_roles = [
    {"name": "tests", "services": ["tests"], "scopes": ["admin:users", "admin:servers", "tokens"]}
]
c.JupyterHub.services = [{"name": "tests", "api_token": os.environ["E2E_HUB_TOKEN"]}]
