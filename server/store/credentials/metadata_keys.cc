#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/store/address/address.h"
#include "server/store/credentials/key_answers.h"
#include "server/store/credentials/server_keys.h"
#include "server/store/credentials/token_file.h"

namespace penstock::store {
namespace {

constexpr char kMetadata[] = "instance metadata";
constexpr char kRolesPath[] = "/latest/meta-data/iam/security-credentials/";
constexpr std::chrono::seconds kMetadataDeadline(1);
constexpr int kMostMetadataTries = 2;
constexpr uint64_t kMostMetadataBody = 64 << 10;

absl::Status NoMetadata(const std::string& endpoint, absl::string_view why) {
  return absl::UnavailableError(
      absl::StrCat(kMetadata, " at ", endpoint, ": ", why,
                   "; in a container, the instance's hop limit must be at least 2; where there is "
                   "none, set AWS_EC2_METADATA_DISABLED=true"));
}

class MetadataKeys final : public KeySource {
 public:
  MetadataKeys(std::string endpoint, AskServer ask)
      : endpoint_(std::move(endpoint)), ask_(std::move(ask)) {}

  absl::StatusOr<KeysFound> Fetch() override {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string token, GetToken());
    PENSTOCK_ASSIGN_OR_RETURN(std::string role, Get(kRolesPath, token));
    role = std::string(absl::StripAsciiWhitespace(role.substr(0, role.find('\n'))));
    if (role.empty() || !IsHeaderValue(role)) return NoRole();
    PENSTOCK_ASSIGN_OR_RETURN(const std::string text,
                              Get(absl::StrCat(kRolesPath, PercentEncode(role)), token));
    PENSTOCK_ASSIGN_OR_RETURN(SharedKeys keys, ReadJsonKeys(text, kMetadata));
    return KeysFound{std::move(keys), kMetadata, KeysFound::KeyKind::kServer};
  }

 private:
  absl::Status NoRole() const {
    return absl::FailedPreconditionError(
        absl::StrCat(kMetadata, " at ", endpoint_,
                     ": the instance has no role; attach an instance profile to it"));
  }

  TransferRequest MakeRequest(absl::string_view path) const {
    TransferRequest request;
    request.url = absl::StrCat(endpoint_, path);
    request.is_direct = true;
    request.most_body = kMostMetadataBody;
    request.deadline = kMetadataDeadline;
    return request;
  }

  TransferAnswer Ask(const TransferRequest& request) const {
    TransferAnswer answer;
    for (int tried = 0; tried < kMostMetadataTries; ++tried) {
      answer = ask_(request);
      if (!absl::IsUnavailable(answer.status) && answer.code < 500) break;
    }
    return answer;
  }

  absl::StatusOr<std::string> GetToken() const {
    TransferRequest request = MakeRequest("/latest/api/token");
    request.method = TransferRequest::Method::kPut;
    request.headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "300"}};
    const TransferAnswer answer = Ask(request);
    if (!answer.status.ok()) return NoMetadata(endpoint_, answer.status.message());
    if (!answer.ok() || answer.body.empty() || !IsHeaderValue(answer.body))
      return NoMetadata(endpoint_,
                        absl::StrCat("it gives no token of version 2 (", answer.code, ")"));
    return answer.body;
  }

  absl::StatusOr<std::string> Get(absl::string_view path, const std::string& token) const {
    TransferRequest request = MakeRequest(path);
    request.headers = {{"X-aws-ec2-metadata-token", token}};
    const TransferAnswer answer = Ask(request);
    if (answer.code == 404 && answer.status.ok()) return NoRole();
    if (!answer.status.ok()) return NoMetadata(endpoint_, answer.status.message());
    if (!answer.ok()) return NoMetadata(endpoint_, absl::StrCat("it answered ", answer.code));
    return answer.body;
  }

  const std::string endpoint_;  // without a slash at its end
  const AskServer ask_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<KeySource>> MakeMetadataKeys(const Environment& environment,
                                                            AskServer ask) {
  std::string endpoint = VariableIn(environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
  const std::string mode =
      absl::AsciiStrToLower(VariableIn(environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"));
  if (!mode.empty() && mode != "ipv4" && mode != "ipv6")
    return absl::FailedPreconditionError(
        "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE: expected IPv4 or IPv6");
  if (endpoint.empty())
    endpoint = mode == "ipv6" ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
  const bool is_url =
      absl::StartsWith(endpoint, "http://") || absl::StartsWith(endpoint, "https://");
  if (!is_url || absl::StrContains(endpoint, '@'))
    return absl::FailedPreconditionError(
        "AWS_EC2_METADATA_SERVICE_ENDPOINT: expected http://HOST[:PORT]");
  while (absl::EndsWith(endpoint, "/")) endpoint.pop_back();
  return std::make_unique<MetadataKeys>(std::move(endpoint), std::move(ask));
}

bool IsMetadataDisabled(const Environment& environment) {
  return absl::AsciiStrToLower(VariableIn(environment, "AWS_EC2_METADATA_DISABLED")) == "true";
}

}  // namespace penstock::store
