"""Mutations of what sources and the policy for bad samples promise."""
from mutations.mutation import Mutation

SHARDS = ("python", "tests/python/test_damaged_shards.py", "-k")
KINDS = ("python", "tests/python/test_source_kinds.py", "-k")
QUARANTINE = ("python", "tests/python/test_quarantine.py", "-k")

MUTATIONS = [
    Mutation("a quarantined file takes another's place", "writer/quarantine.cpp",
             "    if (!name_is_taken(path)) {\n", "    if (number > 0) {\n", (*QUARANTINE, "takes_the_place")),
    Mutation("quarantine follows links", "writer/quarantine.cpp",
             "if (::lstat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {",
             "if (::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {", (*QUARANTINE, "a_link_in_the_way")),
    Mutation("the ledger does not name the quarantined file", "writer/ledger.cpp",
             '  for (const std::string& copy : sample.quarantined) line["quarantined"].push_back(bytes_to_json(copy));\n',
             "", (*QUARANTINE, "every_bad_file")),
    Mutation("only a sample's image is quarantined", "writer/source/file_source.cpp",
             "if (const FileRow* beside = companion(i, which)) files.push_back(file_of(*beside));", "",
             (*QUARANTINE, "every_file_of_a_sample")),
    Mutation("a resumed run may change its policy", "writer/packer.cpp",
             "      require_same_policy(finished);\n", "", (*QUARANTINE, "keeps_its_policy")),
    Mutation("a quarantined file that is gone is not missed", "writer/packer.cpp",
             "    if (!has_its_quarantined_files(finished)) return false;\n", "", (*QUARANTINE, "copy_that_is_gone")),
    # Sources that are damaged or cannot be read.
    Mutation("a sample that lost a field to damage is taken", "formats/registry/shard_salvage.cpp",
             "    complete[last] = last > 0 && fields_of(index, last) == fields_of(index, last - 1);\n", "",
             (*SHARDS, "damaged_header")),
    Mutation("a shard that is lost is in no ledger", "writer/packer.cpp",
             "      if (report.outputs.empty()) {", "      if (!report.outputs.empty()) {", (*SHARDS, "no_shard")),
    Mutation("a shard without its index's size is believed without checksums", "formats/registry/shard_salvage.cpp",
             "  if (file_bytes != index.shard_bytes()) {\n", "  if (file_bytes == 0) {\n", (*SHARDS, "truncated and ours")),
    Mutation("an excluded directory is opened", "writer/source/folder_walk.cpp",
             "} else if (rules_.excluded && rules_.excluded(child)) {", "} else if (false) {", (*KINDS, "unreadable")),
    Mutation("a directory that cannot be read is in no ledger", "writer/source/folder_walk.cpp",
             "      losses_.push_back({.path = next.path, .why = error.what()});\n", "", (*KINDS, "unreadable")),
    Mutation("links between folders are followed without end", "writer/source/folder_walk.cpp",
             "  if (node.repeated) return true;\n", "", (*KINDS, "link_to_each_other")),
    Mutation("an error names a temporary file", "writer/shard_job.cpp",
             "    if (!context.path.starts_with(job.staged_path)) throw;\n", "    throw;\n", (*KINDS, "failed_write")),
    Mutation("an error does not name the sample that does not fit", "writer/shard_job.cpp",
             "      if (error.code() != ErrorCode::invalid_argument) throw;\n", "      throw;\n", (*KINDS, "does_not_fit")),
    Mutation("a manifest's text is taken for whatever it is", "formats/base/json_bytes.cpp",
             '  if (!value.is_string()) throw Error(ErrorCode::damaged, fmt::format("{} is not text", what));\n', "",
             ("python", "tests/python/test_json_errors.py")),
    Mutation("images that the loader does not decode are not counted", "writer/shard_job.cpp",
             "    note_kind(sample);\n", "", (*KINDS, "cannot_decode")),
    Mutation("what was done to the images of merged datasets is forgotten", "writer/source/packed_source.cpp",
             "{ return dataset_.edits(); }", "{ return {}; }",
             ("python", "tests/python/test_several_datasets.py", "-k", "what_was_done")),
]
