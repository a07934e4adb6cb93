// The calls of libcurl that hold its global lock. fork() waits for them.
//
// libcurl's lock spins, and knows nothing of fork(): a child that was made while another thread held it would spin for
// ever.
#pragma once

#include "bale/formats/storage/http/curl_api.hpp"

namespace bale {

/// Before all else of libcurl, in each process. May be called again.
void start_libcurl();

/// Null if there is no memory. The caller ends it with curl_easy_cleanup().
CURL* new_curl_handle();

}  // namespace bale
