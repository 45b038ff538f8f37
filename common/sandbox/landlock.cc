#include "common/sandbox/landlock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "common/posix/fd.h"

// These numbers are the same on all architectures. They are repeated here because Debian 12's
// headers know version 2 only, and the running kernel may know a later one.
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif

namespace penstock::sandbox {
namespace {

constexpr unsigned kAskVersion = 1;  // LANDLOCK_CREATE_RULESET_VERSION

// struct landlock_ruleset_attr, as of version 6. Older kernels accept it if the fields that they
// don't know are zero.
struct RulesetAttributes {
  uint64_t handled_access_fs, handled_access_net, scoped;
};

constexpr uint64_t Bits(unsigned count) { return (uint64_t{1} << count) - 1; }

}  // namespace

LandlockRights MakeLandlockRights(int version) {
  LandlockRights rights;
  if (version < 1) return rights;
  rights.files = Bits(version >= 5   ? 16      // ioctl of devices
                      : version >= 3 ? 15      // truncate
                      : version >= 2 ? 14      // rename between folders
                                     : 13);    // execute, read, write, and make or remove each kind
  if (version >= 4) rights.network = Bits(2);  // bind and connect TCP
  if (version >= 6) rights.scopes = Bits(2);   // abstract Unix sockets, signals
  return rights;
}

int EnterLandlock() {
  const int version =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion));
  if (version < 1) return 0;
  const LandlockRights rights = MakeLandlockRights(version);
  const RulesetAttributes attributes = {.handled_access_fs = rights.files,
                                        .handled_access_net = rights.network,
                                        .scoped = rights.scopes};
  const posix::Fd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0)));
  if (!ruleset.valid()) return 0;
  return ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0 ? version : 0;
}

}  // namespace penstock::sandbox
