#include "bale/tools/cli/error_json.hpp"

#include <utility>

#include "bale/formats/base/json/json.hpp"

namespace bale::tools {

std::string error_json(const Error& error) {
  const ErrorContext& context = error.context();
  Json inner{{"code", verdict_of(error.code()).name}, {"message", error.what()}};
  if (!context.path.empty()) inner["path"] = bytes_to_json(shown_name(context.path));
  if (!context.key.empty()) inner["key"] = bytes_to_json(context.key);
  if (context.offset) inner["offset"] = *context.offset;
  if (!context.hint.empty()) inner["hint"] = printable(context.hint);
  if (context.system_error != 0) inner["errno"] = context.system_error;
  return Json{{"error", std::move(inner)}}.dump({.indent = 2}) + '\n';
}

}  // namespace bale::tools
