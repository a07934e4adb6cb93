// UnitFetch: one request that fills units of the cache that this process has claimed.
//
// Whatever happens, claims that got no content are given up when the request has ended.
// Threads: made by one thread; the body is taken by the thread of HttpClient.
#pragma once

#include <memory>
#include <vector>

#include "bale/formats/storage/cache/cached_file.hpp"
#include "bale/formats/storage/ranges/range_request.hpp"

namespace bale {

class UnitFetch {
 public:
  /// A request for a run that this process has claimed and reserved room for. Before it is sent, or if sending fails,
  /// its end gives up the claims. `wanted_end`: unit before which the caller waits for, stored as soon as it came.
  static std::shared_ptr<RangeRequest> request(const std::shared_ptr<const RemoteUrl>& location,
                                               const FileVersion& version, std::shared_ptr<CachedFile> file,
                                               UnitRun run, std::uint64_t wanted_end);

  UnitFetch(std::shared_ptr<CachedFile> file, UnitRun run, std::uint64_t wanted_end, FileRange range);
  ~UnitFetch();
  UnitFetch(const UnitFetch&) = delete;
  UnitFetch& operator=(const UnitFetch&) = delete;

 private:
  bool put(std::uint64_t offset, Bytes part);
  bool store_complete(Bytes more, bool is_end);

  const std::shared_ptr<CachedFile> file_;
  UnitRun rest_;  // claimed and not stored
  const std::uint64_t wanted_end_;
  const FileRange range_;
  std::weak_ptr<RangeRequest> request_{};
  std::vector<std::byte>
      waiting_;  // bytes from the start of rest_ on that are not stored; large parts are not copied here
};

}  // namespace bale
