"""The server under load: 32 clients at once on this machine, a mesh of 3000 nodes, a model of 500 training meshes.

``SWWL_SERVE_SECONDS`` says for how long (60 by default). Clients are threads of another process, each with a connection
of its own that asks again as soon as it is answered. Then come 2000 questions of all kinds, 200 meshes sent at once and
a body that arrives a byte at a time.
"""

import http.client
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.measure import Line
from benchmarks.shapes import shell_mesh
from swwl import Matern52, Mesh, PrincipalSWWL, RobustGPRegressor

N_TRAIN, N_NODES, N_CLIENTS = 500, 3000, 32


def run() -> Iterator[Line]:
    """Fit a model, serve it, ask, and watch memory."""
    seconds = float(os.environ.get("SWWL_SERVE_SECONDS", "60"))
    rng = np.random.default_rng(0)
    meshes = [Mesh(*shell_mesh(N_NODES, seed)) for seed in range(N_TRAIN)]
    speed = rng.uniform(0.9, 1.1, N_TRAIN)
    height = np.array([np.ptp(mesh.points[:, 1]) for mesh in meshes])
    table = pd.DataFrame({"mesh": pd.Series(meshes, dtype=object), "speed": speed})
    kernel = PrincipalSWWL("mesh", n_components=16, n_jobs=2) * Matern52("speed")
    model = RobustGPRegressor(kernel, calibrate=False).fit(table, height * speed**2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model.save(folder / "model.swwl")
        meshes[0].write(folder / "new.vtu")
        command = [sys.executable, "-m", "swwl", "serve", folder / "model.swwl", "--port", "0", "--meshes", folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                link = next(line for line in process.stdout if "http://" in line)
                port = int(link.rpartition(":")[2].partition("/")[0])
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    pool.apply(_load, (port, 3, 4))  # all that is made once
                    before = _resident(process.pid)
                    times, failed = pool.apply(_load, (port, seconds, N_CLIENTS))
                    growth = _resident(process.pid) - before
                    pool.apply(_mixed, (port, 200))
                    before = _resident(process.pid)
                    broken = pool.apply(_mixed, (port, 2000))
                    mixed = _resident(process.pid) - before
                    taken, waiting, lost = pool.apply(_uploads, (port, folder / "new.vtu", 200))
                    cut = pool.apply(_slow, (port,))
                    _, late = pool.apply(_load, (port, 2, 4))
            finally:
                process.send_signal(signal.SIGINT)
    note = f"{len(times)} answers in {seconds:g} s"
    yield Line("serve: median answer to 32 clients at once", 1e3 * float(np.median(times)), 150, "ms", note)
    yield Line("  the slowest of 100", 1e3 * float(np.quantile(times, 0.99)), unit="ms")
    yield Line("  answers that failed", failed, 0, "")
    yield Line("  growth of memory", growth, 100, "MB")
    yield Line("  growth of memory over 2000 questions of all kinds", mixed, 50, "MB")
    yield Line("  of these, not answered as expected", broken, 0, "")
    yield Line("  of 200 meshes at once, neither taken nor told to wait", lost, 0, "", f"{taken} taken, {waiting} told")
    yield Line("  a body of a byte a second is cut off after", cut, 20, "s")
    yield Line("  answers that failed afterwards", late, 0, "")


def _load(port: int, seconds: float, n_clients: int) -> tuple[list[float], int]:
    """Ask from several threads for so many seconds; return the times of answers, and how many failed."""
    times: list[float] = []
    failed = [0]
    end = time.monotonic() + seconds

    def client(seed: int) -> None:
        rng = np.random.default_rng(seed)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while time.monotonic() < end:
            body = json.dumps({"mesh": "new.vtu", "inputs": {"speed": float(rng.uniform(0.9, 1.1))}})
            start = time.perf_counter()
            connection.request("POST", "/api/predict", body, {"content-type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            times.append(time.perf_counter() - start)
            failed[0] += answer.status != 200
        connection.close()

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(n_clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, failed[0]


def _mixed(port: int, n: int) -> int:
    """Ask n questions of all kinds one after the other, every fifth of them wrong; return how many went otherwise."""
    rng, connection = np.random.default_rng(0), http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    wrong = 0
    for number in range(n):
        inputs = {"speed": float(rng.uniform(0.9, 1.1))}
        path, question, status = [
            ("/api/predict", {"mesh": "new.vtu", "inputs": inputs}, 200),
            ("/api/curve", {"mesh": "new.vtu", "inputs": inputs, "sweep": {"name": "speed"}}, 200),
            ("/api/surface", {"mesh": "new.vtu"}, 200),
            ("/invocations", {"dataframe_records": [{"mesh": "new.vtu"} | inputs]}, 200),
            ("/api/predict", {"mesh": f"nosuch{number}.vtu", "inputs": inputs}, 404),
        ][number % 5]
        connection.request("POST", str(path), json.dumps(question), {"content-type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        wrong += answer.status != status
    connection.close()
    return wrong


def _uploads(port: int, path: Path, n: int) -> tuple[int, int, int]:
    """Send n different meshes at once; return how many were taken, told to wait with a time, and neither."""
    content, found = path.read_bytes(), [0, 0, 0]
    start = threading.Barrier(n)

    def client(number: int) -> None:
        # A comment behind the file makes each another one to the server.
        part = b'--x\r\nContent-Disposition: form-data; name="mesh"; filename="a.vtu"\r\n\r\n'
        body = part + content + f"<!-- {number} -->".encode() + b"\r\n--x--\r\n"
        start.wait()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            connection.request("POST", "/api/mesh", body, {"content-type": "multipart/form-data; boundary=x"})
            answer = connection.getresponse()
            answer.read()
            told = answer.status in (429, 503) and answer.getheader("retry-after") is not None
            found[0 if answer.status == 200 else 1 if told else 2] += 1
            connection.close()
        except OSError:
            found[2] += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found[0], found[1], found[2]


def _slow(port: int) -> float:
    """Send a body a byte a second; return after how many seconds the server ended it (60 at most)."""
    head = b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
    start = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=1) as client:
        client.sendall(head)
        while time.monotonic() - start < 60:
            try:
                client.sendall(b" ")
                client.recv(1)  # an answer, or nothing since it was closed
                break
            except TimeoutError:
                continue
            except OSError:
                break
    return time.monotonic() - start


def _resident(pid: int) -> float:
    """Return the memory that a process holds, in MB (nan where the system does not tell)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return float("nan")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024
