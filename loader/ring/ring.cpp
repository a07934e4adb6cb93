#include "bale/loader/ring/ring.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/math/rounding.hpp"
#include "bale/formats/base/system/fork_mutex.hpp"
#include "bale/formats/base/version.hpp"

namespace bale::loader_detail {
namespace {

constexpr std::uint64_t k_page_bytes = 4096;
constexpr std::size_t k_message_bytes = 448;  // of k_error_bytes
constexpr std::size_t k_path_bytes = 320;
constexpr std::uint64_t k_max_ring_bytes = std::uint64_t{1} << 46;

std::uint32_t phase_number(RowPhase phase) { return static_cast<std::uint32_t>(phase); }

void set_parts(Row& row, std::string_view message, std::string_view path, std::string_view hint) noexcept {
  char* at = row.error;
  const auto append = [&](std::string_view part, std::size_t room) {
    at += part.copy(at, room - 1);
    *at++ = '\0';
  };
  append(message, k_message_bytes);
  append(path, k_path_bytes);
  append(hint, k_error_bytes - k_message_bytes - k_path_bytes);
}

}  // namespace

void set_error(Row& row, const Error& error, FaultOf fault) {
  const ErrorContext& context = error.context();
  set_parts(row, error.message(), context.path, context.hint);
  row.code = error.code();
  row.is_failure = fault == FaultOf::run;
  row.names_key = !context.key.empty();
  row.names_offset = context.offset.has_value();
  row.error_offset = context.offset.value_or(0);
  row.system_error = context.system_error;
}

void set_out_of_memory(Row& row, std::string_view path) noexcept {
  set_parts(row, "not enough memory", path, "use fewer workers, smaller batches, or a machine with more memory");
  row.code = ErrorCode::out_of_memory;
  row.is_failure = true;
  row.names_key = row.names_offset = false;
  row.system_error = 0;
}

Error error_of(const Row& row, const std::string& key, const std::string& shard_path) {
  const std::string message = row.error;
  const std::string path = row.error + message.size() + 1;
  const std::string hint = row.error + message.size() + path.size() + 2;
  const bool is_of_shard = !path.empty() && shard_path.starts_with(path);
  return Error(row.code, message,
               {.path = is_of_shard ? shard_path : path,
                .key = row.names_key ? key : "",
                .offset = row.names_offset ? std::optional(row.error_offset) : std::nullopt,
                .hint = hint,
                .system_error = row.system_error});
}

/// Offsets of all parts, in bytes from the beginning of the memory.
struct Ring::Layout {
  std::uint64_t slots_at;
  std::uint64_t rows_at;
  std::uint64_t workers_at;
  std::uint64_t samples_at;
  std::uint64_t labels_at;
  std::uint64_t mask_at;
  std::uint64_t config_at;
  std::uint64_t slots_of_batches_at;  // slot of batch b at [b % num_slots]
  std::uint64_t pixels_at;
  std::uint64_t pixel_stride;
  std::uint64_t fields_at;
  std::uint64_t field_stride;
  std::uint64_t kept_at;
  std::uint64_t total_bytes;
};

/// The first bytes of the memory. Each word that processes wait on has its own cache line.
struct Ring::Header {
  char version[32];  // of the program that made the ring; workers of another version refuse it
  RingShape shape;
  Layout layout;
  alignas(k_line_bytes) std::atomic<std::uint32_t> publications;
  alignas(k_line_bytes) std::atomic<std::uint32_t> completions;
  alignas(k_line_bytes) std::atomic<std::uint32_t> stopped;
  std::atomic<std::uint32_t> pixels_only;
  std::atomic<std::uint64_t> oldest;     // batch
  std::atomic<std::uint64_t> published;  // batches
};

Ring::Layout Ring::lay_out(const RingShape& shape) {
  std::uint64_t end = sizeof(Header);
  const auto place = [&](std::uint64_t bytes, std::uint64_t alignment = k_line_bytes) {
    const std::uint64_t at = round_up(end, alignment);
    end = at + bytes;
    return at;
  };
  const std::uint64_t num_rows = std::uint64_t{shape.num_slots} * shape.batch_size;
  Layout layout{};
  layout.slots_at = place(shape.num_slots * sizeof(Slot));
  layout.rows_at = place(num_rows * sizeof(Row));
  layout.workers_at = place(k_max_workers * sizeof(WorkerEntry));
  layout.samples_at = place(num_rows * sizeof(std::uint64_t));
  layout.labels_at = place(num_rows * sizeof(std::int64_t));
  layout.mask_at = place(num_rows);
  layout.config_at = place(shape.config_bytes);
  layout.slots_of_batches_at = place(shape.num_slots * sizeof(std::atomic<std::uint32_t>));
  layout.pixel_stride = round_up(shape.pixel_bytes, k_page_bytes);
  layout.pixels_at = place(layout.pixel_stride * shape.num_slots, k_page_bytes);
  layout.field_stride = round_up(shape.field_bytes, k_page_bytes);
  layout.fields_at = place(layout.field_stride * shape.num_slots, k_page_bytes);
  layout.kept_at = place(shape.kept_bytes, k_page_bytes);
  layout.total_bytes = round_up(end, k_page_bytes);
  return layout;
}

Ring::Ring(SharedMemory memory)
    : memory_(std::move(memory)),
      slots_(reinterpret_cast<Slot*>(memory_.data() + layout().slots_at)),
      rows_(reinterpret_cast<Row*>(memory_.data() + layout().rows_at)),
      workers_(reinterpret_cast<WorkerEntry*>(memory_.data() + layout().workers_at)) {}

Ring Ring::create(const RingShape& shape, SharedMemory::With with) {
  if (shape.batch_size == 0 || shape.batch_size > k_max_rows) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a batch has 1 to {} samples, not {}", k_max_rows, shape.batch_size));
  }
  if (shape.num_slots == 0 || shape.pixel_bytes > k_max_ring_bytes / shape.num_slots ||
      shape.field_bytes > k_max_ring_bytes / shape.num_slots) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} batches of {} bytes do not fit in memory", shape.num_slots,
                            shape.pixel_bytes + shape.field_bytes),
                {.hint = "use a smaller batch_size or prefetch, or smaller images"});
  }
  const Layout layout = lay_out(shape);
  SharedMemory memory = SharedMemory::create(layout.total_bytes, with);
  // New memory is all zeros, which is a valid value of every field.
  auto* const header = new (memory.data()) Header{.shape = shape, .layout = layout};
  version().copy(header->version, sizeof header->version - 1);
  return Ring(std::move(memory));
}

Ring Ring::attach(SharedMemory memory) {
  const auto* const header = reinterpret_cast<const Header*>(memory.data());
  if (memory.size() < sizeof(Header) || std::string_view(header->version) != version()) {
    throw Error(ErrorCode::damaged, "the worker and the program that started it are of different versions of bale",
                {.hint = "set BALE_WORKER to the bale-worker that belongs to the program"});
  }
  return Ring(std::move(memory));
}

Ring::Header& Ring::header() const { return *reinterpret_cast<Header*>(memory_.data()); }
const RingShape& Ring::shape() const { return header().shape; }
const Ring::Layout& Ring::layout() const { return header().layout; }

std::atomic<std::uint32_t>& Ring::slot_of_batch(std::uint64_t batch) const {
  auto* const slots = reinterpret_cast<std::atomic<std::uint32_t>*>(memory_.data() + layout().slots_of_batches_at);
  return slots[batch % shape().num_slots];
}

MutableBytes Ring::config() const { return {memory_.data() + layout().config_at, shape().config_bytes}; }

MutableBytes Ring::kept() const { return {memory_.data() + layout().kept_at, shape().kept_bytes}; }

std::span<std::uint64_t> Ring::samples(std::uint32_t slot) const {
  const std::size_t rows = shape().batch_size;
  return {reinterpret_cast<std::uint64_t*>(memory_.data() + layout().samples_at) + slot * rows, rows};
}

std::span<std::int64_t> Ring::labels(std::uint32_t slot) const {
  const std::size_t rows = shape().batch_size;
  return {reinterpret_cast<std::int64_t*>(memory_.data() + layout().labels_at) + slot * rows, rows};
}

std::span<std::uint8_t> Ring::mask(std::uint32_t slot) const {
  const std::size_t rows = shape().batch_size;
  return {reinterpret_cast<std::uint8_t*>(memory_.data() + layout().mask_at) + slot * rows, rows};
}

MutableBytes Ring::pixels(std::uint32_t slot) const {
  return {memory_.data() + layout().pixels_at + slot * layout().pixel_stride, shape().pixel_bytes};
}

MutableBytes Ring::fields(std::uint32_t slot) const {
  return {memory_.data() + layout().fields_at + slot * layout().field_stride, shape().field_bytes};
}

MutableBytes Ring::head() const { return {memory_.data(), layout().pixels_at}; }

MutableBytes Ring::all_pixels() const {
  return {memory_.data() + layout().pixels_at, layout().pixel_stride * shape().num_slots};
}

void Ring::prepare_row(std::uint32_t slot, std::uint32_t row, std::uint64_t batch, RowPhase phase) {
  Row& asked = this->row(slot, row);
  asked.kills = 0;
  asked.interruptions = 0;
  asked.source_width = 0;
  asked.source_height = 0;
  asked.bytes = 0;
  asked.encoded = {};
  asked.iou_crop = {};
  asked.state.store(row_state(batch, phase_number(phase)));
}

void Ring::publish(std::uint32_t slot, std::uint64_t batch, std::uint32_t num_rows) {
  Slot& opened = slots_[slot];
  opened.num_rows = num_rows;
  opened.left.store(
      static_cast<std::uint32_t>(std::count_if(&row(slot, 0), &row(slot, 0) + num_rows, [](const Row& asked) {
        return phase_of(asked.state.load()) == phase_number(RowPhase::free);
      })));
  opened.claim.store(batch << 20);
  slot_of_batch(batch).store(slot);
  header().published.store(batch + 1);
  futex_bump(header().publications);
}

void Ring::reoffer(std::uint32_t slot, std::uint64_t batch) {
  slots_[slot].claim.store(batch << 20);
  futex_bump(header().publications);
}

std::uint32_t Ring::num_claimed(std::uint32_t slot) const {
  return std::min(phase_of(slots_[slot].claim.load()), slots_[slot].num_rows.load());
}

void Ring::set_oldest(std::uint64_t batch) { header().oldest.store(batch); }

bool Ring::complete(std::uint32_t slot, std::uint64_t batch) const {
  for (std::uint32_t i = 0; i < slots_[slot].num_rows; ++i) {
    const std::uint64_t state = row(slot, i).state.load();
    const std::uint32_t phase = phase_of(state);
    if (batch_of(state) != batch || phase == phase_number(RowPhase::free) || phase >= phase_number(RowPhase::claimed)) {
      return false;
    }
  }
  return true;
}

void Ring::close(std::uint32_t slot, std::uint64_t batch) {
  std::uint32_t dropped = 0;
  for (std::uint32_t i = 0; i < slots_[slot].num_rows; ++i) {
    std::uint64_t free = row_state(batch, phase_number(RowPhase::free));
    const std::uint64_t drop = row_state(batch, phase_number(RowPhase::dropped));
    if (row(slot, i).state.compare_exchange_strong(free, drop)) ++dropped;
  }
  slots_[slot].left.fetch_sub(dropped);
}

std::uint32_t Ring::completions() const { return header().completions.load(); }
void Ring::wait_for_completion(std::uint32_t seen, int timeout_ms) const {
  futex_wait(header().completions, seen, timeout_ms);
}
void Ring::announce_completion() { futex_bump(header().completions); }

void Ring::stop() {
  header().stopped.store(1);
  futex_bump(header().publications);
}

void Ring::resume() { header().stopped.store(0); }

std::optional<Claim> Ring::claim(std::uint32_t worker) {
  for (std::uint64_t batch = header().oldest.load(); batch < header().published.load(); ++batch) {
    const std::uint32_t number = slot_of_batch(batch).load();
    Slot& slot = slots_[number];
    std::uint64_t ticket = slot.claim.load();
    while (batch_of(ticket) == batch && phase_of(ticket) < slot.num_rows) {
      // compare_exchange, not fetch_add: the slot may hold a later batch by now, and a ticket drawn from that batch by
      // mistake would be a row that no worker claims.
      if (!slot.claim.compare_exchange_weak(ticket, ticket + 1)) continue;
      const std::uint32_t row_number = phase_of(ticket);
      std::uint64_t free = row_state(batch, phase_number(RowPhase::free));
      const std::uint64_t claimed = row_state(batch, phase_number(RowPhase::claimed) + worker);
      if (row(number, row_number).state.compare_exchange_strong(free, claimed)) return Claim{batch, number, row_number};
      ticket = slot.claim.load();
    }
  }
  return std::nullopt;
}

void Ring::finish(const Claim& claim) { end_row(claim, RowPhase::done); }

void Ring::fail(const Claim& claim, const Error& error, FaultOf fault) {
  set_error(row(claim.slot, claim.row), error, fault);
  end_row(claim, RowPhase::failed);
}

void Ring::tell_retry(std::uint32_t number, const Error& error) noexcept {
  WorkerEntry& entry = worker(number);
  if (entry.retried.load(std::memory_order_acquire) != 0) return;
  std::strncpy(entry.retry, error.what(), k_error_bytes - 1);
  entry.retried.store(1, std::memory_order_release);
}

std::string Ring::take_retry(std::uint32_t number) {
  WorkerEntry& entry = worker(number);
  if (entry.retried.load(std::memory_order_acquire) == 0) return {};
  std::string told = entry.retry;
  entry.retried.store(0, std::memory_order_release);
  return told;
}

void Ring::fail_out_of_memory(const Claim& claim, std::string_view path) noexcept {
  set_out_of_memory(row(claim.slot, claim.row), path);
  end_row(claim, RowPhase::failed);
}

void Ring::end_row(const Claim& claim, RowPhase phase) {
  row(claim.slot, claim.row).state.store(row_state(claim.batch, phase_number(phase)));
  if (slots_[claim.slot].left.fetch_sub(1) == 1) announce_completion();
}

void Ring::ask_for_pixels() { header().pixels_only.store(1); }

bool Ring::asks_for_pixels() const { return header().pixels_only.load() != 0; }

bool Ring::stopped() const { return header().stopped.load() != 0; }
std::uint32_t Ring::publications() const { return header().publications.load(); }
void Ring::wait_for_work(std::uint32_t seen, int timeout_ms) const {
  futex_wait(header().publications, seen, timeout_ms);
}

}  // namespace bale::loader_detail
