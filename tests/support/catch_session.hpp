// Catch2's session and listeners, for a program with a main() of its own. One file of the program includes it, first of
// all.
#pragma once

#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

namespace bale::test {
using CatchListener = Catch::EventListenerBase;
inline const Catch::TestCaseInfo& info_of(const Catch::TestCaseStats& stats) { return *stats.testInfo; }
}  // namespace bale::test
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

namespace bale::test {
using CatchListener = Catch::TestEventListenerBase;
inline const Catch::TestCaseInfo& info_of(const Catch::TestCaseStats& stats) { return stats.testInfo; }
}  // namespace bale::test
#endif
