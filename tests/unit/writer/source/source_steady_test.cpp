// Files that change while they are read, and what goes after it was listed.
#include <utime.h>

#include <functional>

#include "bale/tests/unit/writer/source/source_support.hpp"
#include "bale/writer/source/files/steady_file.hpp"
#include "bale/writer/source/folder/folder_walk.hpp"

using namespace bale;
using namespace bale::test;
namespace fs = std::filesystem;

namespace {

bool read_after(const std::string& path, const std::function<void()>& change) {
  const SteadyFile file(path);
  change();
  std::vector<std::byte> out(file.size() + 1);
  return file.read(out, path);
}

void add_tree_files(const TempDir& dir) {
  write_file(dir / "a/1.jpg", pixmap());
  write_file(dir / "b/1.jpg", pixmap());
}

}  // namespace

TEST_CASE_METHOD(InTempDir, "a file that grows, shrinks or is touched between open and end is noticed") {
  const std::string path = dir / "f";
  write_file(path, "content");
  CHECK(read_after(path, [] {}));
  CHECK_FALSE(read_after(path, [&] { fs::resize_file(path, 3); }));
  CHECK_FALSE(read_after(path, [&] { std::ofstream(path, std::ios::app) << "more"; }));
  CHECK_FALSE(read_after(path, [&] { fs::resize_file(path, 0); }));
  write_file(path, "content");
  CHECK_FALSE(read_after(path, [&] {
    const utimbuf then{1, 1};
    REQUIRE(::utime(path.c_str(), &then) == 0);
  }));
  // Replacing the name leaves the open file alone.
  CHECK(read_after(path, [&] { fs::remove(path); }));
}

TEST_CASE_METHOD(InTempDir, "an empty file, a file that is too large and a directory") {
  write_file(dir / "empty", "");
  CHECK(read_after(dir / "empty", [] {}));
  write_file(dir / "sparse", "");
  fs::resize_file(dir / "sparse", std::uint64_t{1} << 32);
  CHECK(error_of([&] { SteadyFile file(dir / "sparse"); }).code() == ErrorCode::unsupported);
  CHECK(error_of([&] { SteadyFile file(dir.path()); }).code() == ErrorCode::unsupported);
  CHECK(error_of([&] { SteadyFile file(dir / "empty/x"); }).code() == ErrorCode::not_found);
}

TEST_CASE_METHOD(InTempDir, "a file and a folder that go after they are listed are missed") {
  add_tree_files(dir);
  const auto source = open_folder_source(dir.path(), {});
  fs::remove(dir / "b/1.jpg");
  Scratch scratch;
  CHECK(error_of([&] { source->read(1, scratch); }).message() == "gone since it was listed");

  for (const bool skips : {false, true}) {
    add_tree_files(dir);
    WalkRules rules{.wanted = [](std::string_view) { return true; }, .skip_unreadable = skips};
    rules.excluded = [&](const std::string& path, bool) { return path == dir / "b" && fs::remove_all(path) == 0; };
    NoticeLog notices;
    std::vector<SourceLoss> losses;
    DirectoryWalk walk(dir.path(), std::move(rules), notices, losses, 1);
    if (skips) {
      CHECK(walk.files_below(dir.path()).size() == 1);
      CHECK(losses.at(0).path == dir / "b");
    } else {
      CHECK(error_of([&] { walk.files_below(dir.path()); }).message() == "gone since the folder above it was listed");
    }
  }
}
