// Conditions on samples: what they select, and which column an error names.
#include "bale/reader/where.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bale/formats/base/error.hpp"
#include "bale/reader/where/where_parser.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"

namespace bale {
namespace {

const SampleFacts k_cat{.key = "n01/it's.a",
                        .label = 9'007'199'254'740'993,  // 2^53 + 1, which a double does not hold
                        .class_name = "cat",
                        .width = 640,
                        .height = 480,
                        .bytes = 10240,
                        .format = "jpg",
                        .shard = "x-000.tar",
                        .index = 7};

TEST_CASE("conditions that hold", "[where]") {
  for (const char* const text : {"width = 640",
                                 "WIDTH == 640 AND height<481",
                                 "label = 9007199254740993",
                                 "label != 9007199254740992",
                                 "bytes >= 10KiB",
                                 "bytes < 10.5e3",
                                 "width > height",
                                 "aspect > 1.3 and aspect < 1.34",
                                 "pixels = 307200",
                                 "megapixels < 0.31",
                                 "label in (1, 9007199254740993)",
                                 "label not in (1, 2)",
                                 "key like 'n01/*'",
                                 "key like \"*'s?a\"",
                                 "key = 'n01/it''s.a'",
                                 "not class = 'dog'",
                                 "class not like 'd*'",
                                 "format in ('png', 'jpg')",
                                 "shard = 'x-000.tar'",
                                 "index <= +7",
                                 "index > -1",
                                 "width is not unknown",
                                 "width = 1 or height = 480 and index = 7",
                                 "not (width = 1 or height = 1)"}) {
    INFO(text);
    CHECK(Where::parse(text).test(k_cat) == Truth::yes);
    CHECK(Where::parse("not (" + std::string(text) + ")").test(k_cat) == Truth::no);
  }
}

TEST_CASE("and binds more tightly than or, and not than both", "[where]") {
  CHECK(Where::parse("index = 7 or index = 7 and index = 8").test(k_cat) == Truth::yes);
  CHECK(Where::parse("(index = 7 or index = 7) and index = 8").test(k_cat) == Truth::no);
  CHECK(Where::parse("not index = 8 and index = 8").test(k_cat) == Truth::no);
}

TEST_CASE("a comparison with an unknown value is neither true nor false", "[where]") {
  const SampleFacts text{.key = "a"};
  for (const char* const unknown :
       {"width > 1", "not width > 1", "width != 1", "class like '*'", "label not in (1)", "pixels = 0", "index = width",
        "width = 1 or height = 1", "width = 1 and key = 'a'"}) {
    INFO(unknown);
    CHECK(Where::parse(unknown).test(text) == Truth::unknown);
  }
  CHECK(Where::parse("width > 1 or key = 'a'").test(text) == Truth::yes);
  CHECK(Where::parse("width > 1 and key = 'b'").test(text) == Truth::no);
  CHECK(Where::parse("width is unknown").test(text) == Truth::yes);

  WhereCounts counts;
  CHECK_FALSE(Where::parse("width > 1").takes(text, counts));
  CHECK_FALSE(Where::parse("width < 1").takes(k_cat, counts));
  CHECK(counts.num_samples == 2);
  CHECK(counts.num_left_out == 2);
  CHECK(counts.num_unknown == 1);
}

TEST_CASE("numbers are decimal, and exact up to 64 bits", "[where]") {
  CHECK(number_of_text("18446744073709551615") == 18446744073709551615.0L);
  CHECK(number_of_text("-9007199254740993") == -9007199254740993.0L);
  CHECK(number_of_text(".5") == 0.5L);
  CHECK(number_of_text("5.") == 5.0L);
  CHECK(number_of_text("-1.25E+2") == -125.0L);
  CHECK(std::signbit(number_of_text("-0").value_or(1)));
  for (const char* const none : {"", "+", "-", ".", "+1", "1,5", "0x10", "1e", "1e+", "1.2.3", "1-2", "--1", "inf",
                                 "nan", " 1", "1 ", "1p3", "1e99999", "1e-99999"}) {
    INFO(none);
    CHECK(number_of_text(none) == std::nullopt);
  }
  CHECK(number_of_text(std::string_view("1\0", 2)) == std::nullopt);
}

TEST_CASE("errors name the column", "[where]") {
  const std::pair<std::string, std::size_t> wrong[] = {
      {"and > 3", 0},      {"width >", 7},        {"width > '3'", 8},           {"width 3", 6},     {"key < 'a'", 4},
      {"key = 'a", 6},     {"width like '3'", 6}, {"width = 3 height = 4", 10}, {"(width = 3", 10}, {"width in 3", 9},
      {"width in (3", 11}, {"label = cat", 8},    {"width = 3 & x", 10},        {"width = 3x", 8},  {"", 0},
      {"width is 3", 9},   {"width not = 3", 10}, {"key in (key)", 8},          {"not", 3},         {"width = key", 8}};
  for (const auto& [text, column] : wrong) {
    INFO(text);
    try {
      Where::parse(text);
      FAIL("parsed");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK(error.context().offset == column);
    }
  }
  CHECK_THROWS_AS(Where::parse(std::string(5000, '(')), Error);
  CHECK_THROWS_AS(Where::parse(std::string(70'000, ' ')), Error);
}

TEST_CASE("other names are fields, which a dataset has or not", "[where]") {
  const Where where = Where::parse("Score.txt >= 0.5 and split = 'train' and index < 9");
  CHECK(where.needs_fields());
  CHECK_FALSE(Where::parse("index = 3").needs_fields());
  CHECK(where.test(k_cat) == Truth::unknown);  // a sample without a dataset has none
  CHECK(Where::parse("score is unknown").test(k_cat) == Truth::yes);
  CHECK_NOTHROW(where.require_fields({"jpg", "Score.txt", "split.txt"}));
  const auto column = [](const std::string& text, const std::vector<std::string>& fields) {
    return test::error_of([&] { Where::parse(text).require_fields(fields); }).context().offset;
  };
  CHECK(column("index = 3 or widht > 3", {"width.txt"}) == 13U);
  CHECK(column("score > 3", {}) == 0U);
  CHECK(column("score > 3", {"score.txt", "score.json"}) == 0U);  // which?
  CHECK_NOTHROW(Where::parse("score.json > 3").require_fields({"score.txt", "score.json"}));
  for (const char* const wrong : {"a.b > 'x'", "a in (1, 'x')", "a like 3", "a = b", "a. = 3", "width = a", "in = 3"}) {
    INFO(wrong);
    CHECK_THROWS_AS(Where::parse(wrong), Error);
  }
}

TEST_CASE("globs are added to a condition", "[where]") {
  Where where = Where::parse("index = 7 or index = 8");
  where.require_like("key", {"n02/*", "n01/*"});
  CHECK(where.test(k_cat) == Truth::yes);
  where.require_like("class", {"dog"});
  CHECK(where.test(k_cat) == Truth::no);
  CHECK_THROWS_AS(where.require_like("width", {"*"}), Error);
}

TEST_CASE("a condition says what it needs", "[where]") {
  CHECK(Where::parse("not (label = 1 or aspect > 2)").needs_image_size());
  CHECK(Where::parse("index = width").needs_image_size());
  CHECK_FALSE(Where::parse("bytes > 3 and label = 1").needs_image_size());
  CHECK(Where::parse("shard like '*'").needs_shard());
  CHECK_FALSE(Where::parse("key = 'shard'").needs_shard());
}

}  // namespace
}  // namespace bale
