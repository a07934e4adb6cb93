#include "bale/writer/shard/quarantine.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/writer/source/files/long_path.hpp"
#include "bale/writer/source/rows/file_rows.hpp"

namespace bale {
namespace {

constexpr std::size_t k_chunk_bytes = std::size_t{1} << 20;
constexpr int k_max_same_names = 1000;

/// Copies the file up to the first read error. Returns false if it cannot be opened.
bool copy_readable_part(const std::string& from, const std::string& to) {
  const Descriptor original = open_long_path(from, O_RDONLY);
  struct stat info {};
  if (!original.valid() || ::fstat(original.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  File copy = File::create(to);
  std::vector<std::byte> buffer(k_chunk_bytes);
  for (std::uint64_t at = 0;;) {
    const ssize_t got = ::pread(original.get(), buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    copy.write_at(at, Bytes(buffer).first(static_cast<std::size_t>(got)));
    at += static_cast<std::uint64_t>(got);
  }
  copy.sync();
  copy.close();
  return true;
}

bool have_same_bytes(const std::string& a, const std::string& b) {
  const File first = File::open_read(a);
  const File second = File::open_read(b);
  std::uint64_t left = first.size();
  if (second.size() != left) return false;
  std::array<std::vector<std::byte>, 2> buffers;
  for (std::uint64_t at = 0; left > 0;) {
    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(left, k_chunk_bytes));
    for (auto& buffer : buffers) buffer.resize(piece);
    first.read_exact(at, buffers[0]);
    second.read_exact(at, buffers[1]);
    if (buffers[0] != buffers[1]) return false;
    at += piece;
    left -= piece;
  }
  return true;
}

/// Creates the directories of `name` below `directory`. Refuses symbolic links, which could lead elsewhere.
void make_parents(const std::string& directory, std::string_view name) {
  for (std::size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
    const std::string path = join_path(directory, name.substr(0, slash));
    if (::mkdir(path.c_str(), 0777) == 0) {
      sync_directory(parent_directory(path));
      continue;
    }
    if (errno != EEXIST) throw_errno("create the directory", path);
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {
      errno = ENOTDIR;
      throw_errno("create the directory", path);
    }
  }
}

/// The n-th name to try for a file: "cat/7.jpg", "cat/7~2.jpg", ...
std::string numbered(std::string_view name, int number) {
  if (number == 1) return std::string(name);
  const std::size_t slash = name.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const StemAndExtension parts = split_file_name(name.substr(base));
  const std::string_view dot = name.substr(base + parts.stem.size());
  return fmt::format("{}{}~{}{}", name.substr(0, base), parts.stem, number, dot);
}

/// Whether the file system rejected the name rather than the file.
bool is_about_the_name(const Error& error) {
  static constexpr std::array k_values{ENAMETOOLONG, EINVAL, EILSEQ, ENOTDIR, EISDIR, EEXIST, ELOOP};
  return std::find(k_values.begin(), k_values.end(), error.context().system_error) != k_values.end();
}

/// Renames `staged` to the first free variant of `name` below `directory`, or finds the same copy of an earlier run.
std::string take_name(const std::string& staged, const std::string& directory, const std::string& name) {
  make_parents(directory, name);
  for (int number = 1; number <= k_max_same_names; ++number) {
    std::string candidate = numbered(name, number);
    const std::string path = join_path(directory, candidate);
    if (!name_is_taken(path)) {
      publish_rename(staged, path);
      return candidate;
    }
    struct stat info {};
    const bool regular = ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
    if (regular && have_same_bytes(staged, path)) {
      ::unlink(staged.c_str());
      return candidate;
    }
  }
  throw Error(ErrorCode::exists, fmt::format("{} other files have this name", k_max_same_names),
              {.path = join_path(directory, name), .hint = "move the quarantine directory away"});
}

/// A name that every file system accepts, derived from a name that was rejected.
std::string hashed_name(std::string_view below_root) {
  DigestStream stream;
  stream.update(as_bytes(below_root));
  std::string name(k_quarantine_name);
  name += '/';
  for (const std::uint8_t byte : stream.digest()) name += fmt::format("{:02x}", byte);
  return name;
}

}  // namespace

std::vector<std::string> Quarantine::add(const std::string& directory, const std::vector<SourceFile>& files,
                                         const std::string& staged) {
  std::vector<std::string> copies;
  for (const SourceFile& file : files) {
    if (!copy_readable_part(file.path, staged)) continue;
    const std::lock_guard guard(naming_);
    try {
      copies.push_back(take_name(staged, directory, fmt::format("{}/{}", k_quarantine_name, file.below_root)));
    } catch (const Error& error) {
      if (!is_about_the_name(error)) throw;
      copies.push_back(take_name(staged, directory, hashed_name(file.below_root)));
    }
  }
  return copies;
}

}  // namespace bale
