#include "bale/formats/base/system/cores.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string_view>
#include <thread>
#include <vector>

namespace bale {
namespace {

constexpr std::string_view k_groups = "/sys/fs/cgroup/";

/// A control group: the directory of its hierarchy, and its path there.
struct Group {
  std::vector<std::string> directories;  // the hierarchy is in one of these
  std::string path;
  bool is_version_2 = false;
};

bool has_item(std::string_view list, std::string_view wanted) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (list.substr(begin, end - begin) == wanted) return true;
    begin = end + 1;
  }
  return false;
}

/// Lines "NUMBER:CONTROLLERS:PATH"; version 2 has no controllers.
std::vector<Group> groups_of_this_process(const std::string& root, std::string_view controller) {
  std::vector<Group> groups;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    const std::string base = root + std::string(k_groups);
    if (controllers.empty()) {
      groups.push_back({.directories = {base, base + "unified/"}, .path = path, .is_version_2 = true});
    } else if (has_item(controllers, controller)) {
      groups.push_back({.directories = {base + controllers + "/", base + std::string(controller) + "/"}, .path = path});
    }
  }
  return groups;
}

}  // namespace

void visit_control_groups(const std::string& root, std::string_view controller,
                          const std::function<void(const std::string& directory, bool is_version_2)>& visit) {
  for (const Group& group : groups_of_this_process(root, controller)) {
    for (const std::string& directory : group.directories) {
      for (std::string path = group.path;; path.resize(path.rfind('/'))) {
        visit(directory + path, group.is_version_2);
        if (path.empty() || path.rfind('/') == std::string::npos) break;
      }
    }
  }
}

namespace {

/// The number after `name` at the beginning of a line.
std::optional<std::uint64_t> entry_of(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  std::string found;
  std::uint64_t value = 0;
  while (file >> found) {
    if (found == name && file >> value) return value;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

/// nullopt also for "max".
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> room_in_group(const std::string& directory, bool is_version_2) {
  const auto limit = number_in(directory + (is_version_2 ? "/memory.max" : "/memory.limit_in_bytes"));
  const auto usage = number_in(directory + (is_version_2 ? "/memory.current" : "/memory.usage_in_bytes"));
  if (!limit || !usage) return std::nullopt;
  const std::string prefix = is_version_2 ? "" : "total_";
  std::uint64_t cached = 0;  // without shared memory and tmpfs, which cannot be dropped
  for (const char* list : {"active_file", "inactive_file"}) {
    cached += entry_of(directory + "/memory.stat", prefix + list).value_or(0);
  }
  const std::uint64_t kept = *usage - std::min(*usage, cached);
  return *limit - std::min(*limit, kept);
}

}  // namespace

std::optional<std::uint64_t> available_memory(const std::string& root) {
  constexpr std::uint64_t k_kib = 1024;
  std::optional<std::uint64_t> least = entry_of(root + "/proc/meminfo", "MemAvailable:");
  if (least) *least *= k_kib;
  visit_control_groups(root, "memory", [&](const std::string& directory, bool is_version_2) {
    const auto room = room_in_group(directory, is_version_2);
    if (room && (!least || *room < *least)) least = room;
  });
  return least;
}

namespace {

/// "QUOTA PERIOD" in one file, or "QUOTA" in one and "PERIOD" in the other; "max" or -1: none.
std::optional<double> quota_in(const std::string& directory, bool is_version_2) {
  double quota = 0;
  double period = 0;
  if (is_version_2) {
    std::ifstream file(directory + "/cpu.max");
    if (!(file >> quota >> period)) return std::nullopt;
  } else {
    std::ifstream quota_file(directory + "/cpu.cfs_quota_us");
    std::ifstream period_file(directory + "/cpu.cfs_period_us");
    if (!(quota_file >> quota) || !(period_file >> period)) return std::nullopt;
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

std::optional<cpu_set_t> mask_of(pid_t pid) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(pid, sizeof cores, &cores) != 0) return std::nullopt;  // more cores than the mask can hold
  return cores;
}

bool may_openmp_bind() {
  constexpr const char* k_variables[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};
  return std::any_of(std::begin(k_variables), std::end(k_variables),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

/// The OpenMP libraries of this process, by their paths.
std::vector<std::string> openmp_libraries() {
  std::vector<std::string> paths;
  const auto add = [](dl_phdr_info* library, std::size_t, void* found) {
    const std::string_view path = library->dlpi_name;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const bool is_openmp = name.starts_with("libgomp") || name.starts_with("libiomp") || name.starts_with("libomp");
    if (is_openmp) static_cast<std::vector<std::string>*>(found)->emplace_back(path);
    return 0;
  };
  ::dl_iterate_phdr(add, &paths);
  return paths;
}

/// All places of the library if `bound` is one of them (OpenMP 4.5, 3.2.23 to 3.2.25).
std::optional<cpu_set_t> cores_of_places(void* library, const cpu_set_t& bound) {
  const auto num_places = reinterpret_cast<int (*)()>(::dlsym(library, "omp_get_num_places"));
  const auto num_cores = reinterpret_cast<int (*)(int)>(::dlsym(library, "omp_get_place_num_procs"));
  const auto get_cores = reinterpret_cast<void (*)(int, int*)>(::dlsym(library, "omp_get_place_proc_ids"));
  if (num_places == nullptr || num_cores == nullptr || get_cores == nullptr) return std::nullopt;
  cpu_set_t all;
  CPU_ZERO(&all);
  bool is_bound = false;
  for (int place = 0; place < num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(std::max(num_cores(place), 0)));
    get_cores(place, ids.data());
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (const int id : ids) CPU_SET(static_cast<std::size_t>(id), &cores);
    CPU_OR(&all, &all, &cores);
    is_bound = is_bound || CPU_EQUAL(&cores, &bound);
  }
  return is_bound ? std::optional(all) : std::nullopt;
}

/// The cores that the process was started with, if an OpenMP library has bound this thread to fewer.
std::optional<cpu_set_t> cores_without_binding(const cpu_set_t& bound) {
  if (!may_openmp_bind()) return std::nullopt;
  for (const std::string& path : openmp_libraries()) {
    void* const library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    const auto cores = cores_of_places(library, bound);
    ::dlclose(library);
    if (cores) return cores;
  }
  return std::nullopt;
}

}  // namespace

std::optional<unsigned> affinity_cores(pid_t pid) {
  auto cores = mask_of(pid);
  if (!cores) return std::nullopt;
  if (pid == 0) cores = cores_without_binding(*cores).value_or(*cores);
  return static_cast<unsigned>(std::max(CPU_COUNT(&*cores), 1));
}

UnboundThread::UnboundThread() {
  if (!may_openmp_bind()) return;
  const auto bound = mask_of(0);
  const auto all = bound ? cores_without_binding(*bound) : std::nullopt;
  if (all && ::sched_setaffinity(0, sizeof *all, &*all) == 0) bound_ = bound;
}

UnboundThread::~UnboundThread() {
  if (bound_) ::sched_setaffinity(0, sizeof *bound_, &*bound_);
}

std::optional<double> cpu_quota(const std::string& root) {
  std::optional<double> least;
  visit_control_groups(root, "cpu", [&](const std::string& directory, bool is_version_2) {
    const auto quota = quota_in(directory, is_version_2);
    if (quota && (!least || *quota < *least)) least = quota;
  });
  return least;
}

unsigned limited_by(std::optional<double> quota, unsigned cores) {
  if (!quota || *quota >= cores) return std::max(cores, 1U);
  return std::max(static_cast<unsigned>(*quota), 1U);
}

unsigned usable_cores() {
  return limited_by(cpu_quota(), affinity_cores().value_or(std::thread::hardware_concurrency()));
}

}  // namespace bale
