// The only code that walks a JPEG's markers.
//
// ITU-T T.81, annex B: a JPEG is a sequence of markers (FF xx, any number of FF before xx). Most of them are followed
// by a segment that begins with its own length (2 bytes, big-endian, counting themselves).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "bale/formats/base/bytes.hpp"
#include "bale/formats/image/codec/byte_reader.hpp"
#include "bale/formats/image/image.hpp"

namespace bale::image_detail::jpeg_marker {

// Table B.1.
inline constexpr std::uint32_t k_tem = 0x01;
inline constexpr std::uint32_t k_sof0 = 0xC0;  // baseline
inline constexpr std::uint32_t k_sof1 = 0xC1;  // extended sequential
inline constexpr std::uint32_t k_dht = 0xC4;
inline constexpr std::uint32_t k_jpg = 0xC8;
inline constexpr std::uint32_t k_dac = 0xCC;
inline constexpr std::uint32_t k_rst0 = 0xD0;
inline constexpr std::uint32_t k_rst7 = 0xD7;
inline constexpr std::uint32_t k_soi = 0xD8;
inline constexpr std::uint32_t k_eoi = 0xD9;
inline constexpr std::uint32_t k_sos = 0xDA;
inline constexpr std::uint32_t k_dqt = 0xDB;
inline constexpr std::uint32_t k_dri = 0xDD;
inline constexpr std::uint32_t k_app0 = 0xE0;
inline constexpr std::uint32_t k_app1 = 0xE1;
inline constexpr std::uint32_t k_app2 = 0xE2;
inline constexpr std::uint32_t k_app14 = 0xEE;
inline constexpr std::uint32_t k_app15 = 0xEF;
inline constexpr std::uint32_t k_com = 0xFE;

inline bool is_restart(std::uint32_t marker) { return marker >= k_rst0 && marker <= k_rst7; }
/// Whether the marker has no segment and may be in the data of a scan or between segments.
inline bool is_alone(std::uint32_t marker) { return marker == k_tem || is_restart(marker); }
inline bool is_frame_header(std::uint32_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != k_dht && marker != k_jpg && marker != k_dac;
}

/// Offset of the next marker at or after `at`, as libjpeg finds it. Skips bytes that belong to no segment, fill bytes,
/// and the stuffed zeros of a scan (T.81, B.1.1.5). The marker's code is one byte after. in.size() if there is none.
inline std::size_t next(const ByteReader& in, std::size_t at) {
  while (in.has(at, 2)) {
    const void* const found = std::memchr(in.data() + at, 0xFF, in.size() - 1 - at);
    if (found == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const unsigned char*>(found) - in.data());
    if (in.u8(at + 1) != 0xFF && in.u8(at + 1) != 0) return at;
    ++at;
  }
  return in.size();
}

}  // namespace bale::image_detail::jpeg_marker

namespace bale::image_detail {

/// Where the scan of an ordinary JPEG begins, without libjpeg: that takes most of the time of a check of a small image.
/// What JpegDecoder::scan() is of a sequential 8-bit Huffman JPEG whose first scan has all components, if libjpeg reads
/// its header without an error in every version. nullopt for all others: ask libjpeg. It may be another nullopt of an
/// image that libjpeg reads, never a scan of one that it refuses.
std::optional<Bytes> plain_jpeg_scan(Bytes image);

/// Reads a JPEG's header by its markers.
/// The header of bytes that begin with SOI (FF D8). Sizes are 0 if no frame header comes before the first scan.
ImageHeader probe_jpeg(const ByteReader& in);

}  // namespace bale::image_detail

namespace bale {

// How a JPEG is coded, from its markers. Nothing is decoded.

struct JpegCoding {
  bool is_progressive = false;
  bool is_arithmetic = false;    // coded arithmetically, which browsers do not read
  std::uint32_t components = 0;  // 0: there is no frame header
  std::uint32_t luma_h = 1;      // sampling factors of the first component, relative to the second
  std::uint32_t luma_v = 1;
};

/// Never reads past `bytes`. All zero or false if they are not a JPEG.
JpegCoding read_jpeg_coding(Bytes bytes);

/// "gray", "4:4:4", "4:2:2", "4:2:0", "4:4:0", "4:1:1", "4 components", else "other".
std::string sampling_name(const JpegCoding& coding);

}  // namespace bale
