// YOLO's texts, VOC's XML and lists of names: what the parsers find, and what they refuse.
#include "server/source/annotated/note_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/source/annotated/names_scan.h"
#include "tests/unit/source/annotated/found.h"

namespace penstock::source {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// ---- YOLO ----

absl::StatusOr<Annotations> Notes(NoteFormat format, const std::vector<std::string>& contents,
                                  const std::string& names = "") {
  NoteBatchWriter batch(names);
  for (const std::string& content : contents) batch.Add("/d/n.txt", content);
  return ScanNotes(batch.Finish(), format);
}

std::string NoteRefusal(NoteFormat format, const std::string& content,
                        const std::string& names = "") {
  return std::string(Notes(format, {content}, names).status().message());
}

TEST(YoloScanTest, EachLineIsAnObject) {
  const auto all = Notes(NoteFormat::kYolo, {"1 0.5 0.25 1 1\r\n\n 0\t0 0 0.125 1e-1", "", "\n"});

  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(CountsOf(*all), ElementsAre(2, 0, 0));
  EXPECT_THAT(ValuesOf<float>(*all, ObjectValue::kBoxes),
              ElementsAre(0.5f, 0.25f, 1, 1, 0, 0, 0.125f, 0.1f));
  EXPECT_THAT(ValuesOf<int64_t>(*all, ObjectValue::kLabels), ElementsAre(1, 0));
}

TEST(YoloScanTest, WhatIsWrongIsNamedWithItsLine) {
  const auto refusal = [](const std::string& text) { return NoteRefusal(NoteFormat::kYolo, text); };
  EXPECT_THAT(refusal("0 0 0 0 0\n0 .1 .1 .2 .1 .2 .2\n"),
              StartsWith("/d/n.txt:2: the line has 7 numbers, as a polygon"));
  EXPECT_THAT(refusal("0 0 0 0"), StartsWith("/d/n.txt:1: the line has 4 numbers; wanted 5"));
  EXPECT_THAT(refusal("0 0 0 0 0 0.9"), HasSubstr("has 6 numbers; wanted"));
  EXPECT_THAT(refusal("0 0 0 x 0"), HasSubstr("the number 4 of the line is none"));
  EXPECT_THAT(refusal("0 0 0 nan 0"), HasSubstr("the number 4 of the line is none"));
  EXPECT_THAT(refusal("0x3 0 0 0 0"), HasSubstr("the number 1 of the line is none"));
  EXPECT_THAT(refusal("-1 0 0 0 0"), HasSubstr("the class is -1"));
  EXPECT_THAT(refusal("0.5 0 0 0 0"), HasSubstr("the class is 0.5"));
  EXPECT_THAT(refusal("0 320 0 0 0"), HasSubstr("the number 2 of the line is 320"));
}

// ---- VOC ----

std::string Object(const std::string& name, const std::string& more = "",
                   const std::string& box =
                       "<xmin>48</xmin><ymin>240.5</ymin>"
                       "<xmax> 195\n</xmax><ymax>371</ymax>") {
  return "<object><name>" + name + "</name>" + more + "<bndbox>" + box + "</bndbox></object>";
}

std::string Voc(const std::string& objects) {
  return "<?xml "
         "version=\"1.0\"?>\n<annotation>\n<folder>VOC</folder><size><width>9</width></size>\n" +
         objects + "\n</annotation>\n";
}

constexpr char kNames[] = "dog\nperson";

TEST(VocScanTest, EachObjectHasABoxAndAClass) {
  const std::string part =
      "<part><name>head</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax>"
      "</bndbox></part><difficult>1</difficult><pose>Unspecified</pose><truncated>0</truncated>";
  const auto all = Notes(NoteFormat::kVoc,
                         {Voc(Object("person", part) + Object("dog", "<truncated>1</truncated>")),
                          Voc(""), Voc(Object("p&#101;rson"))},
                         kNames);

  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(CountsOf(*all), ElementsAre(2, 0, 1));
  EXPECT_THAT(ValuesOf<float>(*all, ObjectValue::kBoxes),
              ElementsAre(48, 240.5, 195, 371, 48, 240.5, 195, 371, 48, 240.5, 195, 371));
  EXPECT_THAT(ValuesOf<int64_t>(*all, ObjectValue::kLabels), ElementsAre(2, 1, 2));
  EXPECT_THAT(ValuesOf<uint8_t>(*all, ObjectValue::kDifficult), ElementsAre(1, 0, 0));
  EXPECT_THAT(ValuesOf<uint8_t>(*all, ObjectValue::kTruncated), ElementsAre(0, 1, 0));
}

TEST(VocScanTest, WhatIsWrongIsNamedWithItsLine) {
  const auto refusal = [](const std::string& text) {
    return NoteRefusal(NoteFormat::kVoc, text, kNames);
  };
  EXPECT_THAT(refusal(""), StartsWith("/d/n.txt:1: it is no XML: no element found"));
  EXPECT_THAT(refusal("<a>"), HasSubstr(":1: it begins with <a>, wanted <annotation>"));
  EXPECT_THAT(refusal("<annotation>\n\n</b>"), HasSubstr(":3: it is no XML: mismatched tag"));
  EXPECT_THAT(refusal(Voc(Object("cat"))), HasSubstr(":5: the class 'cat' is not among the names"));
  EXPECT_THAT(refusal(Voc("<object><name>dog</name></object>")), HasSubstr("lacks a <name> or a"));
  EXPECT_THAT(refusal(Voc(Object("dog", "", "<xmin>1</xmin>"))), HasSubstr("a whole <bndbox>"));
  EXPECT_THAT(refusal(Voc(Object("dog", "", "<xmin>one</xmin>"))),
              HasSubstr("<xmin> is 'one', wanted a number"));
  EXPECT_THAT(refusal(Voc(Object("dog", "<difficult>2</difficult>"))),
              HasSubstr("<difficult> is '2', wanted 0 or 1"));
  EXPECT_THAT(refusal(Voc(Object("dog", "<name>dog</name>"))), HasSubstr("a second <name>"));
  EXPECT_THAT(refusal(Voc(Object(std::string(2000, 'x')))), HasSubstr("a text is too long"));
  EXPECT_THAT(refusal("<!DOCTYPE x [<!ENTITY a \"b\">]>" + Voc("").substr(22)),
              HasSubstr("it has a document type"));
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += "<x>";
  EXPECT_THAT(refusal("<annotation>" + deep), HasSubstr("nested too deeply"));
}

TEST(NoteBatchTest, ABatchThatCannotBeIsRefused) {
  NoteBatchWriter writer("names");
  writer.Add("/a", "x");
  const std::string whole = writer.Finish();
  ASSERT_TRUE(ReadNoteBatch(whole).ok());
  for (size_t end = 0; end < whole.size(); ++end)
    EXPECT_FALSE(ReadNoteBatch(whole.substr(0, end)).ok()) << end;
  EXPECT_FALSE(ReadNoteBatch(whole + "x").ok());
}

// ---- Names ----

std::vector<std::string> Names(const std::string& text, NamesFormat format) {
  const auto list = ScanNames(text, format, "/n");
  EXPECT_TRUE(list.ok()) << list.status();
  std::vector<std::string> names;
  const char* at = list.ok() ? list->paths.data() : nullptr;
  for (size_t i = 0; list.ok() && i < list->rows.size(); ++i) {
    names.emplace_back(at, list->rows[i].path_bytes);
    at += list->rows[i].path_bytes;
  }
  return names;
}

std::string NamesRefusal(const std::string& text, NamesFormat format) {
  return std::string(ScanNames(text, format, "/n").status().message());
}

TEST(NamesScanTest, LinesAreNamesWithoutSpacesAtTheirEnds) {
  EXPECT_THAT(Names("\xEF\xBB\xBF"
                    "a\r\n\n b c \nd",
                    NamesFormat::kLines),
              ElementsAre("a", "b c", "d"));
  EXPECT_EQ(ScanNames("\n\na", NamesFormat::kLines, "/n")->rows[0].line, 3u);
  EXPECT_THAT(NamesRefusal("\n \n", NamesFormat::kLines), HasSubstr("/n:2: it has no names"));
  EXPECT_THAT(NamesRefusal(std::string(5000, 'x'), NamesFormat::kLines), HasSubstr("too long"));
}

TEST(NamesScanTest, TheWaysToWriteNamesInYaml) {
  for (const std::string text :
       {"train: x\nnames: [cat, 'big dog', \"x#y\"]  # three\nnc: 3\n",
        "names:\n  # animals\n  0: cat\n  1: big dog\n\n  2: 'x#y'\nnc: 3\n",
        "names:\n- cat\n- big dog\n- x#y\nnc: 3\n",
        "names: [\n  'cat', 'big dog',  # two\n  x#y,\n]\n",
        "names: {0: cat, 1: big dog, 2: x#y}\n"})
    EXPECT_THAT(Names(text, NamesFormat::kYaml), ElementsAre("cat", "big dog", "x#y")) << text;
}

TEST(NamesScanTest, OtherYamlIsRefused) {
  const auto refusal = [](const std::string& text) {
    return NamesRefusal(text, NamesFormat::kYaml);
  };
  EXPECT_THAT(refusal("nc: 3"), HasSubstr("/n:1: it has no key 'names'"));
  EXPECT_THAT(refusal("a: b\nnames: x"), HasSubstr("/n:2: it is no list"));
  EXPECT_THAT(refusal("names:\n  0: a\n  2: b"), HasSubstr("/n:3: the number of a name"));
  EXPECT_THAT(refusal("names: [a, b"), HasSubstr("the list does not end"));
  EXPECT_THAT(refusal("names: [a, [b]]"), HasSubstr("needs quotes"));
  EXPECT_THAT(refusal("names: [*a]"), HasSubstr("needs quotes"));
  EXPECT_THAT(refusal("names: ['a"), HasSubstr("a quote does not end"));
  EXPECT_THAT(refusal("names: [\"a\\n\"]"), HasSubstr("an escape"));
  EXPECT_THAT(refusal("names: [a] b"), HasSubstr("something after the list"));
  EXPECT_THAT(refusal("names:\nnc: 3"), HasSubstr("it has no names"));
}

}  // namespace
}  // namespace penstock::source
