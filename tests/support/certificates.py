"""Certificates of an authority that lives as long as a test."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def authority(folder: Path, name: str) -> Path:
    """Make a certificate authority; the path of its certificate, its key beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    certificate = folder / f"{name}.pem"
    _openssl(
        *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"),
        *("-keyout", certificate.with_suffix(".key"), "-out", certificate),
    )
    return certificate


def certificate(folder: Path, name: str, ca: Path) -> Path:
    """Have ``ca`` certify a server at 127.0.0.1; the certificate's path, its key beside it."""
    made, request, extensions = (folder / f"{name}{ending}" for ending in (".pem", ".csr", ".ext"))
    extensions.write_text("subjectAltName=IP:127.0.0.1")
    _openssl(
        *("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}"),
        *("-keyout", made.with_suffix(".key"), "-out", request),
    )
    _openssl(
        *("x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca.with_suffix(".key"), "-CAcreateserial"),
        *("-days", "2", "-extfile", extensions, "-out", made),
    )
    return made


def available() -> bool:
    """True where there is an openssl program."""
    return shutil.which("openssl") is not None


def _openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
