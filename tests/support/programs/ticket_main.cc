// penstock-test-ticket ADDRESS TICKET DATASET: asks for a dataset's description with a ticket that
// was issued to another process, and prints the daemon's answer.
#include <grpcpp/grpcpp.h>

#include <cstdio>

#include "penstock/v1/feed.grpc.pb.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto feed = penstock::v1::FeedService::NewStub(
      grpc::CreateChannel(std::string("unix:") + argv[1], grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  context.AddMetadata("penstock-ticket", argv[2]);
  penstock::v1::DescribeDatasetRequest request;
  request.set_dataset(argv[3]);
  penstock::v1::DescribeDatasetResponse response;
  const grpc::Status status = feed->DescribeDataset(&context, request, &response);
  std::printf("%d %s\n", static_cast<int>(status.error_code()), status.error_message().c_str());
  return status.ok() ? 0 : 1;
}
