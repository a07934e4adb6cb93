"""Datasets in S3: signatures, names of every kind, listings and credentials, with rclone's server and moto's."""
import functools
import re

import pytest
from conftest import FORMATS, key_list, manifest_of, shards, tree_bytes
from remote_support import KEY_ID, SECRET, Rclone, moto, packed, rclone, remote, s3, serve, time_limit  # noqa: F401

FAILURE, USAGE, TRY_AGAIN = 1, 2, 5
ODD = ["a=b/c=d", "with space", "100%25", "a+b", "ü/日本 語", "semi;colon,comma&and@at", "it's (here)!*~", "hash#and?mark",
       "a//b"]


@pytest.fixture(scope="module")
def stored(packed, s3):
    """stored(FORMAT) -> (the folder, its name in S3)."""
    return functools.cache(lambda name: (packed(name), s3.put_tree(f"packed/{name}", packed(name))))


@pytest.fixture
def run(remote, s3):
    remote.env |= s3.env
    return remote


def verified(run, spec):
    return run.ok("verify", spec).out.replace(str(spec), "SPEC")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format(bale, run, stored, name, tmp_path):
    local, spec = stored(name)
    assert verified(run, spec) == verified(bale, local)
    assert run.ok("ls", "-l", spec).out == bale.ok("ls", "-l", local).out
    bale.ok("extract", local, tmp_path / "a")
    run.ok("extract", spec, tmp_path / "b")
    assert tree_bytes(tmp_path / "a") == tree_bytes(tmp_path / "b")


@pytest.mark.parametrize("odd", ODD)
def test_odd_names(bale, run, s3, photos, odd, tmp_path):
    """Of folder and shards, as they are: in s3:// names nothing is percent-encoded."""
    if odd == "a//b" and isinstance(s3, Rclone):
        pytest.skip("rclone serves a file system, which has no such name")
    name = re.sub(r"[/*?]", "_", odd)
    bale.pack(photos, tmp_path / "local", "--name", name, "--shard-samples", "20")
    spec = s3.put_tree(odd, tmp_path / "local")
    braces = f"{spec}/{name}-{{000000..000001}}.tar"
    pattern = f"{spec}/*.tar"
    # A folder with *, ? or [ in its name cannot be named, as on a local disk.
    if not re.search(r"[*?\[]", odd):
        assert verified(run, spec) == verified(bale, tmp_path / "local")
        assert key_list(run, pattern) == key_list(bale, tmp_path / "local")
    if not re.search(r"[*?\[,]", odd):
        assert key_list(run, braces) == key_list(bale, tmp_path / "local")


@pytest.mark.parametrize("pattern", ["*.tar", "p-00000[1-3].tar", "p-?????2.tar", "p-*.tar"])
def test_globs(bale, run, stored, pattern):
    local, spec = stored("tar")
    assert key_list(run, f"{spec}/{pattern}") == key_list(bale, f"{local}/{pattern}")


def test_a_glob_without_a_match(run, stored):
    _, spec = stored("tar")
    for name in (f"{spec}/*.none", f"{spec}-none/*"):
        result = run("ls", name)
        assert result.code == FAILURE and "no file matches" in result.error_line() and name in result.error_line()


def test_a_listing_of_several_pages(bale, remote, rclone, packed):
    """S3 gives 1000 names at a time."""
    for number in range(1100):
        rclone.put(f"crowd/a-{number:06}.txt", b"x")
    spec = rclone.put_tree("crowd", packed("tar"))
    remote.env |= rclone.env
    assert key_list(remote, f"{spec}/p-*.tar") == key_list(bale, packed("tar"))


@pytest.mark.parametrize("spec", ["s3://bucket/none", "s3://bucket/packed/tar/none.tar", "s3://no-such-bucket/packed"])
def test_no_such_file(run, stored, spec):
    stored("tar")
    result = run("verify", spec)
    assert result.code == FAILURE and "no such" in result.error_line() and spec in result.error_line()


@pytest.mark.parametrize("spec", ["s3://", "s3:///packed", "s3://bucket", "s3:/bucket/packed"])
def test_malformed_names(run, spec):
    """s3:/ is what pathlib makes of s3://; s3://bucket may be a dataset, and is none here."""
    result = run("ls", spec, env=time_limit(FAILURE))
    assert result.code in (FAILURE, USAGE) and spec in result.error_line()


def test_reading_twice_fetches_nothing(run, stored, s3):
    """moto answers a revalidation with 304; rclone sends what is asked for, which is one range at most."""
    _, spec = stored("tar")
    assert verified(run, spec) == verified(run, spec)


# --- credentials

WRONG = {"the secret": {"AWS_SECRET_ACCESS_KEY": SECRET[::-1]}, "the key": {"AWS_ACCESS_KEY_ID": "AKIDOFNOBODY"},
         "none": {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}}


@pytest.mark.parametrize("wrong", ["the secret", "the key"])
@pytest.mark.parametrize("path", ["packed/tar", "packed/tar/*.tar"])
def test_wrong_credentials(remote, rclone, packed, wrong, path):
    rclone.put_tree("packed/tar", packed("tar"))
    remote.env |= {**rclone.env, **WRONG[wrong]}
    result = remote("verify", f"s3://bucket/{path}")
    assert result.code == FAILURE and "credentials" in result.error_line() and f"s3://bucket/{path}"[:20] in result.error_line()
    for secret in (SECRET, SECRET[::-1]):
        assert secret not in result.out + result.err


def test_no_credentials(remote, moto, packed):
    """moto answers 403 for a file that is there, as AWS does. (rclone: 400 with UnsupportedAlgorithm.) For a manifest 403 means
    that there is none: AWS says so to whoever may not list the bucket."""
    moto.put_tree("packed/tar", packed("tar"))
    remote.env |= {**moto.env, **WRONG["none"]}
    spec = "s3://bucket/packed/tar/p-000000.tar"
    result = remote("verify", spec)
    assert result.code == FAILURE and "credentials" in result.error_line() and spec in result.error_line()


@pytest.mark.parametrize("profile", ["default", "other"])
def test_credentials_of_the_shared_file(remote, bale, rclone, packed, profile, tmp_path):
    rclone.put_tree("packed/tar", packed("tar"))
    (tmp_path / "credentials").write_text(f"[{profile}]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n"
                                          "[third]\naws_access_key_id = x\naws_secret_access_key = y\n")
    remote.env |= {**rclone.env, **WRONG["none"], "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
                   "AWS_PROFILE": "" if profile == "default" else profile}
    assert key_list(remote, "s3://bucket/packed/tar") == key_list(bale, packed("tar"))


# --- what is sent, with our server in S3's place: it has the bucket as a folder

@pytest.fixture
def endpoint(packed, serve, tmp_path):
    packed("tar")
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "bucket").symlink_to(packed("tar").parent)
    server = serve(tmp_path / "www")
    server.env = {"AWS_ENDPOINT_URL": server.url, "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET,
                  "AWS_REGION": "eu-test-1"}
    return server


def test_requests_are_signed(remote, endpoint):
    remote.env |= {**endpoint.env, "AWS_SESSION_TOKEN": "TokenOfTheSession"}
    remote.ok("verify", "s3://bucket/tar")
    assert endpoint.log and not endpoint.asked(method="HEAD")
    for request in endpoint.log:
        sent = request.headers
        assert re.fullmatch(rf"AWS4-HMAC-SHA256 Credential={KEY_ID}/\d{{8}}/eu-test-1/s3/aws4_request, ?SignedHeaders=[a-z0-9;-]+, "
                            r"?Signature=[0-9a-f]{64}", sent["authorization"])
        signed = sent["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
        assert {name for name in sent if name.startswith("x-amz-")} <= set(signed) and "host" in signed
        assert sent["x-amz-security-token"] == "TokenOfTheSession" and "x-amz-content-sha256" in sent


def test_public_buckets_need_no_credentials(remote, endpoint):
    remote.env |= {**endpoint.env, **WRONG["none"]}
    remote.ok("verify", "s3://bucket/tar")
    assert not any("authorization" in request.headers for request in endpoint.log)


def test_the_service_endpoint_comes_first(remote, endpoint):
    remote.env |= {**endpoint.env, "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_S3": endpoint.url}
    remote.ok("verify", "s3://bucket/tar")


def error_of(code):
    return (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>Text of the server.</Message>'
            "<RequestId>1</RequestId></Error>").encode()


@pytest.mark.parametrize("status, code", [(503, "SlowDown"), (500, "InternalError"), (400, "RequestTimeout"), (503, "ServiceUnavailable")])
@pytest.mark.parametrize("times", [1, None])
def test_errors_that_pass(bale, remote, endpoint, packed, status, code, times):
    """400 RequestTimeout is one that all SDKs try again."""
    endpoint.add("*.tar", status=status, body=error_of(code), times=times)
    remote.env |= {**endpoint.env, **({} if times else {"BALE_NETWORK_TIMEOUT": "3"})}
    result = remote("verify", "s3://bucket/tar")
    if times:
        assert result.code == 0 and result.out == bale.ok("verify", packed("tar")).out
    else:
        assert result.code == TRY_AGAIN and "s3://bucket/tar/" in result.error_line() and code in result.error_line()


@pytest.mark.parametrize("status, code, words", [
    (403, "AccessDenied", "credentials.*s3:ListBucket.*missing"), (403, "SignatureDoesNotMatch", "credentials"), (403, "InvalidAccessKeyId", "credentials"),
    (400, "ExpiredToken", "credentials"), (403, "RequestTimeTooSkewed", "clock|time"), (404, "NoSuchBucket", "bucket|no such file"),
    (301, "PermanentRedirect", "region|AWS_REGION"), (400, "AuthorizationHeaderMalformed", "region|AWS_REGION")])
def test_errors_that_stay(remote, endpoint, status, code, words):
    endpoint.add("*", status=status, body=error_of(code), times=None)
    remote.env |= endpoint.env
    result = remote("verify", "s3://bucket/tar", env=time_limit(FAILURE))
    assert result.code == FAILURE and re.search(words, result.error_line()) and "s3://bucket/tar" in result.error_line()
    assert SECRET not in result.out + result.err


def test_a_manifest_names_the_shards(remote, endpoint, packed):
    """No listing is needed for a folder."""
    remote.env |= endpoint.env
    remote.ok("verify", "s3://bucket/tar")
    assert not any("list-type" in request.query for request in endpoint.log)
    assert {path.name for path in shards(packed("tar"))} == {entry["file"] for entry in manifest_of(packed("tar"))["shards"]}
