"""Who is not answered: other sites, other users, other names for this machine."""

import json
import socket
import time
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def running(studio, office):
    return studio(office)


def test_the_page_itself_is_answered(running):
    status, headers, body = running.ask("/view/open")
    assert status == 200
    assert "pipeline.yaml" in json.loads(body)["html"]
    assert headers["cache-control"] == "no-store"
    assert headers["content-security-policy"].startswith("default-src 'self'")


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": None},
        {"Authorization": "Studio "},
        {"Authorization": "Studio wrong"},
        {"Authorization": "Bearer {key}"},
        {"Authorization": ["Studio {key}", "Studio {key}"]},
        {"Authorization": None, "Cookie": "key={key}"},
        {"Host": None},
        {"Host": "localhost:{port}"},
        {"Host": "attacker.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:{port}.attacker.example"},
        {"Host": ["127.0.0.1:{port}", "attacker.example"]},
        {"Origin": "http://attacker.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
    ],
)
@pytest.mark.parametrize("path", ["/view/open", "/part/run/progress"])
def test_others_get_nothing(running, headers, path):
    port = running.address.split(":")[1]

    def filled(value):
        return value.format(key=running.key, port=port)

    sent = {
        name: None if value is None else filled(value) if isinstance(value, str) else [filled(each) for each in value]
        for name, value in headers.items()
    }
    status, _, body = running.ask(path, **sent)
    assert status in {400, 403}
    assert "pipeline.yaml" not in body


def test_a_key_in_the_address_opens_nothing(running):
    assert running.ask(f"/view/open?key={running.key}", Authorization=None)[0] == 403


def test_what_is_done_needs_an_origin(running):
    assert running.ask("/act/run/start", {}, Origin=None)[0] == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "HEAD"])
def test_other_methods_are_refused(running, method):
    assert running.ask("/view/open", method=method)[0] == 403


def test_a_websocket_is_not_opened(running):
    status, _, _ = running.ask(
        "/view/open", Authorization=None, Upgrade="websocket", Connection="Upgrade",
        Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", Sec_WebSocket_Version="13",
    )  # fmt: skip
    assert status in {400, 403}


def test_the_page_without_key_is_empty_and_cannot_be_framed(running):
    status, headers, body = running.ask("/", Authorization=None, Origin=None, Sec_Fetch_Site="cross-site",
                                        Sec_Fetch_Dest="document")  # fmt: skip
    assert status == 200
    assert "pipeline" not in body.replace('id="pipeline"', "").replace('href="/pipeline"', "")
    assert headers["x-frame-options"] == "DENY"
    assert running.ask("/", Authorization=None, Sec_Fetch_Site="cross-site", Sec_Fetch_Dest="iframe")[0] == 403


@pytest.mark.parametrize("path", ["/static/../command.py", "/static/%2e%2e/command.py", "/static/..%2fcommand.py"])
def test_only_what_is_static_is_served(running, path):
    status, _, body = running.ask(path, Authorization=None)
    assert status in {403, 404}
    assert "open_studio" not in body


@pytest.mark.parametrize("name", ["../secret.yaml", "/etc/passwd", "link.yaml", "below/../../secret.yaml", "", "a\0b"])
def test_nothing_outside_the_folder_is_opened(running, office, name):
    (office.parent / "secret.yaml").write_text("maskwright: 1\nsecret: yes\n", encoding="utf-8")
    (office / "link.yaml").unlink(missing_ok=True)
    (office / "link.yaml").symlink_to(office.parent / "secret.yaml")
    answer = running.act("/open/choose", pipeline=name)
    assert answer["wrong"]
    assert "secret: yes" not in running.view("/open")


def test_a_body_without_end_is_cut(running):
    status, _, _ = running.ask("/act/open/choose", {"pipeline": "x" * 5_000_000})
    assert status >= 400


def test_it_listens_on_loopback_only(running):
    port = f":{int(running.address.split(':')[1]):04X}"
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if line.split()[3] == "0A"]
    assert [each for each in listening if each.endswith(port)] == [f"0100007F{port}"]
    with pytest.raises(OSError), socket.create_connection(("::1", int(running.address.split(":")[1])), timeout=1):
        pass


def test_the_key_stands_in_no_list_of_processes(studio, office, tmp_path, monkeypatch):
    browser = tmp_path / "browser"
    seen = tmp_path / "seen"
    browser.write_text(
        f'#!/bin/sh\necho "$@" > {seen}.new\nstat -c %a "${{1#file://}}" >> {seen}.new\nmv {seen}.new {seen}\n'
    )
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    running = studio(office, "--browser")
    while not seen.exists():
        time.sleep(0.05)
    address, mode = seen.read_text().splitlines()
    assert address.startswith("file://")
    assert running.key not in address
    assert mode == "600"
    assert running.key.encode() not in (Path("/proc") / str(running.process.pid) / "cmdline").read_bytes()


def test_a_document_opens_once(running, office):
    running.act("/open/choose", pipeline="pipeline.yaml")
    (office / "report.html").write_text("<p>report</p><script>alert(1)</script>", encoding="utf-8")
    address = running.act("/report/window")["document"]
    status, headers, _ = running.ask(address, Authorization=None, Origin=None)
    assert status == 200
    assert headers["content-security-policy"].startswith("sandbox")
    assert "'none'" in headers["content-security-policy"]
    assert running.ask(address)[0] == 404
    assert running.ask("/document/guess", Authorization=None)[0] == 404
    assert running.ask(running.act("/report/window")["document"], Sec_Fetch_Site="cross-site")[0] == 403
