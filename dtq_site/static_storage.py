"""Static files under hashed names, cacheable for ever; under their own names until they have been collected."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no types
    """Whitenoise's manifest storage that does without a manifest before the first ``collectstatic``."""

    def stored_name(self, name: str) -> str:
        """The hashed name of ``name``; ``name`` itself when nothing was collected yet.

        Raises:
            ValueError: there is a manifest, and it does not list ``name``.
        """
        if not self.hashed_files:
            return name
        stored: str = super().stored_name(name)
        return stored
