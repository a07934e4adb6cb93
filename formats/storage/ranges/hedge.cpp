#include "bale/formats/storage/ranges/hedge.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bale/formats/base/names/uri_encoding.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"

namespace bale {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t k_kept_waits = 100;
constexpr std::size_t k_least_waits = 20;
constexpr milliseconds k_least_delay{100};
constexpr double k_share = 0.05;  // of the requests
constexpr double k_most_at_once = 5;

}  // namespace

std::shared_ptr<Hedge> Hedge::of_host(std::string_view url) {
  struct Hosts {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<Hedge>> hedges;
  };
  static constinit PerProcess<Hosts> all;
  Hosts& hosts = all.get([] { return std::make_unique<Hosts>(); });
  const std::lock_guard lock(hosts.mutex);
  std::shared_ptr<Hedge>& found = hosts.hedges[std::string(split_url(url).authority)];
  if (!found) found = std::make_shared<Hedge>();
  return found;
}

void Hedge::note_request() {
  const std::lock_guard lock(mutex_);
  budget_ = std::min(budget_ + k_share, k_most_at_once);
}

void Hedge::note_first_byte_after(milliseconds waited) {
  const std::lock_guard lock(mutex_);
  waits_.push_back(waited);
  if (waits_.size() > k_kept_waits) waits_.pop_front();
}

std::optional<milliseconds> Hedge::delay() const {
  const std::lock_guard lock(mutex_);
  if (waits_.size() < k_least_waits) return std::nullopt;
  std::vector<milliseconds> sorted(waits_.begin(), waits_.end());
  const auto nth = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * 95 / 100);
  std::nth_element(sorted.begin(), nth, sorted.end());
  return std::max(2 * *nth, k_least_delay);
}

bool Hedge::take() {
  const std::lock_guard lock(mutex_);
  if (budget_ < 1) return false;
  budget_ -= 1;
  return true;
}

}  // namespace bale
