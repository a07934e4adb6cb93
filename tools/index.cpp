#include <unistd.h>

#include <atomic>

#include <fmt/format.h>

#include "bale/formats/core/shard.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/tools/commands.hpp"
#include "bale/tools/human.hpp"
#include "bale/tools/progress.hpp"
#include "bale/tools/signals.hpp"
#include "bale/writer/add_sidecars.hpp"

namespace bale::tools {
namespace {

std::pair<std::uint32_t, std::uint32_t> dimensions_of(Bytes image) {
  const ImageHeader header = probe_image(image);
  return {header.width, header.height};
}

}  // namespace

int run_index(const IndexCommand& command, Terminal& terminal) {
  std::vector<std::string> paths;
  std::uint64_t num_indexed = 0;
  {
    const Dataset dataset = Dataset::open(command.spec);
    check_sidecars(dataset, command.sidecars);
    for (std::size_t number = 0; number < dataset.num_shards(); ++number) {
      const std::string& path = dataset.shard_path(number);
      // Shards of a manifest have checksums that were made as they were written: never to be replaced by
      // ones made of what is there now.
      const bool indexed = ::access(index_path(path).c_str(), F_OK) == 0;
      if (indexed && (!command.force || dataset.manifest())) {
        ++num_indexed;
      } else {
        paths.push_back(path);
      }
    }
  }
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> samples{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> shards{0};
  std::uint64_t total_bytes = 0;
  for (const std::string& path : paths) total_bytes += File::open_read(path).size();
  const auto poll = [&] {
    return ProgressCounts{
        .samples = samples, .bytes = bytes, .total_bytes = total_bytes, .shards = shards, .total_shards = paths.size()};
  };
  const StopOnSignal stop_on_signal(stop);
  ProgressDisplay display(terminal, "indexed", poll, progress_style(command.quiet));
  for (const std::string& path : paths) {
    const std::vector<std::byte> index = index_shard(path, probe_format(path), dimensions_of, [&](std::uint64_t read) {
      throw_if_stopped(stop);
      bytes += read;
      ++samples;
    });
    publish_file(index_path(path), index);
    ++shards;
  }
  display.finish();
  const std::uint64_t num_files =
      command.sidecars.empty() ? 0 : add_sidecars(Dataset::open(command.spec), command.sidecars, command.force);
  if (!command.quiet) {
    terminal.print(fmt::format("{} indexed, {} with an index already\n", plural(paths.size(), "shard"), num_indexed));
    if (num_files > 0) terminal.print(fmt::format("{} for other readers written\n", plural(num_files, "file")));
  }
  return k_exit_ok;
}

}  // namespace bale::tools
