// SourceTransport: answers requests for files that a program opens (url_scheme.hpp) as a web server would, with ranges
// and ETags, by a few threads that may wait. So such files are read through the cache as those of servers are.
//
// The version is compared before and after each part is read.
//
// Threads: any number may call. Processes: a child of fork() that uses it gets threads of its own.
#pragma once

#include <functional>

#include "bale/formats/storage/http/http_client.hpp"

namespace bale {

/// Carries out a request that has `open` on one of the threads, for HttpClient::submit(). `done` is called once, on
/// that thread.
void submit_to_source(HttpRequest request, std::function<void(HttpResult)> done);

}  // namespace bale
