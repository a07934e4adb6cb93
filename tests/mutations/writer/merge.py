"""Mutations of what merging datasets and the parts of Writers promises."""
from mutations.mutation import Mutation

MERGE = ("python", "tests/python/writer/test_merge.py", "-k")
PARTS = ("python", "tests/python/stream/test_python_writer_parts.py", "-k")

MUTATIONS = [
    Mutation("a shard whose classes get other numbers is copied", "writer/merge/merge_shards.cpp",
             "    return false;\n  }\n\n  /// Some", "    return true;\n  }\n\n  /// Some", (*MERGE, "other_numbers")),
    Mutation("a copy is not compared with its digest", "writer/shard/shard_copy.cpp",
             "  if (digest_text(stream.digest()) != copy.shard.digest) refuse", "  if (false) refuse", (*MERGE, "damage")),
    Mutation("a shard that was only stopped hides the failure", "formats/base/system/threads.cpp", "        if (failure) return;\n", "",
             ("parallel", "A piece that is stopped*")),
    Mutation("equal keys of two datasets are not looked for", "writer/merge/merge_shards.cpp",
             "    if (const auto repeated = find_repeated_key(shards_.size(), keys_of)) {",
             "    if (const auto repeated = find_repeated_key(0, keys_of)) {", (*MERGE, "conflicts")),
    Mutation("parts are removed before the dataset is complete", "writer/merge/merge_writer_parts.cpp",
             "  const std::vector<FinishedDataset> datasets = load_finished(directories);\n",
             "  const std::vector<FinishedDataset> datasets = load_finished(directories);\n  if (datasets.empty()) return report;\n  remove_writer_parts(destination, \"x\");\n",
             (*PARTS, "merge_that_is_killed")),
    Mutation("a merge forgets that it was removing parts", "writer/merge/merge_writer_parts.cpp",
             "    if (merged != manifest.plan) return std::nullopt;\n", "    return std::nullopt;\n", (*PARTS, "merge_that_is_killed")),
]
