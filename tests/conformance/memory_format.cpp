// Shards in the memory of this process: the simplest format that can be written, whose fields are not parts of a file.
#include <limits>
#include <map>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/container/reading/scanned_fields.hpp"
#include "bale/tests/conformance/suite.hpp"

namespace bale::test {
namespace {

struct MemoryShard {
  struct Field {
    std::string stored_name;
    Extent extent;
  };
  struct Sample {
    std::string key;
    std::int64_t label = k_no_label;
    std::vector<Field> fields;
  };
  std::vector<std::byte> blob;  // the fields' bytes, sample after sample, without padding
  std::vector<Sample> samples;
};

using Store = std::map<std::string, std::shared_ptr<const MemoryShard>>;

Store& store() {
  static Store instance;
  return instance;
}

std::shared_ptr<const MemoryShard> find_shard(const std::string& path) {
  const auto found = store().find(path);
  if (found != store().end()) return found->second;
  throw Error(ErrorCode::not_found, "no such shard in memory", {.path = path});
}

class MemoryPayload final : public Payload {
 public:
  explicit MemoryPayload(const std::string& path) : path_(path), shard_(find_shard(path)) {}

  void read(std::uint64_t, std::uint32_t, const Extent& extent, MutableBytes out) const override {
    if (extent.offset > shard_->blob.size() || out.size() > shard_->blob.size() - extent.offset) {
      throw Error(ErrorCode::damaged, "blob ends too early", {.path = path_, .offset = extent.offset});
    }
    const Bytes bytes = Bytes(shard_->blob).subspan(extent.offset, out.size());
    std::copy(bytes.begin(), bytes.end(), out.begin());
  }
  std::optional<FileRange> locate(std::uint64_t, std::uint32_t, const Extent&) const override { return std::nullopt; }
  void will_need(const FileRange&) const override {}

 private:
  std::string path_;
  std::shared_ptr<const MemoryShard> shard_;
};

class MemoryWriter final : public ShardWriter {
 public:
  explicit MemoryWriter(std::string path) : path_(std::move(path)) {}

  void add(const SampleView& sample) override {
    MemoryShard::Sample row{.key = std::string(sample.key), .label = sample.label, .fields = {}};
    for (const FieldView& field : sample.fields) {
      if (field.bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
        throw Error(ErrorCode::invalid_argument, fmt::format("field {} is larger than 4 GiB", printable(field.name)),
                    {.path = path_, .key = row.key});
      }
    }
    for (const FieldView& field : sample.fields) {
      const Extent extent{.offset = shard_->blob.size(), .length = static_cast<std::uint32_t>(field.bytes.size())};
      shard_->blob.insert(shard_->blob.end(), field.bytes.begin(), field.bytes.end());
      row.fields.push_back({std::string(field.name), extent});
    }
    shard_->samples.push_back(std::move(row));
  }

  void finish(IndexBuilder& index) override {
    for (std::uint64_t i = 0; i < shard_->samples.size(); ++i) {
      for (const auto& [stored_name, extent] : shard_->samples[i].fields) {
        const auto id = index.stored_field_id(stored_name);
        if (!id) throw Error(ErrorCode::invalid_argument, "field was not declared", {.path = path_});
        index.set_extent(i, *id, extent.offset, extent.length);
        index.set_located(*id, false);
      }
    }
    store()[path_] = std::move(shard_);
  }

 private:
  std::string path_;
  std::shared_ptr<MemoryShard> shard_ = std::make_shared<MemoryShard>();
};

void scan(const std::string& path, IndexBuilder& index) {
  const auto shard = find_shard(path);
  for (const MemoryShard::Sample& sample : shard->samples) {
    const std::uint64_t i = index.add_sample(sample.key, sample.label);
    for (const auto& [stored_name, extent] : sample.fields) {
      FieldInfo field = field_of_stored_name(stored_name);
      field.located = false;
      index.set_extent(i, declare_field(index, field, path, sample.key), extent.offset, extent.length);
    }
  }
}

constexpr Layout k_layouts[] = {{.name = "plain", .suffix = ".memory", .compresses_fields = true}};

}  // namespace

const Format k_memory_format{
    .name = "memory",
    .layouts = k_layouts,
    .probe = [](const ProbeInput&) { return 0; },
    .scan = scan,
    .open = [](const std::string& path, const ShardIndex&) -> std::unique_ptr<Payload> {
      return std::make_unique<MemoryPayload>(path);
    },
    .create = [](const WriterOptions& options) -> std::unique_ptr<ShardWriter> {
      return std::make_unique<MemoryWriter>(options.path);
    },
};

}  // namespace bale::test
