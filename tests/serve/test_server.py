"""A real server on a real socket: slow clients, absurd lengths, an interrupt."""

import json
import re
import signal
import socket
import time
import urllib.request

import pytest

from swwl.serve.http.limits import Limits
from tests.cli.conftest import start, swwl
from tests.serve.conftest import serving

GOOD = {"mesh": "data/meshes/003.vtu", "inputs": {"load": 2.0}}


@pytest.fixture(scope="module")
def port(plates):
    """The port of a server in a thread, which has little patience."""
    with serving(plates, Limits(body=1_000_000, read_seconds=0.5, head_seconds=0.5)) as found:
        yield found


def ask(port, question=GOOD):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/predict", json.dumps(question).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def talk(port, *parts, pause=0.0):
    """Send parts, and return what comes back until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        try:
            for part in parts:
                client.sendall(part)
                time.sleep(pause)
        except OSError:
            pass  # cut off in the middle
        found = b""
        try:
            while piece := client.recv(65536):
                found += piece
        except ConnectionResetError:
            pass
        return found


HEAD = b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize("head", [b"", b"P", b"POST /api/pre", HEAD, HEAD + b"X: " + b"a" * 1000])
def test_clients_that_never_finish_the_head_are_cut_off(port, head):
    assert talk(port, head) == b""
    assert ask(port)["model"] == "model"


def test_clients_that_send_the_body_too_slowly_are_cut_off(port):
    pieces = [b"{"] + [b" "] * 100
    found = talk(port, HEAD + b"Content-Length: 1000\r\n\r\n", *pieces, pause=0.02)
    assert found.startswith(b"HTTP/1.1 408")
    assert b"took too long" in found


def test_bodies_that_trickle_are_cut_off_long_before_their_time(plates):
    with serving(plates, Limits(body=1_000_000, read_seconds=600, head_seconds=0.3)) as port:
        found = talk(port, HEAD + b"Content-Length: 1000\r\n\r\n", *[b" "] * 100, pause=0.02)
        assert found.startswith(b"HTTP/1.1 408")
        whole = b" " * 990 + b"{}"
        assert b"inputs" in talk(port, HEAD + b"Connection: close\r\nContent-Length: 992\r\n\r\n", whole)


@pytest.mark.parametrize("path", [b"predict", b"mesh", b"table"])
def test_clients_that_hang_up_leave_no_traceback(port, path, capfd):
    head = HEAD.replace(b"predict", path)
    if path != b"predict":
        head = head.replace(b"application/json", b"multipart/form-data; boundary=x")
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(head + b"Content-Length: 1000\r\n\r\n{")
        time.sleep(0.1)
    assert ask(port)["model"] == "model"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("length", [b"10000000000", b"1" + b"0" * 40, b"-5", b"abc", b"5, 6"])
def test_absurd_lengths_are_refused_before_anything_is_read(port, length):
    found = talk(port, HEAD + b"Content-Length: " + length + b"\r\n\r\n")
    assert found.startswith((b"HTTP/1.1 413", b"HTTP/1.1 400"))
    assert ask(port)["model"] == "model"


@pytest.mark.parametrize(
    "noise",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / nonsense\r\n\r\n",
        b"\r\n\r\n\r\n",
        b"A" * 100_000,
        b"GET\r\n\r\n",
    ],
    ids=range(5),
)
def test_what_is_no_http_at_all(port, noise):
    assert talk(port, noise)[:12] in (b"", b"HTTP/1.1 400")
    assert ask(port)["model"] == "model"


def test_a_form_that_breaks_off(port):
    body = b'--x\r\nContent-Disposition: form-data; name="mesh"; filename="a.vtu"\r\n\r\nhalf'
    head = HEAD.replace(b"application/json", b"multipart/form-data; boundary=x")
    found = talk(port, head + b"Content-Length: 5000\r\n\r\n" + body)
    assert found.startswith(b"HTTP/1.1 408")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_killed_and_started_again_it_serves_the_same_and_an_interrupt_ends_it_with_zero(plates):
    answers, codes = [], []
    for end in (signal.SIGKILL, signal.SIGINT):
        process = start("serve", plates / "model.swwl", "--port", 0, "--meshes", plates)
        link = ""
        while not link:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            link = "".join(re.findall(r"http://\S+", line))
        number = int(re.findall(r":(\d+)/", link)[0])
        answers.append(ask(number))
        process.send_signal(end)
        codes.append(process.wait(timeout=30))
        process.stdout.close()
        process.stderr.close()
    assert answers[0] == answers[1]
    assert codes[1] == 0


def test_the_command_refuses_what_it_cannot_serve(plates, tmp_path):
    (tmp_path / "model.swwl").write_bytes((plates / "model.swwl").read_bytes())
    model = plates / "model.swwl"
    assert "a model named 'model'" in swwl("serve", model, tmp_path / "model.swwl", code=2).stderr
    assert "no such folder" in swwl("serve", model, "--meshes", tmp_path / "nothing", code=2).stderr
    assert "must be positive" in swwl("serve", model, "--seconds", 0, code=2).stderr
    assert "not a swwl model file" in swwl("serve", plates / "data" / "table.csv", code=2).stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "--port" in swwl("serve", model, "--port", taken.getsockname()[1], code=2).stderr


@pytest.mark.parametrize("port", ["99999", "-1"])
def test_ports_that_do_not_exist_are_refused(port):
    assert "--port" in swwl("serve", "model.swwl", "--port", port, code=2).stderr


@pytest.mark.slow
def test_a_server_for_others_prints_a_link_that_opens(plates):
    process = start("serve", plates / "model.swwl", "--port", 0, "--host", "0.0.0.0")
    try:
        link = ""
        while not link:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            link = "".join(re.findall(r"http://\S+", line))
        assert "//0.0.0.0" not in link and "token=" in link
        port, token = re.findall(r":(\d+)/\?token=(\S+)", link)[0]
        # Asked over this machine's own loop, whatever address the link has.
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/http?token={token}", timeout=60) as answer:
            assert f"Bearer {token}" in answer.read().decode()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        process.stdout.close()
        process.stderr.close()
