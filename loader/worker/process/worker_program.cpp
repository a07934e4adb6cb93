#include "bale/loader/worker/process/worker_program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/loader/ring/shared_memory.hpp"
#include "bale/loader/worker/worker_location.hpp"

namespace bale::loader_detail {
namespace {

constexpr const char* k_name = "bale-worker";

std::string own_directory() {
  std::string path(4096, '\0');
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return parent_directory(path);
}

/// The directory of set_worker_directory(). A static in a function, because that may be called before main().
std::string& installed_directory() {
  static std::string directory;
  return directory;
}

}  // namespace

std::string find_worker_program(const std::string& asked) {
  std::vector<std::string> candidates;
  const char* const named = std::getenv("BALE_WORKER");
  if (!asked.empty()) {
    candidates = {asked};
  } else if (named != nullptr && *named != '\0') {
    candidates = {named};
  } else {
    const std::string here = own_directory();
    candidates = {join_path(here, k_name), join_path(here, "../libexec/bale/bale-worker")};
    if (!installed_directory().empty()) candidates.push_back(join_path(installed_directory(), k_name));
    candidates.emplace_back(BALE_INSTALLED_WORKER);
  }
  for (const std::string& path : candidates) {
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  std::string others;
  for (std::size_t i = 1; i < candidates.size(); ++i) others += (i == 1 ? ", nor " : ", ") + candidates[i];
  throw Error(ErrorCode::not_found, "the loader's worker program is not there" + others,
              {.path = candidates.front(),
               .hint = "set BALE_WORKER or LoaderOptions::worker_program to the path of bale-worker, or use threads"});
}

WorkerProgram::WorkerProgram(const std::string& asked)
    : path_(find_worker_program(asked)), fd_(above_worker_descriptors(::open(path_.c_str(), O_PATH | O_CLOEXEC))) {}

WorkerProgram::~WorkerProgram() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace bale::loader_detail

void bale::set_worker_directory(const std::string& directory) { loader_detail::installed_directory() = directory; }
