"""Servers of the machine that a command may, or may not, reach: HTTP, HTTPS, and a stub for names."""

from __future__ import annotations

import http.server
import os
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ADDRESS = "127.0.0.2"  # of the machine's loopback, but not what a cage calls its own


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: list[str]

    def do_GET(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        self.seen.append(
            f"{self.command} {self.headers['Host']}{self.path} {body.decode()}".strip()
        )
        answer = b"hello from the origin\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        return


class Origin:
    """A server on a port of its own; `seen` is what it was asked."""

    def __init__(self, certificate: str = "", address: str = ADDRESS) -> None:
        self.seen: list[str] = []
        handler = type("Handler", (_Handler,), {"seen": self.seen})
        self.server = http.server.ThreadingHTTPServer((address, 0), handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port: int = self.server.server_address[1]
        self.name = f"{address}:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(5)


@contextmanager
def origin(*, tls: bool = False) -> Iterator[Origin]:
    with tempfile.TemporaryDirectory() as folder:
        made = Origin(_certificate(folder) if tls else "")
        try:
            yield made
        finally:
            made.close()


def _certificate(folder: str) -> str:
    path = os.path.join(folder, "both.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-subj", "/CN=origin", "-days", "2", "-keyout", path, "-out", f"{path}.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    with open(path, "a", encoding="ascii") as file, open(f"{path}.crt", encoding="ascii") as more:
        file.write(more.read())
    return path


@contextmanager
def name_stub() -> Iterator[tuple[list[bytes], int]]:
    """Packets that reach a resolver of the machine, on every address; its port. On the usual port,
    too, where that is free."""
    seen: list[bytes] = []
    ends = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
    ends[0].bind(("0.0.0.0", 0))
    usual = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        usual.bind(("127.0.0.1", 53))
        ends.append(usual)
    except OSError:
        usual.close()
    over = threading.Event()

    def listen(end: socket.socket) -> None:
        end.settimeout(0.05)
        while not over.is_set():
            try:
                seen.append(end.recv(2000))
            except TimeoutError:
                continue

    threads = [threading.Thread(target=listen, args=(end,)) for end in ends]
    for thread in threads:
        thread.start()
    try:
        yield seen, ends[0].getsockname()[1]
    finally:
        over.set()
        for thread in threads:
            thread.join()
        for end in ends:
            end.close()
