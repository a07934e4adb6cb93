// JSON values: texts as they were always written, and what is refused by name.
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bale/formats/base/error.hpp"
#include "bale/formats/base/json/json.hpp"
#include "bale/tests/support/catch.hpp"

using namespace bale;

namespace {

/// What is wrong with a text that `read` takes a value from.
template <typename Read>
std::string problem(std::string_view text, const Read& read) {
  try {
    read(parse_json(text));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::damaged);
    return error.message();
  }
  return "none";
}

class Taken : public JsonItems {
 public:
  void begin() override { texts.clear(); }
  void take(const Json& item) override { texts.push_back(item.dump()); }

  std::vector<std::string> texts;
};

}  // namespace

TEST_CASE("JSON is written as it always was: order, indentation, numbers, escapes") {
  Json value{{"z", 1}, {"a", Json::list_of(std::vector<int>{-1, 2})}, {"none", Json()}, {"empty", Json::array()}};
  value["object"] = Json::object();
  value["z"] = std::uint64_t{18446744073709551615U};
  CHECK(value.dump() == R"({"z":18446744073709551615,"a":[-1,2],"none":null,"empty":[],"object":{}})");
  CHECK(value.dump({.sorted = true}) == R"({"a":[-1,2],"empty":[],"none":null,"object":{},"z":18446744073709551615})");
  CHECK(Json{{"a", Json::list_of(std::array<int, 2>{1, 2})}, {"o", {{"b", true}}}}.dump({.indent = 1}) ==
        "{\n \"a\": [\n  1,\n  2\n ],\n \"o\": {\n  \"b\": true\n }\n}");
  const std::vector<std::pair<double, std::string>> numbers = {{1, "1.0"},
                                                               {0.1, "0.1"},
                                                               {-0.0, "-0.0"},
                                                               {1e-5, "1e-05"},
                                                               {1.5e300, "1.5e+300"},
                                                               {1e15, "1e+15"},
                                                               {123456.75, "123456.75"},
                                                               {std::nan(""), "null"}};
  for (const auto& [number, text] : numbers) CHECK(Json(number).dump() == text);
  CHECK(Json("\"\\/\b\f\n\r\t\x01\x7f \xc3\xa9").dump() == "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7f \xc3\xa9\"");
  CHECK(Json("a\xff").dump({.replaces = true}) == "\"a\xef\xbf\xbd\"");
  CHECK_THROWS_WITH(Json("a\xff").dump(), ContainsSubstring("is not UTF-8"));
  CHECK(Json::object_of(std::map<std::string, int>{{"b", 2}, {"a", 1}}).dump() == R"({"a":1,"b":2})");
  Json merged{{"a", 1}, {"b", 2}};
  merged.update({{"b", 3}, {"c", 4}});
  merged.erase("a");
  CHECK(merged.dump() == R"({"b":3,"c":4})");
}

TEST_CASE("JSON that was read is written again, by name, and the last of equal members counts") {
  for (const std::string text : {"{}", "[]", "null", "true", "-9223372036854775808", "18446744073709551615", "1e+16",
                                 R"(["",{"a":[{}],"b":false},0.5])"}) {
    CHECK(parse_json(text).dump() == text);
  }
  constexpr std::string_view k_repeated = R"({"b": 1, "a": 2, "b": 3, "a": 4})";
  CHECK(parse_json(k_repeated).dump() == R"({"a":4,"b":3})");
  CHECK_THROWS_WITH(parse_json(k_repeated, {.refuses_repeated = true}), ContainsSubstring("\"a\" occurs twice"));
  CHECK(parse_json("\xef\xbb\xbf[\"\\u00e9\"]").dump() == "[\"\xc3\xa9\"]");
  const Json beyond = parse_json("[18446744073709551616,-9223372036854775809]");
  CHECK(Json(beyond).dump() == "[18446744073709551616,-9223372036854775809]");
  for (const Json& number : beyond.as_list({})) CHECK((number.is_number() && !number.is_whole() && !number.is_text()));
  CHECK(beyond.as_list({})[0].as_real({}) == 18446744073709551616.0);
  const std::string_view of_python = R"([NaN, -Infinity, {"NaN": "Infinity \"NaN"}])";
  CHECK(parse_json(of_python, {.takes_nan = true}).dump() == R"([null,null,{"NaN":"Infinity \"NaN"}])");
  CHECK(problem(of_python, [](const Json&) {}) == "not JSON from byte 2 on");
  CHECK(problem("[1e400]", [](const Json&) {}) == "a number that is too large ends at byte 6");
}

TEST_CASE("What is wrong with JSON is said in bale's words, by the name of the member") {
  const auto whole = [](const Json& value) { value.whole<int>("n"); };
  for (const char* number : {"2147483648", "-2147483649", "1.0", "true", "null", "\"1\""}) {
    CHECK(problem("{\"n\": " + std::string(number) + "}", whole) ==
          "n is not a whole number from -2147483648 to 2147483647");
  }
  CHECK(parse_json("{\"n\": -2147483648}").whole<int>("n") == -2147483647 - 1);
  CHECK(problem("{}", whole) == "no member \"n\"");
  CHECK(problem("[]", whole) == "not a JSON object");
  CHECK(problem("{\"n\": -1}", [](const Json& value) { value.count("n"); }) ==
        "n is not a whole number from 0 to 18446744073709551615");
  CHECK(problem("{\"n\": 1}", [](const Json& value) { value.truth("n"); }) == "n is not true or false");
  CHECK(problem("{\"n\": 1}", [](const Json& value) { value.text("n"); }) == "n is not text");
  CHECK(problem("{\"n\": {}}", [](const Json& value) { value.list("n"); }) == "n is not a list");
  CHECK(problem("{\"n\": [\"a\", 1]}", [](const Json& value) { value.texts("n"); }) == "n is not text");
  CHECK(problem("{\"n\": [{\"hex\": \"0g\"}]}", [](const Json& value) { value.bytes_list("n"); }) ==
        "n is not a string or {\"hex\": ...}");
  CHECK(parse_json("{\"n\": null}").text_or_empty("n").empty());
  CHECK(problem("{\"n\": 1}", [](const Json& value) { value.text_or_empty("n"); }) == "n is not text");
}

TEST_CASE("What is not JSON is refused by its byte, and any nesting without harm") {
  const auto nothing = [](const Json&) {};
  CHECK(problem("[1,]", nothing) == "not JSON from byte 4 on");
  CHECK(problem("[\"\xe9\"]", nothing) == "not JSON from byte 4 on, as it is not UTF-8");
  for (const char* text : {"", "[", "{\"a\"}", "nan", "1 2", "\"\xff\"", "'a'", "\"\\ud800\""}) {
    CHECK_THAT(problem(text, nothing), ContainsSubstring("not JSON from byte"));
  }
  CHECK(problem(std::string(200, '[') + std::string(200, ']'), nothing) == "none");
  CHECK(problem(std::string(1'000'000, '['), nothing) == "JSON nested too deeply");
}

TEST_CASE("Members are ignored or taken while JSON is parsed") {
  Taken taken;
  const JsonRules rules{.dropped = "big", .taken = "list", .items = &taken};
  const Json rest =
      parse_json(R"({"list": [{"x": 9}], "big": [[{"list": [{"y": 1}]}], 2], "a": {"big": 1, "list": [{"z": 1}]},
                                  "list": [{"b": [{}], "a": 1}, 5, {}], "big": 7, "end": 1})",
                 rules);
  CHECK(rest.dump() == R"({"a":{"big":1,"list":[{"z":1}]},"end":1,"list":[5]})");
  CHECK(taken.texts == std::vector<std::string>{R"({"a":1,"b":[{}]})", "{}"});
}
