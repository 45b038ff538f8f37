// Profiles in files such as ~/.aws/credentials and ~/.aws/config.
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/store/credentials/store_keys.h"

namespace penstock::store {

// The settings of one section of such a file, in lower case; of `[profile NAME]`, too. Settings
// below a setting (indented lines, such as those of `s3 =`) are left out. Pure.
std::map<std::string, std::string> ReadProfile(absl::string_view text, absl::string_view profile);

struct Profile {
  std::string name;
  std::map<std::string, std::string> settings = {};
  std::string files = {};  // where it was looked for, for messages
  bool is_there = false;   // whether a file has it

  // The setting's value; empty if it is not set.
  std::string Get(const std::string& setting) const;
};

// The profile AWS_PROFILE, or `default`, of AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and
// AWS_CONFIG_FILE (~/.aws/config); what both have counts as the first has it. Reads these files.
// **Errors**: FailedPrecondition if a file that a variable names cannot be read, or neither has the
// profile that AWS_PROFILE names.
absl::StatusOr<Profile> FindProfile(const Environment& environment);

// The keys that the profile itself has; null: it has none, nor anything else that gives keys, so
// that the next source is asked. **Errors**: FailedPrecondition if it has one key of two, or gets
// them in a way that Penstock does not know: another profile's role, SSO, a program.
absl::StatusOr<SharedKeys> ReadProfileKeys(const Profile& profile);

// Whether the profile takes a role by a token in a file (see web_identity.h).
bool HasWebIdentity(const Profile& profile);

}  // namespace penstock::store
