#include "bale/formats/tar/reading/libarchive_stream.hpp"

#include <locale.h>

#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/lazy_library.hpp"
#include "bale/formats/container/streams/spill_file.hpp"
#include "bale/formats/tar/reading/grouper.hpp"
#include "bale_lazy_archive.hpp"

// The functions of libarchive that bale calls, which open it; internal.

#ifdef BALE_LAZY_ARCHIVE

namespace bale::tar {

inline constinit LazyLibrary archive_library{BALE_LAZY_ARCHIVE};

// clang-format off
#define BALE_ARCHIVE(name) BALE_LAZY_FUNCTION(archive_library, name)
BALE_ARCHIVE(archive_entry_filetype) BALE_ARCHIVE(archive_entry_hardlink) BALE_ARCHIVE(archive_entry_pathname)
BALE_ARCHIVE(archive_entry_pathname_utf8) BALE_ARCHIVE(archive_entry_size) BALE_ARCHIVE(archive_entry_sparse_next)
BALE_ARCHIVE(archive_entry_sparse_reset) BALE_ARCHIVE(archive_error_string) BALE_ARCHIVE(archive_read_data_block)
BALE_ARCHIVE(archive_read_free) BALE_ARCHIVE(archive_read_new) BALE_ARCHIVE(archive_read_next_header)
BALE_ARCHIVE(archive_read_open_filename) BALE_ARCHIVE(archive_read_support_filter_bzip2)
BALE_ARCHIVE(archive_read_support_filter_compress) BALE_ARCHIVE(archive_read_support_filter_gzip)
BALE_ARCHIVE(archive_read_support_filter_lz4) BALE_ARCHIVE(archive_read_support_filter_lzip)
BALE_ARCHIVE(archive_read_support_filter_lzma) BALE_ARCHIVE(archive_read_support_filter_xz)
BALE_ARCHIVE(archive_read_support_filter_zstd) BALE_ARCHIVE(archive_read_support_format_tar)
BALE_ARCHIVE(archive_read_support_format_raw) BALE_ARCHIVE(archive_read_data) BALE_ARCHIVE(archive_filter_bytes)
#undef BALE_ARCHIVE
// clang-format on

}  // namespace bale::tar

#endif

namespace bale::tar {
namespace {

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, FreeArchive>;

/// libarchive converts names to the thread's locale. A UTF-8 locale leaves them unchanged.
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

/// Throws `unsupported` if libarchive would have to run another program to decompress the file.
void support_filters(archive* reader, const std::string& path) {
  struct Filter {
    Compression kind;
    int (*support)(archive*);
  };
  const Filter filters[] = {{Compression::gzip, archive_read_support_filter_gzip},
                            {Compression::zstd, archive_read_support_filter_zstd},
                            {Compression::bzip2, archive_read_support_filter_bzip2},
                            {Compression::xz, archive_read_support_filter_xz},
                            {Compression::lzma, archive_read_support_filter_lzma},
                            {Compression::lzip, archive_read_support_filter_lzip},
                            {Compression::lz4, archive_read_support_filter_lz4},
                            {Compression::compress, archive_read_support_filter_compress}};
  const Compression kind = compression_of_file(path);
  for (const Filter& filter : filters) {
    if (filter.kind != kind || filter.support(reader) == ARCHIVE_OK) continue;
    throw Error(ErrorCode::unsupported, fmt::format("compressed with {}, which this libarchive lacks", name_of(kind)),
                {.path = path, .hint = "decompress it first"});
  }
}

/// `support` adds the formats.
Reader open_archive(const std::string& path, int (*support)(archive*)) {
  Reader reader(archive_read_new());
  if (!reader) throw std::bad_alloc();
  support(reader.get());
  support_filters(reader.get(), path);
  if (archive_read_open_filename(reader.get(), path.c_str(), std::size_t{256} << 10) != ARCHIVE_OK) {
    fail(reader.get(), path);
  }
  return reader;
}

/// Writes the data of the current member at `begin` of the spill. Holes stay holes.
void unpack_member(archive* reader, const std::string& path, std::uint64_t begin, std::uint64_t size,
                   SpillFile& spill) {
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

/// Whether the zeros of a sparse file would take space and time out of proportion to the archive.
bool is_nearly_all_holes(archive_entry* entry, std::uint64_t size) {
  constexpr std::uint64_t k_always_read = std::uint64_t{64} << 20;
  constexpr std::uint64_t k_max_ratio = 16;
  if (size <= k_always_read || archive_entry_sparse_reset(entry) == 0) return false;
  std::uint64_t stored = 0;
  la_int64_t offset = 0;
  la_int64_t length = 0;
  while (archive_entry_sparse_next(entry, &offset, &length) == ARCHIVE_OK) {
    stored += length > 0 ? static_cast<std::uint64_t>(length) : 0;
  }
  return stored < size / k_max_ratio;
}

std::string_view name_of_entry(archive_entry* entry) {
  switch (archive_entry_filetype(entry)) {
    case AE_IFLNK:
      return "symbolic link";
    case AE_IFCHR:
    case AE_IFBLK:
      return "device";
    case AE_IFIFO:
      return "named pipe";
    default:
      return "member of a type that is not read";
  }
}

/// The member without its offset. Its names are views into `entry`.
Member describe(archive* reader, archive_entry* entry, const std::string& path) {
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) name = archive_entry_pathname_utf8(entry);
  if (name == nullptr) fail(reader, path);
  Member member{.name = name};
  if (const char* target = archive_entry_hardlink(entry); target != nullptr) {
    member.kind = Member::Kind::hard_link;
    member.target = target;
    return member;
  }
  if (archive_entry_filetype(entry) != AE_IFREG) {
    member.kind = Member::Kind::other;
    member.why = name_of_entry(entry);
    return member;
  }
  const la_int64_t size = archive_entry_size(entry);
  if (size < 0) throw Error(ErrorCode::damaged, "member of negative size", {.path = path});
  member.size = static_cast<std::uint64_t>(size);
  if (is_nearly_all_holes(entry, member.size)) {
    member.kind = Member::Kind::other;
    member.why = "sparse file that is nearly all holes";
  }
  return member;
}

}  // namespace

std::unique_ptr<Stream> open_filtered_stream(const std::string& path) {
  const Reader reader = open_archive(path, archive_read_support_format_raw);
  SpillFile spill(path);
  archive_entry* entry = nullptr;
  const int opened = archive_read_next_header(reader.get(), &entry);
  if (opened == ARCHIVE_EOF) return std::move(spill).finish();
  if (opened != ARCHIVE_OK) fail(reader.get(), path);
  std::vector<std::byte> piece(std::size_t{256} << 10);
  for (;;) {
    const la_ssize_t got = archive_read_data(reader.get(), piece.data(), piece.size());
    if (got < 0) fail(reader.get(), path);
    if (got == 0) return std::move(spill).finish();
    spill.append(Bytes(piece).first(static_cast<std::size_t>(got)));
  }
}

std::unique_ptr<Stream> unpack_by_libarchive(const std::string& path, const std::function<void(const Member&)>& visit,
                                             std::uint64_t* end) {
  const Utf8Locale locale;
  const Reader reader = open_archive(path, archive_read_support_format_tar);
  SpillFile spill(path);
  for (;;) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(reader.get(), &entry);
    if (result == ARCHIVE_EOF) break;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) fail(reader.get(), path);
    if (archive_entry_filetype(entry) == AE_IFDIR) continue;
    Member member = describe(reader.get(), entry, path);
    member.offset = spill.size();
    if (visit) visit(member);
    if (member.kind != Member::Kind::file || !reason_to_skip(member.name).empty()) continue;
    unpack_member(reader.get(), path, member.offset, member.size, spill);
  }
  if (end != nullptr) *end = static_cast<std::uint64_t>(archive_filter_bytes(reader.get(), 0));
  return std::move(spill).finish();
}

}  // namespace bale::tar
