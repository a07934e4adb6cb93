#include "bale/formats/storage/ranges/range_request.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "bale/formats/base/storage.hpp"

namespace bale {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t k_most_hedged_bytes = 1 << 20;  // a larger one takes its time

constexpr std::size_t k_store_bytes = 64 << 10;  // stored at a time, at least

FileRange bytes_of(UnitRun run, std::uint64_t file_bytes) {
  const std::uint64_t begin = run.first * k_unit_bytes;
  return {begin, std::min(run.end * k_unit_bytes, file_bytes) - begin};
}

/// As insert() at the end, of which GCC 14 warns that it overflows.
void append(std::vector<std::byte>& to, Bytes bytes) {
  const std::size_t size = to.size();
  to.resize(size + bytes.size());
  if (!bytes.empty()) std::memcpy(to.data() + size, bytes.data(), bytes.size());
}

}  // namespace

RangeRequest::RangeRequest(std::shared_ptr<const RemoteUrl> location, FileRange range, FileVersion version,
                           RangeBody::Put put)
    : location_(std::move(location)), range_(range), version_(std::move(version)), put_(std::move(put)) {}

void RangeRequest::send(const Adjust& adjust) {
  adjust_ = adjust;
  send_one(false);
}

void RangeRequest::send_one(bool fresh_connection) {
  HttpRequest request = location_->get({.range = range_, .if_match = version_.strong_etag()});
  request.expected_bytes = range_.length;
  adjust_(request);
  if (fresh_connection) request.fresh_connection = true;
  const bool has_connections = !request.open;
  if (has_connections && !fresh_connection && request.urgent && version_.has_ranges &&
      range_.length <= k_most_hedged_bytes) {
    hedge_ = Hedge::of_host(request.url);
    hedge_->note_request();
  }
  Attempt* one = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (winner_ != nullptr || is_closed_) return;
    one = &tries_.emplace_back(
        Attempt{.body = RangeBody(*location_, range_, version_,
                                  [this](std::uint64_t offset, Bytes part) { return put_(offset, part); })});
  }
  request.is_cancelled = one->is_cancelled;
  request.on_body = [this, one](const HttpResponse& head, Bytes part) { return take(*one, head, part); };
  HttpClient::instance().submit(std::move(request), [self = shared_from_this(), one](HttpResult result) {
    self->finish(*one, std::move(result));
  });
}

/// The first answer that may be the file wins.
bool RangeRequest::take(Attempt& one, const HttpResponse& head, Bytes part) {
  const bool is_file = head.status == 200 || head.status == 206;
  {
    const std::lock_guard lock(mutex_);
    if (winner_ == nullptr && is_file) {
      winner_ = &one;
      for (Attempt& other : tries_) *other.is_cancelled = &other != &one;
      if (tries_.size() > 1) HttpClient::instance().look_for_cancelled();
      if (hedge_) {
        hedge_->note_first_byte_after(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - one.begin));
      }
    }
    if (winner_ != nullptr && winner_ != &one) return false;
  }
  return one.body.take(head, part);
}

void RangeRequest::finish(Attempt& one, HttpResult result) {
  RangeBody::Put last;  // destroyed after the lock, and before a thread that waits continues
  {
    const std::lock_guard lock(mutex_);
    const bool is_last = std::all_of(tries_.begin(), tries_.end(),
                                     [&](const Attempt& any) { return &any == &one || any.result.has_value(); });
    if (is_last) last.swap(put_);
    is_closed_ = is_last;
  }
  last = nullptr;
  {
    const std::lock_guard lock(mutex_);
    one.result = std::move(result);
  }
  changed_.notify_all();
}

/// Requires mutex_.
bool RangeRequest::are_all_over() const {
  return std::all_of(tries_.begin(), tries_.end(), [](const Attempt& one) { return one.result.has_value(); });
}

/// Requires mutex_.
bool RangeRequest::has_ended() const { return winner_ != nullptr ? winner_->result.has_value() : are_all_over(); }

bool RangeRequest::wait(Clock::time_point end, const std::function<bool()>& is_enough) {
  const auto delay = hedge_ ? hedge_->delay() : std::nullopt;
  std::unique_lock lock(mutex_);
  const auto hedge_at = delay ? tries_.front().begin + *delay : Clock::time_point::max();
  bool may_hedge = delay.has_value();
  for (auto poll_at = Clock::now() + k_remote_poll_interval;;) {
    if (has_ended()) return true;
    const std::uint64_t seen = num_looks_;
    lock.unlock();
    if (is_enough()) return true;
    const auto now = Clock::now();
    if (now >= end) return false;
    if (now >= poll_at) {
      poll_remote_wait();
      poll_at = now + k_remote_poll_interval;
    }
    if (may_hedge && now >= hedge_at) {
      may_hedge = false;
      try {
        if (hedge_->take()) send_one(true);
      } catch (const Error&) {  // the first one is still under way
      }
    }
    lock.lock();
    changed_.wait_until(lock, std::min({end, poll_at, may_hedge ? hedge_at : poll_at}),
                        [&] { return num_looks_ != seen || has_ended(); });
  }
}

void RangeRequest::look() {
  {
    const std::lock_guard lock(mutex_);
    ++num_looks_;
  }
  changed_.notify_all();
}

void RangeRequest::end() {
  std::unique_lock lock(mutex_);
  for (Attempt& one : tries_) *one.is_cancelled = true;
  HttpClient::instance().look_for_cancelled();
  changed_.wait(lock, [this] { return are_all_over(); });
}

/// Requires mutex_, and that it has ended.
const RangeRequest::Attempt& RangeRequest::decisive() const { return winner_ != nullptr ? *winner_ : tries_.front(); }

std::optional<Error> RangeRequest::error() const {
  const std::lock_guard lock(mutex_);
  if (!has_ended()) return std::nullopt;
  return decisive().body.end(*decisive().result);
}

HttpResponse RangeRequest::response() const {
  const std::lock_guard lock(mutex_);
  if (!has_ended()) return {};
  const auto* const response = std::get_if<HttpResponse>(&*decisive().result);
  return response != nullptr ? HttpResponse{.status = response->status, .headers = response->headers} : HttpResponse{};
}

std::shared_ptr<RangeRequest> UnitFetch::request(const std::shared_ptr<const RemoteUrl>& location,
                                                 const FileVersion& version, std::shared_ptr<CachedFile> file,
                                                 UnitRun run, std::uint64_t wanted_end) {
  const FileRange range = bytes_of(run, version.size);
  const auto fetch = std::make_shared<UnitFetch>(std::move(file), run, wanted_end, range);
  const auto request = std::make_shared<RangeRequest>(
      location, range, version, [fetch](std::uint64_t offset, Bytes part) { return fetch->put(offset, part); });
  fetch->request_ = request;
  return request;
}

UnitFetch::UnitFetch(std::shared_ptr<CachedFile> file, UnitRun run, std::uint64_t wanted_end, FileRange range)
    : file_(std::move(file)), rest_(run), wanted_end_(wanted_end), range_(range) {}

UnitFetch::~UnitFetch() {
  store_complete({}, false);  // of a body that was cut, too
  file_->release(rest_, true);
}

/// Of a whole file that comes instead of a range, what is not in the range is skipped.
bool UnitFetch::put(std::uint64_t offset, Bytes part) {
  const std::uint64_t begin = std::clamp(offset, range_.offset, range_.offset + range_.length);
  const std::uint64_t end = std::clamp(offset + part.size(), range_.offset, range_.offset + range_.length);
  const Bytes wanted = begin < end ? part.subspan(begin - offset, end - begin) : Bytes();
  const bool is_end = end == range_.offset + range_.length;
  const bool is_wanted = rest_.first < wanted_end_ && end >= wanted_end_ * k_unit_bytes;
  if (waiting_.size() + wanted.size() < k_store_bytes && !is_wanted && !is_end) {
    append(waiting_, wanted);
    return true;
  }
  return store_complete(wanted, is_end) && (!is_end || offset + part.size() == end);
}

/// Stores the whole units of what waits and `more`, which follows it; what is left waits.
bool UnitFetch::store_complete(Bytes more, bool is_end) {
  const std::size_t begun = waiting_.size() % k_unit_bytes;
  const Bytes rest_of_unit = more.first(std::min<std::size_t>(more.size(), begun > 0 ? k_unit_bytes - begun : 0));
  append(waiting_, rest_of_unit);
  more = more.subspan(rest_of_unit.size());
  const auto complete = [&](Bytes bytes) {
    return bytes.first(is_end ? bytes.size() : bytes.size() / k_unit_bytes * k_unit_bytes);
  };
  const std::array<Bytes, 2> parts{complete(waiting_), complete(more)};
  const std::size_t stored = parts[0].size() + parts[1].size();
  if (stored > 0 && !file_->write(rest_.first, parts)) return false;
  rest_.first += units_of(0, stored).end;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(parts[0].size()));
  const Bytes left = more.subspan(parts[1].size());
  append(waiting_, left);
  const auto request = stored > 0 ? request_.lock() : nullptr;
  if (request) request->look();
  return true;
}

}  // namespace bale
