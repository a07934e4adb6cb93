// FileTransport: answers requests for file:// URLs as a web server would, with ranges and ETags, by a few threads that
// may wait for a mounted file system. So files of a network file system are read through the cache as remote ones are.
//
// An ETag is the file's number, size and time of change. It is compared before and after each part is read.
//
// Threads: any number may call. Processes: a child of fork() that uses it gets threads of its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/storage/http/http_client.hpp"

namespace bale {

inline constexpr std::string_view k_file_scheme = "file://";

/// Whether `url` is of a local path. Schemes may be in upper case.
bool is_file_url(std::string_view url);
/// The path of such a URL, as it is written: nothing is percent-encoded. Throws `invalid_argument` if it is not
/// absolute.
std::string path_of_file_url(const std::string& url);

/// Carries out a request on one of the threads, for HttpClient::submit(). `done` is called once, on that thread.
void submit_to_files(HttpRequest request, std::function<void(HttpResult)> done);

}  // namespace bale
