// Sends what libraries would write to standard error by themselves to the log, as events.
#pragma once

namespace penstock::app {

// For gRPC, protobuf, and exceptions that nobody caught. Call it once at start, before gRPC is
// used.
void LogWhatLibrariesSay();

}  // namespace penstock::app
