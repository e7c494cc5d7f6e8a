"""``swwl serve``: models in a browser, and over HTTP."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from swwl.cli.console import Output, Quiet
from swwl.errors import InputError, MissingPackageError

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANY = ("", "0.0.0.0", "::", "0")


def serve(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help="Model files that swwl fit wrote, or folders of swwl loop.")
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")] = 8000,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on. Any but this machine's own needs the token of the link."),
    ] = "127.0.0.1",
    meshes: Annotated[
        Path | None,
        typer.Option(help="Folder in which meshes may be named by path; files elsewhere cannot be read."),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    max_mb: Annotated[float, typer.Option(help="Largest request, in megabytes.")] = 100,
    max_nodes: Annotated[int, typer.Option(help="Largest mesh, in nodes.")] = 2_000_000,
    seconds: Annotated[float, typer.Option(help="Longest computation, in seconds.")] = 120,
    as_json: Annotated[bool, typer.Option("--json", help="Print the link and the models as JSON, then serve.")] = False,
    quiet: Quiet = False,
) -> None:
    """Show models in a browser, and answer over HTTP.

    Drop a mesh on the page, move the operating conditions, and see predictions with intervals, curves and fields.

    Nothing leaves this machine. Ctrl-C ends it. The addresses are described in /openapi.json.

    \b
    Example:
      swwl serve swwl-demo/model.swwl --open
      swwl serve m.swwl --meshes d --port 8001
      swwl serve STUDY                         # the folder of swwl loop STUDY.toml; its page is /study
      curl -F mesh=@blade.vtu -F 'inputs={"speed": 17188, "pressure": 1.41}' localhost:8000/api/predict
    """
    try:
        from swwl.serve.http.app import make_app
        from swwl.serve.http.server import listen, run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "swwl":
            raise
        raise MissingPackageError(f"swwl serve needs {error.name}: pip install 'swwl[serve]'.") from None
    from swwl.serve.http.limits import Limits
    from swwl.serve.models import load_served

    out = Output(quiet, as_json)
    if min(max_mb, max_nodes, seconds) <= 0:
        raise InputError("--max-mb, --max-nodes and --seconds must be positive.")
    if meshes is not None and not meshes.is_dir():
        raise InputError(f"{meshes}: no such folder for --meshes.")
    limits = Limits(body=int(max_mb * 1e6), nodes=max_nodes, seconds=seconds)
    models = [model_of_study(path) if path.is_dir() else path for path in models]
    study = next((path.parent / "study.html" for path in models if (path.parent / "study.html").is_file()), None)
    served = load_served(models, meshes)
    local = host in _LOOPBACK
    token = None if local else secrets.token_urlsafe(24)
    app = make_app(served, meshes, limits=limits, token=token, hosts=_LOOPBACK if local else None, study=study)
    listening = listen(host, port)
    shown = own_address() if host in _ANY else f"[{host}]" if ":" in host else host
    link = f"http://{shown}:{listening.getsockname()[1]}/" + (f"?token={token}" if token else "")
    for one in served.values():
        out.say(f"{one.name}: predicts {', '.join(one.targets or one.fields)}")
    if study is not None:
        out.say(f"the study: {link.replace('/?', '/study?') if token else link + 'study'}")
    out.say(f"\nopen {link}\nCtrl-C ends it")
    out.result({"link": link, "models": {one.name: one.targets or one.fields for one in served.values()}})
    sys.stdout.flush()
    if open_page:
        threading.Timer(0.5, webbrowser.open, [link]).start()
    run(app, listening, limits)
    app.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # what still computes for a client that is gone need not be waited for


def own_address() -> str:
    """Return an address of this machine by which others reach it; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        try:
            found.connect(("192.0.2.1", 9))  # an address for documentation: it is only routed to
            return str(found.getsockname()[0])
        except OSError:
            return socket.gethostname()


def model_of_study(folder: Path) -> Path:
    """Return the model in the folder of a study."""
    if not (folder / "model.swwl").is_file():
        page = folder / "study.html"
        hint = f"there is no model yet; open {page} in the meantime" if page.is_file() else "model files are expected"
        raise InputError(f"{folder}: is a folder without a model.swwl: {hint}.")
    return folder / "model.swwl"
