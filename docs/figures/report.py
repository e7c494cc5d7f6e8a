"""Take the picture of the demo's report: ``python docs/figures/report.py [report.html]``.

Without a report it runs ``swwl demo`` first. It needs Chromium; the picture lands beside this file.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SIZE = (1000, 1840)


def main(report: Path | None = None) -> None:
    """Open the report in Chromium and save its first screens."""
    binary = next(filter(None, map(shutil.which, NAMES)), None)
    if binary is None:
        sys.exit("no Chromium is installed")
    with tempfile.TemporaryDirectory() as folder:
        if report is None:
            subprocess.run([sys.executable, "-m", "swwl", "demo", f"{folder}/demo"], check=True)
            report = Path(folder) / "demo" / "report.html"
        picture = Path(folder) / "report.png"
        flags = (
            "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
            "--disable-component-update --disable-sync --hide-scrollbars"
        ).split()
        flags += [f"--user-data-dir={folder}/profile", f"--window-size={SIZE[0]},{SIZE[1]}"]
        page = report.resolve().as_uri()
        subprocess.run([binary, *flags, f"--screenshot={picture}", page], check=True, capture_output=True)
        with Image.open(picture) as image:
            image.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE).save(
                HERE / "report.png", optimize=True
            )
    print(f"report.png: {(HERE / 'report.png').stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
