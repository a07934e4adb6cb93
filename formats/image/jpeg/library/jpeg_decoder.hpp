// JpegDecoder: decodes a rectangle of a JPEG with libjpeg-turbo; internal.
//
// Each image gets a new decompressor, which takes 0.2 us. libjpeg keeps quantization and Huffman tables from image to
// image, so a reused decompressor could decode a file that lacks its own. State that an error left is discarded too.
// For one thread at a time.
#pragma once

#include "bale/formats/image/codec/codec.hpp"
#include "bale/formats/image/jpeg/library/jpeg_guard.hpp"

namespace bale::image_detail {

class JpegDecoder {
 public:
  JpegDecoder() = default;
  ~JpegDecoder() { close(); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  enum class Markers { skip, keep };
  /// Reads the header. `bytes` must outlive read(). Markers::keep keeps comments and application data.
  void open(Bytes bytes, Markers markers = Markers::skip);
  /// Chooses the smallest scale of 1/8, 1/4, 1/2, 1 that keeps both sides at least `min_side` long.
  void scale_down(std::uint32_t min_side);
  /// The scale: 1/8, 1/4, 1/2 or 1. Until close().
  double scale() const { return static_cast<double>(info_.scale_num) / info_.scale_denom; }
  /// The size of the pixels to come: that of the image, or the one after scale_down().
  std::uint32_t width() const { return info_.output_width; }
  std::uint32_t height() const { return info_.output_height; }
  std::uint32_t channels() const { return static_cast<std::uint32_t>(info_.num_components); }
  /// The header, for other decoders.
  const jpeg_decompress_struct& info() const { return info_; }

  /// Whether any region needs all scans of the file.
  bool reads_all_scans() const { return info_.progressive_mode != 0 || info_.comps_in_scan < info_.num_components; }
  /// The data after the header: the first scan. Only before start().
  Bytes scan() const { return {reinterpret_cast<const std::byte*>(source_.next_input_byte), source_.bytes_in_buffer}; }

  /// Prepares to read a region inside the image. Reads all scans of a file that has many.
  RegionLayout start(const Region& region);
  /// Fills the memory that start() described, and frees libjpeg's memory.
  void read(std::uint8_t* out);
  void close();
  /// Whether libjpeg warned of corrupt data in what was read.
  bool has_warnings() const { return errors_.manager.num_warnings > 0; }

  /// Instead of pixels: the coefficients of all scans. libjpeg owns them and the kept markers until close(). Throws
  /// `damaged` also for corrupt data that libjpeg only warns of, and for anything after the image's end.
  jvirt_barray_ptr* read_coefficients();
  jpeg_decompress_struct& info_to_copy() { return info_; }

 private:
  void connect_source(Bytes bytes);
  void keep_markers();
  bool smooths_blocks() const;
  void skip_rows(JSAMPLE* out);
  void read_rgb_rows(JSAMPLE* out);
  void read_cmyk_rows(JSAMPLE* out);
  template <typename Work>
  void run(const Work& work);
  [[noreturn]] void throw_error() const;

  JpegErrors errors_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
  bool created_ = false;
  bool every_row_ = false;  // rows above the region cannot be skipped
  std::uint32_t first_row_ = 0;
  std::uint32_t end_row_ = 0;
};

}  // namespace bale::image_detail
