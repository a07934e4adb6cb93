#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "bale/formats/core/error.hpp"
#include "bale/formats/core/manifest.hpp"
#include "bale/formats/core/shard.hpp"
#include "bale/formats/core/shard_name.hpp"
#include "bale/formats/image/image.hpp"
#include "bale/reader/dataset.hpp"
#include "bale/tools/commands.hpp"
#include "bale/tools/human.hpp"
#include "bale/tools/progress.hpp"
#include "bale/tools/signals.hpp"
#include "bale/writer/sidecars.hpp"

namespace bale::tools {
namespace {

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::pair<std::uint32_t, std::uint32_t> dimensions_of(Bytes image) {
  const ImageHeader header = probe_image(image);
  return {header.width, header.height};
}

/// The layout of a dataset's shards: its manifest's, else the one whose name for shards the first of them has.
FormatAndLayout layout_of(const Dataset& dataset) {
  if (const auto& manifest = dataset.manifest()) return find_format(manifest->format, manifest->layout);
  const Format& format = dataset.shard(0).format();
  const std::string file = base_name(dataset.shard_path(0));
  const auto called_so = [&](const Layout& layout) { return has_shard_name(layout, file); };
  const auto layout = std::find_if(format.layouts.begin(), format.layouts.end(), called_so);
  return {&format, layout != format.layouts.end() ? &*layout : &format.layouts.front()};
}

/// The dataset's name in files that list its shards: its manifest's, else its directory's.
std::string name_of(const Dataset& dataset) {
  if (const auto& manifest = dataset.manifest()) return manifest->name;
  return base_name(parent_directory(std::filesystem::absolute(dataset.shard_path(0)).string()));
}

/// Publishes the files that are asked for, one scan a shard, and says in the manifest that they are there, so that
/// `bale verify` looks after them and `--overwrite` removes them. The manifest comes first: what it names too early is
/// a finding, what it does not name would be nobody's.
std::uint64_t write_sidecars(const std::string& spec, const std::vector<std::string>& names, bool force) {
  const Dataset dataset = Dataset::open(spec);
  if (dataset.num_shards() == 0) return 0;
  const FormatAndLayout made = layout_of(dataset);
  check_sidecars(made, names);
  const std::string directory = parent_directory(dataset.shard_path(0));
  struct NewFile {
    std::string path;
    std::string text;
  };
  std::vector<NewFile> files;
  std::optional<Manifest> manifest = dataset.manifest();
  std::vector<ListedShard> listed;
  for (std::size_t number = 0; number < dataset.num_shards(); ++number) {
    const Shard& shard = dataset.shard(number);
    const std::string& path = shard.path();
    if (parent_directory(path) != directory) {
      throw Error(ErrorCode::invalid_argument, "shards of one list must lie in one directory", {.path = path});
    }
    listed.push_back({base_name(path), shard.size(), shard.index().shard_bytes()});
    for (const Sidecar& sidecar : sidecars_of(*made.layout, names)) {
      if (sidecar.name.empty()) continue;
      files.push_back({sidecar_path(path, *made.layout, sidecar), sidecar.text(path, shard.index())});
      if (manifest) add_once(manifest->shards[number].sidecars, base_name(files.back().path));
    }
  }
  for (const ShardList& list : lists_of(*made.layout, names)) {
    files.push_back({join_path(directory, std::string(list.file)), list.text(name_of(dataset), listed)});
    if (manifest) add_once(manifest->lists, std::string(list.file));
  }
  for (const NewFile& file : files) {
    const bool there = ::access(file.path.c_str(), F_OK) == 0;
    if (there && !force && as_text(read_file(file.path)) != file.text) {
      throw Error(ErrorCode::exists, "is there already and says something else",
                  {.path = file.path, .hint = "replace it with --force, or move it"});
    }
  }
  if (manifest) publish_file(join_path(directory, k_manifest_name), as_bytes(manifest_text(*manifest)));
  for (const NewFile& file : files) publish_file(file.path, as_bytes(file.text));
  return files.size();
}

}  // namespace

int run_index(const IndexCommand& command, Terminal& terminal) {
  std::vector<std::string> paths;
  std::uint64_t num_indexed = 0;
  {
    const Dataset dataset = Dataset::open(command.spec);
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
  const std::uint64_t num_files = command.sidecars.empty() ? 0 : write_sidecars(command.spec, command.sidecars, command.force);
  if (!command.quiet) {
    terminal.print(fmt::format("{} indexed, {} with an index already\n", plural(paths.size(), "shard"), num_indexed));
    if (num_files > 0) terminal.print(fmt::format("{} for other readers written\n", plural(num_files, "file")));
  }
  return k_exit_ok;
}

}  // namespace bale::tools
