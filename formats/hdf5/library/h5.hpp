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

#include "bale/formats/base/error.hpp"
#include "bale/formats/hdf5/library/h5_api.hpp"

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

/// Element types in NumPy's terms.
/// NumPy's name of an element type ("<f2", "|b1"); empty for types that NumPy does not have. An enumeration has the
/// type of its integers; h5py's enumeration of FALSE and TRUE is a bool.
std::string numpy_type(hid_t type);

/// Name of the type for messages: "float of 16 bytes", "compound".
std::string type_text(hid_t type);

}  // namespace bale::h5
