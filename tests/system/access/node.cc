#include "tests/system/access/node.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/shm/protocol.h"

namespace penstock::testing {
namespace fs = std::filesystem;

Node::Node(const Options& options) {
  const std::string open = data_.path() + "/flowers", secret = data_.path() + "/" + kToken;
  for (const std::string& folder : {open, secret}) {
    const std::string command =
        ProgramPath("penstock-make-photographs") + " " + folder + " --images 12 > /dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  const fs::path a_class = fs::directory_iterator(secret)->path();
  std::ofstream(a_class / (std::string("broken-") + kToken + ".jpg")) << "\xff\xd8\xff no image";
  EXPECT_EQ(std::system(("chmod -R a+rX " + data_.path()).c_str()), 0);

  std::string config =
      "server: {socket: SOCKET, group: '" + std::to_string(kSocketGroup) + "', state_dir: ''";
  if (options.with_admins) config += ", admins: ['" + std::to_string(kAdminUser) + "']";
  if (!options.metrics_address.empty())
    config += ", metrics_address: '" + options.metrics_address + "'";
  config += "}\npool: {max: 128MiB}\ndatasets:\n- {name: flowers, folder: " + open +
            "}\n- {name: secret-set, folder: " + secret + ", groups: ['" +
            std::to_string(kSecretGroup) + "']}\n";
  daemon_ = std::make_unique<DaemonProcess>(DaemonProcess::Options{
      .workers = 1, .config = config, .user = {.user = kDaemonUser, .groups = {kSocketGroup}}});
}

std::string OpenJson(const std::string& dataset) {
  return R"({"protocol_version":)" + std::to_string(shm::kProtocolVersion) +
         R"(,"batch_size":4,"window":1,"feed":{"dataset":")" + dataset +
         R"(","order":"ORDER_SEQUENTIAL","image":{"resize_center_crop":)" +
         R"({"resize":32,"height":32,"width":32}}}})";
}

}  // namespace penstock::testing
