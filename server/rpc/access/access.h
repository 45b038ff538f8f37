// Who may call what: one rule for each method that the daemon serves, and the proof that a call
// passed its rule. `Gate` alone applies the rules and makes permits; every method of `Controller`
// wants one, so a handler cannot reach the daemon without having been judged. What a permit's
// holder may see of a dataset, a session or a worker is the controller's to decide, by the caller
// in the permit.
//
// **Thread safety**: immutable.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/rpc/controller.h"

namespace penstock::rpc {

// Who made a connection, as the kernel said when it was made. What that process becomes later, or
// to whom it passes the connection, changes nothing.
struct Caller {
  pid_t pid = 0;  // 0: in a PID namespace that this daemon cannot see into
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  bool is_operator = false;  // by the socket that it came through, and by configuration
};

enum class Who {
  kAnyone,        // whoever may connect
  kTicketHolder,  // a process that said Hello at the doorway; the ticket is of the caller's user
  kOperator,
};

// What a call touches. The controller shows and does only what the caller may: of kDataset one that
// the caller's groups may open, of kSession one of the caller's own process, of kView what is the
// caller's own or may be opened. Operators see everything through AdminService, and are trainers
// like any other through FeedService.
enum class Touches { kNothing, kDataset, kSession, kView, kDaemon };

struct AccessRule {
  absl::string_view method;  // "penstock.v1.FeedService.OpenSession"
  Who who = Who::kOperator;
  Touches touches = Touches::kDaemon;
  // Whether a call of it is an action, which is logged with its actor where that is an operator.
  bool is_action = false;
};

// All of them. gRPC's own services, health and reflection, are here as well: they serve anyone, and
// tell nothing but whether the daemon serves, and the contract.
std::span<const AccessRule> AccessRules();
// Null: nobody may call this method.
const AccessRule* FindRule(absl::string_view method);

class Permit {
 public:
  const Caller& caller() const { return *caller_; }
  bool is_operator() const { return caller_->is_operator; }
  // Of methods for ticket holders; else of nobody.
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
