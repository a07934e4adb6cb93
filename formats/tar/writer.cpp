#include "bale/formats/tar/writer.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/key.hpp"
#include "bale/formats/tar/header.hpp"
#include "bale/formats/tar/sink.hpp"

namespace bale::tar {
namespace {

/// Payloads up to this size are copied next to their headers; larger ones are handed to the kernel from
/// where they are.
constexpr std::size_t k_copied_bytes = 4096;

class Writer : public ShardWriter {
 public:
  Writer(std::string path, std::unique_ptr<Sink> sink) : path_(std::move(path)), sink_(std::move(sink)) {}

  void add(const SampleView& sample) override {
    order_fields(sample);
    scratch_.clear();
    parts_.clear();
    std::uint64_t at = stream_bytes_;
    for (const FieldView* field : ordered_) {
      const std::size_t header_begin = scratch_.size();
      name_.assign(sample.key).append(".").append(field->name);
      append_member_header(name_, field->bytes.size(), scratch_);
      at += scratch_.size() - header_begin;
      rows_.push_back({at, static_cast<std::uint32_t>(field->bytes.size()), column_of(field->name)});
      append_payload(field->bytes);
      at += padded(field->bytes.size());
    }
    flush_parts();
    stream_bytes_ = at;
    sample_ends_.push_back(rows_.size());
    last_key_ = sample.key;
  }

  void finish(IndexBuilder& index) override {
    const std::uint64_t end = stream_bytes_ + 2 * k_block_bytes;
    const std::uint64_t whole = (end + k_record_bytes - 1) / k_record_bytes * k_record_bytes;
    const std::vector<std::byte> zeros(static_cast<std::size_t>(whole - stream_bytes_));
    const Bytes parts[] = {zeros};
    sink_->write(parts);
    sink_->finish();

    std::vector<std::uint32_t> ids;
    for (const std::string& column : columns_) {
      const auto id = index.stored_field_id(column);
      if (!id) {
        throw Error(ErrorCode::invalid_argument, fmt::format("the index has no field \"{}\"", printable(column)),
                    {.path = path_});
      }
      ids.push_back(*id);
    }
    std::size_t row = 0;
    for (std::uint64_t sample = 0; sample < sample_ends_.size(); ++sample) {
      for (; row < sample_ends_[sample]; ++row) {
        index.set_extent(sample, ids[rows_[row].column], rows_[row].offset, rows_[row].length);
      }
    }
  }

 private:
  struct Row {
    std::uint64_t offset;
    std::uint32_t length;
    std::uint32_t column;
  };
  /// A stretch of a sample: either borrowed payload or a range of scratch_.
  struct Part {
    Bytes borrowed;
    std::size_t begin;
    std::size_t end;
  };

  /// Puts the fields into ordered_, by name as WebDataset's writer does, and refuses what a reader would
  /// not give back as it is. Nothing has been written when it throws.
  void order_fields(const SampleView& sample) {
    const auto refuse = [&](std::string_view why, std::string_view hint = {}) {
      throw Error(ErrorCode::invalid_argument, why,
                  {.path = path_, .key = std::string(sample.key), .hint = std::string(hint)});
    };
    if (sample.fields.empty()) refuse("sample without fields");
    if (!sample_ends_.empty() && sample.key == last_key_) refuse("the sample before has the same key");
    ordered_.clear();
    for (const FieldView& field : sample.fields) {
      name_.assign(sample.key).append(".").append(field.name);
      const auto parts = split_member_name(name_);
      if (!parts || parts->key != sample.key || parts->extension != field.name || is_reserved_member(name_)) {
        refuse(fmt::format("\"{}\" would not be read back as this sample's field \"{}\"", printable(name_),
                           printable(field.name)),
               "a key's last part must have no dot and not be empty");
      }
      if (field_name(field.name) != field.name) {
        refuse(fmt::format("\"{}\" is not a field name", printable(field.name)), "use lower case, and jpg for jpeg");
      }
      if (name_.find('\0') != std::string::npos) refuse("NUL in a name");
      if (name_.size() > k_max_name_bytes) refuse(fmt::format("a name of {} bytes", name_.size()));
      if (field.bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
        refuse(fmt::format("field \"{}\" has {} bytes, 4 GiB or more", printable(field.name), field.bytes.size()));
      }
      ordered_.push_back(&field);
    }
    std::sort(ordered_.begin(), ordered_.end(),
              [](const FieldView* a, const FieldView* b) { return a->name < b->name; });
    const auto same = std::adjacent_find(ordered_.begin(), ordered_.end(),
                                         [](const FieldView* a, const FieldView* b) { return a->name == b->name; });
    if (same != ordered_.end()) refuse(fmt::format("repeated field \"{}\"", printable((*same)->name)));
  }

  std::uint32_t column_of(std::string_view field) {
    const auto found = std::find(columns_.begin(), columns_.end(), field);
    if (found == columns_.end()) {
      columns_.emplace_back(field);
      return static_cast<std::uint32_t>(columns_.size() - 1);
    }
    return static_cast<std::uint32_t>(found - columns_.begin());
  }

  void append_payload(Bytes payload) {
    const std::size_t padding = static_cast<std::size_t>(padded(payload.size())) - payload.size();
    if (payload.size() <= k_copied_bytes) {
      scratch_.insert(scratch_.end(), payload.begin(), payload.end());
    } else {
      end_scratch_part();
      parts_.push_back({payload, 0, 0});
    }
    scratch_.resize(scratch_.size() + padding);
  }

  /// Closes the range of scratch_ that no part covers yet.
  void end_scratch_part() {
    if (scratch_part_ < scratch_.size()) parts_.push_back({{}, scratch_part_, scratch_.size()});
    scratch_part_ = scratch_.size();
  }

  void flush_parts() {
    end_scratch_part();
    scratch_part_ = 0;
    spans_.clear();
    for (const Part& part : parts_) {
      spans_.push_back(part.borrowed.empty() ? Bytes(scratch_).subspan(part.begin, part.end - part.begin)
                                             : part.borrowed);
    }
    sink_->write(spans_);
  }

  static constexpr std::size_t k_max_name_bytes = 65536;

  std::string path_;
  std::unique_ptr<Sink> sink_;
  std::uint64_t stream_bytes_ = 0;
  std::vector<Row> rows_;
  std::vector<std::size_t> sample_ends_;  // rows up to and with each sample
  std::vector<std::string> columns_;      // stored field names in order of appearance
  std::string last_key_;

  // Of the sample being added, kept for their memory.
  std::vector<const FieldView*> ordered_;
  std::string name_;
  std::vector<std::byte> scratch_;
  std::size_t scratch_part_ = 0;
  std::vector<Part> parts_;
  std::vector<Bytes> spans_;
};

int level_option(const WriterOptions& options, int fallback, int highest) {
  int level = fallback;
  for (const auto& [name, value] : options.format_options) {
    if (name != "level" || highest == 0) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("layout {} has no option \"{}\"", options.layout, printable(name)),
                  {.hint = highest == 0 ? "it has none" : "it has: level"});
    }
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), level);
    if (problem != std::errc{} || end != value.data() + value.size() || level < 1 || level > highest) {
      throw Error(ErrorCode::invalid_argument, fmt::format("compression level \"{}\"", printable(value)),
                  {.hint = fmt::format("choose 1 to {}", highest)});
    }
  }
  return level;
}

}  // namespace

std::unique_ptr<ShardWriter> create(const WriterOptions& options) {
  constexpr int k_zlib_default = 6;
  constexpr int k_zstd_default = 3;
  std::unique_ptr<Sink> sink;
  if (options.layout == k_plain_layout) {
    level_option(options, 0, 0);
    sink = make_plain_sink(File::create(options.path));
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

}  // namespace bale::tar
