"""Mutations of what is promised for tars of tars."""
from mutations.mutation import Mutation

MUTATIONS = [
    Mutation("errors in an inner archive have its own offsets", "formats/tar/reading/scanner.cpp",
             "                   .offset = extent.offset + error.context().offset.value_or(0),",
             "                   .offset = error.context().offset.value_or(0),",
             ("python", "tests/python/interop/test_foreign_nested_tar.py", "-k", "named_by_its_offset")),
]
