#include "bale/formats/storage/ranges/range_request.hpp"

#include <algorithm>
#include <utility>

#include "bale/formats/base/storage.hpp"

namespace bale {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t k_most_hedged_bytes = 1 << 20;  // a larger one takes its time

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
  Try* one = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (winner_ != nullptr || is_closed_) return;
    one = &tries_.emplace_back(
        Try{.body = RangeBody(*location_, range_, version_,
                              [this](std::uint64_t offset, Bytes part) { return put_(offset, part); })});
  }
  request.is_cancelled = one->is_cancelled;
  request.on_body = [this, one](const HttpResponse& head, Bytes part) { return take(*one, head, part); };
  HttpClient::instance().submit(std::move(request), [self = shared_from_this(), one](HttpResult result) {
    self->finish(*one, std::move(result));
  });
}

/// The first answer that may be the file wins.
bool RangeRequest::take(Try& one, const HttpResponse& head, Bytes part) {
  const bool is_file = head.status == 200 || head.status == 206;
  {
    const std::lock_guard lock(mutex_);
    if (winner_ == nullptr && is_file) {
      winner_ = &one;
      for (Try& other : tries_) *other.is_cancelled = &other != &one;
      if (tries_.size() > 1) HttpClient::instance().look_for_cancelled();
      if (hedge_) {
        hedge_->note_first_byte_after(std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - one.begin));
      }
    }
    if (winner_ != nullptr && winner_ != &one) return false;
  }
  return one.body.take(head, part);
}

void RangeRequest::finish(Try& one, HttpResult result) {
  RangeBody::Put last;  // destroyed after the lock, and before a thread that waits continues
  {
    const std::lock_guard lock(mutex_);
    const bool is_last = std::all_of(tries_.begin(), tries_.end(),
                                     [&](const Try& any) { return &any == &one || any.result.has_value(); });
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
  return std::all_of(tries_.begin(), tries_.end(), [](const Try& one) { return one.result.has_value(); });
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
  for (Try& one : tries_) *one.is_cancelled = true;
  HttpClient::instance().look_for_cancelled();
  changed_.wait(lock, [this] { return are_all_over(); });
}

/// Requires mutex_, and that it has ended.
const RangeRequest::Try& RangeRequest::decisive() const { return winner_ != nullptr ? *winner_ : tries_.front(); }

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

}  // namespace bale
