// A photograph takes over its decoder: the sandbox kills the worker, and the daemon reports it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/sandbox/sandbox.h"
#include "tests/support/files/jpeg_maker.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/http_get.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr uint32_t kTakesOver = 333;  // as in hijacked_decoder.cc
constexpr uint32_t kSamples = 24;

void WritePhotograph(const fs::path& path, uint32_t width) {
  // Progressive, so that libjpeg itself decodes it.
  const auto bytes = MakeJpeg(width, 200, {.progressive = true});
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

TEST(HijackedTest, AForbiddenCallIsABadSampleAndASecurityEvent) {
  if (sandbox::kIsInstrumented) GTEST_SKIP() << "a sanitizer's runtime cannot run in a sandbox";
  TemporaryDirectory folder;
  fs::create_directory(folder.path() + "/class");
  for (uint32_t i = 0; i < kSamples; ++i)
    WritePhotograph(folder.path() + "/class/" + std::to_string(100 + i) + ".jpg",
                    i == 7 ? kTakesOver : 300);
  const std::string worker = folder.path() + "/worker.sh";
  std::ofstream(worker) << "#!/bin/sh\nLD_PRELOAD=" PENSTOCK_HIJACKED_DECODER " exec "
                        << ProgramPath("penstock-worker") << " \"$@\"\n";
  ASSERT_EQ(::chmod(worker.c_str(), 0755), 0);
  const uint16_t port = FreePort();
  DaemonProcess daemon(
      {.config = "server: {socket: SOCKET, group: '', state_dir: '', metrics_address: '127.0.0.1:" +
                 std::to_string(port) + "'}\nworkers: {count: 1, program: " + worker +
                 "}\npool: {max: 64MiB}\ndatasets: [{name: photographs, folder: " + folder.path() +
                 "}]\n"});

  const Delivered delivered = OneEpoch(daemon.address(), SmallRows("photographs", 8));

  EXPECT_EQ(delivered.rows.size(), kSamples);  // another sample replaces it
  const v1::ListQuarantineResponse bad = daemon.Quarantine();
  ASSERT_EQ(bad.entries_size(), 1);
  EXPECT_EQ(bad.entries(0).sample(), 7u);
  EXPECT_TRUE(bad.entries(0).quarantined());
  EXPECT_EQ(bad.entries(0).reason(), "made a forbidden system call");
  EXPECT_THAT(daemon.log(),
              ContainsRegex("level=error event=forbidden_call [^\n]*signal=31 [^\n]*107.jpg"));
  EXPECT_EQ(daemon.Status().forbidden_calls(), 2u);
  EXPECT_THAT(daemon.Ctl({"status"}).output, HasSubstr("the sandbox killed 2 processes"));
  EXPECT_EQ(ValueOf(Scrape(port), "penstock_forbidden_calls_total"), 2);
}

}  // namespace
}  // namespace penstock::testing
