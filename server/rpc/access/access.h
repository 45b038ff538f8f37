// Access control for calls: one rule per method that the daemon serves, and the proof that a call
// passed its rule. Only `Gate` applies rules and makes permits. Every method of `Controller`
// requires a permit, so no handler can reach the daemon without a check. The controller decides, by
// the caller in the permit, which datasets, sessions and workers the caller may see.
//
// **Thread safety**: immutable.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/rpc/controller.h"

namespace penstock::rpc {

// The process that made a connection, as the kernel reported it at that time, or a client on
// another machine that has a certificate for the operators' port. If that process
// changes its identity or passes the connection on, nothing changes here.
struct Caller {
  pid_t pid = 0;  // 0: in a PID namespace that is invisible to this daemon
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups = {};
  bool is_operator = false;  // decided by its socket and by the configuration
  // The TCP address, if it is on another machine; then pid, user and group say nothing about it.
  std::string from = {};
};

enum class Who {
  kAnyone,        // anyone who may connect
  kTicketHolder,  // a process that said Hello at the doorway; the ticket belongs to the caller's
                  // user
  kOperator,
};

// What a call accesses. The controller restricts it to what the caller may see: kDataset to
// datasets that the caller's groups may open, kSession to sessions of the caller's own process,
// kView to both of these. Operators see everything through AdminService, but are ordinary trainers
// in FeedService.
enum class Touches { kNothing, kDataset, kSession, kView, kDaemon };

// From where a method can be called. Over TCP operators look at a daemon and change nothing.
enum class Reach { kThisMachine, kAlsoOverTls };

struct AccessRule {
  absl::string_view method;  // "penstock.v1.FeedService.OpenSession"
  Who who = Who::kOperator;
  Touches touches = Touches::kDaemon;
  // Whether calls are actions, which are logged with their actor if an operator makes them.
  bool is_action = false;
  Reach reach = Reach::kThisMachine;
};

// All rules. They include gRPC's own services, health and reflection, which serve anyone and reveal
// only whether the daemon serves, and the protocol.
std::span<const AccessRule> AccessRules();
// Null if nobody may call this method.
const AccessRule* FindRule(absl::string_view method);

class Permit {
 public:
  const Caller& caller() const { return *caller_; }
  bool is_operator() const { return caller_->is_operator; }
  // **Requires**: the method is for ticket holders; otherwise the ticket is empty.
  const Ticket& ticket() const { return ticket_; }

 private:
  friend class Gate;
  friend struct PermitForTest;
  explicit Permit(std::shared_ptr<const Caller> caller, const Ticket& ticket = {})
      : caller_(std::move(caller)), ticket_(ticket) {}

  std::shared_ptr<const Caller> caller_;  // shared with the connection's other calls
  Ticket ticket_;
};

}  // namespace penstock::rpc
