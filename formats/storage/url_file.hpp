// UrlFile: a remote file that is read by ranges, through the cache if there is one.
//
// Reads that follow each other are seen, and fetched in growing pieces; others fetch what they need and nothing more.
// Threads: const methods may be called by many threads at once.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "bale/formats/base/storage.hpp"
#include "bale/formats/storage/cache/cached_file.hpp"
#include "bale/formats/storage/http/retry.hpp"
#include "bale/formats/storage/location/remote_url.hpp"
#include "bale/formats/storage/ranges/range_body.hpp"
#include "bale/formats/storage/ranges/unsized_body.hpp"

namespace bale {

class UrlFile final : public RemoteFile {
 public:
  /// `cached` may be null. `head`: the first bytes of the file, if they are known. `body`: all of it, or null.
  UrlFile(std::shared_ptr<const RemoteUrl> location, FileVersion version, std::shared_ptr<CachedFile> cached,
          Bytes head, UnsizedBody* body);

  std::uint64_t size() const override { return version_.size; }
  std::size_t read_some(std::uint64_t offset, MutableBytes out) const override;
  void will_need(std::uint64_t offset, std::uint64_t length) const override;
  void fetch_ahead(std::uint64_t offset, std::uint64_t length, std::shared_ptr<const void> held) const override;
  bool is_cached(std::uint64_t offset, std::uint64_t length) const override;
  void will_use(std::uint64_t offset, std::uint64_t length, const NextUse& use) const override;
  void forget(std::uint64_t offset, std::uint64_t length) const override;
  /// Null without a cache.
  const std::shared_ptr<CachedFile>& cached() const { return cached_; }

 private:
  struct Outcome {
    bool has_room = true;  // in the cache
    std::optional<Error> error{};
    HttpResponse response{};  // headers, of an error
  };
  std::uint64_t max_request_units() const;
  void store_head(Bytes head) const;
  void store_body(UnsizedBody& body) const;
  UnitRun extended(UnitRun units) const;
  UnitRun needed(UnitRun units) const;
  void read_cached(std::uint64_t offset, MutableBytes out, Retry& retry) const;
  Outcome fetch(const std::vector<UnitRun>& runs, UnitRun wanted, const Retry& retry) const;
  void fetch_part(UnitRun part, UnitRun wanted, const Retry& retry, Outcome& outcome) const;
  void set_limits(HttpRequest& request, const Retry& retry, std::uint64_t num_bytes) const;
  Error too_slow() const;
  void read_directly(std::uint64_t offset, MutableBytes out, Retry& retry) const;

  /// Where to ask for it, and which version.
  struct Place {
    std::shared_ptr<const RemoteUrl> location;
    FileVersion version;
  };
  Place place() const;
  std::optional<Place> find_moved(Retry& retry) const;
  bool has_moved(const Error& error, Retry& retry) const;

  const std::shared_ptr<const RemoteUrl> location_;
  const FileVersion version_;
  const std::shared_ptr<CachedFile> cached_;
  /// Reads that follow each other.
  struct Sequence {
    std::uint64_t end = 0;           // unit after its last fetch
    std::uint64_t window_units = 0;  // that its last fetch took
  };
  mutable std::mutex mutex_;
  mutable std::deque<Sequence> sequences_;  // the most recent first
  mutable std::optional<Place> moved_;      // where it was found when it was not where it had been
};

}  // namespace bale
