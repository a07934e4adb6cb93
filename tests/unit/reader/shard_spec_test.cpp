// Shard names: braces as in Python's braceexpand, "::" lists, globs.
#include "bale/reader/spec/shard_spec.hpp"

#include <fstream>

#include "bale/formats/base/error.hpp"
#include "bale/tests/support/catch.hpp"
#include "bale/tests/support/error_of.hpp"
#include "bale/tests/support/temp_dir.hpp"

using namespace bale;
using Names = std::vector<std::string>;

TEST_CASE("braces expand as braceexpand does") {
  CHECK(expand_braces("plain.tar") == Names{"plain.tar"});
  CHECK(expand_braces("x-{000008..000011}.tar") ==
        Names{"x-000008.tar", "x-000009.tar", "x-000010.tar", "x-000011.tar"});
  CHECK(expand_braces("{8..11}") == Names{"8", "9", "10", "11"});
  CHECK(expand_braces("{08..1}") == Names{"08", "07", "06", "05", "04", "03", "02", "01"});
  CHECK(expand_braces("{0..2}") == Names{"0", "1", "2"});
  CHECK(expand_braces("{-01..1}") == Names{"-01", "000", "001"});
  CHECK(expand_braces("{1..10..4}") == Names{"1", "5", "9"});
  CHECK(expand_braces("{10..1..-4}") == Names{"10", "6", "2"});
  CHECK(expand_braces("{a..c}") == Names{"a", "b", "c"});
  CHECK(expand_braces("{c..a..2}") == Names{"c", "a"});
  CHECK(expand_braces("{a,b}{1..2}z") == Names{"a1z", "a2z", "b1z", "b2z"});
  CHECK(expand_braces("a{b{1..2},c}d") == Names{"ab1d", "ab2d", "acd"});
  CHECK(expand_braces("{,a}") == Names{"", "a"});
  CHECK(expand_braces("{a}") == Names{"{a}"});
  CHECK(expand_braces("{}") == Names{"{}"});
  CHECK(expand_braces("{{a,b}}") == Names{"{a}", "{b}"});
  CHECK(expand_braces("{1..a}") == Names{"{1..a}"});
  CHECK(expand_braces("\\{a,b\\}") == Names{"{a,b}"});
  CHECK(expand_braces("{a\\,b,c}") == Names{"a,b", "c"});
}

TEST_CASE("unbalanced and unbounded braces are refused") {
  for (const char* text : {"{", "}", "a{b", "a}b", "}{", "{a,{b}", "{1..3..0}", "{1..99999999999999999999}"}) {
    INFO(text);
    CHECK_THROWS_AS(expand_braces(text), Error);
  }
  CHECK(expand_braces("{1..1000000}").size() == 1'000'000);
  CHECK_THROWS_AS(expand_braces("{0..1000000}"), Error);
  CHECK_THROWS_AS(expand_braces("{-9223372036854775808..9223372036854775807}"), Error);
  CHECK_THROWS_AS(expand_braces("{1..1001}{1..1000}"), Error);
  CHECK_THROWS_AS(expand_braces("{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}"), Error);
  CHECK_THROWS_AS(expand_braces("{1..1000000}" + std::string(2000, 'x')), Error);
  CHECK_THROWS_AS(expand_braces(std::string(100'000, '{') + std::string(100'000, '}')), Error);
}

TEST_CASE_METHOD(test::InTempDir, "lists and globs name files in order") {
  for (const char* name : {"b.tar", "a.tar", "B.tar", "\xC3\xA9.tar", "x{1,2}.tar", "y[1].tar", "c::d.tar"}) {
    std::ofstream(dir / name) << name;
  }
  CHECK(expand_shard_spec(dir / "?.tar") == Names{dir / "B.tar", dir / "a.tar", dir / "b.tar"});
  CHECK(expand_shard_spec((dir / "b.tar") + "::" + (dir / "[a]*.tar") + "::q-{0..1}.tar") ==
        Names{dir / "b.tar", dir / "a.tar", "q-0.tar", "q-1.tar"});
  CHECK(expand_shard_spec(dir / "{b,[A-Z]}.tar") == Names{dir / "b.tar", dir / "B.tar"});
  CHECK(expand_shard_spec(dir.path()) == Names{dir.path()});
  CHECK(expand_shard_spec(dir / "x{1,2}.tar") == Names{dir / "x{1,2}.tar"});
  CHECK(expand_shard_spec(dir / "y[1].tar") == Names{dir / "y[1].tar"});
  CHECK(expand_shard_spec(dir / "c::d.tar") == Names{dir / "c::d.tar"});
}

TEST_CASE_METHOD(test::InTempDir, "a pattern without a match and an empty name are errors") {
  const Error error = test::error_of([&] { expand_shard_spec(dir / "*.tar"); });
  CHECK(error.code() == ErrorCode::not_found);
  CHECK(error.context().path == dir / "*.tar");
  CHECK_THROWS_AS(expand_shard_spec(""), Error);
  CHECK_THROWS_AS(expand_shard_spec("a.tar::"), Error);
  CHECK_THROWS_AS(expand_shard_spec("a.tar::::b.tar"), Error);
}
