"""A Jupyter server on a system without Unix sockets, as Windows is to Tornado."""

import tornado.netutil

del tornado.netutil.bind_unix_socket
