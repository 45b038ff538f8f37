#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/store/address/address.h"
#include "server/store/address/amazon.h"
#include "server/store/credentials/key_answers.h"
#include "server/store/credentials/server_keys.h"
#include "server/store/credentials/token_file.h"

namespace penstock::store {
namespace {

constexpr char kWebIdentity[] = "web identity";
constexpr std::chrono::seconds kStsDeadline(10);
constexpr uint64_t kMostStsBody = 64 << 10;
constexpr size_t kMostStsWords = 200;

struct WebIdentity {
  std::string role, token_file, session = {}, endpoint = {};
};

absl::StatusOr<std::string> StsEndpoint(const Environment& environment) {
  for (const char* const name : {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}) {
    std::string endpoint = VariableIn(environment, name);
    if (endpoint.empty()) continue;
    if ((!absl::StartsWith(endpoint, "https://") && !absl::StartsWith(endpoint, "http://")) ||
        absl::StrContains(endpoint, '@'))
      return absl::FailedPreconditionError(
          absl::StrCat(name, ": expected https://HOST[:PORT] or http://HOST[:PORT]"));
    while (absl::EndsWith(endpoint, "/")) endpoint.pop_back();
    return endpoint;
  }
  std::string region = VariableIn(environment, "AWS_REGION");
  if (region.empty()) region = VariableIn(environment, "AWS_DEFAULT_REGION");
  if (region.empty()) region = "us-east-1";
  return absl::StrCat("https://sts.", region, ".", AmazonDomain(region));
}

class WebIdentityKeys final : public KeySource {
 public:
  WebIdentityKeys(WebIdentity identity, AskServer ask)
      : identity_(std::move(identity)), ask_(std::move(ask)) {}

  absl::StatusOr<KeysFound> Fetch() override {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string token, ReadTokenFile(identity_.token_file));
    TransferRequest request;
    request.method = TransferRequest::Method::kPost;
    request.url = absl::StrCat(identity_.endpoint, "/");
    request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
    request.body =
        absl::StrCat("Action=AssumeRoleWithWebIdentity&RoleArn=", PercentEncode(identity_.role),
                     "&RoleSessionName=", PercentEncode(identity_.session),
                     "&Version=2011-06-15&WebIdentityToken=", PercentEncode(token));
    request.most_body = kMostStsBody;
    request.deadline = kStsDeadline;
    const TransferAnswer answer = ask_(request);
    const std::string where = absl::StrCat(kWebIdentity, " at ", identity_.endpoint);
    if (!answer.status.ok()) return base::Annotate(answer.status, where);
    if (!answer.ok()) return Refused(answer, where);
    PENSTOCK_ASSIGN_OR_RETURN(SharedKeys keys, ReadStsKeys(answer.body, kWebIdentity));
    return KeysFound{std::move(keys), kWebIdentity, KeysFound::KeyKind::kServer};
  }

 private:
  // Only STS's own code is repeated: its message may quote the token's claims.
  static absl::Status Refused(const TransferAnswer& answer, const std::string& where) {
    const std::string code =
        absl::CHexEscape(XmlText(answer.body, "Code").substr(0, kMostStsWords));
    const std::string words =
        absl::StrCat(where, ": STS answered ", answer.code, code.empty() ? "" : " ", code);
    if (answer.code >= 500 || answer.code == 429 || code == "IDPCommunicationError" ||
        absl::StrContains(code, "Throttl"))
      return absl::UnavailableError(words);
    return absl::PermissionDeniedError(words);
  }

  const WebIdentity identity_;
  const AskServer ask_;
};

absl::StatusOr<std::unique_ptr<KeySource>> MakeIdentityKeys(WebIdentity identity,
                                                            const Environment& environment,
                                                            AskServer ask) {
  if (identity.session.empty()) identity.session = "penstock";
  PENSTOCK_ASSIGN_OR_RETURN(identity.endpoint, StsEndpoint(environment));
  return std::make_unique<WebIdentityKeys>(std::move(identity), std::move(ask));
}

}  // namespace

absl::StatusOr<std::unique_ptr<KeySource>> MakeWebIdentityKeys(const Environment& environment,
                                                               AskServer ask) {
  WebIdentity identity = {.role = VariableIn(environment, "AWS_ROLE_ARN"),
                          .token_file = VariableIn(environment, "AWS_WEB_IDENTITY_TOKEN_FILE"),
                          .session = VariableIn(environment, "AWS_ROLE_SESSION_NAME")};
  if (identity.role.empty() || identity.token_file.empty())
    return absl::FailedPreconditionError(
        "web identity needs both AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN");
  return MakeIdentityKeys(std::move(identity), environment, std::move(ask));
}

absl::StatusOr<std::unique_ptr<KeySource>> MakeWebIdentityKeys(const Profile& profile,
                                                               const Environment& environment,
                                                               AskServer ask) {
  WebIdentity identity = {.role = profile.Get("role_arn"),
                          .token_file = profile.Get("web_identity_token_file"),
                          .session = profile.Get("role_session_name")};
  if (identity.role.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("the profile '", profile.name, "' in ", profile.files,
                     " has web_identity_token_file, but no role_arn"));
  return MakeIdentityKeys(std::move(identity), environment, std::move(ask));
}

}  // namespace penstock::store
