#include "client/ctl/nodes/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"

namespace penstock::ctl {
namespace {

// Look-ups that may outlive their caller: glibc's resolver threads write here.
struct LookUps {
  explicit LookUps(const std::vector<NodeAddress>& given) : nodes(given), requests(given.size()) {
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_ADDRCONFIG;
    for (size_t i = 0; i < nodes.size(); ++i) {
      requests[i].ar_name = nodes[i].host.c_str();
      requests[i].ar_request = &hints;
      list.push_back(&requests[i]);
    }
  }
  ~LookUps() {
    for (gaicb& each : requests)
      if (each.ar_result != nullptr) ::freeaddrinfo(each.ar_result);
  }
  LookUps(const LookUps&) = delete;
  LookUps& operator=(const LookUps&) = delete;

  bool AllEnded() {
    return std::none_of(requests.begin(), requests.end(),
                        [](gaicb& each) { return ::gai_error(&each) == EAI_INPROGRESS; });
  }

  const std::vector<NodeAddress> nodes;
  addrinfo hints = {};
  std::vector<gaicb> requests;
  std::vector<gaicb*> list;
};

// Looks now and then. gai_suspend is not for several look-ups: if a second one ends while it
// returns because of the first, glibc (2.36) writes to its stack frame, which is gone by then.
void WaitFor(LookUps& look_ups, base::Duration timeout) {
  constexpr std::chrono::milliseconds kFirst(1), kLongest(20);
  const base::SteadyClock clock;
  const base::TimePoint until = clock.Now() + timeout;
  for (auto pause = kFirst; clock.Now() < until && !look_ups.AllEnded();
       pause = std::min(2 * pause, kLongest))
    std::this_thread::sleep_for(pause);
}

std::string AddressText(const addrinfo& info) {
  char text[INET6_ADDRSTRLEN] = {};
  if (info.ai_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(info.ai_addr)->sin_addr, text,
                sizeof(text));
  if (info.ai_family == AF_INET6)
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(info.ai_addr)->sin6_addr, text,
                sizeof(text));
  return text;
}

// The addresses of one family: the IPv4 ones if there are any.
std::vector<std::string> Addresses(const addrinfo* first) {
  std::vector<std::string> v4, v6;
  for (const addrinfo* info = first; info != nullptr; info = info->ai_next) {
    std::vector<std::string>& those = info->ai_family == AF_INET ? v4 : v6;
    const std::string text = AddressText(*info);
    if (!text.empty() && std::find(those.begin(), those.end(), text) == those.end())
      those.push_back(text);
  }
  std::vector<std::string>& chosen = v4.empty() ? v6 : v4;
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::string Target(const NodeAddress& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return absl::StrCat(v6 ? "ipv6:" : "ipv4:", address.ToString());
}

NodeEndpoint Unresolved(const NodeAddress& node, int error) {
  const std::string why =
      error == EAI_INPROGRESS ? "the resolver does not answer" : std::string(::gai_strerror(error));
  return {.shown = node.ToString(),
          .target = "",
          .host = node.host,
          .trouble = absl::NotFoundError(absl::StrCat("its name does not resolve: ", why))};
}

void AddEndpoints(const NodeAddress& node, gaicb& looked_up, std::vector<NodeEndpoint>& endpoints) {
  const int error = ::gai_error(&looked_up);
  const std::vector<std::string> found =
      error == 0 ? Addresses(looked_up.ar_result) : std::vector<std::string>();
  if (found.empty()) return endpoints.push_back(Unresolved(node, error == 0 ? EAI_NONAME : error));
  for (const std::string& address : found) {
    const NodeAddress at = {.host = address, .port = node.port};
    const std::string shown =
        found.size() == 1 ? node.ToString() : absl::StrCat(at.ToString(), " (", node.host, ")");
    endpoints.push_back(
        {.shown = shown, .target = Target(at), .host = node.host, .trouble = absl::OkStatus()});
  }
}

void LimitNodes(std::vector<NodeEndpoint>& endpoints) {
  if (endpoints.size() <= kMostNodes) return;
  const size_t more = endpoints.size() - kMostNodes;
  endpoints.resize(kMostNodes);
  endpoints.push_back({.shown = absl::StrCat(more, " more"),
                       .target = "",
                       .host = "",
                       .trouble = absl::ResourceExhaustedError(absl::StrCat(
                           "at most ", kMostNodes, " nodes are asked; ask them in parts"))});
}

}  // namespace

std::vector<NodeEndpoint> Resolve(const std::vector<NodeAddress>& nodes, base::Duration timeout) {
  auto look_ups = std::make_unique<LookUps>(nodes);
  std::vector<NodeEndpoint> endpoints;
  const int begun = ::getaddrinfo_a(GAI_NOWAIT, look_ups->list.data(),
                                    static_cast<int>(look_ups->list.size()), nullptr);
  if (begun == 0) WaitFor(*look_ups, timeout);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (begun != 0)
      endpoints.push_back(Unresolved(nodes[i], begun));
    else
      AddEndpoints(nodes[i], look_ups->requests[i], endpoints);
  }
  // Those that did not end in time still use it; cancelling a look-up under way is not possible.
  if (begun == 0 && !look_ups->AllEnded()) (void)look_ups.release();
  LimitNodes(endpoints);
  return endpoints;
}

}  // namespace penstock::ctl
