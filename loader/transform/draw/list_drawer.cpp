// Compiled without floating-point contraction.
#include "bale/loader/transform/draw/list_drawer.hpp"

#include <map>
#include <numeric>

#include <fmt/format.h>

#include "bale/formats/base/error.hpp"
#include "bale/loader/transform/draw/draw_node.hpp"
#include "bale/loader/transform/draw/policy/policy.hpp"
#include "bale/loader/transform/members/members.hpp"

namespace bale::transform_detail {
namespace {

template <typename Node>
concept Policy = requires(const Node& node, KeyedRandom& random, Drawing& drawing) {
  draw_policy(node, random, drawing);
};

using Numbered = ListNumbers::Numbered;

/// One drawing of a list.
class ListRun {
 public:
  ListRun(const DrawKey& key, Drawing& drawing) : key_(key), drawing_(drawing) {}

  void list(const TransformList& transforms, const std::vector<Numbered>& numbered) {
    for (std::size_t i = 0; i < transforms.size(); ++i) node(transforms[i], numbered[i]);
  }

 private:
  void node(const TransformNode& transform, const Numbered& numbered) {
    const NodeRandom random(key_, numbered.name, numbered.occurrence);
    std::visit([&](const auto& chosen) { draw(chosen, numbered, random); }, as_variant(transform));
  }

  template <typename Node>
  void draw(const Node& node, const Numbered& numbered, const NodeRandom& random) {
    if constexpr (Policy<Node>) {
      KeyedRandom sequence = random.part(0);
      draw_policy(node, sequence, drawing_);
    } else if constexpr (std::is_same_v<Node, transforms::RandomErasing>) {
      draw_erasing(node, numbered.converted, random, drawing_);
    } else {
      draw_node(node, random, drawing_);
    }
  }

  // Conversions are done at the end, from the members of Transform.
  void draw(const transforms::ToDtype&, const Numbered&, const NodeRandom&) {}
  void draw(const transforms::Normalize&, const Numbered&, const NodeRandom&) {}

  void draw(const transforms::Compose& node, const Numbered& numbered, const NodeRandom&) {
    list(node.transforms, numbered.children);
  }
  void draw(const transforms::RandomApply& node, const Numbered& numbered, const NodeRandom& random) {
    if (random.part(0).uniform() < node.p) list(node.transforms, numbered.children);
  }
  void draw(const transforms::RandomOrder& apply, const Numbered& numbered, const NodeRandom& random) {
    std::vector<std::size_t> order(apply.transforms.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    random.part(0).shuffle(order);
    for (const std::size_t i : order) node(apply.transforms[i], numbered.children[i]);
  }
  void draw(const transforms::RandomChoice& choice, const Numbered& numbered, const NodeRandom& random) {
    KeyedRandom sequence = random.part(0);
    std::size_t chosen = 0;
    if (choice.p.empty()) {
      chosen = sequence.below(choice.transforms.size());
    } else {
      double rest = sequence.uniform() * std::accumulate(choice.p.begin(), choice.p.end(), 0.0);
      while (chosen + 1 < choice.p.size() && rest >= choice.p[chosen]) rest -= choice.p[chosen++];
    }
    node(choice.transforms[chosen], numbered.children[chosen]);
  }

  const DrawKey& key_;
  Drawing& drawing_;
};

}  // namespace

std::shared_ptr<const ListNumbers> numbers_of(const TransformList& list) {
  std::map<std::uint64_t, std::uint64_t> counts;
  bool converted = false;
  const auto number_all = [&](const auto& self, const TransformList& transforms) -> std::vector<Numbered> {
    std::vector<Numbered> all;
    for (const TransformNode& transform : transforms) {
      Numbered one;
      one.name = std::visit([](const auto& chosen) { return name_number(name_of(&chosen)); }, as_variant(transform));
      one.occurrence = counts[one.name]++;
      one.converted = converted;
      converted |= std::holds_alternative<transforms::ToDtype>(transform) ||
                   std::holds_alternative<transforms::Normalize>(transform);
      if (const TransformList* children = children_of(transform)) one.children = self(self, *children);
      all.push_back(std::move(one));
    }
    return all;
  };
  return std::make_shared<const ListNumbers>(ListNumbers{number_all(number_all, list)});
}

void draw_list(const CheckedList& list, PassOrder pass_order, const DrawKey& key, std::uint32_t width,
               std::uint32_t height, Steps& steps, const BoxesOfImage& boxes) {
  Drawing drawing(width, height, pass_order, steps, boxes);
  try {
    ListRun(key, drawing).list(list.nodes, list.numbers->nodes);
  } catch (const Error& error) {  // the list was checked: it is this image that cannot be changed so
    throw Error(ErrorCode::unsupported, fmt::format("image of {}x{} pixels: {}", width, height, error.message()));
  }
}

Steps draw_again(const Transform& transform, const DrawKey& key, std::uint32_t width, std::uint32_t height,
                 const Region& iou_crop) {
  Steps steps;
  draw_list(*transform.list, transform.pass_order, key, width, height, steps, {.drawn = &iou_crop});
  return steps;
}

}  // namespace bale::transform_detail
