"""The addresses of the server: which function answers what."""

from __future__ import annotations

import json
import shutil
import tempfile
import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import swwl
from swwl.errors import InputError, MeshWarning
from swwl.formatting import plain
from swwl.parallel import one_blas_thread
from swwl.serve.answers import fields, plaid
from swwl.serve.answers import mlflow as invocations
from swwl.serve.answers import numbers as answers
from swwl.serve.http.guard import Guard, RefusedError, Workshop, extra_headers, status_of
from swwl.serve.http.limits import Limits
from swwl.serve.http.openapi import describe
from swwl.serve.models.meshes import Known, MeshStore
from swwl.serve.models.served import Served
from swwl.serve.requests.cases import parse
from swwl.serve.requests.questions import Question, limits_facts, meshes_of, model_of, question_of, sent_mesh
from swwl.serve.requests.uploads import copy, hidden, private_file, shown_name

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
Answer = Callable[[Served, Mapping[str, Known], dict[str, Any]], Any]


class _Plain(JSONResponse):
    """JSON as other answers: NumPy's arrays as lists, and null for what is not a finite number."""

    def render(self, content: Any) -> bytes:
        return json.dumps(plain(content), allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


class Service:
    """What all answers share: models, meshes, threads and limits.

    Parameters
    ----------
    models : mapping of str to Served
        At least one; the first answers where none is named.
    store : MeshStore
    limits : Limits
    """

    def __init__(self, models: Mapping[str, Served], store: MeshStore, limits: Limits):
        self.models, self.store, self.limits = models, store, limits
        self.workshop = Workshop(limits)
        self.private = Path()

    def open(self) -> None:
        """Make the private folder for what clients send; before that, nothing is on disk."""
        self.private = Path(tempfile.mkdtemp(prefix="swwl-serve-"))

    def close(self) -> None:
        """Remove what clients sent, and take no more work."""
        self.workshop.close()
        if self.private != Path():
            shutil.rmtree(self.private, ignore_errors=True)

    async def health(self, request: Request) -> Response:
        """Say that the server is there."""
        return JSONResponse({"status": "ok", "swwl": swwl.__version__})

    async def list_models(self, request: Request) -> Response:
        """Name the models and what they predict."""
        found = [{"name": one.name, "targets": one.targets, "fields": one.fields} for one in self.models.values()]
        return _Plain({"models": found})

    async def model(self, request: Request) -> Response:
        """Describe a model: inputs with ranges, targets, scores, training meshes."""
        served = model_of(self.models, request.query_params.get("model"))
        facts = await self.workshop.run(lambda: served.facts)
        return _Plain(facts | {"limits": limits_facts(self.limits), "folder": self.store.folder is not None})

    async def meshes(self, request: Request) -> Response:
        """List mesh files under the folder of meshes."""
        return _Plain({"meshes": await self.workshop.run(self.store.listing)})

    async def mesh(self, request: Request) -> Response:
        """Keep meshes that are sent; return the references by which they can be asked about."""
        question = await question_of(request)
        try:
            if not question.files:
                raise InputError("A mesh file is wanted, as a part of a form.")
            found = await self.workshop.run(self._keep, question)
        finally:
            await question.close()
        return _Plain({"meshes": found})

    def _keep(self, question: Question) -> list[dict[str, Any]]:
        kept = []
        for file in question.files.values():
            reference, known = sent_mesh(self.store, file, self.private)
            kept.append({"mesh": reference, "name": known.name, "nodes": known.item.n_nodes})
        return kept

    def answering(self, answer: Answer) -> Callable[[Request], Any]:
        """Return the endpoint of a function of a model, meshes and everything else that was asked."""

        async def endpoint(request: Request) -> Response:
            question = await question_of(request)
            served = model_of(self.models, question.asked.get("model"))
            try:
                found = await self.workshop.run(self._answered, answer, served, question)
            finally:
                await question.close()
            return found if isinstance(found, Response) else _Plain(found)

        return endpoint

    def _answered(self, answer: Answer, served: Served, question: Question) -> Any:
        return answer(served, meshes_of(served, self.store, question, self.private), question.asked)

    def curve(self, served: Served, meshes: Mapping[str, Known], asked: dict[str, Any]) -> Any:
        """Predict along curves."""
        return answers.curve(served, meshes, asked, self.limits)

    def field(self, served: Served, meshes: Mapping[str, Known], asked: dict[str, Any]) -> Response:
        """Predict fields, as bytes or as a mesh file."""
        name, kind, content = fields.field(served, meshes, asked)
        headers = {"content-disposition": f'attachment; filename="{name}"'} if name else {}
        return Response(content, media_type=kind, headers=headers)

    def surface(self, served: Served, meshes: Mapping[str, Known], asked: dict[str, Any]) -> Response:
        """Return what a browser draws of a mesh."""
        return Response(fields.surface(served, meshes, asked), media_type="application/octet-stream")

    def sensitivity(self, served: Served, meshes: Mapping[str, Known], asked: dict[str, Any]) -> Response:
        """Return where moving the surface changes a prediction."""
        return Response(fields.sensitivity(served, meshes, asked), media_type="application/octet-stream")

    async def table(self, request: Request) -> Response:
        """Predict the rows of a CSV file, streamed back as they are done."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        question = Question({}) if kind == "text/csv" else await question_of(request)
        served = model_of(self.models, question.asked.get("model") or request.query_params.get("model"))
        try:
            body = await request.body() if kind == "text/csv" else None
            frame = await self.workshop.run(self._table, served, question, body)
            rows = iter(answers.table_lines(served, self.store, frame))
            first = await self.workshop.run(next, rows, "")
        finally:
            await question.close()

        async def lines() -> AsyncIterator[str]:
            part = first
            while part:
                yield part
                part = await self.workshop.run(next, rows, "")

        return StreamingResponse(lines(), media_type="text/csv")

    def _table(self, served: Served, question: Question, body: bytes | None) -> Any:
        ending = ".csv"
        with private_file(self.private, ending) as path:
            if body is not None:
                path.write_bytes(body)
            elif len(question.files) == 1:
                file = next(iter(question.files.values()))
                if not shown_name(file.filename).lower().endswith(".csv"):
                    raise InputError("A table is wanted as a CSV file.")
                copy(file.file, path)
            else:
                raise InputError("A table is wanted: a CSV file as a part of a form, or CSV as the body.")
            with hidden(path, "table.csv"):
                return answers.table_inputs(served, self.store, path, self.limits)

    async def invocations(self, request: Request) -> Response:
        """Predict in MLflow's form."""
        served = model_of(self.models, request.query_params.get("model"))
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("application/json", "text/csv"):
            raise RefusedError(415, f"JSON or CSV is wanted, not {kind[:60]!r}.")
        body = await request.body()

        def work() -> dict[str, Any]:
            return invocations.invoke(served, self.store, invocations.frame_of(kind, body), self.limits)

        return _Plain(await self.workshop.run(work))

    async def process(self, request: Request) -> Response:
        """Predict for a sample of PLAID."""
        body = await request.body()
        return _Plain(await self.workshop.run(self._process, body))

    def _process(self, body: bytes) -> dict[str, Any]:
        asked = parse(body)
        served = model_of(self.models, asked.get("model"))
        tree, scalars = plaid.sample_of(asked.get("sample"))
        meshes = {}
        for column in served.mesh_columns:
            mesh, digest = plaid.mesh_of_sample(tree)
            meshes[column] = self.store.add(mesh, "sample", digest)
        inputs = {one["name"]: scalars[one["name"]] for one in served.inputs if one["name"] in scalars}
        numbers, found = fields.for_sample(served, meshes, inputs)
        return {"samples": [plaid.with_predictions(asked["sample"], numbers, found)]}

    async def problem(self, request: Request) -> Response:
        """Describe the problem to PLAID's client."""
        served = next(iter(self.models.values()))
        inputs = [one["name"] for one in served.inputs]
        return JSONResponse(plaid.problem_definition(inputs, served.mesh_columns, served.targets, served.fields))

    async def infos(self, request: Request) -> Response:
        """Say who answers, to PLAID's client."""
        return JSONResponse({"legal": {"owner": "", "license": ""}, "data_production": {"type": "swwl"}})

    async def openapi(self, request: Request) -> Response:
        """Describe all addresses."""
        return JSONResponse(describe(self.limits))

    async def page(self, request: Request) -> Response:
        """Return a file of the page; plotly's script comes from its own package."""
        name = request.path_params.get("name", "index.html")
        if name == "plotly.js":
            content = (files("plotly") / "package_data" / "plotly.min.js").read_bytes()
            return Response(content, media_type="text/javascript", headers={"cache-control": "max-age=86400"})
        found = {one.name: one for one in (files("swwl.serve") / "page").iterdir()}
        ending = Path(name).suffix
        if name not in found or ending not in _TYPES:
            raise RefusedError(404, "There is no such file.")
        return Response(found[name].read_bytes(), media_type=_TYPES[ending], headers={"cache-control": "no-cache"})


def make_app(
    models: Mapping[str, Served],
    meshes: Path | None = None,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: Iterable[str] | None = None,
) -> Guard:
    """Return the application that serves models.

    Parameters
    ----------
    models : mapping of str to Served
        As :func:`swwl.serve.models.library.load_served` returns them.
    meshes : path, optional
        The folder in which clients may name meshes.
    limits : Limits, optional
    token : str, optional
        That clients must bring.
    hosts : iterable of str, optional
        Names by which the server may be addressed; all by default.
    """
    limits = limits or Limits()
    service = Service(models, MeshStore(meshes, limits), limits)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        # Threads that each set and put back the number of BLAS's own would get in each other's way, and so would those
        # that hush warnings: both are settled once.
        with one_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore", MeshWarning)
            service.open()
            try:
                yield
            finally:
                service.close()

    answering = service.answering
    routes = [
        Route("/", service.page),
        Route("/page/{name}", service.page),
        Route("/health", service.health, methods=["GET", "POST"]),
        Route("/ping", service.health),
        Route("/openapi.json", service.openapi),
        Route("/api/models", service.list_models),
        Route("/api/model", service.model),
        Route("/api/meshes", service.meshes),
        Route("/api/mesh", service.mesh, methods=["POST"]),
        Route("/api/predict", answering(answers.predict), methods=["POST"]),
        Route("/api/curve", answering(service.curve), methods=["POST"]),
        Route("/api/field", answering(service.field), methods=["POST"]),
        Route("/api/surface", answering(service.surface), methods=["POST"]),
        Route("/api/sensitivity", answering(service.sensitivity), methods=["POST"]),
        Route("/api/table", service.table, methods=["POST"]),
        Route("/invocations", service.invocations, methods=["POST"]),
        Route("/process", service.process, methods=["POST"]),
        Route("/problem_definition", service.problem, methods=["GET", "POST"]),
        Route("/infos", service.infos, methods=["GET", "POST"]),
    ]

    async def refused(request: Request, error: Exception) -> Response:
        status, text = status_of(error)
        return JSONResponse({"error": text}, status_code=status, headers=extra_headers(status))

    handlers: Any = {HTTPException: refused, InputError: refused, Exception: refused}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    return Guard(app, limits, token, hosts, service.close)
