// WorkerProgram: the path of bale-worker and its open file.
#pragma once

#include <string>

namespace bale::loader_detail {

/// `asked` if it is not empty, else $BALE_WORKER if it is set. Otherwise the first that exists: next to this program,
/// in
/// ../libexec/bale, where set_worker_directory() says, where bale was installed. Throws `not_found` with a hint.
std::string find_worker_program(const std::string& asked);

/// Keeps the file open, so that workers can be started even if the file at the path is replaced or removed.
class WorkerProgram {
 public:
  /// Throws what find_worker_program() throws.
  explicit WorkerProgram(const std::string& asked);
  ~WorkerProgram();
  WorkerProgram(const WorkerProgram&) = delete;
  WorkerProgram& operator=(const WorkerProgram&) = delete;

  const std::string& path() const { return path_; }
  /// -1 if the file could not be opened; use the path then.
  int fd() const { return fd_; }

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace bale::loader_detail
