"""Debian's nginx with the file that the documents hand out, in a process of the test's own."""

from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path

from tasks_app.conf import PROJECT_DIR
from tests.support.certificates import authority, certificate
from tests.support.until import until

PROGRAM = Path("/usr/sbin/nginx")
FILE = PROJECT_DIR / "docs" / "deploy" / "nginx.conf"
FRAME = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


class Nginx:
    """Serves ``upstream`` by TLS on ``tls_port`` and redirects from ``plain_port``, both of 127.0.0.1."""

    def __init__(self, folder: Path, upstream: int) -> None:
        self.authority = authority(folder, "authority")
        self.tls_port, self.plain_port = _free_ports()
        pem = certificate(folder, "site", self.authority)
        self._log = folder / "nginx.log"
        self._main = folder / "nginx.conf"
        self._main.write_text(FRAME.format(folder=folder))
        (folder / "site.conf").write_text(
            _adapted(
                {
                    "server 127.0.0.1:8000;": f"server 127.0.0.1:{upstream};",
                    "listen 80;": f"listen 127.0.0.1:{self.plain_port};",
                    "listen [::]:80;": "",
                    "listen 443 ssl": f"listen 127.0.0.1:{self.tls_port} ssl",
                    "listen [::]:443 ssl http2;": "",
                    "/etc/ssl/certs/queue.example.pem": str(pem),
                    "/etc/ssl/private/queue.example.key": str(pem.with_suffix(".key")),
                }
            )
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and return when it takes connections."""
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [PROGRAM, "-c", self._main], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        until(self._accepts, what="nginx")

    def stop(self) -> str:
        """Stop it; what it had to say."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(timeout=10)
        return self._log.read_text()

    def _accepts(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.tls_port)) == 0


def _adapted(changes: dict[str, str]) -> str:
    """The file with each of ``changes`` made, and made once."""
    text = FILE.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert text.count(old) == 1, f"{FILE} has {old!r} {text.count(old)} times"
        text = text.replace(old, new)
    return text


def _free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
