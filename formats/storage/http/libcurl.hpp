// The functions of libcurl that bale calls, which open it, and those that hold its global lock; internal.
#pragma once

#include <curl/curl.h>

#include "bale/formats/base/system/lazy_library.hpp"
#include "bale_lazy_curl.hpp"

#ifdef BALE_LAZY_CURL

namespace bale {

inline constinit LazyLibrary curl_library{BALE_LAZY_CURL};

// clang-format off
#define BALE_CURL(name) BALE_LAZY_FUNCTION(curl_library, name)
BALE_CURL(curl_easy_cleanup) BALE_CURL(curl_easy_getinfo) BALE_CURL(curl_easy_init) BALE_CURL(curl_easy_reset)
BALE_CURL(curl_easy_setopt) BALE_CURL(curl_easy_strerror) BALE_CURL(curl_global_init) BALE_CURL(curl_multi_add_handle)
BALE_CURL(curl_multi_cleanup) BALE_CURL(curl_multi_info_read) BALE_CURL(curl_multi_init) BALE_CURL(curl_multi_perform)
BALE_CURL(curl_multi_poll) BALE_CURL(curl_multi_remove_handle) BALE_CURL(curl_multi_setopt) BALE_CURL(curl_multi_wakeup)
BALE_CURL(curl_slist_append) BALE_CURL(curl_slist_free_all) BALE_CURL(curl_getdate)
#undef BALE_CURL
// clang-format on

}  // namespace bale

#endif

namespace bale {

// The calls of libcurl that hold its global lock. fork() waits for them.
//
// libcurl's lock spins, and knows nothing of fork(): a child that was made while another thread held it would spin for
// ever.

/// Before all else of libcurl, in each process. May be called again.
void start_libcurl();

/// Null if there is no memory. The caller ends it with curl_easy_cleanup().
CURL* new_curl_handle();

}  // namespace bale
