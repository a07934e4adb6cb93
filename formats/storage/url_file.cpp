#include "bale/formats/storage/url_file.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/ranges/range_request.hpp"

namespace bale {
namespace {

/// Large enough that the time of a transfer is not that of its first byte: AWS advises 8 to 16 MB per request.
constexpr std::uint64_t k_max_request_units = (std::uint64_t{8} << 20) / k_unit_bytes;
constexpr std::uint64_t k_first_window_units = (std::uint64_t{128} << 10) / k_unit_bytes;
constexpr std::size_t k_max_sequences = 16;
constexpr int k_wait_ms = 200;
constexpr int k_max_unreadable = 3;  // times that content which is there cannot be read, until it is read elsewhere

}  // namespace

UrlFile::UrlFile(std::shared_ptr<const RemoteUrl> location, FileVersion version, std::shared_ptr<CachedFile> cached,
                 Bytes head, UnsizedBody* body)
    : location_(std::move(location)), version_(std::move(version)), cached_(std::move(cached)) {
  if (!cached_) return;
  body != nullptr ? store_body(*body) : store_head(head);
}

std::uint64_t UrlFile::max_request_units() const {
  return version_.has_ranges ? k_max_request_units : units_of(0, version_.size).end;
}

/// Only whole units, and the last one of the file.
void UrlFile::store_head(Bytes head) const {
  const bool is_all = head.size() == version_.size;
  const UnitRun units{0, is_all ? units_of(0, head.size()).end : head.size() / k_unit_bytes};
  if (units.size() == 0) return;
  for (const UnitRun& run : cached_->claim(units).runs) {
    const std::uint64_t begin = run.first * k_unit_bytes;
    const bool is_reserved = cached_->reserve(run);
    const Bytes content = head.subspan(begin, std::min(run.end * k_unit_bytes, head.size()) - begin);
    if (!is_reserved || !cached_->write(run.first, {&content, 1})) cached_->release(run, is_reserved);
  }
}

/// By pieces, of which each has its room in the body or in the cache.
void UrlFile::store_body(UnsizedBody& body) const {
  std::vector<std::byte> buffer;
  for (UnitRun run : cached_->claim(units_of(0, version_.size)).runs) {
    while (run.size() > 0 && body.is_kept()) {
      const UnitRun piece{run.first, std::min(run.end, run.first + k_max_request_units)};
      const std::uint64_t begin = piece.first * k_unit_bytes;
      buffer.resize(std::min(piece.end * k_unit_bytes, version_.size) - begin);
      if (!body.take(begin, buffer) || !cached_->reserve(piece)) break;
      run.first = piece.end;
      const Bytes content = buffer;
      if (!cached_->write(piece.first, {&content, 1})) cached_->release(piece, true);
    }
    cached_->release(run, false);
  }
}

std::size_t UrlFile::read_some(std::uint64_t offset, MutableBytes out) const {
  if (offset >= version_.size) return 0;
  out = out.first(std::min(out.size(), version_.size - offset));
  if (cached_ && cached_->read(offset, out)) return out.size();
  const std::size_t piece = max_request_units() * k_unit_bytes;
  for (std::size_t at = 0; at < out.size(); at += piece) {
    const MutableBytes part = out.subspan(at, std::min(piece, out.size() - at));
    if (cached_ && cached_->read(offset + at, part))
      continue;  // without a Retry, which draws from the system's randomness
    Retry retry;
    if (cached_) {
      read_cached(offset + at, part, retry);
    } else {
      read_directly(offset + at, part, retry);
    }
  }
  return out.size();
}

/// The units that a request for these brings: all, if the server sends the whole file in any case.
UnitRun UrlFile::needed(UnitRun units) const { return version_.has_ranges ? units : units_of(0, version_.size); }

/// The units, and more after them if reads follow each other. Several threads may each read in sequence.
UnitRun UrlFile::extended(UnitRun units) const {
  if (!version_.has_ranges) return needed(units);
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(sequences_.begin(), sequences_.end(), [&](const Sequence& sequence) {
    return units.first + 1 >= sequence.end && units.first <= sequence.end + sequence.window_units;
  });
  Sequence sequence;
  if (found != sequences_.end()) {
    sequence.window_units = std::clamp(found->window_units * 2, k_first_window_units, k_max_request_units);
    sequences_.erase(found);
  }
  units.end = std::min(std::max(units.end, units.first + sequence.window_units), units_of(0, version_.size).end);
  sequence.end = units.end;
  sequences_.push_front(sequence);
  if (sequences_.size() > k_max_sequences) sequences_.pop_back();
  return units;
}

void UrlFile::read_cached(std::uint64_t offset, MutableBytes out, Retry& retry) const {
  const UnitRun wanted = units_of(offset, out.size());
  int num_unreadable = 0;
  std::uint64_t num_present = cached_->num_present(wanted);
  std::optional<UnitRun> fetched;
  for (;;) {
    if (cached_->read(offset, out)) return;
    const std::uint32_t seen = cached_->progress();
    if (!fetched) fetched = extended(wanted);
    const UnitMap::Claims claims = cached_->claim(retry.num_failures() == 0 ? *fetched : needed(wanted));
    const Outcome outcome = fetch(claims.runs, wanted, retry);
    if (!outcome.has_room) return read_directly(offset, out, retry);
    if (outcome.error) {
      const std::uint64_t num_now = cached_->num_present(wanted);
      if (has_moved(*outcome.error, retry)) continue;
      if (num_now > num_present && outcome.error->code() == ErrorCode::retryable) {
        retry.made_progress();
      } else {
        retry.wait_after(*outcome.error, &outcome.response);
      }
      num_present = num_now;
      continue;
    }
    if (claims.runs.empty() && claims.others && !cached_->has(wanted)) {
      poll_remote_wait();
      cached_->wait(seen, k_wait_ms);
    } else if (claims.runs.empty() && !claims.others) {
      ++num_unreadable;
    }
    // Nobody can know why another process takes so long.
    if (num_unreadable == k_max_unreadable || std::chrono::steady_clock::now() > retry.middle()) {
      return cached_->read(offset, out) ? void() : read_directly(offset, out, retry);
    }
  }
}

/// Fetches claimed units, by requests of a good size, until one fails, and waits for those that are wanted. The others
/// come while the caller continues.
UrlFile::Outcome UrlFile::fetch(const std::vector<UnitRun>& runs, UnitRun wanted, const Retry& retry) const {
  Outcome outcome;
  std::exception_ptr failure;
  for (UnitRun run : runs) {
    while (run.size() > 0 && outcome.has_room && !outcome.error && !failure) {
      const UnitRun part{run.first, std::min(run.end, run.first + max_request_units())};
      outcome.has_room = cached_->reserve(part);
      if (!outcome.has_room) break;
      run.first = part.end;
      try {
        fetch_part(part, wanted, retry, outcome);
      } catch (
          ...) {  // the request could not be made: no credentials, for example; or the caller need not wait any more
        failure = std::current_exception();
      }
    }
    cached_->release(run, false);
  }
  if (failure) std::rethrow_exception(failure);
  return outcome;
}

void UrlFile::fetch_part(UnitRun part, UnitRun wanted, const Retry& retry, Outcome& outcome) const {
  const UnitRun awaited{std::max(part.first, wanted.first), std::min(part.end, wanted.end)};
  const bool is_awaited = awaited.first < awaited.end;
  const Place from = place();
  const std::shared_ptr<RangeRequest> request =
      UnitFetch::request(from.location, from.version, cached_, part, is_awaited ? awaited.end : part.end);
  request->send([&](HttpRequest& asked) {
    set_limits(asked, retry, is_awaited ? awaited.size() * k_unit_bytes : 0);
    asked.urgent = is_awaited;
  });
  if (!is_awaited) return;
  if (!request->wait(retry.end(), [&] { return cached_->has(awaited); })) {
    outcome.error = too_slow();
  } else if (!cached_->has(awaited)) {
    outcome.error = request->error();
    outcome.response = request->response();
  }
  // The body was refused: the disk is full.
  if (outcome.error && outcome.error->code() == ErrorCode::interrupted) outcome = {.has_room = false};
}

UrlFile::Place UrlFile::place() const {
  const std::lock_guard lock(mutex_);
  return moved_ ? *moved_ : Place{location_, version_};
}

/// Where the same file is that is not at its place. A copy may have another ETag, but keeps it from now on, and the
/// name of a shard never stands for other content.
std::optional<UrlFile::Place> UrlFile::find_moved(Retry& retry) const {
  const std::shared_ptr<const RemoteUrl> location = location_->moved();
  if (!location) return std::nullopt;
  FileVersion version{.size = version_.size, .has_ranges = version_.has_ranges};
  for (;;) {
    const auto request =
        std::make_shared<RangeRequest>(location, FileRange{0, 1}, version, [](std::uint64_t, Bytes) { return true; });
    request->send([&](HttpRequest& asked) {
      set_limits(asked, retry, 1);
      asked.urgent = true;
    });
    const bool is_in_time = request->wait(retry.end(), [] { return false; });
    const std::optional<Error> error = is_in_time ? request->error() : too_slow();
    const HttpResponse response = request->response();
    if (!error) {
      version.etag = validator_of(response);
      return Place{location, std::move(version)};
    }
    if (error->code() != ErrorCode::retryable) return std::nullopt;
    retry.wait_after(error_at(location_->shown(), *error), &response);
  }
}

/// Whether to ask again, at another place. Throws if the file is not there either; the next read asks the first again.
bool UrlFile::has_moved(const Error& error, Retry& retry) const {
  if (error.code() != ErrorCode::not_found) return false;
  {
    const std::lock_guard lock(mutex_);
    if (moved_) {
      const bool is_first = error.context().path == location_->shown();  // another thread has found it
      if (!is_first) moved_.reset();
      if (is_first) return true;
      throw error_at(location_->shown(), error);
    }
  }
  std::optional<Place> found = find_moved(retry);
  if (!found) return false;
  const std::lock_guard lock(mutex_);
  moved_ = std::move(found);
  return true;
}

void UrlFile::set_limits(HttpRequest& request, const Retry& retry, std::uint64_t num_bytes) const {
  retry.set_limits(request, num_bytes);
  request.fresh_connection = retry.num_failures() > 0;
  if (!version_.has_ranges) request.total_timeout = {};  // what comes later is of use, too
}

Error UrlFile::too_slow() const {
  return {ErrorCode::retryable, "the server is too slow", {.path = location_->shown()}};
}

/// Past the cache.
void UrlFile::read_directly(std::uint64_t offset, MutableBytes out, Retry& retry) const {
  const auto put = [&](std::uint64_t place, Bytes part) {
    const std::uint64_t begin = std::clamp(place, offset, offset + out.size());
    const std::uint64_t end = std::clamp(place + part.size(), offset, offset + out.size());
    if (begin < end)
      std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(begin - place), end - begin,
                  out.begin() + static_cast<std::ptrdiff_t>(begin - offset));
    return place + part.size() < offset + out.size() || place + part.size() == end;
  };
  for (;;) {
    const Place from = place();
    const auto request =
        std::make_shared<RangeRequest>(from.location, FileRange{offset, out.size()}, from.version, put);
    bool is_in_time = false;
    try {
      request->send([&](HttpRequest& asked) {
        set_limits(asked, retry, out.size());
        asked.urgent = true;
      });
      is_in_time = request->wait(retry.end(), [] { return false; });
    } catch (...) {
      request->end();
      throw;
    }
    if (!is_in_time) request->end();  // `out` is the caller's
    const std::optional<Error> error = is_in_time ? request->error() : too_slow();
    if (!error) return;
    if (has_moved(*error, retry)) continue;
    const HttpResponse response = request->response();
    retry.wait_after(*error, &response);
  }
}

void UrlFile::forget(std::uint64_t offset, std::uint64_t length) const {
  if (!cached_ || offset >= version_.size || length == 0) return;
  cached_->forget(units_of(offset, std::min(length, version_.size - offset)));
}

void UrlFile::will_use(std::uint64_t offset, std::uint64_t length, const NextUse& use) const {
  if (!cached_ || offset >= version_.size || length == 0) return;
  cached_->will_use(units_of(offset, std::min(length, version_.size - offset)), use);
}

bool UrlFile::is_cached(std::uint64_t offset, std::uint64_t length) const {
  if (!cached_ || offset >= version_.size) return false;
  return cached_->has(units_of(offset, std::min(length, version_.size - offset)));
}

void UrlFile::will_need(std::uint64_t offset, std::uint64_t length) const { fetch_ahead(offset, length, nullptr); }

void UrlFile::fetch_ahead(std::uint64_t offset, std::uint64_t length, std::shared_ptr<const void> held) const {
  if (!cached_ || offset >= version_.size || length == 0 || !location_->is_ready()) return;
  const UnitRun wanted = units_of(offset, std::min(length, version_.size - offset));
  if (cached_->has(wanted)) return;
  const Place from = place();
  for (UnitRun run : cached_->claim(needed(wanted)).runs) {
    while (run.size() > 0) {
      const UnitRun part{run.first, std::min(run.end, run.first + max_request_units())};
      if (!cached_->reserve(part)) break;
      run.first = part.end;
      try {
        UnitFetch::request(from.location, from.version, cached_, part, part.end)
            ->send([this, held](HttpRequest& asked) { set_limits(asked, Retry(), 0); });
      } catch (const Error&) {  // whoever reads the range meets it again
        break;
      }
    }
    cached_->release(run, false);
  }
}

}  // namespace bale
