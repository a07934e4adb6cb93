#include "bale/formats/hdf5/scan/scan.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/shard/field_rule.hpp"

namespace bale::h5 {
namespace {

constexpr std::size_t k_max_fields = k_max_index_fields;

/// Reads `num_samples` flags from `name`. Empty if there is no such dataset: the field is then present in all samples.
std::vector<std::uint8_t> read_present(const InputFile& file, const std::string& name, std::uint64_t num_samples) {
  const auto dataset = file.find(name);
  if (!dataset) return {};
  std::vector<std::uint8_t> present = file.read_bytes(*dataset);
  if (present.size() != num_samples) file.damaged(fmt::format("/{} does not have one row per sample", printable(name)));
  return present;
}

/// Reads `num_samples` + 1 non-decreasing offsets in [0, end].
std::vector<std::int64_t> read_offsets(const InputFile& file, const std::string& name, std::uint64_t num_samples,
                                       std::uint64_t end) {
  std::vector<std::int64_t> offsets = file.read_integers(file.require(name));
  if (offsets.size() != num_samples + 1 || offsets.front() < 0 || !std::is_sorted(offsets.begin(), offsets.end()) ||
      static_cast<std::uint64_t>(offsets.back()) > end) {
    file.damaged(fmt::format("/{} is not a table of rising offsets", printable(name)));
  }
  return offsets;
}

void scan_blob_field(const InputFile& file, const std::string& name, IndexBuilder& index) {
  const std::string group = "fields/" + name;
  const InputDataset data = file.require(group + "/data");
  if (data.kind != ElementKind::integer || data.element_bytes != 1 || data.dims.size() != 1) {
    file.damaged(fmt::format("/{}/data does not hold bytes", printable(group)));
  }
  if (data.layout != H5D_CONTIGUOUS) {
    file.unsupported(fmt::format("/{}/data is not contiguous", printable(group)),
                     "rewrite it with `h5repack -l CONTI`");
  }
  const haddr_t place = dataset_offset(data.id.id());
  const std::uint64_t base = place == HADDR_UNDEF ? 0 : place;
  if (data.count > 0 && (place == HADDR_UNDEF || place > file.size() || data.count > file.size() - place)) {
    file.damaged(fmt::format("/{}/data lies past the end of the file", printable(group)));
  }
  const std::vector<std::int64_t> offsets = read_offsets(file, group + "/offsets", index.size(), data.count);
  const std::vector<std::uint8_t> present = read_present(file, group + "/present", index.size());
  const std::uint32_t field = declare_field(index, field_of_stored_name(name), file.path());
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    if (!present.empty() && present[i] == 0) continue;
    const auto length = static_cast<std::uint64_t>(offsets[i + 1] - offsets[i]);
    if (length > std::numeric_limits<std::uint32_t>::max()) file.unsupported("a field of 4 GiB or more");
    index.set_extent(i, field, base + static_cast<std::uint64_t>(offsets[i]), static_cast<std::uint32_t>(length));
  }
}

void scan_blob(const InputFile& file, const std::vector<std::int64_t>& labels, IndexBuilder& index) {
  const std::vector<std::uint8_t> keys = file.read_bytes(file.require("keys/data"));
  const std::vector<std::int64_t> key_offsets = read_offsets(file, "keys/offsets", labels.size(), keys.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto begin = static_cast<std::size_t>(key_offsets[i]);
    const auto length = static_cast<std::size_t>(key_offsets[i + 1]) - begin;
    index.add_sample({reinterpret_cast<const char*>(keys.data()) + begin, length}, labels[i]);
  }
  for (const std::string& name : file.links("fields", k_max_fields + 1)) scan_blob_field(file, name, index);
}

void scan_tables(const InputFile& file, bool is_array, const std::vector<std::int64_t>& labels, IndexBuilder& index) {
  const std::vector<std::string> keys = file.read_strings(file.require("keys"));
  if (keys.size() != labels.size()) file.damaged("/keys and /labels differ in length");
  for (std::size_t i = 0; i < labels.size(); ++i) index.add_sample(keys[i], labels[i]);
  if (is_array) {
    if (const auto array = find_array(file)) {
      set_array_extents(file, *array, index);
    } else if (!labels.empty()) {
      file.damaged("dataset /images is missing");
    }
  } else if (const auto images = file.find("images")) {
    const auto name = file.text_attribute("images", "field");
    if (!name || name->empty()) file.damaged("/images does not say which field it is");
    set_vlen_extents(file, "images", read_present(file, "present/" + *name, labels.size()), *name, index);
  }
  for (const std::string& name : file.links("fields", k_max_fields + 1)) {
    set_vlen_extents(file, "fields/" + name, read_present(file, "present/" + name, labels.size()), name, index);
  }
}

}  // namespace

void set_vlen_extents(const InputFile& file, const std::string& dataset, const std::vector<std::uint8_t>& present,
                      std::string_view stored_name, IndexBuilder& index) {
  const std::vector<FileRange> ranges = locate_vlen(file, file.require(dataset));
  if (ranges.size() != index.size() || (!present.empty() && present.size() != ranges.size())) {
    file.damaged(fmt::format("/{} does not have one row per sample", printable(dataset)));
  }
  const std::uint32_t field = declare_field(index, field_of_stored_name(stored_name), file.path());
  for (std::uint64_t i = 0; i < ranges.size(); ++i) {
    if (!present.empty() && present[i] == 0) continue;
    index.set_extent(i, field, ranges[i].offset, static_cast<std::uint32_t>(ranges[i].length));
  }
}

void scan_container(const std::string& path, IndexBuilder& index) {
  const H5Lock lock;
  const InputFile file(path);
  const auto layout = file.text_attribute("/", "layout");
  if (!layout || !file.text_attribute("/", "bale_version")) {
    scan_foreign(file, index);
    return;
  }
  const std::vector<std::int64_t> labels = file.read_integers(file.require("labels"));
  if (*layout == "blob") {
    scan_blob(file, labels, index);
  } else if (*layout == "vlen" || *layout == "array") {
    scan_tables(file, *layout == "array", labels, index);
  } else {
    file.unsupported(fmt::format("layout \"{}\" is not known", printable(*layout)), "use a newer bale");
  }
}

RowReader::RowReader(const InputFile& file, InputDataset dataset) : file_(file), dataset_(std::move(dataset)) {
  file.require_filters(dataset_);
  num_rows_ = dataset_.dims.empty() || dataset_.count == 0 ? 0 : dataset_.dims[0];
  row_bytes_ = num_rows_ == 0 ? 0 : dataset_.count / num_rows_ * dataset_.element_bytes;
  if (dataset_.layout == H5D_CONTIGUOUS) {
    const haddr_t offset = dataset_offset(dataset_.id.id());
    if (offset != HADDR_UNDEF) contiguous_ = offset;
  } else {
    chunks_ = ChunkMap::make(file, dataset_);
  }
}

void RowReader::read(std::uint64_t first, std::uint64_t count, MutableBytes out) const {
  if (contiguous_) {
    file_.bytes().read_exact(*contiguous_ + first * row_bytes_, out);
  } else if (chunks_) {
    const std::uint64_t per_chunk = chunks_->rows_per_chunk();
    for (std::uint64_t row = first; row < first + count;) {
      const std::uint64_t within = row % per_chunk;
      const std::uint64_t part = std::min(first + count - row, per_chunk - within);
      const std::shared_ptr<const PlainChunk> chunk = plain_chunk(row / per_chunk);
      const Bytes rows = Bytes(chunk->bytes).subspan(within * row_bytes_, part * row_bytes_);
      std::copy(rows.begin(), rows.end(), out.begin());
      out = out.subspan(rows.size());
      row += part;
    }
  } else {
    read_through_library(first, count, out);
  }
}

/// If chunks have several rows, the last chunk is kept, so that reading in order decompresses each chunk once.
std::shared_ptr<const RowReader::PlainChunk> RowReader::plain_chunk(std::uint64_t number) const {
  {
    const std::lock_guard guard(last_mutex_);
    if (last_ && last_->number == number) return last_;
  }
  auto chunk = std::make_shared<const PlainChunk>(PlainChunk{number, chunks_->read(file_.bytes(), number)});
  if (chunks_->rows_per_chunk() > 1) {
    const std::lock_guard guard(last_mutex_);
    last_ = chunk;
  }
  return chunk;
}

void RowReader::read_through_library(std::uint64_t first, std::uint64_t count, MutableBytes out) const {
  const std::string& path = file_.path();
  std::vector<hsize_t> at(dataset_.dims.size());
  std::vector<hsize_t> counts = dataset_.dims;
  at[0] = first;
  counts[0] = count;
  const H5Handle rows = take(H5Dget_space(dataset_.id.id()), H5Sclose, ErrorCode::damaged, "read a dataspace", path);
  const H5Handle cell = take(H5Screate_simple(static_cast<int>(counts.size()), counts.data(), nullptr), H5Sclose,
                             ErrorCode::damaged, "make a dataspace", path);
  if (H5Sselect_hyperslab(rows.id(), H5S_SELECT_SET, at.data(), nullptr, counts.data(), nullptr) < 0 ||
      H5Dread(dataset_.id.id(), dataset_.type.id(), cell.id(), rows.id(), H5P_DEFAULT, out.data()) < 0) {
    throw_h5(ErrorCode::damaged, "read /" + printable(dataset_.name), path);
  }
}

}  // namespace bale::h5
