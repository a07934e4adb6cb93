"""Names that hold a secret: no command, page, plan, ledger, repr or error shows it."""
import json
import shutil
import stat

import pytest
from conftest import tree_bytes
from python_support import run_script
from remote_support import clean_environment, serve  # noqa: F401

SECRET = "Pl4nt3dS3cret"
SPELLINGS = ["http://user:{secret}@{host}/{path}", "http://{secret}@{host}/{path}", "http://{host}/{path}?X-Amz-Signature={secret}",
             "http://{host}/{path}?file={path}&token={secret}", "http://{host}/{path}?{secret}", "http://{host}/{path}#{secret}"]


def is_clean(result, name):
    assert SECRET not in result.out and SECRET not in result.err, (name, result)
    return result


@pytest.fixture
def served(bale, photos, tmp_path, serve):  # noqa: F811
    (tmp_path / "www").mkdir()
    bale.pack(photos, tmp_path / "www" / "packed", "--name", "x")
    shutil.copy(tmp_path / "www" / "packed" / "x-000000.tar", tmp_path / "www" / "foreign.tar")
    return serve(tmp_path / "www")


def commands(spec, out):
    return [["inspect", spec], ["inspect", "--json", spec], ["ls", "-l", spec], ["ls", "--json", spec], ["stats", spec],
            ["verify", spec], ["verify", "--json", spec], ["cat", spec, "no such"], ["extract", spec, out / "files"],
            ["preview", spec, out / "preview.html"], ["read", spec], ["read", "--json", spec],
            ["bench", spec, "--max-batches", "1", "--workers", "1", "--batch", "4"],
            ["bench", "--json", "--html", out / "bench.html", spec, "--max-batches", "1", "--workers", "1", "--batch", "4"],
            ["doctor", spec, "--workers", "1", "--batch", "4"],
            ["report", spec, "--html", out / "report.html"], ["report", "--json", spec, spec], ["dedup", spec], ["dedup", "--json", spec],
            ["diff", spec, spec], ["diff", "--json", spec, spec], ["index", spec], ["merge", spec, spec, "-o", out / "merged"],
            ["plan", spec, out / "planned", "-o", out / "x.plan"], ["convert", spec, out / "converted"],
            ["convert", "--json", spec, out / "converted2"], ["convert", "--dry-run", spec, out / "converted3"],
            ["convert", spec, out / "converted4", "--on-error", "skip"], ["cache", "list"]]


@pytest.mark.parametrize(("spelling", "is_there"), [(SPELLINGS[0], True), (SPELLINGS[3], True), (SPELLINGS[0], False)])
def test_no_command_shows_it(bale, served, tmp_path, spelling, is_there):
    path = "foreign.tar" if is_there else "missing.tar"
    spec = spelling.format(secret=SECRET, host=served.url.partition("//")[2], path=path)
    out = tmp_path / "out"
    out.mkdir()
    env = {**clean_environment(tmp_path / "cache"), "BALE_NETWORK_TIMEOUT": "5"}
    good = 0
    for words in commands(spec, out):
        good += is_clean(bale(*words, env=env), words).code == 0
    assert (good > 20) == is_there
    for name, content in tree_bytes(out).items():
        mode = stat.S_IMODE((out / name).stat().st_mode)
        assert SECRET.encode() not in content or (name.endswith(".plan") and mode == 0o600), name
    if is_there:
        assert stat.S_IMODE((out / "x.plan").stat().st_mode) == 0o600  # its text is compressed
        bale.ok("plan", tmp_path / "www" / "foreign.tar", out / "p", "-o", out / "local.plan")
        assert stat.S_IMODE((out / "local.plan").stat().st_mode) != 0o600


ODD_SPELLINGS = [*SPELLINGS, "https:/user:{secret}@{host}/{path}", "http://user:1{secret}/a@{host}/{path}", "ftp://user:{secret}@{host}/{path}",
                 "s3://user:{secret}@bucket/{path}", "s3://bucket/{path}?token={secret}", "hf://user:{secret}@datasets/{path}",
                 "http://{host}/a b/{path}?sig={secret}", "pipe:curl -u user:{secret} http://{host}/{path}"]


def spelled_oddly(spelling):
    return spelling.format(secret=SECRET, host="127.0.0.1:9", path="x.tar")


@pytest.mark.parametrize("spelling", ODD_SPELLINGS)
def test_no_error_shows_it_however_it_is_written(bale, tmp_path, spelling):
    spec = spelled_oddly(spelling)
    env = {**clean_environment(tmp_path / "cache"), "BALE_NETWORK_TIMEOUT": "1"}
    for words in (["inspect", spec], ["ls", f"{spec}::{spec}"], ["pack", tmp_path, spec], ["extract", tmp_path, spec]):
        result = is_clean(bale(*words, env=env), words)
        assert result.code != 0, (words, result)


def test_no_error_in_python_shows_it_however_it_is_written(tmp_path):
    printed = run_script("""
        import sys, bale
        for spec in sys.argv[1:]:
            for call in (bale.Loader, lambda spec: bale.Dataset([spec, spec])):
                try:
                    call(spec)
                except (bale.Error, ValueError) as error:
                    print(repr(error), error)
                else:
                    raise SystemExit("no error")
    """, *map(spelled_oddly, ODD_SPELLINGS), **{**clean_environment(tmp_path / "cache"), "BALE_NETWORK_TIMEOUT": "1"})
    assert SECRET not in printed and printed.count("\n") >= 2 * len(ODD_SPELLINGS)


def test_no_repr_in_python_shows_it(served, tmp_path):
    spec = SPELLINGS[0].format(secret=SECRET, host=served.url.partition("//")[2], path="packed")
    printed = run_script("""
        import sys, warnings
        import bale
        warnings.simplefilter("always")
        dataset = bale.Dataset(sys.argv[1])
        loader = bale.Loader(sys.argv[1], 4, workers=1)
        next(iter(loader))
        print(repr(dataset), dataset._repr_html_(), repr(loader), loader._repr_html_(), loader.state_dict(), loader.bad_samples)
        print(repr(bale.open_file(sys.argv[1] + "/x-000000.tar")), repr(dataset.show(2)), dataset.notices)
        assert bale.Dataset(dataset.spec)[0] == dataset[0]
        try:
            dataset.read_field(0, "none")
        except bale.Error as error:
            print(error)
        loader.close()
    """, spec, **clean_environment(tmp_path / "cache"))
    assert SECRET not in printed and "***@" in printed


@pytest.mark.parametrize("proxy", ["http://user:{}@[bad", "user:{}@host name:1", "nonsense://user:{}@host:1", "http://user:{}@127.0.0.1:9",
                                   "user:{}@127.0.0.1:99999999"])
def test_a_malformed_proxy_does_not_show_its_password(bale, tmp_path, proxy):
    env = {**clean_environment(tmp_path / "cache"), "no_proxy": "", "http_proxy": proxy.format(SECRET), "BALE_NETWORK_TIMEOUT": "1"}
    result = is_clean(bale("inspect", "http://example.invalid/x.tar", env=env), proxy)
    assert result.code != 0 and (result.code == 5) == (proxy == "http://user:{}@127.0.0.1:9"), result


def test_a_long_name_makes_a_short_line(bale, photos, tmp_path):
    bale.pack(photos, tmp_path / "packed", "--name", "x")
    path = tmp_path / "packed" / "manifest.json"
    for name in ("n" * 5000, "\n" * 3000, "a/" * 2500, "http://user:pw@h/" + "u" * 5000, "x-\u00e9" * 2000):
        manifest = json.loads(path.read_text())
        manifest.pop("checksum", None)
        manifest["shards"][0]["file"] = name
        path.write_text(json.dumps(manifest))
        for command in ("inspect", "verify", "ls", "stats"):
            result = bale(command, tmp_path / "packed")
            lines = (result.err + result.out).splitlines()
            assert result.code in (1, 3) and max(map(len, lines)) < 1500 and len(lines) <= 5, (name[:9], result)
        text = run_script("""
            import sys, bale
            try:
                bale.Dataset(sys.argv[1])[0]
            except bale.Error as error:
                print(error)
        """, tmp_path / "packed")
        assert 0 < len(text) < 1500 and text.count("\n") == 1
