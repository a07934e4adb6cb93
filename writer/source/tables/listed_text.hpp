// ListedText: a text file on disk of which a source has listed parts, to read them again when a sample is read.
//
// Threads: const methods may be called by many threads at once.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "bale/formats/base/file.hpp"

namespace bale {

class ListedText {
 public:
  /// `what` names the file in errors: "table", "annotations". A literal. Throws `not_found`, `io`.
  ListedText(const std::string& path, std::string_view what);

  const std::string& path() const { return file_.path(); }
  /// Appends `bytes` bytes from `offset` on. Throws `changed` if the file was changed since it was opened, and `io`.
  void append(std::uint64_t offset, std::uint64_t bytes, std::string& out) const;
  std::string read(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  void examine(struct stat& info) const;

  File file_;
  std::string_view what_;
  struct stat first_ {};
};

}  // namespace bale
