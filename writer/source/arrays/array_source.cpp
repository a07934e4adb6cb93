#include "bale/writer/source/arrays/array_source.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <new>
#include <numeric>

#include <fmt/format.h>
#include <zlib.h>

#include "bale/formats/base/checksum.hpp"
#include "bale/formats/base/error.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/writer/source/choose/chosen_source.hpp"
#include "bale/writer/source/classes/labels.hpp"
#include "bale/writer/source/folder/name_filter.hpp"

namespace bale {
namespace {

constexpr const char* k_coarse_field = "coarse.txt";

class ArraySource : public Source {
 public:
  ArraySource(std::string path, ArrayFiles files, const SourceOptions& options)
      : path_(std::move(path)), files_(std::move(files)) {
    NameFilter filter(options.include, options.exclude);
    for (std::uint32_t part = 0; part < files_.parts.size(); ++part) {
      for (std::uint32_t number = 0; number < files_.parts[part].count; ++number) {
        if (filter.takes_all() || filter.takes(key_of({part, number}))) {
          samples_.push_back({part, number});
        } else {
          files_.notices.leave_out(key_of({part, number}), NameFilter::k_filtered);
        }
      }
      has_coarse_ = has_coarse_ || !files_.parts[part].coarse_labels.empty();
    }
    filter.note_unmatched(files_.notices, path_);
    note_unused_options(options, {"class_map"}, "these are files of arrays", path_, files_.notices);
    take_labels(options);
    if (has_coarse_) fields_.emplace_back(k_coarse_field);
    if (samples_.empty()) throw Error(ErrorCode::invalid_argument, "no image to pack", {.path = path_});
  }

  std::uint64_t size() const override { return samples_.size(); }
  const std::vector<std::string>& fields() const override { return fields_; }
  const std::vector<std::string>& classes() const override { return files_.classes; }
  std::vector<std::string> places() const override { return {path_}; }
  LabelOrigin label_origin() const override { return {.reading = reading_}; }
  std::int64_t label(std::uint64_t i) const override { return label_of_[stored_label(samples_[i])]; }
  std::string origin(std::uint64_t i) const override {
    return fmt::format("{}: image {}", part(i).path, samples_[i].number);
  }
  void will_need(std::uint64_t) const override {}
  const NoticeLog& notices() const override { return files_.notices; }

  void describe(std::uint64_t i, SourceSample& out) const override {
    out.key = key_of(samples_[i]);
    out.label = label(i);
    out.fields = {{0, part(i).pixel_bytes()}, {1, fmt::format_int(out.label).size()}};
    if (has_coarse_) out.fields.push_back({2, 2});
  }

  SampleView read(std::uint64_t i, Scratch& scratch) const override {
    const ArrayPart& from = part(i);
    const std::vector<std::byte> png = encode(from, pixels(i));
    MutableBytes kept = scratch.bytes(png.size());
    std::copy(png.begin(), png.end(), kept.begin());
    std::string& text = scratch.text();
    text = key_of(samples_[i]);
    const std::size_t key_end = text.size();
    text += fmt::format_int(label(i)).c_str();
    const std::size_t label_end = text.size();
    if (has_coarse_) text += fmt::format_int(from.coarse_labels[samples_[i].number]).c_str();
    const std::string_view all = text;
    std::vector<FieldView>& views = scratch.fields();
    views.clear();
    views.push_back({fields_[0], kept});
    views.push_back({k_label_field, as_bytes(all.substr(key_end, label_end - key_end))});
    if (has_coarse_) views.push_back({fields_[2], as_bytes(all.substr(label_end))});
    return {
        .key = all.substr(0, key_end), .label = label(i), .width = from.width, .height = from.height, .fields = views};
  }

  void fingerprint(std::uint64_t i, std::string& out) const override {
    out += fmt::format("{}\t{}\t{:08x}\n", key_of(samples_[i]), label(i), crc32c(pixels(i)));
  }

 private:
  struct Place {
    std::uint32_t part;
    std::uint32_t number;
  };

  std::uint8_t stored_label(const Place& place) const { return files_.parts[place.part].labels[place.number]; }

  void take_labels(const SourceOptions& options) {
    Labels labels(options);
    std::map<std::int64_t, LabelWord> used;
    for (const Place& place : samples_) {
      const auto [word, is_new] = used.try_emplace(stored_label(place));
      if (!is_new) continue;
      word->second = {.text = std::to_string(word->first), .key = key_of(place)};
      try {
        require_class(word->first, files_.classes);
      } catch (const Error& error) {
        throw Error(error.code(), error.message(),
                    {.path = files_.parts[place.part].path, .key = key_of(place), .hint = "download it again"});
      }
    }
    std::iota(label_of_.begin(), label_of_.end(), 0);
    for (const auto& [from, to] : labels.take_numbers(files_.classes, used, path_)) {
      label_of_[static_cast<std::size_t>(from)] = to;
    }
    labels.mention_joined(path_, files_.notices);
    files_.classes = labels.classes();
    reading_ = labels.reading();
  }

  const ArrayPart& part(std::uint64_t i) const { return files_.parts[samples_[i].part]; }
  std::string key_of(const Place& place) const {
    const ArrayPart& from = files_.parts[place.part];
    return fmt::format("{}/{:05}", from.prefix, from.first_number + place.number);
  }
  Bytes pixels(std::uint64_t i) const {
    const ArrayPart& from = part(i);
    return Bytes(from.bytes)
        .subspan(from.first_offset + samples_[i].number * from.stride + from.pixels_at, from.pixel_bytes());
  }

  static std::vector<std::byte> encode(const ArrayPart& from, Bytes pixels) {
    if (from.planes == 1) return encode_gray_png(from.width, from.height, pixels);
    Image image;
    image.width = from.width;
    image.height = from.height;
    const std::size_t plane = pixels.size() / 3;
    const std::size_t to_right = from.has_columns_first ? from.height : 1;
    const std::size_t to_below = from.has_columns_first ? 1 : from.width;
    image.rgb.reserve(pixels.size());
    for (std::size_t y = 0; y < from.height; ++y) {
      for (std::size_t x = 0; x < from.width; ++x) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
          image.rgb.push_back(static_cast<std::uint8_t>(pixels[channel * plane + y * to_below + x * to_right]));
        }
      }
    }
    return encode_png(image);
  }

  std::string path_;
  ArrayFiles files_;
  std::vector<std::string> fields_{"png", std::string(k_label_field)};
  std::vector<Place> samples_;
  std::array<std::int64_t, 256> label_of_{};  // of each label in the files
  LabelReading reading_ = LabelReading::none;
  bool has_coarse_ = false;
};

constexpr std::size_t k_block = std::size_t{1} << 20;

}  // namespace

std::unique_ptr<Source> make_array_source(const std::string& path, ArrayFiles files, const SourceOptions& options) {
  return std::make_unique<ArraySource>(path, std::move(files), options);
}

std::vector<std::byte> inflate_all(Bytes input, DeflateHeader header, const std::string& path, std::uint64_t offset) {
  constexpr int k_with_gzip_header = 16;
  z_stream state{};
  if (inflateInit2(&state, MAX_WBITS + (header == DeflateHeader::gzip ? k_with_gzip_header : 0)) != Z_OK) {
    throw std::bad_alloc();
  }
  struct End {
    z_stream& state;
    ~End() { inflateEnd(&state); }
  } const end{state};
  std::vector<std::byte> out;
  state.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
  state.avail_in = static_cast<uInt>(std::min<std::uint64_t>(input.size(), std::numeric_limits<uInt>::max()));
  int result = Z_OK;
  while (result == Z_OK) {
    if (out.size() >= k_max_array_bytes) {
      throw Error(ErrorCode::unsupported, fmt::format("more than {} bytes uncompressed", k_max_array_bytes),
                  {.path = path});
    }
    const std::size_t had = out.size();
    out.resize(had + k_block);
    state.next_out = reinterpret_cast<Bytef*>(out.data() + had);
    state.avail_out = static_cast<uInt>(k_block);
    result = inflate(&state, Z_NO_FLUSH);
    out.resize(had + k_block - state.avail_out);
    if (result == Z_BUF_ERROR || (result == Z_OK && state.avail_in == 0 && state.avail_out != 0)) break;
  }
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  if (result != Z_STREAM_END || state.avail_in != 0) {
    throw Error(ErrorCode::damaged,
                fmt::format("damaged or incomplete {} data", header == DeflateHeader::gzip ? "gzip" : "zlib"),
                {.path = path, .offset = offset + input.size() - state.avail_in, .hint = "download it again"});
  }
  return out;
}

}  // namespace bale
