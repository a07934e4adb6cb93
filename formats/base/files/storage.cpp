#include "bale/formats/base/storage.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/file_stamp.hpp"
#include "bale/formats/base/files/scheme.hpp"
#include "bale/formats/base/text/ascii_case.hpp"

namespace bale {
namespace {

std::atomic<bool> is_interrupted{false};
std::atomic<int> num_fresh{0};
thread_local const RemoteWaitPoll* current_poll = nullptr;
thread_local const RemoteRetryNotes* current_notes = nullptr;
thread_local const PinnedContent* current_content = nullptr;

/// A list that is read without a lock. It is not destroyed: threads may use it until the end.
struct KnownScheme {
  Scheme scheme;
  const KnownScheme* before = nullptr;
};
constinit std::atomic<const KnownScheme*> g_last{nullptr};

bool is_named(const Scheme& scheme, std::string_view name) {
  return scheme.name.size() == name.size() && begins_with_ignoring_case(name, scheme.name);
}

}  // namespace

bool is_scheme_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
}

void add_scheme(Scheme scheme) {
  if (find_scheme(scheme.name) != nullptr) {
    throw Error(ErrorCode::invalid_argument, fmt::format("there is a scheme {}:// already", scheme.name));
  }
  g_last.store(new KnownScheme{.scheme = std::move(scheme), .before = g_last.load()});
}

const Scheme* find_scheme(std::string_view name) {
  for (const KnownScheme* known = g_last.load(); known != nullptr; known = known->before) {
    if (is_named(known->scheme, name)) return &known->scheme;
  }
  return nullptr;
}

std::vector<const Scheme*> all_schemes() {
  std::vector<const Scheme*> schemes;
  for (const KnownScheme* known = g_last.load(); known != nullptr; known = known->before)
    schemes.push_back(&known->scheme);
  std::reverse(schemes.begin(), schemes.end());
  return schemes;
}

const Scheme* remote_scheme_of(std::string_view name) {
  const std::size_t end = name.find("://");
  if (end == std::string_view::npos) return nullptr;  // cheap for local paths
  const Scheme* const scheme = find_scheme(name.substr(0, end));
  return scheme != nullptr && scheme->storage != nullptr ? scheme : nullptr;
}

const Storage* remote_storage_of(std::string_view name) {
  const Scheme* const scheme = remote_scheme_of(name);
  return scheme != nullptr ? scheme->storage : nullptr;
}

std::string join_name(const std::string& directory, std::string_view file) {
  const Storage* const storage = remote_storage_of(directory);
  return storage != nullptr ? storage->join(directory, file) : join_path(directory, file);
}

std::size_t begin_of_query(std::string_view name) {
  const Scheme* const scheme = remote_scheme_of(name);
  return scheme != nullptr && scheme->has_query ? std::min(name.find('?'), name.size()) : name.size();
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

RemoteRetryNotes::RemoteRetryNotes(std::function<void(const Error& error)> note)
    : note_(std::move(note)), before_(current_notes) {
  current_notes = this;
}
RemoteRetryNotes::~RemoteRetryNotes() { current_notes = before_; }

void note_remote_retry(const Error& error) {
  if (current_notes != nullptr) current_notes->note_(error);
}

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
