"""Mutations of what is promised for ZIP archives."""
from mutations.mutation import Mutation


def foreign(name):
    return ("python", "tests/python/interop/test_foreign_zip.py", "-k", name)


MUTATIONS = [
    Mutation("the CRC-32 of a ZIP member is not compared", "formats/zip/format.cpp",
             "  if (crc32_of(out) != member.crc32) fail(", "  if (false) fail(", foreign("damage_is_found")),
    Mutation("members of a ZIP archive may overlap", "formats/zip/directory.cpp",
             "    refuse_overlaps(members);\n", "", foreign("hostile")),
    Mutation("class folders are numbered by their first sample", "writer/source/classes/labels.cpp",
             "  std::sort(classes_.begin(), classes_.end(), python_less);\n", "", foreign("below_others or imagefolder")),
    Mutation("bytes after a ZIP archive are not named", "formats/zip/directory.cpp",
             "    if (rest_ != 0) notices_.add_rest(begin_ + bytes_ - rest_, rest_);\n", "", foreign("bytes_after")),
    Mutation("the end of an inner archive is the end of the outer", "formats/zip/directory.cpp",
             "return end.bytes <= end.end && end.directory == end.end - end.bytes;", "return end.bytes <= end.end;", foreign("bytes_after")),
    Mutation("every backslash is a folder", "formats/zip/directory.cpp",
             " || !(member.is_of_windows || none_has_slash)) continue;", ") continue;", foreign("backslash")),
    Mutation("stored members that are encrypted are delivered", "formats/zip/format.cpp",
             "if (!member.is_readable() || member.method", "if (member.method", foreign("another_method")),
]
