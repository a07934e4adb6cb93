#include "bale/formats/storage/url_file.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/formats/storage/retry.hpp"
#include "bale/formats/storage/unit_fetch.hpp"

namespace bale {
namespace {

/// Large enough that the time of a transfer is not that of its first byte: AWS advises 8 to 16 MB per request.
constexpr std::uint64_t k_max_request_units = (std::uint64_t{8} << 20) / k_unit_bytes;
constexpr std::uint64_t k_first_window_units = (std::uint64_t{128} << 10) / k_unit_bytes;
constexpr std::size_t k_max_sequences = 16;
constexpr int k_wait_ms = 200;
constexpr int k_max_unreadable = 3;  // times that content which is there cannot be read, until it is read elsewhere

}  // namespace

UrlFile::UrlFile(std::shared_ptr<const Location> location, FileVersion version, std::shared_ptr<CachedFile> cached,
                 Bytes head)
    : location_(std::move(location)), version_(std::move(version)), cached_(std::move(cached)) {
  if (cached_) store_head(head);
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
    if (!is_reserved || !cached_->write(run.first, content)) cached_->release(run, is_reserved);
  }
}

std::size_t UrlFile::read_some(std::uint64_t offset, MutableBytes out) const {
  if (offset >= version_.size) return 0;
  out = out.first(std::min(out.size(), version_.size - offset));
  if (out.empty()) return 0;
  if (cached_) {
    read_cached(offset, out);
  } else {
    read_directly(offset, out);
  }
  return out.size();
}

/// The units, and more after them if reads follow each other. Several threads may each read in sequence.
UnitRun UrlFile::extended(UnitRun units) const {
  if (!version_.has_ranges) return {units.first, units_of(0, version_.size).end};
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

void UrlFile::read_cached(std::uint64_t offset, MutableBytes out) const {
  if (cached_->read(offset, out)) return;
  const UnitRun wanted = units_of(offset, out.size());
  const auto patience = std::chrono::steady_clock::now() + 2 * network_timeout();
  int num_unreadable = 0;
  std::uint64_t num_present = cached_->num_present(wanted);
  std::optional<UnitRun> fetched;
  for (Retry retry;;) {
    if (cached_->read(offset, out)) return;
    const std::uint32_t seen = cached_->progress();
    if (!fetched) fetched = extended(wanted);
    const UnitMap::Claims claims = cached_->claim(retry.num_failures() == 0 ? *fetched : wanted);
    const Outcome outcome = fetch(claims.runs, retry.num_failures() > 0);
    if (!outcome.has_room || std::chrono::steady_clock::now() > patience) return read_directly(offset, out);
    if (outcome.error) {
      const std::uint64_t num_now = cached_->num_present(wanted);
      if (num_now > num_present && outcome.error->code() == ErrorCode::retryable) {
        retry.made_progress();
      } else {
        retry.wait_after(*outcome.error, &outcome.response);
      }
      num_present = num_now;
    } else if (claims.others) {
      if (are_remote_reads_interrupted()) throw Error(ErrorCode::interrupted, "interrupted");
      if (claims.runs.empty() && !cached_->has(wanted)) cached_->wait(seen, k_wait_ms);
    } else if (claims.runs.empty() && ++num_unreadable == k_max_unreadable) {
      return read_directly(offset, out);
    }
  }
}

/// Fetches claimed units, by requests of a good size, until one fails. None of them are claimed afterwards.
UrlFile::Outcome UrlFile::fetch(const std::vector<UnitRun>& runs, bool fresh_connection) const {
  Outcome outcome;
  std::exception_ptr failure;
  for (UnitRun run : runs) {
    while (run.size() > 0 && outcome.has_room && !outcome.error && !failure) {
      const UnitRun part{run.first, std::min(run.end, run.first + max_request_units())};
      outcome.has_room = cached_->reserve(part);
      if (!outcome.has_room) break;
      run.first = part.end;
      try {
        outcome.error = UnitFetch(location_, version_, cached_, part).now(fresh_connection, outcome.response);
      } catch (...) {  // the request could not be made: no credentials, say
        failure = std::current_exception();
      }
    }
    cached_->release(run, false);
  }
  if (failure) std::rethrow_exception(failure);
  return outcome;
}

/// Past the cache.
void UrlFile::read_directly(std::uint64_t offset, MutableBytes out) const {
  std::uint64_t at = offset;
  const auto put = [&](std::uint64_t place, Bytes part) {
    const std::uint64_t begin = std::clamp(place, offset, offset + out.size());
    const std::uint64_t end = std::clamp(place + part.size(), offset, offset + out.size());
    if (begin < end) std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(begin - place), end - begin,
                                 out.begin() + static_cast<std::ptrdiff_t>(begin - offset));
    at = std::max(at, end);
    return at < offset + out.size() || place + part.size() == end;
  };
  for (Retry retry;;) {
    RangeBody body(*location_, {offset, out.size()}, version_, put);
    HttpRequest request =
        location_->get({.range = FileRange{offset, out.size()}, .if_match = version_.strong_etag()});
    request.on_body = [&body](const HttpResponse& head, Bytes part) { return body.take(head, part); };
    request.urgent = true;
    request.fresh_connection = retry.num_failures() > 0;
    const HttpResult result = HttpClient::instance().carry_out(std::move(request));
    const std::optional<Error> error = body.end(result);
    if (!error) return;
    retry.wait_after(*error, std::get_if<HttpResponse>(&result));
  }
}

void UrlFile::forget(std::uint64_t offset, std::uint64_t length) const {
  if (!cached_ || offset >= version_.size || length == 0) return;
  cached_->forget(units_of(offset, std::min(length, version_.size - offset)));
}

void UrlFile::will_need(std::uint64_t offset, std::uint64_t length) const {
  if (!cached_ || offset >= version_.size || length == 0) return;
  const UnitRun wanted = units_of(offset, std::min(length, version_.size - offset));
  if (cached_->has(wanted)) return;
  for (UnitRun run : cached_->claim(wanted).runs) {
    while (run.size() > 0) {
      const UnitRun part{run.first, std::min(run.end, run.first + max_request_units())};
      if (!cached_->reserve(part)) {
        cached_->release(run, false);
        break;
      }
      run.first = part.end;
      try {
        UnitFetch::later(std::make_shared<UnitFetch>(location_, version_, cached_, part));
      } catch (const Error&) {  // whoever reads the range meets it again
        cached_->release(run, false);
        break;
      }
    }
  }
}

}  // namespace bale
