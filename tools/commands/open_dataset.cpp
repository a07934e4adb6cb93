#include "bale/tools/commands/open_dataset.hpp"

#include "bale/tools/terminal/scan_notice.hpp"

namespace bale::tools {

Dataset open_dataset(const std::string& spec, Terminal& terminal, bool quiet, DatasetOptions options) {
  ScanNotice notice(terminal, quiet);
  options.on_scan = notice.shower();
  return Dataset::open(spec, options);
}

}  // namespace bale::tools
