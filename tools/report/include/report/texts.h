// The texts that `trainlab` prints about runs and entries. All texts end with a line break.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/registry.h"
#include "core/value.h"

namespace trainlab::report {

// A few lines on how a run ended: status and reason, the best validation, the final metrics, steps and time, and the
// folder.
std::string summary_text(const Value& summary);
// A line for each of the warnings in a summary, which are a list or nil.
std::string warnings_text(const Value& warnings);
// The verdicts on the health of a training, or of the trials of a study, two lines each.
std::string health_text(const Value& health);
// The flags of a fit, a line each with the figure behind it, or how many trials of a study have them: the field
// `efficiency` of a summary, or nil.
std::string efficiency_text(const Value& efficiency);
// "91 % training, 6 % evaluation, 2 % checkpoints": what took 1 % of the time or more, the most first; empty where that
// is not known. `speed`: the field of a summary.
std::string shares_text(const Value& speed);
// A line for each of its notes.
std::string speed_notes_text(const Value& speed);
// Why trials of a sweep have failed, and how to look at one of them; empty where none has. A reason that the summary's
// own `reason` has is left out. `folder`: of the sweep.
std::string failure_text(const Value& summary, const std::filesystem::path& folder);

// The value that the search of a confirmed sweep has seen of a trial, with a scheduler also after how long a training:
// "0.95 after 3 validations". `trial`: the field `best` of a summary, or one of the field `confirmed`.
std::string observed_text(const Value& trial);

// The loss of a constant prediction, for the end of a line on the floor: "; a constant prediction has 2.303"; empty
// where it is not known.
std::string constant_text(const Value& summary);

// The runs in these folders, at most three levels below (DIR/runs/NAME/NNN), a line for each, oldest first; and as
// data. Without a folder, the runs in runs/. Raises Error{usage} for a missing folder.
std::string list_text(const std::vector<std::filesystem::path>& folders);
Value list_value(const std::vector<std::filesystem::path>& folders);

// How a run went. `given` is a run's folder, or RUN/stages/NAME for one of its stages; a form that shows one stage only
// takes, for a run, the stage that the recipe returned.
//
// As text: each stage, from what its folder holds.
std::string report_text(const std::filesystem::path& given);
// One stage as CSV. A fit or task: the rows of metrics.jsonl: step, epoch, samples, the metrics in order of name, lr,
// seconds. A sweep or ensemble: a row for each trial. Raises Error{usage} where there is none.
std::string report_csv(const std::filesystem::path& given);
// One stage as data: its summary, or of a fit or task that has not ended the last row of metrics.jsonl; for a sweep or
// ensemble also all data of the page.
Value report_value(const std::filesystem::path& given);
// All stages as a page that needs nothing but a browser.
std::string report_page(const std::filesystem::path& given);
// A profile as such a page: the object of `trainlab profile --json`, with the member `timeline` (Timeline::flame) or
// without.
std::string profile_page(const Value& profile);
// A plan as such a page: the object of `trainlab plan --json` with the member `curve` (plan/plan.h: page_value).
std::string plan_page(const Value& plan);
// A law that was fitted to runs as such a page (plan/fit.h: page_value), with `of`, what was fitted, and `left_out`, a
// line for each run that the law leaves out.
std::string law_page(const Value& law);
// A plan of a recipe as such a page: the object of `trainlab plan RECIPE.lua --json` with `text`, the plan in words.
std::string recipe_plan_page(const Value& plan);
// What `trainlab plan seeds` tells as such a page: the object of its --json with `of`, the recipe or the runs.
std::string seeds_page(const Value& seeds);
// The sizes of `trainlab plan data` or `trainlab plan model` as such a page: the object of their --json.
std::string sizes_page(const Value& sizes);
// What `trainlab find` has found as such a page: the object of its --json.
std::string finder_page(const Value& found);
// A comparison as such a page: the object of `trainlab compare --json` with `text`, which is the comparison in words,
// the names `a` and `b`, and `pairs`: for each the `seed`, and of `a` and `b` the `arrival` in seconds and the `value`.
std::string comparison_page(const Value& comparison);

// The help of one entry (with or without "lab." before its name), or of a group ("nn": a line for each entry in it).
// The one without an error gives nothing where there is none, or where several entries end with the name; the other
// raises Error{usage} with a did-you-mean.
std::optional<std::string> find_entry_help(const Registry& registry, const std::string& name, int width);
std::string entry_help(const Registry& registry, const std::string& name, int width);
// The forms of an operator, from a table of lines "ops.add<tab>ops.add(self, …) → …"; for "ops" the names of all
// operators. Raises Error{usage}.
std::string operator_help(std::string_view table, const std::string& name, int width);
// All entries by kind, a line each.
std::string entry_list(const Registry& registry, int width);

// Shown: relative to the working directory where that is shorter.
std::string shown_path(const std::filesystem::path& path);
// The same as it may stand in a line of a terminal; not for a command that is to be typed.
std::string shown_line(const std::filesystem::path& path);
// Four significant digits, whole numbers in full.
std::string short_number(double x);
// A value as a summary has it: a text as it is, a number as above, "unknown" for nil.
std::string text_of(const Value& value);
// "1.5 s", "3 min 05 s", "2 h 10 min".
std::string duration_text(double seconds);
// The same with three significant digits below 10 s: "0.0123 s", "1.25 s".
std::string fine_duration_text(double seconds);

}  // namespace trainlab::report
