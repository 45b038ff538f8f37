// Who says that a PENSTOCK_CHECK failed, before the process aborts.
#pragma once

namespace penstock::base {

using CheckReporter = void (*)(const char* file, int line, const char* condition);

// From now on, instead of text on standard error. The reporter may be called on any thread.
void ReportFailedChecksTo(CheckReporter reporter);

}  // namespace penstock::base
