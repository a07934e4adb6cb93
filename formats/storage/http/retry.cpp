#include "bale/formats/storage/http/retry.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "bale/formats/base/storage.hpp"
#include "bale/formats/storage/http/http_engine.hpp"

namespace bale {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds k_first_pause{200};
constexpr milliseconds k_longest_pause{10'000};

/// Until the time or for the seconds of a Retry-After header (RFC 9110, 10.2.3); 0 if there is none.
seconds asked_pause(const HttpResponse* response) {
  constexpr unsigned k_most = 3600;
  if (response == nullptr) return seconds(0);
  const std::string text = response->header("retry-after");
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return seconds(std::min(value, k_most));
  const std::time_t until = parse_http_time(text);  // negative if it is not a time
  return seconds(std::clamp<std::time_t>(until - std::time(nullptr), 0, k_most));
}

}  // namespace

seconds network_timeout() {
  constexpr unsigned k_default = 120;
  constexpr unsigned k_most = 86'400;
  const char* const text = std::getenv("BALE_NETWORK_TIMEOUT");
  if (text == nullptr || *text == '\0') return seconds(k_default);
  const std::string_view given = text;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error != std::errc{} || end != given.data() + given.size() || value == 0 || value > k_most) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("BALE_NETWORK_TIMEOUT is \"{}\", not a number of seconds from 1 to {}", printable(given), k_most));
  }
  return seconds(value);
}

Error error_at(const std::string& name, const Error& error) {
  ErrorContext context = error.context();
  context.path = name;
  return {error.code(), error.message(), std::move(context)};
}

Retry::Retry(seconds limit) : limit_(limit), begin_(std::chrono::steady_clock::now()) {}

void Retry::wait_after(const Error& error, const HttpResponse* response) {
  if (error.code() != ErrorCode::retryable) throw Error(error);
  ++num_failures_;
  const milliseconds longest = std::min(k_longest_pause, k_first_pause * (1u << std::min(num_failures_ - 1, 10u)));
  if (!random_) random_.emplace(std::random_device{}());
  const milliseconds drawn(std::uniform_int_distribution<long>(longest.count() / 2, longest.count())(*random_));
  const milliseconds pause = std::max<milliseconds>(drawn, asked_pause(response));
  const auto now = std::chrono::steady_clock::now();
  if (now + pause >= begin_ + limit_) {
    ErrorContext context = error.context();
    context.hint = "try again later; BALE_NETWORK_TIMEOUT is the longest time to wait, in seconds";
    const auto waited = std::chrono::duration_cast<seconds>(now - begin_).count();
    throw Error(
        ErrorCode::retryable,
        fmt::format("{} ({} {} in {} s)", error.message(), num_failures_, num_failures_ == 1 ? "try" : "tries", waited),
        std::move(context));
  }
  note_remote_retry(error);
  for (const auto end = now + pause; std::chrono::steady_clock::now() < end;) {
    poll_remote_wait();
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(k_remote_poll_interval, end - std::chrono::steady_clock::now()));
  }
}

void Retry::set_limits(HttpRequest& request, std::uint64_t num_bytes) const {
  const milliseconds quarter = limit_ / 4;
  const auto left = std::chrono::duration_cast<milliseconds>(end() - std::chrono::steady_clock::now());
  request.total_timeout = std::max(left, milliseconds(1));
  request.connect_timeout = std::min(request.connect_timeout, quarter);
  request.stall_timeout = std::min(request.stall_timeout, quarter);
  request.least_bytes_per_s = num_bytes / static_cast<std::uint64_t>(limit_.count());
}

}  // namespace bale
