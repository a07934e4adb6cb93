"""Mutations of what reports and lists of duplicates promise."""
from mutations.mutation import Mutation

REPORT = ("python", "tests/python/test_report.py", "-k")
DEDUP = ("python", "tests/python/test_dedup.py", "-k")

MUTATIONS = [
    Mutation("names are markup", "tools/report/html/page.cpp",
             '        text += "&lt;";\n', '        text += "<";\n', (*REPORT, "hostile")),
    Mutation("labels of duplicates are not compared", "writer/duplicates/duplicates.cpp",
             "      return theirs != label && theirs != k_no_class;", "      return theirs == label && theirs != k_no_class;",
             (*REPORT, "conflicts")),
    Mutation("damage that decoders tolerate is no remark", "formats/image/reduced_image.cpp",
             "  reduced.has_defects = decoder.has_warnings();\n", "", (*REPORT, "each_remark")),
    Mutation("dedup lists images of the dataset that is kept", "tools/commands/dedup.cpp",
             "  rules.first_kept_part = 1;\n", "", (*DEDUP, "against")),
    Mutation("a name with a newline is cut in two", "tools/commands/dedup.cpp", "null_ended || std::any_of(spare.begin(), spare.end(), has_newline)", "null_ended",
             (*DEDUP, "newlines")),
    Mutation("an image is listed although none like it is kept", "writer/duplicates/spare_images.cpp",
             "      if (is_kept_part(image) || near == kept.end()) {", "      if (is_kept_part(image) || kept.empty()) {",
             ("duplicates", "of a chain only what is like a kept image is listed")),
]
