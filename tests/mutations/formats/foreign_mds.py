"""Mutations of what is promised for MosaicML's shards."""
from mutations.mutation import Mutation


def foreign(name):
    return ("python", "tests/python/interop/test_foreign_mds.py", "-k", name)


MUTATIONS = [
    Mutation("a listed shard that is missing is lost silently", "formats/mds/format.cpp",
             "!= nullptr || is_there(directory, raw)) return raw.name", "!= nullptr || true) return raw.name", foreign("missing_or_cut")),
    Mutation("merged directories of MDS may have different classes", "reader/spec/shard_directory.cpp",
             "      if (seen.size() > 1 && own != classes) {\n", "      if (false) {\n",
             ("python", "tests/python/parquet/test_python_sinks.py", "-k", "names_of_classes")),
    Mutation("MDS lists shards of any directory", "formats/mds/format.cpp",
             "contained_name(listed.name) != listed.name", "false", foreign("merged")),
    Mutation("a compressed shard of another size than listed is read", "formats/mds/format.cpp",
             "if (bytes && *bytes != file.bytes) {", "if (false) {", foreign("compressed_shard_that_is_missing")),
    Mutation("pickles of MDS are delivered without a word", "formats/container/reading/column_scan.hpp",
             "    index_.notices().warn(fmt::format(\"column", "    if (false) index_.notices().warn(fmt::format(\"column",
             foreign("every_encoding")),
]
