#include "server/app/operator/reload_request.h"

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "common/posix/socket.h"
#include "common/shm/operators_socket.h"
#include "penstock/v1/admin.grpc.pb.h"

namespace penstock::app {
namespace {

constexpr std::chrono::seconds kReloadWithin(60);

v1::ReloadRequest RequestFor(const std::string& file) {
  v1::ReloadRequest request;
  request.set_file(file);
  struct stat facts {};
  if (::stat(file.c_str(), &facts) != 0) return request;
  request.set_file_device(facts.st_dev);
  request.set_file_inode(facts.st_ino);
  return request;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> AskToReload(const std::string& admin_socket,
                                                     const std::string& file) {
  const auto channel =
      grpc::CreateChannel(absl::StrCat("unix:", admin_socket), grpc::InsecureChannelCredentials());
  const auto stub = v1::AdminService::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kReloadWithin);
  v1::ReloadResponse response;
  const grpc::Status answer = stub->Reload(&context, RequestFor(file), &response);
  if (answer.ok())
    return std::vector<std::string>(response.changed().begin(), response.changed().end());
  const bool unavailable = answer.error_code() == grpc::StatusCode::UNAVAILABLE;
  if (unavailable && posix::HangsUpAtOnce(admin_socket).value_or(false))
    return shm::NotAnOperator(admin_socket, ::geteuid());
  if (unavailable)
    return absl::UnavailableError(absl::StrCat(
        "no daemon answers at ", admin_socket,
        " (server.admin_socket), which a reload cannot change: ", answer.error_message()));
  return absl::Status(static_cast<absl::StatusCode>(answer.error_code()), answer.error_message());
}

}  // namespace penstock::app
