#include "client/ctl/device_views.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/table.h"
#include "common/base/units.h"

namespace penstock::ctl {
namespace {

std::string HandleWord(v1::HandleKind kind) {
  switch (kind) {
    case v1::HANDLE_KIND_IPC:
      return "ipc";
    case v1::HANDLE_KIND_VMM:
      return "descriptor";
    default:
      return "?";
  }
}

}  // namespace

std::string GpusTable(const v1::GetStatusResponse& status, size_t columns) {
  Table table({{"GPU", kLeft, 3},
               {"NAME"},
               {"SESSIONS", kRight, 2},
               {"SLABS", kLeft, 1},
               {"CONTEXT", kRight, 4},
               {"COPIES", kRight, 6},
               {"COPIED", kRight, 5},
               {"PER SECOND", kRight},
               {"AHEAD", kRight},
               {"STATE"}});
  for (const v1::GpuStatus& gpu : status.gpus()) {
    if (gpu.slab_bytes_max() == 0) {  // never used
      table.Add({gpu.uuid(), gpu.name(), "", "", "", "", "", "", "", gpu.state()});
      continue;
    }
    table.Add({gpu.uuid(), gpu.name(), Count(gpu.sessions()),
               absl::StrCat(Count(gpu.slabs()), ": ", base::FormatBytes(gpu.slab_bytes()), " of ",
                            base::FormatBytes(gpu.slab_bytes_max())),
               gpu.context_bytes() == 0 ? "" : base::FormatBytes(gpu.context_bytes()),
               Count(gpu.copies()), base::FormatBytes(gpu.copied_bytes()),
               base::FormatBytes(gpu.copied_bytes_per_second()), Count(gpu.batches_ahead()),
               gpu.state()});
  }
  return table.Text(columns);
}

std::string DeliveryWords(const v1::SessionStatus& session) {
  switch (session.delivery()) {
    case v1::DELIVERY_DEVICE:
      return absl::StrCat("device by ", HandleWord(session.handle_kind()), ", ",
                          Count(session.on_device()), " of ", Count(session.device_depth()),
                          " batches there, on ", session.gpu());
    case v1::DELIVERY_PINNED:
      return session.gpu_share() > 0
                 ? absl::StrFormat("pinned; its GPU decodes %.0f %%", 100 * session.gpu_share())
                 : "pinned";
    default:
      return "host";
  }
}

}  // namespace penstock::ctl
