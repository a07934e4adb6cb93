"""Versions in Python: datasets by name, and states that say what they saw."""
import multiprocessing
import pickle
import shutil

import numpy as np
import pytest
from torch_support import torch  # noqa: F401 - a fixture
from version_support import versions  # noqa: F401 - a fixture

import bale as bl

OPTIONS = {"batch_size": 2, "workers": 0, "transform": bl.transforms.val(16, resize=16), "seed": 3}


def loader_of(spec, **options):
    return bl.Loader(spec, **{**OPTIONS, **options})


def test_datasets_have_versions(versions):
    for spec, expected in ((versions.old, versions.first), (versions.packed, versions.second),
                           (f"{versions.packed}@{versions.first}", versions.first)):
        dataset = bl.Dataset(spec)
        assert dataset.version == pickle.loads(pickle.dumps(dataset)).version == expected
    earlier = bl.Dataset(f"{versions.packed}@{versions.first}")
    assert list(earlier.keys) == list(bl.Dataset(versions.old).keys)
    assert earlier[0] == bl.Dataset(versions.old)[0]


def test_versions_are_listed_and_pruned(versions, tmp_path):
    out = shutil.copytree(versions.packed, tmp_path / "out")
    listed = bl.versions(out)
    assert [version["version"] for version in listed] == [versions.second, versions.first]
    assert listed[0]["change"] == {"verb": "add", "samples": 6, "message": "week 48"} and listed[1]["samples"] == 6
    assert bl.versions(f"{out}@{versions.first}") == listed[1:]
    with pytest.raises(ValueError, match="less than 14 days ago"):
        bl.prune(out, 1)
    assert bl.prune(out, [2], force=True)["pruned"] == bl.prune(out, versions.first, force=True)["pruned"] == []
    assert bl.prune(out, 1, force=True, dry_run=True)["pruned"] == [versions.first] and bl.versions(out) == listed
    report = bl.prune(out, 1, force=True)
    assert (report["kept"], report["pruned"], report["files"]) == ([versions.second], [versions.first], 1)
    assert bl.versions(out) == listed[:1]
    with pytest.raises(bl.Error, match="has no versions"):
        bl.versions(tmp_path / "none")


def test_a_state_continues_on_its_version_at_any_world_size(versions):
    """Saved on what is now the earlier version. The rest of the epoch is the same on 1, 2 and 3 ranks."""
    with loader_of(versions.old) as loader:
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        rest = np.concatenate([batch.images.copy() for batch in batches])
    assert state["dataset"] == versions.first
    for world_size in (1, 2, 3):
        seen = []
        for rank in range(world_size):
            with loader_of(f"{versions.packed}@{versions.first}", batch_size=1, rank=rank, world_size=world_size, tail="uneven") as loader:
                loader.load_state_dict(state)
                seen.append([batch.images.copy()[0] for batch in loader if batch.mask[0]])
        dealt = [images[n] for n in range(len(rest)) for images in seen if n < len(images)]
        assert np.array_equal(np.stack(dealt), rest)


def test_a_state_of_another_version_is_refused_with_what_to_do(versions):
    with loader_of(versions.old) as loader:
        next(iter(loader))
        state = {**loader.state_dict(), "epoch": 7}
    with loader_of(versions.packed) as loader, pytest.raises(ValueError) as refused:
        loader.load_state_dict(state)
    message = str(refused.value)
    spec = f"{versions.packed}@{versions.first}"
    assert f"this state saw {spec} (now {versions.second})" in message
    assert f"open {spec} to continue, or start epoch 7 of the new version with set_epoch(7)" in message
    with loader_of(f"{versions.packed}@{versions.second}") as loader, pytest.raises(ValueError, match="this state saw"):
        loader.load_state_dict(state)
    with loader_of(versions.packed) as loader:  # as the message says
        loader.set_epoch(7)
        assert len(list(loader)) == 6


def test_a_state_of_another_dataset_is_refused(versions):
    with loader_of(versions.new) as loader:
        state = loader.state_dict()
    with loader_of(versions.packed) as loader, pytest.raises(ValueError, match=f"another dataset.*{state['dataset']}"):
        loader.load_state_dict(state)


def test_states_without_a_version_load(versions):
    with loader_of(versions.old) as loader:
        next(iter(loader))
        state = loader.state_dict()
        del state["dataset"]
        loader.load_state_dict(state)
        assert loader.state_dict()["position"] == 2
    with loader_of(versions.packed) as loader, pytest.raises(ValueError, match="another dataset, selection"):
        loader.load_state_dict(state)


def publish(versions, directory):
    """What `old` became, at `directory`."""
    shutil.copytree(versions.packed, directory, dirs_exist_ok=True)


def version_of_pickled(text):
    dataset = pickle.loads(text)
    return dataset.version, len(dataset)


def test_other_processes_stay_at_the_version_that_was_opened(versions, tmp_path):
    shutil.copytree(versions.old, tmp_path / "packed")
    dataset = bl.Dataset(tmp_path / "packed")
    with loader_of(tmp_path / "packed") as loader:
        publish(versions, tmp_path / "packed")
        for method in ("fork", "spawn"):
            with multiprocessing.get_context(method).Pool(1) as pool:
                assert pool.apply(version_of_pickled, (pickle.dumps(dataset),)) == (versions.first, 6)
        assert len(next(iter(loader)).keys) == 2  # which the Loader's Dataset opens now
        assert len(loader) == 3
    assert len(bl.Dataset(tmp_path / "packed")) == 12


def require_images(loader, expected):
    assert np.array_equal([batch.images.copy() for batch in loader], expected)


def test_loaders_stay_at_the_version_that_was_opened(versions, tmp_path):
    """Pickled, made of a Dataset, made again after a fork, and as sources of a mixture: never another version."""
    packed = shutil.copytree(versions.old, tmp_path / "packed")
    dataset = bl.Dataset(packed)
    mixed = {"shares": {"a": 1, "b": 1}, "epoch_samples": 8, "exact_every": 2}
    with loader_of(packed) as loader, loader_of(dataset) as of_dataset, \
            loader_of({"a": packed, "b": versions.new}, **mixed) as mixture, loader_of([packed, versions.new]) as several:
        pickled = {name: pickle.dumps(one) for name, one in (("path", loader), ("dataset", of_dataset), ("mixture", mixture), ("list", several))}
        expected = [batch.images.copy() for batch in pickle.loads(pickled["path"])]
        in_mixture = [batch.images.copy() for batch in pickle.loads(pickled["mixture"])]
        publish(versions, packed)
        process = multiprocessing.get_context("fork").Process(target=require_images, args=(loader, expected))
        process.start()
        process.join()
        assert process.exitcode == 0
        assert np.array_equal([batch.images.copy() for batch in pickle.loads(pickled["path"])], expected)
        assert np.array_equal([batch.images.copy() for batch in pickle.loads(pickled["dataset"])], expected)
        assert np.array_equal([batch.images.copy() for batch in pickle.loads(pickled["mixture"])], in_mixture)
        with pytest.raises(ValueError, match="saw version"):
            pickle.loads(pickled["list"])
    with loader_of(dataset) as loader:
        assert np.array_equal([batch.images.copy() for batch in loader], expected)
    with loader_of(packed) as loader:
        assert len(loader) == 6


def require_changed(loader):
    with pytest.raises(bl.errors.ChangedError, match="make the Loader again"):
        next(iter(loader))


def test_what_has_no_version_is_an_error_if_it_grew(versions, tmp_path):
    """The shards that were there are the same, so only their number tells."""
    packed = shutil.copytree(versions.old, tmp_path / "packed")
    dataset = bl.Dataset([versions.new, packed])
    with loader_of([versions.new, packed]) as loader:
        pickle.loads(pickle.dumps(dataset))
        publish(versions, packed)
        with pytest.raises(bl.errors.ChangedError, match="open the dataset again"):
            pickle.loads(pickle.dumps(dataset))
        process = multiprocessing.get_context("fork").Process(target=require_changed, args=(loader,))
        process.start()
        process.join()
        assert process.exitcode == 0


def test_streams_and_samples_by_position(torch, versions):  # noqa: F811
    torch("""
    import sys, bale
    from bale.torch import Dataset, IterableDataset
    OLD, PACKED = sys.argv[1:]
    old = IterableDataset(OLD, seed=3)
    next(iter(old))
    state = old.state_dict()
    assert state["dataset"] == bale.Dataset(OLD).version
    IterableDataset(f"{PACKED}@{state['dataset']}", seed=3).load_state_dict(state)
    raises(ValueError, f"@{state['dataset']} (now {bale.Dataset(PACKED).version})",
           lambda: IterableDataset(PACKED, seed=3).load_state_dict(state))
    state = Dataset(OLD).state_dict()
    assert state == {"dataset": bale.Dataset(OLD).version}
    Dataset(f"{PACKED}@{state['dataset']}").load_state_dict(state)
    raises(ValueError, f"@{state['dataset']} to continue, or begin without the state", lambda: Dataset(PACKED).load_state_dict(state))
    """, versions.old, versions.packed)


def test_add(versions, tmp_path):
    shutil.copytree(versions.old, tmp_path / "packed")
    report = bl.add(tmp_path / "packed", versions.root / "files" / "newer", message="week 48", jobs=2)
    assert (report["samples"], report["version"], report["parent"]) == (6, versions.second, versions.first)
    assert bl.Dataset(tmp_path / "packed").version == versions.second
    with pytest.raises(ValueError, match="skip_existing"):
        bl.add(tmp_path / "packed", versions.root / "files" / "newer")
    assert bl.add(tmp_path / "packed", versions.root / "files" / "newer", skip_existing=True)["existing"] == 6
    with pytest.raises(TypeError, match="overwrite"):
        bl.add(tmp_path / "packed", versions.old, overwrite=True)
    with pytest.raises(bl.Error, match="no manifest.json"):
        bl.add(tmp_path, versions.old)


def test_a_loader_that_runs_sees_its_version(versions, tmp_path):
    """Workers too: an epoch that began before the dataset was added to ends as it would have."""
    shutil.copytree(versions.old, tmp_path / "packed")
    for workers in (0, 2):
        shutil.rmtree(tmp_path / "packed")
        shutil.copytree(versions.old, tmp_path / "packed")
        with loader_of(versions.old, workers=workers) as loader:
            expected = [[batch.images.copy() for batch in loader] for _ in range(2)]
        with loader_of(tmp_path / "packed", workers=workers) as loader:
            batches = iter(loader)
            seen = [next(batches).images.copy()]
            bl.add(tmp_path / "packed", versions.root / "files" / "newer")
            seen += [batch.images.copy() for batch in batches]
            assert np.array_equal(np.concatenate(seen), np.concatenate(expected[0]))
            again = np.concatenate([batch.images.copy() for batch in loader])
            assert np.array_equal(again, np.concatenate(expected[1])) and not loader.bad_samples
