#include "client/ctl/top.h"

#include <optional>
#include <utility>

#include "client/ctl/nodes/live_screen.h"
#include "client/ctl/scripting/yaml.h"
#include "client/ctl/top_view.h"
#include "client/ctl/views.h"

namespace penstock::ctl {
namespace {

constexpr uint32_t kLiveMs = 500, kOnceMs = 1000;
v1::WatchStatusRequest Every(uint32_t ms) {
  v1::WatchStatusRequest request;
  request.set_interval_ms(ms);
  return request;
}

absl::StatusOr<int> Live(AdminClient& daemon, Colors colors, std::ostream& out) {
  LiveScreen terminal(out);
  std::optional<v1::WatchStatusResponse> before;
  TopOrder order = TopOrder::kById;
  PENSTOCK_RETURN_IF_ERROR(
      daemon.WatchStatus(Every(kLiveMs), [&](const v1::WatchStatusResponse& now) {
        while (const auto key = terminal.Pressed()) {
          if (IsQuit(*key)) return false;
          if (*key == 's') order = Next(order);
        }
        const LiveScreen::Size size = LiveScreen::SizeNow();
        const TopScreen screen = {
            .rows = size.rows, .columns = size.columns, .order = order, .keys = true};
        terminal.Draw(PaintStates(ShowTop(now, before.value_or(now), screen), colors));
        before = now;
        return true;
      }));
  return 0;
}

absl::StatusOr<int> Once(AdminClient& daemon, Output output, Colors colors, std::ostream& out) {
  std::optional<v1::WatchStatusResponse> before;
  PENSTOCK_RETURN_IF_ERROR(
      daemon.WatchStatus(Every(kOnceMs), [&](const v1::WatchStatusResponse& now) {
        if (IsForPrograms(output)) {
          out << ForPrograms(output, Json(now));
          return false;
        }
        const bool first = !before.has_value();
        if (!first) out << PaintStates(ShowTop(now, *before, {}), colors);
        before = now;
        return first;
      }));
  return 0;
}

}  // namespace

absl::StatusOr<int> RunTop(AdminClient& daemon, const Call& call, Colors colors,
                           std::ostream& out) {
  if (IsLive() && call.output == Output::kTable) return Live(daemon, colors, out);
  return Once(daemon, call.output, colors, out);
}

}  // namespace penstock::ctl
