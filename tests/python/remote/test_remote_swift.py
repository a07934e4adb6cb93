"""Datasets in OpenStack Swift, through its S3 middleware. Skipped if python3-swift is not installed: scripts/checks/check_swift.sh installs
it and runs this."""
import pytest
from conftest import key_list, tree_bytes
from remote_support import free_port, packed, remote, running  # noqa: F401
from servers.swift import SECRET, Swift, is_installed

FAILURE = 1


@pytest.fixture(scope="module")
def swift(tmp_path_factory):
    if not is_installed():
        pytest.skip("python3-swift is not installed")
    home = tmp_path_factory.mktemp("swift")
    server = Swift(free_port(), home)
    with running(home / "log", server.port, command=server.command):
        server.make_bucket()
        yield server


@pytest.fixture
def run(remote, swift):  # noqa: F811
    remote.env |= swift.env
    return remote


@pytest.mark.parametrize("name", ["tar", "lmdb"])
def test_formats(bale, run, swift, packed, name, tmp_path):  # noqa: F811
    local, spec = packed(name), swift.put_tree(f"packed/{name}", packed(name))
    assert run.ok("verify", spec).out.replace(spec, "SPEC") == bale.ok("verify", local).out.replace(str(local), "SPEC")
    bale.ok("extract", local, tmp_path / "a")
    run.ok("extract", spec, tmp_path / "b")
    assert tree_bytes(tmp_path / "a") == tree_bytes(tmp_path / "b")


@pytest.mark.parametrize("odd", ["a=b/c=d", "with space", "100%25", "a+b", "ü/日本 語"])
def test_odd_names_and_listings(bale, run, swift, packed, odd):  # noqa: F811
    local, spec = packed("tar"), swift.put_tree(odd, packed("tar"))
    assert key_list(run, spec) == key_list(bale, local)
    assert key_list(run, f"{spec}/*.tar") == key_list(bale, local)
    assert key_list(run, f"{spec}/p-{{000000..000001}}.tar") == key_list(bale, f"{local}/p-{{000000..000001}}.tar")


@pytest.mark.parametrize("spec", ["s3://bucket/none", "s3://bucket/none/p-000000.tar", "s3://no-such-bucket/packed"])
def test_no_such_file(run, spec):
    result = run("verify", spec)
    assert result.code == FAILURE and "no such" in result.error_line() and spec in result.error_line()


@pytest.mark.parametrize("wrong", [{"AWS_SECRET_ACCESS_KEY": SECRET[::-1]}, {"AWS_ACCESS_KEY_ID": "test:nobody"}],
                         ids=["secret", "key"])
def test_wrong_credentials(run, swift, packed, wrong):  # noqa: F811
    swift.put_tree("packed/tar", packed("tar"))
    run.env |= wrong
    result = run("verify", "s3://bucket/packed/tar/p-000000.tar")
    assert result.code == FAILURE and "credentials" in result.error_line()
    assert SECRET not in result.out + result.err
