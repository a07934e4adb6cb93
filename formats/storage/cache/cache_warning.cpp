#include "bale/formats/storage/cache/cache_settings.hpp"

#include <functional>
#include <mutex>
#include <utility>

#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/storage/remote_cache.hpp"

namespace bale {
namespace {

ForkMutex g_warning_mutex;
std::function<void(const std::string&)> g_warning_handler;  // guarded by it, as what follows
bool g_is_warned = false;

}  // namespace

void set_cache_warning_handler(std::function<void(const std::string&)> handler) {
  const std::lock_guard lock(g_warning_mutex);
  g_warning_handler = std::move(handler);
}

void warn_of_cache(const std::string& what) {
  std::function<void(const std::string&)> handler;
  {
    const std::lock_guard lock(g_warning_mutex);
    if (!std::exchange(g_is_warned, true)) handler = g_warning_handler;
  }
  if (handler) handler(what);
}

}  // namespace bale
