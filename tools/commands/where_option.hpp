// --where and the globs next to it, as every command with them takes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/reader/where.hpp"
#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

struct WhereOption {
  std::string text;                  // empty: every sample
  std::vector<std::string> keys;     // globs; one of them must match
  std::vector<std::string> classes;  // likewise, of the class name
  bool given() const { return !text.empty() || !keys.empty() || !classes.empty(); }
};

/// Parses the condition. If it is wrong, prints it with a caret below the column, and throws.
Where parse_where(const WhereOption& option, Terminal& terminal);

/// Which globs of the option have matched a sample, whatever else the condition asks.
class GlobUse {
 public:
  explicit GlobUse(const WhereOption& option);
  void see(const SampleFacts& facts);
  /// Adds those that matched none.
  void note_unmatched(NoticeLog& notices, std::string_view place) const;

 private:
  struct Glob {
    std::string_view option;
    std::string text;
    Where where{};
  };
  std::vector<Glob> unmatched_;
};

}  // namespace bale::tools
