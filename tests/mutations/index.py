"""Mutations of what the index promises."""
from mutations.mutation import Mutation

MUTATIONS = [
    Mutation("keys of one hash are searched one after another", "formats/core/shard_index.cpp",
             "  return version_ == k_index_version_1 ? 0 : key(row.sample).compare(wanted);", "  return 0;",
             ("core", "Keys made to have one hash*")),
    Mutation("keys of one hash are in no order", "formats/core/index_builder.cpp",
             "    return compared != 0 ? compared < 0 : a.sample < b.sample;", "    return a.sample < b.sample;",
             ("core", "Keys made to have one hash*")),
    Mutation("an index may place a field beyond any file", "formats/core/shard_index.cpp",
             "    if (fields_[field].located && extent.offset > k_max_offset) fail_damaged", "    if (false) fail_damaged",
             ("core", "An index that places*")),
    Mutation("fields set in another order than declared are mixed up", "formats/core/index_builder.cpp",
             "  std::sort(out.begin() + begin, out.end(),\n            [](const FieldExtent& a, const FieldExtent& b) { return a.field < b.field; });\n",
             "", ("core", "A sample's fields may be set in any order*")),
    Mutation("an index of version 1 is read as one of version 2", "formats/core/shard_index.cpp",
             "  const bool first_version = version_ == k_index_version_1;", "  const bool first_version = false;",
             ("core", "An index of version 1*")),
]
