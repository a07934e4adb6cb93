// Runs the command of a profile's credential_process and returns what it prints.
//
// The command is split like a shell does, with quotes and backslashes, and run without a shell. Its standard input is
// empty; its standard error is this process's. Threads: any number may call. Errors: `invalid_argument` if it cannot be
// started, fails, prints too much or does not end in time. Neither its arguments nor its output are part of the
// message.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace bale {

std::string output_of_command(const std::string& command, std::chrono::milliseconds time_limit);

/// The words of a command. Throws `invalid_argument` if a quote is not closed or there is no word.
std::vector<std::string> split_command(std::string_view command);

}  // namespace bale
