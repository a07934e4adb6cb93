#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/options/option_values.hpp"
#include "bale/formats/base/system/cores.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/temp_dir.hpp"
#include "bale/tests/support/text_file.hpp"
#include "bale/tools/cli/options/values.hpp"
#include "bale/tools/commands/reading/safe_directory.hpp"
#include "bale/tools/help/command_model.hpp"
#include "bale/tools/measure/process_usage.hpp"
#include "bale/tools/measure/verdicts/doctor_verdict.hpp"
#include "bale/tools/measure/verdicts/tune_verdict.hpp"
#include "bale/tools/report/text/bench_report.hpp"
#include "bale/tools/terminal/notices.hpp"
#include "bale/tools/terminal/progress.hpp"
#include "bale/tools/terminal/table.hpp"
#include "bale/tools/terminal/terminal.hpp"
#include "bale/writer/plan/shard_table.hpp"
#include "bale/writer/request/pack_request.hpp"

using namespace bale;
using namespace bale::tools;

TEST_CASE("sizes are read with binary and decimal units") {
  CHECK(parse_size("--s", "1048576") == 1048576);
  CHECK(parse_size("--s", "7B") == 7);
  CHECK(parse_size("--s", "256MiB") == std::uint64_t{256} << 20);
  CHECK(parse_size("--s", "256 MiB") == std::uint64_t{256} << 20);
  CHECK(parse_size("--s", "64MB") == 64'000'000);
  CHECK(parse_size("--s", "1g") == std::uint64_t{1} << 30);
  CHECK(parse_size("--s", "2K") == 2048);
  CHECK(parse_size("--s", "2KB") == 2000);
  CHECK(parse_size("--s", "2KiB") == 2048);
  CHECK(parse_size("--s", "1.5GiB") == std::uint64_t{3} << 29);
  CHECK(parse_size("--s", "9007199254740993") == 9007199254740993ULL);
}

TEST_CASE("sizes that make no sense are refused by name") {
  for (const char* text :
       {"", "MiB", "0", "-1", "1.2.3", "12XB", "1KiBs", "99999999999TiB", "1e3", ".", " 5", "0.1B"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parse_size("--shard-size", text), ContainsSubstring("--shard-size: \""));
  }
}

TEST_CASE("jobs and counts") {
  CHECK(parse_jobs("--jobs", "auto") == 0);
  CHECK(parse_jobs("--jobs", "16") == 16);
  for (const char* text : {"0", "-1", "", "many", "1025", "4x"}) CHECK_THROWS_AS(parse_jobs("--jobs", text), Error);
  CHECK(parse_whole("--seed", "0") == 0);
  for (const char* text : {"", "-1", "x", "1.0"}) CHECK_THROWS_AS(parse_whole("--seed", text), Error);
  CHECK(parse_positive("--n", "18446744073709551615") == ~std::uint64_t{0});
  for (const char* text : {"0", "", "-3", "18446744073709551616", "+1"})
    CHECK_THROWS_AS(parse_positive("--n", text), Error);
}

TEST_CASE("workers stages and devices") {
  CHECK(parse_workers("--w", "0") == 0);
  CHECK(parse_workers("--w", "auto") == k_workers_auto);
  for (const char* text : {"", "-1", "1025", "x"}) CHECK_THROWS_AS(parse_workers("--w", text), Error);
  CHECK(parse_stages("--s", "train,read") == std::vector{Stage::train, Stage::read});
  for (const char* text : {"", "train,", "write"}) CHECK_THROWS_AS(parse_stages("--s", text), Error);
  CHECK_FALSE(parse_device("--d", "cpu"));
  CHECK(parse_device("--d", "cuda") == 0);
  CHECK(parse_device("--d", "cuda:3") == 3);
  for (const char* text : {"", "tpu", "cuda:", "cuda:-1", "cuda:x", "cuda:9999"}) {
    CHECK_THROWS_WITH(parse_device("--d", text), ContainsSubstring("is not cpu, cuda or cuda:N"));
  }
  CHECK(parse_dtype("--t", "bfloat16") == DType::bfloat16);
  CHECK_THROWS_AS(parse_dtype("--t", "half"), Error);
  CHECK(parse_milliseconds("--s", "2.5") == Approx(0.0025));
  CHECK(parse_seconds("--s", "0.5") == 0.5);
  for (const char* text : {"", "0", "-1", "nan", "inf", "1s", "1e9"})
    CHECK_THROWS_AS(parse_seconds("--s", text), Error);
  CHECK(parse_count32("--b", "4294967295") == 4294967295U);
  for (const char* text : {"", "0", "4294967296"}) CHECK_THROWS_AS(parse_count32("--b", text), Error);
}

TEST_CASE("splits") {
  PackRequest request;
  OptionTable table;
  add_pack_options(table, request);
  const auto split = [&](const std::string& text) { take_options(table, {{"split", {text}}}); };
  const std::vector<Split>& splits = request.options.splits;
  split("train=0.9,val=0.05,test=0.05");
  REQUIRE(splits.size() == 3);
  CHECK(splits[0].name == "train");
  CHECK(splits[0].fraction == Approx(0.9));
  CHECK(splits[2].name == "test");
  split("all=1");
  CHECK(splits.size() == 1);
  for (const char* text : {"", "train", "train=", "=1", "train=1,", "a=0.5,a=0.5", "a=0.5,b=0.4", "a=1.5", "a=0,b=1",
                           "a=nan", "../x=1", ".x=1", "a=0.5,b=0.6"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(split(text), Error);
  }
}

TEST_CASE("compression levels") {
  PackOptions options;
  OptionTable table;
  add_format_options(table, options);
  const auto compress = [&](const std::string& text) { take_options(table, {{"compress", {text}}}); };
  compress("zstd");
  CHECK(options.compress_level == 3);
  compress("zstd:19");
  CHECK(options.compress_level == 19);
  for (const char* text : {"", "gzip", "zstd:", "zstd:0", "zstd:20", "zstd9", "zstd:3x"}) {
    CHECK_THROWS_AS(compress(text), Error);
  }
}

TEST_CASE("numbers for people") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1024) == "1 KiB");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes((std::uint64_t{1} << 20) - 1) == "1 MiB");
  CHECK(human_bytes(std::uint64_t{256} << 20) == "256 MiB");
  CHECK(human_bytes(~std::uint64_t{0}) == "16 EiB");
  CHECK(human_count(0) == "0");
  CHECK(human_count(999) == "999");
  CHECK(human_count(1281167) == "1,281,167");
  CHECK(human_clock(6.2) == "0:07");
  CHECK(human_clock(750) == "12:30");
  CHECK(human_clock(7500) == "2:05:00");
  CHECK(human_seconds(187) == "3 min 07 s");
  CHECK(plural(1, "class") == "1 class");
  CHECK(plural(2, "class") == "2 classes");
  CHECK(plural(1500, "shard") == "1,500 shards");
}

TEST_CASE("the progress bar fits whatever the width is") {
  const ProgressCounts counts{.samples = 5730,
                              .total_samples = 12500,
                              .bytes = 460'000'000,
                              .total_bytes = 1'000'000'000,
                              .shards = 3,
                              .total_shards = 7};
  const ProgressRates rates{.samples_per_second = 8012, .bytes_per_second = 870e6};
  for (unsigned width = 0; width < 160; ++width) {
    CAPTURE(width);
    CHECK(progress_bar(counts, rates, width).size() <= std::max(width, 1U) - 1);
  }
  const std::string wide = progress_bar(counts, rates, 150);
  for (const char* part : {"46%", "5,730/12,500", "8,012 img/s", "870 MB/s", "ETA 0:01", "3/7 shards", "#"}) {
    CHECK_THAT(wide, ContainsSubstring(part));
  }
}

TEST_CASE("progress in words, with and without totals") {
  const ProgressRates rates{.samples_per_second = 100, .bytes_per_second = 1e6};
  CHECK(progress_sentence("packed", {.samples = 50, .total_samples = 200, .bytes = 500'000, .total_bytes = 2'000'000},
                          rates) == "packed 50 of 200 samples (25%), 100 img/s, 1.0 MB/s, ETA 0:02");
  CHECK(progress_sentence("verified", {.bytes = 2048, .total_bytes = 4096}, {}) ==
        "verified 2 KiB of 4 KiB (50%), 0.0 MB/s");
  CHECK(progress_fraction({}) == 0);
  CHECK(progress_fraction({.samples = 7, .total_samples = 5}) == 1);
}

TEST_CASE("rates follow the counters and never go below zero") {
  RateMeter meter;
  meter.update(0, {});
  meter.update(1, {.samples = 100, .bytes = 1000});
  CHECK(meter.rates().samples_per_second == Approx(100));
  for (int second = 2; second < 40; ++second) {
    meter.update(second, {.samples = 100 + static_cast<std::uint64_t>(second - 1) * 300});
  }
  CHECK(meter.rates().samples_per_second == Approx(300).epsilon(0.01));
  CHECK(meter.rates().bytes_per_second >= 0);
}

TEST_CASE("names that would leave the directory are refused") {
  for (const char* name : {"", "/etc/passwd", "..", "../x", "a/../x", "a/..", "a//b", "a/", "./a", "a/."}) {
    CAPTURE(name);
    CHECK_THROWS_AS(check_contained(name), Error);
  }
  CHECK_THROWS_AS(check_contained(std::string_view("a\0b", 3)), Error);
  CHECK_NOTHROW(check_contained("n01440764/n01440764_10026.jpg"));
  CHECK_NOTHROW(check_contained("..a/b..c"));
}

TEST_CASE_METHOD(test::InTempDir, "a safe directory writes below itself and replaces only when asked") {
  SafeDirectory directory(dir / "out");
  directory.write("a/b/c.jpg", as_bytes("one"), false);
  CHECK(test::slurp(dir / "out/a/b/c.jpg") == "one");
  CHECK_THROWS_WITH(directory.write("a/b/c.jpg", as_bytes("two"), false), ContainsSubstring("`force`"));
  CHECK(test::slurp(dir / "out/a/b/c.jpg") == "one");
  directory.write("a/b/c.jpg", as_bytes("two"), true);
  CHECK(test::slurp(dir / "out/a/b/c.jpg") == "two");
}

TEST_CASE_METHOD(test::InTempDir, "a safe directory follows no links") {
  REQUIRE(::mkdir((dir / "outside").c_str(), 0755) == 0);
  SafeDirectory directory(dir / "out");
  REQUIRE(::symlink((dir / "outside").c_str(), (dir / "out/link").c_str()) == 0);
  REQUIRE(::symlink((dir / "outside/file").c_str(), (dir / "out/file").c_str()) == 0);
  CHECK_THROWS_AS(directory.write("link/x", as_bytes("x"), true), Error);
  CHECK_THROWS_AS(directory.write("file", as_bytes("x"), false), Error);
  directory.write("file", as_bytes("x"), true);  // the link goes, not what it points to
  CHECK(test::slurp(dir / "out/file") == "x");
  CHECK(::access((dir / "outside/file").c_str(), F_OK) != 0);
  CHECK(::access((dir / "outside/x").c_str(), F_OK) != 0);
}

TEST_CASE("every value is in the histogram, in at most a dozen rows") {
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < 1000; ++i) values.push_back(i * i % 7919 + 3);
  values.push_back(1'000'000);
  std::sort(values.begin(), values.end());
  const std::string text = histogram_text(values, Bounds::decimal, human_count);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 12);
  CHECK_THAT(text, ContainsSubstring("1,000,000"));
  CHECK_THAT(histogram_text(std::vector<std::uint64_t>{5}, Bounds::binary, human_count),
             ContainsSubstring("5 .. 5  1  ####"));
}

TEST_CASE("help, man page and completion tell every command and option") {
  const CommandModel child{
      .name = "bale pack",
      .summary = "Pack things.",
      .options = {{.long_name = "SRC", .value_name = "SRC", .text = "Where from", .required = true},
                  {.short_name = "-j", .long_name = "--jobs", .value_name = "N|auto", .text = "Jobs"},
                  {.long_name = "--on", .value_name = "a|b", .text = "It's [odd]: yes"}}};
  const CommandModel program{.name = "bale", .summary = "Packs.", .commands = {child}};
  CHECK_THAT(help_text(program, 80), ContainsSubstring("pack"));
  CHECK_THAT(help_text(child, 80),
             ContainsSubstring("-j, --jobs N|auto") && ContainsSubstring("Usage: bale pack [OPTIONS] SRC"));
  CHECK_THAT(man_page(program), ContainsSubstring("\\fB\\-\\-jobs\\fR"));
  for (const std::string& shell : completion_shells()) {
    CAPTURE(shell);
    CHECK_THAT(completion_script(program, shell), ContainsSubstring("jobs") && ContainsSubstring("a b"));
  }
  CHECK_THROWS_AS(completion_script(program, "csh"), Error);
}

TEST_CASE("a hint has only the advice that the command can follow") {
  const OptionNames flags{.names = {"exclude", "on_error"}, .are_flags = true};
  CHECK(flags.followable("rename one, or leave it out with `exclude`, or make them one with `pair`") ==
        "rename one, or leave it out with --exclude");
  CHECK(flags.followable("`overwrite` replaces it, or choose `on_error` skip") == "choose --on-error skip");
  CHECK(flags.followable("choose another name; `overwrite` would pack beside it") == "choose another name");
  CHECK(flags.followable("`overwrite` replaces it").empty());
  CHECK(OptionNames{}.followable("run `bale index --x; y`, or `tar -c`") == "run `bale index --x; y`, or `tar -c`");
  CHECK(flags.shown("`include` and `exclude` leave nothing; give `flat`") == "`include` and --exclude leave nothing");
  CHECK(flags.shown("an open ` stays, or not") == "an open ` stays, or not");
  const OptionNames keywords{.names = {"exclude", "on_error"}};
  CHECK(keywords.followable("leave it out with `exclude`, or make them one with `pair`") ==
        "leave it out with exclude");
  // A lack of open files is not about the file, so its hint is replaced.
  const Error error(ErrorCode::io, "cannot read", {.hint = "leave it out with `exclude`", .system_error = EMFILE});
  CHECK_THAT(error.what(), ContainsSubstring("ulimit") && !ContainsSubstring("exclude"));
}

TEST_CASE("a misspelled word suggests the nearest one") {
  const std::vector<std::string> words{"--shard-size", "--shard-samples", "--quiet", "pack"};
  CHECK(suggestion("--shard-sizes", words) == "; did you mean --shard-size?");
  CHECK(suggestion("--qiuet", words) == "; did you mean --quiet?");
  CHECK(suggestion("pcak", words) == "; did you mean pack?");
  CHECK(suggestion("--shard-sam", words) == "; did you mean --shard-samples?");
  CHECK(suggestion("ls", words).empty());
  CHECK(suggestion("--nonsense", words).empty());
  CHECK(suggestion("", words).empty());
}

TEST_CASE("tables align by what is seen") {
  TextTable table({Align::left, Align::right});
  table.add({"NAME", "N"});
  table.add({"é", "1,000"});
  CHECK(table.text() == "NAME      N\né     1,000\n");
}

namespace {

StageResult result_of(double images_per_s, double wait_seconds = 1) {
  StageResult result{.images = static_cast<std::uint64_t>(images_per_s * 2), .batches = 8, .seconds = 2};
  result.wait_seconds = wait_seconds;
  return result;
}

TuneRow row_of(unsigned workers, std::uint32_t prefetch, double images_per_s) {
  return {.workers = workers, .prefetch = prefetch, .result = result_of(images_per_s)};
}

}  // namespace

TEST_CASE("CPU time and memory of this process are accounted for") {
  const double before = cpu_seconds({});
  std::vector<unsigned char> memory(std::size_t{64} << 20);
  for (std::size_t at = 0; at < memory.size(); at += 4096) memory[at] = 1;
  while (cpu_seconds({}) < before + 0.02) memory[0] = static_cast<unsigned char>(memory[0] + 1);
  const auto pss = pss_bytes({});
  if (pss) CHECK(*pss >= memory.size());
  const int gone[] = {0x7FFFFFFF};
  CHECK(cpu_seconds(gone) >= before + 0.02);
  CHECK(seconds_since_start() > 0);
  CHECK(seconds_since_start() < 3600);
  CHECK(usable_cores() >= 1);
  CHECK(machine_times().busy > 0);
}

TEST_CASE("times of the machine are of the cores that this process may use") {
  cpu_set_t all;
  REQUIRE(::sched_getaffinity(0, sizeof(all), &all) == 0);
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  const auto sum = [](const MachineTimes& times) { return times.busy + times.waiting + times.idle; };
  const double whole = sum(machine_times());
  REQUIRE(::sched_setaffinity(0, sizeof(one), &one) == 0);
  const double pinned = sum(machine_times());
  REQUIRE(::sched_setaffinity(0, sizeof(all), &all) == 0);
  CHECK(pinned > 0);
  if (CPU_COUNT(&all) > 1) CHECK(pinned < whole);
}

TEST_CASE("workers are tried in doubling steps that include the number of cores") {
  CHECK(worker_steps(1) == std::vector<unsigned>{0, 1, 2});
  CHECK(worker_steps(2) == std::vector<unsigned>{0, 1, 2, 4});
  CHECK(worker_steps(6) == std::vector<unsigned>{0, 1, 2, 4, 6, 8});
  CHECK(worker_steps(16) == std::vector<unsigned>{0, 1, 2, 4, 8, 16, 32});
}

TEST_CASE("the smallest setting that is about as fast is recommended") {
  const std::vector<TuneRow> rows{row_of(0, 4, 500),  row_of(1, 4, 900),  row_of(2, 4, 1750), row_of(4, 4, 1800),
                                  row_of(8, 4, 1790), row_of(2, 2, 1600), row_of(2, 8, 1790)};
  CHECK(recommended(rows) == 2);
  CHECK(recommended(std::vector{row_of(0, 4, 0)}) == 0);
}

TEST_CASE("what binds is distinguished from CPU storage and waiting") {
  TuneRow row = row_of(2, 4, 1000);
  row.cpu_share = 0.97;
  row.machine_share = 1;
  CHECK(bound_of(row, 50'000) == Bound::cpu);
  row.cpu_share = 0.4;
  CHECK(bound_of(row, 50'000) == Bound::other_programs);
  CHECK(bound_of(row, 1100) == Bound::other_programs);  // who shares the cores cannot tell what storage does
  row.machine_share = 0.5;
  CHECK(bound_of(row, 1100) == Bound::storage);
  CHECK(bound_of(row, 50'000) == Bound::workers);
  row.io_wait_share = 0.4;
  CHECK(bound_of(row, 50'000) == Bound::storage);
  row.io_wait_share = 0;
  row.result.wait_seconds = 0.01;
  CHECK(bound_of(row, 50'000) == Bound::consumer);
  row.workers = 0;  // the caller itself does the work: it never waits
  CHECK(bound_of(row, 50'000) == Bound::workers);
  for (const Bound bound : {Bound::cpu, Bound::other_programs, Bound::storage, Bound::consumer, Bound::workers}) {
    CHECK_FALSE(bound_name(bound).empty());
    CHECK_FALSE(bound_advice(bound).empty());
  }
}

TEST_CASE("the doctor names the slowest part, and how many workers would do") {
  DoctorFigures figures{.read = 20'000, .load = 4000, .setting = row_of(8, 4, 4000), .cores = 8};
  figures.setting.cpu_share = 0.95;
  figures.setting.machine_share = 0.97;
  CHECK(bottleneck_of(figures) == Bottleneck::decode);
  CHECK_THAT(advice(figures), ContainsSubstring("cores are busy decoding"));
  figures.setting.workers = 2;
  figures.setting.cpu_share = 0.3;
  figures.setting.machine_share = 0.3;
  CHECK_THAT(advice(figures), ContainsSubstring("set workers to 8"));
  figures.setting.workers = 8;
  figures.setting.machine_share = 0.99;
  CHECK_THAT(advice(figures), ContainsSubstring("Other programs"));
  figures.setting.machine_share = 0.3;
  figures.read = 4100;
  CHECK(bottleneck_of(figures) == Bottleneck::read);
  CHECK_THAT(advice(figures), ContainsSubstring("--order block"));
  figures.copy = 3000;
  CHECK(bottleneck_of(figures) == Bottleneck::copy);
  figures.compute = 1000;
  CHECK(bottleneck_of(figures) == Bottleneck::compute);
  CHECK(workers_needed(figures) == 3);  // 1.15 * 1000 / 4000 of 8
  CHECK_THAT(advice(figures), ContainsSubstring("3 workers would do"));
  figures.compute = 5000;
  CHECK(bottleneck_of(figures) == Bottleneck::copy);
  figures.copy.reset();
  CHECK(bottleneck_of(figures) == Bottleneck::read);
  CHECK(workers_needed(figures) == 8);
  for (const Bottleneck one : {Bottleneck::read, Bottleneck::decode, Bottleneck::copy, Bottleneck::compute}) {
    CHECK_FALSE(bottleneck_name(one).empty());
  }
}

TEST_CASE("the doctor says how long the GPU waits, and how many cores would do") {
  DoctorFigures figures{.read = 20'000, .load = 864, .compute = 2700, .setting = row_of(8, 4, 864), .cores = 8};
  figures.setting.cpu_share = 1;
  figures.setting.machine_share = 1;
  CHECK(*device_waits(figures) == Approx(0.68));
  CHECK(cores_needed(figures) == 29);  // 1.15 * 2700 / 864 of 8
  CHECK(waiting_text(figures) ==
        "The GPU waits 68% of the time: its steps can take 2700 images per second, and 864 arrive. 29 cores would do; "
        "this "
        "machine has 8.");
  figures.setting.cpu_share = figures.setting.machine_share = 0.5;  // what the loader did not use, it does not need
  CHECK(cores_needed(figures) == 15);
  figures.read = 900;
  CHECK(waiting_text(figures) ==
        "The GPU waits 68% of the time: its steps can take 2700 images per second, and 864 arrive.");
  figures.compute = 500;
  CHECK(*device_waits(figures) == 0);
  CHECK(waiting_text(figures) == "The GPU does not wait for data.");
  figures.compute.reset();
  CHECK_FALSE(device_waits(figures));
  CHECK(waiting_text(figures).empty());
}

TEST_CASE("no setting is recommended from a machine that is too busy, or from samples that nothing could decode") {
  TuneRow row = row_of(2, 4, 1000);
  row.cpu_share = 0.4;
  row.machine_share = 0.5;
  CHECK_FALSE(no_verdict(row, 50'000));
  row.machine_share = 0.95;
  CHECK(no_verdict(row, 50'000) == NoVerdict::machine_too_busy);
  CHECK(no_verdict_text(NoVerdict::machine_too_busy, row) ==
        "No recommendation: other programs took 55% of the cores while the fastest setting was measured. Measure again "
        "when no other program runs.");
  row.result.images = 0;
  row.result.bad = {"a.tar: cut off (key x)"};
  CHECK(no_verdict(row, 50'000) == NoVerdict::nothing_decoded);
  CHECK_THAT(no_verdict_text(NoVerdict::nothing_decoded, row), ContainsSubstring("a.tar: cut off (key x)"));
}

TEST_CASE("a pipeline is a line of Python") {
  LoaderOptions options{.batch_size = 8, .workers = 2, .prefetch = 4, .transform = train_transform(32)};
  CHECK(python_loader("packs/tar", options) ==
        "bt.Loader(\"packs/tar\", batch_size=8, workers=2, prefetch=4, transform=bale.transforms.train(32))");
  options.transform.dtype = DType::bfloat16;
  options.transform.normalize = true;
  options.shuffle = Shuffle::block(8, 2);
  options.worker_mode = WorkerMode::threads;
  options.max_pixels = 1000;
  CHECK(python_loader("a", options) ==
        "bt.Loader(\"a\", batch_size=8, workers=2, prefetch=4, transform=bale.transforms.train(32, "
        "dtype=\"bfloat16\", normalize=True), shuffle=\"block\", order=bale.Order(block_samples=8, "
        "window_blocks=2), threads=True, reading=bale.Reading(max_pixels=1000))");
  CHECK(python_literal("a\"b\\") == R"("a\"b\\")");
  CHECK(python_literal("\xff\n") == R"(b"\xff\x0a")");
  CHECK(python_literal("\u00e9") == "\"\u00e9\"");
}

TEST_CASE("bars of a bench are as long as an image takes") {
  StageResult slow = result_of(500);
  slow.memory = 180'400'000;
  const std::vector<MeasuredStage> stages{{Stage::read, result_of(2000)}, {Stage::train, slow}};
  const std::string drawn = bench_table(stages, 40);
  CHECK_THAT(drawn, ContainsSubstring("180 MB      0.000 s  " + std::string(40, '#') + "\n"));
  CHECK_THAT(drawn, ContainsSubstring("  " + std::string(10, '#') + "\n"));
  CHECK(bench_table(stages, 0).find('#') == std::string::npos);
  CHECK(bench_table({}, 40).find('#') == std::string::npos);
}

TEST_CASE("a scan is reported after two seconds, and then every five") {
  test::TempDir dir;
  const File err = File::create(dir / "err");
  Terminal terminal(STDOUT_FILENO, err.fd());
  std::chrono::steady_clock::time_point now{};
  ScanNotice notice(terminal, false, [&] { return now; });
  const auto show = notice.shower();
  for (std::size_t second = 0; second < 10; ++second) {
    now = std::chrono::steady_clock::time_point(std::chrono::seconds(second));
    show(second, 400);
  }
  CHECK(test::slurp(dir / "err") == scan_sentence(2, 400) + "\n" + scan_sentence(7, 400) + "\n");
  CHECK(scan_sentence(11, 400).starts_with("scanning shard 12 of 400;"));
  CHECK_FALSE(ScanNotice(terminal, true).shower());
}
