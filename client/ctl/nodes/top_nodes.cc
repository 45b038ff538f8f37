#include "client/ctl/nodes/top_nodes.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "client/ctl/nodes/live_screen.h"
#include "client/ctl/nodes/nodes_view.h"
#include "client/ctl/scripting/yaml.h"
#include "client/ctl/top_view.h"
#include "client/ctl/views.h"

namespace penstock::ctl {
namespace {

constexpr std::chrono::seconds kNamesWithin(5), kAnswerWithin(2), kOncePause(1);
constexpr uint32_t kRefreshMs = 1000;

std::vector<std::string> ShownNames(const NodeCalls& nodes) {
  std::vector<std::string> names;
  for (const NodeEndpoint& each : nodes.endpoints()) names.push_back(each.shown);
  return names;
}

int ExitCodeFor(const std::vector<NodeAnswer>& answers) {
  const bool any = std::any_of(answers.begin(), answers.end(),
                               [](const NodeAnswer& each) { return each.trouble.ok(); });
  return any ? 0 : 1;
}

int Live(NodeCalls& nodes, Colors colors, std::ostream& out) {
  LiveScreen screen(out);
  std::vector<NodeAnswer> before;
  for (;;) {
    std::vector<NodeAnswer> now = nodes.AskAll(kAnswerWithin);
    const LiveScreen::Size size = LiveScreen::SizeNow();
    const std::string text = FitToScreen(
        absl::StrCat("keys: q quits\n\n",
                     ShowNodes(ToNodesStatus(ShownNames(nodes), now, before), size.columns)),
        {.rows = size.rows, .columns = size.columns});
    screen.Draw(PaintStates(text, colors));
    before = std::move(now);
    screen.Wait(kRefreshMs);
    while (const auto key = screen.Pressed())
      if (IsQuit(*key)) return ExitCodeFor(before);
  }
}

}  // namespace

int TopNodesOnce(NodeCalls& nodes, Output output, Colors colors, base::Duration pause,
                 std::ostream& out) {
  const std::vector<NodeAnswer> before = nodes.AskAll(kAnswerWithin);
  std::this_thread::sleep_for(pause);
  const std::vector<NodeAnswer> now = nodes.AskAll(kAnswerWithin);
  const v1::NodesStatus status = ToNodesStatus(ShownNames(nodes), now, before);
  out << (IsForPrograms(output) ? ForPrograms(output, Json(status))
                                : PaintStates(ShowNodes(status), colors));
  return ExitCodeFor(now);
}

absl::StatusOr<int> RunTopNodes(const Call& call, Colors colors, std::ostream& out) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<NodeAddress> addresses, ParseNodes(call.nodes));
  PENSTOCK_ASSIGN_OR_RETURN(const OperatorTls tls, ReadOperatorTls(call.tls));
  const std::unique_ptr<NodeCalls> nodes = NodeCalls::Make(Resolve(addresses, kNamesWithin), tls);
  if (IsLive() && call.output == Output::kTable) return Live(*nodes, colors, out);
  return TopNodesOnce(*nodes, call.output, colors, kOncePause, out);
}

}  // namespace penstock::ctl
