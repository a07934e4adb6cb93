#include "bale/formats/image/png/png_text.hpp"

#include <zlib.h>

#include <array>

namespace bale::image_detail {
namespace {

constexpr std::size_t k_type_bytes = 4;
constexpr std::size_t k_max_text_bytes = std::size_t{16} << 20;

std::optional<std::string> inflated(std::string_view packed) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return std::nullopt;
  std::string out;
  std::array<char, 16384> buffer;
  // zlib takes input that is not const, but only reads it.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  int result = Z_OK;
  while (result == Z_OK && out.size() <= k_max_text_bytes) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    result = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer.data(), buffer.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END) return std::nullopt;
  return out;
}

std::string deflated(const std::string& text) {
  uLongf size = compressBound(static_cast<uLong>(text.size()));
  std::string out(size, '\0');
  // Cannot fail: the output has room for the worst case.
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
           static_cast<uLong>(text.size()));
  out.resize(size);
  return out;
}

}  // namespace

std::string_view png_keyword(Bytes chunk) {
  const std::string_view text = as_text(chunk).substr(k_type_bytes);
  return text.substr(0, text.find('\0'));
}

std::optional<PngText> unpack_png_text(Bytes chunk) {
  const std::string_view whole = as_text(chunk);
  const std::string_view type = whole.substr(0, k_type_bytes);
  const std::size_t keyword_end = whole.find('\0', k_type_bytes);
  if (keyword_end == std::string_view::npos) return std::nullopt;
  std::size_t at = keyword_end + 1;
  PngText out;
  if (type == "zTXt") {
    if (at >= whole.size() || whole[at] != 0) return std::nullopt;  // the only method
    out.compressed = true;
    ++at;
  } else if (type == "iTXt") {
    if (whole.size() - at < 2) return std::nullopt;
    out.compressed = whole[at] != 0;
    if (out.compressed && whole[at + 1] != 0) return std::nullopt;
    at += 2;
    for (int i = 0; i < 2; ++i) {  // the language, and the translated keyword
      const std::size_t end = whole.find('\0', at);
      if (end == std::string_view::npos) return std::nullopt;
      at = end + 1;
    }
  }
  out.head = whole.substr(0, at);
  out.text = whole.substr(at);
  if (!out.compressed) return out;
  std::optional<std::string> text = inflated(whole.substr(at));
  if (!text) return std::nullopt;
  out.text = std::move(*text);
  return out;
}

std::string pack_png_text(const PngText& text) {
  return text.head + (text.compressed ? deflated(text.text) : text.text);
}

}  // namespace bale::image_detail
