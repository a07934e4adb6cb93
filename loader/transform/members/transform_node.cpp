#include <cstddef>
#include <utility>
#include <variant>

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

}  // namespace

TransformNode::TransformNode() = default;
TransformNode::TransformNode(const TransformNode&) = default;
TransformNode::TransformNode(TransformNode&&) noexcept = default;
TransformNode& TransformNode::operator=(const TransformNode&) = default;
TransformNode& TransformNode::operator=(TransformNode&&) noexcept = default;
TransformNode::~TransformNode() = default;

TransformNode::TransformNode(std::size_t alternative, void* node) {
  take(*this, alternative, node, std::make_index_sequence<std::variant_size_v<variant>>());
}

}  // namespace bale
