// Listings that come in parts, each of which names the next one.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "bale/formats/base/error.hpp"

namespace bale {

struct ListedPart {
  std::string next{};   // what to ask for next; empty: this is the last part
  std::string first{};  // the first name in it; empty if it has none
};

/// Calls `ask` with "" and then with what each part names, up to the last one. `shown` is the name for messages. Some
/// servers name a part again, or forever: what was listed may then lack names or repeat them, so that is `io`.
template <typename Ask>
void list_all_parts(const std::string& shown, const Ask& ask) {
  constexpr std::size_t k_most_parts = 1'000'000;
  constexpr std::size_t k_most_empty = 1000;  // in a row
  std::set<std::string> asked{""};
  std::set<std::string> firsts;
  std::size_t num_empty = 0;
  for (std::string next;;) {
    ListedPart part = ask(next);
    num_empty = part.first.empty() ? num_empty + 1 : 0;
    const bool is_new = part.first.empty() ? num_empty <= k_most_empty : firsts.insert(std::move(part.first)).second;
    if (part.next.empty() && is_new) return;
    if (!is_new || asked.size() == k_most_parts || !asked.insert(part.next).second) {
      throw Error(ErrorCode::io, "the server repeats a part of its listing, so the listing cannot be complete",
                  {.path = shown, .hint = "name the shards, with braces if they are many: NAME-{000000..000009}"});
    }
    next = std::move(part.next);
  }
}

}  // namespace bale
