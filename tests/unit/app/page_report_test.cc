#include "server/app/operator/page_report.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <set>

#include "server/source/images/folder.h"
#include "tests/support/fakes/fake_dataset.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::app {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kSecret[] = "word: /secret/path";

// Every text of the message, and of those in it, becomes the secret; every list gets one entry.
void FillTexts(Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const bool is_text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      FillTexts(field.is_repeated() ? *reflection.AddMessage(&message, &field)
                                    : *reflection.MutableMessage(&message, &field));
    } else if (is_text && field.is_repeated()) {
      reflection.AddString(&message, &field, kSecret);
    } else if (is_text) {
      reflection.SetString(&message, &field, kSecret);
    } else if (field.name() == "pid" || field.name() == "host_pid") {
      reflection.SetInt32(&message, &field, 4711);
    }
  }
}

// The names of the fields that still have the secret.
void FindSecrets(const Message& message, std::set<std::string>& found) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) FindSecrets(reflection.GetMessage(message, field), found);
      for (int i = 0; field->is_repeated() && i < reflection.FieldSize(message, field); ++i)
        FindSecrets(reflection.GetRepeatedMessage(message, field, i), found);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      const std::string text = field->is_repeated()
                                   ? reflection.GetRepeatedString(message, field, 0)
                                   : reflection.GetString(message, field);
      if (text.find("/secret") != std::string::npos) found.insert(field->full_name());
    } else if (field->name() == "pid" || field->name() == "host_pid") {
      found.insert(field->full_name());
    }
  }
}

v1::StatusPage WithSecrets() {
  v1::StatusPage page;
  FillTexts(page);
  page.mutable_status()->mutable_feeds(0)->set_bottleneck(v1::BOTTLENECK_SOURCE);
  return page;
}

// A new field of these messages makes this fail, until it is decided whether everybody may see it.
TEST(PageReportTest, ASummaryHasNoTextsButTheDaemonsOwn) {
  v1::StatusPage page = WithSecrets();

  HideDetails(page);

  std::set<std::string> left;
  FindSecrets(page, left);
  EXPECT_THAT(
      left,
      ElementsAre("penstock.v1.DatasetStatus.kind", "penstock.v1.GetStatusResponse.deliveries",
                  "penstock.v1.GetStatusResponse.sandbox", "penstock.v1.GetStatusResponse.version",
                  "penstock.v1.GetStatusResponse.workers_policy", "penstock.v1.GpuStatus.name",
                  "penstock.v1.GpuStatus.uuid", "penstock.v1.PythonWorkerStatus.state",
                  "penstock.v1.SessionStatus.gpu", "penstock.v1.SessionStatus.order"));
}

TEST(PageReportTest, ASummaryKeepsWhatIsKnownToBeHarmless) {
  v1::StatusPage page;
  page.set_full(true);
  page.mutable_status()->set_reason("draining");
  page.mutable_status()->add_gpus()->set_state("serving");
  v1::FeedStatus& feed = *page.mutable_status()->add_feeds();
  feed.set_dataset("imagenet");
  feed.set_verdict("decoding is the bottleneck: 2 more workers would hide it");
  feed.set_bottleneck(v1::BOTTLENECK_DECODING);
  page.add_sessions()->set_state("source stalled for 3 s: reading /a");
  page.add_workers()->set_state("restarting: /a killed it");
  page.set_quarantine_total(3);
  page.set_pictures(true);
  page.add_quarantine_pictures(true);

  HideDetails(page);

  EXPECT_FALSE(page.pictures());
  EXPECT_EQ(page.quarantine_pictures_size(), 0);
  EXPECT_FALSE(page.full());
  EXPECT_EQ(page.status().reason(), "draining");
  EXPECT_EQ(page.status().gpus(0).state(), "serving");
  EXPECT_EQ(page.status().feeds(0).dataset(), "imagenet");
  EXPECT_THAT(page.status().feeds(0).verdict(), HasSubstr("2 more workers"));
  EXPECT_EQ(page.sessions(0).state(), "source stalled for 3 s");
  EXPECT_EQ(page.workers(0).state(), "restarting");
  EXPECT_EQ(page.quarantine_total(), 3u);
}

TEST(PageReportTest, WhatIsTooMuchIsLeftOutAndCounted) {
  v1::StatusPage page;
  for (int i = 0; i < 300; ++i) {
    page.add_sessions()->set_session_id(static_cast<uint64_t>(i));
    page.add_workers();
    page.mutable_status()->add_feeds();
  }
  page.mutable_status()->add_users();

  LimitPage(page);

  EXPECT_EQ(page.sessions_size(), 200);
  EXPECT_EQ(page.sessions(0).session_id(), 0u);
  EXPECT_EQ(page.omitted().sessions(), 100u);
  EXPECT_EQ(page.workers_size(), 256);
  EXPECT_EQ(page.omitted().workers(), 44u);
  EXPECT_EQ(page.omitted().feeds(), 200u);
  EXPECT_EQ(page.omitted().users(), 0u);
}

TEST(PageReportTest, OpenDatasetsAndTheFirstBadSamplesAreThere) {
  auto state = std::make_shared<feed::DatasetState>(
      feed::DatasetState{.name = "photographs",
                         .dataset = std::make_shared<testing::FakeDataset>(1000),
                         .quarantine = {},
                         .policy = feed::FaultPolicy(1000)});
  for (uint64_t sample = 0; sample < 120; ++sample)
    state->quarantine.Add({.sample = sample, .path = "p", .fault = base::Fault::kTruncated});
  v1::StatusPage page;

  AddDatasets({{.name = "unopened", .path = "/u", .state = nullptr},
               {.name = "photographs", .path = "/p", .state = state}},
              page);

  ASSERT_EQ(page.datasets_size(), 1);
  EXPECT_EQ(page.datasets(0).name(), "photographs");
  EXPECT_EQ(page.quarantine_size(), 100);
  EXPECT_EQ(page.quarantine_total(), 120u);
  EXPECT_FALSE(page.pictures());
  EXPECT_EQ(page.quarantine_pictures_size(), 0);
}

class PictureListTest : public ::testing::Test {
 protected:
  PictureListTest() {
    folder_.Write("photographs/a/0.jpg", "x");
    folder_.Write("photographs/a/1.jpg", "x");
    folder_.Write("photographs/a/2.jpg", "x");
    folder_.Write("photographs/a/3.jpg", "x");
    auto opened =
        source::OpenFolder({.path = folder_.At("photographs"), .roots = {}, .state_dir = ""});
    datasets_ = {View("unopened", nullptr), View("photographs", std::move(opened->dataset)),
                 View("records", std::make_unique<testing::FakeDataset>(10))};
  }
  static DatasetView View(const std::string& name, std::unique_ptr<source::Dataset> dataset) {
    if (dataset == nullptr) return {.name = name, .path = "", .state = nullptr};
    auto state =
        std::make_shared<feed::DatasetState>(feed::DatasetState{.name = name,
                                                                .dataset = std::move(dataset),
                                                                .quarantine = {},
                                                                .policy = feed::FaultPolicy(1000)});
    state->quarantine.Add({.sample = 0, .path = "p", .fault = base::Fault::kTruncated});
    state->quarantine.Add(
        {.sample = 1, .path = "p", .fault = base::Fault::kNotByGpu, .users = {9}});
    state->quarantine.Add({.sample = 2, .path = "p", .fault = base::Fault::kWorkerCrashed});
    return {.name = name, .path = "", .state = state};
  }
  std::string WhyNot(const std::string& dataset, uint64_t sample) const {
    const auto found = FindBadSample(datasets_, {.dataset = dataset, .sample = sample});
    return found.ok() ? "" : std::string(found.status().message());
  }

  testing::TempFolder folder_;
  std::vector<DatasetView> datasets_;
};

// A trainer may report any samples as ones that its GPU cannot decode.
TEST_F(PictureListTest, OnlyWhatTheDaemonItselfFoundBadIsFound) {
  EXPECT_EQ(WhyNot("photographs", 0), "");
  EXPECT_EQ(WhyNot("photographs", 2), "");
  EXPECT_THAT(WhyNot("photographs", 1),
              HasSubstr("the list of bad samples does not have this one"));
  EXPECT_THAT(WhyNot("photographs", 3),
              HasSubstr("the list of bad samples does not have this one"));
  EXPECT_THAT(WhyNot("photographs", UINT64_MAX), HasSubstr("does not have this one"));
  EXPECT_THAT(WhyNot("unopened", 0), HasSubstr("no dataset of this name is open"));
  EXPECT_THAT(WhyNot("unknown", 0), HasSubstr("no dataset of this name is open"));
}

TEST_F(PictureListTest, WhatIsNotStoredAsBytesOfItsOwnIsNotFoundAndItIsSaid) {
  EXPECT_THAT(WhyNot("records", 0), HasSubstr("not the bytes of a file"));
}

TEST_F(PictureListTest, OnceTheListIsClearedNothingIsFound) {
  datasets_[1].state->quarantine.Clear();

  EXPECT_THAT(WhyNot("photographs", 0), HasSubstr("does not have this one"));
}

TEST_F(PictureListTest, ThePageSaysWhichEntriesHaveAPicture) {
  v1::StatusPage page;
  AddDatasets(datasets_, page);

  AddPictures(datasets_, page);

  EXPECT_TRUE(page.pictures());
  EXPECT_THAT(page.quarantine_pictures(), ElementsAre(true, false, true, false, false, false));
}

}  // namespace
}  // namespace penstock::app
