// The only unit that includes the parser library.
#include "bale/tools/cli/parser.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "bale/formats/base/error.hpp"
#include "bale/tools/help/command_model.hpp"

namespace bale::tools {
namespace {

std::vector<std::string> option_names(const CommandModel& command) {
  std::vector<std::string> names;
  for (const OptionModel& option : command.options) {
    if (!option.is_positional()) names.push_back(option.long_name);
  }
  return names;
}

/// The error of a command line in which no command was found.
std::string missing_command(int argc, const char* const* argv, const CommandModel& program) {
  if (argc < 2) return "a command is needed";
  const std::string word = argv[1];
  if (word.starts_with('-')) {
    return fmt::format("\"{}\" is not an option of bale itself{}", printable(word),
                       suggestion(word, option_names(program)));
  }
  std::vector<std::string> names;
  for (const CommandModel& command : program.commands) names.push_back(command.short_name());
  return fmt::format("there is no command \"{}\"{}", printable(word), suggestion(word, names));
}

/// What was meant by the first option among `words`, which the command does not have.
std::string meant_option(const std::vector<std::string>& words, const CommandModel& command) {
  const std::vector<std::string> names = option_names(command);
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with('-')) continue;
    return std::find(names.begin(), names.end(), name) == names.end() ? suggestion(name, names) : std::string{};
  }
  return {};
}

std::string parser_names(const OptionModel& option) {
  return option.short_name.empty() ? option.long_name : option.short_name + ',' + option.long_name;
}

CLI::Option* added_option(CLI::App& app, const OptionModel& option) {
  const auto& take = option.take;
  const std::string names = parser_names(option);
  if (!option.takes_value()) {
    return app.add_flag_callback(names, [take] { take({}); })->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  CLI::Option* added =
      option.repeated ? app.add_option_function<std::vector<std::string>>(names, take)
                      : app.add_option_function<std::string>(names, [take](const std::string& text) { take({text}); });
  if (!option.is_positional()) added->allow_extra_args(false);
  added->required(option.required && !option.checked_by_command);
  return added->type_name(option.value_name);
}

void add_options(CLI::App& app, const CommandModel& command) {
  std::map<std::string, CLI::Option*> added;
  for (const OptionModel& option : command.options) {
    if (option.take) added[option.long_name] = added_option(app, option);
  }
  for (const OptionModel& option : command.options) {
    for (const std::string& name : option.needed) added.at(option.long_name)->needs(added.at(name));
    for (const std::string& name : option.excluded) added.at(option.long_name)->excludes(added.at(name));
  }
}

}  // namespace

class Parser::State {
 public:
  explicit State(const CommandModel& program);
  Request parse(int argc, const char* const* argv);
  const CommandModel& command() const;
  bool was_given(const std::string& long_name) const;

 private:
  const CommandModel& program_;
  CLI::App app_;
};

Parser::State::State(const CommandModel& program) : program_(program) {
  app_.name(program.name);
  app_.set_help_flag("--help");
  app_.set_help_all_flag("-h");
  app_.set_version_flag("-V,--version");
  app_.require_subcommand(1);
  for (const CommandModel& command : program.commands) add_options(*app_.add_subcommand(command.short_name()), command);
}

Parser::Request Parser::State::parse(int argc, const char* const* argv) {
  try {
    app_.parse(argc, argv);
    return Request::run;
  } catch (const CLI::CallForHelp&) {
    return Request::help;
  } catch (const CLI::CallForAllHelp&) {
    return Request::short_help;
  } catch (const CLI::CallForVersion&) {
    return Request::version;
  } catch (const CLI::ParseError& error) {
    if (app_.get_subcommands().empty()) {
      throw Error(ErrorCode::invalid_argument, missing_command(argc, argv, program_));
    }
    const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    throw Error(ErrorCode::invalid_argument,
                printable(error.what()) + (is_extra ? meant_option(app_.remaining(true), command()) : std::string{}));
  }
}

const CommandModel& Parser::State::command() const {
  const auto named = app_.get_subcommands();
  if (!named.empty()) {
    for (const CommandModel& command : program_.commands) {
      if (command.short_name() == named.front()->get_name()) return command;
    }
  }
  return program_;
}

bool Parser::State::was_given(const std::string& long_name) const {
  const auto named = app_.get_subcommands();
  const CLI::Option* const option = named.empty() ? nullptr : named.front()->get_option_no_throw(long_name);
  return option != nullptr && option->count() > 0;
}

Parser::Parser(const CommandModel& program) : state_(std::make_unique<State>(program)) {}
Parser::~Parser() = default;
Parser::Request Parser::parse(int argc, const char* const* argv) { return state_->parse(argc, argv); }
const CommandModel& Parser::command() const { return state_->command(); }
bool Parser::was_given(const std::string& long_name) const { return state_->was_given(long_name); }

}  // namespace bale::tools
