// KnownVersions: the versions of remote files that a process has opened, in bounded memory.
//
// Of the files that were used lately the whole version is known. Of files before them a fingerprint is kept, so that a
// file that changed on the server is still noticed when it is asked for again.
//
// A version without an ETag is never reduced to a fingerprint: the next answer of the server has another name for the
// same file.
//
// Threads: the caller locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "bale/formats/storage/ranges/range_body.hpp"

namespace bale {

class KnownVersions {
 public:
  static constexpr std::size_t k_max_versions = 16384;
  static constexpr std::size_t k_max_fingerprints = std::size_t{1} << 20;

  explicit KnownVersions(std::size_t max_versions = k_max_versions, std::size_t max_fingerprints = k_max_fingerprints)
      : max_versions_(max_versions), max_fingerprints_(max_fingerprints) {}

  /// The whole version of the file, if it is known.
  std::optional<FileVersion> find(const std::string& identity) const;
  /// Keeps the version that the server, or the node, has of a file. Returns false if the file had another version
  /// before.
  bool keep(const std::string& identity, const FileVersion& version);
  /// Whether this is the version that was kept of the file, and is not known as a whole any more.
  bool was_kept(const std::string& identity, const FileVersion& version) const;
  /// The next version of the file may be another one.
  void forget(const std::string& identity);

  std::size_t num_versions() const { return versions_.size(); }
  std::size_t num_fingerprints() const { return fingerprints_.size(); }

 private:
  void forget_oldest();

  const std::size_t max_versions_;
  const std::size_t max_fingerprints_;
  std::map<std::string, FileVersion> versions_;                    // by identity
  std::deque<std::string> order_;                                  // of the versions with an ETag, the oldest first
  std::unordered_map<std::uint64_t, std::uint64_t> fingerprints_;  // by hash of the identity
  std::deque<std::uint64_t> fingerprint_order_;
};

}  // namespace bale
