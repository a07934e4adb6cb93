"""What a message advises can be done with the command that prints it."""
import re
import resource
import subprocess

import pytest
from conftest import PROGRAM, REPO, flip

USAGE = 2

FLAG = r"(?<![\w/-])--[a-z][a-z0-9-]*"

COMMANDS = re.findall(r"^\.SS (\w+)$", subprocess.run([PROGRAM, "man"], capture_output=True, text=True, check=True).stdout, re.M)
HELP = {command: subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True, check=True).stdout for command in COMMANDS}


def options_of(command, value=""):
    return set(re.findall(rf"^  (?:-\w, |    )({FLAG}){value}", HELP[command], re.M))


OPTIONS = {command: options_of(command) for command in COMMANDS}
VALUES = {command: options_of(command, r" \S") for command in COMMANDS}
COMMAND_LINE = re.compile(r"\bbale ([a-z]+)([^`<|),;\n]*)")
OTHER_PROGRAM = re.compile(r"`(?!bale )[^`]* [^`]*`|sbatch --array=\S*|scripts/\S+ --json|aws configure .*")

# Commands of the files that are not named after their command. Every other file may name flags of none.
FILES = {"writer/request/pack_request.cpp": ["pack", "plan"], "tools/commands/packing/packing.cpp": ["pack"],
         "tools/commands/survey/survey_commands.cpp": ["dedup"],
         "tools/measure/verdicts/doctor_verdict.cpp": ["doctor"],
         "tools/measure/verdicts/tune_verdict.cpp": ["tune", "bench"], "tools/measure/step/dummy_step.cpp": ["bench", "doctor"],
         "tools/report/html/survey_page.cpp": ["report"], "tools/report/text/survey_report.cpp": ["pack", "plan", "convert"],
         "writer/versions/rewrite.cpp": ["remove"]}


def literals(path):
    text = re.sub(r"^\s*(//|///).*$", "", path.read_text(), flags=re.M)
    text = re.sub(r'"\s*\n\s*"', "", text)  # of one message
    return re.findall(r'"((?:\\.|[^"\\\n])*)"', text)


def sources():
    for room in ("formats", "reader", "writer", "loader", "tools"):
        for path in sorted((REPO / room).rglob("*.cpp")):
            name = str(path.relative_to(REPO))
            if not name.startswith(("tools/cli/", "tools/help/")) and path.name != "page_style.cpp":
                yield name, path


def missing_options(text, commands):
    """Flags in a text that a command line in it, or one of `commands`, does not have."""
    missing = [f"bale {line[1]} {flag}" for line in COMMAND_LINE.finditer(text) if line[1] in OPTIONS
               for flag in re.findall(FLAG, line[2]) if flag not in OPTIONS[line[1]]]
    rest = OTHER_PROGRAM.sub("", COMMAND_LINE.sub("", text))
    return missing + [flag for flag in re.findall(FLAG, rest)
                      if not commands or any(flag not in OPTIONS[command] for command in commands)]


def test_every_flag_in_a_message_is_one_of_the_command():
    """A library names options in backticks; only a command, about itself, may name flags."""
    wrong = {}
    for name, path in sources():
        commands = FILES.get(name, [path.stem] if name.startswith("tools/commands/") and path.stem in OPTIONS else [])
        missing = [entry for text in literals(path) for entry in missing_options(text, commands)]
        if missing:
            wrong[name] = missing
    assert wrong == {}
    assert missing_options("run `bale index --sidecar x`, or give --quiet", ["stats"]) == ["bale index --sidecar", "--quiet"]


def test_every_option_in_backticks_exists():
    python = "\n".join(path.read_text() for path in (REPO / "python" / "bale").rglob("*.py"))
    flags = set().union(*OPTIONS.values())
    names = {(name, word) for name, path in sources() for text in literals(path) for word in re.findall(r"`([a-z0-9_]+)`", text)}
    assert len(names) > 50
    assert [(name, word) for name, word in sorted(names)
            if "--" + word.replace("_", "-") not in flags and not re.search(rf"\b{word}\b *[:=]", python)] == []


@pytest.fixture(scope="module")
def places(bale, tiny, tmp_path_factory):
    root = tmp_path_factory.mktemp("hints")
    image = next(tiny.rglob("*.JPEG")).read_bytes()
    for name in ("twice/c/a.jpg", "twice/c/a.png", "empty/c/a.jpg", "text/c/a.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(image)
    (root / "empty" / "d").mkdir()
    (root / "table.csv").write_text("x,y\n1,2\n")
    (root / "nul").write_bytes(b"c/a.jpg\0c/b.jpg\0")
    (root / "lines").write_bytes(b"c/a.jpg\nc/b.jpg\n")
    (root / "mine").write_text("mine")
    bale.pack(tiny, root / "packed", "--name", "x")
    bale.pack(tiny, root / "other", "--name", "x")
    bale.ok("extract", root / "packed", root / "files")
    (root / "mine.html").write_text("mine")
    for path in (root / "files").rglob("*.jpg"):
        path.write_bytes(b"mine")
    return root


@pytest.mark.parametrize("line", [
    "pack TINY packed", "convert other packed", "plan TINY packed -o p", "merge packed other -o packed",
    "pack twice out", "plan twice out -o p", "diff twice twice", "report twice", "dedup twice",
    "pack empty out", "diff empty packed", "plan empty out -o p", "pack table.csv out", "diff table.csv packed", "report table.csv", "dedup table.csv",
    "pack text out", "report text", "pack packed out --flat", "pack TINY out --format nope", "convert packed out --format nope",
    "pack TINY out --decode --format recordio", "convert packed out --compress zstd --decode", "pack --files-from nul out",
    "pack --files-from lines -0 out", "extract packed files", "preview packed mine", "preview packed mine.html",
    "plan TINY out -o mine", "report packed -o mine", "dedup packed -o mine", "bench packed --html mine", "doctor packed --html mine",
    "cat packed nothing", "index packed --sidecars nope", "verify nothing", "stats nothing", "pack TINY s3://b/c --staging-dir nowhere",
])
def test_no_advice_names_an_option_of_another_command(bale, places, tiny, line):
    command, *rest = [str(tiny) if word == "TINY" else word for word in line.split()]
    result = bale(command, *rest, cwd=places, env={"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "BALE_NETWORK_TIMEOUT": "1"})
    shown = result.err.replace(str(places), "")
    assert missing_options(shown, [command]) == [] and not re.search(r"`[a-z0-9_]+`", shown), shown
    assert "memory" not in shown


def test_a_list_that_is_separated_in_the_other_way(bale, places):
    forgotten = bale("pack", "--files-from", "nul", "out", "--dry-run", cwd=places)
    assert forgotten.code == 2 and forgotten.error_line().endswith("give --null")
    given = bale("pack", "--files-from", "lines", "--null", "out", "--dry-run", cwd=places)
    assert given.code == 2 and given.error_line().endswith("leave --null out")


@pytest.mark.parametrize("limit", range(4, 8))
def test_too_many_open_files_are_not_a_reason_to_leave_files_out(places, tiny, limit):
    """Wherever the limit is met: no file is at fault."""
    done = subprocess.run([PROGRAM, "pack", tiny, places / f"full{limit}"], capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
    assert done.returncode != 0 and "--exclude" not in done.stderr and "--on-error" not in done.stderr
    assert "Too many open files" in done.stderr and "`ulimit -Hn`" in done.stderr


def test_a_sample_that_cannot_be_decoded_is_named_once(bale, tiny, tmp_path):
    """The reason of a bad sample is the line of an error, with path and key."""
    bale.pack(tiny, tmp_path / "packed", "--name", "x")
    shard = tmp_path / "packed" / "x-000000.tar"
    flip(shard, shard.read_bytes().index(b"\xff\xd8") + 200)
    lines = [line for command in (["bench", "--stages", "train", "--epochs", "1"], ["tune", "--seconds-per-setting", "0.01"],
                                  ["doctor", "--seconds", "0.01"])
             for line in bale(command[0], tmp_path / "packed", *command[1:], "--threads", "--batch", "2").err.splitlines()]
    assert len(lines) >= 2 and all(line.count(shard.name) == 1 and line.count("(key") == 1 for line in lines), lines


def test_an_empty_value_takes_no_other_word(bale, tiny, tmp_path):
    """As of a variable that is not set: --message=$WHY --dry-run."""
    out = tmp_path / "out"
    bale.pack(tiny, out, "--shuffle", "1", "--shard-samples=2")
    key, before = bale.ok("ls", out).out.splitlines()[0], (out / "manifest.json").read_bytes()
    for words in (["--message="], ["--message", ""], ["-m", ""], ["--message=--where="]):
        assert "would be removed" in bale.ok("remove", out, key, *words, "--dry-run").err
    assert (out / "manifest.json").read_bytes() == before
    for words in (["--shuffle=", "3"], ["--format=", "tar"], ["--exclude", "--name=", "--jobs=", "2"]):
        assert bale("pack", tiny, tmp_path / "new", *words).code == USAGE
    assert bale("ls", "--", "--key=").error_line().startswith("bale: --key=: no such file")
    bale.ok("remove", out, "--message", "--dry-run", "--", key)  # what comes after a name is its value, as for getopt
    assert "1 sample: --dry-run" in bale.ok("log", out).out


@pytest.mark.parametrize("command", [command for command in COMMANDS if VALUES[command]])
def test_an_empty_value_is_not_as_if_the_option_were_not_given(bale, command):
    """--exclude-from=$LIST of a variable that is not set left nothing out, without a word."""
    for option in VALUES[command] - {"--message"}:
        assert re.match(f"bale: {option}: .*(?:empty|\"\" is not)", bale(command, f"{option}=").error_line()), option
