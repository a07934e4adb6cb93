// Lease: a batch in a slot of the ring. The slot returns to the workers when the Lease ends.
#pragma once

#include <cstdint>
#include <memory>

#include "bale/loader/batch/batch_view.hpp"

namespace bale::loader_detail {

class Session;

class Lease final : public BatchView {
 public:
  /// Precondition: the fields of the batch are gathered.
  Lease(std::shared_ptr<Session> session, std::uint32_t slot);
  ~Lease() override;

  std::uint32_t slot() const { return slot_; }

 private:
  std::shared_ptr<Session> session_;
  std::uint32_t slot_;
};

}  // namespace bale::loader_detail
