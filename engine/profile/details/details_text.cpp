// Details as text and as data.
#include <fmt/format.h>

#include "core/number_or_nil.h"
#include "core/trace.h"
#include "core/words.h"
#include "profile/details.h"
#include "tensor/free_memory.h"

namespace trainlab {
namespace {

constexpr std::size_t heaviest_rows = 8;

std::string layers_text(const LayerTable& table, DetailView view) {
  if (view == DetailView::operators) return table.text(LayerView::operators);
  if (view == DetailView::layers || table.rows.size() <= heaviest_rows) return table.text(LayerView::layers);
  return table.heaviest(heaviest_rows).text(LayerView::layers) +
         fmt::format("{} of {} rows: --by layer shows all of them, --by operator the operators\n", heaviest_rows,
                     table.rows.size());
}

// "temporaries at most: forward 12 KiB, backward 20 KiB".
std::string temporaries_text(const MemoryLedger& ledger) {
  std::vector<std::string> parts;
  for (const MemoryLedger::Temporaries& one : ledger.temporaries)
    parts.push_back(fmt::format("{} {}", phase_name(one.phase), bytes_text(static_cast<double>(one.bytes))));
  return parts.empty() ? "" : fmt::format("{:<16} temporaries at most: {}\n", "", fmt::join(parts, ", "));
}

std::string peak_text(const RecordedMemory& memory, const std::optional<MemoryPrediction>& predicted) {
  const MemoryLedger& ledger = memory.ledger;
  std::string prediction;
  if (predicted) {
    prediction = fmt::format(" {}{} were predicted, with all buffers of the loader{}, and", predicted->before_amount(),
                             bytes_text(static_cast<double>(predicted->memory.step())),
                             predicted->is_least() ? "" : " and the samples of a fit's health");
  }
  const std::string categories = category_text(ledger, bytes_text);
  return fmt::format("{:<16} a step {} at its peak, in {}{};{} the process holds {}, {} of it for Lua\n", "memory",
                     bytes_text(static_cast<double>(ledger.peak)), phase_name(ledger.phase),
                     ledger.layer.empty() ? "" : " of " + ledger.layer, prediction,
                     bytes_text(static_cast<double>(memory.resident)), bytes_text(static_cast<double>(memory.lua))) +
         (categories.empty() ? "" : fmt::format("{:<16} {}\n", "", categories)) + temporaries_text(ledger);
}

// "45.1 GFLOP/s (12 % used)": a roof, and how much of the roof is used where that is known.
std::string roof_text(double roof, const char* unit, const std::optional<double>& rate) {
  return fmt::format("{} {}{}", figure_text(1e-9 * roof, 3), unit,
                     rate ? fmt::format(" ({:.0f} % used)", 100 * *rate / roof) : "");
}

std::string roofs_text(const Measures& m, const ProfileDetails& details) {
  std::string text;
  if (m.flops_roof) text = roof_text(*m.flops_roof, ("GFLOP/s in " + details.type).c_str(), m.flops);
  const std::string and_then = text.empty() ? "" : ", ";
  if (m.bytes_roof) {
    text += and_then + roof_text(*m.bytes_roof, "GB/s of memory", m.bytes);
  } else {
    text += and_then + "memory does not limit: the tensors of a step fit the L2 caches";
  }
  text = fmt::format("{:<16} with {} {}\n", "roofs", counted(details.threads, "thread"), text);
  const std::string& why = details.machine->not_stored;
  return why.empty() ? text : text + fmt::format("{:<16} not kept for the next profile: {}\n", "", why);
}

std::string utilization_text(const Profile& profile, const ProfileDetails& details) {
  if (profile.steps.steps == 0) return "";
  const Measures m = measures_of(profile, details);
  std::string text;
  if (const std::optional<double> used = flops_utilization(profile, m)) {
    text = fmt::format("{:.1f} % of the machine's FLOP/s, over the whole step", 100 * *used);
  } else {
    text = std::string("unknown: ") + (details.machine ? "the FLOPs of a step are not" : "the machine's peak is not");
  }
  return fmt::format("{:<16} {}\n", "MFU", text);
}

Value roofline_value(const Measures& m, const ProfileDetails& details) {
  Value intensity, attainable;
  if (m.flops && m.bytes && *m.bytes > 0) {
    intensity = *m.flops / *m.bytes;
    if (m.flops_roof && m.bytes_roof)
      attainable = details.machine->attainable(*m.flops / *m.bytes, details.threads, details.type);
  }
  return Value::Map{{"type", details.type},
                    {"threads", details.threads},
                    {"fits_cache", details.fits_cache()},
                    {"flops_roof", number_or_nil(m.flops_roof)},
                    {"bytes_roof", number_or_nil(m.bytes_roof)},
                    {"flops_per_second", number_or_nil(m.flops)},
                    {"bytes_per_second", number_or_nil(m.bytes)},
                    {"flops_per_byte", std::move(intensity)},
                    {"attainable", std::move(attainable)}};
}

Value predicted_value(const MemoryPrediction& prediction) {
  Value predicted = Value::Map{{"peak", prediction.memory.step()}};
  if (prediction.is_least()) predicted.set("estimated_because", prediction.estimated_because);
  return predicted;
}

}  // namespace

std::string details_text(const Profile& profile, const ProfileDetails& details, DetailView view) {
  std::string text;
  if (details.memory) text += peak_text(*details.memory, details.predicted);
  if (details.machine) text += roofs_text(measures_of(profile, details), details);
  text += utilization_text(profile, details);
  if (details.layers) text += "\n" + layers_text(details.layers_with_roofs(), view);
  if (details.pipeline) text += "\n" + details.pipeline->text();
  if (!details.missing.empty()) text += "\n";
  for (const std::string& one : details.missing) text += "not measured: " + one + "\n";
  return text;
}

Value details_value(const Profile& profile, const ProfileDetails& details) {
  Value layers, layer_steps;
  if (details.layers) {
    layer_steps = details.layers_with_roofs().to_value();
    layers = layer_steps["layers"];
    layer_steps.map().erase("layers");
  }
  Value machine, roofline;
  if (details.machine) {
    machine = details.machine->to_value()["machine"];
    roofline = roofline_value(measures_of(profile, details), details);
  }
  return Value::Map{{"mfu", number_or_nil(flops_utilization(profile, measures_of(profile, details)))},
                    {"layers", std::move(layers)},
                    {"layer_steps", std::move(layer_steps)},
                    {"memory", details.memory ? details.memory->to_value() : Value()},
                    {"predicted", details.predicted ? predicted_value(*details.predicted) : Value()},
                    {"pipeline", details.pipeline ? details.pipeline->to_value()["pipeline"] : Value()},
                    {"machine", std::move(machine)},
                    {"roofline", std::move(roofline)},
                    {"missing", Value::List(details.missing.begin(), details.missing.end())}};
}

}  // namespace trainlab
