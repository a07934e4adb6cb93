"""Mutations of what packing promises about its destination: what is replaced, what stays, who may work there."""
from mutations.mutation import Mutation

OVERWRITE = ("python", "tests/python/test_overwrite.py", "-k")
RESUME = ("python", "tests/python/test_resume.py", "-k")
CONCURRENT = ("python", "tests/python/test_concurrent.py", "-k")

MUTATIONS = [
    Mutation("the old dataset is removed before the new one is complete", "writer/destination.cpp",
             "  journal.begin(plan.fingerprint, list_files(options, plan), !old.empty() || stages_all(options, plan));",
             "  for (const std::string& file : files_of_all(old)) tree.remove(file);\n"
             "  journal.begin(plan.fingerprint, list_files(options, plan), !old.empty() || stages_all(options, plan));",
             (*OVERWRITE, "costs_nothing")),
    Mutation("a new manifest is taken for an old one when a replacement is carried out again", "writer/replacement.cpp",
             "  if (!all_staged) return move_all(replacement.manifests, destination, partial);\n", "  (void)all_staged;\n",
             (*OVERWRITE, "killed_at_every_call and tar.plain")),
    Mutation("an old manifest goes after its files", "writer/replacement.cpp",
             "  for (const std::string& path : replacement.old_manifests) destination.remove(path);\n  destination.sync();\n"
             "  for (const std::string& path : replacement.old_files) destination.remove(path);\n",
             "  for (const std::string& path : replacement.old_files) destination.remove(path);\n"
             "  for (const std::string& path : replacement.old_manifests) destination.remove(path);\n  destination.sync();\n",
             (*OVERWRITE, "killed_at_every_call and tar.plain")),
    Mutation("an interrupted replacement is forgotten", "writer/destination.cpp",
             "    if (journal.content().replacement) {\n", "    if (false) {\n",
             (*OVERWRITE, "needs_no_source")),
    Mutation("a dataset of another name is replaced", "writer/dataset_files.cpp",
             "  if (!name_was_given || manifest.name == planned.name) return;\n", "  if (planned.name != manifest.plan) return;\n  (void)name_was_given;\n",
             (*OVERWRITE, "another_name")),
    Mutation("links to directories are followed", "writer/directory.cpp",
             "open_directory_at(fd(), name, O_NOFOLLOW)", "open_directory_at(fd(), name, 0)",
             (*OVERWRITE, "links or journals")),
    Mutation("the journal is opened through links", "writer/journal_file.cpp",
             "O_RDWR | O_CREAT | O_NOFOLLOW |", "O_RDWR | O_CREAT |", (*OVERWRITE, "journals")),
    Mutation("source and destination may overlap", "writer/pack_run.cpp",
             "    require_all_apart(work_.places, options_.destination);\n", "", (*OVERWRITE, "overlap")),
    Mutation("what a destination lies in is not looked at", "writer/apart.cpp",
             '    at = open_directory(at.get(), "..");\n', "    break;\n", (*OVERWRITE, "overlap")),
    Mutation("a finished dataset is believed", "writer/finished_check.cpp",
             "           digest_text(digest_file(path)) == recorded.shard.digest;", "           true;", (*RESUME, "mended")),
    Mutation("a shard that comes out otherwise mends a dataset", "writer/pack_run.cpp",
             "    if (!finished_.empty() && finished.shard.digest != slot.expected_digest) {", "    if (false) {",
             (*RESUME, "does_not_mend")),
    Mutation("a packed source is known by its keys and lengths", "writer/source/packed_source.cpp",
             "    if (!index.has_checksums()) out += identities_.at(number);\n", "", (*RESUME, "content")),
    Mutation("shards without samples are published", "writer/pack_run.cpp",
             "    if (finished.shard.num_samples != 0) publisher_->shard", "    publisher_->shard", (*RESUME, "without_a_sample")),
    Mutation("the lock is not looked at", "writer/directory_lock.cpp",
             "  if (errno == EWOULDBLOCK) throw_busy(directory);", "  if (errno == EWOULDBLOCK) return lock;",
             (*CONCURRENT, "second and flock")),
    Mutation("a lock that has lost its name is believed", "writer/journal.cpp",
             "    if (!file.has_its_name(join_path(join_path(destination, k_partial_name), k_journal_name))) return std::nullopt;\n",
             "", (*CONCURRENT, "removed_journal")),
    Mutation("without flock there is no lock", "writer/directory_lock.cpp",
             "  make_owner_file(directory);\n", "", (*CONCURRENT, "another_machine")),
    Mutation("the journal is removed while it is open", "writer/journal.cpp",
             "  file_.close();\n  lock_ = DirectoryLock();\n  if (renamed) {", "  if (renamed) {",
             ("python", "tests/python/test_concurrent.py", "-k", "killed and nfs")),
]
