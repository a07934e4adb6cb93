#include "bale/tools/report/peer_figures.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/file.hpp"

namespace bale::tools {
namespace {

using Json = nlohmann::json;

constexpr std::size_t k_max_peers = 20;
constexpr std::uint64_t k_max_file = std::uint64_t{1} << 26;

/// Of a row of bench_train.py (`median`) or bench_regimes.py. None if it failed.
std::optional<double> rate_of(const Json& row) {
  const Json* figures = &row;
  if (const auto median = row.find("median"); median != row.end()) figures = &*median;
  if (!figures->is_object()) return std::nullopt;
  const auto rate = figures->find("images_per_s");
  if (rate == figures->end() || !rate->is_number() || rate->get<double>() <= 0) return std::nullopt;
  return rate->get<double>();
}

}  // namespace

std::vector<PeerFigure> load_peer_figures(const std::string& path) {
  if (path.empty()) return {};
  const std::vector<std::byte> bytes = read_file(path, k_max_file);
  const char* const text = reinterpret_cast<const char*>(bytes.data());
  const Json content = Json::parse(text, text + bytes.size(), nullptr, false);
  if (!content.is_object() || !content.contains("rows") || !content["rows"].is_array()) {
    throw Error(ErrorCode::invalid_argument, "not figures of loaders",
                {.path = path, .hint = "give what scripts/bench_train.py --json printed"});
  }
  std::map<std::string, double> best;
  for (const Json& row : content["rows"]) {
    if (!row.is_object() || !row.contains("name") || !row["name"].is_string()) continue;
    const std::string name = row["name"].get<std::string>();
    if (const auto rate = rate_of(row); rate && !name.starts_with("bale")) best[name] = std::max(best[name], *rate);
  }
  std::vector<PeerFigure> figures;
  for (const auto& [name, rate] : best) figures.push_back({name, rate});
  std::sort(figures.begin(), figures.end(),
            [](const PeerFigure& a, const PeerFigure& b) { return a.images_per_s > b.images_per_s; });
  figures.resize(std::min(figures.size(), k_max_peers));
  return figures;
}

}  // namespace bale::tools
