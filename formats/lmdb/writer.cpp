// Writes a shard through liblmdb: sorted appends, committed in small batches (FORMAT.md, "Writing").
#include <fcntl.h>
#include <fmt/format.h>
#include <lmdb.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/files/writeback.hpp"
#include "bale/formats/base/math/rounding.hpp"
#include "bale/formats/container/writing/written_fields.hpp"
#include "bale/formats/lmdb/btree_walk.hpp"
#include "bale/formats/lmdb/lmdb.hpp"
#include "bale/formats/shard/sample/key.hpp"

namespace bale::lmdb {
namespace {

// The pages of a batch stay in memory until its commit writes them. A batch is small enough for the cache, and far
// below the 131,072 entries that a transaction can hold.
constexpr std::uint64_t k_batch_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t k_batch_entries = 16 * 1024;
constexpr std::uint64_t k_reserve_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t k_map_step = std::uint64_t{1} << 20;
constexpr std::uint64_t k_spare_pages = 64;  // right edge of the tree and the free list, copied by each commit
// liblmdb writes a value with one call, and Linux writes at most this much per call. A short write fails the commit.
constexpr std::uint64_t k_max_write_bytes = 0x7FFFF000;

/// Upper bound of the space that a set of entries takes in the file.
class Demand {
 public:
  /// Adds one entry, by liblmdb's rule for which values are stored outside their leaf (FORMAT.md, "File").
  void add(std::uint64_t key_bytes, std::uint64_t value_bytes, std::uint64_t page_bytes) {
    const bool is_big = 8 + key_bytes + value_bytes > (page_bytes - k_page_header_bytes) / 2 - 2;
    if (is_big) own_pages_ += (value_bytes + k_page_header_bytes + page_bytes - 1) / page_bytes;
    leaf_bytes_ += 12 + key_bytes + (is_big ? 8 : value_bytes);
  }
  /// Adds entries of which only the sums are known. A value above a quarter of a page may be stored outside its leaf.
  void add_many(std::uint64_t entries, std::uint64_t key_bytes, std::uint64_t value_bytes, std::uint64_t page_bytes) {
    own_pages_ += value_bytes / page_bytes + 2 * std::min(entries, value_bytes / (page_bytes / 4));
    leaf_bytes_ += 20 * entries + key_bytes + std::min(value_bytes, entries * (page_bytes / 2));
  }
  void add(const Demand& other) {
    own_pages_ += other.own_pages_;
    leaf_bytes_ += other.leaf_bytes_;
  }
  /// Two adjacent leaves together hold more than one page, so there are at most 2 pages of leaves per page of content.
  /// A third page covers the branches. The spare pages cover what each commit copies.
  std::uint64_t pages(std::uint64_t page_bytes) const {
    return own_pages_ + 3 * leaf_bytes_ / page_bytes + k_spare_pages;
  }

 private:
  std::uint64_t own_pages_ = 0;
  std::uint64_t leaf_bytes_ = 0;
};

/// The field that other readers find under the bare number.
std::string primary_of(const ShardPlan& plan) {
  for (const ShardPlan::Field& field : plan.fields) {
    if (is_image_field(field.name) && is_plain_field_name(field.name)) return field.name;
  }
  if (!plan.fields.empty() && is_plain_field_name(plan.fields.front().name)) return plan.fields.front().name;
  return "jpg";
}

class Writer final : public ShardWriter {
 public:
  explicit Writer(const WriterOptions& options) : path_(options.path), primary_(primary_of(options.plan)) {
    File::create(path_).close();  // an unfinished file of an earlier run must not be continued
    check(mdb_env_create(&env_), "create");
    try {
      open_environment(options.plan);
    } catch (...) {
      mdb_env_close(env_);
      throw;
    }
  }
  ~Writer() override { close(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void add(const SampleView& sample) override;
  void finish(IndexBuilder& index) override;

 private:
  struct Entry {
    std::string key;
    Bytes value;
  };

  void open_environment(const ShardPlan& plan);
  void check_sample(const SampleView& sample) const;
  std::size_t primary_field(const SampleView& sample) const;
  void put(const std::vector<Entry>& entries);
  void begin();
  void commit();
  void reserve_blocks();
  void set_extents(const BTree& tree, IndexBuilder& index) const;
  void close();
  void check(int result, std::string_view action) const;

  std::string path_;
  std::string primary_;
  MDB_env* env_ = nullptr;
  MDB_txn* transaction_ = nullptr;
  MDB_dbi database_ = 0;
  std::uint64_t page_bytes_ = 0;
  std::uint64_t map_pages_ = 0;
  std::uint64_t committed_pages_ = 2;
  Demand batch_;
  std::uint64_t batch_bytes_ = 0;
  std::uint64_t batch_entries_ = 0;
  std::uint64_t reserved_bytes_ = 0;
  bool can_reserve_ = true;
  bool broken_ = false;
  std::uint64_t num_samples_ = 0;
  std::uint64_t num_entries_ = 0;
  std::vector<std::pair<std::uint64_t, std::string>> other_primaries_;
  std::vector<Entry> entries_;  // of the current sample
};

void Writer::check(int result, std::string_view action) const {
  if (result == MDB_SUCCESS) return;
  if (result > 0) {
    errno = result;
    throw_mapping_errno(action, path_);
  }
  throw Error(ErrorCode::io, fmt::format("cannot {}: {}", action, mdb_strerror(result)), {.path = path_});
}

void Writer::open_environment(const ShardPlan& plan) {
  // No lock file and no fsync: no other process uses this file before the caller has made it durable.
  check(mdb_env_open(env_, path_.c_str(), MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOLOCK | MDB_NOTLS, 0666), "create");
  MDB_stat stat{};
  check(mdb_env_stat(env_, &stat), "create");
  page_bytes_ = stat.ms_psize;

  Demand demand;
  demand.add_many(plan.num_samples, plan.num_samples * 16 + plan.key_bytes, plan.key_bytes, page_bytes_);
  for (const ShardPlan::Field& field : plan.fields) {
    demand.add_many(field.num_samples, field.num_samples * (field.name.size() + k_digits + 1), field.bytes,
                    page_bytes_);
  }
  const std::uint64_t map_bytes = round_up((2 * k_spare_pages + demand.pages(page_bytes_)) * page_bytes_, k_map_step);
  check(mdb_env_set_mapsize(env_, map_bytes), "set the map size of");
  map_pages_ = map_bytes / page_bytes_;
  begin();
  check(mdb_dbi_open(transaction_, nullptr, 0, &database_), "open");
}

void Writer::check_sample(const SampleView& sample) const {
  const auto refuse = [&](std::string why) {
    throw Error(ErrorCode::invalid_argument, why, {.path = path_, .key = std::string(sample.key)});
  };
  if (num_samples_ >= k_max_samples) refuse("more than 100000000 samples in a shard");
  check_fields(sample, k_field_rule, path_);
  if (sample.key.size() > k_max_key_bytes) refuse("key is longer than 64 KiB");
  for (const FieldView& field : sample.fields) {
    if (round_up(k_page_header_bytes + field.bytes.size(), page_bytes_) > k_max_write_bytes) {
      refuse(fmt::format("field \"{}\" has {} bytes, more than LMDB writes in one value (2 GiB)", printable(field.name),
                         field.bytes.size()));
    }
  }
}

std::size_t Writer::primary_field(const SampleView& sample) const {
  std::optional<std::size_t> image;
  for (std::size_t i = 0; i < sample.fields.size(); ++i) {
    if (sample.fields[i].name == primary_) return i;
    if (!image && is_image_field(sample.fields[i].name)) image = i;
  }
  return image.value_or(0);
}

void Writer::add(const SampleView& sample) {
  check_sample(sample);
  const std::string number = number_key(num_samples_);
  const std::size_t primary = primary_field(sample);
  const std::string_view primary_name = sample.fields[primary].name;
  entries_.clear();
  const auto key_of = [&](std::string_view name) { return std::string(number).append(".").append(name); };
  entries_.push_back({key_of(k_sample_key_suffix), as_bytes(sample.key)});
  if (primary_name != primary_) {
    entries_.push_back({key_of(k_primary_suffix), as_bytes(primary_name)});
    other_primaries_.emplace_back(num_samples_, primary_name);
  }
  for (std::size_t i = 0; i < sample.fields.size(); ++i) {
    const FieldView& field = sample.fields[i];
    entries_.push_back({i == primary ? number : key_of(field.name), field.bytes});
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
  put(entries_);
  ++num_samples_;
}

void Writer::put(const std::vector<Entry>& entries) {
  if (broken_) throw Error(ErrorCode::io, "an earlier write failed", {.path = path_});
  Demand demand;
  std::uint64_t bytes = 0;
  for (const Entry& entry : entries) {
    demand.add(entry.key.size(), entry.value.size(), page_bytes_);
    bytes += entry.value.size();
  }
  Demand with_batch = batch_;
  with_batch.add(demand);
  const bool map_full = committed_pages_ + with_batch.pages(page_bytes_) > map_pages_;
  if (map_full || batch_bytes_ >= k_batch_bytes || batch_entries_ >= k_batch_entries) commit();
  // The map can grow only outside a transaction. A put into a full map would lose the whole batch.
  const std::uint64_t needed = committed_pages_ + demand.pages(page_bytes_);
  if (transaction_ == nullptr && needed > map_pages_) {
    const std::uint64_t map_bytes = round_up(std::max(2 * map_pages_, needed) * page_bytes_, k_map_step);
    check(mdb_env_set_mapsize(env_, map_bytes), "set the map size of");
    map_pages_ = map_bytes / page_bytes_;
  }
  if (transaction_ == nullptr) begin();
  for (const Entry& entry : entries) {
    MDB_val key{.mv_size = entry.key.size(), .mv_data = const_cast<char*>(entry.key.data())};
    MDB_val value{.mv_size = entry.value.size(), .mv_data = const_cast<std::byte*>(entry.value.data())};
    broken_ = true;
    check(mdb_put(transaction_, database_, &key, &value, MDB_APPEND), "append to");
    broken_ = false;
  }
  batch_.add(demand);
  batch_bytes_ += bytes;
  batch_entries_ += entries.size();
  num_entries_ += entries.size();
}

void Writer::begin() { check(mdb_txn_begin(env_, nullptr, 0, &transaction_), "write to"); }

void Writer::commit() {
  if (transaction_ == nullptr) return;
  broken_ = true;
  reserve_blocks();
  MDB_txn* const transaction = transaction_;
  transaction_ = nullptr;  // freed by the commit, even if it fails
  check(mdb_txn_commit(transaction), "write to");
  broken_ = false;

  MDB_envinfo info{};
  check(mdb_env_info(env_, &info), "look at");
  const std::uint64_t begin_bytes = committed_pages_ * page_bytes_;
  committed_pages_ = info.me_last_pgno + 1;
  batch_ = {};
  batch_bytes_ = batch_entries_ = 0;
  // Starts writing these pages to disk now, so that the caller's fsync has little left to wait for.
  mdb_filehandle_t fd = -1;
  check(mdb_env_get_fd(env_, &fd), "look at");
  start_writeback(fd, begin_bytes, committed_pages_ * page_bytes_ - begin_bytes);
}

/// Allocates the blocks of the batch before liblmdb writes it. This reports a full disk as such; liblmdb reports a
/// short write as an I/O error.
void Writer::reserve_blocks() {
  const std::uint64_t needed = (committed_pages_ + batch_.pages(page_bytes_)) * page_bytes_;
  if (!can_reserve_ || needed <= reserved_bytes_) return;
  mdb_filehandle_t fd = -1;
  check(mdb_env_get_fd(env_, &fd), "look at");
  const auto reserve = [&](std::uint64_t end) {
    int result = 0;
    do {
      result = ::fallocate(fd, 0, static_cast<off_t>(reserved_bytes_), static_cast<off_t>(end - reserved_bytes_));
    } while (result != 0 && errno == EINTR);
    if (result == 0) reserved_bytes_ = end;
    return result == 0;
  };
  // Steps end at multiples of k_reserve_bytes: large reads are split at the boundaries between extents on disk.
  const std::uint64_t wide = round_up(needed + k_reserve_bytes, k_reserve_bytes);
  if (wide <= map_pages_ * page_bytes_ && reserve(wide)) return;
  if (reserve(needed)) return;
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) throw_errno("write to", path_);
  can_reserve_ = false;  // a file system without fallocate: its writes report a full disk
}

void Writer::close() {
  if (transaction_ != nullptr) mdb_txn_abort(transaction_);
  if (env_ != nullptr) mdb_env_close(env_);
  transaction_ = nullptr;
  env_ = nullptr;
}

void Writer::finish(IndexBuilder& index) {
  const std::string header = header_text(primary_);
  const std::string length = fmt::format("{}", num_samples_);
  put({{std::string(k_header_key), as_bytes(header)}, {std::string(k_length_key), as_bytes(length)}});
  commit();
  close();
  File file = File::open_update(path_);
  file.truncate(committed_pages_ * page_bytes_);  // frees what was reserved but not used
  file.close();
  const BTree tree(path_);
  if (tree.num_entries() != num_entries_) throw Error(ErrorCode::io, "entries were lost", {.path = path_});
  set_extents(tree, index);
}

void Writer::set_extents(const BTree& tree, IndexBuilder& index) const {
  auto other = other_primaries_.begin();
  tree.walk(Heads::read, [&](const TreeEntry& entry) {
    if (entry.key == k_header_key || entry.key == k_length_key) return;
    std::uint64_t sample = 0;
    for (const char digit : entry.key.substr(0, k_digits))
      sample = sample * 10 + static_cast<std::uint64_t>(digit - '0');
    std::string_view name = primary_;
    if (entry.key.size() > k_digits) {
      name = entry.key.substr(k_digits + 1);
      if (name == k_sample_key_suffix || name == k_primary_suffix) return;
    } else if (other != other_primaries_.end() && other->first == sample) {
      name = (other++)->second;
    }
    const auto field = index.stored_field_id(name);
    if (!field) {
      throw Error(ErrorCode::invalid_argument, fmt::format("field {} was not declared", printable(name)),
                  {.path = path_});
    }
    index.set_extent(sample, *field, entry.offset, entry.length);
  });
}

}  // namespace

std::unique_ptr<ShardWriter> create_writer(const WriterOptions& options) {
  check_format_options(options, {});
  return std::make_unique<Writer>(options);
}

}  // namespace bale::lmdb
