#include "server/store/client/credentials.h"

#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace penstock::store {
namespace {

std::string Get(const Environment& environment, absl::string_view name) {
  const auto found = environment.find(std::string_view(name.data(), name.size()));
  return found == environment.end() ? "" : found->second;
}

absl::StatusOr<std::shared_ptr<const StoreKeys>> FromProfile(const std::string& path,
                                                             const std::string& profile,
                                                             bool is_asked_for) {
  std::ifstream file(path);
  if (!file) {
    if (!is_asked_for) return nullptr;
    return absl::FailedPreconditionError(
        absl::StrCat("the profile '", profile, "' is to be used, but '", path, "' cannot be read"));
  }
  std::stringstream text;
  text << file.rdbuf();
  const std::map<std::string, std::string> keys = ReadProfile(text.str(), profile);
  if (keys.empty() && !is_asked_for) return nullptr;
  auto found = std::make_shared<StoreKeys>();
  for (const auto& [name, into] : {std::pair("aws_access_key_id", &found->key_id),
                                   std::pair("aws_secret_access_key", &found->secret)}) {
    const auto key = keys.find(name);
    if (key == keys.end() || key->second.empty())
      return absl::FailedPreconditionError(
          absl::StrCat("'", path, "' has no ", name, " in the profile '", profile, "'"));
    *into = key->second;
  }
  if (const auto token = keys.find("aws_session_token"); token != keys.end())
    found->token = token->second;
  found->from = absl::StrCat("profile ", profile, " of ", path);
  return found;
}

}  // namespace

std::map<std::string, std::string> ReadProfile(absl::string_view text, absl::string_view profile) {
  std::map<std::string, std::string> keys;
  bool is_there = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line.front() == '[' && line.back() == ']') {
      const absl::string_view name = absl::StripAsciiWhitespace(line.substr(1, line.size() - 2));
      is_there = name == profile || name == absl::StrCat("profile ", profile);
      continue;
    }
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (!is_there || parts.size() != 2) continue;
    keys[absl::AsciiStrToLower(absl::StripAsciiWhitespace(parts[0]))] =
        std::string(absl::StripAsciiWhitespace(parts[1]));
  }
  return keys;
}

absl::StatusOr<std::shared_ptr<const StoreKeys>> FindStoreKeys(const Environment& environment) {
  const std::string id = Get(environment, "AWS_ACCESS_KEY_ID");
  const std::string secret = Get(environment, "AWS_SECRET_ACCESS_KEY");
  if (!id.empty() && !secret.empty())
    return std::make_shared<const StoreKeys>(
        StoreKeys{.key_id = id,
                  .secret = secret,
                  .token = Get(environment, "AWS_SESSION_TOKEN"),
                  .from = "AWS_ACCESS_KEY_ID"});
  if (id.empty() != secret.empty())
    return absl::FailedPreconditionError(
        "of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY one is set; set both, or neither");
  const std::string profile = Get(environment, "AWS_PROFILE");
  std::string path = Get(environment, "AWS_SHARED_CREDENTIALS_FILE");
  const bool is_asked_for = !profile.empty() || !path.empty();
  if (path.empty()) {
    const std::string home = Get(environment, "HOME");
    if (home.empty()) return nullptr;
    path = absl::StrCat(home, "/.aws/credentials");
  }
  return FromProfile(path, profile.empty() ? "default" : profile, is_asked_for);
}

}  // namespace penstock::store
