// The head of a plan file as JSON text: options, datasets, and the source's own head.
//
// Pure functions, safe in any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bale/writer/plan/plan.hpp"

namespace bale {

struct PlanHead {
  PackOptions options{};
  Plan plan{};  // without order and shards
  std::vector<std::string> classes{};
  std::map<std::string, std::string> earlier_edits{};
  KeyForm keys = KeyForm::plain;
  std::vector<SourceLoss> losses{};
  std::string source{};     // Source::save_head()
  std::string directory{};  // in which relative paths begin; empty if there are none
};

std::string plan_head_text(const PlanHead& head);

/// Throws `damaged`, or an exception of the JSON library, for anything that plan_head_text() does not make, and
/// `unsupported` if another version of bale made it, or this one would encode images in another way.
PlanHead parse_plan_head(std::string_view text, const std::string& path);

}  // namespace bale
