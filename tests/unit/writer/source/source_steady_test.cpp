// Files that change while they are read.
#include <utime.h>

#include <functional>

#include "bale/tests/unit/writer/source/source_support.hpp"
#include "bale/writer/source/files/steady_file.hpp"

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
