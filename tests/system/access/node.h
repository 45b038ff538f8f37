// A machine with several users and one daemon, which has a user of its own: a dataset for everybody
// ("flowers"), and one for a group ("secret-set") with a photograph that cannot be decoded.
#pragma once

#include <memory>
#include <string>

#include "tests/support/programs/caller_process.h"
#include "tests/support/programs/daemon_process.h"

namespace penstock::testing {

inline constexpr uid_t kDaemonUser = 54320, kMemberUser = 54321, kOutsiderUser = 54323,
                       kAdminUser = 54326;
inline constexpr gid_t kSocketGroup = 54322, kSecretGroup = 54330;
// In no answer to those who may not see the group's dataset; the folder's and the sample's names.
inline constexpr char kToken[] = "topsecret";

inline const Identity kMember = {.user = kMemberUser, .groups = {kSocketGroup, kSecretGroup}};
inline const Identity kOutsider = {.user = kOutsiderUser, .groups = {kSocketGroup}};
inline const Identity kAdmin = {.user = kAdminUser, .groups = {}};
inline const Identity kRoot = {};

class Node {
 public:
  struct Options {
    bool with_admins = true;  // kAdminUser is one
    std::string metrics_address = {};
  };
  explicit Node(const Options& options);

  DaemonProcess& daemon() { return *daemon_; }
  std::string address() const { return daemon_->address(); }
  std::string door() const { return daemon_->address() + ".door"; }
  std::string admin_address() const { return daemon_->admin_address(); }
  // With a ticket, at the trainers' socket.
  std::unique_ptr<CallerProcess> Trainer(const Identity& as) const {
    return std::make_unique<CallerProcess>(address(), door(), as);
  }

 private:
  TemporaryDirectory data_;
  std::unique_ptr<DaemonProcess> daemon_;
};

// The request of a session on this dataset.
std::string OpenJson(const std::string& dataset);

}  // namespace penstock::testing
