"""Mutations of what file primitives, extracting and verifying promise."""
from mutations.mutation import Mutation

TEMPORARY = ("python", "tests/python/test_temporary_files.py")
SYSTEMS = ("python", "tests/python/test_file_systems.py")
EXTRACT = ("python", "tests/python/test_extract.py")
VERIFY = ("python", "tests/python/test_verify.py")

MUTATIONS = [
    Mutation("new files are written through links", "formats/base/file.cpp",
             "  constexpr int k_flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;\n",
             "  constexpr int k_flags = O_RDWR | O_CREAT | O_TRUNC;\n", ("shard", "A new file takes the name*")),
    Mutation("temporary files share a name", "formats/base/temporary_file.cpp",
             'return fmt::format("{}{}-{}-{:016x}", k_prefix, machine_digits(), ::getpid(), random_number());',
             'return fmt::format("{}{}-{}-{:016x}", k_prefix, machine_digits(), 7, 7);', (*TEMPORARY, "-k", "two_runs")),
    Mutation("temporary files stay after an error", "formats/base/temporary_file.cpp",
             "  if (!temporary_.empty()) ::unlink(temporary_.c_str());\n", "", (*TEMPORARY, "-k", "pile_up")),
    Mutation("temporary files of processes that live are removed", "formats/base/temporary_file.cpp",
             "  return info.st_mtim.tv_sec < std::time(nullptr) - k_stale_seconds;\n", "  return true;\n",
             (*TEMPORARY, "-k", "stale")),
    Mutation("a directory that cannot be synced ends the run", "formats/base/file.cpp",
             "  return error == EINVAL || error == ENOTSUP", "  return error == ENOTSUP", (*SYSTEMS, "-k", "cifs")),
    Mutation("a file system must rename over files", "formats/base/file.cpp",
             "!(errno == EEXIST && ::unlink(to.c_str()) == 0 && renamed())", "true", (*SYSTEMS, "-k", "cifs")),
    Mutation("extract writes under final names", "tools/commands/safe_directory.cpp",
             "  const std::string temporary = temporary_name();\n", "  const std::string temporary = base;\n",
             (*EXTRACT, "-k", "killed")),
    Mutation("extract keeps whatever has the name", "tools/commands/safe_directory.cpp",
             "  return same ? Found::same : Found::other;\n", "  return same ? Found::same : Found::same;\n", (*EXTRACT, "-k", "kept_or_refused")),
    Mutation("extract merges names that differ by case", "tools/commands/extract.cpp",
             "  if (wanted.empty() || !directory.ignores_case()) return;\n", "  if (wanted.empty()) return;\n  return;\n",
             (*EXTRACT, "-k", "differ_by_case")),
    Mutation("verify stops at a sample that cannot be read", "formats/shard/shard_verify.cpp",
             "return error.code() == ErrorCode::damaged || (error.code() == ErrorCode::io && concerns_one_file(error));",
             "return error.code() == ErrorCode::damaged;", (*VERIFY, "-k", "each_sample")),
    Mutation("verify stops at a shard that cannot be read", "formats/base/error_reason.hpp",
             "      return !is_lack_of_resources(error) && !is_full_disk(error);\n", "      return false;\n", (*VERIFY, "-k", "permission")),
    Mutation("verify forgets the parts after a damaged one", "reader/dataset_check.cpp",
             "    if (!prepare_part(*checkers.back(), parts[number], unreadable[number], on_finding)) checkers.back().reset();\n",
             "    if (!prepare_part(*checkers.back(), parts[number], unreadable[number], on_finding)) throw Error(ErrorCode::io, \"\");\n",
             (*VERIFY, "-k", "one_part")),
    Mutation("the datasets of a list are checked without their manifests", "reader/dataset_check.cpp",
             "  manifest_path_ = dataset.manifest_path;\n", "  if (!is_one_of_several) manifest_path_ = dataset.manifest_path;\n",
             (*VERIFY, "-k", "list_uses_each_manifest")),
    Mutation("a dataset is extracted into itself", "tools/commands/extract.cpp", "  require_outside_datasets(command);\n",
             "  (void)require_outside_datasets;\n", (*EXTRACT, "-k", "into_itself")),
    Mutation("indexing stops at a damaged shard", "writer/add_indexes.cpp",
             "      if (paths.size() == 1 || !concerns_one_file(error)) throw;\n", "      if (paths.size() != 0) throw;\n",
             ("python", "tests/python/test_damaged_shards.py", "-k", "index_goes_on")),
    Mutation("a contact sheet replaces somebody's picture", "tools/commands/preview.cpp",
             "  if (!command.force && ", "  if (command.columns == 0 && ",
             ("python", "tests/python/test_cli.py", "-k", "preview_replaces")),
]
