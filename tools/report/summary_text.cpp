#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "core/words.h"
#include "report/texts.h"
#include "run/shell_word.h"

namespace trainlab::report {

std::string text_of(const Value& value) {
  if (value.is_string()) return value.string();
  if (value.is_number()) return short_number(value.number());
  return value.is_nil() ? "unknown" : to_json(value);
}

std::string observed_text(const Value& trial) {
  const Value& validations = trial["validations"];
  return text_of(trial["observed"]) +
         (validations.is_integer() ? " after " + counted(validations.integer(), "validation") : "");
}

namespace {

// `metric`: the metric of a sweep, whose best is a trial.
std::string best_text(const Value& best, const Value& metric) {
  std::string text = "  best   ";
  if (best["metric"].is_string()) text += best["metric"].string() + " ";
  if (metric.is_string()) text += metric.string() + " ";
  text += text_of(best["value"]);
  if (best["observed"].is_number()) text += " on fresh seeds";
  if (best["trial"].is_number()) text += ", trial " + text_of(best["trial"]);
  if (best["observed"].is_number()) text += "; the search has seen " + observed_text(best);
  if (best["epoch"].is_number()) text += " at epoch " + text_of(best["epoch"]);
  if (best["step"].is_number()) text += ", step " + text_of(best["step"]);
  return text;
}

// Whether a fit's metrics, which are those of the weights that were kept, are not those of its best validation.
bool keeps_last(const Value& summary) {
  const Value &best = summary["best"], &metrics = summary["metrics"];
  if (!best["metric"].is_string() || !metrics.is_map()) return false;
  const Value& kept = metrics[best["metric"].string()];
  return kept.is_number() && best["value"].is_number() && kept.number() != best["value"].number();
}

// "a 1, b 2" of members that are there.
std::string members_text(const Value::Map& map) {
  std::string text;
  for (const auto& [name, value] : map) {
    if (!value.is_nil()) text += (text.empty() ? "" : ", ") + name + " " + text_of(value);
  }
  return text;
}

// "40 complete, 3 failed": of counts that are not 0.
std::string counts_text(const Value::Map& counts) {
  std::string text;
  for (const auto& [name, count] : counts) {
    if (!(count == Value(0))) text += (text.empty() ? "" : ", ") + text_of(count) + " " + name;
  }
  return text;
}

// The Pareto front of a sweep with several metrics.
std::string front_text(const Value& summary) {
  constexpr std::size_t most = 5;
  if (!summary["pareto"].is_list()) return "";
  const Value::List& front = summary["pareto"].list();
  std::string text;
  for (std::size_t i = 0; i < std::min(front.size(), most); ++i) {
    std::string line;
    const Value::List& values = front[i]["values"].list();
    for (std::size_t k = 0; k < values.size(); ++k)
      line += text_of(summary["metric"].list().at(k)) + " " + text_of(values[k]) + ", ";
    text += (i == 0 ? "  front  " : "         ") + line + "trial " + text_of(front[i]["trial"]) + "\n";
  }
  if (front.size() > most) text += "         and " + std::to_string(front.size() - most) + " more\n";
  return text;
}

// The findings of a search: "batch 128, lr 0.0012".
std::string found_text(const Value& summary) {
  std::string text;
  for (const std::string name : {"lr", "batch", "optimizer"}) {
    const Value& found = summary[name];
    if (!found.is_map()) continue;
    text += "  found  " + name + " " + text_of(found["suggestion"]);
    if (found["lr"].is_number()) text += ", lr " + text_of(found["lr"]);
    text += "\n";
  }
  return text;
}

// For a sweep the parameters of its best trial and how the trials ended, for an ensemble its metrics.
std::string trials_text(const Value& summary) {
  std::string text;
  const auto add = [&](const char* label, const Value& value, std::string (*words)(const Value::Map&)) {
    if (value.is_map() && !value.map().empty()) text += std::string("  ") + label + words(value.map()) + "\n";
  };
  add("       ", summary["best"]["params"], members_text);
  add("trials ", summary["trials"], counts_text);
  add("best   ", summary["best_member"], members_text);
  add("mean   ", summary["mean_member"], members_text);
  add("all    ", summary["ensemble"], members_text);
  return text;
}

// test.accuracy and test.loss share a line that begins with "test".
std::string metrics_text(const Value::Map& metrics) {
  std::map<std::string, std::string> lines;
  for (const auto& [name, value] : metrics) {
    const std::size_t dot = name.find('.');
    const std::string group = dot == std::string::npos ? "" : name.substr(0, dot);
    lines[group] += (dot == std::string::npos ? name : name.substr(dot + 1)) + " " + text_of(value) + "  ";
  }
  std::string text;
  const auto add = [&](const std::string& group, std::string line) {
    line.resize(line.size() - 2);
    std::string label = group;
    label.resize(std::max<std::size_t>(label.size() + 1, 7), ' ');
    text += "  " + label + line + "\n";
  };
  // The most important metrics come first.
  for (const char* group : {"test", "val", "train"}) {
    if (auto line = lines.extract(group)) add(group, line.mapped());
  }
  for (const auto& [group, line] : lines) add(group, line);
  return text;
}

// The changes of health.action = "fix", two lines each.
std::string fixes_text(const Value& fixes) {
  std::string text;
  if (!fixes.is_list()) return text;
  for (const Value& fix : fixes.list()) {
    text += "  fixed  " + text_of(fix["option"]) + (fix["value"].is_nil() ? "" : " = " + text_of(fix["value"])) +
            " because of " + text_of(fix["kind"]) + " at step " + text_of(fix["step"]) + ", " +
            (fix["from"] == Value(0) ? "from the beginning" : "from step " + text_of(fix["from"]) + " on") +
            "\n         " + text_of(fix["evidence"]) + "\n";
  }
  return text;
}

// The loss that wrong labels leave to the best of models.
std::string floor_text(const Value& summary) {
  const Value& floor = summary["floor"];
  if (!floor["loss"].is_number()) return "";
  constexpr double percent = 100;
  return "  floor  a loss of " + short_number(floor["loss"].number()) + " if a wrong label may be any class (" +
         short_number(floor["low"].number()) + " if a class is taken for one other alone, to " +
         short_number(floor["high"].number()) + "), because about " +
         short_number(percent * floor["wrong_labels"].number()) + " % of the labels are wrong, as those of " +
         text_of(floor["groups"]) + " groups of equal samples show" + constant_text(summary) + "\n";
}

std::string bytes_text(const Value& bytes) { return short_number(bytes.number() / 0x1p20) + " MiB"; }

// "  memory 61.2 MiB of tensors at most, of 70 MiB allowed; a step 58 MiB, mostly activations 40 MiB, weights 12 MiB",
// with the two kinds of which a step holds most, and on a second line what saves memory. The first figure and the
// allowed one are of the whole training, its validations included.
std::string memory_text(const Value& memory) {
  if (!memory["peak"].is_number() || memory["peak"].number() == 0) return "";
  std::string text = "  memory " + bytes_text(memory["peak"]) + " of tensors at most";
  if (memory["budget"].is_number()) text += ", of " + bytes_text(memory["budget"]) + " allowed";
  if (const Value& offloaded = memory["offloaded"]; offloaded.is_number() && offloaded.number() > 0)
    text += ", besides " + bytes_text(offloaded) + " in a file";
  std::vector<std::pair<double, std::string>> kinds;
  if (memory["categories"].is_map()) {
    for (const auto& [name, bytes] : memory["categories"].map())
      if (name != "program" && bytes.is_number() && bytes.number() > 0) kinds.emplace_back(bytes.number(), name);
  }
  std::ranges::stable_sort(kinds, std::greater(), [](const auto& one) { return one.first; });
  if (memory["step"].is_number()) text += "; a step " + bytes_text(memory["step"]);
  constexpr std::size_t most = 2;
  for (std::size_t i = 0; i < std::min(kinds.size(), most); ++i)
    text += (i == 0 ? ", mostly " : ", ") + kinds[i].second + " " + bytes_text(kinds[i].first);
  std::string chosen;
  if (memory["chosen"].is_list()) {
    chosen = joined(memory["chosen"].list(), ", ", text_of);
  }
  if (!chosen.empty()) text += "\n         with " + chosen;
  // Where nothing saves memory, this training is the plain one.
  if (!chosen.empty() && memory["plain"].is_number() && memory["plain"] != memory["peak"])
    text += "; without " + bytes_text(memory["plain"]) + " at most (predicted)";
  return text + "\n";
}

// The finished runs from which a forecast comes; empty where it comes from the curve itself.
std::string references_text(const Value& forecast) {
  const Value& references = forecast["references"];
  if (!references.is_integer() || references.integer() == 0) return "";
  return ", from " + (references.integer() == 1 ? "a finished run" : text_of(references) + " finished runs") +
         (forecast["of_other_data"] == Value(true) ? " on other data" : "");
}

// Tells where a training that has ended early would have gone.
std::string forecast_text(const Value& summary) {
  const Value& forecast = summary["forecast"];
  if (!forecast.is_map() || forecast["at"] == summary["steps"]) return "";
  return "  would  reach " + text_of(forecast["metric"]) + " " + text_of(forecast["value"]) + " (" +
         text_of(forecast["low"]) + " to " + text_of(forecast["high"]) + ")" +
         (forecast["rate_falls"] == Value(true) ? ", or better," : "") + " by " +
         (forecast["at_is_estimate"] == Value(true) ? "about " : "") + "step " + text_of(forecast["at"]) +
         references_text(forecast) + "\n";
}

// "  served promoted: val.accuracy 0.968, and 0.964 of runs/daily/004 on the same data"
std::string promotion_text(const Value& promotion) {
  if (!promotion.is_map()) return "";
  std::string text = promotion["promoted"] == Value(true) ? "  served promoted: " : "  served not promoted: ";
  return text + text_of(promotion["reason"]) + "\n";
}

// "  types  products in float16, weights in float32; 3 steps left out, the loss times 8192": of a fit in several types.
std::string precision_text(const Value& precision) {
  const bool is_one = precision["compute"] == precision["weights"] && precision["compute"] != Value("bfloat16");
  if (!precision.is_map() || is_one) return "";
  std::string text =
      "  types  products in " + text_of(precision["compute"]) + ", weights in " + text_of(precision["weights"]);
  if (precision["compute"] == Value("float16")) {
    text +=
        "; " + text_of(precision["skipped_steps"]) + " steps left out, the loss times " + text_of(precision["scale"]);
  }
  return text + "\n";
}

std::string budget_text(const Value& budget) {
  std::string text = "  used   " + duration_text(budget["used"].number());
  if (budget["seconds"].is_number()) {
    text += " of a budget of " + duration_text(budget["seconds"].number()) + ", with a reserve of " +
            duration_text(budget["reserve"].number());
  }
  if (const Value& flops = budget["flops"]; flops.is_map()) {
    text += ", " + short_number(flops["used"].number()) + " of " + short_number(flops["limit"].number()) + " FLOPs";
  }
  if (const Value& money = budget["money"]; money.is_map()) {
    text += ", " + short_number(money["used"].number()) + " of " + short_number(money["limit"].number()) + " " +
            text_of(money["currency"]) + " at the price of " + text_of(money["as_of"]);
  }
  return text + "\n";
}

}  // namespace

std::string duration_text(double seconds) {
  std::array<char, 64> text{};
  if (seconds < 60) {
    std::snprintf(text.data(), text.size(), "%.1f s", seconds);
  } else if (seconds < 3600) {
    std::snprintf(text.data(), text.size(), "%d min %02d s", static_cast<int>(seconds) / 60,
                  static_cast<int>(seconds) % 60);
  } else if (seconds < 3.6e9) {
    std::snprintf(text.data(), text.size(), "%d h %02d min", static_cast<int>(seconds / 3600),
                  static_cast<int>(seconds / 60) % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%.3g h", seconds / 3600);
  }
  return text.data();
}

std::string constant_text(const Value& summary) {
  const Value& loss = summary["constant_loss"];
  return loss.is_number() ? "; a constant prediction has " + short_number(loss.number()) : "";
}

std::string fine_duration_text(double seconds) {
  constexpr double coarse = 10;  // from these seconds on, a tenth of a second is precise enough
  if (seconds >= coarse) return duration_text(seconds);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g s", seconds);
  return text.data();
}

std::string warnings_text(const Value& warnings) {
  std::string text;
  if (!warnings.is_list()) return text;
  for (const Value& warning : warnings.list()) text += "  warning: " + text_of(warning) + "\n";
  return text;
}

std::string failure_text(const Value& summary, const std::filesystem::path& folder) {
  const Value& told = summary["failures"];
  if (!told.is_map()) return "";
  const std::string reason = text_of(told["reason"]);
  const bool is_told = summary["reason"].is_string() && summary["reason"].string().find(reason) != std::string::npos;
  std::string text = "  failed " + text_of(told["count"]) + " of " + text_of(told["ended"]) + " trials";
  if (!is_told) {
    const bool are_all = told["alike"] == told["count"];
    if (told["count"] != Value(1)) text += ", " + (are_all ? "all" : text_of(told["alike"])) + " of them";
    text += " with: " + reason;
  }
  const std::string look = told["folder"].is_string() ? shell_word(shown_path(folder / told["folder"].string()))
                                                      : shell_word(shown_path(folder)) + " --csv has its parameters";
  return text + "\n         such as trial " + text_of(told["trial"]) + ": trainlab report " + look + "\n";
}

std::string summary_text(const Value& summary) {
  std::string text = text_of(summary["name"]) + " (" + text_of(summary["kind"]) + "): " + text_of(summary["status"]);
  if (summary["reason"].is_string() && !summary["reason"].string().empty()) text += ": " + summary["reason"].string();
  text += "\n";
  if (summary["best"].is_map()) {
    text += best_text(summary["best"], summary["metric"]) + (keeps_last(summary) ? "; the last weights are kept" : "") +
            "\n";
  }
  text += front_text(summary);
  text += trials_text(summary) + failure_text(summary, text_of(summary["out"])) + found_text(summary);
  if (summary["metrics"].is_map()) text += metrics_text(summary["metrics"].map());

  text += promotion_text(summary["promotion"]);
  text += warnings_text(summary["warnings"]);
  text += fixes_text(summary["fixes"]) + health_text(summary["health"]) + floor_text(summary);
  text += efficiency_text(summary["efficiency"]);
  text += forecast_text(summary);

  std::string work;
  if (summary["steps"].is_number()) work += text_of(summary["steps"]) + " steps, ";
  if (summary["samples"].is_number()) work += text_of(summary["samples"]) + " samples, ";
  if (summary["seconds"].is_number()) work += duration_text(summary["seconds"].number()) + ", ";
  if (!work.empty()) {
    const std::string shares = shares_text(summary["speed"]);
    const char* const of = summary["trials"].is_map() || summary["members"].is_list() ? "the trainings: " : "";
    text += "  took   " + work.substr(0, work.size() - 2) + (shares.empty() ? "" : " (" + (of + shares) + ")") + "\n";
  }
  text += speed_notes_text(summary["speed"]);
  text += memory_text(summary["memory"]);
  if (const Value& budget = summary["budget"]; budget.is_map()) {
    text += budget_text(budget);
  }
  text += precision_text(summary["precision"]);
  if (summary["resumed"].is_list() && !summary["resumed"].list().empty()) {
    const std::string counts = joined(summary["resumed"].list(), ", ", text_of);
    text += summary["members"].is_list() ? "  resumed after " + counts + " members\n"
            : summary["trials"].is_map() ? "  resumed after " + counts + " trials\n"
                                         : "  resumed from step " + counts + "\n";
  }
  if (summary["out"].is_string()) text += "  in     " + shown_line(summary["out"].string()) + "\n";
  return text;
}

}  // namespace trainlab::report
