#include "bale/formats/storage/http/http_client.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/errors/error_reason.hpp"
#include "bale/formats/base/file_range.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/storage/url_scheme.hpp"

namespace bale {
namespace {

constexpr std::size_t k_source_part_bytes = std::size_t{1} << 20;
constexpr std::size_t k_num_threads = 16;  // a network file system has latency, too
constexpr const char* k_changed = "the file was changed while it was read";
constexpr const char* k_ended = "the request was ended";

struct Job {
  HttpRequest request;
  std::function<void(HttpResult)> done;
};

/// "bytes=FIRST-LAST", of which HttpRequest has nothing else.
std::optional<FileRange> range_of(const HttpRequest& request) {
  for (const auto& [name, value] : request.headers) {
    if (name != "Range") continue;
    const std::size_t equals = value.find('=') + 1;
    const std::size_t dash = value.find('-', equals);
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::from_chars(value.data() + equals, value.data() + dash, first);
    std::from_chars(value.data() + dash + 1, value.data() + value.size(), last);
    return FileRange{first, last + 1 - first};
  }
  return std::nullopt;
}

std::string header_of(const HttpRequest& request, std::string_view wanted) {
  for (const auto& [name, value] : request.headers) {
    if (name == wanted) return value;
  }
  return {};
}

/// Empty if the version is not known.
std::string etag_of(const UrlSource& source) {
  const std::string version = source.version();
  return version.empty() ? version : fmt::format("\"{}\"", version);
}

/// What a web server would answer if there is no such file; other errors are the result. A file without permission is
/// one of them: status 403 may stand for a missing file.
HttpResult result_of(const Error& error, const std::string& url) {
  if (error.code() == ErrorCode::not_found) return HttpResponse{.status = 404};
  const int why = error.context().system_error;
  const bool may_pass = error.code() == ErrorCode::io && why != EACCES && why != EPERM;
  return Error(may_pass ? ErrorCode::retryable : error.code(), error_reason(error),
               {.path = url, .hint = error.context().hint});
}

bool is_cancelled(const HttpRequest& request) { return request.is_cancelled && request.is_cancelled->load(); }

void read_exact(const UrlSource& source, std::uint64_t offset, MutableBytes out) {
  for (std::size_t got = 0; got < out.size();) {
    const std::size_t now = source.read_some(offset + got, out.subspan(got));
    if (now == 0) throw Error(ErrorCode::retryable, k_changed);
    got += now;
  }
}

/// Passes on the range part by part. Throws if the file changes in the meantime or the request was ended.
void send_range(const HttpRequest& request, const UrlSource& source, FileRange range, HttpResponse& response) {
  std::vector<std::byte> part(std::min<std::uint64_t>(k_source_part_bytes, range.length));
  const std::string etag = response.header("etag");
  for (std::uint64_t sent = 0; sent < range.length;) {
    if (is_cancelled(request)) throw Error(ErrorCode::interrupted, k_ended);
    const MutableBytes place = MutableBytes(part).first(std::min<std::uint64_t>(part.size(), range.length - sent));
    read_exact(source, range.offset + sent, place);
    if (etag_of(source) != etag) throw Error(ErrorCode::retryable, k_changed);
    sent += place.size();
    if (!request.on_body) {
      response.body.insert(response.body.end(), place.begin(), place.end());
    } else if (!request.on_body(response, place)) {
      throw Error(ErrorCode::interrupted, k_ended);
    }
  }
}

HttpResponse answer(const HttpRequest& request, const UrlSource& source) {
  HttpResponse response;
  const std::uint64_t size = source.size();
  const std::string etag = etag_of(source);
  if (!etag.empty()) response.headers["etag"] = etag;
  if (!etag.empty() && header_of(request, "If-None-Match") == etag) {
    response.status = 304;
    return response;
  }
  FileRange range = range_of(request).value_or(FileRange{0, size});
  if (range.offset >= size) {
    response.status = 416;
    response.headers["content-range"] = fmt::format("bytes */{}", size);
    return response;
  }
  range.length = std::min(range.length, size - range.offset);
  response.status = 206;
  response.headers["content-range"] =
      fmt::format("bytes {}-{}/{}", range.offset, range.offset + range.length - 1, size);
  response.headers["content-length"] = fmt::format("{}", range.length);
  send_range(request, source, range, response);
  return response;
}

HttpResult answer(const HttpRequest& request) {
  try {
    return answer(request, *request.open());
  } catch (const Error& error) {
    return result_of(error, request.url);
  } catch (const std::exception& error) {
    return Error(ErrorCode::io, error.what(), {.path = request.url});
  }
}

class Threads {
 public:
  ~Threads() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void submit(Job job) {
    {
      const std::lock_guard lock(mutex_);
      if (threads_.empty()) threads_.push_back(start_thread([this] { run(); }));
      const bool urgent = job.request.urgent;
      urgent ? jobs_.push_front(std::move(job)) : jobs_.push_back(std::move(job));
      if (num_idle_ < jobs_.size() && threads_.size() < k_num_threads) add_thread(threads_, [this] { run(); });
    }
    changed_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++num_idle_;
      changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
      --num_idle_;
      if (jobs_.empty()) return;
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      const bool ended = stop_ || is_cancelled(job.request);
      lock.unlock();
      HttpResult result = ended ? Error(ErrorCode::interrupted, k_ended) : answer(job.request);
      job.request = {};
      job.done(std::move(result));
      job.done = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::vector<std::thread> threads_;
  std::size_t num_idle_ = 0;
  bool stop_ = false;
};

}  // namespace

void submit_to_source(HttpRequest request, std::function<void(HttpResult)> done) {
  static constinit PerProcess<Threads> threads;
  Threads& here = threads.get([] {
    std::atexit([] { threads.destroy(); });
    return std::make_unique<Threads>();
  });
  here.submit({std::move(request), std::move(done)});
}

}  // namespace bale
