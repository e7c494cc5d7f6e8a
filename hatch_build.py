"""What the build adds to the metadata: the README, with links that work on PyPI, where there are no other files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_HOME = "https://github.com/swwl-developers/swwl/blob/main/"
_RAW = "https://raw.githubusercontent.com/swwl-developers/swwl/main/"
_RELATIVE = r"\]\((?!https?://|#)([^)\s]+)\)"


class ReadmeHook(MetadataHookInterface):
    """Turn relative links and pictures of the README into addresses."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the long description."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = re.sub(rf"(!\[[^\]]*){_RELATIVE}", rf"\1]({_RAW}\2)", text)
        text = re.sub(_RELATIVE, rf"]({_HOME}\1)", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
