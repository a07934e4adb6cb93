// RangeRequest: a request for a range of a remote file, for a thread that may wait for it. A small one that has no
// answer after a while is sent a second time, on a new connection (hedge.hpp): the first to answer wins, the other one
// is ended.
//
// Threads: `put` is called on the thread of HttpClient, all else by one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "bale/formats/storage/cache/cached_file.hpp"
#include "bale/formats/storage/location/remote_url.hpp"
#include "bale/formats/storage/ranges/hedge.hpp"
#include "bale/formats/storage/ranges/range_body.hpp"

namespace bale {

class RangeRequest : public std::enable_shared_from_this<RangeRequest> {
 public:
  /// How it is sent, besides what the location says.
  using Adjust = std::function<void(HttpRequest&)>;

  /// `put` is destroyed when the request has ended.
  RangeRequest(std::shared_ptr<const RemoteUrl> location, FileRange range, FileVersion version, RangeBody::Put put);

  /// Sends it, once. `adjust` is called here and in wait(). Throws if the request cannot be made: no credentials, for
  /// example.
  void send(const Adjust& adjust);
  /// Waits until it has ended, `is_enough` holds, or the time is over. Returns false in the last case. Throws what
  /// poll_remote_wait() throws. In any case a request that has not ended continues.
  bool wait(std::chrono::steady_clock::time_point end, const std::function<bool()>& is_enough);
  /// To be called when `is_enough` may have become true.
  void look();
  /// Ends it, and waits for that.
  void end();
  /// How it ended: nullopt if all of the range came, or if it has not ended.
  std::optional<Error> error() const;
  /// Status and headers, if it ended with a response.
  HttpResponse response() const;

 private:
  struct Attempt {
    RangeBody body;
    std::shared_ptr<std::atomic<bool>> is_cancelled = std::make_shared<std::atomic<bool>>(false);
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    std::optional<HttpResult> result{};
  };
  void send_one(bool fresh_connection);
  bool take(Attempt& one, const HttpResponse& head, Bytes part);
  void finish(Attempt& one, HttpResult result);
  bool are_all_over() const;
  bool has_ended() const;
  const Attempt& decisive() const;

  const std::shared_ptr<const RemoteUrl> location_;
  const FileRange range_;
  const FileVersion version_;
  RangeBody::Put put_;
  Adjust adjust_;
  std::shared_ptr<Hedge> hedge_;  // null if it is never sent twice

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Attempt> tries_;  // one or two
  Attempt* winner_ = nullptr;
  bool is_closed_ = false;  // no second try any more
  std::uint64_t num_looks_ = 0;
};

// UnitFetch: one request that fills units of the cache that this process has claimed.
//
// Whatever happens, claims that got no content are given up when the request has ended.
// Threads: made by one thread; the body is taken by the thread of HttpClient.

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
