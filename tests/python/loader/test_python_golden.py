"""Loader states that earlier versions saved continue where they were, or are refused by name."""
import json

import pytest
from golden_support import GOLDEN, VERSIONS, make_golden

CASES = [(version, number) for version in VERSIONS for number in range(len(make_golden.state_options()))]


@pytest.mark.parametrize("version, number", CASES)
def test_states_continue(version, number):
    saved = json.loads((GOLDEN / version / "loader_states.json").read_text())[number]
    with make_golden.open_loader(GOLDEN / version / "tar.plain", saved["options"]) as loader:
        loader.load_state_dict(saved["state"])
        assert make_golden.batch_digests(iter(loader)) == saved["rest"]
