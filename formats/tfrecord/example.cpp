#include "bale/formats/tfrecord/example.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/tfrecord/record.hpp"

namespace bale::tfrecord {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr std::size_t k_max_features = 65536;
constexpr std::size_t k_max_unread = 100;
constexpr int k_features = 1;           // of an Example; of a SequenceExample, its context
constexpr int k_feature_lists = 2;      // of a SequenceExample
constexpr int k_shown_name_bytes = 64;  // of a longer name

constexpr std::uint32_t tag_of(int field, WireFormatLite::WireType type) {
  return static_cast<std::uint32_t>(field) << WireFormatLite::kTagTypeBits | static_cast<std::uint32_t>(type);
}
constexpr std::uint32_t delimited(int field) { return tag_of(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED); }

/// A range of the file as a protobuf stream. Exceptions must not propagate through the library, so they are kept.
class FileInput final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  FileInput(FileWindow& window, const FileRange& range)
      : window_(window), begin_(range.offset), at_(range.offset), end_(range.offset + range.length) {}

  bool Next(const void** data, int* size) override {
    if (at_ == end_) return false;
    try {
      Bytes bytes = window_.from(at_);
      if (bytes.size() > end_ - at_) bytes = bytes.first(static_cast<std::size_t>(end_ - at_));
      if (bytes.empty()) return false;
      *data = bytes.data();
      *size = static_cast<int>(bytes.size());
      at_ += bytes.size();
      return true;
    } catch (...) {
      failure_ = std::current_exception();
      return false;
    }
  }
  void BackUp(int count) override { at_ -= static_cast<std::uint64_t>(count); }
  bool Skip(int count) override {
    const std::uint64_t step = std::min(static_cast<std::uint64_t>(count), end_ - at_);
    at_ += step;
    return step == static_cast<std::uint64_t>(count);
  }
  std::int64_t ByteCount() const override { return static_cast<std::int64_t>(at_ - begin_); }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  FileWindow& window_;
  std::uint64_t begin_;
  std::uint64_t at_;
  std::uint64_t end_;
  std::exception_ptr failure_{};
};

/// Protobuf messages in a range of the file, of less than 2 GiB.
class Wire {
 public:
  Wire(FileWindow& window, const FileRange& range) : input_(window, range), coded_(&input_), begin_(range.offset) {}

  CodedInputStream& coded() { return coded_; }
  std::uint64_t position() const { return begin_ + static_cast<std::uint64_t>(coded_.CurrentPosition()); }
  void rethrow() const { input_.rethrow(); }

  /// Calls `field` with every tag of the current message. It must read the field's content, or return false to stop.
  template <typename Field>
  bool fields(Field field) {
    while (const std::uint32_t tag = coded_.ReadTag()) {
      if (!field(tag)) return false;
    }
    return coded_.ConsumedEntireMessage();
  }
  /// Reads a length and calls `body`, which must read exactly that many bytes.
  template <typename Body>
  bool measured(Body body) {
    int length = 0;
    if (!coded_.ReadVarintSizeAsInt(&length)) return false;
    if (const int left = coded_.BytesUntilLimit(); left >= 0 && length > left) return false;
    const CodedInputStream::Limit outer = coded_.PushLimit(length);
    if (!body(length) || coded_.BytesUntilLimit() != 0) return false;
    coded_.PopLimit(outer);
    return true;
  }
  template <typename Field>
  bool message(Field field) {
    return measured([&](int) { return fields(field); });
  }
  bool skip(std::uint32_t tag) { return WireFormatLite::SkipField(&coded_, tag); }

 private:
  FileInput input_;
  CodedInputStream coded_;
  std::uint64_t begin_;
};

/// Reads one of the three lists and passes its values to `values` one by one.
template <typename Values>
bool read_list(Wire& wire, ValueKind kind, Values& values) {
  CodedInputStream& coded = wire.coded();
  const auto integer = [&] {
    std::uint64_t value = 0;
    if (!coded.ReadVarint64(&value)) return false;
    values.integer(static_cast<std::int64_t>(value));
    return true;
  };
  const auto real = [&] {
    std::uint32_t bits = 0;
    if (!coded.ReadLittleEndian32(&bits)) return false;
    values.real(WireFormatLite::DecodeFloat(bits));
    return true;
  };
  const auto number = [&] { return kind == ValueKind::integers ? integer() : real(); };
  const std::uint32_t single =
      tag_of(1, kind == ValueKind::integers ? WireFormatLite::WIRETYPE_VARINT : WireFormatLite::WIRETYPE_FIXED32);
  return wire.message([&](std::uint32_t tag) {
    if (kind == ValueKind::bytes && tag == delimited(1)) {
      return wire.measured([&](int length) { return values.bytes(wire, static_cast<std::uint32_t>(length)); });
    }
    if (kind != ValueKind::bytes && tag == single) return number();
    if (kind != ValueKind::bytes && tag == delimited(1)) {
      return wire.measured([&](int) {
        while (coded.BytesUntilLimit() > 0) {
          if (!number()) return false;
        }
        return true;
      });
    }
    return wire.skip(tag);
  });
}

/// Reads a Feature, including the length before it. Of lists of several kinds the last kind counts, as in protobuf.
template <typename Values>
bool read_feature(Wire& wire, Values& values) {
  return wire.message([&](std::uint32_t tag) {
    for (const ValueKind kind : {ValueKind::bytes, ValueKind::floats, ValueKind::integers}) {
      if (tag != delimited(static_cast<int>(kind))) continue;
      values.open(kind);
      return read_list(wire, kind, values);
    }
    return wire.skip(tag);
  });
}

/// Stores the kind, the number of values and the first value in a Feature.
struct Summary {
  Feature& feature;

  void open(ValueKind kind) {
    if (feature.kind == kind) return;
    feature.kind = kind;
    feature.num_values = 0;
  }
  void integer(std::int64_t value) {
    if (feature.num_values++ == 0) feature.integer = value;
  }
  void real(float) { ++feature.num_values; }
  bool bytes(Wire& wire, std::uint32_t length) {
    CodedInputStream& coded = wire.coded();
    if (feature.num_values++ != 0) return coded.Skip(static_cast<int>(length));
    feature.value = {wire.position(), length};
    const bool whole = length <= Feature::k_whole_bytes;
    const int read = static_cast<int>(whole ? length : Feature::k_head_bytes);
    return coded.ReadString(&feature.text, read) && coded.Skip(static_cast<int>(length) - read);
  }
};

/// Writes values as a JSON array.
struct Text {
  std::string json{};
  ValueKind kind = ValueKind::none;

  void open(ValueKind new_kind) {
    if (kind != new_kind) json.clear();
    kind = new_kind;
  }
  void separate() { json += json.empty() ? "" : ", "; }
  void integer(std::int64_t value) {
    separate();
    json += fmt::format_int(value).str();
  }
  void real(float value) {
    separate();
    if (std::isfinite(value)) {
      json += fmt::format("{}", value);
    } else {
      json += std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
    }
  }
  bool bytes(Wire& wire, std::uint32_t length) {
    std::string raw;
    if (!wire.coded().ReadString(&raw, static_cast<int>(length))) return false;
    separate();
    json += bytes_to_json(raw).dump();
    return true;
  }
};

/// Reads a name of up to `k_max_name_bytes`, or the beginning of a longer name.
bool read_name(Wire& wire, std::string& name, bool& is_whole) {
  return wire.measured([&](int length) {
    is_whole = length <= static_cast<int>(k_max_name_bytes);
    const int read = is_whole ? length : k_shown_name_bytes;
    return wire.coded().ReadString(&name, read) && wire.coded().Skip(length - read);
  });
}

bool read_entry(Wire& wire, Feature& feature, bool& has_whole_name) {
  feature = {.name = std::move(feature.name)};
  feature.name.clear();
  has_whole_name = true;
  return wire.message([&](std::uint32_t tag) {
    if (tag == delimited(1)) return read_name(wire, feature.name, has_whole_name);
    if (tag == delimited(2)) {
      feature.message = wire.position();
      Summary summary{feature};
      return read_feature(wire, summary);
    }
    return wire.skip(tag);
  });
}

/// Reads only the name of one entry in the map of feature lists.
bool read_list_name(Wire& wire, std::string& name) {
  bool is_whole = true;
  return wire.message(
      [&](std::uint32_t tag) { return tag == delimited(1) ? read_name(wire, name, is_whole) : wire.skip(tag); });
}

}  // namespace

bool read_content(FileWindow& window, const Record& record, RecordContent& content) {
  if (record.length > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return false;
  Wire wire(window, {record.data(), record.length});
  std::vector<Feature>& features = content.features;
  std::size_t count = 0;
  content.lists.clear();
  content.left_out.clear();
  const auto feature = [&](std::uint32_t tag) {
    if (tag != delimited(1)) return wire.skip(tag);
    if (count == k_max_features) return false;
    if (count == features.size()) features.emplace_back();
    bool has_whole_name = true;
    if (!read_entry(wire, features[count++], has_whole_name)) return false;
    if (has_whole_name) return true;
    if (content.left_out.size() < k_max_unread) content.left_out.push_back(features[count - 1].name);
    --count;
    return true;
  };
  const auto list = [&](std::uint32_t tag) {
    if (tag != delimited(1)) return wire.skip(tag);
    if (content.lists.size() == k_max_features) return false;
    return read_list_name(wire, content.lists.emplace_back());
  };
  const bool good = wire.fields([&](std::uint32_t tag) {
    if (tag == delimited(k_features)) return wire.message(feature);
    if (tag == delimited(k_feature_lists)) return wire.message(list);
    return wire.skip(tag);
  });
  features.resize(count);
  wire.rethrow();
  return good;
}

std::string feature_text(FileWindow& window, std::uint64_t message) {
  Text text;
  const std::uint64_t left = window.file_bytes() - std::min(message, window.file_bytes());
  Wire wire(window, {message, std::min<std::uint64_t>(left, std::numeric_limits<int>::max())});
  const bool good = read_feature(wire, text);
  wire.rethrow();
  if (!good) {
    throw Error(ErrorCode::damaged, "not the values of a feature", {.path = window.file().path(), .offset = message});
  }
  return "[" + text.json + "]";
}

std::string image_format(std::string_view field) {
  std::string format(field == "jpg" ? "jpeg" : field);
  std::transform(format.begin(), format.end(), format.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return format;
}

std::string field_of_feature(std::string_view feature) {
  std::string name = field_name(feature);
  std::replace(name.begin(), name.end(), '/', '_');
  return name.empty() ? "bin" : name;
}

}  // namespace bale::tfrecord
