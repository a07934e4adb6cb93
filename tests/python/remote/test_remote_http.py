"""Datasets over http(s):// and hf://: every command gives what it gives for local files, and asks for little."""
import json
import re
import shutil
import subprocess
import urllib.parse

import pytest
from conftest import ALL_LAYOUTS, FORMATS, format_options, key_list, shards, tree_bytes
from remote_support import FaultServer, Hub, files_size, free_port, heavy, nginx_of, packed, remote, serve, time_limit  # noqa: F401

FAILURE, USAGE, DAMAGE, TRY_AGAIN = 1, 2, 3, 5
HEAD = 16 << 10  # what is asked for first of a file, to learn its size and version
NAMES = [".".join(layout) for layout in ALL_LAYOUTS]
COMMANDS = [["verify", ...], ["verify", "--json", ...], ["ls", "-0", ...], ["ls", "--long", ...], ["stats", ...],
            ["inspect", "--json", ...], ["cat", ..., "--index", "0"], ["cat", ..., "--index", "39"]]


def titles(words):
    return " ".join("SPEC" if word is ... else word for word in words)


@pytest.fixture(scope="module")
def everything(packed):
    """A server of all that is packed."""
    with FaultServer(packed.root) as server:
        yield server


@pytest.fixture
def server(everything):
    everything.heal()
    everything.clear()
    yield everything
    assert not everything.asked(method="HEAD")


def answer(run, words, spec):
    """What a command prints, without the dataset's name."""
    return run.ok(*[spec if word is ... else word for word in words]).out.replace(str(spec), "SPEC")


def read_counts(run, spec, *options):
    found = json.loads(run.ok("read", "--json", spec, *options).out)
    return found["samples"], found["bytes"]


# --- every command, every layout

@pytest.mark.parametrize("name", NAMES)
def test_every_layout(bale, remote, packed, server, name, tmp_path):
    local, url = packed(name), f"{server.url}/{name}"
    for words in COMMANDS:
        assert answer(remote, words, url) == answer(bale, words, local), titles(words)
    assert read_counts(remote, url, "--order", "full") == read_counts(bale, local)
    for run, spec, out in ((bale, local, "a"), (remote, url, "b")):
        run.ok("extract", spec, tmp_path / out)
    assert tree_bytes(tmp_path / "a") == tree_bytes(tmp_path / "b")
    assert all(request.user_agent.startswith("bale/") for request in server.log)


@pytest.mark.parametrize("words", COMMANDS, ids=titles)
def test_every_command_with_a_cold_cache(bale, remote, packed, server, words):
    assert answer(remote, words, f"{server.url}/tar.plain") == answer(bale, words, packed("tar.plain"))


@pytest.mark.parametrize("name", FORMATS)
def test_shards_without_indexes(bale, remote, packed, server, name):
    """They are scanned, with the files next to them that name keys, such as RecordIO's .lst."""
    directory = packed.root / f"{name}-foreign"
    shutil.copytree(packed(name), directory, ignore=shutil.ignore_patterns("*.bidx", "manifest.json"))
    spec = "::".join(map(str, shards(directory)))
    there = "::".join(f"{server.url}/{directory.name}/{path.name}" for path in shards(directory))
    for words in (["ls", "-0", ...], ["cat", ..., "--index", "20"]):
        assert answer(remote, words, there) == answer(bale, words, spec)
    assert read_counts(remote, there) == read_counts(bale, spec)


@pytest.mark.parametrize("target", FORMATS)
def test_convert(bale, remote, packed, server, target, tmp_path):
    options = ["--name", "q", "--shard-samples", "10", *format_options(target)]
    packed("hdf5")
    remote.ok("convert", f"{server.url}/hdf5", tmp_path / "there", *options)
    bale.ok("convert", packed("hdf5"), tmp_path / "here", *options)
    assert tree_bytes(tmp_path / "there", ["manifest.json"]) == tree_bytes(tmp_path / "here", ["manifest.json"])
    bale.ok("verify", tmp_path / "there")


def test_bench(remote, packed, server):
    packed("tar.plain")
    for more in ([], ["--threads"]):
        found = json.loads(remote.ok("bench", f"{server.url}/tar.plain", "--json", "--batch", "8", "--size", "32", *more).out)
        assert found["images"] == 40 and set(found["stages"]) == {"read", "verify", "decode", "train"}


def test_preview(bale, remote, packed, server, tmp_path):
    packed("tar.plain")
    remote.ok("preview", f"{server.url}/tar.plain", tmp_path / "there.html")
    bale.ok("preview", packed("tar.plain"), tmp_path / "here.html")
    there, here = ((tmp_path / f"{name}.html").read_text().partition('<div class="sheet">')[2] for name in ("there", "here"))
    assert there == here and "<figure>" in here  # the title has the name


def test_tune(remote, packed, server):
    packed("tar.plain")
    result = remote("tune", f"{server.url}/tar.plain", "--seconds-per-setting", "0.05")
    assert result.code in (0, TRY_AGAIN) and "IMG/S" in result.out, result  # 5: the machine is busy


# --- names

@pytest.mark.parametrize("form", ["{url}/", "{url}/manifest.json", "{url}/p-{{000000..000004}}.tar", "{each}", "{url}::{local}",
                                  "{local}::{url}/p-000003.tar"])
def test_forms_of_names(bale, remote, packed, server, form):
    local = packed("tar.plain")
    url = f"{server.url}/tar.plain"

    def spec_of(where):
        return form.format(url=where, local=local, each="::".join(f"{where}/{path.name}" for path in shards(local)))
    assert key_list(remote, spec_of(url)) == key_list(bale, spec_of(local))
    assert read_counts(remote, spec_of(url)) == read_counts(bale, spec_of(local))


ODD = ["a=b c", "100%25 + more", "ü-日本", "x;y,z&w", "it's (here)"]


@pytest.mark.parametrize("odd", ODD)
def test_odd_names_of_folders_and_shards(bale, remote, photos, serve, odd, tmp_path):
    """In the URL they are percent-encoded; bale encodes the names that a manifest has."""
    local = tmp_path / "www" / odd
    bale.pack(photos, local, "--name", odd, "--shard-samples", "20")
    server = serve(tmp_path / "www")
    url = f"{server.url}/{urllib.parse.quote(odd)}"
    assert answer(remote, ["verify", ...], url) == answer(bale, ["verify", ...], local)
    assert {request.path for request in server.log} >= {f"/{odd}/{path.name}" for path in shards(local)}
    assert 404 not in server.statuses("*.tar")


def test_a_query_is_kept_for_all_files_of_the_shard(bale, remote, packed, server):
    """As presigned URLs have it. A signature does not fit the index, which has another name: then the shard is scanned."""
    shard = shards(packed("tar.plain"))[0]
    url = f"{server.url}/tar.plain/{shard.name}?X-Amz-Signature=Abc%2F1&versionId=7"
    assert key_list(remote, url) == key_list(bale, shard)
    assert {request.query for request in server.asked(f"*/{shard.name}")} == {"X-Amz-Signature=Abc%2F1&versionId=7"}


@pytest.mark.parametrize("name", ["{url}/*.tar", "{url}/p-00000?.tar", "{url}/p-00000[0-3].tar"])
def test_globs_need_a_listing(remote, packed, server, name):
    """`?` begins a query: a name with it is a file that is not there."""
    packed("tar.plain")
    spec = name.format(url=f"{server.url}/tar.plain")
    result = remote("ls", spec)
    assert result.code in (FAILURE, USAGE) and result.stdout == b"" and "tar.plain" in result.error_line()
    if "*" in name:
        assert re.search(r"list|braces", result.error_line()), result  # says what to do


@pytest.mark.parametrize("words", [["pack", "photos", ...], ["convert", "packed", ...], ["index", ...]], ids=titles)
def test_nothing_is_written_to_a_server(remote, photos, packed, server, words):
    local = {"photos": photos, "packed": packed("tar.plain")}
    result = remote(*[f"{server.url}/tar.plain" if word is ... else local.get(word, word) for word in words])
    assert result.code == USAGE and f"{server.url}/tar.plain" in result.error_line()


# --- what is not there, and what is not for everybody

@pytest.mark.parametrize("spec", ["{url}/none", "{url}/tar.plain/none.tar", "{url}/tar.plain/p-{{000003..000006}}.tar",
                                  "{url}/tar.plain::{url}/none", "{url}/tar.plain/p-000000"])
def test_no_such_file(remote, packed, server, spec):
    packed("tar.plain")
    for command in ("verify", "ls", "inspect"):
        result = remote(command, spec.format(url=server.url))
        if command == "verify" and "::" in spec:  # it continues with the others, as on a local disk
            assert result.code == DAMAGE and "no such file" in result.out
            continue
        assert result.code == FAILURE and "no such file" in result.error_line() and server.url in result.error_line(), result


def test_a_missing_shard_is_named(remote, packed, server):
    packed("tar.plain")
    server.add("*/p-000002.tar*", times=None, status=404)
    result = remote("extract", f"{server.url}/tar.plain", remote.cache.parent / "out")
    assert result.code == FAILURE and "no such file" in result.error_line() and "p-000002.tar" in result.error_line()


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("pattern", ["*", "*.tar"])
def test_what_is_refused(remote, packed, server, status, pattern):
    packed("tar.plain")
    server.add(pattern, times=None, status=status)
    result = remote("extract", f"{server.url}/tar.plain", remote.cache.parent / "out")
    assert result.code == FAILURE and re.search("credentials|token|password", result.error_line()), result
    assert str(status) in result.error_line() and f"{server.url}/tar.plain" in result.error_line()


# --- little is asked for

@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("words", [["verify", ...], ["read", ..., "--order", "full", "--jobs", "2"], ["read", ..., "--jobs", "1"]],
                         ids=titles)
def test_no_byte_is_sent_twice(remote, heavy, serve, name, words):
    local = heavy(name)
    server = serve(heavy.root)
    remote.ok(*[f"{server.url}/{name}" if word is ... else word for word in words])
    assert server.sent() <= 1.02 * files_size(local) and not server.asked(method="HEAD")
    assert len({request.connection for request in server.log}) <= 64


def test_ranges_follow_each_other(remote, heavy, serve):
    """Each byte of a shard is asked for once."""
    local = heavy("tar")
    server = serve(local)
    remote.ok("verify", server.url)
    for shard in shards(local):
        extents = sorted(tuple(map(int, request.range.removeprefix("bytes=").split("-")))
                         for request in server.asked(f"/{shard.name}"))
        assert extents[0][0] == 0 and extents[-1][1] == shard.stat().st_size - 1
        assert [last + 1 for _, last in extents[:-1]] == [first for first, _ in extents[1:]]


def test_the_version_is_pinned(remote, heavy, serve):
    """A server that changes a file must answer 412, since nobody could tell a body of the new one by its bytes."""
    server = serve(heavy("tar"))
    remote.ok("verify", server.url)
    later = [request for request in server.asked("*.tar") if not request.range.startswith("bytes=0-")]
    assert later and all(request.headers["if-match"] == server.content(request.path)[1] for request in later)


def test_one_sample_does_not_take_the_whole_dataset(remote, heavy, serve):
    local = heavy("tar")
    server = serve(heavy.root)
    assert len(remote.ok("cat", f"{server.url}/tar", "--index", "17").stdout) == 100_000
    assert server.sent() <= files_size(local) / 4
    server.clear()
    remote.ok("ls", f"{server.url}/tar")
    assert server.sent("*.tar") <= 5 * HEAD  # the indexes have the keys; each shard is looked at


def test_no_compression_is_asked_for(remote, packed, server):
    packed("tar.plain")
    remote.ok("verify", f"{server.url}/tar.plain")
    assert {request.headers.get("accept-encoding", "identity") for request in server.log} == {"identity"}


# --- servers that differ

@pytest.mark.parametrize("fault", [{"whole": True}, {"whole": True, "chunked": True}], ids=str)
@pytest.mark.parametrize("name", ["tar", "hdf5"])
def test_a_server_without_ranges_is_read_once(bale, remote, heavy, serve, fault, name):
    local = heavy(name)
    server = serve(heavy.root)
    server.add("*", times=None, **fault)
    assert answer(remote, ["verify", ...], f"{server.url}/{name}") == answer(bale, ["verify", ...], local)
    assert server.sent() <= 1.02 * files_size(local)
    paths = [request.path for request in server.log if request.status == 200]
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize("fault", [{"no_etag": True}, {"no_etag": True, "no_modified": True}, {"weak_etag": True},
                                   {"chunked": True}, {"until_close": True}, {"latency_ms": 20},
                                   {"ignore_conditions": True}], ids=str)
def test_servers_with_less(bale, remote, packed, server, fault):
    local = packed("tar.plain")
    server.add("*", times=None, **fault)
    for _ in range(2):
        assert answer(remote, ["verify", ...], f"{server.url}/tar.plain") == answer(bale, ["verify", ...], local)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_redirects(bale, remote, packed, server, serve, status, host):
    """Of a whole folder: to another path, or to another host and port."""
    local = packed("tar.plain")
    other = server.url if host == "127.0.0.1" else serve(packed.root, host=host).url
    server.router = lambda request: ((status, {"Location": other + request.path.replace("/old/", "/tar.plain/")}, b"")
                                     if request.path.startswith("/old/") else None)
    try:
        assert answer(remote, ["verify", ...], f"{server.url}/old") == answer(bale, ["verify", ...], local)
    finally:
        server.router = None


@pytest.mark.parametrize("target", ["{url}/loop", "file:///etc/passwd", "ftp://127.0.0.1/x", "http://"])
def test_redirects_to_nowhere(remote, server, target):
    server.add("*", times=None, redirect=target.format(url=server.url))
    result = remote("ls", f"{server.url}/loop", env=time_limit(FAILURE))
    assert result.code == FAILURE and server.url in result.error_line()
    assert "root:" not in result.out + result.err and len(server.log) <= 100


# --- nginx

@pytest.fixture(scope="module")
def nginx(nginx_of, packed):
    return nginx_of(packed.root)




@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_nginx(bale, remote, packed, nginx, name, scheme):
    local, begin = packed(name), len(nginx.asked())
    url = f"{nginx.url if scheme == 'http' else nginx.tls_url}/{name}"
    remote.env["SSL_CERT_FILE"] = str(nginx.authority)
    assert answer(remote, ["verify", ...], url) == answer(bale, ["verify", ...], local)
    asked = nginx.asked()[begin:]
    assert {method for method, *_ in asked} == {"GET"} and {status for _, status, *_ in asked} <= {200, 206, 304, 404}
    assert sum(sent for _, status, sent, *_ in asked if status < 300) <= 1.02 * files_size(local)
    remote.age()
    assert answer(remote, ["verify", ...], url) == answer(bale, ["verify", ...], local)
    assert {status for _, status, *_ in nginx.asked()[begin + len(asked):]} <= {304, 404}


def test_an_unknown_authority(remote, packed, nginx):
    packed("tar.plain")
    result = remote("ls", f"{nginx.tls_url}/tar.plain")
    assert result.code == FAILURE and "certificate" in result.error_line() and "SSL_CERT_FILE" in result.error_line()


@pytest.mark.parametrize("name", ["CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"])
@pytest.mark.parametrize("is_directory", [False, True])
def test_authorities_in_files_and_directories(remote, packed, nginx, tmp_path, name, is_directory):
    """Those of AWS are for S3 alone."""
    packed("tar.plain")
    place = nginx.authority
    if is_directory:
        place = tmp_path / "authorities"
        place.mkdir()
        hashed = subprocess.run(["openssl", "x509", "-hash", "-noout", "-in", nginx.authority], capture_output=True, text=True, check=True)
        (place / f"{hashed.stdout.strip()}.0").write_bytes(nginx.authority.read_bytes())
    (tmp_path / "config").write_text("[default]\nca_bundle = /etc/hostname\n")
    remote.ok("ls", f"{nginx.tls_url}/tar.plain",
              env={name: str(place), "AWS_CA_BUNDLE": "/etc/hostname", "AWS_CONFIG_FILE": str(tmp_path / "config")})


@pytest.mark.parametrize("how", ["variable", "profile"])
def test_authorities_of_s3(remote, packed, nginx, tmp_path, how):
    shard = shards(packed("tar.plain"))[0].name
    config = tmp_path / "config"
    config.write_text(f"[default]\nca_bundle = {nginx.authority}\n" if how == "profile" else "")
    more = {"AWS_CA_BUNDLE": str(nginx.authority)} if how == "variable" else {"AWS_CONFIG_FILE": str(config)}
    server = {"AWS_ENDPOINT_URL": nginx.tls_url, "AWS_NO_SIGN_REQUEST": "yes", "AWS_REGION": "us-east-1"}
    remote.ok("ls", f"s3://tar.plain/{shard}", env={**server, **more})
    remote.age()
    result = remote("ls", f"s3://tar.plain/{shard}", env={**server, "AWS_CA_BUNDLE": "/etc/ssl/certs/ca-certificates.crt"})
    assert result.code == FAILURE and "AWS_CA_BUNDLE" in result.error_line(), result


def test_a_user_and_a_password(bale, remote, packed, nginx):
    """In the URL, as curl takes them."""
    local = packed("tar.plain")
    name, host = "private/tar.plain", f"127.0.0.1:{nginx.port}"
    ours = f"http://{nginx.USER}:{nginx.PASSWORD}@{host}/{name}"
    assert key_list(remote, ours) == key_list(bale, local)
    for spec in (f"http://{host}/{name}", f"http://{nginx.USER}:{nginx.PASSWORD}x@{host}/{name}"):
        result = remote("verify", spec)
        assert result.code == FAILURE and "credentials" in result.error_line()
        assert nginx.PASSWORD not in result.out + result.err


# --- secrets

SECRETS = ["PassWordInTheUrl", "SignatureInTheQuery"]


@pytest.mark.parametrize("fault", [{"status": 404}, {"status": 403}, {"status": 500}, {"cut": 0}, {"flip": 700}, {"redirect": "//x"},
                                   {"gzip": True}, {"content_range": "bytes 1-2/3"}, None], ids=str)
def test_secrets_are_never_shown(remote, packed, server, fault):
    """Nor kept in the cache."""
    shard = shards(packed("tar.plain"))[0]
    url = server.url.replace("//", f"//user:{SECRETS[0]}@")
    spec = f"{url}/tar.plain/{shard.name}?X-Amz-Signature={SECRETS[1]}"
    if fault:
        server.add("*", times=None, **fault)
    for words in (["verify", spec, "--json-progress"], ["cat", spec, "none"]):
        result = remote(*words, env={"BALE_NETWORK_TIMEOUT": "1"})
        assert not any(secret in result.out + result.err for secret in SECRETS), result
    kept = b"".join(path.name.encode() + path.read_bytes() for path in remote.cache.rglob("*") if path.is_file())
    assert not any(secret.encode() in kept for secret in SECRETS)


@pytest.mark.parametrize("command", ["verify", "inspect"])
def test_json_has_no_secrets(remote, packed, server, command):
    shard = shards(packed("tar.plain"))[0]
    url = server.url.replace("//", f"//user:{SECRETS[0]}@")
    out = remote.ok(command, "--json", f"{url}/tar.plain/{shard.name}?X-Amz-Signature={SECRETS[1]}").out
    assert shard.name in out and not any(secret in out for secret in SECRETS)


# --- the hub

@pytest.fixture
def hub(packed):
    hub = Hub(packed.root)
    yield hub
    assert not hub.hub.asked(method="HEAD") and not hub.cdn.asked(method="HEAD")
    hub.close()


def hub_name(hub, path, revision=""):
    return f"hf://datasets/{hub.OWNER}/{hub.NAME}{revision}/{path}"


@pytest.mark.parametrize("revision", ["", "@v1"])
@pytest.mark.parametrize("name", FORMATS)
def test_hub(bale, remote, packed, hub, name, revision):
    local, spec = packed(name), hub_name(hub, name, revision)
    remote.env |= hub.env
    for words in COMMANDS[:2]:
        assert answer(remote, words, spec) == answer(bale, words, local)
    assert {request.path.split("/")[5] for request in hub.hub.log} == {revision[1:] or "main"}
    assert hub.cdn.log and not any("authorization" in request.headers for request in hub.cdn.log)
    sent = hub.cdn.sent()
    remote.age()
    answer(remote, ["verify", ...], spec)
    assert hub.cdn.sent() == sent


def test_hub_lists(bale, remote, packed, hub):
    """Page by page."""
    local = packed("tar.plain")
    remote.env |= hub.env
    for pattern in ("*.tar", "p-00000[1-3].tar", "p-*0?.tar"):
        assert key_list(remote, hub_name(hub, f"tar.plain/{pattern}")) == key_list(bale, f"{local}/{pattern}")


@pytest.mark.parametrize("token", ["", "hf_AnotherTokenOfBaleTests"])
def test_hub_without_the_token(remote, packed, hub, token):
    packed("tar.plain")
    remote.env |= {**hub.env, "HF_TOKEN": token}
    for path in ("tar.plain", "tar.plain/*.tar"):
        result = remote("verify", hub_name(hub, path))
        assert result.code == FAILURE and "HF_TOKEN" in result.error_line() and "hf://" in result.error_line()
        assert not token or token not in result.out + result.err


@pytest.mark.parametrize("spec", ["hf://datasets/some-owner/some.name/none", "hf://datasets/some-owner/none/tar.plain",
                                  "hf://datasets/some-owner/some.name@none/tar.plain"])
def test_hub_has_no_such_file(remote, hub, spec):
    remote.env |= hub.env
    result = remote("ls", spec)
    assert result.code == FAILURE and "no such file" in result.error_line() and spec in result.error_line()


@pytest.mark.parametrize("spec", ["hf://datasets/owner", "http://", "hf://models/a/b/c", "https:///path", "http://host:port/x"])
def test_malformed_names(remote, spec):
    result = remote("ls", spec, env=time_limit(FAILURE))
    assert result.code in (FAILURE, USAGE) and spec in result.error_line()


def test_a_server_that_is_not_there(remote):
    spec = f"http://127.0.0.1:{free_port()}/packed"
    result = remote("ls", spec, env={"BALE_NETWORK_TIMEOUT": "1"})
    assert result.code == TRY_AGAIN and spec in result.error_line()
