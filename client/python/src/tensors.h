// Tensors of batches for Python: what they are, where they lie as NumPy views, and where they shall
// go. The interpreter's lock is held in every call.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "penstock/penstock.h"

namespace penstock::python {

// Addresses and a cudaStream_t travel as numbers, as frameworks give them (data_ptr, cuda_stream).
using Address = uintptr_t;

// (place in the session's tensors, type's name, address, bytes, address for the lengths or 0)
using TensorRoom = std::tuple<uint32_t, std::string, Address, uint64_t, Address>;

std::vector<TensorInto> IntoOf(const std::vector<TensorRoom>& rooms);

DType DTypeNamed(const std::string& name);
nanobind::dlpack::dtype DlpackType(DType type);

// [(name, type's name, shape of a row, of variable length)]
nanobind::list TensorsOf(const std::vector<Field>& fields);

// Of host memory, read-only; the array keeps the lease. (values, lengths or None). bfloat16, which
// NumPy does not know, comes as uint16.
nanobind::tuple ViewOf(nanobind::handle lease, const Field& field, size_t tensor);

// A tensor of a batch in GPU memory: (address, bytes from row to row, address of the lengths or 0).
using Placed = std::tuple<Address, uint64_t, Address>;

// Memory for tensors that lie behind each other, and how far they reach.
struct TensorPlan {
  std::vector<TensorInto> into;
  std::vector<Placed> placed;
  size_t bytes = 0;
};
// `wanted`: (place in the session's tensors, type's name); addresses are offsets from `begin` on.
TensorPlan PlanTensors(const Session& session,
                       const std::vector<std::tuple<uint32_t, std::string>>& wanted, size_t begin);
// Makes addresses of the offsets.
void Settle(TensorPlan& plan, std::byte* memory);

}  // namespace penstock::python
