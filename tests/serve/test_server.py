"""`stepscope view` as a server: who may ask, and what no client can do to it."""

import concurrent.futures
import http.client
import os
import pathlib
import resource
import signal
import socket
import subprocess
import time

import pytest

from .conftest import Server, make_events, receive_all, start, stop, write_trace

PAGE = ["/", "/index.html", "/app.js", "/app.css"]


@pytest.mark.parametrize("path", PAGE)
def test_page_needs_no_token_and_allows_nothing_but_itself(server: Server, path: str) -> None:
    answer = server.ask(path, token=None)
    assert answer.status == 200
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize("path", ["runs", "tracks", "tiles?want=0.0", "table?view=tree", "nothing"])
def test_api_is_refused_without_the_token(server: Server, path: str) -> None:
    wrong = server.token[:-1] + ("0" if server.token[-1] != "0" else "1")
    for token in (None, "x", wrong, server.token + "0", server.token[:-1], server.token.upper()):
        if token == server.token:
            continue
        answer = server.ask(f"/api/{path}", token=token)
        assert answer.status == 403
        assert "token" in answer.json()["error"]


def test_token_counts_as_header_alone(server: Server) -> None:
    answer = server.ask(
        f"/api/runs?token={server.token}&X-Stepscope-Token={server.token}",
        token=None,
        headers={"Cookie": f"token={server.token}; X-Stepscope-Token={server.token}"},
    )
    assert answer.status == 403


def test_two_servers_have_two_tokens(
    server: Server, stepscope_bin: pathlib.Path, traces: list[pathlib.Path]
) -> None:
    other = start(stepscope_bin, traces[0])
    assert other.token != server.token
    assert server.ask("/api/runs", token=other.token).status == 403
    assert stop(other) == 0


@pytest.mark.parametrize("path", ["/", "/api/runs"])
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}", ""]
)
def test_foreign_host_is_refused(server: Server, path: str, host: str) -> None:
    answer = server.ask(path, headers={"Host": host.format(port=server.port)})
    assert answer.status == 403


def test_missing_or_second_host_is_refused(server: Server) -> None:
    token = f"X-Stepscope-Token: {server.token}\r\n"
    own = f"Host: 127.0.0.1:{server.port}\r\n"
    for hosts in ("", own + "Host: evil.example\r\n", "Host: evil.example\r\n" + own):
        answer = server.send_raw(f"GET /api/runs HTTP/1.1\r\n{hosts}{token}\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 403 ")


def test_localhost_is_the_same_host(server: Server) -> None:
    assert server.ask("/api/runs", headers={"Host": f"localhost:{server.port}"}).status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "http://127.0.0.1:{port}.evil.example",
        "http://evil.example/http://127.0.0.1:{port}",
    ],
)
def test_foreign_origin_is_refused(server: Server, origin: str) -> None:
    headers = {"Origin": origin.format(port=server.port)}
    assert server.ask("/api/runs", headers=headers).status == 403
    assert server.ask("/api/sql", method="POST", body="SELECT 1", headers=headers).status == 403


def test_own_origin_is_served(server: Server) -> None:
    for host in ("127.0.0.1", "localhost"):
        headers = {"Origin": f"http://{host}:{server.port}"}
        assert server.ask("/api/runs", headers=headers).status == 200


def test_only_loopback_is_listened_on(server: Server) -> None:
    listening = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    listening += pathlib.Path("/proc/net/tcp6").read_text().splitlines()[1:]
    port = f":{server.port:04X}"
    addresses = [row.split()[1] for row in listening if row.split()[3] == "0A"]
    assert [at for at in addresses if at.endswith(port)] == [f"0100007F{port}"]


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/..%2f..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/app.js/../../../etc/passwd",
        "//etc/passwd",
        "/etc/passwd",
        "/app.js%00.html",
        "/api/../app.js",
        "/api/%2e%2e/%2e%2e/etc/passwd",
        "/.git/config",
        "/index.html~",
        "/%",
        "/%zz",
        "/%c0%ae%c0%ae/",
        "/APP.JS",
        "/api",
        "/api/",
        "/api/runs/",
        "/api//runs",
        "/api/runs%00",
    ],
)
def test_no_other_path_leads_anywhere(server: Server, path: str) -> None:
    answer = server.ask(path)
    assert answer.status == 404
    assert set(answer.json()) == {"error"}
    assert server.ask(path, token=None).status in (403, 404)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "X"])
def test_other_methods_are_refused(server: Server, method: str) -> None:
    answer = server.send_raw(
        f"{method} /api/runs HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"X-Stepscope-Token: {server.token}\r\nContent-Length: 0\r\n\r\n".encode()
    )
    assert answer.split(b" ")[1] in (b"400", b"405")


def test_body_of_a_refused_request_is_not_the_next_request(server: Server) -> None:
    hidden = f"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n" + (
        f"X-Stepscope-Token: {server.token}\r\n\r\n"
    )
    for method in ("GET", "POST"):
        answer = server.send_raw(
            f"{method} /api/runs HTTP/1.1\r\nHost: evil.example\r\n"
            f"Content-Length: {len(hidden)}\r\n\r\n{hidden}".encode()
        )
        assert answer.count(b"HTTP/1.1") == 1
        assert b'"runs"' not in answer


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\r\n",
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / \r\n\r\n",
        b"\x00" * 1000,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nHost\r\n\r\n",
        b"GET / HTTP/1.1\r\n: x\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\n\r\n",
        b"POST /api/sql HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/sql HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /api/sql HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        b"POST /api/sql HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        b"GET " + b"/a" * 20000,
        b"GET / HTTP/1.1\r\nRange: bytes=" + b"0-1," * 2000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20000 + b"\r\n",
    ],
)
def test_broken_requests_are_refused(server: Server, data: bytes) -> None:
    with server.connect() as client:
        try:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        answer = receive_all(client)
    assert answer == b"" or int(answer.split(b" ")[1]) >= 400
    assert server.is_well()


def with_right(server: Server, start_line: str, rest: str) -> bytes:
    return (
        f"{start_line} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"X-Stepscope-Token: {server.token}\r\n{rest}"
    ).encode()


def test_broken_bodies_are_refused_with_the_token_too(server: Server) -> None:
    for rest in (
        "Content-Length: 99999999999999999999\r\n\r\nSELECT 1",
        f"Content-Length: {1 << 20}\r\n\r\n" + "x" * (1 << 20),
        "Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\nSELECT 1",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        "Content-Type: multipart/form-data; boundary=\r\nContent-Length: 4\r\n\r\n----",
        "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 9\r\n\r\n--x\r\n\r\n\r\n",
        "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
        "Content-Encoding: br\r\nContent-Length: 4\r\n\r\nabcd",
    ):
        answer = server.send_raw(with_right(server, "POST /api/sql", rest))
        assert answer == b"" or int(answer.split(b" ")[1]) >= 400
    assert server.is_well()


def test_ranges_are_not_a_way_to_ask_for_more(server: Server) -> None:
    for ranges in ("0-," * 1900 + "0-", "0-0", "5-1", "-"):
        answer = server.ask("/app.js", headers={"Range": f"bytes={ranges}"})
        assert len(answer.body) <= len(server.ask("/app.js").body) + 1000
        assert answer.status in (200, 400, 416)


def test_header_of_64_kb_is_too_much(server: Server) -> None:
    lines = "".join(f"X-{i}: {'y' * 1000}\r\n" for i in range(80))
    answer = server.send_raw(with_right(server, "GET /api/runs", lines + "\r\n"))
    assert not answer.startswith(b"HTTP/1.1 200")
    assert server.is_well()


def test_idle_clients_do_not_stall_another(server: Server) -> None:
    idle = [server.connect() for _ in range(8)]
    half = [server.connect() for _ in range(8)]
    for client in half:
        client.sendall(b"GET /api/runs HTTP/1.1\r\nHo")
    begin = time.monotonic()
    assert server.api("runs").status == 200
    assert time.monotonic() - begin < 1
    for client in idle + half:
        client.close()


def test_idle_clients_are_sent_away(server: Server) -> None:
    with server.connect() as client:
        begin = time.monotonic()
        assert receive_all(client) == b""
        assert time.monotonic() - begin < 4


def test_client_that_sends_a_byte_now_and_then_is_sent_away(server: Server) -> None:
    with server.connect() as client:
        begin = time.monotonic()
        client.settimeout(0.2)
        client.sendall(b"GET /")
        is_closed = False
        while not is_closed and time.monotonic() - begin < 15:
            try:
                client.sendall(b"a")
                is_closed = client.recv(1000) == b""
            except TimeoutError:
                pass
            except OSError:
                is_closed = True
        assert is_closed
        assert time.monotonic() - begin < 9


def test_more_idle_clients_than_are_served_only_delay(server: Server) -> None:
    clients = [server.connect() for _ in range(150)]
    begin = time.monotonic()
    assert server.api("runs").status == 200
    assert time.monotonic() - begin < 10
    for client in clients:
        client.close()


def test_client_that_does_not_read_its_answer_is_left(server: Server) -> None:
    with server.connect() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = with_right(server, "GET /api/table?view=tree&limit=0", "\r\n")
        client.sendall(request * 50)
        assert server.is_well()


def test_ten_thousand_requests_over_many_connections(server: Server) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    headers = {"X-Stepscope-Token": server.token}

    def ask_often(count: int) -> int:
        served = 0
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        while served < count:
            try:
                connection.request("GET", "/api/labels?ids=0,1", headers=headers)
                response = connection.getresponse()
                response.read()
                assert response.status == 200
                served += 1
            except (ConnectionError, http.client.RemoteDisconnected):
                connection.close()  # it was idle while others waited
        connection.close()
        return served

    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        assert sum(pool.map(ask_often, [50] * 200)) == 10_000
    assert (soft, hard) == resource.getrlimit(resource.RLIMIT_NOFILE)
    assert server.is_well()


def test_json_is_compressed_where_asked_for(server: Server) -> None:
    path = "/api/search?q=aten"
    plain = server.ask(path)
    packed = server.ask(path, headers={"Accept-Encoding": "gzip, deflate, br"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert int(packed.headers["Content-Length"]) < int(plain.headers["Content-Length"])
    assert packed.body == plain.body


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


def test_client_that_goes_away_cancels_its_request(server: Server) -> None:
    rest = f"Content-Length: {len(ENDLESS)}\r\n\r\n{ENDLESS}"
    with server.connect() as client:
        client.sendall(with_right(server, "POST /api/sql", rest))
        time.sleep(1)
        assert cpu_seconds(server.process) > 0
    time.sleep(0.5)
    before = cpu_seconds(server.process)
    time.sleep(1)
    assert cpu_seconds(server.process) - before < 0.3


def test_ctrl_c_ends_it_also_in_the_middle_of_work(
    stepscope_bin: pathlib.Path, traces: list[pathlib.Path]
) -> None:
    server = start(stepscope_bin, traces[0])
    with server.connect() as client, server.connect():
        rest = f"Content-Length: {len(ENDLESS)}\r\n\r\n{ENDLESS}"
        client.sendall(with_right(server, "POST /api/sql", rest))
        time.sleep(0.5)
        begin = time.monotonic()
        assert stop(server) == 0
        assert time.monotonic() - begin < 3
    with pytest.raises(OSError, match="refused"):
        server.connect()


def test_port_in_use_is_told(
    server: Server, stepscope_bin: pathlib.Path, traces: list[pathlib.Path]
) -> None:
    result = subprocess.run(
        [stepscope_bin, "view", traces[0], "--no-browser", "--port", str(server.port)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == f"stepscope: port {server.port}: Address already in use\n"


def test_port_can_be_chosen(stepscope_bin: pathlib.Path, traces: list[pathlib.Path]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = start(stepscope_bin, traces[0], "--port", port)
    assert server.port == port
    assert stop(server) == 0


def test_it_says_why_nothing_opened(stepscope_bin: pathlib.Path, tmp_path: pathlib.Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(b"\x89PNG\r\n\x1a\n")
    result = subprocess.run(
        [stepscope_bin, "view", bad, tmp_path / "missing", "--no-browser"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 1
    assert result.stdout == ""
    assert "bad.json: not a trace in a format that stepscope knows" in result.stderr
    assert "missing: no such file" in result.stderr


def test_browser_is_opened_with_the_address(
    stepscope_bin: pathlib.Path, traces: list[pathlib.Path], tmp_path: pathlib.Path
) -> None:
    opener = tmp_path / "xdg-open"
    opener.write_text(
        f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/part\nmv {tmp_path}/part {tmp_path}/url\n'
    )
    opener.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DISPLAY": ":77"}
    with subprocess.Popen(
        [stepscope_bin, "view", traces[0]], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        until = time.monotonic() + 20
        while not (tmp_path / "url").exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert (tmp_path / "url").read_text() == url


def test_folder_of_traces_is_several_runs(
    stepscope_bin: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    for rank in range(3):
        write_trace(tmp_path / f"rank{rank}.json", make_events(3))
    (tmp_path / "notes.json").write_text("{}")
    server = start(stepscope_bin, tmp_path)
    runs = server.api("runs").json()["runs"]
    assert [run["name"] for run in runs if run["error"] is None] == [
        "rank0.json",
        "rank1.json",
        "rank2.json",
    ]
    assert [run["name"] for run in runs if run["error"]] == ["notes.json"]
    assert stop(server) == 0
