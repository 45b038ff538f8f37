// The text forms of arrays and tokens, and impossible numbers in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/source/arrays/npy_spec.h"
#include "server/source/arrays/tokens_spec.h"

namespace penstock::source {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string TokensRefusal(const std::string& text) {
  const auto spec = ParseTokens(text);
  return spec.ok() ? "not refused" : std::string(spec.status().message());
}

TEST(TokensTextTest, WhatIsNotUnderstoodIsRefusedWithTheGrammar) {
  EXPECT_THAT(TokensRefusal("tokens:"), AllOf(HasSubstr("'' is not understood"),
                                              HasSubstr("wanted tokens:/FILE,…,length=N")));
  EXPECT_THAT(TokensRefusal("tokens:train.bin,length=4"), HasSubstr("'train.bin' is not"));
  EXPECT_THAT(TokensRefusal("tokens:/a,length=four"), HasSubstr("'length=four'"));
  EXPECT_THAT(TokensRefusal("tokens:/a,length=4,stride=0"), HasSubstr("'stride=0'"));
  EXPECT_THAT(TokensRefusal("tokens:/a,length=4,dtype=u2"), HasSubstr("'dtype=u2'"));
  EXPECT_THAT(TokensRefusal("tokens:/a,length=4,format=tar"), HasSubstr("'format=tar'"));
  EXPECT_THAT(TokensRefusal("tokens:/a,length=4,documents=maybe"), HasSubstr("'documents=maybe'"));
  EXPECT_THAT(TokensRefusal("tokens:/a,width=4"), HasSubstr("'width=4'"));
}

TEST(TokensTextTest, NumbersThatCannotBeAreNamed) {
  EXPECT_THAT(TokensRefusal("tokens:/a"), HasSubstr("the length of a sample is missing"));
  EXPECT_THAT(TokensRefusal("tokens:length=4"), HasSubstr("tokens files"));
  EXPECT_THAT(TokensRefusal("tokens:/a,length=16777217"),
              HasSubstr("tokens length: wanted 1 to 16777216, got 16777217"));
  EXPECT_THAT(TokensRefusal("tokens:/a,length=1,dtype=float32"), HasSubstr("got float32"));
  EXPECT_THAT(TokensRefusal("tokens:/a,length=1,format=raw,documents=true"),
              HasSubstr("files of format raw do not say where documents begin"));
}

TEST(TokensTextTest, TheStrideIsTheLengthUnlessSaid) {
  const auto spec = ParseTokens("tokens:/a.bin,/b.bin,length=1024");

  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_THAT(spec->files, ElementsAre("/a.bin", "/b.bin"));
  EXPECT_EQ(spec->step(), 1024u);
}

TEST(TokensTextTest, AllOfItIsReadAndWrittenBack) {
  const std::string text =
      "tokens:/a.bin,length=8,stride=4,dtype=uint32,vocabulary=50257,format=megatron,"
      "documents=true";

  EXPECT_EQ(ToString(*ParseTokens(text)), text);
}

std::string NpySpecRefusal(const std::string& text) {
  const auto spec = ParseNpyText(text);
  return spec.ok() ? "not refused" : std::string(spec.status().message());
}

TEST(NpyTextTest, WhatIsNotUnderstoodIsRefusedWithTheGrammar) {
  EXPECT_THAT(NpySpecRefusal("npy:"), HasSubstr("wanted npy:NAME=/FILE.npy"));
  EXPECT_THAT(NpySpecRefusal("npy:/a.npy"), HasSubstr("'/a.npy' is not understood"));
  EXPECT_THAT(NpySpecRefusal("npy:x=a.npy"), HasSubstr("'x=a.npy' is not understood"));
  EXPECT_THAT(NpySpecRefusal("npy:x=/a.npy,"), HasSubstr("'' is not understood"));
}

TEST(NpyTextTest, NamesThatCannotBeAreRefused) {
  EXPECT_THAT(NpySpecRefusal("npy:a b=/a.npy"), HasSubstr("got 'a b'"));
  EXPECT_THAT(NpySpecRefusal("npy:" + std::string(65, 'x') + "=/a.npy"), HasSubstr("1 to 64"));
  EXPECT_THAT(NpySpecRefusal("npy:x=/a.npy,x=/b.npy"), HasSubstr("'x' twice"));
  std::string many = "npy:x=/a.npy";
  for (int i = 0; i < 32; ++i) many += ",y" + std::to_string(i) + "=/a.npy";
  EXPECT_THAT(NpySpecRefusal(many), HasSubstr("32 at most, got 33"));
  EXPECT_FALSE(Validate(NpySpec{}).ok());
}

TEST(NpyTextTest, ItIsReadAndWrittenBack) {
  const std::string text = "npy:image=/data/x.npy,label=/data/y=z.npy";

  EXPECT_EQ(ToString(*ParseNpyText(text)), text);
}

}  // namespace
}  // namespace penstock::source
