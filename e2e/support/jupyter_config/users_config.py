"""A Jupyter server of several users. Each is known by a token, and may do what its name says.

`narrow-token` is a token of the user `worker` that may not see files of the server."""

from jupyter_server.auth import Authorizer, IdentityProvider, User

USERS = {
    "reader": {"read"},
    "writer": {"read", "write"},
    "worker": {"read", "write", "execute"},
    "colleague": {"read", "write", "execute"},
    "scribe": {"write"},
    "nobody": set(),
}


class Users(IdentityProvider):
    async def get_user(self, handler):
        token = self.get_token(handler) or ""
        name = "worker" if token == "narrow-token" else token.removesuffix("-token")
        if name not in USERS:
            return None
        handler._token_authenticated = True
        return User(name)


class Rights(Authorizer):
    def is_authorized(self, handler, user, action, resource):
        is_narrow = self.identity_provider.get_token(handler) == "narrow-token"
        if is_narrow and resource == "contents":
            return False
        return action in USERS[user.username]


c = get_config()  # noqa: F821
c.ServerApp.identity_provider_class = Users
c.ServerApp.authorizer_class = Rights
c.CellbridgeApp.ask = ["delete"]
