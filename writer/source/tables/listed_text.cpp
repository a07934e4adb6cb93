#include "bale/writer/source/tables/listed_text.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/writer/source/files/long_path.hpp"

namespace bale {

ListedText::ListedText(const std::string& path, std::string_view what) : file_(File::open_read(path)), what_(what) {
  examine(first_);
}

void ListedText::append(std::uint64_t offset, std::uint64_t bytes, std::string& out) const {
  struct stat now {};
  examine(now);
  if (now.st_size != first_.st_size || mtime_ns(now) != mtime_ns(first_)) {
    throw Error(ErrorCode::changed, fmt::format("the {} changed since it was listed", what_),
                {.path = path(), .hint = "pack again when nothing writes to it"});
  }
  const std::size_t start = out.size();
  out.resize(start + bytes);
  file_.read_exact(offset, {reinterpret_cast<std::byte*>(out.data() + start), bytes});
}

std::string ListedText::read(std::uint64_t offset, std::uint64_t bytes) const {
  std::string text;
  append(offset, bytes, text);
  return text;
}

void ListedText::examine(struct stat& info) const {
  if (::fstat(file_.fd(), &info) != 0) throw_errno("examine", path());
}

}  // namespace bale
