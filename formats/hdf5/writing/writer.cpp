#include "bale/formats/hdf5/writing/writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/version.hpp"

namespace bale::h5 {

void write_keys(OutputFile& file, std::string_view text, const std::vector<std::size_t>& ends) {
  std::vector<std::string_view> keys;
  keys.reserve(ends.size());
  for (std::size_t i = 0, begin = 0; i < ends.size(); begin = ends[i++]) {
    keys.push_back(text.substr(begin, ends[i] - begin));
  }
  file.write_strings("keys", keys);
}

void write_common(OutputFile& file, const WriterOptions& options, const std::vector<std::int64_t>& labels) {
  {
    const H5Handle dataset = file.write_table("labels", H5T_STD_I64LE, H5T_NATIVE_INT64, labels.size(), labels.data());
    file.write_attribute(dataset.id(), "no_label", H5T_STD_I64LE, H5T_NATIVE_INT64, &k_no_label);
  }
  if (!options.class_names.empty()) {
    file.write_strings("class_names", {options.class_names.begin(), options.class_names.end()});
  }
  const std::uint64_t num_samples = labels.size();
  file.write_attribute(file.id(), "bale_version", version());
  file.write_attribute(file.id(), "layout", options.layout);
  file.write_attribute(file.id(), "num_samples", H5T_STD_U64LE, H5T_NATIVE_UINT64, &num_samples);
}

namespace {

constexpr std::size_t k_memory_bytes = 4 << 20;

}  // namespace

void Spool::append(Bytes bytes) {
  memory_.insert(memory_.end(), bytes.begin(), bytes.end());
  if (memory_.size() > k_memory_bytes) spill();
}

void Spool::spill() {
  if (!file_.is_open()) {
    file_ = File::create(path_);
    ::unlink(path_.c_str());
  }
  file_.write_at(file_bytes_, memory_);
  file_bytes_ += memory_.size();
  memory_.clear();
}

void Spool::read(std::uint64_t offset, MutableBytes out) const {
  const auto in_file =
      static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), file_bytes_ - std::min(file_bytes_, offset)));
  if (in_file > 0) file_.read_exact(offset, out.first(in_file));
  if (in_file == out.size()) return;
  const auto first = memory_.begin() + static_cast<std::ptrdiff_t>(offset + in_file - file_bytes_);
  std::copy_n(first, out.size() - in_file, out.begin() + static_cast<std::ptrdiff_t>(in_file));
}

void Spool::copy_to(File& out, std::uint64_t offset) const {
  if (file_bytes_ > 0) copy_range(file_, 0, out, offset, file_bytes_);
  out.write_at(offset + file_bytes_, memory_);
}

void copy_range(const File& in, std::uint64_t from, File& out, std::uint64_t to, std::uint64_t bytes) {
  while (bytes > 0) {
    auto source = static_cast<off64_t>(from);
    auto target = static_cast<off64_t>(to);
    const ssize_t copied = ::copy_file_range(in.fd(), &source, out.fd(), &target, bytes, 0);
    if (copied <= 0) break;  // not supported, or an error: the loop below reports it
    from += static_cast<std::uint64_t>(copied);
    to += static_cast<std::uint64_t>(copied);
    bytes -= static_cast<std::uint64_t>(copied);
  }
  std::vector<std::byte> buffer(std::min<std::uint64_t>(bytes, 1 << 20));
  while (bytes > 0) {
    const MutableBytes part = MutableBytes(buffer).first(std::min<std::uint64_t>(bytes, buffer.size()));
    in.read_exact(from, part);
    out.write_at(to, part);
    from += part.size();
    to += part.size();
    bytes -= part.size();
  }
}

void reserve_space(const File& file) {
  const auto size = static_cast<off64_t>(file.size());
  int result = 0;
  do {
    result = ::fallocate(file.fd(), 0, 0, size);
  } while (result != 0 && errno == EINTR);
  // If it is not supported, or refused, writes report a full disk.
  if (result != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    throw_errno("reserve space for", file.path());
  }
}

File write_again(const std::string& path, const std::function<File(const std::string& again)>& make) {
  const std::string again = path + ".resize";
  try {
    File out = make(again);
    if (std::rename(again.c_str(), path.c_str()) != 0) throw_errno("rename over its first version", path);
    return out;
  } catch (...) {
    ::unlink(again.c_str());
    throw;
  }
}

}  // namespace bale::h5
