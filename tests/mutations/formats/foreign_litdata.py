"""Mutations of what is promised for LitData's chunks."""
from mutations.mutation import Mutation


def foreign(name):
    return ("python", "tests/python/interop/test_foreign_litdata.py", "-k", name)


MUTATIONS = [
    Mutation("a listed chunk that is missing is not noticed", "formats/litdata/format.cpp",
             "    if (remote_storage_of(directory) == nullptr &&", "    if (remote_storage_of(directory) != nullptr &&", foreign("missing_or_of_another")),
    Mutation("a chunk of another dataset is read", "formats/litdata/format.cpp",
             "    check_against_list(chunk, config, path, packing);\n", "", foreign("missing_or_of_another")),
]
