#include "bale/tools/measure/process_usage.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace bale::tools {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}
double seconds_of(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double rusage_seconds(int who) {
  rusage usage{};
  return ::getrusage(who, &usage) == 0 ? seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime) : 0;
}

/// CPU time of all threads of another process; 0 if it has ended.
double process_seconds(int pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return seconds_of(time);
}

double ticks_per_second() {
  const long ticks = ::sysconf(_SC_CLK_TCK);
  return ticks > 0 ? static_cast<double>(ticks) : 100;
}

/// Adds the anonymous and the shared memory to `bytes`. Returns false if the kernel reports neither.
bool add_pss(const std::string& smaps, std::uint64_t& bytes) {
  std::ifstream file(smaps);
  bool known = false;
  std::string name;
  while (file >> name) {
    std::uint64_t kibibytes = 0;
    if ((name == "Pss_Anon:" || name == "Pss_Shmem:") && file >> kibibytes) {
      bytes += kibibytes * 1024;
      known = true;
    }
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return known;
}

}  // namespace

double cpu_seconds(std::span<const int> pids) {
  double seconds = rusage_seconds(RUSAGE_SELF) + rusage_seconds(RUSAGE_CHILDREN);
  for (const int pid : pids) seconds += process_seconds(pid);
  return seconds;
}

std::optional<std::uint64_t> pss_bytes(std::span<const int> pids) {
  std::uint64_t bytes = 0;
  if (!add_pss("/proc/self/smaps_rollup", bytes)) return std::nullopt;
  for (const int pid : pids) add_pss("/proc/" + std::to_string(pid) + "/smaps_rollup", bytes);
  return bytes;
}

double seconds_since_start() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  // proc(5): the name may contain any characters, so fields are counted from its end. The start time is field 22.
  constexpr int k_fields_before_start = 19;
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string skipped;
  for (int i = 0; i < k_fields_before_start; ++i) fields >> skipped;
  double start_ticks = 0;
  timespec now{};
  if (!(fields >> start_ticks) || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  return seconds_of(now) - start_ticks / ticks_per_second();
}

MachineTimes machine_times() {
  cpu_set_t allowed;
  const bool knows_allowed = ::sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  // One line "cpu" of all cores, then one "cpuN" per core.
  std::ifstream file("/proc/stat");
  const double ticks = ticks_per_second();
  MachineTimes times;
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream numbers(line.substr(3));
    const bool is_whole = line[3] == ' ';
    std::size_t core = 0;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0, steal = 0;
    if (!is_whole) numbers >> core;
    if (is_whole == knows_allowed || (!is_whole && (core >= CPU_SETSIZE || !CPU_ISSET(core, &allowed)))) continue;
    if (!(numbers >> user >> nice >> system >> idle >> waiting >> irq >> softirq >> steal)) return {};
    times.busy += (user + nice + system + irq + softirq + steal) / ticks;
    times.waiting += waiting / ticks;
    times.idle += idle / ticks;
  }
  return times;
}

}  // namespace bale::tools
