#include <fmt/format.h>

#include "bale/formats/base/file.hpp"
#include "bale/formats/base/names/url_rules.hpp"
#include "bale/formats/base/text/human.hpp"
#include "bale/tools/commands/commands.hpp"
#include "bale/tools/measure/trials/examination.hpp"
#include "bale/tools/measure/verdicts/doctor_verdict.hpp"
#include "bale/tools/report/html/page.hpp"
#include "bale/tools/report/json/json_output.hpp"
#include "bale/tools/report/text/bench_report.hpp"
#include "bale/tools/terminal/signals.hpp"
#include "bale/tools/terminal/table.hpp"

namespace bale::tools {
namespace {

std::string headline(const DoctorCommand& command, const DoctorFigures& figures) {
  return fmt::format("{}: batches of {}, {}, {} in the ring", shown_name(command.pipeline.spec),
                     command.pipeline.options.batch_size, plural(figures.setting.workers, "worker"),
                     figures.setting.prefetch);
}

std::string report(const DoctorCommand& command, const Examination& examined) {
  const DoctorFigures& figures = examined.figures;
  std::string text = headline(command, figures) + '\n';
  TextTable table({Align::left, Align::right, Align::left});
  table.add({"PART", "IMG/S", ""});
  table.add({"read", rate_cell(figures.read), figures.read_again || figures.always_fetches ? "from the server" : ""});
  if (figures.read_again) table.add({"again", rate_cell(*figures.read_again), "the same images, from the cache"});
  table.add({"decode", rate_cell(figures.load),
             fmt::format("with reading; {:.0f}% of the cores", figures.setting.cpu_share * 100)});
  if (figures.copy) {
    table.add({"copy", rate_cell(*figures.copy),
               fmt::format("{:.1f} GB/s to {}", examined.copies.bytes_per_s / 1e9, examined.copies.device_name)});
  }
  if (figures.compute) {
    table.add({"compute", rate_cell(*figures.compute), fmt::format("{} ms per step", command.step_s * 1e3)});
  }
  text += table.text();
  text += fmt::format("\nBound by {}. {}\n", bottleneck_name(bottleneck_of(figures)), advice(figures));
  if (figures.compute) {
    text += waiting_text(figures) + "\n";
  } else {
    text +=
        "Whether training waits for it depends on the steps: --step-ms says how long one takes with data that are "
        "there.\n";
  }
  return text;
}

}  // namespace

int run_doctor(const DoctorCommand& command, Terminal& terminal) {
  require_output_file(command.page.file, command.page.force);
  const std::vector<PeerFigure> peers = load_peer_figures(command.page.beside);
  const Examination examined =
      examine(command.pipeline, {.seconds = command.seconds, .device = command.device, .step_s = command.step_s},
              terminal.status_shower(command.quiet));
  const DoctorFigures& figures = examined.figures;
  require_images(figures.setting.result.images, figures.setting.result.bad, command.pipeline.spec);
  if (!command.page.file.empty()) {
    const std::string page = doctor_page(headline(command, figures), command.pipeline, examined, peers);
    publish_file(command.page.file, as_bytes(page));
  }
  terminal.print(command.json ? doctor_json(command.pipeline, figures) : report(command, examined));
  note_bad_samples(figures.setting.result.bad, terminal);
  return k_exit_ok;
}

}  // namespace bale::tools
