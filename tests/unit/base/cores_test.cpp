// The number of cores that containers and launchers leave to a process.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "bale/formats/base/system/cores.hpp"
#include "bale/loader/options/loader_table.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/temp_dir.hpp"

using namespace bale;
using namespace bale::test;
using loader_detail::share_of_cores;

namespace {

std::optional<double> quota_with(const std::map<std::string, std::string>& files) {
  const TempDir root;
  for (const auto& [name, content] : files) {
    const std::filesystem::path path = root / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }
  return cpu_quota(root.path());
}

}  // namespace

TEST_CASE("The CPU quota is the least of all control groups that a process is in") {
  const std::string self = "proc/self/cgroup";
  const std::string groups = "sys/fs/cgroup/";
  CHECK_FALSE(quota_with({}));
  // Version 2, in a container and on the host.
  CHECK(quota_with({{self, "0::/\n"}, {groups + "cpu.max", "150000 100000\n"}}) == 1.5);
  CHECK_FALSE(quota_with({{self, "0::/\n"}, {groups + "cpu.max", "max 100000\n"}}));
  CHECK(quota_with({{self, "0::/a/b\n"},
                    {groups + "a/b/cpu.max", "max 100000\n"},
                    {groups + "a/cpu.max", "400000 100000\n"},
                    {groups + "cpu.max", "800000 100000\n"}}) == 4);
  // Version 1: own group, one above it, the host's path in a container, several controllers in one hierarchy.
  CHECK(quota_with({{self, "3:memory:/x\n2:cpu:/job\n"},
                    {groups + "cpu/job/cpu.cfs_quota_us", "200000\n"},
                    {groups + "cpu/job/cpu.cfs_period_us", "100000\n"},
                    {groups + "cpu/cpu.cfs_quota_us", "-1\n"},
                    {groups + "cpu/cpu.cfs_period_us", "100000\n"}}) == 2);
  CHECK(quota_with({{self, "4:cpu,cpuacct:/docker/0123\n0::/\n"},
                    {groups + "cpu,cpuacct/cpu.cfs_quota_us", "50000\n"},
                    {groups + "cpu,cpuacct/cpu.cfs_period_us", "100000\n"}}) == 0.5);
  // Nothing that is broken stops anybody.
  CHECK_FALSE(quota_with({{self, "nonsense\n1\n:\n0::/\n"}, {groups + "cpu.max", "\n"}}));
}

TEST_CASE("A quota leaves whole cores, one at least") {
  CHECK(limited_by(std::nullopt, 8) == 8);
  CHECK(limited_by(3.9, 8) == 3);
  CHECK(limited_by(0.5, 8) == 1);
  CHECK(limited_by(16.0, 8) == 8);
}

TEST_CASE("Ranks of one machine share its cores, unless their launcher gave each its own") {
  CHECK(share_of_cores({.own = 128, .parents = 128}) == 128);
  CHECK(share_of_cores({.own = 128, .parents = 128, .num_ranks = 8}) == 16);
  CHECK(share_of_cores({.own = 16, .parents = 128, .num_ranks = 8}) == 16);
  CHECK(share_of_cores({.own = 128, .parents = 128, .quota = 32.0, .num_ranks = 8}) == 4);
  CHECK(share_of_cores({.own = 16, .parents = 128, .quota = 32.0, .num_ranks = 8}) == 4);
  CHECK(share_of_cores({.own = 2, .parents = 2, .num_ranks = 8}) == 1);
}
