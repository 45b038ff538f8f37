#include "server/app/operator/admin_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/files/temp_folder.h"
#include "tests/support/message_of.h"

namespace penstock::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

unsigned ModeOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(AdminSocketTest, ItLiesBesideTheTrainersFolderUnlessItIsConfigured) {
  config::v1::Server server;
  server.set_socket("/run/penstock/penstock.sock");

  EXPECT_EQ(AdminSocketOf(server), "/run/penstock-admin/admin.sock");
  server.set_admin_socket("/srv/operators/socket");
  EXPECT_EQ(AdminSocketOf(server), "/srv/operators/socket");
}

TEST(AdminSocketTest, AdminsAreUsersAndGroupsByNameOrNumber) {
  config::v1::Server server;
  for (const char* admin : {"root", "4711", "group:root", "group:4712"}) server.add_admins(admin);

  const rpc::Admins admins = ToAdmins(server).value();

  EXPECT_THAT(admins.users, ElementsAre(0u, 4711u));
  EXPECT_THAT(admins.groups, ElementsAre(0u, 4712u));
}

TEST(AdminSocketTest, AnAdminThatIsNotThereIsNamed) {
  config::v1::Server users, groups;
  users.add_admins("nobody-of-that-name");
  groups.add_admins("group:none-of-that-name");

  EXPECT_EQ(ToAdmins(users).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(MessageOf(ToAdmins(users).status()),
              HasSubstr("server.admins[0]: there is no user 'nobody-of-that-name'"));
  EXPECT_THAT(MessageOf(ToAdmins(groups).status()),
              HasSubstr("there is no group 'none-of-that-name'"));
}

TEST(AdminSocketTest, WithoutAdminsNobodyElseCanKnockAndWithThemTheServerAsksWhoItIs) {
  const testing::TempFolder folder;
  {
    const auto closed = ClaimAdminSocket(folder.At("closed/admin.sock"), {});
    ASSERT_TRUE(closed.ok()) << closed.status();
    EXPECT_EQ(ModeOf(folder.At("closed")), 0700u);
    EXPECT_EQ(ModeOf(closed->path()), 0600u);
  }
  const auto open = ClaimAdminSocket(folder.At("open/admin.sock"), {.users = {4711}, .groups = {}});
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_EQ(ModeOf(folder.At("open")), 0711u);
  EXPECT_EQ(ModeOf(open->path()), 0666u);
}

}  // namespace
}  // namespace penstock::app
