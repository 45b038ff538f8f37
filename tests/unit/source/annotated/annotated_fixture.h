// Opens annotated images and reads their fields: shared by the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "server/source/annotated/annotated.h"
#include "server/source/parse/directly.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {

class AnnotatedTest : public ::testing::Test {
 protected:
  absl::StatusOr<OpenedAnnotated> Open(const std::string& text,
                                       std::vector<std::string> roots = {}) const {
    std::string absolute = text;
    for (size_t at = 0; (at = absolute.find('@', at)) != std::string::npos;)
      absolute.replace(at, 1, temp_.path());
    const auto spec = ParseAnnotatedText(absolute);
    EXPECT_TRUE(spec.ok()) << spec.status();
    return OpenAnnotated({.spec = *spec, .roots = std::move(roots), .threads = 2},
                         *DirectParsers());
  }
  std::unique_ptr<Dataset> Opened(const std::string& text) const {
    auto opened = Open(text);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return std::move(opened->dataset);
  }
  std::string Refusal(const std::string& text) const {
    return std::string(Open(text).status().message());
  }
  std::string Identity(const std::string& text) const { return Open(text).value().identity; }

  std::vector<std::string> NamesOf(const Dataset& dataset) const {
    std::vector<std::string> names;
    for (uint64_t i = 0; i < dataset.samples(); ++i)
      names.push_back(dataset.path(i).substr(temp_.path().size() + 1));
    return names;
  }
  static std::vector<std::string> FieldsOf(const Dataset& dataset) {
    std::vector<std::string> names;
    for (const SampleField& field : dataset.fields()) names.push_back(field.name);
    return names;
  }
  static SampleField FieldOf(const Dataset& dataset, const std::string& name) {
    for (const SampleField& field : dataset.fields())
      if (field.name == name) return field;
    ADD_FAILURE() << name;
    return {};
  }

  // The values of a field of one sample, without the zeros after them.
  template <typename Value>
  static std::vector<Value> Values(const Dataset& dataset, const std::string& name, uint64_t sample,
                                   uint32_t most = 3) {
    const FieldRequest request[] = {{.name = name, .most = most}};
    const Selection selection = dataset.Select(request).value();
    const Tensor& tensor = selection.layout.tensors[0];
    std::vector<Value> values(tensor.bytes() / sizeof(Value), 77);
    int32_t length = -1;
    std::byte* rows[] = {reinterpret_cast<std::byte*>(values.data()),
                         reinterpret_cast<std::byte*>(&length)};
    const auto reader = dataset.NewReader();
    EXPECT_TRUE(reader->Open(sample).ok());
    const auto fault = reader->ReadFields(selection, rows);
    EXPECT_TRUE(fault.ok() && *fault == base::Fault::kNone);
    const size_t each = values.size() / tensor.shape[0];
    for (size_t i = length * each; i < values.size(); ++i) EXPECT_EQ(values[i], Value{});
    values.resize(length * each);
    return values;
  }

  // What a worker gets as the sample's mask.
  static std::string MaskOf(const Dataset& dataset, uint64_t sample) {
    const FieldRequest request[] = {{.name = "mask"}};
    const Selection selection = dataset.Select(request).value();
    const auto reader = dataset.NewReader();
    EXPECT_TRUE(reader->Open(sample).ok());
    const auto opened = reader->OpenMask(selection, 0);
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened->fault != base::Fault::kNone) return std::string(base::FaultName(opened->fault));
    std::string bytes(opened->bytes, '\0');
    const absl::Status read =
        reader->ReadMask(selection, 0, std::as_writable_bytes(std::span(bytes)));
    return read.ok() ? bytes : std::string(read.message());
  }

  penstock::testing::TempFolder temp_;
};

}  // namespace penstock::source
