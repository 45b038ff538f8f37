#include "common/base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "common/base/check_reporter.h"

namespace penstock::base {
namespace {

void ReportToStderr(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "penstock: %s:%d: this cannot happen, but did: %s\n", file, line, condition);
}

std::atomic<CheckReporter> reporter = ReportToStderr;

}  // namespace

void ReportFailedChecksTo(CheckReporter next) { reporter.store(next); }

void CheckFailed(const char* file, int line, const char* condition) {
  reporter.load()(file, line, condition);
  std::abort();
}

}  // namespace penstock::base
