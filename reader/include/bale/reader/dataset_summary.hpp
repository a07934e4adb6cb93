// DatasetSummary: what a packed dataset contains, from its manifest and indexes. This is `bale inspect`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bale/formats/base/notice_log.hpp"
#include "bale/reader/image_conditions.hpp"

namespace bale {

struct DatasetSummary {
  struct Field {
    std::string name;
    std::string codec;
    std::uint64_t num_samples = 0;
    std::uint64_t stored_bytes = 0;
  };
  struct ShardRow {
    std::string path;
    std::uint64_t num_samples = 0;
    std::uint64_t bytes = 0;
    bool indexed = false;  // has an index file
    bool has_checksums = false;
    bool has_seek_points = false;
    std::string digest;  // empty: unknown
  };

  std::string spec;
  std::string version;  // Dataset::version()
  bool has_manifest = false;
  std::string name;                          // with a manifest
  std::string created_by;                    // with a manifest
  std::map<std::string, std::string> edits;  // Dataset::edits()
  std::string plan;                          // with a manifest
  std::uint64_t num_skipped = 0;
  std::uint64_t num_removed = 0;            // samples that the shards have, and layers remove
  std::uint64_t num_labels = 0;             // that layers correct
  std::vector<std::string> layer_fields{};  // of which layers have values
  std::string format;                       // of the first shard
  std::string layout;                       // empty: unknown
  std::uint64_t num_samples = 0;
  std::uint64_t num_bytes = 0;  // of shard files
  ImageConditions images;       // counts only, no names
  std::vector<Field> fields;
  std::vector<std::string> classes;
  std::vector<ShardRow> shards;
  NoticeLog notices;  // Dataset::notices()
};

/// Summarizes the dataset `spec`. Opens every shard, reads no samples. Throws what Dataset::open() throws.
DatasetSummary summarize_dataset(const std::string& spec);

}  // namespace bale
