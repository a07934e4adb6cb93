// UnitFetch: one request that fills units of the cache that this process has claimed.
//
// Whatever happens, claims that got no content are given up in the end.
// Threads: made by one thread; the body is taken by the thread of HttpClient.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bale/formats/storage/cache/cached_file.hpp"
#include "bale/formats/storage/location.hpp"
#include "bale/formats/storage/range_body.hpp"

namespace bale {

class UnitFetch {
 public:
  /// Precondition: the run is claimed by this process, and room for it is reserved.
  UnitFetch(std::shared_ptr<const Location> location, const FileVersion& version, std::shared_ptr<CachedFile> file,
            UnitRun run);
  ~UnitFetch();
  UnitFetch(const UnitFetch&) = delete;
  UnitFetch& operator=(const UnitFetch&) = delete;

  /// Fetches and waits. Returns the error, if any. `response` gets the headers of a response that was an error.
  std::optional<Error> now(bool fresh_connection, HttpResponse& response);
  /// Fetches and does not wait. A failure leaves the units absent, and whoever reads them meets it again. Throws if the
  /// request cannot be made.
  static void later(const std::shared_ptr<UnitFetch>& fetch);

 private:
  HttpRequest request();
  bool put(std::uint64_t offset, Bytes part);
  bool store_complete(bool is_end);

  const std::shared_ptr<const Location> location_;
  const std::uint64_t file_bytes_;
  const std::string if_match_;
  const std::shared_ptr<CachedFile> file_;
  UnitRun rest_;  // claimed and not stored
  const FileRange range_;
  RangeBody body_;
  std::vector<std::byte> waiting_;  // bytes from the start of rest_ on that are not stored
};

}  // namespace bale
