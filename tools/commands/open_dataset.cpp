#include "bale/tools/commands/open_dataset.hpp"

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/tools/terminal/notices.hpp"

namespace bale::tools {

Dataset open_dataset(const std::string& spec, Terminal& terminal, bool quiet, DatasetOptions options) {
  ScanNotice notice(terminal, quiet);
  options.on_scan = notice.shower();
  options.relative_names = true;
  return Dataset::open(spec, options);
}

NamedDatasets datasets_at(const std::string& spec, Terminal& terminal) {
  NamedDatasets named = named_datasets(spec);
  if (!named.note.empty()) terminal.note(named.note);
  return named;
}

std::unique_ptr<Source> open_announced(const std::string& spec, const SourceOptions& options, Terminal& terminal,
                                       bool quiet) {
  if (!quiet) terminal.set_status("listing " + shown_name(spec));
  std::string taken_as;
  std::unique_ptr<Source> source =
      open_source(spec, options, [&](const std::string& note) { taken_as = terminal.with_flags(note); });
  terminal.clear_status();
  if (!taken_as.empty()) terminal.note(fmt::format("{}: {}", shown_name(spec), taken_as));
  return source;
}

}  // namespace bale::tools
