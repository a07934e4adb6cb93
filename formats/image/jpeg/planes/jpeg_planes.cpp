#include "bale/formats/image/jpeg/planes/jpeg_planes.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/codec/zstd_codec.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/image/jpeg/planes/plane_numbers.hpp"

namespace bale::image_detail {
namespace {

constexpr std::array<std::byte, 4> k_signature{std::byte{0x8E}, std::byte{'b'}, std::byte{'j'}, std::byte{'p'}};
constexpr std::uint8_t k_version = 1;
constexpr std::uint8_t k_version_with_tail = 2;
constexpr std::uint8_t k_version_progressive = 3;
constexpr int k_level = 1;  // level 3 takes three times as long, and saves 0.0004 of the bytes
/// Of the bytes before a scan: marker segments have at most 65,535 each.
constexpr std::uint64_t k_max_head_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t k_max_rows = 65535;
/// Of a progressive JPEG. While it is packed, all its coefficients are in memory: 128 MiB. Each scan passes over them.
constexpr std::uint64_t k_max_progressive_blocks = std::uint64_t{1} << 20;
constexpr std::array<std::byte, 2> k_end_of_image{std::byte{0xFF}, std::byte{0xD9}};

[[noreturn]] void fail(const char* what) { throw Error(ErrorCode::damaged, fmt::format("JPEG planes: {}", what)); }

/// DC and AC of luma, and of chroma: one table for both.
std::optional<std::vector<const JHUFF_TBL*>> tables_of(const BaselineFrame& frame) {
  std::vector<const JHUFF_TBL*> tables;
  for (std::uint32_t i = 0; i < frame.num_components; ++i) {
    const BaselineComponent& component = frame.components[i];
    if (i == 2) {
      if (component.dc_codes != tables[2] || component.ac_codes != tables[3]) return std::nullopt;
      continue;
    }
    tables.push_back(component.dc_codes);
    tables.push_back(component.ac_codes);
  }
  return tables;
}

/// One row at a time stays in the cache, and what a header says of the others takes no memory before they are there.
BaselineFrame one_row_of(BaselineFrame frame) {
  frame.mcus_down = 1;
  return frame;
}

}  // namespace

bool has_planes_signature(Bytes bytes) {
  return bytes.size() >= k_signature.size() && std::equal(k_signature.begin(), k_signature.end(), bytes.begin());
}

std::optional<BaselineFrame> frame_of_planes(const jpeg_decompress_struct& info, bool is_progressive) {
  if (!is_progressive) return baseline_frame(info);
  std::optional<BaselineFrame> frame = progressive_frame(info);
  return frame && frame->num_blocks() <= k_max_progressive_blocks ? frame : std::nullopt;
}

void PlanesHeader::open(Bytes stored, bool is_checked) {
  if (!has_planes_signature(stored)) fail("the signature is missing");
  NumberReader reader(stored.subspan(k_signature.size()));
  const std::uint8_t version = reader.u8();
  // A flipped bit is damage, not another version.
  if ((version ^ reader.u8()) != 0xFF) fail("the checksum of the header does not match");
  if (version < k_version || version > k_version_progressive) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("JPEG planes of version {}; this bale reads up to version {}", version, k_version_progressive),
        {.hint = "install a newer bale"});
  }
  original_crc32c_ = reader.u32();
  original_bytes_ = reader.number();
  form_ = {.is_progressive = version == k_version_progressive};
  std::uint64_t tail_bytes = 0;
  tail_crc32c_ = crc32c({});
  if (version >= k_version_with_tail) {
    const std::uint8_t fills = reader.u8();
    if (fills > 1) fail("it fills bytes in an unknown way");
    form_.fills_with_zeros = fills == 1;
    tail_bytes = reader.number();
    tail_crc32c_ = reader.u32();
  }
  head_bytes_ = reader.number();
  if (head_bytes_ > original_bytes_) fail("the size of the header is wrong");
  is_verbatim_ = head_bytes_ == 0;
  packed_head_ = reader.bytes(reader.number());
  head_.clear();
  const std::uint64_t num_rows = reader.number();
  if (num_rows > k_max_rows) fail("it has too many rows");
  ends_.assign(1, 0);
  checksums_.clear();
  for (std::uint64_t i = 0; i < num_rows; ++i) {
    ends_.push_back(ends_.back() + reader.number());
    checksums_.push_back(reader.u32());
  }
  packed_classes_ = reader.bytes(reader.number());
  classes_.clear();
  const Bytes before = stored.first(stored.size() - reader.rest().size());
  const std::uint32_t checksum = reader.u32();
  if (reader.has_failed()) fail("it is cut off");
  is_checked_ = is_checked;
  if (!is_checked && crc32c(before) != checksum) fail("the checksum of the header does not match");
  stored_ = stored;
  if (is_verbatim_) {
    packed_head_ = reader.rest();
    if (packed_head_.size() != original_bytes_ || tail_bytes != 0) fail("its size is wrong");
    return;
  }
  const std::size_t first = stored.size() - reader.rest().size();
  if (ends_.back() + tail_bytes + k_plane_padding != reader.rest().size()) fail("its size is wrong");
  const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
  if (!std::ranges::all_of(stored.last(k_plane_padding), is_zero)) fail("bytes after its rows");
  for (std::size_t& end : ends_) end += first;
  form_.tail = stored.subspan(ends_.back(), tail_bytes);
}

std::optional<BaselineFrame> PlanesHeader::frame(const jpeg_decompress_struct& info) const {
  std::optional<BaselineFrame> frame = frame_of_planes(info, form_.is_progressive);
  return frame && frame->mcus_down == num_rows() ? frame : std::nullopt;
}

Bytes PlanesHeader::head() {
  if (packed_head_.size() == head_bytes_) return packed_head_;
  if (head_.empty()) {
    if (head_bytes_ > k_max_head_bytes || zstd_content_size(packed_head_, k_max_head_bytes) != head_bytes_) {
      fail("the size of the header is wrong");
    }
    head_.resize(head_bytes_);
    zstd_decompress(packed_head_, head_);
  }
  return head_;
}

void PlanesHeader::check_rows() const {
  if (is_verbatim_ && crc32c(verbatim()) != original_crc32c_) fail("the checksum of the original does not match");
  for (std::uint32_t i = 0; i < num_rows(); ++i) check_row(i);
  if (crc32c(form_.tail) != tail_crc32c_) fail("the checksum of what follows the image does not match");
}

Bytes PlanesHeader::row_bytes(std::uint32_t row) const {
  return stored_.subspan(ends_[row], ends_[row + 1] - ends_[row]);
}

void PlanesHeader::check_row(std::uint32_t row) const {
  if (crc32c(row_bytes(row)) != checksums_[row]) fail("the checksum of a row does not match");
}

Bytes PlanesHeader::row(std::uint32_t row) const {
  if (!is_checked_) check_row(row);
  return row_bytes(row);
}

Bytes PlanesHeader::classes(std::uint32_t row, std::uint32_t num_blocks) {
  const std::uint64_t size = std::uint64_t{num_blocks} * num_rows();
  if (classes_.empty()) {
    // Rows have four bits for each eight blocks, so a small field cannot take much memory.
    if (size > (ends_.back() - ends_.front()) * 16) fail("the number of blocks is wrong");
    if (zstd_content_size(packed_classes_, size) != size) fail("the number of blocks is wrong");
    classes_.resize(size);
    zstd_decompress(packed_classes_, classes_);
  }
  return Bytes(classes_).subspan(std::size_t{row} * num_blocks, num_blocks);
}

void PlanesRestorer::restore(Bytes stored, std::vector<std::byte>& out) {
  header_.open(stored);
  if (header_.is_verbatim()) {
    out.assign(header_.verbatim().begin(), header_.verbatim().end());
  } else {
    out.clear();
    if (!write_image(out)) fail("a row is damaged");
    append(header_.form().tail, out);
  }
  if (out.size() != header_.original_bytes() || crc32c(out) != header_.original_crc32c()) {
    fail("what was restored is not the original");
  }
}

bool PlanesRestorer::write_image(std::vector<std::byte>& out) {
  JpegDecoder decoder;
  decoder.open(header_.head());
  const std::optional<BaselineFrame> frame = header_.frame(decoder.info());
  if (!frame) return false;
  planes_.open(one_row_of(*frame));
  decoder_.open(*frame);
  decoder_.store_in(planes_.rows(0), {0, frame->mcus_across}, BlockOrder::zigzag);
  return header_.form().is_progressive ? write_scans(decoder.info(), *frame, out) : write_scan(*frame, out);
}

bool PlanesRestorer::decode_row(std::uint32_t row) {
  return decoder_.decode_row(header_.row(row), header_.after_row(row), header_.classes(row, decoder_.num_blocks()));
}

bool PlanesRestorer::write_scan(const BaselineFrame& frame, std::vector<std::byte>& out) {
  const auto tables = tables_of(frame);
  if (!tables) return false;
  append(header_.head(), out);
  symbols_.open(frame.restart_interval);
  for (std::uint32_t row = 0; row < frame.mcus_down; ++row) {
    if (!decode_row(row) || !symbols_.add_row(planes_, 0, true)) return false;
  }
  if (!encoder_.open(symbols_, *tables)) return false;
  encoder_.write(out, header_.form().fills_with_zeros);
  append(k_end_of_image, out);
  return true;
}

bool PlanesRestorer::write_scans(const jpeg_decompress_struct& info, const BaselineFrame& frame,
                                 std::vector<std::byte>& out) {
  const Bytes head = header_.head();
  std::vector<std::size_t> scans_at;
  progressive_.open(header_.form().fills_with_zeros);
  const auto add_scan = [&] {
    scans_at.push_back(head.size() - scans_.data().size());
    return progressive_.add_scan(scans_);
  };
  if (!scans_.open_without_data(info, add_scan)) return false;
  for (std::uint32_t row = 0; row < frame.mcus_down; ++row) {
    if (!decode_row(row)) return false;
    progressive_.add_row(planes_);
  }
  std::size_t written = 0;
  for (std::size_t scan = 0; scan < scans_at.size(); ++scan) {
    append(head.subspan(written, scans_at[scan] - written), out);
    if (!progressive_.finish(scan, out)) return false;
    written = scans_at[scan];
  }
  append(head.subspan(written), out);
  return true;
}

bool PlanesPacker::append_row(std::uint32_t row) {
  const std::size_t begin = rows_.size();
  if (!encoder_.append_row(planes_, row, rows_, classes_)) return false;
  sizes_.push_back(rows_.size() - begin);
  return true;
}

/// Returns what follows the image's end.
std::optional<Bytes> PlanesPacker::append_baseline(const jpeg_decompress_struct& info) {
  const std::optional<BaselineFrame> frame = frame_of_planes(info, false);
  if (!frame || !tables_of(*frame)) return std::nullopt;
  planes_.open(one_row_of(*frame));
  if (!reader_.begin_baseline(*frame, planes_, false, BlockOrder::natural)) return std::nullopt;
  for (std::uint32_t row = 0; row < frame->mcus_down; ++row) {
    if (!reader_.next_row(planes_, 0) || !append_row(0)) return std::nullopt;
  }
  return reader_.after_end();
}

std::optional<Bytes> PlanesPacker::append_progressive(const jpeg_decompress_struct& info) {
  const std::optional<BaselineFrame> frame = frame_of_planes(info, true);
  if (!frame) return std::nullopt;
  planes_.open(*frame);
  const auto tail = reader_.read_progressive(info, *frame, planes_, false, BlockOrder::natural);
  for (const Bytes segments : reader_.between_scans()) append(segments, head_);
  for (std::uint32_t row = 0; tail && row < frame->mcus_down; ++row) {
    if (!append_row(row)) return std::nullopt;
  }
  return tail;
}

std::optional<Bytes> PlanesPacker::pack(Bytes jpeg, std::size_t most_bytes) {
  rows_.clear();
  classes_.clear();
  sizes_.clear();
  JpegForm form;
  try {
    JpegDecoder decoder;
    decoder.open(jpeg);
    if (decoder.has_warnings()) return std::nullopt;
    const jpeg_decompress_struct& info = decoder.info();
    form.is_progressive = info.progressive_mode != 0;
    head_.assign(jpeg.begin(), jpeg.end() - static_cast<std::ptrdiff_t>(decoder.scan().size()));
    const auto tail = form.is_progressive ? append_progressive(info) : append_baseline(info);
    if (!tail) return std::nullopt;
    form.tail = *tail;
  } catch (const Error&) {
    return std::nullopt;  // not a JPEG that could be decoded
  }
  for (const bool zeros : {false, true}) {
    form.fills_with_zeros = zeros;
    put(jpeg, form);
    if (out_.size() > most_bytes) return std::nullopt;
    if (comes_back(jpeg)) return out_;
  }
  return std::nullopt;
}

void PlanesPacker::put(Bytes jpeg, const JpegForm& form) {
  zstd_compress(head_, k_level, packed_);
  const std::vector<std::byte>& packed = packed_.size() < head_.size() ? packed_ : head_;
  begin(jpeg, form);
  append_number(head_.size(), out_);
  append_number(packed.size(), out_);
  append(packed, out_);
  append_number(sizes_.size(), out_);
  for (Bytes rest = rows_; const std::uint64_t size : sizes_) {
    append_number(size, out_);
    append_u32(crc32c(rest.first(size)), out_);
    rest = rest.subspan(size);
  }
  zstd_compress(classes_, k_level, packed_);
  append_number(packed_.size(), out_);
  append(packed_, out_);
  append_u32(crc32c(out_), out_);
  append(rows_, out_);
  append(form.tail, out_);
  out_.resize(out_.size() + k_plane_padding);
}

bool PlanesPacker::comes_back(Bytes jpeg) {
  try {
    restorer_.restore(out_, restored_);
  } catch (const Error&) {
    return false;
  }
  return restored_.size() == jpeg.size() && std::memcmp(restored_.data(), jpeg.data(), jpeg.size()) == 0;
}

/// A version that older readers know, if there is nothing that they do not.
void PlanesPacker::begin(Bytes original, const JpegForm& form) {
  const bool is_usual = form.tail.empty() && !form.fills_with_zeros && !form.is_progressive;
  const std::byte version{is_usual ? k_version : form.is_progressive ? k_version_progressive : k_version_with_tail};
  out_.assign(k_signature.begin(), k_signature.end());
  out_.insert(out_.end(), {version, ~version});
  append_u32(crc32c(original), out_);
  append_number(original.size(), out_);
  if (is_usual) return;
  out_.push_back(std::byte{form.fills_with_zeros});
  append_number(form.tail.size(), out_);
  append_u32(crc32c(form.tail), out_);
}

Bytes PlanesPacker::pack_verbatim(Bytes bytes) {
  begin(bytes, {});
  for (int i = 0; i < 4; ++i) append_number(0, out_);  // no head, its size as stored, no rows, no classes
  append_u32(crc32c(out_), out_);
  append(bytes, out_);
  return out_;
}

}  // namespace bale::image_detail
