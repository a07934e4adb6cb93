// Session: how it opens a dataset, makes the ring and what workers get, and reads ahead.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/shard/index/index_memory.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/loader/fields/field_layout.hpp"
#include "bale/loader/nodes/node_local.hpp"
#include "bale/loader/ring/shared_memory.hpp"
#include "bale/loader/session/session.hpp"
#include "bale/reader/ahead/shard_opener.hpp"
#include "bale/reader/order/node_share.hpp"

namespace bale::loader_detail {
namespace {

constexpr std::uint32_t k_min_slots = 3;        // a loop holds one batch while it asks for the next
constexpr std::uint32_t k_rows_per_worker = 2;  // that it may read at the same time

/// All of a slot is used if images have one size, so what the machine does not have would end this process later.
void require_memory(std::uint32_t num_slots, std::uint64_t slot_bytes) {
  const auto available = available_memory();
  if (!available || slot_bytes <= *available / num_slots) return;
  throw Error(
      ErrorCode::out_of_memory,
      fmt::format("cannot take {} bytes of memory for batches: {} are available", num_slots * slot_bytes, *available),
      {.hint = "use a smaller batch_size or prefetch, or smaller images"});
}

/// As many batches as LoaderOptions::memory_bytes has room for, at most `wanted`.
std::uint32_t slots_within_budget(std::uint32_t wanted, std::uint32_t least, std::uint64_t slot_bytes,
                                  std::uint64_t memory_bytes) {
  if (memory_bytes == 0 || slot_bytes <= memory_bytes / wanted) return wanted;
  if (slot_bytes <= memory_bytes / least) return static_cast<std::uint32_t>(memory_bytes / slot_bytes);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("memory_bytes of {}: the least is {} batches of {} bytes", memory_bytes, least, slot_bytes),
              {.hint = "raise memory_bytes, or use a smaller batch_size, smaller images or a smaller dtype"});
}

bool has_programs(const LoaderOptions& options) {
  return options.workers > 0 && options.worker_mode == WorkerMode::processes;
}

std::shared_ptr<IndexMemory> make_index_memory(const LoaderOptions& options) {
  const int fd = has_programs(options) ? memory_descriptor("bale indexes") : -1;
  return fd < 0 ? nullptr : std::make_shared<IndexMemory>(fd);
}

Dataset open_dataset(const std::string& spec, const LoaderOptions& options, std::shared_ptr<IndexMemory> index_memory,
                     bool has_selection) {
  const bool counts_later = !has_selection && can_count_later(options);
  Dataset dataset = Dataset::open(spec, {.verify_checksums = options.verify_checksums,
                                         .direct_io = options.direct_io,
                                         .index_memory = std::move(index_memory),
                                         .merges_classes = options.labels == Labels::merged,
                                         .counting = counts_later ? Counting::while_read : Counting::when_opened});
  dataset.count_beyond(0);  // so that a dataset that cannot be read is an error here
  require_image_and_label(dataset, options);
  return dataset;
}

bool is_all_counted(const Dataset& dataset) { return dataset.num_counted_shards() == dataset.num_shards(); }

EpochOrder make_order(const std::string& spec, const Dataset& dataset, const LoaderOptions& options,
                      std::optional<Selection> selection) {
  const std::uint64_t size = is_all_counted(dataset) ? dataset.size() : k_uncounted;
  Selection chosen = selection ? *std::move(selection) : Selection::all(size);
  if (chosen.dataset_size() != size) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("the selection was made for {} samples, and the dataset has {}", chosen.dataset_size(), size),
        {.path = spec, .hint = "make it for Dataset::size() samples"});
  }
  if (options.shuffle.kind == Shuffle::Kind::node_local) return node_local_order(dataset, options, chosen);
  return EpochOrder(std::move(chosen), options.shuffle, options.seed);
}

bool any_may_have_seek_points(const Dataset& dataset) {
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    if (may_have_seek_points(dataset, shard)) return true;
  }
  return false;
}

WorkerConfig config_of(const Dataset& dataset, const LoaderOptions& options, const FieldLayout& fields) {
  WorkerConfig config{.options = options, .field_rooms = fields.rooms()};
  config.options.fields = fields.fields();
  config.may_have_seek_points = any_may_have_seek_points(dataset);
  if (is_all_counted(dataset)) config.num_samples = dataset.size();  // for the cache of seek points
  for (std::size_t shard = 0; shard < dataset.num_shards(); ++shard) {
    config.shards.push_back(dataset.shard_path(shard));
    config.digests.push_back(dataset.expected_digest(shard));
    const std::shared_ptr<const Layers> layers = dataset.layers(shard);  // damage in them ends the start, not a sample
    std::vector<std::string> files = layers ? layers->paths() : std::vector<std::string>{};
    if (config.layers.empty() || config.layers.back() != files) config.layers.push_back(std::move(files));
    config.layers_of.push_back(static_cast<std::uint32_t>(config.layers.size() - 1));
  }
  return config;
}

/// The most times that one batch can contain the same sample. Padding repeats the epoch, several times if a step of all
/// ranks is longer than the epoch.
std::uint64_t max_deliveries(const Dataset& dataset, const LoaderOptions& options,
                             const std::optional<Selection>& selection) {
  const std::uint64_t in_epoch = selection ? selection->max_deliveries() : 1;
  if (!is_all_counted(dataset)) return in_epoch;  // rows of a fixed size, whichever samples they are
  if (options.tail != Tail::pad) return in_epoch;
  const std::uint64_t num_deliveries = std::max<std::uint64_t>(selection ? selection->size() : dataset.size(), 1);
  const std::uint64_t step = std::uint64_t{options.batch_size} * options.world_size;
  return in_epoch * (2 + step / num_deliveries);
}

void require_transforms_of_sources(const LoaderOptions& options, const Mixture* mixture) {
  const std::size_t sources = mixture == nullptr ? 1 : mixture->num_sources();
  if (options.source_transforms.empty() || options.num_view_lists() == sources) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("source_transforms: those of {} sources for {}", options.num_view_lists(), sources),
              {.hint = "give one per source of the mixture and view"});
}

}  // namespace

Session::Session(const std::string& spec, LoaderOptions options, std::optional<Selection> selection)
    : spec_(spec),
      options_(checked(std::move(options))),
      index_memory_(make_index_memory(options_)),
      dataset_(open_dataset(spec, options_, index_memory_, selection.has_value())),
      is_counted_(is_all_counted(dataset_)),
      layout_(dataset_, options_, max_deliveries(dataset_, options_, selection)),
      fields_(dataset_, FieldLayout(dataset_, options_, max_deliveries(dataset_, options_, selection)),
              options_.batch_size),
      stream_(make_order(spec, dataset_, options_, std::move(selection)), share_of(options_), 0, 0),
      identity_(is_counted_ ? dataset_.identity() : 0),
      fingerprint_(is_counted_ ? stream_.order().fingerprint(dataset_.size(), identity_)
                               : fingerprint_of_names(dataset_, options_)),
      config_(config_of(dataset_, options_, fields_.layout())),
      shard_of_([this](std::uint32_t shard, const ShardIdentity& known) { return dataset_.use_shard(shard, known); }),
      ring_(make_ring()),
      rows_(options_, dataset_, layout_, fields_, ring_),
      mixer_(options_, ring_.shape().num_slots),
      slots_(ring_) {
  require_transforms_of_sources(options_, stream_.order().selection().mixture());
}

Ring Session::make_ring() {
  const std::vector<std::byte> config = pack_config(config_);
  const std::uint32_t least = options_.copy_when_held ? k_min_slots : options_.workers == 0 ? 1 : 2;
  const std::uint32_t num_slots =
      slots_within_budget(std::max(options_.prefetch, least), least,
                          layout_.batch_bytes() + fields_.places().total_bytes(), options_.memory_bytes);
  options_.prefetch = std::min(options_.prefetch, num_slots);
  Ring ring =
      Ring::create({.num_slots = num_slots,
                    .batch_size = options_.batch_size,
                    .pixel_bytes = layout_.batch_bytes(),
                    .field_bytes = fields_.places().total_bytes(),
                    .config_bytes = config.size(),
                    .kept_bytes = SeekPointCache::bytes_for(config_.num_samples, options_.seek_point_cache_bytes)},
                   has_programs(options_) ? SharedMemory::With::programs : SharedMemory::With::children);
  if (options_.transform.has_fixed_shape()) require_memory(num_slots, layout_.batch_bytes());
  std::copy(config.begin(), config.end(), ring.config().begin());
  return ring;
}

/// Reads ahead from where the workers are. Requires mutex_.
void Session::start_read_ahead() {
  read_ahead_.reset();
  if (options_.read_ahead_bytes == 0 || options_.direct_io) return;
  read_ahead_ = std::make_unique<ReadAhead>(
      dataset_,
      [this, stream = stream_, is_counted = is_counted_](std::uint64_t n) -> std::optional<UpcomingSample> {
        BatchPlace place;
        if (!is_counted && !is_ready(dataset_, stream, n)) return std::nullopt;
        const auto row = stream.nth_row(n, place);
        if (!row) return std::nullopt;
        const std::uint64_t position = row->planned.position;
        return UpcomingSample{row->pick.sample, stream.order().window(place.epoch, position), place.epoch, position};
      },
      ReadAheadOptions{.window_bytes = options_.read_ahead_bytes,
                       .large_transfers = options_.large_transfers,
                       .clock = has_clock_ ? std::optional(UseClock(stream_.order(), fingerprint_)) : std::nullopt,
                       .wants_seek_points = options_.transform.shape != Transform::Shape::raw,
                       .readers = local_ranks(share_of(options_)).count,
                       .in_flight = std::uint64_t{k_rows_per_worker} * std::max(options_.workers, 1u),
                       .is_needed = needed_on_node(),
                       .begin = slots_.rows_consumed(),
                       .first_samples = options_.batch_size,
                       .progress = [this]() -> std::optional<std::uint64_t> {
                         const std::unique_lock lock(mutex_, std::try_to_lock);  // whoever holds it may end this thread
                         return lock ? std::optional(slots_.rows_consumed()) : std::nullopt;
                       }});
}

/// Only a full or node-local shuffle needs samples one by one: other orders read neighbors together, or draw.
std::function<bool(std::uint64_t, std::uint64_t)> Session::needed_on_node() const {
  const EpochOrder& order = stream_.order();
  const Shuffle::Kind kind = order.shuffle().kind;
  if (!is_counted_ || order.selection().draws()) return {};
  if (kind != Shuffle::Kind::full && kind != Shuffle::Kind::node_local) return {};
  const RankShare share = share_of(options_);
  return [node = NodeShare(order, share, ranks_of_node(order, share), stream_.first_epoch(), stream_.first_position())](
             std::uint64_t sample, std::uint64_t epoch) { return node.has(sample, epoch); };
}

/// Requires mutex_.
void Session::update_read_ahead() {
  if (read_ahead_) read_ahead_->consumed(slots_.rows_consumed());
}

}  // namespace bale::loader_detail
