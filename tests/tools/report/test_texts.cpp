#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>

#include "class_report.h"
#include "core/error.h"
#include "core/files.h"
#include "report/search.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/manifest.h"

using namespace trainlab;
using namespace trainlab::report;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

fs::path make_run(const fs::path& base, const std::string& name, const std::string& started) {
  const fs::path run = base / "runs" / name;
  fs::create_directories(run);
  Manifest manifest;
  manifest.recipe = "digits.lua";
  manifest.started = started;
  manifest.settings["device"] = "cpu";
  manifest.parameters = {{"lr", 0.003}};
  write_manifest(run, manifest);
  return run;
}

fs::path empty_folder(const std::string& name) {
  const fs::path folder = fs::current_path() / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

const char* const summary_json = R"({"name":"digits","kind":"fit","status":"stopped","reason":"good enough",
  "out":"/x/runs/digits/001","seconds":75.5,"resumed":[12,40],"steps":391,"samples":12345,
  "speed":{"shares":{"training":0.752,"input":0.004,"evaluation":0.05,"checkpoint":0.054,"other":0.14}},
  "memory":{"peak":67108864,"plain":134217728,"budget":70000000,"offloaded":33554432,
    "chosen":["memory.recompute=every 4"],
    "categories":{"activations":41943040,"weights":12582912,"other":1048576,"program":300000000}},
  "best":{"metric":"val.loss","value":0.08123456,"epoch":2,"step":46},
  "metrics":{"val.loss":0.08123456,"test.accuracy":0.97777778,"test.loss":0.1,"train.loss":null,"lr":0.001}})";

}  // namespace

TEST_CASE("a summary in a few lines") {
  CHECK(summary_text(parse_json(summary_json, "summary")) ==
        "digits (fit): stopped: good enough\n"
        "  best   val.loss 0.08123 at epoch 2, step 46\n"
        "  test   accuracy 0.9778  loss 0.1\n"
        "  val    loss 0.08123\n"
        "  train  loss unknown\n"
        "         lr 0.001\n"
        "  took   391 steps, 12345 samples, 1 min 15 s (75 % training, 14 % other work, 5 % checkpoints, 5 % "
        "evaluation)\n"
        "  memory 64 MiB of tensors at most, of 66.76 MiB allowed, besides 32 MiB in a file, mostly activations "
        "40 MiB, weights 12 MiB\n"
        "         with memory.recompute=every 4; without 128 MiB at most (predicted)\n"
        "  resumed from step 12, 40\n"
        "  in     /x/runs/digits/001\n");
  CHECK_THAT(
      summary_text(parse_json(R"({"name":"f","kind":"fit","status":"done","reason":"","health":[
        {"kind":"dead_units","step":8,"confidence":"high","evidence":"97 % are 0","remedy":"biases of 0"}]})",
                              "summary")),
      Contains("  health dead_units (high confidence, after 8 steps): 97 % are 0\n         remedy: biases of 0\n"));
  const auto resumed = [](const std::string& parts) {
    return summary_text(parse_json(
        R"({"name":"s","kind":"sweep","status":"done","reason":"","resumed":[3,8],)" + parts + "}", "summary"));
  };
  CHECK_THAT(resumed(R"("trials":{"complete":9})"), Contains("  resumed after 3, 8 trials\n"));
  CHECK_THAT(resumed(R"("members":[{"value":1}])"), Contains("  resumed after 3, 8 members\n"));
  CHECK(shares_text(parse_json(R"({"shares":{"training":0.1,"input":0.9,"other":0},"transform":0.85})", "speed")) ==
        "85 % data:transform, 10 % training, 5 % waiting for data");
  // The best validation is not that of the weights that were kept.
  CHECK_THAT(summary_text(parse_json(R"({"name":"f","kind":"fit","status":"done","reason":"",
      "best":{"metric":"train.loss","value":0.5,"epoch":2,"step":46},"metrics":{"train.loss":0.75}})",
                                     "summary")),
             Contains("  best   train.loss 0.5 at epoch 2, step 46; the last weights are kept\n"));
  // The summary of a stage that was killed, or of an unknown kind.
  CHECK(summary_text(parse_json(R"({"name":"s","kind":"sweep","status":"failed","reason":"crashed","seconds":null})",
                                "summary")) == "s (sweep): failed: crashed\n");
}

TEST_CASE("the summary of a sweep and of an ensemble") {
  CHECK(summary_text(parse_json(R"({"name":"s","kind":"sweep","status":"done","metric":"val.accuracy","seconds":7,
    "best":{"trial":17,"value":0.98333,"params":{"lr":0.01,"momentum":null,"optim":"SGD"},"seed_values":[0.98333]},
    "trials":{"complete":40,"pruned":0,"failed":3}})",
                                "summary")) ==
        "s (sweep): done\n"
        "  best   val.accuracy 0.9833, trial 17\n"
        "         lr 0.01, optim SGD\n"
        "  trials 40 complete, 3 failed\n"
        "  took   7.0 s\n");
  CHECK(summary_text(parse_json(R"({"name":"e","kind":"ensemble","status":"done",
    "best_member":{"test.accuracy":0.9,"test.loss":0.3},"mean_member":{"test.accuracy":0.8,"test.loss":0.4},
    "ensemble":{"test.accuracy":0.95,"test.loss":0.25}})",
                                "summary")) ==
        "e (ensemble): done\n"
        "  best   test.accuracy 0.9, test.loss 0.3\n"
        "  mean   test.accuracy 0.8, test.loss 0.4\n"
        "  all    test.accuracy 0.95, test.loss 0.25\n");
}

TEST_CASE("the list of runs, oldest first") {
  const fs::path base = empty_folder("listing");
  const std::vector<fs::path> runs = {base / "runs"};
  CHECK_THROWS_WITH(list_text(runs), Contains("there is no folder"));
  fs::create_directories(base / "runs");
  CHECK_THAT(list_text(runs), Contains("no runs"));
  const fs::path second = make_run(base, "digits/002", "2026-03-02T00:00:00Z");
  const fs::path first = make_run(base, "mnist/001", "2026-03-01T00:00:00Z");
  fs::create_directories(base / "runs/mnist/notes");
  write_stages(second, {{"digits", "fit", "."}});
  fs::create_directories(second / "checkpoints");
  for (const char* name : {"checkpoints/last-000000391.json", "checkpoints/last-000000391.safetensors", "model.json"})
    write_atomic(second / name, "{}");
  write_atomic(second / "metrics.jsonl", "{}\n");
  write_atomic(second / "summary.json", summary_json);
  CHECK(list_text(runs) ==
        "run                      status      started               best\n"
        "listing/runs/mnist/001   unfinished  2026-03-01T00:00:00Z\n"
        "listing/runs/digits/002  stopped     2026-03-02T00:00:00Z  val.loss 0.08123\n");
  CHECK(list_text({base}) == list_text(runs));
  CHECK(list_text({base, base / "runs/mnist/"}) == list_text(runs));  // each once
  CHECK_THAT(list_text({second}), Contains("runs/digits/002") && !Contains("mnist"));
  {
    const RunFolder held = RunFolder::open(first);
    CHECK_THAT(list_text(runs), Contains("runs/mnist/001   running"));
  }
  write_atomic(first / "summary.json", "{");
  CHECK_THAT(list_text(runs), Contains("runs/mnist/001   damaged"));
  CHECK(list_value(runs)["runs"].list().size() == 2);
}

TEST_CASE("the report of a run") {
  const fs::path run = make_run(empty_folder("report"), "digits/001", "2026-03-01T00:00:00Z");
  CHECK_THAT(report_text(run), Contains("No stage has begun"));
  CHECK_THROWS_WITH(report_csv(run), Contains("no stage"));
  write_stages(run, {{"digits", "fit", "."}});
  CHECK_THROWS_WITH(report_csv(run), Contains("no metrics.jsonl"));
  write_atomic(
      run / "metrics.jsonl",
      R"({"epoch":1,"lr":0.1,"samples":100,"seconds":0.5,"step":23,"train.loss":2,"val.loss":1})"
      "\n"
      R"({"epoch":2,"lr":0.1,"samples":200,"seconds":1,"step":46,"train.loss":1.5,"val.loss":0.08123456})"
      "\n"
      R"({"epoch":3,"lr":0.05,"my, own":1e-9,"samples":300,"seconds":1.5,"step":69,"train.loss":null,"val.loss":0.5})"
      "\n"
      R"({"epoch":4,"lr")");
  CHECK_THAT(report_text(run), Contains("unfinished: it was killed") && Contains("To continue: trainlab resume"));
  const std::string rows = read_file(run / "metrics.jsonl");
  write_atomic(run / "metrics.jsonl", rows.substr(0, rows.rfind('\n') + 1));
  write_atomic(run / "summary.json", summary_json);
  const std::string text = report_text(run);
  CHECK_THAT(text, Contains("digits.lua, begun 2026-03-01T00:00:00Z") && Contains("--lr 0.003"));
  CHECK_THAT(text, Contains("digits (fit): stopped: good enough"));
  CHECK_THAT(text, Contains("*       2    46"));  // the best row is marked
  CHECK_THAT(text, Contains("█▁▄"));
  CHECK_THAT(text, !Contains("To continue"));
  CHECK(report_csv(run) ==
        "step,epoch,samples,\"my, own\",train.loss,val.loss,lr,seconds\n"
        "23,1,100,,2,1,0.1,0.5\n"
        "46,2,200,,1.5,0.08123456,0.1,1\n"
        "69,3,300,1e-09,,0.5,0.05,1.5\n");
  write_atomic(run / "metrics.jsonl", "{\"step\":1}\n{]\n");
  CHECK_THROWS_WITH(report_csv(run), Contains("metrics.jsonl is damaged: line 2 is not an object in JSON"));
}

TEST_CASE("help of entries") {
  Registry registry;
  const auto add = [&](const char* name, const char* kind) {
    registry.add(
        Entry(name, kind, "Does what it does, and says so in a long line.").with(Option("x", "a number").number()));
  };
  add("nn.Linear", "layer");
  add("optim.SGD", "optimizer");
  add("data.csv", "data");
  add("sched.step", "schedule");
  add("stop.step", "stop");
  CHECK(entry_help(registry, "nn.Linear", 100) == help_text(*registry.find("nn.Linear"), 100));
  CHECK(entry_help(registry, "lab.nn.Linear", 100) == entry_help(registry, "Linear", 100));
  add("data:split", "data");
  const std::string group = entry_help(registry, "lab.data", 100);
  CHECK_THAT(group, Contains("  data.csv    Does what it does") && Contains("  data:split  Does"));
  CHECK_THAT(group, !Contains("nn.Linear"));
  CHECK_THROWS_WITH(entry_help(registry, "nn.Linaer", 100), Contains("did you mean nn.Linear?"));
  CHECK_THROWS_WITH(entry_help(registry, "Liner", 100), Contains("did you mean Linear?"));
  CHECK_THROWS_WITH(entry_help(registry, "step", 100), Contains("sched.step, stop.step"));
  CHECK_THROWS_WITH(entry_help(registry, "zzzzzz", 100), Contains("lists them all"));
  const std::string list = entry_list(registry, 40);
  CHECK_THAT(list, Contains("layer:\n  nn.Linear  Does what it does"));
  CHECK_THAT(list, Contains("…"));
}

TEST_CASE("a word is searched for in names, parts, first lines and texts, the closest first") {
  const std::vector<Topic> topics = {
      {"docs/x.md: Rates and their ends",
       "",
       {{"", "", "First.\nThe warmup\nis short, but not as short as it would be without a curve. Last."}}},
      {"sched.cosine", "A curve.", {{"option", "warmup", "a rise"}}},
      {"sched.warmup", "Rises.", {}},
      {"nn.Warm", "For warmups.", {}},
      {"nn.Cold", "No.", {}},
  };
  CHECK(found_text(topics, "Warmup", 50) ==
        "\"Warmup\" is the name or in the text of these, the closest first:\n"
        "  sched.warmup          Rises.\n"
        "  sched.cosine          option warmup: a rise\n"
        "  nn.Warm               For warmups.\n"
        "  docs/x.md: Rates and their ends\n"
        "                        The warmup is short, but\n"
        "                        not as short as it would …\n"
        "\n`trainlab help NAME` shows one of them; .md files are pages of the documentation.\n");
  CHECK(found_text(topics, "zebra", 50).empty());
  CHECK(found_text(topics, "e", 50).empty());
  const std::vector<Topic> page = {{"docs/y.md: End", "", {{"", "", "\nNothing comes after this.\n"}}}};
  CHECK_THAT(found_text(page, "this .", 80), Contains("  docs/y.md: End        Nothing comes after this.\n"));
}

TEST_CASE("help of operators") {
  const std::string table = "ops.add\tops.add(self, other)\nops.add\tops.add(self, 2)\nops.mul\tops.mul(self, other)\n";
  CHECK_THAT(operator_help(table, "lab.ops.add", 80), Contains("  ops.add(self, other)\n  ops.add(self, 2)\n"));
  CHECK_THAT(operator_help(table, "ops", 80), Contains("  add mul\n"));
  CHECK_THAT(operator_help(table, "ops", 5), Contains("  add\n  mul\n"));
  CHECK_THROWS_WITH(operator_help(table, "ops.ad", 80), Contains("did you mean ops.add?"));
}

TEST_CASE("short numbers") {
  CHECK(short_number(1e-5) == "1e-05");
  CHECK(short_number(123456) == "123456");
  CHECK(short_number(0.123456) == "0.1235");
  CHECK(short_number(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(short_number(-std::numeric_limits<double>::infinity()) == "-inf");
}

TEST_CASE("a report of classes is a table of scores and a matrix") {
  const Value reports = parse_json(R"({"test.report": {"classes": [
    {"class": "cat", "precision": 0.75, "recall": 0.6, "f1": 0.6667, "samples": 5},
    {"class": "dog", "precision": 0.5, "recall": 0.6667, "f1": 0.5714, "samples": 3}],
    "matrix": [[3, 2], [1, 2]]}})",
                                   "test");
  CHECK(class_reports_text(reports) ==
        "\n"
        "test.report\n"
        "  class  precision  recall      f1  samples\n"
        "  cat         0.75     0.6  0.6667        5\n"
        "  dog          0.5  0.6667  0.5714        3\n"
        "\n"
        "test.report, predictions of each label\n"
        "  label  cat  dog\n"
        "  cat      3    2\n"
        "  dog      1    2\n");
  CHECK(class_reports_text(Value()).empty());
}
