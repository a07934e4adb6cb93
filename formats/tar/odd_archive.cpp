#include "bale/formats/tar/odd_archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

#include <fmt/format.h>

#include "bale/formats/core/error.hpp"
#include "bale/formats/tar/spill.hpp"

namespace bale::tar {
namespace {

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, FreeArchive>;

/// libarchive turns names into the thread's locale; with a UTF-8 one they stay as they are.
class Utf8Locale {
 public:
  Utf8Locale() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) previous_ = ::uselocale(locale_);
  }
  ~Utf8Locale() {
    if (locale_ == nullptr) return;
    ::uselocale(previous_);
    ::freelocale(locale_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  locale_t locale_;
  locale_t previous_ = nullptr;
};

[[noreturn]] void fail(archive* reader, const std::string& path) {
  const char* text = archive_error_string(reader);
  throw Error(ErrorCode::damaged, fmt::format("libarchive: {}", text != nullptr ? text : "cannot read it"),
              {.path = path, .hint = "copy or pack it again"});
}

Reader open_archive(const std::string& path) {
  Reader reader(archive_read_new());
  if (!reader) throw std::bad_alloc();
  archive_read_support_format_tar(reader.get());
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_zstd(reader.get());
  archive_read_support_filter_bzip2(reader.get());
  archive_read_support_filter_xz(reader.get());
  if (archive_read_open_filename(reader.get(), path.c_str(), std::size_t{256} << 10) != ARCHIVE_OK) {
    fail(reader.get(), path);
  }
  return reader;
}

/// Data of the current member to `begin` of the spill; holes stay holes there.
void unpack_member(archive* reader, const std::string& path, std::uint64_t begin, std::uint64_t size, Spill& spill) {
  for (;;) {
    const void* data = nullptr;
    std::size_t length = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(reader, &data, &length, &offset);
    if (result == ARCHIVE_EOF) break;
    if (result != ARCHIVE_OK) fail(reader, path);
    if (offset < 0 || static_cast<std::uint64_t>(offset) > size || length > size - static_cast<std::uint64_t>(offset)) {
      throw Error(ErrorCode::damaged, "member with more data than its size", {.path = path});
    }
    spill.put(begin + static_cast<std::uint64_t>(offset), {static_cast<const std::byte*>(data), length});
  }
  spill.extend(begin + size);
}

}  // namespace

std::unique_ptr<Stream> unpack_odd_archive(const std::string& path, const WantMember& want) {
  const Utf8Locale locale;
  const Reader reader = open_archive(path);
  Spill spill(path);
  for (;;) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(reader.get(), &entry);
    if (result == ARCHIVE_EOF) break;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) fail(reader.get(), path);
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr) continue;
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr) name = archive_entry_pathname_utf8(entry);
    if (name == nullptr) fail(reader.get(), path);
    const la_int64_t size = archive_entry_size(entry);
    if (size < 0) throw Error(ErrorCode::damaged, "member of negative size", {.path = path});
    if (!want(name, static_cast<std::uint64_t>(size))) continue;
    unpack_member(reader.get(), path, spill.size(), static_cast<std::uint64_t>(size), spill);
  }
  return std::move(spill).finish();
}

}  // namespace bale::tar
