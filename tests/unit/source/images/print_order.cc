// Prints a folder's samples in order for imagefolder_oracle.py: "<label> <path>", each followed by
// a zero byte.
#include <cstdio>

#include "server/source/files/roots.h"
#include "server/source/images/manifest_builder.h"
#include "server/source/images/scan.h"

int main(int argc, char** argv) {
  using namespace penstock::source;
  if (argc != 2) return 2;
  const auto root = RealPath(argv[1]);
  if (!root.ok()) return 1;
  const auto tree = Tree::Open(*root, {*root});
  auto scan = ScanDataset(*tree, {.threads = 4, .progress = {}});
  if (!scan.ok()) {
    std::fprintf(stderr, "%s\n", scan.status().ToString().c_str());
    return 1;
  }
  const auto manifest = BuildManifest(*root, *std::move(scan));
  for (uint64_t i = 0; i < manifest->samples(); ++i)
    std::printf("%d %s%c", static_cast<int>(manifest->label(i)),
                tree->FullPath(manifest->RelativePath(i)).c_str(), '\0');
  return 0;
}
