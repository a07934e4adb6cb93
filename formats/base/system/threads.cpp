#include "bale/formats/base/system/threads.hpp"

#include <utility>

#include "bale/formats/base/error.hpp"

namespace bale {

std::thread start_thread(std::function<void()> run) {
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::out_of_memory, "cannot start a thread",
                {.hint = "raise the limits of processes and memory that `ulimit -u` and `ulimit -v` show, or use fewer "
                         "workers or jobs",
                 .system_error = error.code().value()});
  }
}

}  // namespace bale
