// Parses files of /proc and /sys. Pure. Malformed text gives InvalidArgument or no value, and no
// other error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::ctl {

// The identity with which a process opens files.
struct Identity {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;  // supplementary
};

// The effective ids of /proc/PID/status.
absl::StatusOr<Identity> ParseIdentity(absl::string_view status);

inline constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

struct Limit {
  uint64_t soft = kUnlimited, hard = kUnlimited;
};

// One line of /proc/PID/limits, such as "Max open files".
absl::StatusOr<Limit> ParseLimit(absl::string_view limits, absl::string_view name);

// The choice in brackets: "never" for "always [never]".
absl::StatusOr<std::string> ParseChoice(absl::string_view text);

// Numbers from first to last, both included.
struct IdRange {
  uint32_t first = 0, last = 0;
};

// A list such as "0-3,8" of cores or nodes. Empty text gives an empty list.
absl::StatusOr<std::vector<IdRange>> ParseIds(absl::string_view text);
uint64_t CountOf(const std::vector<IdRange>& ids);
bool Overlap(const std::vector<IdRange>& one, const std::vector<IdRange>& other);

// "key: value kB" of /proc/meminfo, in bytes; "key: value" unchanged.
std::optional<uint64_t> KeyedNumber(absl::string_view text, absl::string_view key);

struct Mount {
  std::string point, type;
};

// Parses /proc/PID/mountinfo; skips malformed lines.
std::vector<Mount> ParseMounts(absl::string_view mountinfo);
// The mount that contains an absolute path without symbolic links; null if there is none.
const Mount* MountOf(const std::vector<Mount>& mounts, absl::string_view path);
// Whether another machine or a program serves the files.
bool IsRemote(absl::string_view file_system);

// Whether /proc/PID/uid_map maps every user to itself, as on the machine itself.
bool IsWholeUserMap(absl::string_view uid_map);

// "580.159.04" from /proc/driver/nvidia/version; "" if there is none.
std::string DriverVersion(absl::string_view text);

}  // namespace penstock::ctl
