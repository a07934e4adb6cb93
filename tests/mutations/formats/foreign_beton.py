"""Mutations of what is promised for FFCV's files."""
from mutations.mutation import Mutation


def foreign(name):
    return ("python", "tests/python/interop/test_foreign_beton.py", "-k", name)


MUTATIONS = [
    Mutation("a value of another sample is delivered", "formats/beton/format.cpp",
             " || found->sample != sample) return std::nullopt;", " || found->sample > ~sample) return std::nullopt;",
             foreign("damaged_metadata")),
    Mutation("allocations of a .beton share bytes", "formats/beton/format.cpp",
             "    if (before.bytes > sorted_[i].offset - before.offset) {", "    if (before.bytes == ~std::uint64_t{0}) {",
             foreign("damaged_allocation_table")),
    Mutation("an image of another size than its pixels is read", "formats/beton/format.cpp",
             "    if (value.bytes && *value.bytes != *bytes) {", "    if (value.bytes && *bytes == 0) {",
             foreign("damaged_metadata")),
    Mutation("JSON is delivered with FFCV's NUL", "formats/beton/format.cpp", "stored.length - 1, true)", "stored.length, true)",
             foreign("every_type_of_field")),
]
