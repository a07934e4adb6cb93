"""Servers that answer in ways that are allowed, or that are seen: bale reads what can be read, and never takes a part for all."""
import email.utils
import functools
import json
import pathlib
import shutil
import socketserver
import threading
import time

import pytest
from conftest import shards
from remote_support import FaultServer, Hub, RemoteBale, foreign_tars, packed, read_counts, remote, serve, warnings_of  # noqa: F401

FAILURE, USAGE, DAMAGE, TRY_AGAIN = 1, 2, 3, 5


def samples_of(remote, spec):
    return read_counts(remote, spec)[0]


@pytest.fixture(scope="module")
def tars(bale, tmp_path_factory):
    return foreign_tars(bale, tmp_path_factory.mktemp("tars"), 3, 4)


# --- listings in parts

def listing(keys, token=""):
    more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>" if token else (
        "<IsTruncated>false</IsTruncated>")
    objects = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>" for key in keys)
    return 200, {"Content-Type": "application/xml"}, f"<ListBucketResult>{more}{objects}</ListBucketResult>".encode()


def s3_of(server, tokens):
    """A bucket whose listing has a part for each token that it gives out: the n-th request gets the n-th answer, then the last."""
    asked = []

    def route(request):
        if "list-type=2" not in request.query:
            return None
        asked.append(request)
        token = tokens[min(len(asked), len(tokens)) - 1]
        return listing([f"x/x-{min(len(asked), 3) - 1:06}.tar"], token)
    server.router = route
    return {"AWS_ENDPOINT_URL": server.url, "AWS_NO_SIGN_REQUEST": "yes", "AWS_REGION": "us-east-1"}, asked


@pytest.mark.parametrize("tokens", [["t", "t"], ["t", "u", "t"], ["a", "b", "c", "d", "e", "f"]],
                         ids=["the same", "an earlier one", "always new ones, the same names"])
@pytest.mark.parametrize("words", [["ls"], ["inspect"], ["verify"], ["pack", "--source", "folder"]], ids=lambda words: words[0])
def test_an_s3_listing_that_repeats_itself_is_not_complete(remote, serve, tars, tmp_path, tokens, words):  # noqa: F811
    server = serve(tars)
    remote.env.update(s3_of(server, tokens)[0])
    if words[0] == "pack":
        result = remote(*words[:1], tars.parent / "source", "s3://bucket/x")  # the destination is listed
    else:
        result = remote(*words, "s3://bucket/x")
    assert result.code == FAILURE and "repeats a part of its listing" in result.error_line(), result


def test_an_s3_listing_in_parts(remote, serve, tars, tmp_path):  # noqa: F811
    server = serve(tars)
    env, asked = s3_of(server, ["t", "u", ""])
    listed = server.router
    server.router = lambda request: listed(request) or "/" + request.path.split("/")[-1]
    remote.env.update(env)
    assert read_counts(remote, "s3://bucket/x")[0] == 12
    assert [("continuation-token=" + token in request.query) for token, request in zip(["", "t", "u"], asked)][1:] == [True, True]


@pytest.mark.parametrize("target", ["{hub}{path}?cursor=0", "{hub}{path}", "http://localhost:1{path}?cursor=1", "//elsewhere{path}"])
def test_a_hub_listing_that_leads_back_or_elsewhere(remote, tars, target):  # noqa: F811
    hub = Hub(tars)
    try:
        tree = hub._tree

        def misled(request, folder):
            status, headers, body = tree(request, folder)
            return status, {**headers, "Link": f"<{target.format(hub=hub.hub.url, path=request.path)}>; rel=\"next\""}, body
        hub._tree = misled
        remote.env.update(hub.env)
        result = remote("ls", f"hf://datasets/{hub.OWNER}/{hub.NAME}")
        assert result.code == FAILURE, result
        line = result.error_line()
        assert "repeats a part" in line or "continues at another host" in line, line
        assert hub.TOKEN not in result.err
    finally:
        hub.close()


def test_a_hub_listing_with_relative_links(remote, tars):  # noqa: F811
    hub = Hub(tars)
    try:
        hub.PAGE, tree = 2, hub._tree

        def relative(request, folder):
            status, headers, body = tree(request, folder)
            return status, {name: value.replace(hub.hub.url, "") for name, value in headers.items()}, body
        hub._tree = relative
        remote.env.update(hub.env)
        assert read_counts(remote, f"hf://datasets/{hub.OWNER}/{hub.NAME}")[0] == 12
    finally:
        hub.close()


# --- names

def s3_path(request):
    return request.path.removeprefix("/bucket") if request.path.startswith("/bucket/") else None


@pytest.mark.parametrize("revision", ["refs/convert/parquet", "refs/pr/1", "refs%2Fconvert%2Fparquet", "some%2Fbranch"])
def test_revisions_with_a_slash(remote, tars, revision):  # noqa: F811
    hub = Hub(tars)
    try:
        remote.env.update(hub.env)
        assert read_counts(remote, f"hf://datasets/{hub.OWNER}/{hub.NAME}@{revision}/x-000001.tar")[0] == 4
    finally:
        hub.close()


@pytest.mark.parametrize("query", ["?sv=2024&sp=rl&sig=s%2Fe/cret", "?token=a*b"])
def test_a_directory_with_a_query(remote, serve, packed, query):  # noqa: F811
    """A container's SAS, or a token: all files of the directory have the same."""
    folder = packed("tar")
    server = serve(folder)
    server.router = lambda request: None if request.query == query[1:] else (403, {}, b"")
    first = shards(folder)[0].name
    counts = functools.partial(samples_of, remote)
    assert counts(f"{server.url}{query}") == counts(f"{server.url}/manifest.json{query}") == 40
    assert counts(f"{server.url}/{first}{query}") == 8
    assert counts(f"{server.url}/{first[:-5]}{{0..1}}.tar{query}") == 16
    assert counts(f"{server.url}/{first[:-5]}0.tar{query}::{server.url}/{first[:-5]}1.tar{query}") == 16
    assert {request.status for request in server.log} <= {200, 206, 304, 404}


@pytest.mark.parametrize("kind", ["s3", "hf", "file"])
def test_brackets_and_question_marks_in_names(bale, remote, serve, packed, tars, tmp_path, kind):  # noqa: F811
    """A file or directory of exactly this name, or a pattern: as of local names."""
    root = tmp_path / "www"
    shutil.copytree(packed("tar"), root / "a[1]")
    (root / "b[2]").mkdir()
    for number in range(3):
        shutil.copy(tars / f"x-{number:06}.tar", root / "b[2]" / f"x[{number}].tar")
    hub = Hub(root)
    server = serve(root)
    server.router = s3_path
    base = {"s3": "s3://bucket", "hf": f"hf://datasets/{hub.OWNER}/{hub.NAME}", "file": f"file://{root}"}[kind]
    remote.env.update({**hub.env, "AWS_ENDPOINT_URL": server.url, "AWS_NO_SIGN_REQUEST": "yes", "AWS_REGION": "us-east-1"})
    try:
        counts = functools.partial(samples_of, remote)
        assert counts(f"{base}/a[1]") == counts(f"{base}/a[1]/manifest.json") == 40
        assert counts(f"{base}/b[2]/x[1].tar") == counts(f"{base}/b[2]/x[{{1..1}}].tar") == 4
        assert counts(f"{base}/b[2]/x[0].tar::{base}/b[2]/x[2].tar") == 8 and counts(f"{base}/a[1]::{base}/a[1]") == 80
        if kind != "s3":  # this server has no listings
            assert counts(f"{base}/b[2]/x[[]*.tar") == 12 and counts(f"{base}/b[2]/x?[0-1]?.tar") == 8
    finally:
        hub.close()


def test_shards_next_to_a_cache(bale, remote, serve, tars):  # noqa: F811
    """Only what is written, or packed as files, may not hold the cache."""
    remote.env["BALE_CACHE_DIR"] = str(tars / "cache")
    try:
        remote.ok("read", f"{serve(tars).url}/x-000000.tar")
        for names in ("x-000000.tar", "x-{000000..000002}.tar", "x-*.tar"):
            assert read_counts(remote, f"{tars}/{names}") == read_counts(bale, f"{tars}/{names}")
        assert read_counts(remote, tars) == read_counts(bale, tars) == read_counts(bale, f"{tars}/x-*.tar")
    finally:
        shutil.rmtree(tars / "cache")


# --- tokens

@pytest.mark.parametrize("name, change", [("HF_TOKEN", {}), ("HF_TOKEN_PATH", {"HF_TOKEN": ""}), ("XDG_CACHE_HOME", {"HF_TOKEN": ""}),
                                          ("HF_HOME", {"HF_TOKEN": ""})])
def test_a_hub_token_wherever_it_is(remote, tars, tmp_path, name, change):  # noqa: F811
    """With a line end, as files and Kubernetes' secrets have it."""
    hub = Hub(tars)
    try:
        folder = {"XDG_CACHE_HOME": "huggingface/token", "HF_HOME": "token", "HF_TOKEN_PATH": ""}.get(name)
        value = hub.TOKEN + "\n"
        if folder is not None:
            file = tmp_path / "home" / folder if folder else tmp_path / "some.file"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(value)
            value = str(file if not folder else tmp_path / "home")
        remote.env.update({**hub.env, "HOME": str(tmp_path), "HF_HOME": "", "XDG_CACHE_HOME": "", "HF_TOKEN_PATH": "", **change,
                           name: value})
        assert read_counts(remote, f"hf://datasets/{hub.OWNER}/{hub.NAME}")[0] == 12
    finally:
        hub.close()


# --- answers

def changing_headers(server, **changes):
    """Passes every file on with some of its headers changed."""
    def route(request):
        content, etag, _ = server.content(request.path) or (None, None, None)
        if content is None:
            return None
        first, last = 0, len(content) - 1
        if request.range:
            begin, _, end = request.range.removeprefix("bytes=").partition("-")
            first, last = int(begin), min(int(end), last)
        headers = {"ETag": etag, "Content-Range": f"bytes {first}-{last}/{len(content)}"}
        headers.update({name.replace("_", "-"): value.format(first=first, last=last) for name, value in changes.items()})
        return 206, headers, content[first:last + 1]
    server.router = route


@pytest.mark.parametrize("encoding", ["identity", "IDENTITY", "aws-chunked", "aws-chunked,identity", "Aws-Chunked"])
def test_encodings_that_change_nothing(remote, serve, packed, encoding):  # noqa: F811
    server = serve(packed("tar"))
    changing_headers(server, Content_Encoding=encoding)
    assert read_counts(remote, server.url)[0] == 40


def test_an_encoding_that_changes_bytes_is_refused(remote, serve, packed):  # noqa: F811
    server = serve(packed("tar"))
    changing_headers(server, Content_Encoding="aws-chunked, gzip")
    result = remote("read", server.url)
    assert result.code == FAILURE and "compresses what it sends" in result.error_line(), result


def test_a_pause_until_a_time(remote, serve, packed):  # noqa: F811
    server = serve(packed("tar"))
    until = email.utils.formatdate(time.time() + 3, usegmt=True)
    server.add("*manifest.json", status=503, headers={"Retry-After": until})
    assert read_counts(remote, server.url)[0] == 40
    first, second = [request.began for request in server.log if request.path.endswith("manifest.json")][:2]
    assert second - first > 1


def test_an_empty_file(remote, serve, tmp_path):  # noqa: F811
    """Its server cannot send the first byte (416), and need not say more."""
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "x.tar").write_bytes(b"")
    server = serve(tmp_path / "www")
    for headers in ({}, {"Content-Range": "bytes */0"}):
        server.router = lambda request, headers=headers: (
            (416, headers, b"<Error><Code>InvalidRange</Code></Error>") if request.range else None)
        result = remote("ls", f"{server.url}/x.tar?{len(headers)}")
        assert result.code != 0 and "changed" not in result.error_line(), result
        assert result.error_line() .count("416") == 0


def test_pages_with_a_status_of_success_are_not_files(remote, serve, tars):  # noqa: F811
    server = serve(tars)
    server.router = lambda request: None if server.content(request.path) else (
        200, {"Content-Type": "text/HTML; charset=utf-8", "ETag": '"page"'}, b"<html>Nothing here</html>")
    assert read_counts(remote, f"{server.url}/x-{{000000..000002}}.tar")[0] == 12
    result = remote("ls", f"{server.url}/none")
    assert result.code == FAILURE and "damaged" not in result.error_line(), result


class Endless(socketserver.ThreadingTCPServer):
    """Answers every request with chunks without an end: fast, or a byte now and then."""
    daemon_threads, allow_reuse_address = True, True

    def __init__(self, pause, size):
        self.pause, self.size = pause, size
        super().__init__(("127.0.0.1", 0), EndlessHandler)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class EndlessHandler(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline().strip():
            pass
        chunk = b"%x\r\n" % self.server.size + b" " * self.server.size + b"\r\n"
        try:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                self.wfile.write(chunk)
                time.sleep(self.server.pause)
        except OSError:
            pass


@pytest.mark.parametrize("name", ["manifest.json", "x.tar", "x.tar.bidx"])
@pytest.mark.parametrize("pause, size", [(0, 1 << 20), (0.2, 1)], ids=["fast", "slow"])
def test_a_body_without_an_end(remote, name, pause, size):  # noqa: F811
    with Endless(pause, size) as server:
        result = remote("ls", f"{server.url}/{name}", env={"BALE_NETWORK_TIMEOUT": "8", "BALE_CACHE_LIMIT": "64MiB"})
        server.shutdown()
    assert result.code in (FAILURE, TRY_AGAIN), result
    assert server.url in result.error_line(), result


# --- credentials

def test_keys_that_are_renewed_in_their_file(remote, serve, tars, tmp_path):  # noqa: F811
    """As programs of companies do: they write new keys into the credentials file, while a run continues."""
    server, file = serve(tars), tmp_path / "credentials"

    def write(key):
        file.write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = secret\naws_session_token = t{key}\n")
    write("OLD")

    def route(request):
        if "Credential=OLD/" in request.headers.get("authorization", ""):
            if request.path.endswith("2.tar"):
                write("NEW")
                return 400, {}, b"<Error><Code>ExpiredToken</Code></Error>"
        return "/" + request.path.split("/")[-1]
    server.router = route
    remote.env.update({"AWS_ENDPOINT_URL": server.url, "AWS_REGION": "us-east-1", "AWS_SHARED_CREDENTIALS_FILE": str(file)})
    assert read_counts(remote, "s3://bucket/x-{000000..000002}.tar")[0] == 12


@pytest.mark.parametrize("name", ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"])
@pytest.mark.parametrize("endpoint", ["AWS_ENDPOINT_URL", "S3_ENDPOINT_URL"])
def test_variables_of_other_programs(remote, serve, tars, tmp_path, name, endpoint):  # noqa: F811
    server, file = serve(tars), tmp_path / "credentials"
    file.write_text("[team]\naws_access_key_id = TEAM\naws_secret_access_key = secret\n")
    server.router = lambda request: ("/" + request.path.split("/")[-1]
                                     if "Credential=TEAM/" in request.headers.get("authorization", "") else (403, {}, b""))
    remote.env.update({endpoint: server.url, "AWS_REGION": "us-east-1", "AWS_SHARED_CREDENTIALS_FILE": str(file), name: "team\n"})
    assert read_counts(remote, "s3://bucket/x-{000000..000002}.tar")[0] == 12


# --- verify

def copied(directory, tmp_path):
    return shutil.copytree(directory, tmp_path / "www")


def test_verify_names_every_missing_file(bale, remote, serve, packed, tmp_path):  # noqa: F811
    """As it does of a local dataset."""
    folder = copied(packed("tar"), tmp_path)
    first, second, third, *_ = shards(folder)
    first.unlink()
    third.unlink()
    second.with_name(second.name + ".bidx").unlink()
    for spec, run in ((folder, bale), (serve(folder).url, remote)):
        result = run("verify", "--json", spec)
        found = {pathlib.PurePath(finding["path"]).name: finding["what"] for finding in json.loads(result.out)["findings"]}
        assert result.code == DAMAGE, result
        assert found == {first.name: "shard file is missing", third.name: "shard file is missing",
                         second.name + ".bidx": "index file is missing"}


@pytest.mark.parametrize("kind", ["http", "file"])
def test_verify_always_asks(remote, serve, packed, tmp_path, kind):  # noqa: F811
    """Once per file, whether it is still the same: what the cache has is not sent again. Others believe for a minute."""
    folder = copied(packed("tar"), tmp_path)
    server = serve(folder)
    spec = server.url if kind == "http" else f"file://{folder}"
    remote.ok("verify", spec)
    for words in (["verify", spec], ["read", spec]):
        server.clear()
        remote.ok(*words)
        if kind == "http":
            asked = [request.path for request in server.log if request.status != 404]
            names = {path.name for path in folder.iterdir()} if words[0] == "verify" else set()
            assert server.sent() == 0 and sorted(asked) == sorted(f"/{name}" for name in names), server.log
    victim = shards(folder)[1]
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    result = remote("verify", spec)
    assert result.code == DAMAGE and victim.name in result.out, result


# --- without a server

def test_offline(remote, serve, packed, tmp_path):  # noqa: F811
    """What the cache has is read, however old, and no server is asked."""
    server = serve(packed("tar"))
    remote.ok("cache", "warm", server.url)
    counts = read_counts(remote, server.url)
    remote.age()
    server.clear()
    for name in ("1", "yes", "True"):
        done = RemoteBale(remote.bale, remote.cache, BALE_OFFLINE=name).ok("read", "--json", server.url)
        assert (json.loads(done.out)["samples"], json.loads(done.out)["bytes"]) == counts and not warnings_of(done)
    remote.env["BALE_OFFLINE"] = "1"
    remote.ok("verify", server.url)
    result = remote("read", f"{server.url}/other")
    assert result.code == TRY_AGAIN and "offline" in result.error_line(), result
    assert not server.log


def test_the_hub_offline(remote, serve, tars):  # noqa: F811
    """HF_HUB_OFFLINE is for the Hub alone. These tars have no index."""
    hub, server = Hub(tars), serve(tars)
    try:
        remote.env.update(hub.env)
        names = f"hf://datasets/{hub.OWNER}/{hub.NAME}/x-{{000000..000002}}.tar"
        remote.ok("cache", "warm", names)
        counts = read_counts(remote, names)
        remote.age()
        hub.hub.clear()
        remote.env["HF_HUB_OFFLINE"] = "1"
        assert read_counts(remote, names) == counts and not hub.hub.log
        result = remote("ls", f"hf://datasets/{hub.OWNER}/{hub.NAME}")
        assert result.code == TRY_AGAIN and "offline" in result.error_line(), result
        assert read_counts(remote, f"{server.url}/x-{{000000..000002}}.tar")[0] == 12
    finally:
        hub.close()


def test_a_server_that_is_gone(remote, packed):  # noqa: F811
    """One warning, and one wait for all files together."""
    with FaultServer(packed("tar")) as server:
        remote.ok("cache", "warm", server.url)
        counts = read_counts(remote, server.url)
    remote.age()
    remote.env["BALE_NETWORK_TIMEOUT"] = "8"
    begin = time.monotonic()
    done = remote.ok("read", "--json", server.url)
    found = json.loads(done.out)
    assert (found["samples"], found["bytes"]) == counts
    assert len(warnings_of(done)) == 1 and "reads what the cache has" in done.err
    assert time.monotonic() - begin < 60
    result = remote("read", f"{server.url}/other")
    assert result.code == TRY_AGAIN, result
    with FaultServer(packed("tar")) as other:  # which is there, and is asked
        remote.ok("cache", "warm", other.url)
        remote.age()
        other.clear()
        remote.ok("read", f"{server.url}::{other.url}")
        assert other.log and set(other.statuses()) == {304}
