// The functions of libarchive that bale calls, which open it; internal.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include "bale_lazy_archive.hpp"

#include "bale/formats/base/system/lazy_library.hpp"

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
