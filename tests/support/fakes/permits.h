// Permits without a limit, for tests of code that needs one.
#pragma once

#include <memory>
#include <utility>

#include "server/rpc/access/access.h"

namespace penstock::rpc {

struct PermitForTest {
  static Permit Make(Caller caller, const Ticket& ticket = {}) {
    return Permit(std::make_shared<const Caller>(std::move(caller)), ticket);
  }
  static Permit Operator() { return Make({.is_operator = true}); }
};

}  // namespace penstock::rpc
