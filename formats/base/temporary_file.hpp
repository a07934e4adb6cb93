// Temporary files: a file is written under a name of its own and takes its final name when it is complete.
//
// The names are random, so that two processes never share one, and recognizable, so that what a killed process left can
// be found and removed. A name says which process made it: it is stale as soon as that process is gone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

/// A name that nobody else uses: ".bale-tmp-", 16 digits for the machine, a process number and 16 random digits.
std::string temporary_name();
/// Whether `temporary_name()` may have made it, in any process.
bool is_temporary_name(std::string_view name);

/// Of a directory that is open: whether nobody can be writing the file any more: its process is gone, or, if that
/// cannot be told (another machine or container made it), it was last written over an hour ago.
bool is_stale_temporary(int directory, const std::string& name);
/// Names of the stale temporary files of a directory, sorted; none if it cannot be listed.
std::vector<std::string> stale_temporaries(const std::string& directory);
/// Removes the stale temporary files of a directory; returns how many. What cannot be removed stays and is not counted.
std::uint64_t remove_stale_temporaries(const std::string& directory);
/// The same for a directory that is open.
std::uint64_t remove_stale_temporaries(int directory);

/// A file that is complete and durable, but under a temporary name; removed unless it is published.
class StagedFile {
 public:
  /// Writes `bytes` beside `path`.
  StagedFile(const std::string& path, Bytes bytes);
  ~StagedFile();
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;

  /// Gives it its final name and makes the name durable.
  void publish();

 private:
  std::string path_;
  std::string temporary_;  // empty: published
};

}  // namespace bale
