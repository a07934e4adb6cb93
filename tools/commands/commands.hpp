// The commands: the arguments of each (plain values, filled by its options) and its function.
//
// A command calls the libraries and prints. It returns an exit code or throws `Error`, which bale_main() turns into one
// line on standard error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bale/loader/loader_options.hpp"
#include "bale/reader/dataset_check.hpp"
#include "bale/reader/order/epoch_order.hpp"
#include "bale/tools/commands/where_option.hpp"
#include "bale/tools/measure/bench_stages.hpp"
#include "bale/tools/terminal/terminal.hpp"
#include "bale/writer/prune.hpp"
#include "bale/writer/request/change_request.hpp"
#include "bale/writer/request/merge_request.hpp"
#include "bale/writer/request/pack_request.hpp"
#include "bale/writer/scale_out.hpp"
#include "bale/writer/source/source.hpp"
#include "bale/writer/source_diff.hpp"

namespace bale::tools {

struct CommandModel;

/// Arguments of `pack`, `convert` and `plan`.
struct PackCommand {
  PackRequest request;
  std::string plan;   // of `plan`: file to write; of `pack`: file whose shards are packed, if not empty
  PartChoice choice;  // of that plan
  bool json = false;
  bool json_progress = false;
  bool quiet = false;
};
int run_pack(const PackCommand& command, Terminal& terminal);
int run_plan(const PackCommand& command, Terminal& terminal);
/// `pack --plan`.
int run_part(const PackCommand& command, Terminal& terminal);

struct MergeCommand {
  MergeRequest request;
  bool json = false;
  bool json_progress = false;
  bool quiet = false;
};
int run_merge(const MergeCommand& command, Terminal& terminal);

struct ChangeCommand {
  ChangeRequest request;
  bool json = false;
  bool quiet = false;
};
int run_change(const ChangeCommand& command, Terminal& terminal);

struct IndexCommand {
  std::string spec;
  std::vector<std::string> sidecars;
  bool check_images = false;
  std::uint64_t max_pixels = k_default_max_pixels;
  bool force = false;
  bool seek_points = false;
  unsigned jobs = 0;
  bool json = false;
  bool quiet = false;
};
int run_index(const IndexCommand& command, Terminal& terminal);

struct InspectCommand {
  std::string spec;
  bool json = false;
};
int run_inspect(const InspectCommand& command, Terminal& terminal);

struct LogCommand {
  std::string spec;
  std::string state{};   // file with a state of a Loader; empty: all versions
  bool removed = false;  // instead, the samples that versions removed
  bool prune = false;
  PruneOptions pruning{};
  bool json = false;
};
int run_log(const LogCommand& command, Terminal& terminal);

struct LsCommand {
  std::string spec;
  bool long_lines = false;
  bool json = false;
  bool null_ended = false;
  WhereOption where;
};
int run_ls(const LsCommand& command, Terminal& terminal);

struct CatCommand {
  std::string spec;
  std::optional<std::string> key;
  std::optional<std::uint64_t> index;
  std::string field;
};
int run_cat(const CatCommand& command, Terminal& terminal);

struct ExtractCommand {
  std::string spec;
  std::string directory;
  std::vector<std::string> fields;
  std::vector<std::string> include;
  WhereOption where;
  bool force = false;
  bool strict = false;  // what is not taken or used is an error
  bool json = false;
  bool quiet = false;
};
int run_extract(const ExtractCommand& command, Terminal& terminal);

struct VerifyCommand {
  std::string spec;
  CheckOptions options;
  bool json = false;
  bool json_progress = false;
  bool quiet = false;
};
int run_verify(const VerifyCommand& command, Terminal& terminal);

struct DiffCommand {
  std::string a;
  std::string b;
  SourceOptions source_options;  // of both
  DiffOptions options;
  std::uint64_t limit = 100;  // differences that are printed; 0: all
  bool strict = false;        // what is not taken or used is an error
  bool json = false;
  bool json_progress = false;
  bool quiet = false;
};
int run_diff(const DiffCommand& command, Terminal& terminal);

struct StatsCommand {
  std::string spec;
  bool json = false;
};
int run_stats(const StatsCommand& command, Terminal& terminal);

struct PreviewCommand {
  std::string spec;
  std::string out;
  std::uint64_t count = 30;
  std::uint64_t seed = 0;
  bool force = false;  // replace an existing file of that name
  bool json = false;
};
int run_preview(const PreviewCommand& command, Terminal& terminal);

struct ReadCommand {
  std::string spec;
  std::optional<Shuffle> order{};  // none: as stored
  std::uint64_t seed = 0;
  std::uint64_t epochs = 1;
  unsigned jobs = 0;
  std::optional<bool> direct_io{};  // none: see choose_direct_io() in read.cpp
  bool large_transfers = false;
  bool verify_checksums = true;
  bool json = false;
  bool quiet = false;
};
int run_read(const ReadCommand& command, Terminal& terminal);

/// A page about the stages of loading.
struct PageRequest {
  std::string file{};    // empty: none
  bool force = false;    // replace an existing file of that name
  std::string beside{};  // figures of other loaders to show with it (load_peer_figures()); empty: none
};

struct BenchCommand {
  PipelineCommand pipeline;
  std::uint64_t epochs = 2;
  std::uint64_t max_batches = StagePasses{}.max_batches;
  std::vector<Stage> stages;  // empty: all
  std::optional<int> device;  // CUDA device; none: batches stay in memory
  double step_s = 0;          // time that the device is busy after each batch
  PageRequest page{};
  bool json = false;
  bool quiet = false;
};
int run_bench(const BenchCommand& command, Terminal& terminal);

struct TuneCommand {
  PipelineCommand pipeline;
  double seconds = 3;         // per setting
  std::optional<int> device;  // CUDA device on which it is compared who decodes
  bool json = false;
  bool quiet = false;
};
int run_tune(const TuneCommand& command, Terminal& terminal);

struct DoctorCommand {
  PipelineCommand pipeline;
  double seconds = 5;         // per part
  std::optional<int> device;  // CUDA device
  double step_s = 0;          // of a training step whose batch is ready; 0: unknown
  PageRequest page{};
  bool json = false;
  bool quiet = false;
};
int run_doctor(const DoctorCommand& command, Terminal& terminal);

/// Prints one line if samples could not be decoded during a measurement.
void note_bad_samples(const std::vector<std::string>& bad, Terminal& terminal);
/// Throws `damaged` if none of the samples that were measured could be decoded.
void require_images(std::uint64_t num_images, const std::vector<std::string>& bad, const std::string& spec);

/// Shows and manages the cache of remote files.
struct CacheCommand {
  std::string action;  // one of cache_actions()
  std::vector<std::string> arguments;
  bool dry_run = false;
  bool json = false;
  bool json_progress = false;
  bool quiet = false;
};
std::vector<std::string_view> cache_actions();
int run_cache(const CacheCommand& command, Terminal& terminal);

struct FormatsCommand {
  bool json = false;
};
int run_formats(const FormatsCommand& command, Terminal& terminal);

}  // namespace bale::tools
