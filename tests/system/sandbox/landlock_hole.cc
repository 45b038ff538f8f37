// Preloaded into a worker or indexer: makes a hole in its Landlock domain. The variable
// PENSTOCK_TEST_HOLE says which: "all" reports that the process entered the domain, but enters
// none; "files", "network" and "scopes" leave this out of what the domain forbids. Only an attempt
// behind Landlock alone can find such a hole, because the filter stops every other attempt.
#include <dlfcn.h>

#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

constexpr long kCreateRuleset = 444, kRestrictSelf = 446;
constexpr long kAskVersion = 1;

// struct landlock_ruleset_attr
struct Ruleset {
  uint64_t files, network, scopes;
};

void LeaveOut(std::string_view what, Ruleset& ruleset) {
  if (what == "files") ruleset.files = 1 << 13;  // only renames between folders
  if (what == "network") ruleset.network = 0;
  if (what == "scopes") ruleset.scopes = 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& each : a) each = va_arg(list, long);
  va_end(list);
  const char* hole = std::getenv("PENSTOCK_TEST_HOLE");
  const std::string_view what = hole == nullptr ? "" : hole;
  if (number == kRestrictSelf && what == "all") return 0;
  Ruleset ruleset = {};
  if (number == kCreateRuleset && a[2] != kAskVersion) {
    ruleset = *reinterpret_cast<const Ruleset*>(a[0]);
    LeaveOut(what, ruleset);
    a[0] = reinterpret_cast<long>(&ruleset);
  }
  using Call = long (*)(long, ...);
  static const auto real = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "syscall"));
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
