"""Mutations of how other tools' containers are read, and of what containers cannot hold."""
from mutations.mutation import Mutation

HDF5 = ("python", "tests/python/test_foreign_hdf5.py")
KEYS = ("python", "tests/python/test_foreign_keys.py")
NAMES = ("python", "tests/python/test_field_names.py")
BETON = ("python", "tests/python/test_foreign_beton.py", "-k", "sizes")
TFRECORD = ("python", "tests/python/test_foreign_tfrecord.py")

MUTATIONS = [
    Mutation("a frame is taken for a raw one by its size", "formats/authoring/zstd_stream.cpp",
             "return found.memory == expected.memory ? expected.size : 0;", "return expected.size;",
             ("tar", "a frame that only has the size*")),
    Mutation("stored fields are not checked without an index", "formats/tar/reader.cpp",
             "index.has_checksums() ? FrameChecks::compressed : FrameChecks::all", "FrameChecks::compressed",
             ("tar", "a stored field has the index*")),
    Mutation("an array has room for skipped images", "formats/hdf5/array_writer.cpp",
             "labels_.size() != options_.plan.num_samples || labels_.empty()", "labels_.empty()",
             ("hdf5", "the same images give the same array*")),
    Mutation("rows that were never written are zeros", "formats/hdf5/chunks.cpp",
             "  if (num_written < needed) map.fill_ = fill_element(file, dataset);\n", "", (*HDF5, "-k", "fill_value")),
    Mutation("labels are truncated", "formats/hdf5/labels.cpp", " && value == std::floor(value);", ";",
             (*HDF5, "-k", "are_none")),
    Mutation("the first of several ones is the label", "formats/hdf5/labels.cpp", " || found) return std::nullopt;",
             ") return std::nullopt;", (*HDF5, "-k", "are_none")),
    Mutation("other datasets are dropped", "formats/hdf5/scan_foreign.cpp", "    add_columns();\n  }\n", "  }\n",
             (*HDF5, "-k", "every_dataset or named")),
    Mutation("edges without filters are inflated", "formats/hdf5/chunks.cpp",
             "    if (cut_edge && number == needed - 1) skipped = ~0U;\n", "", ("hdf5", "arrays in every storage*")),
    Mutation("an LZF copy may go beyond the limit", "formats/hdf5/lzf.cpp",
             "distance > plain.size() || count > limit - plain.size()", "distance > plain.size()",
             ("hdf5", "LZF streams*")),
    Mutation("filters are met while converting", "formats/hdf5/input.cpp",
             "  if (dataset.missing_filter.empty()) return;\n", "  return;\n", (*HDF5, "-k", "filter")),
    Mutation("a field X.zst is stored as it is", "formats/shard/field_rule.cpp",
             "return rule.marks_compressed ? field_of_stored_name(name).codec : Codec::none;", "return Codec::none;", NAMES),
    Mutation("a plan does not ask for names", "writer/plan.cpp",
             "  require_room_for_fields(source, options);\n", "", NAMES),
    Mutation("empty names are left out of records", "formats/tfrecord/writer.cpp",
             "if (entry.field) extents_", "if (entry.field && !entry.field->empty()) extents_", NAMES),
    Mutation("sizes are what the record says", "formats/beton/scan.cpp",
             "    index_.set_dimensions(sample_, header.width, header.height);\n", "", BETON),
    Mutation("features have a name for one value and one for several", "formats/tfrecord/scan.cpp",
             "      if (!others.any_list) continue;\n", "      continue;\n", TFRECORD),
    Mutation("compressed files are damaged ones", "formats/tfrecord/scan.cpp",
             "  if (!has_good_header(window.from(0))) refuse_compressed(path, window.from(0));\n", "", TFRECORD),
    Mutation("feature lists are dropped silently", "formats/tfrecord/example.cpp",
             "    if (tag == delimited(k_feature_lists)) return wire.message(list);\n", "", TFRECORD),
    Mutation("repeated features are dropped silently", "formats/tfrecord/scan.cpp",
             '        leave_out(features_[i].name, "earlier value of a repeated feature");\n', "", TFRECORD),
    Mutation("only keys with dots are encoded", "writer/source/packed_source.cpp",
             "return encoded_ ? encode_key(own) : own;", "return encoded_ && !names_a_file(own) ? encode_key(own) : own;", KEYS),
    Mutation("keys stay encoded", "reader/names_apart.cpp",
             "is_encoded_[shard] ? decode_key(key) : std::string(key);", "std::string(key);", KEYS),
    Mutation("a value of 2 GiB ends an LMDB pack", "formats/lmdb/writer.cpp",
             "constexpr std::uint64_t k_max_write_bytes = 0x7FFFF000;", "constexpr std::uint64_t k_max_write_bytes = 0x17FFFF000;",
             ("lmdb", "a value that LMDB cannot write*")),
]
