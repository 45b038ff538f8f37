// The command line of penstock-example-epoch.
#pragma once

#include "penstock/penstock.h"

namespace penstock::examples {

inline constexpr char kEpochUsage[] =
    "penstock-example-epoch --data PATH [options]\n"
    "  --data PATH     a dataset's name; or a folder, for a private daemon\n"
    "  --address A     the daemon's socket; without it, it is searched\n"
    "  --private       start this user's private daemon where none answers\n"
    "  --seed N        of the order and the augmentation (0)\n"
    "  --batch N       samples a batch (32)\n"
    "  --epochs N      (1)\n"
    "  --window N      batches ahead (4)\n"
    "  --rank R        of --world W ranks (0 of 1)\n"
    "  --device D      host, cuda, cuda:N, or auto: a GPU where there is one (host)\n"
    "  --delivery HOW  auto, device, pinned: how batches get onto a GPU (auto)\n"
    "  --handle KIND   auto, ipc, vmm: how the daemon's GPU memory is shared (auto)\n"
    "  --json          one object on the last line\n";

struct EpochOptions {
  ClientOptions client;
  SessionOptions session;
  bool json = false;
  bool help = false;
};

// Random resized crop to 224, flip one half, shuffled, every sample once. kInvalidArgument: a line
// that says which word is wrong.
Result<EpochOptions> ParseEpochOptions(int argc, char** argv);

}  // namespace penstock::examples
