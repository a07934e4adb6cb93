#include "bale/formats/storage/http/socket_events.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "bale/formats/base/error.hpp"

namespace bale {
namespace {

using std::chrono::milliseconds;

constexpr int k_longest_wait_ms = 1000;
constexpr std::size_t k_events_at_a_time = 64;

}  // namespace

SocketEvents::SocketEvents(CURLM* multi)
    : multi_(multi), poll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  struct epoll_event event {};
  event.events = EPOLLIN;
  event.data.fd = wake_;
  if (poll_ < 0 || wake_ < 0 || ::epoll_ctl(poll_, EPOLL_CTL_ADD, wake_, &event) != 0) {
    const int why = errno;
    if (poll_ >= 0) ::close(poll_);
    if (wake_ >= 0) ::close(wake_);
    errno = why;
    throw_errno("wait for", "the network");
  }
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &SocketEvents::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &SocketEvents::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

SocketEvents::~SocketEvents() {
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, nullptr);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, nullptr);
  ::close(wake_);
  ::close(poll_);
}

int SocketEvents::on_socket(CURL*, curl_socket_t socket, int what, void* self, void* known) {
  static_cast<SocketEvents*>(self)->watch(socket, what, known != nullptr);
  return 0;
}

void SocketEvents::watch(curl_socket_t socket, int what, bool is_known) {
  struct epoll_event event {};
  event.data.fd = socket;
  if (what == CURL_POLL_REMOVE) {
    ::epoll_ctl(poll_, EPOLL_CTL_DEL, socket, &event);
    return;
  }
  if (what != CURL_POLL_OUT) event.events |= EPOLLIN;
  if (what != CURL_POLL_IN) event.events |= EPOLLOUT;
  // A number that was closed unseen may be that of another socket by now.
  const int first = is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  const int second = is_known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (::epoll_ctl(poll_, first, socket, &event) != 0) ::epoll_ctl(poll_, second, socket, &event);
  if (!is_known) curl_multi_assign(multi_, socket, this);
}

int SocketEvents::on_timer(CURLM*, long timeout_ms, void* self) {
  auto& timer = static_cast<SocketEvents*>(self)->timer_;
  timer.reset();
  if (timeout_ms >= 0) timer = Clock::now() + milliseconds(timeout_ms);
  return 0;
}

int SocketEvents::timeout_ms() const {
  if (is_woken_) return 0;
  if (!timer_) return k_longest_wait_ms;
  const auto left = std::chrono::ceil<milliseconds>(*timer_ - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, k_longest_wait_ms));
}

void SocketEvents::wait_and_act() {
  std::array<struct epoll_event, k_events_at_a_time> events{};
  const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), timeout_ms());
  is_woken_ = false;
  int running = 0;
  for (int i = 0; i < count; ++i) {
    const struct epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.fd == wake_) {
      std::uint64_t number = 0;
      [[maybe_unused]] const ssize_t ignored = ::read(wake_, &number, sizeof number);
      continue;
    }
    const int ready = ((event.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                      ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                      ((event.events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
    curl_multi_socket_action(multi_, event.data.fd, ready, &running);
  }
  if (timer_ && Clock::now() >= *timer_) {
    timer_.reset();
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  }
}

void SocketEvents::wake_up() {
  if (is_woken_.exchange(true)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored = ::write(wake_, &one, sizeof one);
}

}  // namespace bale
