// The functions of libcurl that bale calls, which open it; internal.
#pragma once

#include <curl/curl.h>

#include "bale_lazy_curl.hpp"

#include "bale/formats/base/system/lazy_library.hpp"

#ifdef BALE_LAZY_CURL
namespace bale {

inline constinit LazyLibrary curl_library{BALE_LAZY_CURL};

// clang-format off
#define BALE_CURL(name) BALE_LAZY_FUNCTION(curl_library, name)
BALE_CURL(curl_easy_cleanup) BALE_CURL(curl_easy_getinfo) BALE_CURL(curl_easy_init) BALE_CURL(curl_easy_reset)
BALE_CURL(curl_easy_setopt) BALE_CURL(curl_easy_strerror) BALE_CURL(curl_global_init) BALE_CURL(curl_multi_add_handle)
BALE_CURL(curl_multi_assign) BALE_CURL(curl_multi_cleanup) BALE_CURL(curl_multi_info_read) BALE_CURL(curl_multi_init)
BALE_CURL(curl_multi_remove_handle) BALE_CURL(curl_multi_setopt) BALE_CURL(curl_multi_socket_action)
BALE_CURL(curl_slist_append) BALE_CURL(curl_slist_free_all) BALE_CURL(curl_getdate)
#undef BALE_CURL
// clang-format on

}  // namespace bale
#endif
