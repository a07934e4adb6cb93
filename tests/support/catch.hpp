// Catch2 3, or Catch2 2 (Debian 12) with those names of version 3 that the tests use.
#pragma once

#if __has_include(<catch2/catch_test_macros.hpp>)
// Single headers compile faster than catch_all.hpp.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>

#include <string>

inline auto ContainsSubstring(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif
