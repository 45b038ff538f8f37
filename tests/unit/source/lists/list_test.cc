// Datasets whose images a list names.
#include "server/source/lists/list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/posix/machine.h"
#include "server/source/lists/image_list.h"
#include "server/source/parse/directly.h"
#include "tests/support/fakes/unpacked.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ListTest : public ::testing::Test {
 protected:
  ListTest() {
    for (const char* name : {"a.jpg", "b.jpg", "c.png"})
      temp_.Write(std::string("d/") + name, name);
    temp_.Write("other/e.jpg", "e");
  }

  absl::StatusOr<OpenedList> Open(const std::string& name, const std::string& rows,
                                  const std::string& options = "",
                                  std::vector<std::string> roots = {}) const {
    temp_.Write("d/" + name, rows);
    const auto spec = ParseListText("list:" + temp_.At("d/" + name) + options);
    EXPECT_TRUE(spec.ok()) << spec.status();
    return OpenList({.spec = *spec, .roots = std::move(roots)}, *DirectParsers());
  }
  std::unique_ptr<Dataset> Opened(const std::string& name, const std::string& rows,
                                  const std::string& options = "") const {
    auto opened = Open(name, rows, options);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return std::move(opened->dataset);
  }
  std::string Refusal(const std::string& name, const std::string& rows,
                      const std::string& options = "") const {
    return std::string(Open(name, rows, options).status().message());
  }
  static std::vector<std::string> Contents(const Dataset& dataset) {
    std::vector<std::string> contents;
    const auto reader = dataset.NewReader();
    for (uint64_t i = 0; i < dataset.samples(); ++i)
      contents.push_back(penstock::testing::ReadUnpacked(*reader, i)->image);
    return contents;
  }
  static std::vector<int64_t> LabelsOf(const Dataset& dataset) {
    std::vector<int64_t> labels;
    for (uint64_t i = 0; i < dataset.samples(); ++i) labels.push_back(dataset.label(i));
    return labels;
  }
  // One field of one sample.
  template <typename Value>
  static Value FieldOf(const Dataset& dataset, const std::string& name, uint64_t sample) {
    const FieldRequest request[] = {{.name = name}};
    const Selection selection = dataset.Select(request).value();
    const auto reader = dataset.NewReader();
    EXPECT_TRUE(reader->Open(sample).ok());
    Value value{};
    std::byte* row[] = {reinterpret_cast<std::byte*>(&value)};
    EXPECT_EQ(selection.layout.bytes(), sizeof value);
    EXPECT_EQ(reader->ReadFields(selection, row).value(), base::Fault::kNone);
    return value;
  }

  penstock::testing::TempFolder temp_;
};

TEST_F(ListTest, SamplesAreTheRowsInTheirOrder) {
  const auto dataset = Opened("x.csv", "c.png,3\na.jpg,0\nc.png,1\n", ",path=0,label=1");

  EXPECT_EQ(dataset->kind(), "list");
  EXPECT_THAT(Contents(*dataset), ElementsAre("c.png", "a.jpg", "c.png"));
  EXPECT_THAT(LabelsOf(*dataset), ElementsAre(3, 0, 1));
  EXPECT_THAT(dataset->classes(), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(dataset->path(1), EndsWith("/d/a.jpg"));
}

TEST_F(ListTest, AHeaderNamesTheColumns) {
  const auto dataset =
      Opened("x.csv", "kind,file\ndog,a.jpg\ncat,b.jpg\n", ",path=file,label=kind");

  EXPECT_THAT(Contents(*dataset), ElementsAre("a.jpg", "b.jpg"));
  EXPECT_THAT(dataset->classes(), ElementsAre("cat", "dog"));
  EXPECT_THAT(LabelsOf(*dataset), ElementsAre(1, 0));
}

TEST_F(ListTest, AHeaderIsRecognisedByTheImagesBelowIt) {
  EXPECT_EQ(Opened("x.csv", "a.jpg,1\nb.jpg,2\n")->samples(), 2u);
  const auto headed = Opened("x.csv", "label,path\n1,a.jpg\n");
  EXPECT_EQ(headed->samples(), 1u);
  EXPECT_THAT(LabelsOf(*headed), ElementsAre(1));
  EXPECT_THAT(Refusal("x.csv", "a,b\nc,d\n"), HasSubstr("say header=yes or header=no"));
  temp_.Write("d/none", "n");
  EXPECT_EQ(Opened("x.csv", "none\nnone\n", ",header=no")->samples(), 2u);
  EXPECT_EQ(Opened("x.csv", "none\nnone\n", ",header=yes")->samples(), 1u);
}

TEST_F(ListTest, WithoutALabelTheSamplesHaveNone) {
  const auto dataset = Opened("x.tsv", "a.jpg\nb.jpg\n");

  EXPECT_FALSE(dataset->labeled());
  EXPECT_THAT(dataset->classes(), IsEmpty());
  EXPECT_THAT(LabelsOf(*dataset), ElementsAre(0, 0));
}

TEST_F(ListTest, FurtherColumnsOfNumbersAreFields) {
  const std::string rows =
      "path\tage\tweight\tnote\na.jpg\t-7\t0.1\tx\nb.jpg\t9007199254740993\t2\ty\n";
  auto opened = Open("x.tsv", rows);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const Dataset& dataset = *opened->dataset;

  ASSERT_EQ(dataset.fields().size(), 2u);
  EXPECT_EQ(dataset.fields()[0].type, base::DType::kInt64);
  EXPECT_EQ(dataset.fields()[1].type, base::DType::kFloat64);
  EXPECT_EQ(FieldOf<int64_t>(dataset, "age", 0), -7);
  EXPECT_EQ(FieldOf<int64_t>(dataset, "age", 1), 9007199254740993);
  EXPECT_EQ(FieldOf<double>(dataset, "weight", 0), 0.1);
  EXPECT_EQ(FieldOf<double>(dataset, "weight", 1), 2.0);
  EXPECT_THAT(opened->warning, HasSubstr("'note' (line 2 has 'x')"));
}

TEST_F(ListTest, RealsAreFloat32WhereAsked) {
  const auto dataset = Opened("x.csv", "a.jpg,0.1\n", ",reals=float32");

  EXPECT_EQ(FieldOf<float>(*dataset, "1", 0), 0.1f);
}

TEST_F(ListTest, ANumberTooLargeForItsTypeIsNoNumber) {
  auto opened = Open("x.csv", "a.jpg,1e39,1e39\n", ",reals=float32");
  ASSERT_TRUE(opened.ok());

  EXPECT_THAT(opened->dataset->fields(), IsEmpty());
  EXPECT_THAT(opened->warning, HasSubstr("'1' (line 1 has '1e39')"));
}

TEST_F(ListTest, JsonLinesHaveKeysForColumns) {
  const auto dataset =
      Opened("x.jsonl",
             "{\"path\": \"a.jpg\", \"label\": \"dog\", \"x\": 1.5, \"n\": null}\n\n"
             "{\"label\": \"c\\u0061t\", \"n\": [{}], \"path\": \"b.jpg\", \"x\": 2}\n");

  EXPECT_THAT(Contents(*dataset), ElementsAre("a.jpg", "b.jpg"));
  EXPECT_THAT(dataset->classes(), ElementsAre("cat", "dog"));
  ASSERT_EQ(dataset->fields().size(), 1u);
  EXPECT_EQ(FieldOf<double>(*dataset, "x", 1), 2.0);
}

TEST_F(ListTest, WrongJsonIsRefusedWithItsLine) {
  const std::string good = "{\"path\": \"a.jpg\", \"label\": 1}\n";
  EXPECT_THAT(Refusal("x.jsonl", good + "{\"path\": \"a.jpg\"}"),
              HasSubstr("x.jsonl:2: the key 'label', which the first line has, is missing"));
  EXPECT_THAT(Refusal("x.jsonl", good + "{\"path\": \"a.jpg\", \"label\": 1, \"z\": 1}"),
              HasSubstr("x.jsonl:2: the object has 3 keys, expected the first line's 2"));
  EXPECT_THAT(Refusal("x.jsonl", good + "[1]"), HasSubstr("x.jsonl:2: the line is not understood"));
  EXPECT_THAT(Refusal("x.jsonl", good + "{\"path\": "), HasSubstr("it is no JSON at its byte"));
  EXPECT_THAT(Refusal("x.jsonl", good + "{\"path\": 1, \"path\": 2}"), HasSubstr("'path' twice"));
  EXPECT_THAT(Refusal("x.jsonl", "{}"), HasSubstr("x.jsonl:1: the object is empty"));
  EXPECT_THAT(Refusal("x.jsonl", std::string(100'000, '[')), HasSubstr("it is an array"));
}

TEST_F(ListTest, WrongRowsAreRefusedWithTheirLine) {
  EXPECT_THAT(Refusal("x.csv", "a.jpg,1\nb.jpg\n", ",label=1"),
              HasSubstr("d/x.csv:2: the row has 1 cells, expected 2"));
  EXPECT_THAT(Refusal("x.csv", "a.jpg,1\n,2\n", ",label=1"),
              HasSubstr("x.csv:2: the path is empty"));
  EXPECT_THAT(Refusal("x.csv", "a.jpg,1\nb.jpg,x\n", ",label=1"),
              HasSubstr("x.csv:2: the label 'x' is not a 64-bit integer"));
  EXPECT_THAT(Refusal("x.csv", "a.jpg,1\n\"b.jpg,2\n", ",label=1"),
              HasSubstr("x.csv:2: a cell's closing quote is missing"));
  EXPECT_THAT(Refusal("x.csv", std::string("a.jpg,1\nb\0.jpg,1\n", 17), ",label=1"),
              HasSubstr("x.csv:2: the path contains a NUL byte"));
}

TEST_F(ListTest, WrongColumnsAreRefused) {
  EXPECT_THAT(Refusal("x.csv", "a.jpg,1\n", ",path=2"), HasSubstr("path=2 names no column"));
  EXPECT_THAT(Refusal("x.csv", "p,l\na.jpg,1\n", ",path=q"), HasSubstr("there are 2: p, l"));
  EXPECT_THAT(Refusal("x.csv", "a.jpg,1\n", ",path=0,label=0"), HasSubstr("both path and label"));
  EXPECT_THAT(Refusal("x.csv", "p,p\na.jpg,1\n"), HasSubstr("the same name"));
  EXPECT_THAT(Refusal("x.csv", ""), HasSubstr("has no rows"));
  EXPECT_THAT(Refusal("x.txt", "a.jpg\n"), HasSubstr("a list of unknown format"));
}

TEST_F(ListTest, AMissingImageIsRefusedWithItsLine) {
  const auto opened = Open("x.csv", "path\na.jpg\nnone.jpg\n");

  EXPECT_TRUE(absl::IsNotFound(opened.status())) << opened.status();
  EXPECT_THAT(std::string(opened.status().message()),
              AllOf(HasSubstr("d/x.csv:3: "), HasSubstr("d/none.jpg")));
}

TEST_F(ListTest, AFolderIsNoImage) {
  temp_.MakeFolder("d/f.jpg");

  EXPECT_THAT(Refusal("x.csv", "f.jpg\n"), HasSubstr("is a folder"));
}

TEST_F(ListTest, PathsAreRelativeToTheRootOrAbsolute) {
  const std::string rows = "e.jpg\n" + temp_.At("other/e.jpg") + "\n../other/e.jpg\n";

  EXPECT_THAT(Contents(*Opened("x.csv", rows, ",root=" + temp_.At("other"))),
              ElementsAre("e", "e", "e"));
}

TEST_F(ListTest, PathsLeadWhereTheDaemonMayRead) {
  const std::string rows[] = {"../other/e.jpg\n", temp_.At("other/e.jpg") + "\n"};
  temp_.Link("d/link.jpg", temp_.At("other/e.jpg"));
  for (const std::string& row : {rows[0], rows[1], std::string("link.jpg\n")}) {
    EXPECT_THAT(Contents(*Open("x.csv", row, "", {temp_.path()})->dataset), ElementsAre("e"));
    const auto refused = Open("x.csv", row, "", {temp_.At("d")});
    EXPECT_TRUE(absl::IsPermissionDenied(refused.status())) << refused.status();
    EXPECT_THAT(std::string(refused.status().message()),
                AllOf(HasSubstr("x.csv:1: "), HasSubstr("outside of the allowed roots")));
  }
}

TEST_F(ListTest, TheIdentityIsOfTheListAndOfEveryFile) {
  const auto identity = [&](const std::string& rows) { return Open("x.csv", rows)->identity; };
  const std::string before = identity("a.jpg\nb.jpg\n");
  temp_.Write("d/c.png", "another");
  EXPECT_EQ(Open("y.csv", "a.jpg\n")->dataset->digest(),
            Open("z.csv", "a.jpg\n")->dataset->digest());
  EXPECT_NE(Open("y.csv", "a.jpg\n")->identity, Open("z.csv", "a.jpg\n")->identity);

  temp_.Write("d/b.jpg", "B.jpg");
  EXPECT_NE(identity("a.jpg\nb.jpg\n"), before);
}

TEST(ListTextTest, TheTextFormIsReadBack) {
  const std::string text =
      "list:/d/x.csv,path=p,label=3,root=/r,header=no,labels=texts,reals=float32";
  EXPECT_EQ(ToString(ParseListText(text).value()), text);
  EXPECT_EQ(ToString(ParseListText("list:/d/x.csv").value()), "list:/d/x.csv");
}

TEST(ListTextTest, WrongTextsAreRefused) {
  for (const char* text : {"list:", "list:x.csv", "list:/x.csv,path=", "list:/x.csv,header=maybe",
                           "list:/x.csv,reals=int64", "list:/x.csv,root=r", "list:/x.csv,else=1"})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseListText(text).status())) << text;
}

// Two bytes of a list become hundreds in a folder that lies deep.
TEST_F(ListTest, MorePathsThanTheMachineHasMemoryForAreRefused) {
  constexpr int kDepth = 800;
  std::string folder = "d";
  for (int i = 0; i < kDepth; ++i) folder += "/d";
  const uint64_t rows = posix::ReadMachine().Memory() / 2 / (3 * kDepth) + 1000;
  std::string text;
  text.reserve(3 * rows);
  for (uint64_t row = 0; row < rows; ++row) text += "/a\n";
  temp_.Write(folder + "/list.csv", text);
  const auto spec = ParseListText("list:" + temp_.At(folder + "/list.csv") + ",path=0,header=no");
  ASSERT_TRUE(spec.ok()) << spec.status();

  const auto opened = OpenList({.spec = *spec}, *DirectParsers());

  EXPECT_EQ(opened.status().code(), absl::StatusCode::kResourceExhausted) << opened.status();
  EXPECT_THAT(opened.status().message(), HasSubstr("/list.csv': opening its dataset takes "));
}

TEST(FromFolderTest, PathsAreRelativeToTheFolder) {
  const auto relative = [](const std::string& folder, absl::string_view path) {
    const FromFolder from(folder);
    const FromFolder::Path found = from.Find(path);
    EXPECT_EQ(found.bytes(), RelativeToFolder(folder, path).size());
    return absl::StrCat(found.up, found.rest);
  };
  EXPECT_EQ(relative("/a/b", "c.jpg"), "c.jpg");
  EXPECT_EQ(relative("/a/b", "/a/b/c.jpg"), "c.jpg");
  EXPECT_EQ(relative("/a/b", "/a/bc.jpg"), "../../a/bc.jpg");
  EXPECT_EQ(relative("/", "/a/c.jpg"), "a/c.jpg");
}

}  // namespace
}  // namespace penstock::source
