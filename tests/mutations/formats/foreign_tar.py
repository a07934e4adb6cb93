"""Mutations of what is promised for tars that other programs made."""
from mutations.mutation import Mutation


def foreign(name):
    return ("python", "tests/python/interop/test_foreign_tar.py", "-k", name)


MUTATIONS = [
    Mutation("hard links of a tar are dropped in silence", "formats/tar/format.cpp",
             "if (const auto label = grouper.add_link(member.name, member.target)) set_label(label->sample, label->place);",
             "", foreign("hard_links")),
    Mutation("a hard link to a later file is resolved", "formats/tar/reading/grouper.cpp",
             "} else if (survey_.complete_ && !survey_.places_.empty()) {", "} else if (!survey_.places_.empty()) {",
             foreign("not_a_field")),
    Mutation("other members of a tar are not counted", "formats/tar/format.cpp",
             "      case Member::Kind::other:\n        index.notices().add(member.name, member.why);\n        break;\n    }\n  }\n  grouper.finish();\n  return true;",
             "      case Member::Kind::other:\n        break;\n    }\n  }\n  grouper.finish();\n  return true;",
             foreign("not_a_field")),
    Mutation("names that make no field are not counted", "formats/tar/reading/grouper.cpp",
             "    index_.notices().add(name, reason);\n", "", foreign("not_a_field")),
    Mutation("convert does not tell what the source's scan left out", "reader/dataset/dataset_counting.cpp",
             "  notices.merge(index->notices(), entry.path);\n", "", foreign("not_a_field")),
    Mutation("a shard without samples passes verify", "reader/check/dataset_check.cpp",
             "if (shard.size() == 0 && task.expected == nullptr)", "if (false)", foreign("without_samples")),
    Mutation("scattered files of a sample are refused", "formats/tar/reading/grouper.cpp",
             "survey_.apart_ = std::adjacent_find(hashes_.begin(), hashes_.end()) != hashes_.end();", "", foreign("scattered")),
    Mutation("scattered samples are not reported", "formats/tar/reading/grouper.cpp",
             "  if (num_returns_ == 0) return;\n", "  return;\n", foreign("scattered")),
    Mutation("flaws that readers tolerate pass verify", "formats/shard/shard_verify.cpp",
             "      if (warning.kind == WarningKind::defect) state.report(", "      if (false) state.report(", foreign("tolerate")),
    Mutation("holes of sparse members are unpacked", "formats/tar/reading/libarchive_stream.cpp",
             "  return stored < size / k_max_ratio;", "  return false;", foreign("sparse")),
    Mutation("a name of any length is written into a message", "formats/base/text/key_text.cpp",
             "  if (text.size() <= most) return std::string(text);", "  return std::string(text);", foreign("hostile_names")),
    Mutation("jpg and jpeg of one sample clash", "formats/tar/reading/grouper.cpp",
             "  if (is_jpeg == has_jpeg) return field;\n", "  return field;\n", foreign("jpeg")),
    Mutation("repeated members are dropped in silence", "formats/tar/reading/grouper.cpp",
             "  if (index_.extent(sample_, field).present()) index_.notices()", "  if (false) index_.notices()", foreign("repeated")),
    Mutation("the second of two archives is not read", "formats/tar/reading/scanner.cpp",
             "  if (!goes_on_after_end()) return false;\n", "  return false;\n", foreign("end_to_end")),
    Mutation("bytes after an archive are not named", "formats/tar/reading/scanner.cpp",
             "    notices_.add_rest(*rest, stream_bytes_ - *rest);\n", "", foreign("bytes_after")),
]
