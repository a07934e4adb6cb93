// Tar shards and everybody else: archives of GNU tar and bsdtar read by us, ours read by others.
#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "bale/formats/registry/registry.hpp"
#include "bale/tests/unit/formats/tar/tar_support.hpp"

using namespace bale;
using namespace bale::test;

namespace {

const std::string k_long_component(120, 'l');
/// 300 bytes, no '/' where ustar could split it; a file system takes at most 255 a component.
const std::string k_long_stem = "d/" + std::string(200, 'm') + "/" + std::string(97, 'n');

/// Files below `root` for these samples.
void unpack_by_hand(const std::string& root, const std::vector<OwnedSample>& samples) {
  for (const OwnedSample& sample : samples) {
    for (const OwnedField& field : sample.fields) {
      const std::string path = root + "/" + sample.key + "." + field.name;
      std::filesystem::create_directories(std::filesystem::path(path).parent_path());
      spit(path, field.bytes);
    }
  }
}

/// A file with the members' names, NUL-separated and in order, for `tar -T ... --null`.
void list_members(const std::string& path, const std::vector<OwnedSample>& samples, const std::string& prefix = "") {
  std::string list;
  for (const OwnedSample& sample : samples) {
    for (const OwnedField& field : sample.fields) list += prefix + sample.key + "." + field.name + '\0';
  }
  spit(path, list);
}

std::vector<OwnedSample> samples_of(const std::vector<std::string>& keys) {
  std::vector<OwnedSample> samples;
  for (const std::string& key : keys) {
    samples.push_back({key, {{"cls", "7\n"}, {"jpg", random_bytes(3000, key.size())}}});
  }
  return samples;
}

/// Every member as libarchive gives it, "name NUL bytes NUL" one after another.
std::string judged_by_libarchive(const std::string& path) {
  const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const locale_t previous = ::uselocale(utf8);
  const std::unique_ptr<archive, int (*)(archive*)> reader(archive_read_new(), archive_read_free);
  archive_read_support_format_tar(reader.get());
  archive_read_support_filter_all(reader.get());
  REQUIRE(archive_read_open_filename(reader.get(), path.c_str(), 1 << 16) == ARCHIVE_OK);
  std::string all;
  archive_entry* entry = nullptr;
  int result = ARCHIVE_OK;
  while ((result = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK) {
    CHECK(archive_entry_filetype(entry) == AE_IFREG);
    CHECK(archive_entry_perm(entry) == 0444);
    CHECK(archive_entry_mtime(entry) == 0);
    const char* name = archive_entry_pathname(entry);
    REQUIRE(name != nullptr);
    std::string bytes(static_cast<std::size_t>(archive_entry_size(entry)), '\0');
    REQUIRE(archive_read_data(reader.get(), bytes.data(), bytes.size()) == static_cast<la_ssize_t>(bytes.size()));
    all += std::string(name) + '\0' + bytes + '\0';
  }
  CHECK(result == ARCHIVE_EOF);
  ::uselocale(previous);
  ::freelocale(utf8);
  return all;
}

std::string expected_members(const std::vector<OwnedSample>& samples) {
  std::string all;
  for (const OwnedSample& sample : samples) {
    for (const OwnedField& field : sample.fields) all += sample.key + "." + field.name + '\0' + field.bytes + '\0';
  }
  return all;
}

const std::vector<std::string> k_hard_keys{
    "plain",     "new\nline/a\nb",        "bytes \xff\xfe",
    k_long_stem, "a/" + k_long_component, "\xc3\xa4/" + k_long_component + "\xc3\xa4/x"};

bool has(const TempDir& dir, const std::string& tool) {
  if (run_in(dir.path(), "command -v " + tool)) return true;
  WARN(tool << " is not installed: not compared");
  return false;
}

/// What that command archives of the files in `../list` is read.
void check_made_by(const TempDir& dir, const std::string& command, const std::string& archive, bool long_names) {
  const auto samples =
      samples_of(long_names ? k_hard_keys : std::vector<std::string>{"a", "dir/b", "new\nline", "\xff"});
  std::filesystem::remove_all(dir / "in");
  unpack_by_hand(dir / "in", samples);
  list_members(dir / "list", samples);
  REQUIRE(run_in(dir / "in", command));
  CHECK(read_samples(dir / archive) == samples);
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "GNU tar's formats are read") {
  for (const std::string format : {"v7", "ustar", "gnu", "pax"}) {
    INFO(format);
    const std::string command = "tar --format=" + format + " --null --verbatim-files-from -T ../list -cf ../g.tar";
    check_made_by(dir, command, "g.tar", format == "gnu" || format == "pax");
    CHECK(scan_shard(dir / "g.tar", k_tar_format).label(0) == 7);
    CHECK(probe_format(dir / "g.tar").name == "tar");
  }
}

TEST_CASE_METHOD(InTempDir, "bsdtar's formats are read") {
  if (!has(dir, "bsdtar")) return;
  for (const std::string format : {"ustar", "pax", "gnutar", "v7"}) {
    INFO(format);
    const std::string command = "LC_ALL=C bsdtar --format " + format + " --null -cf ../b.tar -T ../list";
    check_made_by(dir, command, "b.tar", format == "pax" || format == "gnutar");
  }
}

TEST_CASE_METHOD(InTempDir, "directories, symbolic links and metadata are ignored, ./ stays in the key") {
  const auto samples = samples_of({"a/one", "a/two"});
  unpack_by_hand(dir / "in", samples);
  REQUIRE(run_in(dir / "in",
                 "ln -s one.jpg a/three.jpg && ln a/one.jpg a/zero.jpg && mkfifo a/pipe.jpg && mkdir __info__ && "
                 "echo x > __info__/y.json && echo x > __top__ && echo x > README && echo x > .hidden"));
  REQUIRE(run_in(dir / "in", "tar --sort=name -cf ../x.tar ."));
  auto expected = samples;
  expected.push_back({"a/zero", {samples[0].fields[1]}});  // a hard link
  const auto without_prefix = expected;
  for (OwnedSample& sample : expected) sample.key = "./" + sample.key;
  auto found = read_samples(dir / "x.tar");
  // "./__info__" is not at the top, so WebDataset reads it, and we with it.
  std::erase_if(found, [](const OwnedSample& sample) { return sample.key == "./__info__/y"; });
  CHECK(found == expected);
  REQUIRE(run_in(dir / "in", "tar --sort=name -cf ../y.tar *"));
  CHECK(read_samples(dir / "y.tar") == without_prefix);
}

TEST_CASE_METHOD(InTempDir, "field names are lower case, jpeg is jpg, and a sample has a field once") {
  spit(dir / "a.JPEG", "1");
  spit(dir / "a.Txt", "2");
  spit(dir / "a.jpg", "3");
  REQUIRE(run_in(dir.path(), "tar -cf x.tar a.JPEG a.Txt"));
  CHECK(read_samples(dir / "x.tar") == std::vector<OwnedSample>{{"a", {{"jpg", "1"}, {"txt", "2"}}}});
  REQUIRE(run_in(dir.path(), "tar -cf y.tar a.JPEG a.jpg"));
  CHECK(read_samples(dir / "y.tar") == std::vector<OwnedSample>{{"a", {{"jpeg", "1"}, {"jpg", "3"}}}});
  REQUIRE(run_in(dir.path(), "cp a.jpg a.JPG && tar -cf y.tar a.JPG a.jpg"));
  CHECK(read_samples(dir / "y.tar") == std::vector<OwnedSample>{{"a", {{"jpg", "3"}}}});
  REQUIRE(run_in(dir.path(), "cp a.jpg b.jpg && tar -cf z.tar a.jpg b.jpg a.Txt"));
  CHECK(read_samples(dir / "z.tar") ==
        std::vector<OwnedSample>{{"a", {{"jpg", "3"}, {"txt", "2"}}}, {"b", {{"jpg", "3"}}}});
}

TEST_CASE_METHOD(InTempDir, "libarchive reads every member as it was packed") {
  auto samples = mixed_samples(30);
  for (const OwnedSample& sample : samples_of(k_hard_keys)) samples.push_back(sample);
  samples.push_back({std::string(300, '\xfe'), {{"jpg", "not utf-8 and too long for ustar"}}});
  for (const std::string layout : {"plain", "gz", "zst"}) {
    INFO(layout);
    pack_samples(dir / "s", layout, samples);
    CHECK(judged_by_libarchive(dir / "s") == expected_members(samples));
  }
}

TEST_CASE_METHOD(InTempDir, "GNU tar, gzip, zstd and python read ours") {
  auto samples = mixed_samples(30);
  for (const OwnedSample& sample : samples_of(k_hard_keys)) samples.push_back(sample);
  pack_samples(dir / "s.tar", "plain", samples);
  pack_samples(dir / "s.tar.gz", "gz", samples);
  pack_samples(dir / "s.tar.zst", "zst", samples);
  REQUIRE(run_in(dir.path(), "mkdir out && tar -C out -xf s.tar"));
  for (const OwnedSample& sample : samples) {
    for (const OwnedField& field : sample.fields) {
      CHECK(slurp(dir / ("out/" + sample.key + "." + field.name)) == field.bytes);
    }
  }
  CHECK(run_in(dir.path(), "gzip -t s.tar.gz && gzip -dc s.tar.gz | cmp - s.tar"));
  CHECK(run_in(dir.path(), "mkdir out2 && tar -C out2 -xf s.tar.gz && diff -r out out2"));
  if (has(dir, "zstd")) {
    CHECK(run_in(dir.path(), "zstd -dc s.tar.zst | cmp - s.tar"));
    CHECK(run_in(dir.path(), "mkdir out3 && tar -C out3 --zstd -xf s.tar.zst && diff -r out out3"));
  }
  if (has(dir, "python3")) {
    // Stream mode, as WebDataset reads: it knows nothing of a second gzip member.
    spit(dir / "list.py",
         "import sys, tarfile\n"
         "with open('members', 'wb') as out:\n"
         "    t = tarfile.open(fileobj=open(sys.argv[1], 'rb'), mode='r|*', encoding='utf-8', "
         "errors='surrogateescape')\n"
         "    for m in t:\n"
         "        assert m.isreg() and m.uname == m.gname == 'bigdata' and m.mode == 0o444 and m.mtime == 0\n"
         "        out.write(m.name.encode('utf-8', 'surrogateescape') + b'\\0' + t.extractfile(m).read() + b'\\0')\n");
    for (const std::string file : {"s.tar", "s.tar.gz"}) {
      REQUIRE(run_in(dir.path(), "python3 list.py " + file));
      CHECK(slurp(dir / "members") == expected_members(samples));
    }
  }
}

TEST_CASE_METHOD(InTempDir, "sparse members, bzip2 and xz go through libarchive") {
  auto samples = mixed_samples(12);
  samples.push_back(
      {"sparse", {{"bin", std::string(300000, '\0') + "data" + std::string(100000, '\0')}, {"cls", "3"}}});
  unpack_by_hand(dir / "in", samples);
  list_members(dir / "list", samples);
  REQUIRE(run_in(dir / "in", "cp --sparse=always sparse.bin s && mv s sparse.bin"));
  for (const std::string how : {"--format=gnu -S -cf ../x.tar", "--format=pax -S -cf ../x.tar", "-cjf ../x.tar.bz2",
                                "-cJf ../x.tar.xz", "--format=gnu -S -czf ../x.tar.gz"}) {
    INFO(how);
    REQUIRE(run_in(dir / "in", "rm -f ../x.*; tar --null --verbatim-files-from -T ../list " + how));
    std::string path;
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
      if (entry.path().filename().string().starts_with("x.")) path = entry.path().string();
    }
    const ShardIndex index = scan_shard(path, k_tar_format);
    CHECK(index.label(1) == 1);
    CHECK(index.label(samples.size() - 1) == 3);
    CHECK(index.fields()[0].located == (how.find("-S") == std::string::npos));
    CHECK(read_samples(path) == samples);
    CHECK(probe_format(path).name == "tar");
    const Shard shard = open_shard(path);
    CHECK(shard.locate(0).empty());
    std::string damaged = slurp(path);
    if (path.ends_with(".tar")) continue;
    damaged.resize(damaged.size() / 2);
    spit(path, damaged);
    CHECK_THROWS_AS(scan_shard(path, k_tar_format), Error);
  }
}
