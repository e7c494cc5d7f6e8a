"""The page in a browser: no errors, no request elsewhere, and what is done on it changes what is shown."""

import json
import time

import pandas as pd
import pytest

from swwl import Matern52, RobustGPRegressor
from tests.chromium import Chromium
from tests.serve.conftest import serving

WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
READY = (
    "document.querySelector('.answer .mean') && document.querySelector('#curves .main-svg') && "
    "document.querySelector('#map .main-svg') && document.getElementById('mesh-name').textContent.includes('nodes')"
)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def link(plates):
    """The address of a server in a thread."""
    with serving(plates) as port:
        yield f"http://127.0.0.1:{port}/"


@pytest.fixture(scope="module")
def browser():
    browser = Chromium(*WEBGL)
    yield browser
    browser.close()


def problems(browser, link):
    """What the console complains about, and requests to anybody else."""
    found = []
    for event in browser.events:
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            found.append(json.dumps(params)[:500])
        if event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            found.append(params["entry"]["text"])
        if event.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            found.append(json.dumps(params["args"])[:500])
        if event.get("method") == "Network.requestWillBeSent":
            url = params["request"]["url"]
            found += [] if url.startswith((link, "data:", "blob:")) else [url]
    return found


def pixels(browser):
    """A digest of the picture of the mesh."""
    return browser.ask("document.getElementById('canvas').toDataURL()")


def mean(browser):
    return browser.ask("document.querySelector('.answer .mean').textContent")


def open_page(browser, link, *size):
    browser.open("about:blank")
    browser.open(link, *size)
    browser.wait_for(READY)
    time.sleep(0.3)


def test_what_is_done_on_the_page_changes_what_is_shown(browser, link, plates):
    open_page(browser, link, 1400, 900)
    assert browser.ask("document.getElementById('error').hidden")
    assert "stretch" in browser.ask("document.getElementById('about').textContent")
    first, picture = mean(browser), pixels(browser)

    browser.ask(
        "(() => { const s = document.querySelector('#inputs input[type=range]'); s.value = 900;"
        " s.dispatchEvent(new Event('input')); })()"
    )
    browser.wait_for(f"document.querySelector('.answer .mean').textContent !== {first!r}")
    moved = mean(browser)

    browser.ask(
        "(() => { const c = document.getElementById('color'); c.value = 'file:shift';"
        " c.dispatchEvent(new Event('change')); })()"
    )
    browser.wait_for(f"document.getElementById('canvas').toDataURL() !== {picture!r}")
    assert browser.ask("document.getElementById('bar-name').textContent") == "shift in the file"
    colored = pixels(browser)

    text = json.dumps((plates / "data" / "meshes" / "017.vtu").read_bytes().decode("latin-1"))
    browser.ask(
        f"(() => {{ const bytes = Uint8Array.from({text}, (c) => c.charCodeAt(0)); const data = new DataTransfer();"
        " data.items.add(new File([bytes], 'mine.vtu')); document.getElementById('drop').dispatchEvent("
        "new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); })()"
    )
    browser.wait_for("document.getElementById('mesh-name').textContent.includes('mine.vtu · 60')")
    browser.wait_for(f"document.querySelector('.answer .mean').textContent !== {moved!r}")
    browser.wait_for(f"document.getElementById('canvas').toDataURL() !== {colored!r}")
    browser.wait_for("document.querySelectorAll('#tried tbody tr').length >= 1")
    assert problems(browser, link) == []


def test_late_answers_of_another_model_are_dropped(browser, plates, tmp_path):
    data = pd.read_csv(plates / "data" / "table.csv")
    other = RobustGPRegressor(Matern52("load"), calibrate=False).fit(data[["load"]], data["stretch"].rename("other"))
    other.save(tmp_path / "other.swwl")
    with serving(plates, others=[tmp_path / "other.swwl"]) as port:
        open_page(browser, f"http://127.0.0.1:{port}/", 1400, 900)
        browser.ask(
            "(() => { const get = window.fetch; window.late = 0; window.fetch = async (path, options) => {"
            " const found = await get(path, options); if ((options.body ?? '').includes('\"model\":\"model\"')) {"
            " await new Promise((go) => setTimeout(go, 800)); window.late += 1; } return found; };"
            " const n = document.querySelector('#inputs input[type=number]'); n.value = 1.5;"
            " n.dispatchEvent(new Event('input')); const m = document.getElementById('model'); m.value = 'other';"
            " m.dispatchEvent(new Event('change')); })()"
        )
        browser.wait_for("window.late > 0 && document.querySelector('.answer .name')?.textContent === 'other'")
        time.sleep(1)
        assert browser.ask("document.getElementById('error').hidden")
        assert browser.ask("document.querySelector('.answer .name').textContent") == "other"


def test_the_link_restores_what_was_seen(browser, link):
    open_page(browser, link, 1400, 900)
    browser.ask(
        "(() => { const c = document.getElementById('cases'); c.value = '9'; c.dispatchEvent(new Event('change'));"
        " const n = document.querySelector('#inputs input[type=number]'); n.value = 1.75;"
        " n.dispatchEvent(new Event('input')); })()"
    )
    browser.wait_for("document.getElementById('mesh-name').textContent.includes('009.vtu · 60')")
    time.sleep(0.5)
    shown, address = mean(browser), browser.ask("location.href")
    open_page(browser, address, 1400, 900)
    assert mean(browser) == shown
    assert browser.ask("document.querySelector('#inputs input[type=number]').value") == "1.75"
    assert browser.ask("document.getElementById('cases').value") == "9"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_light_and_dark(browser, link, scheme):
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    open_page(browser, link, 390, 844, True)
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
    assert browser.ask("document.documentElement.dataset.theme") == scheme
    assert problems(browser, link) == []


def test_all_that_is_operated_has_a_name_and_can_be_reached_by_keyboard(browser, link):
    open_page(browser, link, 1400, 900)
    browser.wait_for("!!document.querySelector('#tried tbody button')")
    assert browser.nameless() == []
    assert browser.ask("document.querySelectorAll('main').length === 1 && document.querySelectorAll('h1').length === 1")
    assert browser.ask(
        "[...document.querySelectorAll('[id]')].every((a, k, all) => all.every((b) => a === b || a.id !== b.id))"
    )
    first = mean(browser)
    browser.ask(
        "(() => { const n = document.querySelector('#inputs input[type=number]'); n.value = 2.5;"
        " n.dispatchEvent(new Event('input')); })()"
    )
    browser.wait_for(f"document.querySelector('.answer .mean').textContent !== {first!r}")
    browser.ask("document.querySelector('#tried tbody tr:last-child button').click()")
    browser.wait_for(f"document.querySelector('.answer .mean').textContent === {first!r}")


def test_a_wrong_file_is_explained_and_nothing_else_changes(browser, link):
    open_page(browser, link, 1400, 900)
    before = mean(browser)
    browser.ask(
        "(() => { const data = new DataTransfer(); data.items.add(new File(['no mesh'], 'a.vtu'));"
        " document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, cancelable: true})); })()"
    )
    browser.wait_for("!document.getElementById('error').hidden")
    assert "a.vtu" in browser.ask("document.getElementById('error').textContent")
    assert mean(browser) == before


def test_the_token_of_the_link_opens_the_page_and_leaves_the_address(browser, plates):
    with serving(plates, token="secret") as port:
        link = f"http://127.0.0.1:{port}/"
        browser.open("about:blank")
        browser.open(link, 1400, 900)
        browser.wait_for("document.getElementById('error').textContent.includes('token')")
        open_page(browser, f"{link}?token=secret", 1400, 900)
        assert "secret" not in browser.ask("location.href")


def test_numbers_of_another_case_never_stand_beside_a_mistake(browser, link):
    open_page(browser, link, 1400, 900)
    typed = (
        "(() => {{ const n = document.querySelector('#inputs input[type=number]'); n.value = '{}';"
        " n.dispatchEvent(new Event('input')); n.dispatchEvent(new Event('change')); }})()"
    )
    browser.ask(typed.format("1e20"))
    browser.wait_for("document.getElementById('answers').textContent.includes('no prediction')")
    assert "too far outside" in browser.ask("document.getElementById('error').textContent")
    browser.ask(typed.format("2"))
    browser.wait_for("document.querySelector('.answer .mean') && document.getElementById('error').hidden")
    browser.ask(typed.format("fast"))
    assert browser.ask("document.querySelector('#inputs input[type=number]').value") == "2"
    assert [one for one in problems(browser, link) if "status of 400" not in one] == []
