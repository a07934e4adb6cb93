"""Mutations of what reports and lists of duplicates promise."""
from mutations.mutation import Mutation

REPORT = ("python", "tests/python/cli/test_report.py", "-k")
DEDUP = ("python", "tests/python/cli/test_dedup.py", "-k")
PATHS = ("python", "tests/python/sources/test_what_a_path_is.py", "-k")
AGAIN = ("python", "tests/python/formats/test_index_again.py", "-k")
LIMITS = ("python", "tests/python/image/test_max_pixels.py", "-k")

MUTATIONS = [
    Mutation("names are markup", "tools/report/html/page.cpp",
             '        text += "&lt;";\n', '        text += "<";\n', (*REPORT, "hostile")),
    Mutation("labels of duplicates are not compared", "tools/survey/duplicates/duplicates.cpp",
             "      return theirs != label && theirs != k_no_class;", "      return theirs == label && theirs != k_no_class;",
             (*REPORT, "conflicts")),
    Mutation("damage that decoders tolerate is not a remark", "formats/image/decode.cpp",
             "  reduced.has_defects = decoder.has_warnings();\n", "", (*REPORT, "each_remark")),
    Mutation("dedup lists images of the dataset that is kept", "tools/commands/survey/survey_commands.cpp",
             "  rules.first_kept_part = 1;\n", "", (*DEDUP, "against")),
    Mutation("a name with a newline is cut in two", "tools/commands/survey/survey_commands.cpp", "null_ended || std::any_of(spare.begin(), spare.end(), has_newline)", "null_ended",
             (*DEDUP, "newlines")),
    Mutation("an image is listed although none like it is kept", "tools/survey/duplicates/spare_images.cpp",
             "      if (is_kept_part(image) || near == kept.end()) {", "      if (is_kept_part(image) || kept.empty()) {",
             ("duplicates", "of a chain only what is like a kept image is listed")),
    Mutation("bars of tables that are compared have scales of their own", "tools/report/html/survey_page.cpp",
             "bar_table(all.last(k_ends), total, most)", "bar_table(all.last(k_ends), total)", (*REPORT, "share_a_scale")),
    Mutation("a page does not say where it was made", "tools/report/html/page.cpp", "html_text(machine_name())", '""',
             (*REPORT, "when_and_where")),
    # What a path is, and the options of sources.
    Mutation("a pack in a folder of images is all that is looked at", "reader/spec/directory_content.hpp",
             "    return image_folders.size() >= datasets.size() || num_images > datasets.size();\n", "    return false;\n",
             (*PATHS, "with_a_pack_in_it")),
    Mutation("a packed dataset is a class", "writer/source/folder/folder_source.cpp", "return is_excluded(name) || is_packed(name);",
             "return is_excluded(name);", (*PATHS, "pack_takes_the_images")),
    Mutation("images beside packs are not named", "reader/spec/directory_content.cpp",
             "  std::string beside = names_of(content.image_folders);\n", "  std::string beside;\n", (*PATHS, "next_to_packs")),
    Mutation("a glob takes files beside shards", "reader/spec/shard_spec.cpp", "  std::erase_if(names, is_beside_shards);\n", "",
             (*PATHS, "glob_of_the_help")),
    Mutation("a list is taken for a shard", "writer/source/open_source.cpp",
             "    if (note.empty()) return {{k_packed}};\n", "    return {{k_packed}};\n", (*PATHS, "lists_are_taken")),
    Mutation("options of one kind go to a source of another", "writer/source/open_source.cpp",
             "      of_each[i].annotations.clear();\n", "", (*PATHS, "annotations_can_be_compared")),
    # Indexes that are made again.
    Mutation("a damaged index stays", "writer/index/add_indexes.cpp",
             "    if (is_of_index && keeps_keys_in_file(probe_format(shard.path))) return false;\n", "", (*AGAIN, "comes_back")),
    Mutation("an index is made of another file than was packed", "writer/index/add_indexes.cpp",
             "  if (shard.expected) require_packed(digest_file(path));\n", "", (*AGAIN, "of_another_file and check")),
    Mutation("keys that only an index has are lost", "writer/index/add_indexes.cpp",
             "  if (known && known->size() == scanned.size()) return scanned.take_keys(*known);\n", "", (*AGAIN, "same_bytes")),
    Mutation("a new index has the fields in another order", "formats/shard/index/index_builder.cpp",
             "  if (field_order_.empty()) return columns;", "  return columns;", (*AGAIN, "comes_back")),
    # Images above the limit of pixels.
    Mutation("an image above the limit passes verify", "formats/image/image_check.cpp",
             "    facts.why = error.message();\n    if (is_above_limit(header.width, header.height, max_pixels)) return facts;",
             "    if (is_above_limit(header.width, header.height, max_pixels)) return facts;\n    facts.why = error.message();",
             (*LIMITS, "verify_names_what")),
    Mutation("an image above the limit passes pack", "reader/dataset/image_conditions.cpp",
             "is_above_limit(index.width(i), index.height(i), max_pixels)", "false", (*LIMITS, "pack_and_index")),
    Mutation("an image above the limit is not a remark", "tools/survey/examined_image.cpp",
             "is_large ? Remark::above_limit : ", "", (*LIMITS, "report_agrees")),
]
