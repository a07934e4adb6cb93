"""Mutations of what is promised for Parquet, Arrow, and what is written for others."""
from mutations.mutation import Mutation


def parquet(name):
    return ("python", "tests/python/parquet/test_python_parquet.py", "-k", name)


def faults(name):
    return ("python", "tests/python/parquet/test_python_parquet_faults.py", "-k", name)


def sinks(name):
    return ("python", "tests/python/parquet/test_python_sinks.py", "-k", name)


MUTATIONS = [
    Mutation("a table without its last rows is packed", "python/bale/parquet/_samples.py",
             "        if self._expected is not None and first != self._expected:\n", "        if False:\n", faults("too_few_rows")),
    Mutation("an Arrow stream that was cut between two batches is packed", "python/bale/parquet/_tables.py",
             "    if not file.read().endswith(_END_OF_STREAM):\n", "    if False:\n", faults("was_cut_off")),
    Mutation("checksums of Parquet's pages are not compared", "python/bale/parquet/_tables.py",
             "page_checksum_verification=True", "page_checksum_verification=False", faults("named_by_file_and_row_group")),
    Mutation("rows that are there are given again when a pack is resumed", "python/bale/parquet/_tables.py",
             "                yield Rows(at + skipped, batch.slice(skipped))\n", "                yield Rows(at, batch)\n", faults("resumed")),
    Mutation("a column is lost if its values are not keys", "python/bale/parquet/_samples.py",
             "                if are_keys(self._tables, [name] * len(self._tables), key_of_text):\n", "                if True:\n", parquet("test_keys")),
    Mutation("a Parquet file of a numbered set may be missing", "python/bale/parquet/_found.py",
             "        if missing:\n", "        if False:\n", faults("set_is_missing")),
    Mutation("files have their names before they are durable", "python/bale/_export/atomic_dir.py",
             "            _sync(os.path.join(staged, name))\n", "            pass\n", sinks("durable")),
    Mutation("an overwritten directory may have other files", "python/bale/_export/atomic_dir.py",
             "        if replaces is not None and (not replaces(name) or ", "        if replaces is not None and (", sinks("nothing_else")),
    Mutation("an overwrite removes the old files before the new ones have their names", "python/bale/_export/atomic_dir.py",
             "            _exchange(staged, target)\n", "            shutil.rmtree(target)\n            os.rename(staged, target)\n",
             sinks("loses_nothing")),
    Mutation("MDS has no names of classes", "python/bale/_export/mds.py", 'return {"classes": texts} if texts else {}', "return {}",
             sinks("names_of_classes")),
    Mutation("keys of files are encoded again", "python/bale/_export/parquet_files.py", "        if _bale.encode_key(name) != key:\n",
             "        if True:\n", sinks("dots_stay")),
    Mutation("structs of bytes alone are not images", "python/bale/parquet/_kinds.py", '(has_path or "path" not in members or ',
             "(has_path or ", parquet("other_writers")),
    Mutation("a field that a sample lacks is left out of MDS", "python/bale/_export/mds.py",
             "        _require_all(dataset, [names for _, names in sets], images, others)\n", "", sinks("cannot_hold")),
]
