// What a process tries behind Landlock alone, before the seccomp filter stops everything. It makes
// each attempt twice: before it enters the domain, where the attempt must succeed, and after. So a
// refusal comes from Landlock, and not from a missing file, right or feature.
//
// **Ownership**: the process that enters the domain. **Thread safety**: one thread.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <array>

#include "common/posix/fd.h"
#include "common/sandbox/probe/attempts.h"
#include "common/sandbox/probe/probe_page.h"

namespace penstock::sandbox {

class LandlockTrial {
 public:
  // `outcomes`: all kNotTried.
  LandlockTrial(const AttemptTarget& target, LandlockOutcomes& outcomes);

  // Outside the domain. Attempts that fail here prove nothing, and are not made again.
  void TryOutside();
  // In the domain: the outcome of each attempt that this version of Landlock forbids.
  void TryInside(int version);

 private:
  struct TrialTarget {
    pid_t daemon;
    char name_file[64];  // with the name of the parent process
    char path[5000];     // at which a file or folder can be made
    posix::Fd listener;
    sockaddr_un address;
    socklen_t address_bytes;
  };
  using Try = int (*)(const TrialTarget&);
  static const std::array<Try, kLandlockAttempts.size()> kTries;

  TrialTarget target_ = {};
  LandlockOutcomes& outcomes_;
  std::array<bool, kLandlockAttempts.size()> succeeds_ = {};
};

}  // namespace penstock::sandbox
