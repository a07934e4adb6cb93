#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/members/members.hpp"
#include "bale/loader/transform/transforms.hpp"

namespace bale {
namespace {

template <std::size_t... Numbers>
void take(TransformNode::variant& into, std::size_t number, void* node, std::index_sequence<Numbers...>) {
  const auto take_one = [&]<std::size_t Number>() {
    using Node = std::variant_alternative_t<Number, TransformNode::variant>;
    into.template emplace<Number>(std::move(*static_cast<Node*>(node)));
  };
  static_cast<void>(((Numbers == number && (take_one.template operator()<Numbers>(), true)) || ...));
}

/// Of lists inside one another.
int nesting_of(const TransformNode& node) {
  const TransformList* const children = transform_detail::children_of(node);
  if (children == nullptr) return 0;
  int deepest = 0;
  for (const TransformNode& child : *children) deepest = std::max(deepest, nesting_of(child));
  return 1 + deepest;
}

}  // namespace

TransformNode::TransformNode() = default;
TransformNode::TransformNode(const TransformNode&) = default;
TransformNode::TransformNode(TransformNode&&) noexcept = default;
TransformNode& TransformNode::operator=(const TransformNode&) = default;
TransformNode& TransformNode::operator=(TransformNode&&) noexcept = default;
TransformNode::~TransformNode() = default;

TransformNode::TransformNode(std::size_t alternative, void* node) {
  take(*this, alternative, node, std::make_index_sequence<std::variant_size_v<variant>>());
  // Here, where it cannot be deep yet: whatever visits the transforms inside, their destructor, too, calls itself.
  if (nesting_of(*this) <= transform_detail::k_max_nesting) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("transforms are nested more than {} deep", transform_detail::k_max_nesting));
}

}  // namespace bale
