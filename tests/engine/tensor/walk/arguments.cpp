#include "arguments.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/text.h"

namespace trainlab::test {

namespace {

using Kind = OperatorArgument::Kind;

bool contains(const std::string& name, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return name.find(part) != std::string::npos; });
}

}  // namespace

MadeArguments::MadeArguments(const Overload& overload, Stream random) : random_(random) {
  shape_ = shape();
  dtype_ = chance(0.7) ? at::kFloat
                       : one_of({at::kDouble, at::kLong, at::kInt, at::kBool, at::kByte, at::kShort, at::kHalf,
                                 at::kBFloat16, at::kComplexFloat, at::kComplexDouble});
  gradients_ = chance(0.3);
  valid_ = valid_arguments(overload.schema().name().substr(6));
  if (!valid_.empty() && chance(0.5)) {
    const ValidArguments& one = valid_[random_.below(valid_.size())];
    for (const Given& given : one.positional) arguments_.positional.push_back(given.argument(arguments_));
    for (const Named& given : one.named) arguments_.named.push_back({given.name, given.value.argument(arguments_)});
    return;
  }
  bool by_name = false;
  for (const Parameter& parameter : overload.parameters()) {
    if (parameter.takes == Takes::generator) continue;
    by_name = by_name || parameter.by_name;
    if (!parameter.required && chance(0.4)) {
      by_name = true;  // left out: those after it need their names
      continue;
    }
    const OperatorArgument made = make(parameter);
    if (by_name) {
      arguments_.named.push_back({parameter.name, made});
    } else {
      arguments_.positional.push_back(made);
    }
  }
}

void MadeArguments::twist(Stream random) {
  random_ = random;
  std::vector<OperatorArgument*> all;
  for (OperatorArgument& a : arguments_.positional) all.push_back(&a);
  for (auto& [name, a] : arguments_.named) all.push_back(&a);
  if (all.empty()) return;
  for (int count = chance(0.75) ? 1 : 2; count > 0; --count) make_odd(*all[random_.below(all.size())]);
}

void MadeArguments::make_odd(OperatorArgument& a) {
  switch (a.kind) {
    case Kind::boolean: a.boolean = !a.boolean; return;
    case Kind::number: a.number = odd_number(a.number); return;
    case Kind::text: a.text = one_of({"", "x", "none", "mean", "sum", "int64", "bool", "complex64", "float64"}); return;
    case Kind::tensor: a.tensor = &tensors_.emplace_back(odd_tensor(*a.tensor)); return;
    case Kind::list:
      if (a.count == 0 || chance(0.15)) {
        a.count = 0;
      } else if (chance(0.15)) {
        --a.count;
      } else {
        make_odd(arguments_.elements[a.first + random_.below(a.count)]);
      }
      return;
    default: return;
  }
}

double MadeArguments::odd_number(double x) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (chance(0.5)) return one_of({0., -1., 1., x + 1, x - 1, -x, 2 * x});
  return one_of({-2.,
                 7.,
                 64.,
                 1000.,
                 65536.,
                 1e6,
                 -1e6,
                 0.5,
                 1e-300,
                 1e300,
                 infinite,
                 -infinite,
                 std::nan(""),
                 2147483647.,
                 2147483648.,
                 -2147483648.,
                 4294967295.,
                 4294967296.,
                 1e12,
                 4611686018427387904.,
                 9007199254740992.,
                 -9007199254740992.});
}

at::Tensor MadeArguments::odd_tensor(const at::Tensor& from) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const at::Tensor tensor = from.detach();
  at::Tensor odd = tensor;
  try {
    const std::int64_t dims = tensor.dim();
    const std::int64_t axis = dims > 0 ? static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(dims))) : 0;
    switch (random_.below(dims > 0 ? 16 : 11)) {
      case 0: odd = tensor.clone().fill_(one_of({std::nan(""), infinite, -infinite})); break;
      case 1:
        odd = tensor.clone();
        if (odd.numel() > 0 && at::isIntegralType(odd.scalar_type(), false)) {
          odd.view({-1}).narrow(0, 0, 1).fill_(one_of({-1., 3., 6., 100., 65536., 1e8, -1e8, 1e12, -9e18}));
          break;
        }
        if (odd.numel() > 0) odd.view({-1}).narrow(0, 0, 1).fill_(one_of({std::nan(""), infinite, -infinite, 1e300}));
        break;
      case 2: odd = tensor.clone().fill_(one_of({0., -1., 1., 127., 1e9, -9e18})); break;
      case 3:
        odd = tensor.to(one_of({at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort,
                                at::kByte, at::kChar, at::kBool, at::kComplexFloat, at::kComplexDouble}));
        break;
      case 4: odd = other_layout(tensor); break;
      case 5: odd = tensor.unsqueeze(0); break;
      case 6: {
        std::vector<std::int64_t> sizes = tensor.sizes().vec();
        sizes.push_back(3);
        odd = tensor.unsqueeze(-1).expand(sizes);
        break;
      }
      case 7: odd = at::empty({0}, tensor.options()); break;
      case 8: odd = at::empty({}, tensor.options()).fill_(1); break;
      case 9: odd = at::empty({}, tensor.options()).fill_(1).expand(tensor.sizes()); break;
      case 10: odd = tensor.reshape({-1}); break;
      case 11: odd = tensor.narrow(axis, 0, 0); break;
      case 12: odd = tensor.narrow(axis, 0, 1).expand(tensor.sizes()); break;
      case 13: odd = tensor.repeat_interleave(2, axis).slice(axis, 0, std::nullopt, 2); break;
      case 14: odd = tensor.transpose(0, -1); break;
      default: odd = tensor.select(axis, 0); break;
    }
  } catch (const std::exception&) {
    return tensor;
  }
  if (gradients_ && (odd.is_floating_point() || odd.is_complex()) && odd.is_leaf()) odd.set_requires_grad(true);
  return odd;
}

std::string MadeArguments::text() const {
  const auto one = [&](const OperatorArgument& a) {
    if (a.kind == Kind::tensor) return tensor_text(*a.tensor);
    if (a.kind != Kind::list) return arguments_.text(a);
    std::string all;
    for (std::uint32_t i = 0; i < a.count; ++i) {
      const OperatorArgument& element = arguments_.elements[a.first + i];
      all += (i > 0 ? ", " : "") +
             (element.kind == Kind::tensor ? tensor_text(*element.tensor) : arguments_.text(element));
    }
    return "{" + all + "}";
  };
  std::string text;
  for (const OperatorArgument& a : arguments_.positional) text += "  " + one(a) + "\n";
  for (const auto& [name, a] : arguments_.named) text += "  " + std::string(name) + " = " + one(a) + "\n";
  return text;
}

OperatorArgument MadeArguments::number(double x) {
  OperatorArgument a;
  a.kind = Kind::number;
  a.number = x;
  return a;
}

OperatorArgument MadeArguments::chosen(std::initializer_list<const char*> texts) {
  OperatorArgument a;
  a.kind = Kind::text;
  a.text = one_of(texts);
  return a;
}

OperatorArgument MadeArguments::make(const Parameter& parameter) {
  if (parameter.optional && chance(0.4)) return {};
  switch (parameter.takes) {
    case Takes::tensor: return tensor(parameter);
    case Takes::integer: return number(integer(parameter.name));
    case Takes::floating: return number(floating());
    case Takes::scalar: return number(chance(0.5) ? floating() : integer(parameter.name));
    case Takes::boolean: {
      OperatorArgument a;
      a.kind = Kind::boolean;
      a.boolean = chance(0.5);
      return a;
    }
    case Takes::text:
      return chosen({"sum",       "mean", "amax",   "amin",   "prod",     "max",      "min",       "add",
                     "multiply",  "none", "floor",  "trunc",  "constant", "reflect",  "replicate", "circular",
                     "valid",     "same", "tanh",   "linear", "ij",       "xy",       "lower",     "upper",
                     "ij,jk->ik", "ii",   "...i,i", "a->",    "reduced",  "complete", "gels",      "gelsy",
                     "fro",       "nuc",  "left",   "right",  "",         "x"});
    case Takes::device: return chosen({"cpu"});
    case Takes::dtype:
      return chosen({"float32", "float32", "float64", "int64", "int32", "uint8", "bool", "float16", "bfloat16",
                     "complex64", "complex128"});
    case Takes::layout: return chosen({"strided", "strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr"});
    case Takes::memory_format: return chosen({"contiguous_format", "channels_last", "preserve_format"});
    case Takes::reduction: return chance(0.8) ? chosen({"none", "mean", "sum"}) : number(integer("reduction"));
    case Takes::generator: return {};
    default: return list(parameter);
  }
}

double MadeArguments::integer(const std::string& name) {
  if (contains(name, {"dim", "axis"}) && chance(0.85)) return one_of({0., 0., 1., 1., -1., -2., 2., 3.});
  if (chance(0.8)) return one_of({0., 1., 1., 2., 2., 3., 4., 5.});
  return one_of({-1., -2., -3., 7., 16., 17., 64., 100., -100., 1000., 65536., 1e6, 2147483647., 2147483648.,
                 -2147483648., 4294967295., 4294967296., 9007199254740992., -9007199254740992.});
}

double MadeArguments::floating() {
  if (chance(0.7)) return one_of({0., 0.5, 1., 2., 0.1, 1e-5, 3.});
  constexpr double infinite = std::numeric_limits<double>::infinity();
  return one_of({-1., -0.5, 1e300, -1e300, 1e-300, infinite, -infinite, std::nan(""), 1e10, 100.});
}

std::vector<std::int64_t> MadeArguments::shape() {
  static const std::vector<std::vector<std::int64_t>> shapes{{},
                                                             {0},
                                                             {1},
                                                             {3},
                                                             {4},
                                                             {16},
                                                             {2, 3},
                                                             {3, 3},
                                                             {4, 4},
                                                             {1, 4},
                                                             {2, 0},
                                                             {0, 3},
                                                             {8, 8},
                                                             {1, 2, 4},
                                                             {2, 3, 4},
                                                             {2, 3, 3},
                                                             {2, 0, 3},
                                                             {1, 2, 4, 4},
                                                             {2, 2, 3, 3},
                                                             {1, 1, 5, 5},
                                                             {0, 2, 4, 4},
                                                             {2, 4, 1, 3},
                                                             {1, 1, 2, 3, 4},
                                                             {1, 2, 3, 3, 3}};
  return shapes[random_.below(shapes.size())];
}

at::Tensor MadeArguments::strided(const std::string& name) {
  const bool indices = contains(name, {"ind", "offset", "target", "length", "bucket", "batch_sizes", "seqlen"});
  std::vector<std::int64_t> sizes = chance(0.65) ? shape_ : shape();
  if (indices && chance(0.4)) sizes = {static_cast<std::int64_t>(random_.below(4))};
  at::ScalarType dtype = dtype_;
  if (indices && chance(0.9)) {
    dtype = chance(0.8) ? at::kLong : at::kInt;
  } else if (contains(name, {"mask"}) && chance(0.6)) {
    dtype = at::kBool;
  } else if (chance(0.15)) {
    dtype = one_of({at::kFloat, at::kLong, at::kBool, at::kInt, at::kByte, at::kDouble});
  }
  const bool turned = sizes.size() >= 2 && chance(0.15);
  if (turned) std::swap(sizes[0], sizes.back());
  at::Tensor tensor = at::empty(sizes, at::TensorOptions(dtype));
  if (at::isIntegralType(dtype, false)) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.numel()));
    const bool wild = chance(0.3), ordered = chance(0.3);
    for (std::int64_t& value : values) {
      value = static_cast<std::int64_t>(random_.below(3));
      if (wild && chance(0.5))
        value = one_of<std::int64_t>({-1, -2, 5, 100, 5000, -5000, 100'000'000, std::int64_t{1} << 40,
                                      std::numeric_limits<std::int64_t>::min()});
    }
    if (ordered) std::sort(values.begin(), values.end());
    tensor.copy_(at::from_blob(values.data(), sizes, at::TensorOptions(at::kLong)));
  } else {
    std::vector<double> values(static_cast<std::size_t>(tensor.numel()));
    const bool wild = chance(0.15);
    for (double& value : values) value = wild && chance(0.3) ? floating() : random_.normal();
    tensor.copy_(at::from_blob(values.data(), sizes, at::TensorOptions(at::kDouble)));
  }
  if (turned) tensor = tensor.transpose(0, -1);
  if (!sizes.empty() && sizes[0] == 1 && chance(0.2)) {
    sizes[0] = 3;
    if (!turned) tensor = tensor.expand(sizes);
  }
  return tensor;
}

at::Tensor MadeArguments::other_layout(const at::Tensor& tensor) {
  try {
    if (tensor.dim() == 2 && chance(0.4)) return tensor.to_sparse_csr();
    if (tensor.dim() == 2 && chance(0.2)) return tensor.to_sparse_csc();
    if (tensor.dim() == 2 && chance(0.2))
      return chance(0.5) ? tensor.to_sparse_bsr({1, 1}) : tensor.to_sparse_bsc({1, 1});
    if (tensor.dim() > 1 && chance(0.2)) return tensor.to_sparse(1);  // of rows
    if (tensor.dim() > 0 && chance(0.8)) return tensor.to_sparse();
    return tensor.conj();
  } catch (const std::exception&) {
    return tensor;
  }
}

OperatorArgument MadeArguments::tensor(const Parameter& parameter) {
  at::Tensor made = strided(parameter.name);
  if (chance(0.06)) made = other_layout(made);
  if (gradients_ && (made.is_floating_point() || made.is_complex()) && made.is_leaf()) made.set_requires_grad(true);
  OperatorArgument a;
  a.kind = Kind::tensor;
  a.tensor = &tensors_.emplace_back(std::move(made));
  return a;
}

OperatorArgument MadeArguments::list(const Parameter& parameter) {
  std::uint64_t length = random_.below(6);
  if (parameter.count > 0 && chance(0.9)) length = static_cast<std::uint64_t>(parameter.count);
  std::vector<OperatorArgument> elements;
  if (parameter.takes == Takes::integers && chance(0.35)) {
    for (const std::int64_t size : shape_) elements.push_back(number(static_cast<double>(size)));
    length = 0;
  }
  for (std::uint64_t i = 0; i < length; ++i) {
    switch (parameter.takes) {
      case Takes::tensors: elements.push_back(tensor(parameter)); break;
      case Takes::optional_tensors: elements.push_back(chance(0.3) ? OperatorArgument() : tensor(parameter)); break;
      case Takes::floats: elements.push_back(number(floating())); break;
      case Takes::scalars: elements.push_back(number(floating())); break;
      case Takes::booleans: {
        OperatorArgument a;
        a.kind = Kind::boolean;
        a.boolean = chance(0.5);
        elements.push_back(a);
        break;
      }
      default: elements.push_back(number(integer(parameter.name)));
    }
  }
  OperatorArgument a;
  a.kind = Kind::list;
  a.first = static_cast<std::uint32_t>(arguments_.elements.size());
  a.count = static_cast<std::uint32_t>(elements.size());
  arguments_.elements.insert(arguments_.elements.end(), elements.begin(), elements.end());
  return a;
}

}  // namespace trainlab::test
