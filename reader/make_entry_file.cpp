#include "bale/reader/make_entry_file.hpp"

#include <algorithm>
#include <atomic>

#include "bale/formats/core/entry_file.hpp"
#include "bale/formats/core/parallel.hpp"
#include "bale/formats/image/entry_points.hpp"

namespace bale {
namespace {

// Work for a thread at a time, and so many of them until the threads meet: what bounds the memory of records that wait.
constexpr std::uint64_t k_samples_of_piece = 32;
constexpr std::uint64_t k_pieces_of_window = 64;

using Record = std::vector<std::byte>;

}  // namespace

MadeEntryFile make_entry_file(const Shard& shard, unsigned jobs, const std::function<void()>& on_sample) {
  const ShardIndex& index = shard.index();
  std::atomic<std::uint64_t> num_unreadable{0};
  const auto make = [&](std::uint64_t i, Scratch& scratch) -> Record {
    const auto field = index.image_field(i);
    if (!field) return {};
    try {
      return make_entry_points(shard.read_field(i, index.fields()[*field].name, scratch));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::damaged) throw;
      ++num_unreadable;
      return {};
    }
  };
  MadeEntryFile made;
  EntryFileBuilder builder;
  std::vector<Record> records(k_samples_of_piece * k_pieces_of_window);
  for (std::uint64_t first = 0; first < shard.size(); first += records.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(records.size(), shard.size() - first);
    run_parallel((count + k_samples_of_piece - 1) / k_samples_of_piece, jobs, [&](std::size_t piece) {
      Scratch scratch;
      const std::uint64_t end = std::min(count, (piece + 1) * k_samples_of_piece);
      for (std::uint64_t i = piece * k_samples_of_piece; i < end; ++i) {
        records[i] = make(first + i, scratch);
        on_sample();
      }
    });
    for (std::uint64_t i = 0; i < count; ++i) {
      builder.add(records[i]);
      if (!records[i].empty()) ++made.num_images;
    }
  }
  made.num_unreadable = num_unreadable;
  made.bytes = builder.build(index.shard_bytes());
  return made;
}

}  // namespace bale
