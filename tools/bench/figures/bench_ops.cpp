// Measures what a call of an operator from Lua adds to the same call in C++, on small tensors, one thread.
//
// Both loops run in one process in short alternating stretches; the C++ loop calls at::add and so on, the Lua loop
// lab.ops.add or the operator of arithmetic. Prints one JSON object: for each operator the medians in µs for a call in
// C++ and in Lua, and of the difference.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sum.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "bindings/large_stack.h"
#include "bindings/lua_entries.h"
#include "bindings/recipe.h"
#include "core/clock.h"
#include "core/statistics.h"
#include "stdlib/stdlib.h"
#include "tensor/types.h"

using namespace trainlab;

namespace {

constexpr int calls = 500, pairs = 300;

struct Case {
  const char* lua;
  at::Tensor (*native)(const at::Tensor&, const at::Tensor&);
};

const Case cases[] = {
    {"add(a, b)", [](const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); }},
    {"mul(a, 2)", [](const at::Tensor& a, const at::Tensor&) { return at::mul(a, 2); }},
    {"matmul(a, b)", [](const at::Tensor& a, const at::Tensor& b) { return at::matmul(a, b); }},
    {"relu(a)", [](const at::Tensor& a, const at::Tensor&) { return at::relu(a); }},
    {"softmax(a, 1)", [](const at::Tensor& a, const at::Tensor&) { return at::softmax(a, 1); }},
    {"sum(a, 0)", [](const at::Tensor& a, const at::Tensor&) { return at::sum(a, 0); }},
    {"a + b", [](const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); }},
    {"a:relu()", [](const at::Tensor& a, const at::Tensor&) { return at::relu(a); }},
};

std::string recipe_text() {
  std::string text = "local ops = lab.ops\nlocal a, b = lab.tensor.ones(8, 8), lab.tensor.ones(8, 8)\nlocal all = {}\n";
  for (const Case& c : cases) {
    const std::string call = c.lua;
    const bool method = call[1] == ' ' || call[1] == ':';
    const std::string name = call.substr(0, call.find('('));
    text += (method ? "" : "local " + name + " = ops." + name + "\n") + "all[#all + 1] = function() for i = 1, " +
            std::to_string(calls) + " do local c = " + call + " end end\n";
  }
  return text + "return lab.bench { call = function(which) all[which]() end }\n";
}

void run() {
  prepare_arithmetic(1);
  Registry registry;
  register_language(registry);
  register_tensors(registry);
  registry.add(Entry("bench", "stage", "The loops.").with(Option("call", "a loop").function("function(which)")));
  const auto folder = std::filesystem::temp_directory_path() / ("bench_ops-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "bench.lua") << recipe_text();
  Parameters parameters({}, folder, false, {}, [](const std::string&, const Value&) {});
  LuaHost host;
  host.registry = &registry;
  host.stdlib = stdlib_sources();
  host.recipe_folder = folder.string();
  Recipe recipe(std::move(host), {folder / "bench.lua", {folder}, "bench.lua"}, parameters, {});
  const Recipe::Outcome outcome = recipe.execute();
  const auto loop = outcome.stage->function(outcome.stage->value["call"]);

  const at::Tensor a = at::ones({8, 8}), b = at::ones({8, 8});
  std::printf("{");
  std::int64_t which = 0;
  for (const Case& c : cases) {
    const Argument argument[] = {Value(++which)};
    std::vector<double> native, lua, difference;
    for (int pair = 0; pair < pairs; ++pair) {
      const double begin = steady_seconds();
      for (int i = 0; i < calls; ++i) c.native(a, b);
      const double middle = steady_seconds();
      loop->call(argument);
      const double end = steady_seconds();
      native.push_back((middle - begin) / calls * 1e6);
      lua.push_back((end - middle) / calls * 1e6);
      difference.push_back(lua.back() - native.back());
    }
    std::printf("%s\"%s\": {\"native_us\": %.3f, \"lua_us\": %.3f, \"difference_us\": %.3f}", which > 1 ? ", " : "",
                c.lua, upper_median(native), upper_median(lua), upper_median(difference));
  }
  std::printf("}\n");
  std::filesystem::remove_all(folder);
}

}  // namespace

int main() {
  on_large_stack(run);
  return 0;
}
