#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include "core/error.h"
#include "model/initial.h"
#include "optim/optimizer.h"
#include "option_lines.h"
#include "train/fix.h"

namespace trainlab {
namespace {

// In the order of FixedOption.
constexpr std::array<std::string_view, 6> option_names{"lr",    "clip.norm",      "accumulate",
                                                       "batch", "data:normalize", "init"};

std::string_view name_of(FixedOption option) { return option_names[static_cast<std::size_t>(option)]; }

// The option `init` with values of the entry in place of its own. In a table of patterns, biases begin at 0, and what
// comes from a file of weights stays.
Value initial_values(const Options& fit, const Value& entry) {
  const Value weights = Value::Map{{"@", entry}};
  if (!fit.is_keyed("init")) return weights;
  const Options table = fit.keyed("init");
  Value all = fit.get("init");
  for (const std::string& pattern : table.names()) {
    if (stored_values(table.child(pattern))) continue;
    all.set(pattern, pattern.find("bias") != std::string::npos ? Value(Value::Map{{"@", "init.zeros"}}) : weights);
  }
  return all;
}

Lines lines_of(const Options& fit, const Fix& fix) {
  switch (fix.option) {
    case FixedOption::lr: return {{option_path_of(fit.get("optim"), "lr"), fix.value}};
    case FixedOption::clip: return {{"clip", Value::Map{{"norm", fix.value}}}};
    case FixedOption::normalize: return {{"data", Value::Map{{"@", "data:normalize"}, {"source", fit.get("data")}}}};
    case FixedOption::init: return {{"init", initial_values(fit, fix.value)}};
    case FixedOption::accumulate:
    case FixedOption::batch: return {{std::string(name_of(fix.option)), fix.value}};
  }
  throw std::logic_error("unknown option");
}

}  // namespace

std::string text_of(const Fix& fix) {
  switch (fix.option) {
    case FixedOption::clip: return "clip = { norm = " + number_text(fix.value.number()) + " }";
    case FixedOption::normalize: return "data:normalize()";
    case FixedOption::init: return "init = " + fix.value.string() + "()";
    default: return std::string(name_of(fix.option)) + " = " + number_text(fix.value.number());
  }
}

Value to_value(const Fix& fix) {
  Value value = Value::Map{
      {"kind", fix.kind}, {"step", fix.step},       {"evidence", fix.evidence}, {"option", name_of(fix.option)},
      {"from", fix.from}, {"seconds", fix.seconds}, {"flops", fix.flops}};
  if (!fix.value.is_nil()) value.set("value", fix.value);
  return value;
}

Fix fix_of_value(const Value& value) {
  try {
    const auto option = std::ranges::find(option_names, value["option"].string());
    if (option == option_names.end()) throw run_error("a fix changes the unknown option " + value["option"].string());
    return {.kind = value["kind"].string(),
            .step = value["step"].integer(),
            .evidence = value["evidence"].string(),
            .option = static_cast<FixedOption>(option - option_names.begin()),
            .value = value["value"],
            .from = value["from"].integer(),
            .seconds = value["seconds"].number(),
            .flops = value["flops"].number()};
  } catch (const std::logic_error&) {  // of Value
    throw run_error("a fix has another form than this engine writes: " + value.brief());
  }
}

Options with_fixes(const Options& fit, const std::vector<Fix>& fixes) {
  Options fixed = fit;
  for (const Fix& fix : fixes) fixed = with_lines(fixed, lines_of(fixed, fix));
  return fixed;
}

}  // namespace trainlab
