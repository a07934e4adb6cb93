#include "bale/formats/storage/libcurl_start.hpp"

#include <pthread.h>

#include <mutex>

namespace bale {
namespace {

constinit std::mutex calls;

// At load: fork() may come at any time after.
[[maybe_unused]] const int registered =
    ::pthread_atfork([] { calls.lock(); }, [] { calls.unlock(); }, [] { calls.unlock(); });

}  // namespace

void start_libcurl() {
  const std::lock_guard lock(calls);
  curl_global_init(CURL_GLOBAL_DEFAULT);
}

CURL* new_curl_handle() {
  const std::lock_guard lock(calls);
  return curl_easy_init();
}

}  // namespace bale
