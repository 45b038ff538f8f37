// Recipes: they survive a round trip, and are refused if anything in them is impossible.
#include "server/unpack/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace penstock::unpack {
namespace {

using ::testing::HasSubstr;

RecipeField Box() {
  return {.name = "box",
          .kind = FeatureKind::kFloats,
          .type = base::DType::kFloat32,
          .variable = true,
          .most = 4,
          .values = 4096,
          .lengths = 8192};
}

RecipeField Mask() {
  return {.name = "mask", .kind = FeatureKind::kBytes, .file = true, .most = 40};
}

Recipe Whole() {
  return {.packing = SamplePacking::kExample,
          .image = "image/encoded",
          .fields = {Box(),
                     {.name = "width",
                      .kind = FeatureKind::kInts,
                      .type = base::DType::kInt64,
                      .most = 1,
                      .values = 64}},
          .samples = {1000}};
}

std::vector<std::byte> Written(const Recipe& recipe) {
  std::vector<std::byte> bytes(BytesOf(recipe));
  Write(recipe, bytes);
  return bytes;
}

std::string Refusal(const Recipe& recipe) {
  return std::string(ReadRecipe(Written(recipe)).status().message());
}

TEST(RecipeTest, IsReadAsItWasWritten) {
  EXPECT_EQ(*ReadRecipe(Written(Whole())), Whole());

  Recipe rows = Whole();
  rows.image.clear();
  rows.samples = {10, 0, UINT64_MAX};
  EXPECT_EQ(*ReadRecipe(Written(rows)), rows);

  Recipe targets = Whole();
  targets.fields[0].per_item = 4;
  targets.fields.push_back(Mask());
  EXPECT_EQ(*ReadRecipe(Written(targets)), targets);
}

TEST(RecipeTest, OneThatIsCutOffAnywhereOrGoesOnIsRefused) {
  std::vector<std::byte> bytes = Written(Whole());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_TRUE(absl::IsInvalidArgument(ReadRecipe(std::span(bytes).first(size)).status())) << size;

  bytes.push_back(std::byte{0});

  EXPECT_THAT(ReadRecipe(bytes).status().message(), HasSubstr("more than names"));
}

TEST(RecipeTest, NumbersBeyondTheLimitsAreRefused) {
  Recipe recipe = Whole();
  recipe.samples.assign(2, 1);
  EXPECT_THAT(Refusal(recipe), HasSubstr("an image for many samples"));
  recipe.image.clear();
  EXPECT_EQ(Refusal(recipe), "");
  recipe.samples.assign(kMaxRecipeSamples + 1, 1);
  EXPECT_THAT(Refusal(recipe), HasSubstr("too many"));
  recipe.samples.clear();
  EXPECT_THAT(Refusal(recipe), HasSubstr("no samples"));

  recipe = Whole();
  recipe.fields.resize(kMaxRecipeFields + 1, Box());
  EXPECT_THAT(Refusal(recipe), HasSubstr("too many fields"));
  recipe = Whole();
  recipe.fields[0].most = (kMaxFieldBytes >> 2) + 1;
  EXPECT_THAT(Refusal(recipe), HasSubstr("too many bytes"));
  recipe.fields[0].most = UINT64_MAX;
  EXPECT_THAT(Refusal(recipe), HasSubstr("too many bytes"));
  recipe = Whole();
  recipe.fields[0].name.assign(kLongestFeatureName + 1, 'n');
  EXPECT_THAT(Refusal(recipe), HasSubstr("too long a name"));
}

TEST(RecipeTest, PackingsKindsAndTypesThatDoNotExistOrGoTogetherAreRefused) {
  Recipe recipe = Whole();
  recipe.packing = SamplePacking::kImage;  // images have no recipe
  EXPECT_THAT(Refusal(recipe), HasSubstr("unknown packing"));
  recipe.packing = static_cast<SamplePacking>(2);
  EXPECT_THAT(Refusal(recipe), HasSubstr("unknown packing"));

  recipe = Whole();
  recipe.fields[0].kind = FeatureKind::kNone;
  EXPECT_THAT(Refusal(recipe), HasSubstr("unknown kind"));
  recipe.fields[0].kind = static_cast<FeatureKind>(4);
  EXPECT_THAT(Refusal(recipe), HasSubstr("unknown kind"));
  recipe.fields[0].kind = FeatureKind::kInts;
  EXPECT_THAT(Refusal(recipe), HasSubstr("another type"));

  recipe.fields[0] = {.name = "text", .kind = FeatureKind::kBytes, .variable = false, .most = 4};
  EXPECT_THAT(Refusal(recipe), HasSubstr("bytes of a fixed length"));
}

TEST(RecipeTest, FilesAreByteStringsAndItemsAreWhole) {
  Recipe recipe = Whole();
  recipe.fields[0] = Mask();
  recipe.fields[0].variable = true;
  EXPECT_THAT(Refusal(recipe), HasSubstr("a file that is no byte string"));
  recipe.fields[0] = Box();
  recipe.fields[0].file = true;
  EXPECT_THAT(Refusal(recipe), HasSubstr("a file that is no byte string"));

  recipe.fields[0] = Box();
  for (const uint32_t lie : {0u, 3u, 5u}) {
    recipe.fields[0].per_item = lie;
    EXPECT_THAT(Refusal(recipe), HasSubstr("a part of an item"));
  }
}

// After a header of 16 bytes comes the first field: its kind, its type and this flag.
TEST(RecipeTest, AFlagThatIsNoFlagIsRefused) {
  std::vector<std::byte> bytes = Written(Whole());
  bytes[16 + 8] = std::byte{2};

  EXPECT_THAT(ReadRecipe(bytes).status().message(), HasSubstr("neither variable nor not"));
}

}  // namespace
}  // namespace penstock::unpack
