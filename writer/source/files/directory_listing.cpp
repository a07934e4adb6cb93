#include "bale/writer/source/files/directory_listing.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "bale/formats/base/system/threads.hpp"
#include "bale/formats/base/text/utf8.hpp"
#include "bale/writer/source/files/long_path.hpp"

namespace bale {
namespace {

using Kind = EntryKind;

/// An open directory. Entries come in the file system's order.
class DirectoryStream {
 public:
  explicit DirectoryStream(Descriptor fd, const std::string& path) : path_(path), stream_(::fdopendir(fd.get())) {
    if (stream_ == nullptr) throw_errno("read the directory", path);
    fd.release();
  }

  int fd() const { return ::dirfd(stream_.get()); }

  /// Null at the end. Throws `io`.
  const dirent* next() {
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(stream_.get());
      if (entry == nullptr && errno != 0) throw_errno("read the directory", path_);
      if (entry == nullptr) return nullptr;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") return entry;
    }
  }

  struct EntryKind {
    Kind kind;
    bool through_link;
  };
  EntryKind kind_of(const dirent& entry) const {
    if (entry.d_type == DT_REG) return {Kind::file, false};
    if (entry.d_type == DT_DIR) return {Kind::directory, false};
    if (entry.d_type != DT_LNK && entry.d_type != DT_UNKNOWN) return {Kind::other, false};
    struct stat info {};
    bool link = entry.d_type == DT_LNK;
    if (!link) {
      if (::fstatat(fd(), entry.d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) return {Kind::gone, false};
      link = S_ISLNK(info.st_mode);
    }
    if (link && ::fstatat(fd(), entry.d_name, &info, 0) != 0) return {Kind::broken_link, true};
    if (S_ISREG(info.st_mode)) return {Kind::file, link};
    return {S_ISDIR(info.st_mode) ? Kind::directory : Kind::other, link};
  }

 private:
  struct Closer {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  const std::string& path_;
  std::unique_ptr<DIR, Closer> stream_;
};

}  // namespace

DirectoryListing DirectoryListing::read(const std::string& path) {
  DirectoryListing listing;
  try {
    Descriptor fd = open_long_path(path, O_RDONLY | O_DIRECTORY);
    if (!fd.valid()) {
      listing.open_error_ = errno;
      return listing;
    }
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) throw_errno("examine", path);
    listing.device_ = info.st_dev;
    listing.inode_ = info.st_ino;
    DirectoryStream stream(std::move(fd), path);
    while (const dirent* entry = stream.next()) {
      const DirectoryStream::EntryKind found = stream.kind_of(*entry);
      listing.entries_.push_back({listing.names_.size(), found.kind, found.through_link});
      listing.names_ += entry->d_name;
      listing.names_ += '\0';
    }
  } catch (const Error& error) {
    listing.failure_ = error;
  }
  return listing;
}

ListAhead::~ListAhead() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ListAhead::give(const std::string& path, DirectoryListing listing) {
  const std::lock_guard lock(mutex_);
  ++num_ready_;
  num_entries_ += listing.size();
  slots_.insert_or_assign(path, Slot{.begun = true, .ready = std::move(listing)});
}

void ListAhead::announce(const std::string& path) {
  if (jobs_ <= 1) return;
  const std::lock_guard lock(mutex_);
  if (!slots_.try_emplace(path).second) return;
  waiting_.push_back(path);
  if (threads_.size() < jobs_) add_thread(threads_, [this] { run(); });
  changed_.notify_all();
}

DirectoryListing ListAhead::take(const std::string& path) {
  {
    std::unique_lock lock(mutex_);
    const auto found = slots_.find(path);
    if (found != slots_.end() && found->second.begun) {
      changed_.wait(lock, [&] { return found->second.ready.has_value(); });
      DirectoryListing listing = std::move(*found->second.ready);
      slots_.erase(found);
      --num_ready_;
      num_entries_ -= listing.size();
      changed_.notify_all();
      return listing;
    }
    if (found != slots_.end()) slots_.erase(found);
  }
  return DirectoryListing::read(path);
}

void ListAhead::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || (!waiting_.empty() && has_room()); });
    if (stopping_) return;
    const std::string path = std::move(waiting_.back());
    waiting_.pop_back();
    const auto found = slots_.find(path);
    if (found == slots_.end() || found->second.begun) continue;  // taken in the meantime
    found->second.begun = true;
    lock.unlock();
    DirectoryListing listing = DirectoryListing::read(path);
    lock.lock();
    ++num_ready_;
    num_entries_ += listing.size();
    slots_.at(path).ready = std::move(listing);
    changed_.notify_all();
  }
}

namespace {

/// Removes the first code point from `text` and returns it.
std::uint32_t take_code_point(std::string_view& text) {
  const std::size_t length = utf8_sequence_length(text);
  const auto first = static_cast<unsigned char>(text[0]);
  if (length == 0) {
    text.remove_prefix(1);
    return 0xDC00U + first;
  }
  static constexpr std::uint32_t k_lead_mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t code_point = first & k_lead_mask[length];
  for (std::size_t i = 1; i < length; ++i) {
    code_point = (code_point << 6) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  text.remove_prefix(length);
  return code_point;
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

}  // namespace

bool python_less(std::string_view a, std::string_view b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  // If an ASCII byte or the end follows in both, the common part decodes alike, so this byte decides.
  const bool plain_a = in_a == a.end() || is_ascii(*in_a);
  const bool plain_b = in_b == b.end() || is_ascii(*in_b);
  if (plain_a && plain_b) return in_b != b.end() && (in_a == a.end() || *in_a < *in_b);
  while (!a.empty() && !b.empty()) {
    const std::uint32_t from_a = take_code_point(a);
    const std::uint32_t from_b = take_code_point(b);
    if (from_a != from_b) return from_a < from_b;
  }
  return a.empty() && !b.empty();
}

}  // namespace bale
