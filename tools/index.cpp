#include <unistd.h>

#include <atomic>

#include <fmt/format.h>

#include "bale/formats/core/entry_file.hpp"
#include "bale/formats/core/error.hpp"
#include "bale/formats/core/parallel.hpp"
#include "bale/formats/core/shard.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/reader/make_entry_file.hpp"
#include "bale/tools/commands.hpp"
#include "bale/tools/human.hpp"
#include "bale/tools/progress.hpp"
#include "bale/tools/signals.hpp"

namespace bale::tools {
namespace {

std::pair<std::uint32_t, std::uint32_t> dimensions_of(Bytes image) {
  const ImageHeader header = probe_image(image);
  return {header.width, header.height};
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// Whether the shard has entry points that were made for a file like it.
bool has_entry_points(const Shard& shard) {
  try {
    const EntryFile file = EntryFile::load(entry_path(shard.path()));
    return file.size() == shard.size() && file.shard_bytes() == shard.index().shard_bytes();
  } catch (const Error&) {
    return false;
  }
}

/// One run of the command: first indexes, then, where asked for, entry points.
class Indexing {
 public:
  Indexing(const IndexCommand& command, Terminal& terminal)
      : command_(command), terminal_(terminal), stop_on_signal_(stop_) {}

  void make_indexes();
  void make_entry_points();
  /// Samples that could not be read.
  std::uint64_t num_unreadable() const { return num_unreadable_; }

 private:
  const IndexCommand& command_;
  Terminal& terminal_;
  std::atomic<bool> stop_{false};
  StopOnSignal stop_on_signal_;
  std::uint64_t num_unreadable_ = 0;
};

void Indexing::make_indexes() {
  std::vector<std::string> paths;
  std::uint64_t num_indexed = 0;
  {
    const Dataset dataset = Dataset::open(command_.spec);
    for (std::size_t number = 0; number < dataset.num_shards(); ++number) {
      const std::string& path = dataset.shard_path(number);
      // Shards of a manifest have checksums that were made as they were written: never to be replaced by
      // ones made of what is there now.
      if (exists(index_path(path)) && (!command_.force || dataset.manifest())) {
        ++num_indexed;
      } else {
        paths.push_back(path);
      }
    }
  }
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> shards{0};
  std::uint64_t total_bytes = 0;
  for (const std::string& path : paths) total_bytes += File::open_read(path).size();
  const auto poll = [&] {
    return ProgressCounts{
        .samples = samples, .bytes = bytes, .total_bytes = total_bytes, .shards = shards, .total_shards = paths.size()};
  };
  ProgressDisplay display(terminal_, "indexed", poll, command_.quiet);
  run_parallel(paths.size(), command_.jobs, [&](std::size_t number) {
    const std::string& path = paths[number];
    const std::vector<std::byte> index = index_shard(path, probe_format(path), dimensions_of, [&](std::uint64_t read) {
      throw_if_stopped(stop_);
      bytes += read;
      ++samples;
    });
    publish_file(index_path(path), index);
    ++shards;
  });
  display.finish();
  if (!command_.quiet) {
    terminal_.print(fmt::format("{} indexed, {} with an index already\n", plural(paths.size(), "shard"), num_indexed));
  }
}

void Indexing::make_entry_points() {
  const Dataset dataset = Dataset::open(command_.spec);
  std::vector<std::size_t> wanted;
  std::uint64_t total_samples = 0;
  for (std::size_t number = 0; number < dataset.num_shards(); ++number) {
    const Shard& shard = dataset.shard(number);
    if (!command_.force && has_entry_points(shard)) continue;
    wanted.push_back(number);
    total_samples += shard.size();
  }
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> shards{0};
  const auto poll = [&] {
    return ProgressCounts{
        .samples = samples, .total_samples = total_samples, .shards = shards, .total_shards = wanted.size()};
  };
  ProgressDisplay display(terminal_, "decoded", poll, command_.quiet);
  std::uint64_t num_images = 0;
  for (const std::size_t number : wanted) {
    const Shard& shard = dataset.shard(number);
    const MadeEntryFile made = make_entry_file(shard, command_.jobs, [&] {
      throw_if_stopped(stop_);
      ++samples;
    });
    publish_file(entry_path(shard.path()), made.bytes);
    num_images += made.num_images;
    num_unreadable_ += made.num_unreadable;
    ++shards;
  }
  display.finish();
  if (!command_.quiet) {
    terminal_.print(fmt::format("entry points for {} of {} in {}, {} with entry points already\n",
                                human_count(num_images), plural(total_samples, "sample"),
                                plural(wanted.size(), "shard"), dataset.num_shards() - wanted.size()));
  }
}

}  // namespace

int run_index(const IndexCommand& command, Terminal& terminal) {
  Indexing indexing(command, terminal);
  indexing.make_indexes();
  if (!command.entry_points) return k_exit_ok;
  indexing.make_entry_points();
  if (indexing.num_unreadable() == 0) return k_exit_ok;
  terminal.flush();
  terminal.error(fmt::format("{}: {} damaged and without entry points; `bale verify` names them",
                             printable(command.spec), plural(indexing.num_unreadable(), "sample")));
  return k_exit_skipped;
}

}  // namespace bale::tools
