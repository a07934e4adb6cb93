#include "bale/tests/fuzz/image/progressive_jpegs.hpp"

#include <algorithm>
#include <iterator>

#include "bale/formats/image/jpeg/header/jpeg_markers.hpp"
#include "bale/tests/unit/image/image_samples.hpp"

namespace bale::test {
namespace {

namespace jpeg_marker = image_detail::jpeg_marker;
using Buffer = std::vector<std::uint8_t>;

constexpr std::uint8_t k_sof2 = 0xC2;
constexpr std::uint8_t k_dqt = 0xDB;
constexpr std::uint8_t k_dri = 0xDD;
constexpr std::uint32_t k_max_side = 64;

/// A marker, its segment, and what follows it up to the next marker that is not a restart: the data of a scan.
struct Piece {
  std::uint8_t marker = 0;
  Buffer segment{};
  Buffer data{};
};

struct Pieces {
  std::vector<Piece> pieces{};
  Buffer rest{};  // what is not a piece

  std::vector<std::size_t> with(std::uint8_t marker) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].marker == marker) found.push_back(i);
    }
    return found;
  }
};

std::size_t end_of_data(const Buffer& jpeg, std::size_t at) {
  for (; at + 1 < jpeg.size(); ++at) {
    if (jpeg[at] == 0xFF && jpeg[at + 1] != 0 && !jpeg_marker::is_restart(jpeg[at + 1])) return at;
  }
  return jpeg.size();
}

Pieces take_apart(const Buffer& jpeg) {
  Pieces result;
  std::size_t at = 0;
  const auto part = [&](std::size_t from, std::size_t to) { return Buffer(jpeg.begin() + from, jpeg.begin() + to); };
  while (at + 2 <= jpeg.size() && jpeg[at] == 0xFF) {
    Piece piece{.marker = jpeg[at + 1]};
    std::size_t end = at + 2;
    if (piece.marker != jpeg_marker::k_soi && piece.marker != jpeg_marker::k_eoi) {
      if (end + 2 > jpeg.size()) break;
      const std::size_t length = std::size_t{jpeg[end]} << 8 | jpeg[end + 1];
      if (length < 2 || length > jpeg.size() - end) break;
      piece.segment = part(end + 2, end + length);
      end += length;
    }
    at = end_of_data(jpeg, end);
    piece.data = part(end, at);
    result.pieces.push_back(std::move(piece));
  }
  result.rest = part(at, jpeg.size());
  return result;
}

Buffer put_together(const Pieces& parts) {
  Buffer jpeg;
  for (const Piece& piece : parts.pieces) {
    jpeg.insert(jpeg.end(), {0xFF, piece.marker});
    if (piece.marker != jpeg_marker::k_soi && piece.marker != jpeg_marker::k_eoi) {
      const std::size_t length = piece.segment.size() + 2;
      jpeg.insert(jpeg.end(), {static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length)});
      jpeg.insert(jpeg.end(), piece.segment.begin(), piece.segment.end());
    }
    jpeg.insert(jpeg.end(), piece.data.begin(), piece.data.end());
  }
  jpeg.insert(jpeg.end(), parts.rest.begin(), parts.rest.end());
  return jpeg;
}

class Change {
 public:
  Change(Pieces& parts, std::mt19937& random) : parts_(parts), random_(random) {}

  void make() {
    const std::uint32_t what = below(24);
    if (what < 12) return change_data();
    if (what < 14) return change_scan_header();
    if (what < 16) return change_order();
    if (what < 17) return change_huffman_table();
    if (what < 18) return change_quantizer();
    if (what < 19) return change_frame();
    if (what < 20) return change_restart_interval();
    if (what < 22) return change_restarts();
    if (what < 23) return change_end();
    insert_segment();
  }

 private:
  std::uint32_t below(std::size_t n) { return static_cast<std::uint32_t>(random_() % n); }
  std::uint8_t byte() { return static_cast<std::uint8_t>(random_()); }
  Piece* one_with(std::uint8_t marker) {
    const std::vector<std::size_t> found = parts_.with(marker);
    return found.empty() ? nullptr : &parts_.pieces[found[below(found.size())]];
  }

  /// As libjpeg reads it: no marker appears or vanishes, if it is repaired.
  static void stuff(Buffer& data) {
    Buffer stuffed;
    for (std::size_t i = 0; i < data.size(); ++i) {
      stuffed.push_back(data[i]);
      const bool marks = i + 1 < data.size() && (data[i + 1] == 0 || jpeg_marker::is_restart(data[i + 1]));
      if (data[i] == 0xFF && !marks) stuffed.push_back(0);
    }
    data = std::move(stuffed);
  }

  void change_data() {
    Piece* const scan = one_with(jpeg_marker::k_sos);
    if (scan == nullptr || scan->data.empty()) return;
    Buffer& data = scan->data;
    const auto at = static_cast<std::ptrdiff_t>(below(data.size()));
    const auto length = static_cast<std::ptrdiff_t>(1 + below(std::min<std::size_t>(data.size() - at, 8)));
    switch (below(7)) {
      case 0:
      case 1:
        data[at] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 2:
        data[at] = below(2) == 0 ? byte() : 0xFF;
        break;
      case 3:
        data.erase(data.begin() + at, data.begin() + at + length);
        break;
      case 4:
        data.insert(data.begin() + at, byte());
        break;
      case 5:
        data.resize(at);
        break;
      default: {
        const Buffer other = one_with(jpeg_marker::k_sos)->data;
        data.resize(at);
        data.insert(data.end(), other.begin() + std::min<std::ptrdiff_t>(at, std::ssize(other)), other.end());
      }
    }
    if (below(8) != 0) stuff(data);
  }

  void change_scan_header() {
    Piece* const scan = one_with(jpeg_marker::k_sos);
    if (scan == nullptr || scan->segment.size() < 4) return;
    Buffer& header = scan->segment;
    const std::size_t end = header.size();
    switch (below(6)) {
      case 0:
        header[end - 3] = static_cast<std::uint8_t>(below(64));
        break;  // Ss
      case 1:
        header[end - 2] = static_cast<std::uint8_t>(below(66));
        break;  // Se
      case 2:
        header[end - 1] = static_cast<std::uint8_t>(below(5) << 4 | below(5));
        break;  // Ah, Al
      case 3:
        header[end - 1] = byte();
        break;
      case 4:
        header[below(end)] = static_cast<std::uint8_t>(below(5));
        break;
      default:
        header[below(end)] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
    }
  }

  void change_order() {
    const std::vector<std::size_t> scans = parts_.with(jpeg_marker::k_sos);
    if (scans.empty()) return;
    const std::size_t a = scans[below(scans.size())];
    const std::size_t b = scans[below(scans.size())];
    auto& pieces = parts_.pieces;
    switch (below(4)) {
      case 0:
        std::swap(pieces[a], pieces[b]);
        break;
      case 1:
        pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(a));
        break;
      case 2: {
        const Piece copy = pieces[a];
        pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(b), copy);
        break;
      }
      default:
        std::swap(pieces[a].data, pieces[b].data);
        break;
    }
  }

  void change_huffman_table() {
    Piece* const table = one_with(jpeg_marker::k_dht);
    if (table == nullptr || table->segment.size() < 18) return;
    Buffer& segment = table->segment;
    if (below(2) == 0) {  // a symbol
      segment[17 + below(segment.size() - 17)] = below(2) == 0 ? byte() : static_cast<std::uint8_t>(below(16) << 4);
      return;
    }
    std::uint8_t& from = segment[1 + below(16)];  // a code gets another length
    std::uint8_t& to = segment[1 + below(16)];
    if (from == 0) return;
    --from;
    ++to;
  }

  void change_quantizer() {
    Piece* const table = one_with(k_dqt);
    if (table != nullptr && !table->segment.empty()) table->segment[below(table->segment.size())] = byte();
  }

  void change_frame() {
    constexpr std::uint8_t k_samplings[] = {0x11, 0x11, 0x21, 0x12, 0x22, 0x22, 0x41, 0x14, 0x31, 0x13, 0x24};
    Piece* const frame = one_with(k_sof2);
    if (frame == nullptr || frame->segment.size() < 9) return;
    Buffer& segment = frame->segment;
    const std::uint32_t components = static_cast<std::uint32_t>((segment.size() - 6) / 3);
    switch (below(5)) {
      case 0:
        segment[1] = 0, segment[2] = static_cast<std::uint8_t>(1 + below(k_max_side));
        break;
      case 1:
        segment[3] = 0, segment[4] = static_cast<std::uint8_t>(1 + below(k_max_side));
        break;
      case 2:
        segment[6 + 3 * below(components) + 1] = k_samplings[below(std::size(k_samplings))];
        break;
      case 3:
        segment[6 + 3 * below(components) + 2] = static_cast<std::uint8_t>(below(4));
        break;
      default:
        segment[6 + 3 * below(components)] = static_cast<std::uint8_t>(below(5));
        break;
    }
  }

  void change_restart_interval() {
    Piece* const found = one_with(k_dri);
    const Buffer interval{0, static_cast<std::uint8_t>(below(12))};
    if (found != nullptr) {
      found->segment = interval;
    } else {
      insert({.marker = k_dri, .segment = interval});
    }
  }

  void change_restarts() {
    Piece* const scan = one_with(jpeg_marker::k_sos);
    if (scan == nullptr || scan->data.empty()) return;
    Buffer& data = scan->data;
    std::vector<std::size_t> restarts;
    for (std::size_t i = 0; i + 1 < data.size(); ++i) {
      if (data[i] == 0xFF && jpeg_marker::is_restart(data[i + 1])) restarts.push_back(i);
    }
    const auto number = static_cast<std::uint8_t>(jpeg_marker::k_rst0 + below(8));
    if (restarts.empty() || below(4) == 0) {
      const std::uint8_t marker[] = {0xFF, number};
      data.insert(data.begin() + below(data.size()), std::begin(marker), std::end(marker));
      return;
    }
    const auto at = static_cast<std::ptrdiff_t>(restarts[below(restarts.size())]);
    if (below(2) == 0) {
      data[at + 1] = number;
    } else {
      data.erase(data.begin() + at, data.begin() + at + 2);
    }
  }

  void change_end() {
    auto& pieces = parts_.pieces;
    switch (below(4)) {
      case 0:
        std::erase_if(pieces, [](const Piece& piece) { return piece.marker == jpeg_marker::k_eoi; });
        break;
      case 1:
        parts_.rest.resize(below(6), byte());
        break;
      case 2:
        insert({.marker = jpeg_marker::k_eoi});
        break;
      default: {
        Buffer jpeg = put_together(parts_);
        jpeg.resize(jpeg.size() - below(std::min<std::size_t>(jpeg.size() - 1, 100)));
        parts_ = {.rest = std::move(jpeg)};
      }
    }
  }

  void insert_segment() {
    constexpr std::uint8_t k_markers[] = {
        jpeg_marker::k_com, jpeg_marker::k_app0, jpeg_marker::k_app14, jpeg_marker::k_app2, 0xDC, 0xCC};
    insert({.marker = k_markers[below(std::size(k_markers))], .segment = Buffer(below(14), byte())});
  }

  void insert(Piece piece) {
    auto& pieces = parts_.pieces;
    if (pieces.empty()) return;
    pieces.insert(pieces.begin() + 1 + below(pieces.size()), std::move(piece));
  }

  Pieces& parts_;
  std::mt19937& random_;
};

}  // namespace

bool is_progressive_jpeg(const std::uint8_t* jpeg, std::size_t size) {
  const image_detail::ByteReader in({reinterpret_cast<const std::byte*>(jpeg), size});
  for (std::size_t at = jpeg_marker::next(in, 2); in.has(at, 4); at = jpeg_marker::next(in, at + 2 + in.be16(at + 2))) {
    if (in.u8(at + 1) == jpeg_marker::k_sos) return false;
    if (jpeg_marker::is_frame_header(in.u8(at + 1))) return in.u8(at + 1) == k_sof2;
  }
  return false;
}

Buffer draw_progressive_jpeg(std::mt19937& random) {
  static const std::vector<std::vector<Sampling>> own_samplings = {
      {{1, 1}},
      {{2, 2}},
      {{1, 1}, {1, 1}, {1, 1}},
      {{2, 1}, {1, 1}, {1, 1}},
      {{2, 2}, {1, 1}, {1, 1}},
      {{1, 2}, {1, 1}, {1, 1}},
  };
  static const std::vector<std::vector<Sampling>> other_samplings = {
      {{4, 1}, {1, 1}, {1, 1}},
      {{2, 2}, {2, 1}, {1, 2}},
      {{1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {{2, 2}, {1, 1}, {1, 1}, {2, 2}},
  };
  using Scans = JpegSample::Scans;
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  const std::uint32_t max_side = below(4) == 0 ? k_max_side : 24;
  JpegSample sample{.width = 1 + below(max_side), .height = 1 + below(max_side)};
  const auto& samplings = below(8) == 0 ? other_samplings : own_samplings;
  sample.sampling = samplings[below(samplings.size())];
  sample.transformed = below(16) != 0;
  sample.quality = static_cast<int>(1 + below(100));
  sample.restart_interval = below(3) == 0 ? static_cast<int>(1 + below(12)) : 0;
  const std::uint32_t scans = below(16);
  sample.scans = scans == 0 ? Scans::unrefined : scans < 5 ? Scans::progressive : Scans::drawn;
  const std::vector<std::byte> jpeg = make_jpeg(sample, random);
  const auto* const first = reinterpret_cast<const std::uint8_t*>(jpeg.data());
  return {first, first + jpeg.size()};
}

void change_progressive_jpeg(Buffer& jpeg, std::mt19937& random) {
  Pieces parts = take_apart(jpeg);
  Change(parts, random).make();
  jpeg = put_together(parts);
}

}  // namespace bale::test
