"""Mutations of what versions and adding to a dataset promise."""
from mutations.mutation import Mutation

ADD = ("python", "tests/python/versions/test_add.py", "-k")
LAYERS = ("python", "tests/python/versions/test_remove_and_set.py", "-k")

MUTATIONS = [
    Mutation("a version that another run published is replaced", "writer/publish/run_decision.cpp",
             "  if (version_id(current) != plan.base->id) throw other", "  if (false) throw other",
             ("python", "tests/python/versions/test_add_faults.py", "-k", "two_at_once")),
    Mutation("a new class gets the number of another", "reader/dataset/class_merge.cpp", "    if (is_new) classes_.push_back(name);\n",
             "    if (is_new) classes_.insert(classes_.begin(), name);\n", (*ADD, "keep_their_numbers")),
    Mutation("other bytes of the same key count as existing", "writer/add/addition.cpp",
             "field == nullptr || crc32c(field->bytes) != extent.crc32c", "field == nullptr", (*ADD, "is_compared")),
    Mutation("what was removed may be added again", "writer/add/addition.cpp", "  if (!rules_.allow_removed) {", "  if (false) {",
             (*LAYERS, "not_added_again")),
    Mutation("a change replaces the version of another run", "writer/run/version_stage.cpp", "  if (current.text == base.text) return;\n",
             "  if (!base.text.empty()) return;\n", ("python", "tests/python/versions/test_remove_and_set_faults.py", "-k", "two_at_once")),
    Mutation("a sample that an edit removed gets labels", "writer/change/layer_change.cpp", "      if (removes(shard, row)) continue;\n", "", ("writer", "an edit is one version*")),
    Mutation("of two values in an edit the earlier holds", "writer/change/layer_change.cpp",
             "rows.begin(), rows.end(), known.begin(), known.end()", "known.begin(), known.end(), rows.begin(), rows.end()",
             ("writer", "an edit is one version*")),
    Mutation("a kept manifest may be of any version", "reader/spec/version.cpp", "  if (version.id == id) return version;\n",
             "  if (!version.id.empty()) return version;\n",
             ("python", "tests/python/versions/test_versions.py", "-k", "another_version")),
    Mutation("pruning removes what another version needs", "writer/versions/prune.cpp", "      if (needed.contains(file)) continue;\n", "",
             ("python", "tests/python/versions/test_prune.py", "-k", "newest_stay")),
    Mutation("a shard that was rewritten before is not purged", "writer/versions/rewrite.cpp",
             "          purged.insert(shard.file);\n          break;\n", "          break;\n",
             ("python", "tests/python/versions/test_rewrite.py", "-k", "rewritten_before")),
    Mutation("a purge gives damaged values right checksums", "writer/versions/rewrite.cpp", "if (crc32c(value) != row.crc32c) {", "if (false) {",
             ("python", "tests/python/versions/test_rewrite.py", "-k", "keeps_no_damaged")),
    Mutation("a purge leaves values of the sample in a layer", "writer/versions/rewrite.cpp",
             "    if (!is_written(layer.shards()[number].shard)) left.push_back(number);", "    left.push_back(number);",
             ("python", "tests/python/versions/test_rewrite.py", "-k", "purge_writes")),
    Mutation("names of shards are used again", "writer/plan/plan.cpp", "load_manifest(path).shards) names.insert(shard.file);", "load_manifest(path).shards) names.erase(shard.file);",
             ("python", "tests/python/versions/test_rewrite.py", "-k", "never_used_again")),
    Mutation("shards of older versions are looked for in one place", "reader/spec/shard_place.cpp", "{directory, join_name(directory, k_versions_name)}",
             "{directory}", ("python", "tests/python/versions/test_rewrite.py", "-k", "only_touched")),
]
