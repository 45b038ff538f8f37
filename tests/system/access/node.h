// A machine with several users and a daemon with its own user. It has a dataset for everybody
// ("flowers") and one for a group ("secret-set"), which contains a photograph that cannot be
// decoded.
#pragma once

#include <memory>
#include <string>

#include "tests/support/programs/caller_process.h"
#include "tests/support/programs/daemon_process.h"

namespace penstock::testing {

inline constexpr uid_t kDaemonUser = 54320, kMemberUser = 54321, kOutsiderUser = 54323,
                       kAdminUser = 54326;
inline constexpr gid_t kSocketGroup = 54322, kSecretGroup = 54330;
// Part of the folder's and the sample's names in the group's dataset. It must not appear in any
// response to a caller outside the group.
inline constexpr char kToken[] = "topsecret";

inline const Identity kMember = {.user = kMemberUser, .groups = {kSocketGroup, kSecretGroup}};
inline const Identity kOutsider = {.user = kOutsiderUser, .groups = {kSocketGroup}};
inline const Identity kAdmin = {.user = kAdminUser, .groups = {}};
inline const Identity kRoot = {};

class Node {
 public:
  struct Options {
    bool with_admins = true;  // makes kAdminUser an admin
    std::string metrics_address = {};
  };
  explicit Node(const Options& options);

  DaemonProcess& daemon() { return *daemon_; }
  std::string address() const { return daemon_->address(); }
  std::string door() const { return daemon_->address() + ".door"; }
  std::string admin_address() const { return daemon_->admin_address(); }
  // A caller with a ticket at the trainers' socket.
  std::unique_ptr<CallerProcess> Trainer(const Identity& as) const {
    return std::make_unique<CallerProcess>(address(), door(), as);
  }

 private:
  TemporaryDirectory data_;
  std::unique_ptr<DaemonProcess> daemon_;
};

// An OpenSession request for this dataset, as JSON.
std::string OpenJson(const std::string& dataset);

}  // namespace penstock::testing
