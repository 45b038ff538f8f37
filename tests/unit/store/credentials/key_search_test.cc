// The order of sources, and what is asked of servers.
#include "server/store/credentials/key_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using From = KeySpec::From;
using Method = TransferRequest::Method;

constexpr char kJson[] =
    "{\"AccessKeyId\":\"server\",\"SecretAccessKey\":\"secret\",\"Token\":\"token\"}";

class KeySearchTest : public ::testing::Test {
 protected:
  // "ID from WHOM", or why not.
  std::string Search(Environment environment, From from = From::kSearch) {
    const auto source =
        MakeKeySource({from, std::move(environment)}, [this](const TransferRequest& request) {
          asked_.push_back(request);
          return answer_(request);
        });
    const auto found = source->Fetch();
    if (!found.ok()) return found.status().ToString();
    return absl::StrCat(found->keys == nullptr ? "nobody" : found->keys->key_id, " from ",
                        found->from);
  }

  std::vector<std::string> Urls() const {
    std::vector<std::string> urls;
    for (const TransferRequest& request : asked_) urls.push_back(request.url);
    return urls;
  }

  static TransferAnswer Say(int code, std::string body = "") {
    return {.status = absl::OkStatus(), .code = code, .body = std::move(body)};
  }
  static TransferAnswer Metadata(const TransferRequest& request) {
    if (request.method == Method::kPut) return Say(200, "metadata-token");
    if (absl::EndsWith(request.url, "/")) return Say(200, "a role\n");
    return Say(200, kJson);
  }

  penstock::testing::TempFolder folder_;
  std::function<TransferAnswer(const TransferRequest&)> answer_ = [](const TransferRequest&) {
    return TransferAnswer{.status = absl::UnavailableError("no route")};
  };
  std::vector<TransferRequest> asked_;
};

TEST_F(KeySearchTest, VariablesComeFirst) {
  EXPECT_EQ(Search({{"AWS_ACCESS_KEY_ID", "id"},
                    {"AWS_SECRET_ACCESS_KEY", "secret"},
                    {"AWS_WEB_IDENTITY_TOKEN_FILE", "/x"},
                    {"AWS_PROFILE", "other"}}),
            "id from AWS_ACCESS_KEY_ID");
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"})
    EXPECT_THAT(Search({{name, "hunter2"}}), HasSubstr("set both, or neither"));
  for (const char* token : {"hunter2\n", "hun ter2", "\thunter2"})
    EXPECT_THAT(Search({{"AWS_ACCESS_KEY_ID", "id"},
                        {"AWS_SECRET_ACCESS_KEY", "secret"},
                        {"AWS_SESSION_TOKEN", token}}),
                AllOf(HasSubstr("perhaps blanks or a line's end"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(Search({{"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", "secret\n"}}),
              HasSubstr("perhaps blanks"));
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(KeySearchTest, EachLaterSourceIsAskedOnlyIfThereIsNoEarlierOne) {
  answer_ = [](const TransferRequest& request) { return Metadata(request); };
  folder_.Write("token", "jwt\n");
  folder_.Write("keys", "[default]\naws_access_key_id=file\naws_secret_access_key=x\n");
  Environment environment = {{"AWS_WEB_IDENTITY_TOKEN_FILE", folder_.At("token")},
                             {"AWS_ROLE_ARN", "arn"},
                             {"AWS_SHARED_CREDENTIALS_FILE", folder_.At("keys")},
                             {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x"}};
  const auto next = [&](const char* name) {
    asked_.clear();
    environment.erase(name);
    return Search(environment);
  };

  EXPECT_THAT(Search(environment), HasSubstr("web identity"));
  EXPECT_THAT(Urls(), ElementsAre("https://sts.us-east-1.amazonaws.com/"));
  EXPECT_EQ(next("AWS_WEB_IDENTITY_TOKEN_FILE"), "file from the profile 'default'");
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_EQ(next("AWS_SHARED_CREDENTIALS_FILE"), "server from the container's role");
  EXPECT_THAT(Urls(), ElementsAre("http://169.254.170.2/v2/x"));
  EXPECT_EQ(next("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), "server from instance metadata");
}

TEST_F(KeySearchTest, MetadataIsAskedByVersionTwoAndNeverThroughAProxy) {
  answer_ = [](const TransferRequest& request) { return Metadata(request); };

  EXPECT_EQ(Search({}), "server from instance metadata");

  const std::string roles = "http://169.254.169.254/latest/meta-data/iam/security-credentials/";
  EXPECT_THAT(Urls(),
              ElementsAre("http://169.254.169.254/latest/api/token", roles, roles + "a%20role"));
  for (const TransferRequest& request : asked_) {
    EXPECT_TRUE(request.is_direct);
    EXPECT_FALSE(request.follows_redirects);
    EXPECT_LE(request.deadline, std::chrono::seconds(1));
  }
  EXPECT_EQ(asked_[2].headers[0].second, "metadata-token");
}

TEST_F(KeySearchTest, WhereNoMetadataAreRequestsAreAnonymousAndSaidToBe) {
  EXPECT_THAT(Search({}), HasSubstr("nobody from no keys were found; instance metadata at "
                                    "http://169.254.169.254: no route; in a container"));
  EXPECT_EQ(asked_.size(), 2u) << "it is tried for twice";

  asked_.clear();
  EXPECT_THAT(Search({{"AWS_EC2_METADATA_DISABLED", "TRUE"}}), HasSubstr("nobody from"));
  EXPECT_EQ(Search({{"PENSTOCK_STORE_ANONYMOUS", "1"}, {"AWS_ACCESS_KEY_ID", "half"}}),
            "nobody from PENSTOCK_STORE_ANONYMOUS is set");
  EXPECT_THAT(Search({{"PENSTOCK_STORE_ANONYMOUS", "yes"}}), HasSubstr("expected 1, or nothing"));
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(KeySearchTest, MetadataThatGaveKeysOnceAreMissedLater) {
  bool is_there = true;
  const auto source = MakeKeySource({From::kSearch, {}}, [&](const TransferRequest& request) {
    return is_there ? Metadata(request) : Say(503);
  });
  ASSERT_NE((*source->Fetch()).keys, nullptr);
  is_there = false;

  EXPECT_TRUE(absl::IsUnavailable(source->Fetch().status()));
}

TEST_F(KeySearchTest, MetadataThatAreAskedForMustBeThere) {
  EXPECT_THAT(Search({}, From::kMetadata), HasSubstr("UNAVAILABLE: instance metadata at"));
  answer_ = [](const TransferRequest& request) {
    return request.method == Method::kPut ? Say(200, "t") : Say(404);
  };
  EXPECT_THAT(Search({}, From::kMetadata), HasSubstr("the instance has no role"));
  answer_ = [](const TransferRequest&) { return Say(405); };
  EXPECT_THAT(Search({}, From::kMetadata), HasSubstr("gives no token of version 2 (405)"));
}

TEST_F(KeySearchTest, MetadataMayBeElsewhere) {
  answer_ = [](const TransferRequest& request) { return Metadata(request); };
  Search({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:99/"}}, From::kMetadata);
  EXPECT_EQ(asked_[0].url, "http://127.0.0.1:99/latest/api/token");
  asked_.clear();
  Search({{"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6"}}, From::kMetadata);
  EXPECT_EQ(asked_[0].url, "http://[fd00:ec2::254]/latest/api/token");
  EXPECT_THAT(Search({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "ftp://hunter2@x"}}, From::kMetadata),
              AllOf(HasSubstr("expected http://HOST[:PORT]"), Not(HasSubstr("hunter2"))));
}

TEST_F(KeySearchTest, AContainersTokenGoesOnlyToAllowedHosts) {
  answer_ = [](const TransferRequest&) { return Say(200, kJson); };
  const auto ask = [&](const std::string& url) {
    asked_.clear();
    return Search({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url},
                   {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "hunter2"}},
                  From::kContainer);
  };
  for (const char* url : {"http://169.254.170.2/x", "http://169.254.170.23/v1/credentials",
                          "http://localhost:80/x", "http://127.1.2.3/x", "http://[::1]:8080/x",
                          "http://[fd00:ec2::23]/x", "https://any.org/x"}) {
    EXPECT_THAT(ask(url), HasSubstr("server from")) << url;
    ASSERT_EQ(asked_.size(), 1u);
    EXPECT_EQ(asked_[0].headers[0],
              std::pair(std::string("Authorization"), std::string("hunter2")));
    EXPECT_TRUE(asked_[0].is_direct);
  }
  for (const char* url :
       {"http://169.254.169.254/x", "http://any.org/x", "http://127.0.0.1.any.org/x",
        "http://localhost.any.org/x", "http://127.0.0.1@any.org/x", "http://any.org#127.0.0.1",
        "http://any.org\\@127.0.0.1/x", "http://2130706433/x", "http://[::2]/x",
        "ftp://127.0.0.1/x", "http://", "127.0.0.1", "https://any.org/x\r\ny: z"}) {
    EXPECT_THAT(ask(url), AllOf(HasSubstr("expected https://, or"), Not(HasSubstr("hunter2"))))
        << url;
    EXPECT_THAT(asked_, IsEmpty()) << url;
  }
}

TEST_F(KeySearchTest, AContainersTokenIsReadFromItsFileEachTime) {
  answer_ = [](const TransferRequest&) { return Say(200, kJson); };
  folder_.Write("token", "first\n");
  const auto source =
      MakeKeySource({From::kContainer,
                     {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/x"},
                      {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "other"},
                      {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", folder_.At("token")}}},
                    [&](const TransferRequest& request) {
                      asked_.push_back(request);
                      return answer_(request);
                    });

  ASSERT_TRUE(source->Fetch().ok());
  folder_.Write("token", "second");
  ASSERT_TRUE(source->Fetch().ok());
  folder_.Write("token", "two\nlines");

  EXPECT_THAT(std::string(source->Fetch().status().message()), HasSubstr("more than one line"));
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[0].headers[0].second, "first");
  EXPECT_EQ(asked_[1].headers[0].second, "second");
}

TEST_F(KeySearchTest, StsIsAskedForTheRoleInTheRegion) {
  answer_ = [](const TransferRequest&) {
    return Say(200, "<AccessKeyId>sts</AccessKeyId><SecretAccessKey>b</SecretAccessKey>");
  };
  folder_.Write("token", "a.b+c/d=");
  Environment environment = {{"AWS_WEB_IDENTITY_TOKEN_FILE", folder_.At("token")},
                             {"AWS_ROLE_ARN", "arn:aws:iam::1:role/x"},
                             {"AWS_DEFAULT_REGION", "cn-north-1"}};

  EXPECT_EQ(Search(environment, From::kWebIdentity), "sts from web identity");

  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].url, "https://sts.cn-north-1.amazonaws.com.cn/");
  EXPECT_EQ(asked_[0].method, Method::kPost);
  EXPECT_EQ(asked_[0].sign_with, nullptr);
  EXPECT_EQ(asked_[0].body,
            "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx"
            "&RoleSessionName=penstock&Version=2011-06-15&WebIdentityToken=a.b%2Bc%2Fd%3D");
  environment["AWS_ENDPOINT_URL_STS"] = "http://127.0.0.1:5000/";
  Search(environment, From::kWebIdentity);
  EXPECT_EQ(asked_[1].url, "http://127.0.0.1:5000/");
}

TEST_F(KeySearchTest, WhatStsRefusesIsSaidWithoutItsWords) {
  folder_.Write("token", "jwt");
  const Environment environment = {{"AWS_WEB_IDENTITY_TOKEN_FILE", folder_.At("token")},
                                   {"AWS_ROLE_ARN", "arn"}};
  answer_ = [](const TransferRequest&) {
    return Say(400, "<Code>InvalidIdentityToken</Code><Message>hunter2</Message>");
  };
  EXPECT_THAT(Search(environment),
              AllOf(HasSubstr("PERMISSION_DENIED: web identity at https://sts."),
                    HasSubstr("STS answered 400 InvalidIdentityToken"), Not(HasSubstr("hunter2"))));
  answer_ = [](const TransferRequest&) { return Say(400, "<Code>IDPCommunicationError</Code>"); };
  EXPECT_THAT(Search(environment), HasSubstr("UNAVAILABLE"));
  EXPECT_THAT(Search({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/x"}}), HasSubstr("and AWS_ROLE_ARN"));
  EXPECT_THAT(
      Search({{"AWS_WEB_IDENTITY_TOKEN_FILE", folder_.At("absent")}, {"AWS_ROLE_ARN", "a"}}),
      HasSubstr("UNAVAILABLE: a token cannot be read"));
}

TEST_F(KeySearchTest, AProfileMayNameAWebIdentity) {
  answer_ = [](const TransferRequest&) {
    return Say(200, "<AccessKeyId>sts</AccessKeyId><SecretAccessKey>b</SecretAccessKey>");
  };
  folder_.Write("token", "jwt");
  folder_.Write("config", absl::StrCat("[profile p]\nrole_arn=arn\nregion=eu-west-1\n",
                                       "web_identity_token_file=", folder_.At("token"), "\n"));

  EXPECT_EQ(Search({{"AWS_CONFIG_FILE", folder_.At("config")}, {"AWS_PROFILE", "p"}}),
            "sts from web identity");
  EXPECT_EQ(asked_[0].url, "https://sts.eu-west-1.amazonaws.com/");
}

TEST_F(KeySearchTest, AProfileThatIsAskedForMustHaveKeys) {
  folder_.Write("keys", "[default]\nregion = x\n");
  EXPECT_THAT(Search({{"AWS_SHARED_CREDENTIALS_FILE", folder_.At("keys")}}, From::kProfile),
              HasSubstr("there is no aws_access_key_id in the profile 'default'"));
}

TEST_F(KeySearchTest, GooglesKeysAreAPairOrNone) {
  EXPECT_EQ(Search({{"GCS_KEY", "g"}, {"GCS_SECRET", "x"}}, From::kHmac), "g from GCS_KEY");
  EXPECT_THAT(Search({}, From::kHmac), HasSubstr("nobody"));
  EXPECT_THAT(Search({{"GCS_KEY", "hunter2"}}, From::kHmac),
              AllOf(HasSubstr("of GCS_KEY and GCS_SECRET"), Not(HasSubstr("hunter2"))));
}

}  // namespace
}  // namespace penstock::store
