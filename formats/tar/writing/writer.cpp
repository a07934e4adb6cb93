#include "bale/formats/tar/writing/writer.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/writing/gather.hpp"
#include "bale/formats/container/writing/written_fields.hpp"
#include "bale/formats/shard/sample/key.hpp"
#include "bale/formats/tar/header/header.hpp"

namespace bale::tar {
namespace {

class Writer : public ShardWriter {
 public:
  Writer(std::string path, std::unique_ptr<Sink> sink)
      : path_(std::move(path)), sink_(std::move(sink)), gather_(sink_->joined_bytes()) {}

  void add(const SampleView& sample) override {
    order_fields(sample);
    gather_.clear();
    for (const FieldView* field : ordered_) {
      const std::size_t bytes = field->bytes.size();
      name_.assign(sample.key).append(".").append(field->name);
      gather_.add_by([&](std::vector<std::byte>& out) { append_member_header(name_, bytes, out); });
      extents_.add(field->name, stream_bytes_ + gather_.size(), bytes);
      gather_.add(field->bytes);
      gather_.add_zeros(static_cast<std::size_t>(padded(bytes)) - bytes);
    }
    sink_->write(gather_.parts());
    stream_bytes_ += gather_.size();
    extents_.end_sample();
    last_key_ = sample.key;
  }

  void finish(IndexBuilder& index) override {
    const std::uint64_t end = stream_bytes_ + 2 * k_block_bytes;
    const std::uint64_t whole = (end + k_record_bytes - 1) / k_record_bytes * k_record_bytes;
    const std::vector<std::byte> zeros(static_cast<std::size_t>(whole - stream_bytes_));
    const Bytes parts[] = {zeros};
    sink_->write(parts);
    sink_->finish();
    extents_.set_on(index, path_);
  }

 private:
  /// Puts the fields into ordered_, sorted by name as WebDataset's writer does. Throws if a reader would not return the
  /// sample unchanged; nothing has been written then.
  void order_fields(const SampleView& sample) {
    const auto refuse = [&](std::string_view why, std::string_view hint = {}) {
      throw Error(ErrorCode::invalid_argument, why,
                  {.path = path_, .key = std::string(sample.key), .hint = std::string(hint)});
    };
    check_fields(sample, k_field_rule, path_);
    if (extents_.num_samples() != 0 && sample.key == last_key_) refuse("the sample before has the same key");
    ordered_.clear();
    for (const FieldView& field : sample.fields) {
      name_.assign(sample.key).append(".").append(field.name);
      const auto parts = split_member_name(name_);
      if (!parts || parts->key != sample.key || parts->extension != field.name || is_reserved_member(name_)) {
        refuse(fmt::format("\"{}\" would not be read back as this sample's field \"{}\"", printable(name_),
                           printable(field.name)),
               "a key's last part must have no dot and not be empty; or choose another format");
      }
      if (field_name(field.name) != field.name && sample.find("jpg") == nullptr) {
        refuse(fmt::format("the field \"{}\" would be read back as \"jpg\"", field.name), "call it jpg");
      }
      if (name_.find('\0') != std::string::npos) refuse("NUL in a name", "choose another format");
      if (name_.size() > k_max_name_bytes) refuse(fmt::format("a name of {} bytes", name_.size()));
      ordered_.push_back(&field);
    }
    std::sort(ordered_.begin(), ordered_.end(),
              [](const FieldView* a, const FieldView* b) { return a->name < b->name; });
  }

  static constexpr std::size_t k_max_name_bytes = 65536;

  std::string path_;
  std::unique_ptr<Sink> sink_;
  std::uint64_t stream_bytes_ = 0;
  WrittenExtents extents_;
  std::string last_key_;

  // Of the sample being added. Members, to reuse their memory.
  std::vector<const FieldView*> ordered_;
  std::string name_;
  Gather gather_;
};

int level_option(const WriterOptions& options, int fallback, int highest) {
  check_format_options(options, {"level"});
  return static_cast<int>(number_option(options, "level", fallback, 1, highest));
}

}  // namespace

std::unique_ptr<ShardWriter> create(const WriterOptions& options) {
  constexpr int k_zlib_default = 6;
  constexpr int k_zstd_default = 3;
  std::unique_ptr<Sink> sink;
  if (options.layout == k_plain_layout) {
    check_format_options(options, {});
    sink = make_plain_sink(options.path);
  } else if (options.layout == k_gzip_layout) {
    const int level = level_option(options, k_zlib_default, 9);
    sink = make_gzip_sink(File::create(options.path), level);
  } else if (options.layout == k_zstd_layout) {
    const int level = level_option(options, k_zstd_default, 19);
    sink = make_zstd_sink(File::create(options.path), level);
  } else {
    throw Error(ErrorCode::invalid_argument, fmt::format("no layout \"{}\"", printable(options.layout)));
  }
  return std::make_unique<Writer>(options.path, std::move(sink));
}

namespace {

class PlainSink : public Sink {
 public:
  explicit PlainSink(const std::string& path) : file_(path) {}

  void write(std::span<const Bytes> parts) override { file_.append(parts); }
  void finish() override { file_.close(); }

 private:
  AppendFile file_;
};

}  // namespace

std::unique_ptr<Sink> make_plain_sink(const std::string& path) { return std::make_unique<PlainSink>(path); }

}  // namespace bale::tar
