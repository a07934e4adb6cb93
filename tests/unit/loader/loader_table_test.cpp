// The rows of a Loader's options: what follows from them without a line of its own.
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/options/loader_table.hpp"
#include "bale/loader/worker/worker_config.hpp"
#include "bale/tests/support/catch.hpp"

using namespace bale;
using namespace bale::loader_detail;

namespace {

/// Gives each row another value than its default.
LoaderOptions all_changed() {
  LoaderOptions options;
  for_options(options, [](const LoaderRow&, auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::same_as<Value, bool>) {
      value = !value;
    } else if constexpr (std::same_as<Value, std::string>) {
      value = "other";
    } else if constexpr (std::is_enum_v<Value>) {
      value = static_cast<Value>(1);
    } else {
      value = 77;
    }
  });
  return options;
}

/// The keyword and the value of each row.
std::vector<std::string> texts_of(const LoaderOptions& options) {
  std::vector<std::string> texts;
  for_options(options, [&texts](const LoaderRow& row, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::same_as<Value, std::optional<std::uint64_t>>) {
      texts.push_back(fmt::format("{} {}", row.keyword, value ? std::to_string(*value) : "none"));
    } else if constexpr (std::is_enum_v<Value>) {
      texts.push_back(fmt::format("{} {}", row.keyword, static_cast<int>(value)));
    } else {
      texts.push_back(fmt::format("{} {}", row.keyword, value));
    }
  });
  return texts;
}

}  // namespace

TEST_CASE("Workers get the value of every row") {
  const LoaderOptions options = all_changed();
  const std::vector<std::string> sent = texts_of(options);
  const std::vector<std::string> defaults = texts_of({});
  for (std::size_t i = 0; i < sent.size(); ++i) CHECK(sent[i] != defaults[i]);
  CHECK(texts_of(unpack_config(pack_config({.options = options})).options) == sent);
}

TEST_CASE("The range of a row is checked") {
  CHECK_THROWS_WITH(checked({.batch_size = 0}), "batch_size 0 is out of range (1 to 524288)");
  CHECK_THROWS_WITH(checked({.seek_point_cache_bytes = (std::uint64_t{1} << 40) + 1}),
                    "seek_point_cache_bytes of 1099511627777; 1099511627776 is the most");
}
