"""Mutations of what is promised of names: secrets, keys as text, keys that are told apart, paths that stay inside."""
from mutations.mutation import Mutation

KEYS = ("python", "tests/python/reader/test_keys_as_text.py", "-k")
EXTRACT = ("python", "tests/python/reader/test_extract.py", "-k")
SECRETS = ("python", "tests/python/cli/test_python_secrets.py", "-k")

MUTATIONS = [
    Mutation("a password with a slash is taken for a host", "formats/base/names/shown_name.cpp",
             "  return is_host_and_port(authority) ? 0 : url.rfind('@') + 1;", "  return 0;", (*SECRETS, "however_it_is_written")),
    Mutation("queries are shown", "formats/base/names/shown_name.cpp",
             "    if (equals != std::string_view::npos && std::find(", "    if (equals == std::string_view::npos || std::find(",
             (*SECRETS, "however_it_is_written")),
    Mutation("a plan with a password may be read by others", "writer/plan/plan_file.cpp",
             "    if (without_secrets(text) != text && ", "    if (text.empty() && ", (*SECRETS, "no_command_shows_it")),
    Mutation("a printed backslash is one", "formats/base/text/key_text.cpp",
             "escape_bytes(key, EscapeBackslash::yes)", "escape_bytes(key, EscapeBackslash::no)", (*KEYS, "each_printed_key")),
    Mutation("a pattern does not take the key itself", "formats/base/text/key_text.cpp",
             "  return key == key_ || ::fnmatch", "  return ::fnmatch", (*KEYS, "each_printed_key")),
    Mutation("shards are told apart by their file names alone", "reader/dataset/keys/names_apart.cpp",
             "    if (all_differ(names)) return names;\n", "    break;\n", (*KEYS, "shortest_names")),
    Mutation("convert keeps keys that lead outside", "reader/dataset/keys/names_apart.cpp",
             "  if (leads_outside(own)) own = contained_name(own);\n", "", (*KEYS, "leads_outside")),
    Mutation("extract does not see that two files have one path", "tools/commands/reading/extract.cpp",
             "  return repeated ? repeated->key : std::string();", "  return std::string();", (*EXTRACT, "one_name or equals_another")),
    Mutation("extract takes encoded names for files of their own", "tools/commands/reading/extract.cpp",
             "  return decodes_ && *is_decoded;", "  return false;", (*EXTRACT, "with_dots")),
    Mutation("samples of one key are compared in their order", "writer/diff/source_diff.cpp",
             "        if (same == digests.end() || !*same) continue;", "        if (same != digests.end() || !*same) continue;",
             ("python", "tests/python/reader/test_diff.py", "-k", "multiset")),
]
