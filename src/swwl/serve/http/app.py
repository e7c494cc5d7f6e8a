"""The addresses of the server: which function answers what, and the description of them all in OpenAPI's form."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
import warnings
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import BinaryIO, TypeVar

import pandas as pd
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import swwl
from swwl.errors import InputError, MeshWarning
from swwl.formatting import plain
from swwl.jobs.table import read_table
from swwl.parallel import one_blas_thread
from swwl.serve.answers import fields, numbers, plaid
from swwl.serve.http.described import BYTES, CSV, JSON, Address, Endpoint, describe, readable
from swwl.serve.http.guard import Guard, RefusedError, Workshop, extra_headers, status_of
from swwl.serve.http.limits import Limits
from swwl.serve.models.meshes import Known, MeshStore
from swwl.serve.models.served import Served
from swwl.serve.requests import questions as ask
from swwl.serve.requests.reading import (
    Received,
    content_type,
    copy,
    meshes_of,
    model_of,
    parse,
    private_file,
    received,
    sent_mesh,
    shown_name,
)

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_PACKED = "four bytes (the length of a header), a JSON header that says where arrays lie, and the arrays"
Asked = TypeVar("Asked", bound=ask.MeshQuestion)


class _Plain(JSONResponse):
    """JSON as other answers: NumPy's arrays as lists, and null for what is not a finite number."""

    def render(self, content: object) -> bytes:
        return json.dumps(plain(content), allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


class Service:
    """What all answers share: models, meshes, threads and limits.

    Parameters
    ----------
    models : mapping of str to Served
        At least one; the first answers where none is named.
    store : MeshStore
    limits : Limits
    study : path, optional
        The page of a study, which ``swwl loop`` writes again and again.
    """

    def __init__(self, models: Mapping[str, Served], store: MeshStore, limits: Limits, study: Path | None = None):
        self.models, self.store, self.limits, self._study = models, store, limits, study
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
        limits = self.limits
        known = {"bytes": limits.body, "nodes": limits.nodes, "rows": limits.rows, "seconds": limits.seconds}
        return _Plain(facts | {"limits": known, "folder": self.store.folder is not None})

    async def meshes(self, request: Request) -> Response:
        """List mesh files under the folder of meshes."""
        return _Plain({"meshes": await self.workshop.run(self.store.listing)})

    async def mesh(self, request: Request) -> Response:
        """Keep meshes that are sent; return the references by which they can be asked about."""
        sent = await received(request)
        try:
            if not sent.files:
                raise InputError("A mesh file is needed, as a part of a form.")
            found = await self.workshop.run(self._keep, sent)
        finally:
            await sent.close()
        return _Plain({"meshes": found})

    def _keep(self, sent: Received) -> list[dict[str, object]]:
        kept: list[dict[str, object]] = []
        for file in sent.files.values():
            reference, known = sent_mesh(self.store, file, self.private)
            kept.append({"mesh": reference, "name": known.name, "nodes": known.item.n_nodes})
        return kept

    def answering(self, kind: type[Asked], answer: Callable[[Served, Mapping[str, Known], Asked], object]) -> Endpoint:
        """Return the endpoint of a function of a model, meshes and a question of some kind."""

        def work(served: Served, question: Asked, sent: Received) -> object:
            return answer(served, meshes_of(served, self.store, question, sent.files, self.private), question)

        async def endpoint(request: Request) -> Response:
            sent = await received(request)
            try:
                question = ask.checked(kind, sent.asked, self.limits)
                served = model_of(self.models, question.model)
                found = await self.workshop.run(work, served, question, sent)
            finally:
                await sent.close()
            if isinstance(found, bytes):
                return Response(found, media_type=BYTES)
            return found if isinstance(found, Response) else _Plain(found)

        return endpoint

    def curve(self, served: Served, meshes: Mapping[str, Known], question: ask.CurveQuestion) -> object:
        """Predict along curves."""
        return numbers.curve(served, meshes, question, self.limits)

    def field(self, served: Served, meshes: Mapping[str, Known], question: ask.FieldQuestion) -> Response:
        """Predict fields, as bytes or as a mesh file."""
        name, content = fields.field(served, meshes, question)
        headers = {"content-disposition": f'attachment; filename="{name}"'} if name else {}
        return Response(content, media_type=BYTES, headers=headers)

    async def table(self, request: Request) -> Response:
        """Predict the rows of a CSV file, streamed back as they are done."""
        body = await request.body() if content_type(request) == CSV else None
        sent = Received({}) if body is not None else await received(request)
        try:
            name = sent.asked.get("model") or request.query_params.get("model")
            served = model_of(self.models, None if name is None else str(name))
            frame = await self.workshop.run(self._table, served, sent, body)
            rows = iter(numbers.table_lines(served, self.store, frame))
            first = await self.workshop.run(next, rows, "")
        finally:
            await sent.close()

        async def lines() -> AsyncIterator[str]:
            part = first
            while part:
                yield part
                part = await self.workshop.run(next, rows, "")

        return StreamingResponse(lines(), media_type=CSV)

    def _table(self, served: Served, sent: Received, body: bytes | None) -> pd.DataFrame:
        """Read and check a table that is the body of a request, or the only file of a form."""
        source: BinaryIO
        if body is not None:
            source = io.BytesIO(body)
        else:
            if len(sent.files) != 1:
                raise InputError("A table is needed: a CSV file as a part of a form, or CSV as the body.")
            file = next(iter(sent.files.values()))
            if not shown_name(file.filename).lower().endswith(".csv"):
                raise InputError("A table is expected as a CSV file.")
            source = file.file
        with private_file(self.private, "table.csv", ".csv") as path:
            copy(source, path)
            frame = read_table(path)
        numbers.table_inputs(served, self.store, frame, self.limits)
        return frame

    async def invocations(self, request: Request) -> Response:
        """Predict in MLflow's form."""
        served = model_of(self.models, request.query_params.get("model"))
        kind = content_type(request)
        if kind not in (JSON, CSV):
            raise RefusedError(415, f"JSON or CSV is expected, not {kind[:60]!r}.")
        body = await request.body()

        def work() -> dict[str, object]:
            frame = numbers.csv_frame(body) if kind == CSV else ask.checked(ask.Invocation, parse(body)).frame()
            return numbers.invoke(served, self.store, frame, self.limits)

        return _Plain(await self.workshop.run(work))

    async def process(self, request: Request) -> Response:
        """Predict for a sample of PLAID."""
        body = await request.body()
        return _Plain(await self.workshop.run(self._process, body))

    def _process(self, body: bytes) -> dict[str, object]:
        asked = ask.checked(ask.Process, parse(body))
        served = model_of(self.models, asked.model)
        tree, scalars = plaid.sample_of(asked.sample)
        meshes = {}
        for column in served.mesh_columns:
            mesh, digest = plaid.mesh_of_sample(tree)
            meshes[column] = self.store.add(mesh, "sample", digest)
        inputs = {one["name"]: scalars[one["name"]] for one in served.inputs if one["name"] in scalars}
        found, at_nodes = fields.for_sample(served, meshes, inputs)
        return {"samples": [plaid.with_predictions(asked.sample, found, at_nodes)]}

    async def problem(self, request: Request) -> Response:
        """Describe the problem to PLAID's client."""
        served = next(iter(self.models.values()))
        inputs = [one["name"] for one in served.inputs]
        return JSONResponse(plaid.problem_definition(inputs, served.mesh_columns, served.targets, served.fields))

    async def infos(self, request: Request) -> Response:
        """Say who answers, to PLAID's client."""
        return JSONResponse({"legal": {"owner": "", "license": ""}, "data_production": {"type": "swwl"}})

    async def openapi(self, request: Request) -> Response:
        """Describe all addresses to machines."""
        return JSONResponse(self._described(request))

    async def described(self, request: Request) -> Response:
        """Describe all addresses to people."""
        return HTMLResponse(readable(self._described(request), request.query_params.get("token", "")))

    def _described(self, request: Request) -> dict[str, object]:
        first = next(iter(self.models.values()))
        token = request.query_params.get("token", "")
        return describe(self.addresses(), self.limits, first, str(request.base_url).rstrip("/"), token)

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

    async def study(self, request: Request) -> Response:
        """Return the page of the study that the models belong to, as it is now."""
        if self._study is None or not self._study.is_file():
            raise RefusedError(404, "The page of the study is gone.")
        return Response(self._study.read_bytes(), media_type="text/html", headers={"cache-control": "no-cache"})

    def addresses(self) -> list[Address]:
        """Return all addresses."""
        told_study = "The study that swwl loop runs"
        post, both, form = ("POST",), ("GET", "POST"), ("multipart/form-data",)
        table = "Predictions beside the columns of a CSV file, whose meshes are paths under --meshes"
        return [
            Address("/", self.page),
            Address("/page/{name}", self.page),
            Address("/ping", self.health),
            Address("/openapi.json", self.openapi),
            Address("/http", self.described),
            Address("/health", self.health, "Whether the server is there", both),
            *([] if self._study is None else [Address("/study", self.study, told_study, answers="text/html")]),
            Address("/api/models", self.list_models, "Models by name"),
            Address("/api/model", self.model, "A model: inputs with ranges, targets, scores, importance, map, cases"),
            Address("/api/meshes", self.meshes, "Mesh files under --meshes"),
            Address("/api/mesh", self.mesh, "Keep meshes that are sent, to ask about them", post, None, form),
            self._asking("/api/predict", "One case: mean, std, interval, trust", ask.PredictQuestion, numbers.predict),
            self._asking("/api/curve", "Curves of one mesh with bands", ask.CurveQuestion, self.curve),
            self._asking("/api/field", f"Fields at all nodes: {_PACKED}; or a VTU file", ask.FieldQuestion, self.field),
            self._asking("/api/history", "How fields over time change at a node", ask.HistoryQuestion, fields.history),
            self._asking("/api/surface", f"What to draw of a mesh: {_PACKED}", ask.SurfaceQuestion, fields.surface),
            self._asking(
                "/api/sensitivity",
                f"Where moving nodes changes a prediction: {_PACKED}",
                ask.SensitivityQuestion,
                fields.sensitivity,
            ),
            Address("/api/table", self.table, table, post, None, (CSV, *form), CSV),
            Address("/invocations", self.invocations, "MLflow's form, for tables", post, ask.Invocation, (CSV,)),
            Address("/process", self.process, "PLAID's form: samples in, predictions with them out", post, ask.Process),
            Address("/problem_definition", self.problem, "PLAID's form: inputs and targets of the first model", both),
            Address("/infos", self.infos, "PLAID's form: who answers", both),
        ]

    def _asking(
        self, path: str, summary: str, kind: type[Asked], answer: Callable[[Served, Mapping[str, Known], Asked], object]
    ) -> Address:
        """Return the address of a question about meshes, which may be sent with it."""
        answers = BYTES if _PACKED in summary else JSON
        return Address(path, self.answering(kind, answer), summary, ("POST",), kind, ("multipart/form-data",), answers)


def make_app(
    models: Mapping[str, Served],
    meshes: Path | None = None,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: Iterable[str] | None = None,
    study: Path | None = None,
) -> Guard:
    """Return the application that serves models.

    Parameters
    ----------
    models : mapping of str to Served
        As :func:`swwl.serve.models.load_served` returns them.
    meshes : path, optional
        The folder in which clients may name meshes.
    limits : Limits, optional
    token : str, optional
        That clients must bring.
    hosts : iterable of str, optional
        Names by which the server may be addressed; all by default.
    study : path, optional
        The page of a study, for /study.
    """
    limits = limits or Limits()
    service = Service(models, MeshStore(meshes, limits), limits, study)

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

    async def refused(request: Request, error: Exception) -> Response:
        status, text = status_of(error)
        return JSONResponse({"error": text}, status_code=status, headers=extra_headers(status))

    handlers = {HTTPException: refused, InputError: refused, Exception: refused}
    routes = [Route(one.path, one.endpoint, methods=one.methods) for one in service.addresses()]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    return Guard(app, limits, token, hosts, service.close)
