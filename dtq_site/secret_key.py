"""Django's secret key: made once per data directory, so that a fresh clone needs no set-up."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def secret_key(data_dir: Path) -> str:
    """The key in ``data_dir``, created (readable by its owner only) when there is none yet."""
    path = data_dir / "django-secret-key"
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Written aside and linked into place: of two processes that start at once one wins, and neither reads half a key.
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(50))
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # the other process won; its key counts
    finally:
        draft.unlink()
    return path.read_text(encoding="ascii")
