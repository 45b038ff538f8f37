#include "tests/bench/suite.h"

namespace penstock::bench {
namespace {

constexpr Suite kSuites[] = {
    {"handoff", "take and release a ready batch, compared with bare loads and stores", RunHandoff},
    {"read", "read a dataset's samples, compared with open and pread", RunRead},
    {"decode", "decode, crop and resize on one core, compared with libjpeg-turbo alone", RunDecode},
    {"checkpoints",
     "decode crops again with what earlier ones left, compared with libjpeg-turbo alone",
     RunCheckpoints},
    {"copy", "copy to the GPU by size and kind of memory, compared with a plain pinned copy",
     RunCopy},
    {"feed", "feed a trainer with a daemon, compared with loops that only decode", RunFeed},
    {"beside", "compute on all cores beside a daemon that feeds, compared with alone", RunBeside},
};

}  // namespace

std::span<const Suite> Suites() { return kSuites; }

}  // namespace penstock::bench
