#include "server/store/credentials/profiles.h"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/posix/fd.h"
#include "server/store/credentials/key_answers.h"

namespace penstock::store {
namespace {

constexpr size_t kLargestProfiles = 1 << 20;

// Some editors put a byte order mark before the text.
absl::string_view WithoutMark(absl::string_view text) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  return text;
}

// A file's text; nullopt: it is not there, or may not be read.
absl::StatusOr<std::optional<std::string>> ReadWhole(const std::string& path) {
  const absl::StatusOr<posix::Fd> file = posix::OpenRegular(path);
  if (!file.ok()) return std::nullopt;
  std::string text(kLargestProfiles + 1, '\0');
  size_t size = 0;
  for (ssize_t got = 1; got != 0 && size < text.size();) {
    got = ::read(file->get(), text.data() + size, text.size() - size);
    if (got < 0 && errno != EINTR) return base::ErrnoStatus(errno, path);
    if (got > 0) size += static_cast<size_t>(got);
  }
  if (size > kLargestProfiles)
    return absl::FailedPreconditionError(
        absl::StrCat("'", path, "': more than 1 MiB, expected a file of profiles"));
  text.resize(size);
  return text;
}

struct ProfilesFile {
  std::string path = {};        // empty: there is no home folder
  bool has_been_named = false;  // by a variable
};

ProfilesFile FindFile(const Environment& environment, const char* variable, const char* usual) {
  std::string path = VariableIn(environment, variable);
  if (!path.empty()) return {std::move(path), true};
  const std::string home = VariableIn(environment, "HOME");
  return {home.empty() ? "" : absl::StrCat(home, usual), false};
}

// Other tools refuse a file with settings outside of profiles; silence would look like no keys.
absl::Status CheckProfiles(absl::string_view text, const std::string& path) {
  bool has_profile = false, has_more = false;
  for (absl::string_view line : absl::StrSplit(WithoutMark(text), '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    has_profile |= line.front() == '[' && line.back() == ']';
    has_more = true;
  }
  const bool is_text = !absl::StrContains(text, '\0');
  if (is_text && (has_profile || !has_more)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("'", path, "' could not be understood: ",
                   is_text ? "it has no line like [default] that begins a profile"
                           : "it holds zero bytes, as UTF-16 does",
                   "; write it as text in UTF-8, as `aws configure` does"));
}

absl::Status AddFrom(const ProfilesFile& file, Profile& profile) {
  if (file.path.empty()) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadWhole(file.path));
  if (!text && file.has_been_named)
    return absl::FailedPreconditionError(absl::StrCat(
        "the profile '", profile.name, "' is to be used, but '", file.path, "' cannot be read"));
  absl::StrAppend(&profile.files, profile.files.empty() ? "'" : " and '", file.path, "'");
  if (!text) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(CheckProfiles(*text, file.path));
  for (auto& [name, value] : ReadProfile(*text, profile.name)) {
    profile.is_there = true;
    profile.settings.emplace(name, value);  // the first file's count
  }
  return absl::OkStatus();
}

absl::Status RefuseProfile(const Profile& profile, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat("the profile '", profile.name, "' in ", profile.files, " ", why));
}

constexpr char kExport[] =
    ", which Penstock does not do; write keys into another profile (`aws configure "
    "export-credentials`), or use a role of the instance, of a container or by web identity";

}  // namespace

std::map<std::string, std::string> ReadProfile(absl::string_view text, absl::string_view profile) {
  std::map<std::string, std::string> settings;
  bool is_there = false, is_below = false;
  for (absl::string_view line : absl::StrSplit(WithoutMark(text), '\n')) {
    const bool is_indented = !line.empty() && absl::ascii_isblank(line[0]);
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line.front() == '[' && line.back() == ']') {
      const absl::string_view name = absl::StripAsciiWhitespace(line.substr(1, line.size() - 2));
      is_there = name == profile || name == absl::StrCat("profile ", profile);
      is_below = false;
      continue;
    }
    if (is_indented && is_below) continue;
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (parts.size() != 2) continue;
    const absl::string_view value = absl::StripAsciiWhitespace(parts[1]);
    is_below = value.empty();
    if (!is_there) continue;
    settings[absl::AsciiStrToLower(absl::StripAsciiWhitespace(parts[0]))] = std::string(value);
  }
  return settings;
}

std::string Profile::Get(const std::string& setting) const {
  const auto found = settings.find(setting);
  return found == settings.end() ? "" : found->second;
}

absl::StatusOr<Profile> FindProfile(const Environment& environment) {
  Profile profile = {.name = VariableIn(environment, "AWS_PROFILE")};
  const bool is_named = !profile.name.empty();
  if (!is_named) profile.name = "default";
  const ProfilesFile keys =
      FindFile(environment, "AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials");
  PENSTOCK_RETURN_IF_ERROR(AddFrom(keys, profile));
  PENSTOCK_RETURN_IF_ERROR(
      AddFrom(FindFile(environment, "AWS_CONFIG_FILE", "/.aws/config"), profile));
  if (is_named && !profile.is_there)
    return absl::FailedPreconditionError(absl::StrCat(
        "there is no profile '", profile.name, "' in ",
        profile.files.empty() ? "any file: neither HOME nor AWS_SHARED_CREDENTIALS_FILE is set"
                              : profile.files));
  return profile;
}

absl::StatusOr<SharedKeys> ReadProfileKeys(const Profile& profile) {
  if (!profile.Get("sso_session").empty() || !profile.Get("sso_start_url").empty())
    return RefuseProfile(profile, absl::StrCat("signs in by SSO", kExport));
  if (!profile.Get("role_arn").empty())
    return RefuseProfile(profile,
                         absl::StrCat("takes a role with another source's keys (source_profile "
                                      "or credential_source)",
                                      kExport));
  auto keys = std::make_shared<StoreKeys>(StoreKeys{.key_id = profile.Get("aws_access_key_id"),
                                                    .secret = profile.Get("aws_secret_access_key"),
                                                    .token = profile.Get("aws_session_token")});
  if (keys->key_id.empty() != keys->secret.empty())
    return RefuseProfile(profile, keys->secret.empty() ? "has no aws_secret_access_key"
                                                       : "has no aws_access_key_id");
  PENSTOCK_RETURN_IF_ERROR(CheckKeyTexts(*keys, absl::StrCat("the profile '", profile.name, "'")));
  if (!keys->key_id.empty()) return keys;
  if (!profile.Get("credential_process").empty())
    return RefuseProfile(
        profile, absl::StrCat("gets its keys from a program (credential_process)", kExport));
  return SharedKeys();
}

bool HasWebIdentity(const Profile& profile) {
  return !profile.Get("web_identity_token_file").empty();
}

}  // namespace penstock::store
