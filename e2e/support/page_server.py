"""Serves the stand-in page over https, with a certificate of its own."""

import datetime
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

COLAB_HOST = "colab.research.google.com"
TAB = Path(__file__).parent / "tab"


class _PageHandler(SimpleHTTPRequestHandler):
    """Answers any notebook address with the one page, and /tab/ with its scripts."""

    def translate_path(self, path: str) -> str:
        name = path.partition("?")[0].removeprefix("/tab/")
        return str(TAB / name) if path.startswith("/tab/") else str(TAB / "index.html")

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def guess_type(self, path: str) -> str:  # type: ignore[override]
        return "text/javascript" if path.endswith(".js") else "text/html"

    def log_message(self, format: str, *args: object) -> None:
        pass


class _PageServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that hangs up in the middle of a reply is not worth a traceback."""


@contextmanager
def page_server(directory: Path) -> Iterator[int]:
    """Serves until the block ends; yields the port on 127.0.0.1."""
    server = _PageServer(("127.0.0.1", 0), _PageHandler)
    server.socket = _tls(directory).wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def _tls(directory: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, COLAB_HOST)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(COLAB_HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = directory / "page.pem"
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, *private) + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
