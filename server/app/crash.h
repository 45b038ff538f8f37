// Writes a crash report to standard error: signal and backtrace, then a log line with the version.
// The process then dies of the same signal, so that its supervisor sees it.
//
// A stripped build shows only addresses. The log line contains the load address, so that addr2line
// can resolve them with an unstripped build.
#pragma once

namespace penstock::app {

// Call it once at start, on the main thread, after blocking the signals that end the daemon. Does
// nothing under AddressSanitizer and ThreadSanitizer, which have better reports.
void ReportCrashes(const char* program);

}  // namespace penstock::app
