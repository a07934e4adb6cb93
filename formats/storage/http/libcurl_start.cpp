#include "bale/formats/storage/http/libcurl_start.hpp"

#include <mutex>

#include "bale/formats/base/system/fork_mutex.hpp"

namespace bale {
namespace {

ForkMutex calls;

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
