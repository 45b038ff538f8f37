// Python datasets: the text that names them, and what the daemon knows of them.
#include "server/source/made/python_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/source/core/mixture.h"

namespace penstock::source {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string PythonRefusal(const std::string& text) {
  const auto spec = ParsePython(text);
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(spec.status().message());
}

TEST(PythonDatasetTest, TextThatIsNotUnderstoodIsQuotedWithTheGrammar) {
  const std::string too_long(kMaxPythonIdDigits + 1, 'a');
  for (const std::string& part :
       {std::string("id=xyz,samples=1"), std::string("id=,samples=1"),
        "id=" + too_long + ",samples=1", std::string("id=a,samples=0"),
        std::string("id=a,samples=-1"), std::string("id=a,samples=+1"),
        std::string("id=a,samples= 1"), std::string("id=a,samples=1.5"),
        std::string("id=a,samples="), std::string("id=a,samples=4611686018427387905"),
        std::string("id=a,samples=99999999999999999999"), std::string("id=a,id=b,samples=1"),
        std::string("id=a,samples=1,samples=2"), std::string("id=a,samples=1,"),
        std::string("id=a,samples=1,seed=2"), std::string("ID=a,samples=1")}) {
    EXPECT_THAT(PythonRefusal("python:" + part),
                AllOf(HasSubstr("is not understood"), HasSubstr("python:id=ID,samples=N")))
        << part;
  }
  EXPECT_THAT(PythonRefusal("python:samples=1"), HasSubstr("it has no id"));
  EXPECT_THAT(PythonRefusal("python:id=a"), HasSubstr("it has no number of samples"));
  EXPECT_THAT(PythonRefusal("pythons:id=a,samples=1"), HasSubstr("does not begin with python:"));
}

TEST(PythonDatasetTest, ADatasetHasOneText) {
  const PythonSpec spec = {.id = "00ff", .samples = kMaxPythonSamples};

  EXPECT_EQ(ToString(spec), "python:id=00ff,samples=4611686018427387904");
  EXPECT_EQ(ParsePython(ToString(spec)).value(), spec);
  EXPECT_EQ(ParsePython("python:samples=4611686018427387904,id=00FF").value(), spec);
  const std::string longest(kMaxPythonIdDigits, 'b');
  EXPECT_EQ(ParsePython("python:id=" + longest + ",samples=1").value().id, longest);
}

TEST(PythonDatasetTest, ADatasetHasSamplesAndNothingElse) {
  const auto dataset = MakePython({.id = "0123456789abcdef", .samples = 12});

  EXPECT_EQ(dataset->kind(), "python");
  EXPECT_EQ(dataset->storage(), Storage::kMade);
  EXPECT_EQ(dataset->samples(), 12u);
  EXPECT_FALSE(dataset->labeled());
  EXPECT_EQ(dataset->label(11), 0);
  EXPECT_EQ(dataset->stamp(11), 0u);
  EXPECT_TRUE(dataset->classes().empty());
  EXPECT_EQ(dataset->path(11), "dataset[11] of Python dataset 01234567");
  EXPECT_EQ(MakePython({.id = "abc", .samples = 1})->path(0), "dataset[0] of Python dataset abc");
}

// An id may be random, and a fingerprint must not be.
TEST(PythonDatasetTest, TheDigestIsTheSameForAllIds) {
  EXPECT_EQ(MakePython({.id = "a", .samples = 12})->digest(),
            MakePython({.id = "b", .samples = 12})->digest());
}

TEST(PythonDatasetTest, NoFieldsCanBeSelected) {
  const auto dataset = MakePython({.id = "a", .samples = 12});
  const std::vector<FieldRequest> requests = {{.name = "image"}};

  EXPECT_EQ(dataset->Select({}).value(), Selection());
  EXPECT_THAT(std::string(dataset->Select(requests).status().message()), HasSubstr("got 'image'"));
}

TEST(PythonDatasetTest, ItCannotBePartOfAMixture) {
  const std::shared_ptr<const Dataset> dataset = MakePython({.id = "a", .samples = 12});

  const auto mixed = Mix({{.name = "mine", .dataset = dataset, .first = 0, .count = 12}});

  EXPECT_THAT(std::string(mixed.status().message()), HasSubstr("'mine' is a Python dataset"));
}

}  // namespace
}  // namespace penstock::source
