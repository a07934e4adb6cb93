// SavedSource: a source without its listing. A plan file keeps a head and one row per sample (Source::save_head() and
// save()), from which another process reads the same samples, without listing the source again.
//
// A file or packed shard that is not what it was is refused with `changed`, which names it.
//
// Threads: const methods may be called by many threads at once. Each SavedRows is for one thread; the Source that it
// makes is used as any Source, and may outlive this object.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "bale/formats/base/json/json.hpp"
#include "bale/writer/source/source.hpp"

namespace bale {

/// Rows that become a Source.
class SavedRows {
 public:
  virtual ~SavedRows() = default;
  /// Adds one row of Source::save(). Throws `damaged` if it is none.
  virtual void add(std::string_view row) = 0;
  /// The samples that were added, in this order. Call it once, last.
  virtual std::unique_ptr<Source> finish() = 0;
};

class SavedSource {
 public:
  virtual ~SavedSource() = default;
  /// Opens what Source::save_head() returned. Paths that are relative are relative to the current directory. Throws
  /// `damaged`, and for a packed source what Dataset::open() throws.
  static std::unique_ptr<SavedSource> open(std::string_view head);
  virtual std::unique_ptr<SavedRows> begin_rows() const = 0;
};

// The two kinds of saved sources, and what their heads have in common.

inline constexpr const char* k_saved_files = "files";
inline constexpr const char* k_saved_packed = "packed";

/// Both throw `damaged` for a head of another form.
std::unique_ptr<SavedSource> open_saved_files(const Json& head);
std::unique_ptr<SavedSource> open_saved_packed(const Json& head);

Json losses_to_json(const std::vector<SourceLoss>& losses);
std::vector<SourceLoss> losses_from_json(const std::vector<Json>& list);

}  // namespace bale
