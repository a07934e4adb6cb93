#include "bale/tools/report/text/bench_report.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"
#include "bale/formats/base/json/json.hpp"

namespace bale::tools {
namespace {

constexpr std::size_t k_max_peers = 20;
constexpr std::uint64_t k_max_file = std::uint64_t{1} << 26;

/// Of a row of bench_train.py (`median`) or bench_regimes.py. None if it failed.
std::optional<double> rate_of(const Json& row) {
  const Json* const median = row.find("median");
  const Json* const figure = (median != nullptr ? *median : row).find("images_per_s");
  if (figure == nullptr || !figure->is_number()) return std::nullopt;
  const double rate = figure->as_real("images_per_s");
  return rate > 0 ? std::optional(rate) : std::nullopt;
}

}  // namespace

std::vector<PeerFigure> load_peer_figures(const std::string& path) {
  if (path.empty()) return {};
  const std::vector<std::byte> bytes = read_file(path, k_max_file);
  std::map<std::string, double> best;
  try {
    const Json content = parse_json(as_text(bytes));
    for (const Json& row : content.list("rows")) {
      const Json* const given = row.find("name");
      if (given == nullptr || !given->is_text()) continue;
      const std::string& name = given->as_text("name");
      if (const auto rate = rate_of(row); rate && !name.starts_with("bale")) best[name] = std::max(best[name], *rate);
    }
  } catch (const Error&) {
    throw Error(ErrorCode::invalid_argument, "not figures of loaders",
                {.path = path, .hint = "give what scripts/bench/bench_train.py --json printed"});
  }
  std::vector<PeerFigure> figures;
  for (const auto& [name, rate] : best) figures.push_back({name, rate});
  std::sort(figures.begin(), figures.end(),
            [](const PeerFigure& a, const PeerFigure& b) { return a.images_per_s > b.images_per_s; });
  figures.resize(std::min(figures.size(), k_max_peers));
  return figures;
}

}  // namespace bale::tools
