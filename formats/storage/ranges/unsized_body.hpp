// UnsizedBody: the content of a file whose size the server does not tell, on its way into the cache. The cache needs
// the size first, so the content waits in an unnamed file of the cache's directory, whose room is given up piece by
// piece.
//
// Threads: append() by the thread of HttpClient, size() by any, the rest when the transfer has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/storage/cache/cache_directory.hpp"
#include "bale/formats/storage/location/remote_url.hpp"
#include "bale/formats/storage/ranges/range_body.hpp"

namespace bale {

class UnsizedBody {
 public:
  /// `cache` may be null: then the bytes are counted only. More than `most_bytes` are not taken for a file.
  UnsizedBody(std::shared_ptr<CacheDirectory> cache, std::uint64_t most_bytes)
      : cache_(std::move(cache)), most_bytes_(most_bytes), is_kept_(cache_ != nullptr) {}
  ~UnsizedBody() { drop(); }
  UnsizedBody(const UnsizedBody&) = delete;
  UnsizedBody& operator=(const UnsizedBody&) = delete;

  /// Returns false if more came than a file may have. Never throws: what finds no room is counted only.
  bool append(Bytes part);
  /// The body comes again from its start.
  void restart();
  std::uint64_t size() const { return size_; }
  /// Throws `unsupported` if more came than a file may have.
  void require_end(const RemoteUrl& location) const;
  /// Whether all of it can be taken.
  bool is_kept() const { return is_kept_; }
  /// Reads `out` from `offset`, and gives up its room. Returns false on any failure.
  bool take(std::uint64_t offset, MutableBytes out);

 private:
  void drop();

  const std::shared_ptr<CacheDirectory> cache_;
  const std::uint64_t most_bytes_;
  std::atomic<std::uint64_t> size_{0};
  bool is_kept_;
  File file_{};
  std::uint64_t reserved_ = 0;
};

/// The size of a file whose server does not tell it: the file is fetched to its end.
/// Whether the end of the body can be told from a connection that was cut, though the size is not known before.
bool has_marked_end(const HttpResponse& response);

/// Fetches the file into `body`, and returns its version. May take as long as the file takes to come; a server that
/// stalls or fails for longer than the time limit is a `retryable` error. Throws what UnsizedBody::require_end()
/// throws.
FileVersion measured_version(const RemoteUrl& location, UnsizedBody& body);

}  // namespace bale
