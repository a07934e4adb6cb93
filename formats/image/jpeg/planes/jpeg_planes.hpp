// JPEGs stored as planes (PLANES.md): the coefficients in a form that is made for decoding, from which the original
// file is restored to the byte; internal.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/jpeg/library/jpeg_decoder.hpp"
#include "bale/formats/image/jpeg/planes/plane_decoder.hpp"
#include "bale/formats/image/jpeg/planes/plane_encoder.hpp"
#include "bale/formats/image/jpeg/transcode/baseline_encoder.hpp"
#include "bale/formats/image/jpeg/transcode/coefficient_planes.hpp"
#include "bale/formats/image/jpeg/transcode/progressive_encoder.hpp"
#include "bale/formats/image/jpeg/transcode/scan_symbols.hpp"

namespace bale::image_detail {

/// Whether bytes begin as JPEG planes do.
bool has_planes_signature(Bytes bytes);

/// What a JPEG whose header libjpeg has read needs to have planes. nullopt if it can have none.
std::optional<BaselineFrame> frame_of_planes(const jpeg_decompress_struct& info, bool is_progressive);

/// How a JPEG is otherwise than libjpeg would write it as a baseline JPEG.
struct JpegForm {
  bool is_progressive = false;
  bool fills_with_zeros = false;  // the last byte of a scan, and of an interval between restarts
  Bytes tail{};                   // after the end-of-image marker
};

/// What comes before the rows of JPEG planes. Throws `damaged`, and `unsupported` for a version that this one does not
/// know.
class PlanesHeader {
 public:
  /// Borrows from `stored`. `is_checked`: check_planes() accepted these bytes, and no checksums are compared again.
  void open(Bytes stored, bool is_checked = false);

  std::uint64_t original_bytes() const { return original_bytes_; }
  std::uint32_t original_crc32c() const { return original_crc32c_; }
  const JpegForm& form() const { return form_; }
  /// Whether there are no planes: the original follows as it is.
  bool is_verbatim() const { return is_verbatim_; }
  /// The original, if it is there as it is.
  Bytes verbatim() const { return packed_head_; }
  /// The bytes of the original up to its scan, or of a progressive one all up to its end but the data of scans;
  /// inflated by the first call. Valid until the next open().
  Bytes head();
  /// Of the image whose header libjpeg has read. nullopt if it cannot have these planes.
  std::optional<BaselineFrame> frame(const jpeg_decompress_struct& info) const;
  /// The classes of the blocks of a row, which has `num_blocks`.
  Bytes classes(std::uint32_t row, std::uint32_t num_blocks);
  std::uint32_t num_rows() const { return static_cast<std::uint32_t>(checksums_.size()); }
  /// Compares the checksums of all rows and of the tail; of an original that is there as it is, its own.
  void check_rows() const;
  Bytes row(std::uint32_t row) const;
  /// How many bytes follow row `row`: k_plane_padding at least.
  std::size_t after_row(std::uint32_t row) const { return stored_.size() - ends_[row + 1]; }

 private:
  void check_row(std::uint32_t row) const;
  Bytes row_bytes(std::uint32_t row) const;

  Bytes stored_{};
  bool is_checked_ = false;
  Bytes packed_head_{};
  std::uint64_t head_bytes_ = 0;
  bool is_verbatim_ = false;
  std::uint64_t original_bytes_ = 0;
  std::uint32_t original_crc32c_ = 0;
  JpegForm form_{};
  std::uint32_t tail_crc32c_ = 0;
  std::vector<std::byte> head_;  // empty if it is stored as it is, or not inflated yet
  Bytes packed_classes_{};
  std::vector<std::byte> classes_;
  std::vector<std::size_t> ends_;  // of the rows, after the beginning of the first
  std::vector<std::uint32_t> checksums_;
};

/// Restores JPEGs. For one thread at a time.
class PlanesRestorer {
 public:
  /// Replaces `out` by the original. Throws `damaged` if it is not what was packed.
  void restore(Bytes stored, std::vector<std::byte>& out);

 private:
  bool write_image(std::vector<std::byte>& out);
  bool write_scan(const BaselineFrame& frame, std::vector<std::byte>& out);
  bool write_scans(const jpeg_decompress_struct& info, const BaselineFrame& frame, std::vector<std::byte>& out);
  bool decode_row(std::uint32_t row);

  PlanesHeader header_;
  CoefficientPlanes planes_;
  PlaneDecoder decoder_;
  ScanSymbols symbols_;
  BaselineEncoder encoder_;
  ProgressiveScans scans_;
  ProgressiveEncoder progressive_;
};

/// Makes planes of JPEGs. For one thread at a time.
class PlanesPacker {
 public:
  /// The planes; nullopt if it is not a progressive JPEG or one of one baseline scan, of 8 bits, if restoring it would
  /// not give the same bytes, or if the planes would have more than `most_bytes`. Valid until the next call.
  std::optional<Bytes> pack(Bytes jpeg, std::size_t most_bytes);
  /// Any bytes as they are, marked as such. Valid until the next call.
  Bytes pack_verbatim(Bytes bytes);

 private:
  std::optional<Bytes> append_baseline(const jpeg_decompress_struct& info);
  std::optional<Bytes> append_progressive(const jpeg_decompress_struct& info);
  bool append_row(std::uint32_t row);
  void put(Bytes jpeg, const JpegForm& form);
  bool comes_back(Bytes jpeg);
  void begin(Bytes original, const JpegForm& form);

  CoefficientPlanes planes_;
  CoefficientReader reader_;
  PlaneEncoder encoder_;
  std::vector<std::byte> head_;
  std::vector<std::byte> rows_;
  std::vector<std::uint64_t> sizes_;
  std::vector<std::byte> classes_;
  std::vector<std::byte> packed_;
  std::vector<std::byte> out_;
  PlanesRestorer restorer_;
  std::vector<std::byte> restored_;
};

}  // namespace bale::image_detail
