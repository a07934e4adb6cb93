"""Mutations of what sources and the policy for bad samples promise."""
from mutations.mutation import Mutation

QUARANTINE = ("python", "tests/python/test_quarantine.py", "-k")

MUTATIONS = [
    Mutation("a quarantined file takes another's place", "writer/quarantine.cpp",
             "    if (!exists(path)) {\n", "    if (number > 0) {\n", (*QUARANTINE, "takes_the_place")),
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
]
