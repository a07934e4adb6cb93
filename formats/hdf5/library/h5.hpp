// The HDF5 library behind one lock: handles that close themselves, errors with the path of the file.
//
// Debian's serial library is not thread-safe. Hold an H5Lock to call anything below, including the destructors of
// handles, which call the library. Private to this folder: no public header includes hdf5.h.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hdf5.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/lazy_library.hpp"
#include "bale_lazy_hdf5.hpp"

// The functions and variables of HDF5 that bale uses, which open it; internal.

#ifdef BALE_LAZY_HDF5

namespace bale::h5 {

inline constinit LazyLibrary hdf5_library{BALE_LAZY_HDF5};

// clang-format off
#define BALE_H5(name) BALE_LAZY_FUNCTION(hdf5_library, name)
BALE_H5(H5Aclose) BALE_H5(H5Acreate2) BALE_H5(H5Aexists) BALE_H5(H5Aget_space) BALE_H5(H5Aget_type) BALE_H5(H5Aiterate2)
BALE_H5(H5Aopen) BALE_H5(H5Aread) BALE_H5(H5Awrite) BALE_H5(H5Dclose) BALE_H5(H5Dcreate2) BALE_H5(H5Dget_chunk_info)
BALE_H5(H5Dget_create_plist) BALE_H5(H5Dget_num_chunks) BALE_H5(H5Dget_offset) BALE_H5(H5Dget_space) BALE_H5(H5Dget_space_status)
BALE_H5(H5Dget_storage_size) BALE_H5(H5Dget_type) BALE_H5(H5Dread) BALE_H5(H5Dset_extent) BALE_H5(H5Dwrite)
BALE_H5(H5Dwrite_chunk) BALE_H5(H5Eclear2) BALE_H5(H5Eset_auto2) BALE_H5(H5Ewalk2) BALE_H5(H5Fclose)
BALE_H5(H5Fcreate) BALE_H5(H5Fflush) BALE_H5(H5Fget_create_plist) BALE_H5(H5Fget_vfd_handle) BALE_H5(H5Fopen)
BALE_H5(H5Gclose) BALE_H5(H5Gcreate2) BALE_H5(H5Iget_type) BALE_H5(H5Lexists) BALE_H5(H5Lget_info) BALE_H5(H5Literate)
BALE_H5(H5Oclose) BALE_H5(H5Oopen) BALE_H5(H5PLset_loading_state) BALE_H5(H5Pclose) BALE_H5(H5Pcreate)
BALE_H5(H5Pfill_value_defined) BALE_H5(H5Pget_chunk) BALE_H5(H5Pget_chunk_opts) BALE_H5(H5Pget_external_count)
BALE_H5(H5Pget_fill_value) BALE_H5(H5Pget_filter2) BALE_H5(H5Pget_layout) BALE_H5(H5Pget_nfilters)
BALE_H5(H5Pget_sizes) BALE_H5(H5Pget_userblock) BALE_H5(H5Pset_alloc_time) BALE_H5(H5Pset_buffer)
BALE_H5(H5Pset_chunk) BALE_H5(H5Pset_deflate) BALE_H5(H5Pset_fclose_degree) BALE_H5(H5Pset_file_locking)
BALE_H5(H5Pset_fill_time) BALE_H5(H5Pset_libver_bounds) BALE_H5(H5Pset_obj_track_times) BALE_H5(H5Pset_sieve_buf_size)
BALE_H5(H5Sclose) BALE_H5(H5Screate) BALE_H5(H5Screate_simple) BALE_H5(H5Sget_simple_extent_dims)
BALE_H5(H5Sget_simple_extent_ndims) BALE_H5(H5Sget_simple_extent_npoints) BALE_H5(H5Sselect_hyperslab)
BALE_H5(H5Tclose) BALE_H5(H5Tconvert) BALE_H5(H5Tcopy) BALE_H5(H5Tenum_valueof) BALE_H5(H5Tequal)
BALE_H5(H5Tget_class) BALE_H5(H5Tget_nmembers) BALE_H5(H5Tget_order) BALE_H5(H5Tget_sign) BALE_H5(H5Tget_size)
BALE_H5(H5Tget_strpad) BALE_H5(H5Tget_super) BALE_H5(H5Tis_variable_str) BALE_H5(H5Tset_cset) BALE_H5(H5Tset_ebias)
BALE_H5(H5Tset_fields) BALE_H5(H5Tset_size) BALE_H5(H5Tset_strpad) BALE_H5(H5Tvlen_create) BALE_H5(H5Zfilter_avail)
BALE_H5(H5Zget_filter_info) BALE_H5(H5Zregister) BALE_H5(H5allocate_memory) BALE_H5(H5check_version)
BALE_H5(H5dont_atexit) BALE_H5(H5free_memory) BALE_H5(H5open)
#undef BALE_H5
#define BALE_H5(name) BALE_LAZY_VARIABLE(hdf5_library, name)
BALE_H5(H5P_CLS_DATASET_CREATE_ID_g) BALE_H5(H5P_CLS_DATASET_XFER_ID_g) BALE_H5(H5P_CLS_FILE_ACCESS_ID_g)
BALE_H5(H5P_CLS_FILE_CREATE_ID_g) BALE_H5(H5P_CLS_GROUP_CREATE_ID_g) BALE_H5(H5T_C_S1_g) BALE_H5(H5T_IEEE_F32BE_g)
BALE_H5(H5T_IEEE_F32LE_g) BALE_H5(H5T_IEEE_F64BE_g) BALE_H5(H5T_IEEE_F64LE_g) BALE_H5(H5T_NATIVE_DOUBLE_g)
BALE_H5(H5T_NATIVE_INT64_g) BALE_H5(H5T_NATIVE_UINT64_g) BALE_H5(H5T_NATIVE_UINT8_g) BALE_H5(H5T_STD_I16BE_g)
BALE_H5(H5T_STD_I16LE_g) BALE_H5(H5T_STD_I32BE_g) BALE_H5(H5T_STD_I32LE_g) BALE_H5(H5T_STD_I64BE_g)
BALE_H5(H5T_STD_I64LE_g) BALE_H5(H5T_STD_I8BE_g) BALE_H5(H5T_STD_I8LE_g) BALE_H5(H5T_STD_U16BE_g)
BALE_H5(H5T_STD_U16LE_g) BALE_H5(H5T_STD_U32BE_g) BALE_H5(H5T_STD_U32LE_g) BALE_H5(H5T_STD_U64BE_g)
BALE_H5(H5T_STD_U64LE_g) BALE_H5(H5T_STD_U8BE_g) BALE_H5(H5T_STD_U8LE_g)
#undef BALE_H5
// clang-format on

}  // namespace bale::h5

#endif

namespace bale::h5 {

/// Holds the process-wide lock. Turns off the library's error printing and its plugins.
class H5Lock {
 public:
  H5Lock();

 private:
  std::lock_guard<std::mutex> guard_;
};

/// Throws for the library's current error stack: `io` if it has an errno, `unsupported` instead of `damaged` if the
/// library does not know a version or a kind of something, else `code`. Clears the stack.
[[noreturn]] void throw_h5(ErrorCode code, std::string_view action, const std::string& path);

/// An identifier of the library with the function that closes it.
class H5Handle {
 public:
  using Close = herr_t (*)(hid_t);

  H5Handle() = default;
  H5Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~H5Handle() { reset(); }
  H5Handle(H5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  H5Handle& operator=(H5Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, -1);
      close_ = other.close_;
    }
    return *this;
  }

  hid_t id() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  /// Drops the identifier without closing it.
  void forget() { id_ = -1; }
  /// Closes; false if the library reports a failure (a file's last writes may fail here).
  bool reset() {
    const hid_t id = std::exchange(id_, -1);
    return id < 0 || close_(id) >= 0;
  }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// A handle for a new identifier. Throws as throw_h5 does if the library returned none.
H5Handle take(hid_t id, H5Handle::Close close, ErrorCode code, std::string_view action, const std::string& path);

/// A file to create or add to. Failures are `io`. After a failed write the library crashes when it closes the file
/// (1.10.8: H5Fclose, or its exit handler), so such a file is truncated to 0 bytes and never closed.
class OutputFile {
 public:
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;

  /// Creates a new file: latest format, no timestamps, no file locks.
  static OutputFile create(const std::string& path);
  /// Opens a file that create() made, to add to it.
  static OutputFile open(const std::string& path);

  hid_t id() const { return file_.id(); }
  const std::string& path() const { return path_; }

  void make_group(const std::string& name);
  /// Creates a contiguous dataset of bytes that is allocated at once and never filled. Returns its handle.
  H5Handle make_reserved(const std::string& name, const std::vector<hsize_t>& dims);
  /// Creates an empty chunked dataset that grows along its first dimension. `deflate_level` < 0: unfiltered.
  H5Handle make_growing(const std::string& name, hid_t type, const std::vector<hsize_t>& chunk, int deflate_level);
  /// Writes a whole contiguous one-dimensional dataset. Returns its handle, for attributes.
  H5Handle write_table(const std::string& name, hid_t file_type, hid_t memory_type, std::uint64_t count,
                       const void* data);
  void write_strings(const std::string& name, const std::vector<std::string_view>& strings);
  void write_attribute(hid_t object, const char* name, std::string_view text);
  void write_attribute(hid_t object, const char* name, hid_t file_type, hid_t memory_type, const void* value);
  /// Whether a call on this file has failed. Handles of its objects must then be forgotten, not closed.
  bool failed() const { return failed_; }
  /// Writes everything out. Call it before you close handles of chunked datasets: closing them writes their chunks, but
  /// does not report a failure.
  void flush();
  /// Writes everything out and closes. Close every other handle of the file first.
  void close();

  H5Handle take_for_write(hid_t id, H5Handle::Close closer, std::string_view action) const;
  void check(herr_t result, std::string_view action) const;

 private:
  OutputFile(H5Handle file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  [[noreturn]] void fail(std::string_view action) const;
  void abandon();

  H5Handle file_;
  std::string path_;
  mutable bool failed_ = false;
};

/// Offset in the file of a contiguous dataset; HADDR_UNDEF if it has no storage, because it was never written.
haddr_t dataset_offset(hid_t dataset);
/// Offset of a dataset that OutputFile::make_reserved() made. Throws `io` if the library has not allocated it.
haddr_t reserved_offset(const H5Handle& dataset, const std::string& path);

/// NumPy's name of an element type ("<f2", "|b1"); empty for types that NumPy does not have. An enumeration has the
/// type of its integers; h5py's enumeration of FALSE and TRUE is a bool.
std::string numpy_type(hid_t type);

/// Name of the type for messages: "float of 16 bytes", "compound".
std::string type_text(hid_t type);

}  // namespace bale::h5
