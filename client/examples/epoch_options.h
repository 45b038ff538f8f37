// Parses the command line of penstock-example-epoch.
#pragma once

#include "penstock/penstock.h"

namespace penstock::examples {

inline constexpr char kEpochUsage[] =
    "penstock-example-epoch --data PATH [options]\n"
    "  --data PATH     a dataset's name, or a folder for a private daemon\n"
    "  --address A     the daemon's socket (default: search for it)\n"
    "  --private       start this user's private daemon if none answers\n"
    "  --seed N        seed of the order and the augmentation (default 0)\n"
    "  --batch N       samples in a batch (default 32)\n"
    "  --epochs N      number of epochs (default 1)\n"
    "  --window N      prefetch window in batches (default 4)\n"
    "  --rank R        rank, of --world W ranks (default 0 of 1)\n"
    "  --device D      host, cuda, cuda:N, or auto: a GPU if there is one (default host)\n"
    "  --delivery HOW  how batches get onto a GPU: auto, device, pinned (default auto)\n"
    "  --handle KIND   how the daemon shares GPU memory: auto, ipc, vmm (default auto)\n"
    "  --json          print the summary as one JSON object on the last line\n";

struct EpochOptions {
  ClientOptions client;
  SessionOptions session;
  bool json = false;
  bool help = false;
};

// Defaults: random resized crop to 224, flip with probability 0.5, shuffled, every sample once.
// kInvalidArgument has a one-line message that names the wrong argument.
Result<EpochOptions> ParseEpochOptions(int argc, char** argv);

}  // namespace penstock::examples
