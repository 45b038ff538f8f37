#include "client/ctl/nodes/nodes_view.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/feeds/names.h"
#include "client/ctl/table.h"

namespace penstock::ctl {
namespace {

constexpr char kStalled[] = "source stalled";  // how such a session's state begins

double RateBetween(const NodeAnswer& before, const NodeAnswer& now) {
  const v1::GetStatusResponse &a = before.status, &b = now.status;
  if (!before.trouble.ok() || b.uptime_ms() <= a.uptime_ms() ||
      b.samples_decoded() < a.samples_decoded())
    return 0;
  return static_cast<double>(b.samples_decoded() - a.samples_decoded()) * 1000 /
         static_cast<double>(b.uptime_ms() - a.uptime_ms());
}

uint32_t StalledSessions(const v1::ListSessionsResponse& sessions) {
  return static_cast<uint32_t>(std::count_if(
      sessions.sessions().begin(), sessions.sessions().end(),
      [](const v1::SessionStatus& each) { return absl::StartsWith(each.state(), kStalled); }));
}

// The feed whose trainers wait most; null: no feed has a session.
const v1::FeedStatus* WorstFeed(const v1::GetStatusResponse& status) {
  const v1::FeedStatus* worst = nullptr;
  for (const v1::FeedStatus& feed : status.feeds())
    if (feed.sessions() > 0 && (worst == nullptr || feed.starved() > worst->starved()))
      worst = &feed;
  return worst;
}

std::string StateText(const v1::GetStatusResponse& status) {
  return status.draining() ? "draining" : status.serving() ? "serving" : "NOT SERVING";
}

std::string VerdictText(const v1::GetStatusResponse& status) {
  if (!status.serving() && !status.draining()) return OneLine(status.reason());
  const v1::FeedStatus* const feed = WorstFeed(status);
  if (feed == nullptr) return "no trainers";
  return absl::StrCat(FeedName(*feed, status), ": ", OneLine(feed->verdict()));
}

std::string RateText(double rate) {
  return rate < 100 ? absl::StrFormat("%.1f", rate) : Count(static_cast<uint64_t>(rate));
}

std::vector<std::string> ToRow(const v1::NodeStatus& node) {
  if (!node.error().empty())
    return {OneLine(node.node()), "UNREACHABLE", "-", "-", "-", "-", "-", OneLine(node.error())};
  const v1::GetStatusResponse& status = node.status();
  const v1::FeedStatus* const feed = WorstFeed(status);
  return {OneLine(node.node()),
          StateText(status),
          RateText(node.samples_per_second()),
          Count(status.sessions()),
          feed == nullptr ? "-" : absl::StrFormat("%.0f %%", feed->starved() * 100),
          absl::StrCat(status.workers_running(), "/", status.workers()),
          Count(node.sessions_stalled()),
          VerdictText(status)};
}

std::string SumText(const v1::NodesStatus& nodes) {
  double rate = 0;
  uint64_t sessions = 0;
  int answered = 0;
  for (const v1::NodeStatus& node : nodes.nodes()) {
    if (!node.error().empty()) continue;
    ++answered;
    rate += node.samples_per_second();
    sessions += node.status().sessions();
  }
  return absl::StrCat(answered, " of ", nodes.nodes_size(), " nodes answer   ", RateText(rate),
                      " samples/s   ", Count(sessions), " sessions\n");
}

}  // namespace

v1::NodesStatus ToNodesStatus(const std::vector<std::string>& shown,
                              const std::vector<NodeAnswer>& now,
                              const std::vector<NodeAnswer>& before) {
  v1::NodesStatus all;
  for (size_t i = 0; i < now.size(); ++i) {
    v1::NodeStatus& node = *all.add_nodes();
    node.set_node(shown[i]);
    if (!now[i].trouble.ok()) {
      const std::string why(now[i].trouble.message());
      node.set_error(why.empty() ? "no reason is known" : why);
      continue;
    }
    *node.mutable_status() = now[i].status;
    node.set_sessions_stalled(StalledSessions(now[i].sessions));
    if (!before.empty()) node.set_samples_per_second(RateBetween(before[i], now[i]));
  }
  return all;
}

std::string ShowNodes(const v1::NodesStatus& nodes, size_t columns) {
  Table table({{"NODE"},
               {"STATE"},
               {"SAMPLES/S", kRight},
               {"SESSIONS", kRight, 3},
               {"STARVED", kRight},
               {"WORKERS", kRight, 2},
               {"STALLED", kRight, 1},
               {"WHO WAITS FOR WHOM"}});
  for (const v1::NodeStatus& node : nodes.nodes()) table.Add(ToRow(node));
  return absl::StrCat(table.Text(columns), SumText(nodes));
}

}  // namespace penstock::ctl
