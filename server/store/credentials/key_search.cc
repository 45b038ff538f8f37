#include "server/store/credentials/key_search.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/store/credentials/key_answers.h"
#include "server/store/credentials/profiles.h"
#include "server/store/credentials/server_keys.h"

namespace penstock::store {
namespace {

using Kind = KeysFound::KeyKind;

// Both variables, or neither.
absl::StatusOr<SharedKeys> KeysInVariables(const Environment& environment, const char* id_name,
                                           const char* secret_name) {
  StoreKeys keys = {.key_id = VariableIn(environment, id_name),
                    .secret = VariableIn(environment, secret_name)};
  if (keys.key_id.empty() != keys.secret.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("of ", id_name, " and ", secret_name, " one is set; set both, or neither"));
  if (keys.key_id.empty()) return SharedKeys();
  PENSTOCK_RETURN_IF_ERROR(CheckKeyTexts(keys, id_name));
  return std::make_shared<const StoreKeys>(std::move(keys));
}

absl::StatusOr<KeysFound> FetchFrom(absl::StatusOr<std::unique_ptr<KeySource>> source) {
  if (!source.ok()) return source.status();
  return (*source)->Fetch();
}

// Without keys: the profile says nothing about them.
absl::StatusOr<KeysFound> FetchFromProfile(const Environment& environment, const AskServer& ask) {
  PENSTOCK_ASSIGN_OR_RETURN(const Profile profile, FindProfile(environment));
  if (HasWebIdentity(profile)) {
    Environment with_region = environment;
    if (VariableIn(environment, "AWS_REGION").empty() &&
        VariableIn(environment, "AWS_DEFAULT_REGION").empty())
      with_region["AWS_REGION"] = profile.Get("region");
    return FetchFrom(MakeWebIdentityKeys(profile, with_region, ask));
  }
  PENSTOCK_ASSIGN_OR_RETURN(SharedKeys keys, ReadProfileKeys(profile));
  if (keys == nullptr) return KeysFound{.kind = Kind::kFile};
  return KeysFound{std::move(keys), absl::StrCat("the profile '", profile.name, "'"), Kind::kFile};
}

class NoKeys final : public KeySource {
 public:
  absl::StatusOr<KeysFound> Fetch() override { return KeysFound{.from = "none are asked for"}; }
};

class HmacKeys final : public KeySource {
 public:
  explicit HmacKeys(Environment environment) : environment_(std::move(environment)) {}
  absl::StatusOr<KeysFound> Fetch() override {
    PENSTOCK_ASSIGN_OR_RETURN(SharedKeys keys,
                              KeysInVariables(environment_, "GCS_KEY", "GCS_SECRET"));
    const bool is_there = keys != nullptr;
    return KeysFound{.keys = std::move(keys), .from = is_there ? "GCS_KEY" : "GCS_KEY is not set"};
  }

 private:
  const Environment environment_;
};

class ProfileKeys final : public KeySource {
 public:
  ProfileKeys(Environment environment, AskServer ask)
      : environment_(std::move(environment)), ask_(std::move(ask)) {}
  absl::StatusOr<KeysFound> Fetch() override {
    PENSTOCK_ASSIGN_OR_RETURN(KeysFound found, FetchFromProfile(environment_, ask_));
    if (found.keys != nullptr) return found;
    PENSTOCK_ASSIGN_OR_RETURN(const Profile profile, FindProfile(environment_));
    return absl::FailedPreconditionError(absl::StrCat(
        "there is no aws_access_key_id in the profile '", profile.name, "' of ", profile.files));
  }

 private:
  const Environment environment_;
  const AskServer ask_;
};

// Makes the source anew for each Fetch, so that a wrong variable is an error of the Fetch.
template <auto Make>
class ServerKeys final : public KeySource {
 public:
  ServerKeys(Environment environment, AskServer ask)
      : environment_(std::move(environment)), ask_(std::move(ask)) {}
  absl::StatusOr<KeysFound> Fetch() override { return FetchFrom(Make(environment_, ask_)); }

 private:
  const Environment environment_;
  const AskServer ask_;
};

class SearchedKeys final : public KeySource {
 public:
  SearchedKeys(Environment environment, AskServer ask)
      : environment_(std::move(environment)), ask_(std::move(ask)) {}

  absl::StatusOr<KeysFound> Fetch() override {
    if (Has("PENSTOCK_STORE_ANONYMOUS")) return Anonymous();
    PENSTOCK_ASSIGN_OR_RETURN(SharedKeys keys, KeysInVariables(environment_, "AWS_ACCESS_KEY_ID",
                                                               "AWS_SECRET_ACCESS_KEY"));
    if (keys != nullptr) return WithToken(*keys);
    if (Has("AWS_WEB_IDENTITY_TOKEN_FILE"))
      return FetchFrom(MakeWebIdentityKeys(environment_, ask_));
    PENSTOCK_ASSIGN_OR_RETURN(KeysFound found, FetchFromProfile(environment_, ask_));
    if (found.keys != nullptr) return found;
    if (Has("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") || Has("AWS_CONTAINER_CREDENTIALS_FULL_URI"))
      return FetchFrom(MakeContainerKeys(environment_, ask_));
    return FetchFromMetadata();
  }

 private:
  bool Has(const char* name) const { return !VariableIn(environment_, name).empty(); }

  absl::StatusOr<KeysFound> Anonymous() const {
    if (const std::string set = VariableIn(environment_, "PENSTOCK_STORE_ANONYMOUS"); set != "1")
      return absl::FailedPreconditionError("PENSTOCK_STORE_ANONYMOUS: expected 1, or nothing");
    return KeysFound{.from = "PENSTOCK_STORE_ANONYMOUS is set"};
  }

  absl::StatusOr<KeysFound> WithToken(StoreKeys keys) const {
    keys.token = VariableIn(environment_, "AWS_SESSION_TOKEN");
    PENSTOCK_RETURN_IF_ERROR(CheckKeyTexts(keys, "AWS_SESSION_TOKEN"));
    return KeysFound{.keys = std::make_shared<const StoreKeys>(std::move(keys)),
                     .from = "AWS_ACCESS_KEY_ID"};
  }

  absl::StatusOr<KeysFound> FetchFromMetadata() {
    if (IsMetadataDisabled(environment_))
      return KeysFound{.from = "no keys were found, and AWS_EC2_METADATA_DISABLED is set",
                       .kind = Kind::kAbsent};
    PENSTOCK_ASSIGN_OR_RETURN(const auto source, MakeMetadataKeys(environment_, ask_));
    absl::StatusOr<KeysFound> found = source->Fetch();
    if (!found.ok() && !has_metadata_ && !absl::IsCancelled(found.status()))
      return KeysFound{.from = absl::StrCat("no keys were found; ", found.status().message()),
                       .kind = Kind::kAbsent};
    has_metadata_ = true;
    return found;
  }

  const Environment environment_;
  const AskServer ask_;
  bool has_metadata_ = false;  // it gave keys once
};

}  // namespace

std::unique_ptr<KeySource> MakeKeySource(const KeySpec& spec, AskServer ask) {
  switch (spec.from) {
    case KeySpec::From::kSearch:
      return std::make_unique<SearchedKeys>(spec.environment, std::move(ask));
    case KeySpec::From::kHmac:
      return std::make_unique<HmacKeys>(spec.environment);
    case KeySpec::From::kProfile:
      return std::make_unique<ProfileKeys>(spec.environment, std::move(ask));
    case KeySpec::From::kMetadata:
      return std::make_unique<ServerKeys<&MakeMetadataKeys>>(spec.environment, std::move(ask));
    case KeySpec::From::kContainer:
      return std::make_unique<ServerKeys<&MakeContainerKeys>>(spec.environment, std::move(ask));
    case KeySpec::From::kWebIdentity:
      return std::make_unique<ServerKeys<static_cast<absl::StatusOr<std::unique_ptr<KeySource>> (*)(
          const Environment&, AskServer)>(&MakeWebIdentityKeys)>>(spec.environment, std::move(ask));
    case KeySpec::From::kNowhere:
      break;
  }
  return std::make_unique<NoKeys>();
}

}  // namespace penstock::store
