// The header of a .npy file: what it must contain, and the errors for anything else.
#include "server/source/arrays/npy_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files/array_maker.h"

namespace penstock::source {
namespace {

using base::DType;
using penstock::testing::Npy;
using penstock::testing::NpyHeaderAround;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<NpyHeader> ParseNpy(const std::string& bytes) {
  return ParseNpyHeader(std::as_bytes(std::span(bytes)), "/data/x.npy");
}

std::string NpyRefusal(const std::string& bytes) {
  const auto header = ParseNpy(bytes);
  if (header.ok()) return "not refused";
  EXPECT_EQ(header.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(header.status().message());
}

std::string Literal(const std::string& literal) { return NpyRefusal(NpyHeaderAround(literal)); }

TEST(NpyHeaderTest, AnythingElseIsRefusedWithWhatItIs) {
  EXPECT_THAT(NpyRefusal(""), AllOf(HasSubstr("'/data/x.npy'"), HasSubstr("is empty")));
  EXPECT_THAT(NpyRefusal(std::string("\x93NUMPX\x01\x00", 8)),
              HasSubstr("a .npy file begins with"));
  EXPECT_THAT(NpyRefusal("PK\x03\x04 and so on"), HasSubstr("unpack it; a .npz holds .npy files"));
}

TEST(NpyHeaderTest, AHeaderThatEndsAnywhereIsTruncated) {
  const std::string whole = Npy("<f4", "(5, 3)", "");
  for (size_t bytes = 6; bytes < whole.size(); ++bytes)
    ASSERT_THAT(NpyRefusal(whole.substr(0, bytes)), HasSubstr("truncated")) << bytes;
}

TEST(NpyHeaderTest, AVersionThatIsNotKnownIsRefused) {
  EXPECT_THAT(NpyRefusal(NpyHeaderAround("{}", 4)), HasSubstr("at byte 6 is 4.0"));
  EXPECT_THAT(NpyRefusal(std::string("\x93NUMPY\x01\x07", 8)), HasSubstr("at byte 6 is 1.7"));
}

TEST(NpyHeaderTest, AHeaderLongerThanAnyArraysOfNumbersIsRefused) {
  EXPECT_THAT(NpyRefusal(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)),
              HasSubstr("has 4294967295 bytes"));
}

TEST(NpyHeaderTest, WhatIsNoSuchLiteralIsRefusedWithItsPlaceAndWhatWasWanted) {
  EXPECT_THAT(Literal(""), HasSubstr("got its end, wanted '{'"));
  EXPECT_THAT(Literal("__import__('os')"), HasSubstr("at byte 10: got '__import__"));
  EXPECT_THAT(Literal("{'descr' '<f4'"), HasSubstr("wanted ':'"));
  EXPECT_THAT(Literal("{'descr': '<f4"), HasSubstr("wanted a quoted word"));
  EXPECT_THAT(Literal("{'descr': '<\\x664'}"), HasSubstr("without backslashes"));
  EXPECT_THAT(Literal("{'descr': '<f4' 'shape'"), HasSubstr("wanted ',' or '}'"));
  EXPECT_THAT(Literal("{'fortran_order': 0}"), HasSubstr("wanted True or False"));
  EXPECT_THAT(Literal("{'shape': [3]}"), HasSubstr("wanted '('"));
  EXPECT_THAT(Literal("{'shape': (3)}"), HasSubstr("after the only dimension"));
  EXPECT_THAT(Literal("{'shape': (3 4)}"), HasSubstr("wanted ',' or ')'"));
  EXPECT_THAT(Literal("{'shape': (-3,)}"), HasSubstr("as an integer"));
  EXPECT_THAT(Literal("{'shape': (99999999999999999999,)}"), HasSubstr("fits in 63 bits"));
  EXPECT_THAT(Literal("{'colour': 'red'}"), HasSubstr("'colour' is none of"));
}

TEST(NpyHeaderTest, KeysAreThereOnceAndNothingBehindThem) {
  EXPECT_THAT(Literal("{'descr': '<f4', 'fortran_order': False}"), HasSubstr("lacks 'shape'"));
  EXPECT_THAT(Literal("{'descr': '<f4', 'descr': '<f4'}"), HasSubstr("there twice"));
  EXPECT_THAT(Literal("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} + 1"),
              HasSubstr("wanted nothing more"));
}

struct Foreign {
  std::string descr, said;
};

TEST(NpyHeaderTest, ElementsThatNoTensorHasAreRefusedWithAReasonAndARemedy) {
  const Foreign foreign[] = {
      {">f4", "newbyteorder('<')"}, {">i2", "big endian"},     {"|O", "Python objects"},
      {"<U5", "strings"},           {"|S5", "strings"},        {"<c8", "complex"},
      {"<M8[ns]", "dates"},         {"<m8[s]", "dates"},       {"|V2", "bfloat16 is saved so"},
      {"<f16", "a type that no"},   {"<u3", "a type that no"}, {"", "a type that no"},
      {">>f4", "a type that no"},
  };
  for (const Foreign& type : foreign)
    EXPECT_THAT(NpyRefusal(Npy(type.descr, "(5, 3)", "")), HasSubstr(type.said)) << type.descr;
}

TEST(NpyHeaderTest, RecordsOfSeveralFieldsAreRefused) {
  EXPECT_THAT(Literal("{'descr': [('x', '<f4'), ('y', '<f4')], 'fortran_order': False}"),
              HasSubstr("array['field']"));
}

TEST(NpyHeaderTest, AShapeWithoutSamplesIsRefused) {
  EXPECT_THAT(NpyRefusal(Npy("<f4", "()", "")), HasSubstr("a single number"));
  EXPECT_THAT(NpyRefusal(Npy("<f4", "(0, 3)", "")), HasSubstr("dimension 0 of its shape is 0"));
  EXPECT_THAT(NpyRefusal(Npy("<f4", "(3, 0)", "")), HasSubstr("dimension 1 of its shape is 0"));
}

TEST(NpyHeaderTest, AShapeThatNoFileCanHoldIsRefused) {
  EXPECT_THAT(NpyRefusal(Npy("<f4", "(4294967296, 4294967296)", "")),
              HasSubstr("more bytes than a file can hold"));
  EXPECT_THAT(NpyRefusal(Npy("|u1", "(9223372036854775807,)", "")),
              HasSubstr("than a file can hold"));
}

TEST(NpyHeaderTest, FortransOrderIsRefusedWhereItMakesADifference) {
  const auto header = [](const std::string& shape) {
    return NpyHeaderAround("{'descr': '<f4', 'fortran_order': True, 'shape': " + shape + "}");
  };

  EXPECT_THAT(NpyRefusal(header("(5, 3)")), HasSubstr("numpy.ascontiguousarray(array)"));
  EXPECT_TRUE(ParseNpy(header("(5,)")).ok());
}

TEST(NpyHeaderTest, EveryTypeThatNumPyAndTensorsShareIsTaken) {
  const std::pair<std::string, DType> types[] = {
      {"|b1", DType::kBool},    {"|u1", DType::kUInt8},   {"|i1", DType::kInt8},
      {"<u2", DType::kUInt16},  {"<i2", DType::kInt16},   {"<u4", DType::kUInt32},
      {"<i4", DType::kInt32},   {"<u8", DType::kUInt64},  {"<i8", DType::kInt64},
      {"<f2", DType::kFloat16}, {"<f4", DType::kFloat32}, {"<f8", DType::kFloat64},
      {">u1", DType::kUInt8},
  };
  for (const auto& [descr, type] : types) {
    const auto header = ParseNpy(Npy(descr, "(7, 2, 3)", ""));
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_EQ(header->type, type);
    EXPECT_EQ(header->item_bytes, 6 * base::ElementBytes(type));
  }
}

TEST(NpyHeaderTest, VersionsOneToThreeAndAnyOrderOfKeysAreTaken) {
  for (const char version : {1, 2, 3}) {
    const std::string bytes = NpyHeaderAround(
        "{\"shape\":(60000L, 28,28,),'fortran_order':False , 'descr':'|u1'}", version);
    const auto header = ParseNpy(bytes);
    ASSERT_TRUE(header.ok()) << header.status();
    EXPECT_THAT(header->shape, ElementsAre(60000, 28, 28));
    EXPECT_EQ(header->header_bytes, bytes.size());
    EXPECT_EQ(header->items(), 60000u);
    EXPECT_EQ(header->item_bytes, 784u);
  }
}

}  // namespace
}  // namespace penstock::source
