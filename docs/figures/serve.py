"""Take the picture of the demo's page: ``python docs/figures/serve.py [model.swwl]``.

Without a model it runs ``swwl demo`` first. It needs Chromium; the picture lands beside this file.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.chromium import Chromium  # noqa: E402

READY = (
    "document.querySelector('#curves .main-svg') && document.querySelector('#map .main-svg') && "
    "document.getElementById('mesh-name').textContent.includes('nodes') && !document.getElementById('bar').hidden"
)


def main(model: Path | None = None) -> None:
    """Serve the model, open the page in Chromium and save its first screen."""
    with tempfile.TemporaryDirectory() as folder:
        if model is None:
            subprocess.run([sys.executable, "-m", "swwl", "demo", f"{folder}/demo"], check=True)
            model = Path(folder) / "demo" / "model.swwl"
        command = [sys.executable, "-m", "swwl", "serve", str(model), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            link = next(found[0] for line in server.stdout if (found := re.findall(r"http://\S+", line)))
            browser = Chromium("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars")
            try:
                browser.open(link, 1280, 860)
                browser.wait_for(READY)
                browser.ask(
                    "(() => { const e = document.getElementById('each'); e.value = 'yield_stress';"
                    " e.dispatchEvent(new Event('change')); })()"
                )
                time.sleep(3)
                picture = Image.open(io.BytesIO(browser.screenshot()))
            finally:
                browser.close()
                server.kill()
    picture.convert("RGB").save(HERE / "serve.png", optimize=True)
    print(f"serve.png: {(HERE / 'serve.png').stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
