#include "bale/formats/base/storage.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/file_stamp.hpp"
#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {
namespace {

std::atomic<const Storage*> remote_storage{nullptr};
std::atomic<bool> is_interrupted{false};
std::atomic<int> num_fresh{0};
thread_local const RemoteWaitPoll* current_poll = nullptr;
thread_local const PinnedContent* current_content = nullptr;

}  // namespace

void set_remote_storage(const Storage* storage) { remote_storage.store(storage); }

const Storage* remote_storage_of(std::string_view name) {
  if (name.find("://") == std::string_view::npos) return nullptr;  // no other name is a URL: cheap for local paths
  const Storage* const storage = remote_storage.load();
  return storage != nullptr && storage->serves(name) ? storage : nullptr;
}

std::string join_name(const std::string& directory, std::string_view file) {
  const Storage* const storage = remote_storage_of(directory);
  return storage != nullptr ? storage->join(directory, file) : join_path(directory, file);
}

std::size_t begin_of_query(std::string_view name) {
  const bool is_web = begins_with_ignoring_case(name, "http") && remote_storage_of(name) != nullptr;
  return std::min(is_web ? name.find('?') : std::string_view::npos, name.size());
}

std::string with_suffix(const std::string& name, std::string_view suffix) {
  const std::size_t end = begin_of_query(name);
  return name.substr(0, end) + std::string(suffix) + name.substr(end);
}

void interrupt_remote_reads() { is_interrupted.store(true); }

RemoteWaitPoll::RemoteWaitPoll(std::function<void()> poll) : poll_(std::move(poll)), before_(current_poll) {
  current_poll = this;
}
RemoteWaitPoll::~RemoteWaitPoll() { current_poll = before_; }

PinnedContent::PinnedContent(std::string digest) : digest_(std::move(digest)), before_(current_content) {
  current_content = this;
}
PinnedContent::~PinnedContent() { current_content = before_; }

std::string_view PinnedContent::current() {
  return current_content != nullptr ? std::string_view(current_content->digest_) : std::string_view();
}

FreshVersions::FreshVersions() { ++num_fresh; }
FreshVersions::~FreshVersions() { --num_fresh; }
bool FreshVersions::are_wanted() { return num_fresh > 0; }

void poll_remote_wait() {
  if (is_interrupted.load(std::memory_order_relaxed)) throw Error(ErrorCode::interrupted, "interrupted");
  if (current_poll != nullptr) current_poll->poll_();
}

FileStamp FileStamp::of(const std::string& path) {
  struct stat info {};
  if (remote_storage_of(path) != nullptr || ::stat(path.c_str(), &info) != 0) return {};
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .bytes = static_cast<std::uint64_t>(info.st_size),
          .seconds = info.st_mtim.tv_sec,
          .nanoseconds = info.st_mtim.tv_nsec};
}

}  // namespace bale
