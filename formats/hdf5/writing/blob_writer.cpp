// Layout "blob": each field's bytes end to end in one contiguous dataset, written without the library.
//
// The large datasets are created first, from the plan, and their bytes are written to their final offset as samples
// arrive. Data that is small or of unknown size (tables, labels, compressed fields) follows at the end. If the samples
// differ from the plan, the file is created again with the exact sizes: its bytes depend on the samples only.
#include <algorithm>
#include <map>

#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/formats/container/writing/gather.hpp"
#include "bale/formats/container/writing/written_fields.hpp"
#include "bale/formats/hdf5/scan/scan.hpp"
#include "bale/formats/hdf5/writing/writer.hpp"
#include "bale/formats/shard/field_rule.hpp"

namespace bale::h5 {
namespace {

std::string data_name(const std::string& field) { return "fields/" + field + "/data"; }

struct BlobColumn {
  explicit BlobColumn(std::string spool_path) : spool(std::move(spool_path)) {}
  bool reserved = false;       // has space in the file from the start
  std::uint64_t base = 0;      // offset of that space
  std::uint64_t room = 0;      // size of that space
  std::uint64_t in_place = 0;  // bytes written there, or waiting for that
  GatheredWrites writes{};
  std::uint64_t num_present = 0;
  Spool spool;  // the bytes after `in_place`
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint8_t> present;

  std::uint64_t total() const { return offsets.back(); }
};

/// Whether the field's dataset is created from the plan. Depends on the name, not on the size: the order of objects in
/// the file must not depend on which samples were skipped.
bool is_reserved(std::string_view stored_name) {
  return stored_name != k_label_field && field_of_stored_name(stored_name).codec == Codec::none;
}

class BlobWriter final : public ShardWriter {
 public:
  explicit BlobWriter(const WriterOptions& options) : options_(options) {
    check_format_options(options, {});
    for (const ShardPlan::Field& field : options.plan.fields) {
      if (!is_reserved(field.name) || field.num_samples == 0) continue;
      BlobColumn& column = column_of(field.name);
      column.reserved = true;
      column.room = field.bytes;
    }
    make_file(options.path);
    file_ = File::open_update(options.path);
    reserve_space(file_);
  }

  void add(const SampleView& sample) override {
    check_fields(sample, k_field_rule, options_.path);
    for (const FieldView& field : sample.fields) put(column_of(field.name), field.bytes);
    for (auto& [name, column] : columns_) {
      column.present.resize(labels_.size() + 1);
      if (column.offsets.size() == labels_.size() + 1) column.offsets.push_back(column.total());
    }
    labels_.push_back(sample.label);
    keys_ += sample.key;
    key_offsets_.push_back(keys_.size());
  }

  void finish(IndexBuilder& index) override {
    for (auto& [name, column] : columns_) column.writes.flush(file_);
    const bool as_planned = std::all_of(columns_.begin(), columns_.end(), [](const auto& entry) {
      return !entry.second.reserved || exact(entry.second);
    });
    if (!as_planned) remake();
    write_tables();
    for (auto& [name, column] : columns_) {
      if (column.num_present == 0) continue;
      if (column.spool.size() > 0) column.spool.copy_to(file_, column.base);
      const std::uint32_t field = declare_field(index, field_of_stored_name(name), options_.path);
      for (std::uint64_t i = 0; i < labels_.size(); ++i) {
        if (column.present[i] == 0) continue;
        index.set_extent(i, field, column.base + column.offsets[i],
                         static_cast<std::uint32_t>(column.offsets[i + 1] - column.offsets[i]));
      }
    }
    file_.close();
  }

 private:
  static bool exact(const BlobColumn& column) {
    return column.num_present > 0 && column.room == column.total() && column.spool.size() == 0;
  }

  BlobColumn& column_of(std::string_view name) {
    const auto found = columns_.find(name);
    if (found != columns_.end()) return found->second;
    BlobColumn& column = columns_.try_emplace(std::string(name), options_.path + ".spool").first->second;
    column.offsets.resize(labels_.size() + 1);
    return column;
  }

  void put(BlobColumn& column, Bytes bytes) {
    if (column.reserved && column.spool.size() == 0 && bytes.size() <= column.room - column.in_place) {
      column.writes.append(file_, std::span(&bytes, 1));
      column.in_place += bytes.size();
    } else {
      column.spool.append(bytes);
    }
    column.offsets.push_back(column.total() + bytes.size());
    column.present.resize(column.offsets.size() - 1);
    column.present.back() = 1;
    ++column.num_present;
  }

  /// Creates the file with the reserved datasets, `room` bytes each, and records their offsets.
  void make_file(const std::string& path) {
    const H5Lock lock;
    OutputFile out = OutputFile::create(path);
    out.make_group("fields");
    for (auto& [name, column] : columns_) {
      if (!column.reserved) continue;
      out.make_group("fields/" + name);
      const H5Handle dataset = out.make_reserved(data_name(name), {column.room});
      column.base = place_of(dataset, column.room);
      column.writes = GatheredWrites(column.base);
    }
    out.close();
  }

  std::uint64_t place_of(const H5Handle& dataset, std::uint64_t bytes) const {
    return bytes == 0 ? 0 : reserved_offset(dataset, options_.path);
  }

  /// Creates the file again with the actual sizes, as if they had been planned.
  void remake() {
    std::map<std::string, std::uint64_t, std::less<>> old_bases;
    for (auto& [name, column] : columns_) {
      old_bases[name] = column.base;
      if (column.num_present == 0) column.reserved = false;
      column.room = column.total();
    }
    file_ = write_again(options_.path, [&](const std::string& again) {
      make_file(again);
      File out = File::open_update(again);
      reserve_space(out);
      for (auto& [name, column] : columns_) {
        if (!column.reserved) continue;
        copy_range(file_, old_bases.find(name)->second, out, column.base, column.in_place);
        column.spool.copy_to(out, column.base + column.in_place);
        column.spool = Spool(options_.path + ".spool");
        column.in_place = column.total();
      }
      return out;
    });
  }

  /// Adds everything except the bytes of the reserved datasets.
  void write_tables() {
    const H5Lock lock;
    OutputFile out = OutputFile::open(options_.path);
    for (auto& [name, column] : columns_) {
      if (column.num_present == 0) continue;
      if (!column.reserved) {
        out.make_group("fields/" + name);
        const H5Handle dataset = out.make_reserved(data_name(name), {column.total()});
        column.base = place_of(dataset, column.total());
      }
      out.write_table("fields/" + name + "/offsets", H5T_STD_U64LE, H5T_NATIVE_UINT64, column.offsets.size(),
                      column.offsets.data());
      if (column.num_present != labels_.size()) {
        out.write_table("fields/" + name + "/present", H5T_STD_U8LE, H5T_NATIVE_UINT8, column.present.size(),
                        column.present.data());
      }
    }
    out.make_group("keys");
    out.write_table("keys/data", H5T_STD_U8LE, H5T_NATIVE_UINT8, keys_.size(), keys_.data());
    out.write_table("keys/offsets", H5T_STD_U64LE, H5T_NATIVE_UINT64, key_offsets_.size(), key_offsets_.data());
    write_common(out, options_, labels_);
    out.close();
  }

  WriterOptions options_;
  File file_;
  std::map<std::string, BlobColumn, std::less<>> columns_;  // by stored name, in the order of the file
  std::vector<std::int64_t> labels_;
  std::string keys_;
  std::vector<std::uint64_t> key_offsets_{0};
};

}  // namespace

std::unique_ptr<ShardWriter> make_blob_writer(const WriterOptions& options) {
  return std::make_unique<BlobWriter>(options);
}

}  // namespace bale::h5
