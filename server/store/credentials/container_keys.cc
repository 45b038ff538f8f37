#include <arpa/inet.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/store/credentials/key_answers.h"
#include "server/store/credentials/server_keys.h"
#include "server/store/credentials/token_file.h"

namespace penstock::store {
namespace {

constexpr char kContainer[] = "the container's role";
constexpr char kContainerHost[] = "http://169.254.170.2";
constexpr std::chrono::seconds kContainerDeadline(2);
constexpr uint64_t kMostContainerBody = 64 << 10;

// The host of http://HOST[:PORT]/…, without brackets; empty if it has a user or is none.
std::string ReadHost(absl::string_view url) {
  if (!absl::ConsumePrefix(&url, "http://")) return "";
  absl::string_view host = url.substr(0, url.find_first_of("/?#\\"));
  if (absl::StrContains(host, '@')) return "";
  if (absl::ConsumePrefix(&host, "[")) return std::string(host.substr(0, host.find(']')));
  return std::string(host.substr(0, host.find(':')));
}

// Only addresses, so that no name server decides who gets the token.
bool IsAllowedHost(const std::string& host) {
  if (host == "localhost" || host == "169.254.170.2" || host == "169.254.170.23") return true;
  in_addr four;
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six, container;
  if (::inet_pton(AF_INET6, host.c_str(), &six) != 1) return false;
  ::inet_pton(AF_INET6, "fd00:ec2::23", &container);
  return IN6_IS_ADDR_LOOPBACK(&six) || IN6_ARE_ADDR_EQUAL(&six, &container);
}

absl::StatusOr<std::string> ContainerUrl(const Environment& environment) {
  if (const std::string path = VariableIn(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
      !path.empty()) {
    if (path[0] == '/' && IsHeaderValue(path)) return absl::StrCat(kContainerHost, path);
    return absl::FailedPreconditionError(
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: expected a path that begins with a slash");
  }
  const std::string url = VariableIn(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (url.empty())
    return absl::FailedPreconditionError(
        "neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is "
        "set");
  if (IsHeaderValue(url) && (absl::StartsWith(url, "https://") || IsAllowedHost(ReadHost(url))))
    return url;
  return absl::FailedPreconditionError(
      "AWS_CONTAINER_CREDENTIALS_FULL_URI: expected https://, or http:// to this machine, "
      "169.254.170.2, 169.254.170.23 or [fd00:ec2::23]");
}

class ContainerKeys final : public KeySource {
 public:
  ContainerKeys(std::string url, const Environment& environment, AskServer ask)
      : url_(std::move(url)),
        token_file_(VariableIn(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")),
        token_(VariableIn(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN")),
        ask_(std::move(ask)) {}

  absl::StatusOr<KeysFound> Fetch() override {
    TransferRequest request;
    request.url = url_;
    request.is_direct = true;
    request.most_body = kMostContainerBody;
    request.deadline = kContainerDeadline;
    PENSTOCK_ASSIGN_OR_RETURN(const std::string token, Token());
    if (!token.empty()) request.headers = {{"Authorization", token}};
    const TransferAnswer answer = ask_(request);
    if (!answer.status.ok()) return base::Annotate(answer.status, kContainer);
    if (!answer.ok()) return Refused(answer.code);
    PENSTOCK_ASSIGN_OR_RETURN(SharedKeys keys, ReadJsonKeys(answer.body, kContainer));
    return KeysFound{std::move(keys), kContainer, KeysFound::KeyKind::kServer};
  }

 private:
  static absl::Status Refused(int code) {
    const std::string words = absl::StrCat(kContainer, ": its server answered ", code);
    if (code >= 500 || code == 429) return absl::UnavailableError(words);
    return absl::PermissionDeniedError(words);
  }

  absl::StatusOr<std::string> Token() const {
    if (!token_file_.empty()) return ReadTokenFile(token_file_);
    if (IsHeaderValue(token_)) return token_;
    return absl::FailedPreconditionError(
        "AWS_CONTAINER_AUTHORIZATION_TOKEN: expected a text in one line");
  }

  const std::string url_, token_file_, token_;
  const AskServer ask_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<KeySource>> MakeContainerKeys(const Environment& environment,
                                                             AskServer ask) {
  PENSTOCK_ASSIGN_OR_RETURN(std::string url, ContainerUrl(environment));
  return std::make_unique<ContainerKeys>(std::move(url), environment, std::move(ask));
}

}  // namespace penstock::store
