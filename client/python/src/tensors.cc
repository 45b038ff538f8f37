#include "client/python/src/tensors.h"

#include <nanobind/stl/string.h>

#include "client/python/src/errors.h"

namespace nb = nanobind;

namespace penstock::python {
namespace {

constexpr size_t kAlignment = 256;  // suits any array

size_t RoundUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

nb::dlpack::dtype DlpackType(DType type) {
  using Kind = nb::dlpack::dtype_code;
  const auto bits = static_cast<uint8_t>(8 * ElementBytes(type));
  const auto kind = [&] {
    switch (type) {
      case DType::kBool:
        return Kind::Bool;
      case DType::kInt8:
      case DType::kInt16:
      case DType::kInt32:
      case DType::kInt64:
        return Kind::Int;
      case DType::kFloat16:
      case DType::kFloat32:
      case DType::kFloat64:
        return Kind::Float;
      case DType::kBFloat16:
        return Kind::Bfloat;
      default:
        return Kind::UInt;
    }
  }();
  return {static_cast<uint8_t>(kind), bits, 1};
}

DType DTypeNamed(const std::string& name) {
  for (uint32_t number = 1; number <= static_cast<uint32_t>(DType::kFloat64); ++number)
    if (name == DTypeName(static_cast<DType>(number))) return static_cast<DType>(number);
  Raise(Status(Code::kInvalidArgument, "unknown tensor type '" + name + "'"));
}

std::vector<TensorInto> ToInto(const std::vector<TensorDestination>& destinations) {
  std::vector<TensorInto> into;
  for (const auto& [tensor, type, data, bytes, lengths] : destinations)
    into.push_back({.tensor = tensor,
                    .type = DTypeNamed(type),
                    .data = reinterpret_cast<void*>(data),
                    .bytes = bytes,
                    .lengths = reinterpret_cast<int32_t*>(lengths)});
  return into;
}

nb::list ToTensorList(const std::vector<Field>& fields) {
  nb::list tensors;
  for (const Field& field : fields) {
    nb::list shape;
    for (const uint32_t side : field.shape) shape.append(side);
    tensors.append(
        nb::make_tuple(field.name, DTypeName(field.type), nb::tuple(shape), field.variable));
  }
  return tensors;
}

nb::tuple ViewOf(nb::handle lease, const Field& field, size_t tensor) {
  const TensorView view = nb::cast<const Batch&>(lease).tensor(tensor);
  if (view.data == nullptr) return nb::make_tuple(nb::none(), nb::none());
  std::vector<size_t> shape = {view.rows};
  shape.insert(shape.end(), field.shape.begin(), field.shape.end());
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size() - 1; i > 0; --i) {
    strides[i] = stride;
    stride *= static_cast<int64_t>(shape[i]);
  }
  strides[0] = static_cast<int64_t>(view.row_stride / ElementBytes(field.type));
  using View = nb::ndarray<nb::numpy, nb::ro>;
  nb::object values =
      nb::cast(View(view.data, shape.size(), shape.data(), lease, strides.data(),
                    DlpackType(field.type == DType::kBFloat16 ? DType::kUInt16 : field.type)));
  if (view.lengths == nullptr) return nb::make_tuple(std::move(values), nb::none());
  const size_t rows[] = {view.rows};
  return nb::make_tuple(std::move(values), nb::cast(nb::ndarray<nb::numpy, const int32_t>(
                                               view.lengths, 1, rows, lease)));
}

TensorPlan PlanTensors(const Session& session,
                       const std::vector<std::tuple<uint32_t, std::string>>& wanted, size_t begin) {
  const std::vector<Field> fields = session.tensors();
  const size_t rows = session.shape().rows;
  TensorPlan plan = {.bytes = RoundUp(begin)};
  for (const auto& [tensor, name] : wanted) {
    if (tensor >= fields.size())
      Raise(Status(Code::kInvalidArgument, "the session has no tensor " + std::to_string(tensor)));
    const DType type = DTypeNamed(name);
    const size_t row_bytes = fields[tensor].elements() * ElementBytes(type);
    Placed placed = {plan.bytes, row_bytes, 0};
    plan.bytes = RoundUp(plan.bytes + rows * row_bytes);
    if (fields[tensor].variable) {
      std::get<2>(placed) = plan.bytes;
      plan.bytes = RoundUp(plan.bytes + rows * sizeof(int32_t));
    }
    plan.into.push_back({.tensor = tensor, .type = type, .bytes = rows * row_bytes});
    plan.placed.push_back(placed);
  }
  return plan;
}

void Settle(TensorPlan& plan, std::byte* memory) {
  for (size_t i = 0; i < plan.into.size(); ++i) {
    auto& [data, stride, lengths] = plan.placed[i];
    plan.into[i].data = memory + data;
    if (lengths != 0) {
      plan.into[i].lengths = reinterpret_cast<int32_t*>(memory + lengths);
      lengths += reinterpret_cast<Address>(memory);
    }
    data += reinterpret_cast<Address>(memory);
  }
}

}  // namespace penstock::python
