#include "bale/formats/storage/http/file_transport.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/file_range.hpp"
#include "bale/formats/base/system/per_process.hpp"
#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {
namespace {

constexpr std::size_t k_file_part_bytes = std::size_t{1} << 20;
constexpr std::size_t k_num_threads = 16;  // a network file system has latency, too
constexpr std::string_view k_changed = "the file was changed while it was read";

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

std::string etag_of(const File& file) {
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) throw_errno("examine", file.path());
  return fmt::format("\"{}-{}-{}.{:09}\"", info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

long status_of(const Error& error) {
  if (error.code() == ErrorCode::not_found || error.code() == ErrorCode::unsupported) return 404;  // or a directory
  const int why = error.context().system_error;
  return why == EACCES || why == EPERM ? 403 : 503;
}

bool is_cancelled(const HttpRequest& request) { return request.is_cancelled && request.is_cancelled->load(); }

/// Passes on the range part by part. Returns an error if the file changes in the meantime or the request was ended.
std::optional<Error> send_range(const HttpRequest& request, const File& file, FileRange range, HttpResponse& response) {
  std::vector<std::byte> part(std::min<std::uint64_t>(k_file_part_bytes, range.length));
  const std::string etag = response.header("etag");
  for (std::uint64_t sent = 0; sent < range.length;) {
    if (is_cancelled(request)) return Error(ErrorCode::interrupted, "the request was ended");
    const MutableBytes place = MutableBytes(part).first(std::min<std::uint64_t>(part.size(), range.length - sent));
    file.read_exact(range.offset + sent, place);
    if (etag_of(file) != etag) return Error(ErrorCode::retryable, k_changed, {.path = file.path()});
    sent += place.size();
    if (!request.on_body) {
      response.body.insert(response.body.end(), place.begin(), place.end());
    } else if (!request.on_body(response, place)) {
      return Error(ErrorCode::interrupted, "the request was ended");
    }
  }
  return std::nullopt;
}

HttpResult answer(const HttpRequest& request) {
  HttpResponse response;
  try {
    const File file = File::open_read(path_of_file_url(request.url));
    const std::uint64_t size = file.size();
    response.headers["etag"] = etag_of(file);
    const std::string wanted = header_of(request, "If-Match");
    if (!wanted.empty() && wanted != response.headers["etag"]) return HttpResponse{.status = 412};
    if (header_of(request, "If-None-Match") == response.headers["etag"]) {
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
    if (auto error = send_range(request, file, range, response)) return *error;
  } catch (const Error& error) {
    return HttpResponse{.status = status_of(error)};
  }
  return response;
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
      const bool urgent = job.request.urgent;
      urgent ? jobs_.push_front(std::move(job)) : jobs_.push_back(std::move(job));
      if (num_idle_ < jobs_.size() && threads_.size() < k_num_threads) threads_.emplace_back([this] { run(); });
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
      HttpResult result = ended ? Error(ErrorCode::interrupted, "the request was ended") : answer(job.request);
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

bool is_file_url(std::string_view url) { return begins_with_ignoring_case(url, k_file_scheme); }

std::string path_of_file_url(const std::string& url) {
  std::string path = url.substr(k_file_scheme.size());
  if (path.starts_with('/')) return path;
  throw Error(ErrorCode::invalid_argument, "a file:// name needs an absolute path of this machine",
              {.path = url, .hint = "write file:///PATH, with three slashes"});
}

void submit_to_files(HttpRequest request, std::function<void(HttpResult)> done) {
  static constinit PerProcess<Threads> threads;
  Threads& here = threads.get([] {
    std::atexit([] { threads.destroy(); });
    return std::make_unique<Threads>();
  });
  here.submit({std::move(request), std::move(done)});
}

}  // namespace bale
