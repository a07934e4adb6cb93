#include "bale/loader/transform/step.hpp"

namespace bale::step {

// Not in the header: a step that is not complete there has no ==.
bool operator==(const Mixture& a, const Mixture& b) {
  return a.rule == b.rule && a.share == b.share && a.weights == b.weights && a.chains == b.chains;
}

}  // namespace bale::step
