// liblmdb as the judge: writes files as other programs do, reads ours as they would.
#pragma once

#include <fmt/format.h>
#include <lmdb.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/format.hpp"
#include "bale/formats/shard/shard.hpp"
#include "bale/tests/support/owned_sample.hpp"
#include "bale/tests/support/temp_dir.hpp"

namespace bale::test {

inline const Format& lmdb_format() { return *find_format("lmdb").format; }

inline void lmdb_must(int result) {
  if (result != MDB_SUCCESS) throw std::runtime_error(mdb_strerror(result));
}

inline MDB_val lmdb_value(std::string_view text) {
  return {.mv_size = text.size(), .mv_data = const_cast<char*>(text.data())};
}

inline std::string lmdb_text(const MDB_val& value) { return {static_cast<const char*>(value.mv_data), value.mv_size}; }

/// An environment in one file, without locks.
class LmdbFile {
 public:
  LmdbFile(const std::string& path, unsigned flags) {
    lmdb_must(mdb_env_create(&env_));
    lmdb_must(mdb_env_set_maxdbs(env_, 4));
    if ((flags & MDB_RDONLY) == 0) lmdb_must(mdb_env_set_mapsize(env_, std::size_t{1} << 30));
    lmdb_must(mdb_env_open(env_, path.c_str(), flags | MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0644));
  }
  ~LmdbFile() { mdb_env_close(env_); }
  LmdbFile(const LmdbFile&) = delete;
  LmdbFile& operator=(const LmdbFile&) = delete;

  MDB_env* env() { return env_; }

  /// Runs `work` in a transaction of its own.
  void transact(bool read_only, const std::function<void(MDB_txn*)>& work) {
    MDB_txn* transaction = nullptr;
    lmdb_must(mdb_txn_begin(env_, nullptr, read_only ? MDB_RDONLY : 0, &transaction));
    work(transaction);
    lmdb_must(mdb_txn_commit(transaction));
  }

 private:
  MDB_env* env_ = nullptr;
};

/// A test with a path for a file.
struct InLmdbPath : InTempDir {
  std::string path = dir / "a.lmdb";
};

/// Writes key-value pairs in the order given.
inline void write_lmdb(const std::string& path, const std::vector<std::pair<std::string, std::string>>& pairs) {
  LmdbFile file(path, 0);
  file.transact(false, [&](MDB_txn* transaction) {
    MDB_dbi database = 0;
    lmdb_must(mdb_dbi_open(transaction, nullptr, 0, &database));
    for (const auto& [key_text, value_text] : pairs) {
      MDB_val key = lmdb_value(key_text);
      MDB_val value = lmdb_value(value_text);
      lmdb_must(mdb_put(transaction, database, &key, &value, 0));
    }
  });
}

/// Visits every entry as liblmdb's own cursor finds it.
inline void read_lmdb(const std::string& path, const std::function<void(const std::string&, const MDB_val&)>& visit) {
  LmdbFile file(path, MDB_RDONLY);
  file.transact(true, [&](MDB_txn* transaction) {
    MDB_dbi database = 0;
    lmdb_must(mdb_dbi_open(transaction, nullptr, 0, &database));
    MDB_cursor* cursor = nullptr;
    lmdb_must(mdb_cursor_open(transaction, database, &cursor));
    MDB_val key;
    MDB_val value;
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS) visit(lmdb_text(key), value);
    mdb_cursor_close(cursor);
  });
}

inline std::map<std::string, std::string> read_lmdb(const std::string& path) {
  std::map<std::string, std::string> pairs;
  read_lmdb(path, [&](const std::string& key, const MDB_val& value) { pairs[key] = lmdb_text(value); });
  return pairs;
}

/// Packs samples with a plan that is exact, or (as for skipped samples it can be) much too small.
inline IndexBuilder pack_lmdb(const std::string& path, const std::vector<OwnedSample>& samples,
                              bool exact_plan = true) {
  ShardPlan plan = plan_of(samples);
  if (!exact_plan) {
    plan.num_samples = plan.key_bytes = 0;
    for (ShardPlan::Field& field : plan.fields) field = {.name = field.name};
  }
  const auto writer = lmdb_format().create({.path = path, .layout = "plain", .plan = plan});
  IndexBuilder index;
  std::vector<FieldView> views;
  for (const OwnedSample& sample : samples) {
    for (const OwnedField& field : sample.fields) {
      if (!index.field_id(field.name)) index.add_field(field.name);
    }
    writer->add(sample.view(views));
    index.add_sample(sample.key, sample.label);
  }
  writer->finish(index);
  return index;
}

inline ShardIndex scan_lmdb(const std::string& path) { return scan_shard(path, lmdb_format()); }

inline std::string read_field(const std::string& path, const ShardIndex& index, std::uint64_t sample,
                              std::string_view field) {
  const auto id = index.field_id(field);
  if (!id || !index.extent(sample, *id).present()) return "(absent)";
  const Extent extent = index.extent(sample, *id);
  std::string text(extent.length, '\0');
  lmdb_format().open(path, index)->read(sample, *id, extent, {reinterpret_cast<std::byte*>(text.data()), text.size()});
  return text;
}

}  // namespace bale::test
