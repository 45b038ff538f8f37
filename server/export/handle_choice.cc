#include "server/export/handle_choice.h"

#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace penstock::exporting {

HandleChoice ChooseHandle(std::optional<cuda::HandleKind> requested, const ProcessName& client,
                          const ProcessName& daemon) {
  if (requested == cuda::HandleKind::kIpc) return {*requested, "the client asked for CUDA IPC"};
  if (requested == cuda::HandleKind::kVmm) return {*requested, "the client asked for a descriptor"};
  if (client.pid == daemon.pid && client.pid_namespace != daemon.pid_namespace)
    return {cuda::HandleKind::kVmm,
            absl::StrCat("client and daemon both have PID ", daemon.pid,
                         " in different PID namespaces, between which CUDA IPC fails")};
  return {cuda::HandleKind::kIpc, "the default: nothing prevents CUDA IPC"};
}

ProcessName OurName() {
  struct stat status = {};
  const bool known = stat("/proc/self/ns/pid", &status) == 0;
  return {.pid = getpid(), .pid_namespace = known ? status.st_ino : 0};
}

}  // namespace penstock::exporting
