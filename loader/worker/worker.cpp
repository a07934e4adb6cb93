#include "bale/loader/worker/worker.hpp"

#include <new>

#include "bale/formats/core/checksum.hpp"
#include "bale/formats/core/error.hpp"
#include "bale/loader/worker/clock.hpp"

namespace bale::loader_detail {
namespace {

constexpr int k_idle_check_ms = 400;

}  // namespace

Worker::Worker(const Ring& ring, const WorkerConfig& config, std::uint32_t number, ShardOf shard_of)
    : ring_(ring),
      config_(config),
      number_(number),
      shard_of_(std::move(shard_of)),
      pipeline_(config.transform, config.max_pixels),
      learned_(ring.kept(), config.num_samples) {}

void Worker::fill(const Claim& claim, Row& row) {
  const Shard& shard = shard_of_(row.shard);
  const Bytes image = config_.field.empty() ? shard.read_image(row.sample_in_shard, scratch_)
                                            : shard.read_field(row.sample_in_shard, config_.field, scratch_);
  const MutableBytes place = ring_.pixels(claim.slot).subspan(row.offset, row.capacity);
  const DrawKey key{
      .seed = config_.seed, .epoch = ring_.slot(claim.slot).epoch, .sample = row.sample, .copy = row.copy};
  const KeptEntryPoints kept = kept_entry_points(shard, row, image);
  try {
    const AppliedTransform applied = pipeline_.run(image, key, place, kept);
    row.source_width = applied.source_width;
    row.source_height = applied.source_height;
    row.bytes = applied.bytes;
    row.draw = applied.draw;
  } catch (const Error& error) {
    // The pipeline knows bytes only; here is known whose.
    throw Error(error.code(), error.message(),
                {.path = shard.path(), .key = std::string(shard.index().key(row.sample_in_shard))});
  }
  if (kept.record.empty()) learn(row, image);
}

/// What is kept of an image that has just been read. Where its checksum was not compared then, it is made now: entry
/// points are used for no bytes but those that they were made of.
KeptEntryPoints Worker::kept_entry_points(const Shard& shard, const Row& row, Bytes image) const {
  Bytes record = shard.entry_points(row.sample_in_shard);
  if (record.empty()) record = learned_.record(row.sample);
  if (record.empty()) return {};
  const ShardIndex& index = shard.index();
  if (!config_.verify_checksums || !index.has_checksums()) return {.record = record, .image_crc32c = crc32c(image)};
  const auto field = config_.field.empty() ? index.image_field(row.sample_in_shard) : index.field_id(config_.field);
  return {.record = record, .image_crc32c = index.extent(row.sample_in_shard, *field).crc32c};
}

/// For the epochs to come.
void Worker::learn(const Row& row, Bytes image) {
  if (config_.transform.kind == Transform::Kind::raw || !learned_.wants(row.sample)) return;
  try {
    learned_.keep(row.sample, make_entry_points(image));
  } catch (const std::bad_alloc&) {  // the row is done in any case
  }
}

bool Worker::step() {
  // Busy from before the claim: a worker that is stopped at any point after it holds a row, or keeps others from one.
  WorkerEntry& entry = ring_.worker(number_);
  const std::uint64_t now = now_ns();
  entry.seen_ns.store(now);
  entry.busy_since_ns.store(now);
  const auto claim = ring_.claim(number_);
  if (!claim) {
    entry.busy_since_ns.store(0);
    return false;
  }
  std::string error;
  try {
    fill(*claim, ring_.row(claim->slot, claim->row));
  } catch (const Error& caught) {
    error = caught.what();
  } catch (const std::bad_alloc&) {
    error = "not enough memory for this sample";
  }
  ring_.finish(*claim, error);
  entry.rows_done.fetch_add(1);
  entry.busy_since_ns.store(0);
  return true;
}

void Worker::run(const std::function<bool()>& keep_on) {
  while (!ring_.stopped()) {
    const std::uint32_t seen = ring_.publications();
    if (step()) continue;
    if (!keep_on()) return;
    if (!ring_.stopped()) ring_.wait_for_work(seen, k_idle_check_ms);
  }
}

}  // namespace bale::loader_detail
