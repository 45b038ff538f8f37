#include "server/app/library_logs.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <cstdlib>
#include <exception>
#include <string>

#include "common/telemetry/log.h"

namespace penstock::app {
namespace {

// gRPC writes only errors unless $GRPC_VERBOSITY says otherwise. They are about connections, not
// about the daemon.
void OnGrpcLog(gpr_log_func_args* said) {
  if (said->severity == GPR_LOG_SEVERITY_ERROR) {
    PENSTOCK_LOG(kWarning, "grpc_error", {"what", said->message}, {"file", said->file},
                 {"line", said->line});
  } else {
    PENSTOCK_LOG(kInfo, "grpc", {"what", said->message}, {"file", said->file},
                 {"line", said->line});
  }
}

void OnProtobufLog(google::protobuf::LogLevel level, const char* file, int line,
                   const std::string& message) {
  if (level >= google::protobuf::LOGLEVEL_ERROR)
    PENSTOCK_LOG(kWarning, "protobuf_error", {"what", message}, {"file", file}, {"line", line});
}

[[noreturn]] void OnUncaughtException() {
  std::string what = "it is no std::exception";
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    what = "terminate was called";
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  telemetry::Log(telemetry::Level::kError, "uncaught_exception", {{"what", what}});
  std::abort();
}

}  // namespace

void LogWhatLibrariesSay() {
  ::gpr_set_log_function(OnGrpcLog);
  google::protobuf::SetLogHandler(OnProtobufLog);
  std::set_terminate(OnUncaughtException);
}

}  // namespace penstock::app
