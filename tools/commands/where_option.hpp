// --where and the globs next to it, as every command with them takes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/notice_log.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/where.hpp"
#include "bale/tools/terminal/terminal.hpp"

namespace bale::tools {

struct WhereOption {
  std::string text;                  // empty: every sample
  std::vector<std::string> keys;     // globs; one of them must match
  std::vector<std::string> classes;  // likewise, of the class name
  bool given() const { return !text.empty() || !keys.empty() || !classes.empty(); }
};

/// If the error is about the column of a condition, prints it with a caret below the column, and throws.
void show_where(const Error& error, const std::string& text, Terminal& terminal);
/// The same for the errors of `work`, whose result it returns.
template <typename Work>
auto with_column(const std::string& text, Terminal& terminal, const Work& work) try {
  return work();
} catch (const Error& error) {
  terminal.clear_status();
  show_where(error, text, terminal);
  throw;
}

/// Parses the condition; shows where it is wrong.
Where parse_where(const WhereOption& option, Terminal& terminal);
/// The same for the fields that it names, which the dataset has to have.
void require_fields(const Where& where, const WhereOption& option, const Dataset& dataset, Terminal& terminal);

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
