// Temporary files: a file is written under a temporary name and gets its final name when it is complete.
//
// Names are random, so that two processes never share one, and recognizable, so that files of a killed process can be
// found and removed. A name contains its process number: the file is stale once that process is gone.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/bytes.hpp"

namespace bale {

/// A unique name: ".bale-tmp-", 16 digits for the machine, a process number and 16 random digits.
std::string temporary_name();

/// Whether a file of an open directory is stale: its process is gone, or it was last written over an hour ago, which is
/// the only sign if another machine or container made it.
bool is_stale_temporary(int directory, const std::string& name);
/// Names of the stale temporary files of a directory, sorted; none if it cannot be listed.
std::vector<std::string> stale_temporaries(const std::string& directory);
/// Removes the stale temporary files of a directory and returns how many. Files that cannot be removed are not counted.
std::uint64_t remove_stale_temporaries(const std::string& directory);
/// The same for an open directory.
std::uint64_t remove_stale_temporaries(int directory);

/// Gives an open file or directory the owner, group and permissions of another, as far as this process may: whoever
/// could read and write what it replaces still can, whatever the umask is.
void take_access(int fd, const struct stat& of);

/// A complete and durable file under a temporary name. It is removed unless it is published.
class StagedFile {
 public:
  /// Writes `bytes` to a temporary file next to `path`.
  StagedFile(const std::string& path, Bytes bytes);
  ~StagedFile();
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;

  /// Gives the file its final name, with the access of the file that it replaces, else of `beside` if that is given,
  /// and makes the name durable.
  void publish(const std::string& beside = {});

 private:
  std::string path_;
  std::string temporary_;  // empty once published
};

}  // namespace bale
