#include "server/source/files/mounted_image.h"

#include <linux/magic.h>
#include <sys/random.h>
#include <sys/sysmacros.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/base/hash.h"

namespace penstock::source {
namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Differs for each process.
std::string NumberOfProcess() {
  static const uint64_t number = [] {
    uint64_t random = 0;
    (void)!::getrandom(&random, sizeof(random), 0);
    return random;
  }();
  return absl::StrCat("process ", number);
}

}  // namespace

bool IsImageSystem(uint32_t system) {
  constexpr uint32_t kErofs = 0xE0F5E1E2, kIso = 0x9660, kUdf = 0x15013346, kRomfs = 0x7275;
  return system == SQUASHFS_MAGIC || system == CRAMFS_MAGIC || system == kErofs || system == kIso ||
         system == kUdf || system == kRomfs;
}

uint64_t NumberOfImage(dev_t device, const std::string& root) {
  const std::string disk = absl::StrCat(root, "/sys/dev/block/", major(device), ":", minor(device));
  const std::string sequence = FirstLine(disk + "/diskseq");
  const std::string boot = FirstLine(root + "/proc/sys/kernel/random/boot_id");
  base::Hasher hasher;
  hasher.Add(uint64_t{device});
  hasher.Add(sequence.empty() || boot.empty() ? NumberOfProcess()
                                              : absl::StrCat("disk ", sequence, " boot ", boot));
  const uint64_t number = hasher.Digest();
  return number == 0 ? 1 : number;
}

}  // namespace penstock::source
