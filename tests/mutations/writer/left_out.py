"""Mutations of what is promised about entries, patterns and options that are not taken or used."""
from mutations.mutation import Mutation

LEFT_OUT = ("python", "tests/python/sources/test_left_out.py", "-k")

MUTATIONS = [
    Mutation("a slash at the end of a pattern is part of a name", "writer/source/folder/name_filter.cpp",
             "  while (below.ends_with('/')) below.pop_back();\n", "", (*LEFT_OUT, "held_out")),
    Mutation("a pattern without a match is not reported", "writer/source/folder/name_filter.cpp",
             "if (!pattern.has_matched()) notices", "if (pattern.text().empty()) notices", (*LEFT_OUT, "without_a_match")),
    Mutation("a key as a pattern is also a folder", "writer/source/folder/name_filter.cpp",
             "  if (is_key_) return false;\n", "", (*LEFT_OUT, "one_sample")),
    Mutation("a broken link is ignored", "writer/source/folder/folder_walk.cpp",
             "(kind == Kind::file || kind == Kind::broken_link || kind == Kind::gone) && rules_.wanted(name)",
             "kind == Kind::file && rules_.wanted(name)",
             (*LEFT_OUT, "broken_link")),
    Mutation("a class folder that is a broken link is ignored", "writer/source/folder/folder_source.cpp",
             "    lose_broken_classes(top);\n", "", (*LEFT_OUT, "not_fetched")),
    Mutation("an option without effect is not reported", "writer/source/choose/chosen_source.cpp",
             "    if (!is_fine) notices", "    if (!is_fine && name.empty()) notices", (*LEFT_OUT, "without_effect")),
    Mutation("lines of lists with other names are not looked into", "writer/source/tables/listed_files.cpp",
             "    if (!is_image_field(field)) field = field_by_content(absolute ? clean : below(root_, clean), clean);\n",
             "    if (!is_image_field(field)) return nullptr;\n", (*LEFT_OUT, "list_names")),
    Mutation("ls does not name patterns without a match", "tools/commands/reading/ls.cpp",
             "  globs.note_unmatched(notices, command.spec);\n", "", (*LEFT_OUT, "ls_names")),
    Mutation("one pair of files with one key is named", "writer/source/choose/chosen_source.cpp",
             "constexpr std::size_t k_max_named = 100;", "constexpr std::size_t k_max_named = 1;",
             (*LEFT_OUT, "all_files_of_one_key")),
    Mutation("keys lose their extensions in a plan", "writer/source/saved/saved_files.cpp",
             "    listing_.rows.keep_extensions(head.rows.keeps_extensions());\n", "", (*LEFT_OUT, "keep_extensions")),
    Mutation("files of one key are dropped without a word", "writer/source/choose/chosen_source.cpp",
             "    losses.insert(losses.end(), losses_.begin(), losses_.end());\n", "", (*LEFT_OUT, "others_are_counted")),
    Mutation("--strict takes what is ignored", "reader/check/notice_lines.cpp",
             "  if (!notices.has_unasked()) return;\n", "  return;\n", (*LEFT_OUT, "ignored_is_reported")),
    Mutation("Python does not warn of skipped samples", "python/bale/_warnings.py",
             "    if isinstance(skipped, list) and skipped:\n", "    if False:\n", (*LEFT_OUT, "python_warns")),
]
