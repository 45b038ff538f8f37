// What files of /proc and /sys say. Pure: text in, values out; text that is not what it should be
// is InvalidArgument, or has no value, and never more than that.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace penstock::ctl {

// As whom a process opens files.
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

// A line of /proc/PID/limits, like "Max open files".
absl::StatusOr<Limit> ParseLimit(absl::string_view limits, absl::string_view name);

// The choice in brackets, of "always [never]".
absl::StatusOr<std::string> ParseChoice(absl::string_view text);

// Numbers from first to last, both included.
struct IdRange {
  uint32_t first = 0, last = 0;
};

// "0-3,8": cores or nodes. Empty text is none.
absl::StatusOr<std::vector<IdRange>> ParseIds(absl::string_view text);
uint64_t CountOf(const std::vector<IdRange>& ids);
bool Overlap(const std::vector<IdRange>& one, const std::vector<IdRange>& other);

// "key: value kB" of /proc/meminfo in bytes, "key: value" as it is.
std::optional<uint64_t> KeyedNumber(absl::string_view text, absl::string_view key);

struct Mount {
  std::string point, type;
};

// /proc/PID/mountinfo; lines that are none are left out.
std::vector<Mount> ParseMounts(absl::string_view mountinfo);
// The one that an absolute path without links lies on; null where there is none.
const Mount* MountOf(const std::vector<Mount>& mounts, absl::string_view path);
// Whether another machine, or a program, answers for its files.
bool IsRemote(absl::string_view file_system);

// Whether /proc/PID/uid_map is that of the machine itself: every user is who they are.
bool IsWholeUserMap(absl::string_view uid_map);

// "580.159.04" of /proc/driver/nvidia/version; "" where it says none.
std::string DriverVersion(absl::string_view text);

}  // namespace penstock::ctl
