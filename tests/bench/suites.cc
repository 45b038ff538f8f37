#include "tests/bench/suite.h"

namespace penstock::bench {
namespace {

constexpr Suite kSuites[] = {
    {"handoff", "take and release a ready batch, against bare loads and stores", RunHandoff},
    {"read", "read a dataset's samples, against open and pread", RunRead},
    {"decode", "decode, crop and resize on one core, against libjpeg-turbo alone", RunDecode},
    {"copy", "copy to the GPU by size and kind of memory, against a plain pinned copy", RunCopy},
    {"feed", "a daemon that feeds a trainer, against loops that only decode", RunFeed},
};

}  // namespace

std::span<const Suite> Suites() { return kSuites; }

}  // namespace penstock::bench
