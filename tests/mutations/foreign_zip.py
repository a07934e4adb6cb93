"""Mutations of what is promised for ZIP archives."""
from mutations.mutation import Mutation


def foreign(name):
    return ("python", "tests/python/test_foreign_zip.py", "-k", name)


MUTATIONS = [
    Mutation("the CRC-32 of a ZIP member is not compared", "formats/zip/member.cpp",
             "  if (crc32_of(out) != member.crc32) fail(", "  if (false) fail(", foreign("damage_is_found")),
    Mutation("members of a ZIP archive may overlap", "formats/zip/directory.cpp",
             "    refuse_overlaps(members);\n", "", foreign("hostile")),
    Mutation("class folders are numbered by their first sample", "writer/source/class_folders.cpp",
             "  for (std::uint32_t& number : found.classes) number = sorted[number];\n", "", foreign("below_others or imagefolder")),
]
