"""A Jupyter server of several users. Each is known by a token, and may do what its name says."""

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
        name = (self.get_token(handler) or "").removesuffix("-token")
        if name not in USERS:
            return None
        handler._token_authenticated = True
        return User(name)


class Rights(Authorizer):
    def is_authorized(self, handler, user, action, resource):
        return action in USERS[user.username]


c = get_config()  # noqa: F821
c.ServerApp.identity_provider_class = Users
c.ServerApp.authorizer_class = Rights
c.CellbridgeApp.ask = ["delete"]
