// What a crash leaves behind on standard error: signal and backtrace, then a line of the log that
// names the version; then the process dies of the signal, as it would have, and whoever supervises
// it sees that.
//
// A build that was stripped shows addresses alone; the line says where the program lay, so that
// addr2line finds their places in one that was not.
#pragma once

namespace penstock::app {

// Once, at start, on the main thread, after the signals that end the daemon in order are blocked.
// Under AddressSanitizer and ThreadSanitizer, which report crashes better themselves, nothing.
void ReportCrashes(const char* program);

}  // namespace penstock::app
