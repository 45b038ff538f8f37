// Turns text that code outside our log writes to the C library's `stderr` into events, so that a
// log that programs read has no line of another form: failed checks, protobuf, exceptions that
// nobody caught. gRPC has its own way (server/rpc/half.cc), and crashes have theirs (crash.h).
#pragma once

namespace penstock::app {

// From now on, each line becomes an event "text" of level error. What is written directly to the
// descriptor stays as it is. Call it at most once.
void LogTextOnStderr();

}  // namespace penstock::app
