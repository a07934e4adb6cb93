#include "bale/formats/hdf5/library/h5.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include <fmt/format.h>

#include "bale/formats/base/file.hpp"
#include "bale/formats/hdf5/library/lzf.hpp"

namespace bale::h5 {
namespace {

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

struct StackSummary {
  std::string innermost;
  int system_error = 0;
};

herr_t summarize(unsigned, const H5E_error2_t* entry, void* out) {
  auto& summary = *static_cast<StackSummary*>(out);
  const std::string_view text = entry->desc == nullptr ? "" : entry->desc;
  if (summary.innermost.empty()) summary.innermost = text;
  // The sec2 driver reports errno only as text: "... errno = 28, error message = '...'".
  constexpr std::string_view k_mark = "errno = ";
  const std::size_t at = text.find(k_mark);
  if (summary.system_error == 0 && at != std::string_view::npos) {
    std::from_chars(text.data() + at + k_mark.size(), text.data() + text.size(), summary.system_error);
  }
  return 0;
}

/// Whether the library met something that it does not know: what a newer one wrote, or a filter. Its error numbers do
/// not say so, its texts do.
bool is_unknown_to_library(std::string_view innermost) {
  constexpr std::array<std::string_view, 5> k_marks{"version", "nknown", "nrecognized", "not supported",
                                                    "not registered"};
  return std::any_of(k_marks.begin(), k_marks.end(),
                     [&](std::string_view mark) { return innermost.find(mark) != std::string_view::npos; });
}

H5Handle new_property_list(hid_t kind, const std::string& path) {
  return take(H5Pcreate(kind), H5Pclose, ErrorCode::io, "make a property list", path);
}

H5Handle writing_access(const std::string& path) {
  H5Handle access = new_property_list(H5P_FILE_ACCESS, path);
  // Latest: version 3 superblock and object headers, whose metadata has checksums.
  H5Pset_libver_bounds(access.id(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  H5Pset_fclose_degree(access.id(), H5F_CLOSE_STRONG);
  // Shards are written under temporary names that no other process opens, and some network mounts refuse locks.
  H5Pset_file_locking(access.id(), false, true);
  // No sieve buffer: its content would be written when a dataset closes, which does not report a failure.
  H5Pset_sieve_buf_size(access.id(), 0);
  return access;
}

H5Handle untimed(hid_t kind, const std::string& path) {
  H5Handle list = new_property_list(kind, path);
  H5Pset_obj_track_times(list.id(), false);  // the same input gives the same bytes
  return list;
}

}  // namespace

H5Lock::H5Lock() : guard_(library_mutex()) {
  static const bool initialized = [] {
    // No exit handler: we close what we open, and a file with a failed write must not be touched again.
    H5dont_atexit();
    H5open();
    // No plugins: a file could name a filter that is a shared library on a search path.
    H5PLset_loading_state(0);
    register_lzf();
    return true;
  }();
  static_cast<void>(initialized);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

void throw_h5(ErrorCode code, std::string_view action, const std::string& path) {
  StackSummary summary;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, summarize, &summary);
  H5Eclear2(H5E_DEFAULT);
  if (summary.system_error != 0) {
    errno = summary.system_error;
    throw_errno(action, path);
  }
  if (summary.innermost.find("already open for") != std::string::npos) {
    throw Error(ErrorCode::unsupported, "a file that a program writes to, or did not close",
                {.path = path, .hint = "close it, or remove the mark with `h5clear -s`"});
  }
  const std::string what =
      fmt::format("cannot {}: {}", action, summary.innermost.empty() ? "no reason given" : summary.innermost);
  if (code == ErrorCode::damaged && is_unknown_to_library(summary.innermost)) {
    throw Error(
        ErrorCode::unsupported, what + ", of a newer HDF5 than 1.10",
        {.path = path, .hint = "rewrite it with `h5repack --high=2`, or in h5py with libver=(\"earliest\", \"v110\")"});
  }
  throw Error(code, what, {.path = path, .hint = code == ErrorCode::damaged ? "copy it again" : ""});
}

H5Handle take(hid_t id, H5Handle::Close close, ErrorCode code, std::string_view action, const std::string& path) {
  if (id < 0) throw_h5(code, action, path);
  return {id, close};
}

H5Handle OutputFile::take_for_write(hid_t id, H5Handle::Close closer, std::string_view action) const {
  if (id < 0) fail(action);
  return {id, closer};
}

void OutputFile::check(herr_t result, std::string_view action) const {
  if (result < 0) fail(action);
}

void OutputFile::fail(std::string_view action) const {
  failed_ = true;
  throw_h5(ErrorCode::io, action, path_);
}

OutputFile::~OutputFile() {
  if (!file_) return;
  if (failed_ || H5Fflush(id(), H5F_SCOPE_GLOBAL) < 0) {
    abandon();
  } else {
    file_.reset();
  }
}

void OutputFile::abandon() {
  // Frees the disk space. The descriptor stays open, so that no new file gets this inode and is taken for this one.
  void* descriptor = nullptr;
  if (H5Fget_vfd_handle(id(), H5P_DEFAULT, &descriptor) >= 0 && descriptor != nullptr) {
    static_cast<void>(::ftruncate(*static_cast<int*>(descriptor), 0) == 0);
  }
  H5Eclear2(H5E_DEFAULT);
  file_.forget();
}

OutputFile OutputFile::create(const std::string& path) {
  File::create(path).close();  // removes an existing file: the library would write through a link
  const H5Handle access = writing_access(path);
  const H5Handle creation = untimed(H5P_FILE_CREATE, path);
  return {
      take(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), access.id()), H5Fclose, ErrorCode::io, "create", path),
      path};
}

OutputFile OutputFile::open(const std::string& path) {
  const H5Handle access = writing_access(path);
  return {take(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.id()), H5Fclose, ErrorCode::io, "open", path), path};
}

void OutputFile::make_group(const std::string& name) {
  const H5Handle creation = untimed(H5P_GROUP_CREATE, path_);
  take_for_write(H5Gcreate2(id(), name.c_str(), H5P_DEFAULT, creation.id(), H5P_DEFAULT), H5Gclose, "create a group");
}

H5Handle OutputFile::make_reserved(const std::string& name, const std::vector<hsize_t>& dims) {
  const H5Handle creation = untimed(H5P_DATASET_CREATE, path_);
  H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER);
  const H5Handle space = take_for_write(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose,
                                        "make a dataspace");
  return take_for_write(
      H5Dcreate2(id(), name.c_str(), H5T_STD_U8LE, space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT), H5Dclose,
      "create a dataset");
}

H5Handle OutputFile::make_growing(const std::string& name, hid_t type, const std::vector<hsize_t>& chunk,
                                  int deflate_level) {
  const int rank = static_cast<int>(chunk.size());
  std::vector<hsize_t> dims = chunk;
  std::vector<hsize_t> limits = chunk;
  dims[0] = 0;
  limits[0] = H5S_UNLIMITED;
  const H5Handle creation = untimed(H5P_DATASET_CREATE, path_);
  check(H5Pset_chunk(creation.id(), rank, chunk.data()), "set the chunk size");
  if (deflate_level >= 0) {
    check(H5Pset_deflate(creation.id(), static_cast<unsigned>(deflate_level)), "set the compression");
  }
  const H5Handle space =
      take_for_write(H5Screate_simple(rank, dims.data(), limits.data()), H5Sclose, "make a dataspace");
  return take_for_write(H5Dcreate2(id(), name.c_str(), type, space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT),
                        H5Dclose, "create a dataset");
}

H5Handle OutputFile::write_table(const std::string& name, hid_t file_type, hid_t memory_type, std::uint64_t count,
                                 const void* data) {
  const H5Handle creation = untimed(H5P_DATASET_CREATE, path_);
  const hsize_t dim = count;
  const H5Handle space = take_for_write(H5Screate_simple(1, &dim, nullptr), H5Sclose, "make a dataspace");
  H5Handle dataset =
      take_for_write(H5Dcreate2(id(), name.c_str(), file_type, space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT),
                     H5Dclose, "create a dataset");
  if (count > 0) check(H5Dwrite(dataset.id(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "write");
  return dataset;
}

void OutputFile::write_strings(const std::string& name, const std::vector<std::string_view>& strings) {
  bool has_nul = false;
  for (const std::string_view text : strings) has_nul = has_nul || text.find('\0') != std::string_view::npos;
  if (has_nul) {  // the library's strings end at a NUL; bytes do not
    const H5Handle type = take_for_write(H5Tvlen_create(H5T_STD_U8LE), H5Tclose, "make a type");
    std::vector<hvl_t> rows;
    rows.reserve(strings.size());
    for (const std::string_view text : strings) rows.push_back({text.size(), const_cast<char*>(text.data())});
    write_table(name, type.id(), type.id(), rows.size(), rows.data());
    return;
  }
  const H5Handle type = take_for_write(H5Tcopy(H5T_C_S1), H5Tclose, "make a type");
  H5Tset_size(type.id(), H5T_VARIABLE);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  std::vector<std::string> terminated(strings.begin(), strings.end());
  std::vector<const char*> rows;
  rows.reserve(strings.size());
  for (const std::string& text : terminated) rows.push_back(text.c_str());
  write_table(name, type.id(), type.id(), rows.size(), rows.data());
}

void OutputFile::write_attribute(hid_t object, const char* name, hid_t file_type, hid_t memory_type,
                                 const void* value) {
  const H5Handle space = take_for_write(H5Screate(H5S_SCALAR), H5Sclose, "make a dataspace");
  const H5Handle attribute = take_for_write(H5Acreate2(object, name, file_type, space.id(), H5P_DEFAULT, H5P_DEFAULT),
                                            H5Aclose, "create an attribute");
  check(H5Awrite(attribute.id(), memory_type, value), "write an attribute");
}

void OutputFile::write_attribute(hid_t object, const char* name, std::string_view text) {
  const H5Handle type = take_for_write(H5Tcopy(H5T_C_S1), H5Tclose, "make a type");
  H5Tset_size(type.id(), text.empty() ? 1 : text.size());
  H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  write_attribute(object, name, type.id(), type.id(), text.empty() ? "" : text.data());
}

void OutputFile::flush() { check(H5Fflush(id(), H5F_SCOPE_GLOBAL), "write"); }

void OutputFile::close() {
  flush();
  if (!file_.reset()) fail("close");
}

haddr_t dataset_offset(hid_t dataset) {
  // H5Dget_offset adds the user block to the address even if there is no address.
  H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
  const bool is_stored = H5Dget_space_status(dataset, &status) >= 0 && status != H5D_SPACE_STATUS_NOT_ALLOCATED;
  const haddr_t offset = is_stored ? H5Dget_offset(dataset) : HADDR_UNDEF;
  if (offset == HADDR_UNDEF) H5Eclear2(H5E_DEFAULT);
  return offset;
}

haddr_t reserved_offset(const H5Handle& dataset, const std::string& path) {
  const haddr_t offset = dataset_offset(dataset.id());
  if (offset == HADDR_UNDEF) throw Error(ErrorCode::io, "the library did not allocate a dataset", {.path = path});
  return offset;
}

namespace {

/// Whether it is IEEE half precision. This library version has no constant for it, so it is built as h5py builds it.
bool is_half(hid_t type, H5T_order_t order) {
  if (H5Tget_class(type) != H5T_FLOAT || H5Tget_size(type) != 2 || H5Tget_order(type) != order) return false;
  const H5Handle half(H5Tcopy(order == H5T_ORDER_BE ? H5T_IEEE_F32BE : H5T_IEEE_F32LE), H5Tclose);
  const bool made = half && H5Tset_fields(half.id(), 15, 10, 5, 0, 10) >= 0 && H5Tset_size(half.id(), 2) >= 0 &&
                    H5Tset_ebias(half.id(), 15) >= 0;
  return made && H5Tequal(type, half.id()) > 0;
}

/// h5py's bool: an enumeration over int8 of FALSE and TRUE.
bool is_bool(hid_t type) {
  if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  std::array<std::int8_t, 2> values{};
  return H5Tenum_valueof(type, "FALSE", &values[0]) >= 0 && H5Tenum_valueof(type, "TRUE", &values[1]) >= 0 &&
         values[0] == 0 && values[1] == 1;
}

}  // namespace

std::string numpy_type(hid_t type) {
  if (H5Tget_class(type) == H5T_ENUM) {
    if (is_bool(type)) return "|b1";
    const H5Handle base(H5Tget_super(type), H5Tclose);
    return base && H5Tget_class(base.id()) == H5T_INTEGER ? numpy_type(base.id()) : std::string();
  }
  if (is_half(type, H5T_ORDER_LE)) return "<f2";
  if (is_half(type, H5T_ORDER_BE)) return ">f2";
  struct NamedType {
    hid_t id;
    const char* descr;
  };
  const std::array<NamedType, 20> known{{
      {H5T_STD_U8LE, "|u1"},   {H5T_STD_U8BE, "|u1"},   {H5T_STD_I8LE, "|i1"},   {H5T_STD_I8BE, "|i1"},
      {H5T_STD_U16LE, "<u2"},  {H5T_STD_U16BE, ">u2"},  {H5T_STD_I16LE, "<i2"},  {H5T_STD_I16BE, ">i2"},
      {H5T_STD_U32LE, "<u4"},  {H5T_STD_U32BE, ">u4"},  {H5T_STD_I32LE, "<i4"},  {H5T_STD_I32BE, ">i4"},
      {H5T_STD_U64LE, "<u8"},  {H5T_STD_U64BE, ">u8"},  {H5T_STD_I64LE, "<i8"},  {H5T_STD_I64BE, ">i8"},
      {H5T_IEEE_F32LE, "<f4"}, {H5T_IEEE_F32BE, ">f4"}, {H5T_IEEE_F64LE, "<f8"}, {H5T_IEEE_F64BE, ">f8"},
  }};
  for (const NamedType& candidate : known) {
    if (H5Tequal(type, candidate.id) > 0) return candidate.descr;
  }
  return {};
}

std::string type_text(hid_t type) {
  if (const std::string descr = numpy_type(type); !descr.empty()) return descr;
  const std::size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("integer of {} bytes", bytes);
    case H5T_FLOAT:
      return fmt::format("float of {} bytes", bytes);
    case H5T_STRING:
      return "string";
    case H5T_COMPOUND:
      return "compound";
    case H5T_ENUM:
      return "enumeration";
    case H5T_VLEN: {
      const H5Handle base(H5Tget_super(type), H5Tclose);
      return base ? "variable-length " + type_text(base.id()) : "variable-length";
    }
    case H5T_ARRAY:
      return "array";
    case H5T_REFERENCE:
      return "reference";
    case H5T_OPAQUE:
      return "opaque";
    default:
      return "of an unknown type";
  }
}

}  // namespace bale::h5
