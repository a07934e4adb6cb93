// Scheme: a kind of remote names, NAME://PATH. All that bale knows of one is here: no other code names one.
//
// bale's own are in formats/storage/schemes.cpp; a program adds others by bale/formats/storage/url_scheme.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bale {

class Storage;

struct Scheme {
  std::string name{};                // in lower case
  const Storage* storage = nullptr;  // reads its files; null: bale does not, and gives `advice`
  bool has_query = false;            // "?..." may end a name, and is the same for all files of a directory
  bool can_list = false;             // directories
  std::string destination{};         // the form of a name that can be written, "s3://BUCKET/PREFIX"; empty: none can
  std::string advice{};              // how to read its files from a local disk, for a message; empty: nothing specific

  bool can_write() const { return !destination.empty(); }
};

/// Whether a text may name a scheme: lower case letters, digits, '+', '-' and '.'; not empty.
bool is_scheme_name(std::string_view text);
/// Adds a scheme to this process, for as long as it runs. Call before other threads open files. Throws
/// `invalid_argument` if there is one with this name.
void add_scheme(Scheme scheme);
/// The scheme with a name, in lower or upper case (RFC 3986, 3.1); null if there is none.
const Scheme* find_scheme(std::string_view name);
/// All schemes, in the order in which they were added.
std::vector<const Scheme*> all_schemes();
/// The scheme of a name that bale reads; null if it is a local path.
const Scheme* remote_scheme_of(std::string_view name);

}  // namespace bale
