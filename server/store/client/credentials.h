// Keys with which requests are signed.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::store {

// Never write any of it to a log or into a message.
struct StoreKeys {
  std::string key_id = {}, secret = {}, token = {};
  std::string from = {};  // which source has given them, for messages
};

// What decides about credentials: variables of the environment, under their names.
using Environment = std::map<std::string, std::string, std::less<>>;

// The first of: AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN); the profile
// AWS_PROFILE (or `default`) in AWS_SHARED_CREDENTIALS_FILE (or ~/.aws/credentials). Null: there
// are none, so requests are anonymous. Reads files.
// **Errors**: FailedPrecondition if one of the two keys is missing, if a profile was named and is
// not there, or lacks a key, or if the file cannot be read.
absl::StatusOr<std::shared_ptr<const StoreKeys>> FindStoreKeys(const Environment& environment);

// The keys of one section of a file such as ~/.aws/credentials; of `[profile NAME]`, too. Pure.
std::map<std::string, std::string> ReadProfile(absl::string_view text, absl::string_view profile);

}  // namespace penstock::store
