// Grades the GPUs and their driver.
#include "absl/strings/str_cat.h"
#include "client/ctl/check/finding.h"
#include "common/base/units.h"

namespace penstock::ctl {
namespace {

// For a machine where CUDA cannot be used. The grade depends on whether it has a GPU.
Finding GradeNone(const SystemFacts& system, const absl::Status& why) {
  const std::string reason(why.message());
  if (system.gpus.empty())
    return {Grade::kWarning, "gpu", reason,
            "without a GPU, batches are delivered to host memory; if that is intended, nothing "
            "needs to be done"};
  const std::string found =
      absl::StrCat(system.gpus.size(), system.gpus.size() == 1 ? " NVIDIA GPU" : " NVIDIA GPUs",
                   " (", system.gpus.front().address, "), and ", reason);
  if (system.driver.empty())
    return {Grade::kWarning, "gpu", found,
            "no NVIDIA driver is loaded: install one, then run modprobe nvidia; until then batches "
            "are delivered to host memory"};
  return {Grade::kWarning, "gpu", found,
          absl::StrCat("the kernel's driver is ", system.driver,
                       ": install its libcuda.so.1 as well; for a container, request GPUs (docker "
                       "run --gpus all)")};
}

Finding GradeDriver(const Facts& facts) {
  const std::string kernel =
      facts.system.driver.empty() ? "" : absl::StrCat("; kernel module ", facts.system.driver);
  return {Grade::kOk, "gpu driver", facts.cuda_versions + kernel, ""};
}

Finding GradeOne(const cuda::Device& device) {
  const std::string what = absl::StrCat("gpu ", device.ordinal);
  const std::string found = absl::StrCat(device.name, ", ", base::FormatBytes(device.memory_bytes),
                                         ", ", device.uuid.ToString());
  const std::string remedy =
      absl::StrCat("set it to 'default': nvidia-smi -i ", device.uuid.ToString(), " -c 0");
  if (device.prohibited)
    return {Grade::kWarning, what, found + ": compute mode 'prohibited', so no process may use it",
            remedy};
  if (device.exclusive)
    return {Grade::kWarning, what,
            found + ": compute mode 'exclusive', so that daemon and trainer cannot both use it",
            remedy + ", or let trainers use pinned delivery"};
  return {Grade::kOk, what, found, ""};
}

}  // namespace

std::vector<Finding> GradeGpus(const Facts& facts) {
  if (!facts.gpus.ok()) return {GradeNone(facts.system, facts.gpus.status())};
  std::vector<Finding> findings = {GradeDriver(facts)};
  for (const cuda::Device& gpu : *facts.gpus) findings.push_back(GradeOne(gpu));
  return findings;
}

}  // namespace penstock::ctl
