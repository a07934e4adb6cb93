#include "bale/loader/worker/process/worker_process.hpp"

#include <dirent.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/storage.hpp"
#include "bale/formats/image/simd/simd_target.hpp"
#include "bale/formats/registry/registry.hpp"
#include "bale/formats/shard/index/index_memory.hpp"
#include "bale/formats/shard/layer.hpp"
#include "bale/loader/worker/process/child_process.hpp"
#include "bale/loader/worker/worker.hpp"
#include "bale/reader/shards/open_shards.hpp"
#include "bale/reader/spec/shard_place.hpp"

namespace bale::loader_detail {
namespace {

/// Makes this process end when the loader's process ends, or becomes another program: `thread` of it, which started
/// this process, ends then.
void end_with(pid_t parent, pid_t thread) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool is_there = ::syscall(SYS_tgkill, parent, thread, 0) == 0 || errno != ESRCH;
  if (::getppid() != parent || !is_there) std::_Exit(0);  // it ended before prctl()
}

/// Closes what other code of the loader's process opened without O_CLOEXEC: a pipe must end when that process closes
/// it.
void close_other_descriptors() {
  constexpr unsigned k_first = k_error_fd + 1;
  if (::syscall(SYS_close_range, k_first, ~0U, 0U) == 0) return;
  std::vector<unsigned> found;  // kernels before 5.9
  if (DIR* const directory = ::opendir("/proc/self/fd")) {
    while (const dirent* const entry = ::readdir(directory)) {
      found.push_back(static_cast<unsigned>(std::strtoul(entry->d_name, nullptr, 10)));
    }
    ::closedir(directory);
  }
  for (const unsigned fd : found) {
    if (fd >= k_first) ::close(static_cast<int>(fd));
  }
}

/// This process has run out of descriptors or memory. No sample is at fault.
class LackOfResources : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Until now, the output went to StartupMessages, to report why a worker does not start.
void print_where_the_loader_prints() {
  ::dup2(k_error_fd, STDOUT_FILENO);
  ::dup2(k_error_fd, STDERR_FILENO);
  ::close(k_error_fd);
  ::close(k_program_fd);
}

/// The layers of the versions that are read.
class LayerSets {
 public:
  explicit LayerSets(const WorkerConfig& config) : layers_of_(config.layers_of) {
    for (const std::vector<std::string>& files : config.layers)
      sets_.push_back(files.empty() ? nullptr : std::make_shared<const Layers>(files));
  }

  const std::shared_ptr<const Layers>& of(std::size_t shard) const { return sets_[layers_of_[shard]]; }

 private:
  const std::vector<std::uint32_t>& layers_of_;
  std::vector<std::shared_ptr<const Layers>> sets_;
};

/// The indexes that the loader has put into the memory that it shares.
class SharedIndexes {
 public:
  explicit SharedIndexes(std::size_t num_shards) : places_(num_shards) {}

  void note_place(std::size_t shard, const IndexPlace& place) { places_[shard] = place; }
  /// nullptr if the shard's index is not there.
  std::shared_ptr<const ShardIndex> find(std::size_t shard, const std::string& path) {
    if (places_[shard].bytes == 0) return nullptr;
    if (!memory_) memory_ = std::make_shared<IndexMemory>(k_index_fd);
    return ShardIndex::from_memory(memory_, places_[shard], path);
  }

 private:
  std::vector<IndexPlace> places_;
  std::shared_ptr<IndexMemory> memory_;
};

void work(Ring& ring, std::uint32_t number, pid_t parent, const std::function<void(std::uint32_t)>& before_shard) {
  raise_descriptor_limit();
  const WorkerConfig config = unpack_config(ring.config());
  // The loader's process has checked that the shards match their indexes, and each row says what it holds of its shard.
  const ShardOpenOptions options{
      .verify_checksums = config.options.verify_checksums, .direct_io = config.options.direct_io, .check_stale = false};
  SharedIndexes shared(config.shards.size());
  const LayerSets layers(config);
  const OpenShards shards(
      config.shards.size(), [&](std::size_t shard, const Format* format, std::shared_ptr<const ShardIndex> index) {
        const PinnedContent content(config.digests[shard]);
        if (!index) index = shared.find(shard, config.shards[shard]);
        return open_at_its_place(
            config.shards[shard], [&] { return config.digests[shard]; },
            [&](const std::string& path) {
              ShardOpenOptions opening = options;
              opening.layers = layers.of(shard);
              opening.digest = config.digests[shard];
              if (!index) return open_shard(path, opening);
              return Shard::open(path, format != nullptr ? *format : probe_format(path), index, opening);
            });
      });
  const auto shard_of = [&](std::uint32_t shard, const ShardIdentity& known) {
    if (before_shard) before_shard(shard);
    if (shard >= shards.size()) throw std::out_of_range("a row of a shard that is not there");
    shared.note_place(shard, known.place);
    try {
      return shards.use(shard, known);
    } catch (const Error& error) {
      // No sample is at fault. This worker exits, and its replacement starts with no files open.
      if (is_lack_of_resources(error) && error.code() != ErrorCode::retryable) throw LackOfResources(error.what());
      throw;
    }
  };
  Worker(ring, config, number, shard_of).run([&] { return ::getppid() == parent; });
}

}  // namespace

int run_worker_process(int argc, char** argv, const std::function<void(std::uint32_t)>& before_shard) {
  if (argc != 5) return 2;
  const auto number = static_cast<std::uint32_t>(std::atol(argv[2]));
  const auto parent = static_cast<pid_t>(std::atol(argv[3]));
  end_with(parent, static_cast<pid_t>(std::atol(argv[4])));
  close_other_descriptors();
  // The loader's process handles Ctrl-C in the terminal.
  std::signal(SIGINT, SIG_IGN);
  // Image buffers are allocated for every row. Returning them to the system each time would cost page faults.
  ::mallopt(M_MMAP_THRESHOLD, 64 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  ::prctl(PR_SET_NAME, "bale-worker");  // otherwise the name is the number of a descriptor
  Ring ring = Ring::attach(SharedMemory::attach(std::atoi(argv[1])));
  print_where_the_loader_prints();
  const auto give_up = [&](const std::exception& why, int code) {
    std::strncpy(ring.worker(number).error, why.what(), k_error_bytes - 1);
    return code;
  };
  try {
    limit_simd_by_environment();
    work(ring, number, parent, before_shard);
    return 0;
  } catch (const LackOfResources& error) {
    return give_up(error, k_exit_lack_of_resources);
  } catch (const std::exception& error) {
    return give_up(error, 1);
  }
}

int worker_main(int argc, char** argv) {
  try {
    const int code = run_worker_process(argc, argv);
    if (code == 2) std::fputs("bale-worker is started by bale's loader, not by hand\n", stderr);
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bale-worker: %s\n", error.what());
    return 1;
  }
}

}  // namespace bale::loader_detail
