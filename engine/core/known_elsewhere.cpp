#include "core/known_elsewhere.h"

#include <algorithm>
#include <array>

#include "core/registry.h"
#include "text.h"

namespace trainlab {

namespace {

struct Word {
  std::string_view elsewhere, here;
};

// A word may have several meanings; the first that is among the names counts.
constexpr auto known_words = std::to_array<Word>({
    {"acc", "accuracy"},
    {"accum", "accumulate"},
    {"accumulate_grad_batches", "accumulate"},
    {"accumulation_steps", "accumulate"},
    {"amp", "precision"},
    {"batch_size", "batch"},
    {"bceloss", "bce_with_logits"},
    {"bcewithlogitsloss", "bce_with_logits"},
    {"bf16", "bfloat16"},
    {"bf16-mixed", "bfloat16"},
    {"bs", "batch"},
    {"callbacks", "on"},
    {"categorical", "choice"},
    {"chainedscheduler", "product"},
    {"clip_norm", "clip"},
    {"compute", "precision"},
    {"constantlr", "constant"},
    {"cosineannealinglr", "cosine"},
    {"cosineannealingwarmrestarts", "cosine_restarts"},
    {"criterion", "loss"},
    {"current_epoch", "epoch"},
    {"crossentropyloss", "cross_entropy"},
    {"cycliclr", "cyclic"},
    {"dataset", "data"},
    {"dense", "Linear"},
    {"direction", "goal"},
    {"directions", "goal"},
    {"double", "float64"},
    {"early_stopping", "stop"},
    {"earlystopping", "patience"},
    {"epoch_end", "epoch"},
    {"exponentiallr", "exponential"},
    {"f1_score", "f1"},
    {"fp16", "float16"},
    {"fp16", "precision"},
    {"fp32", "float32"},
    {"fp64", "float64"},
    {"global_step", "step"},
    {"grad_clip", "clip"},
    {"gradient_accumulation_steps", "accumulate"},
    {"gradient_clip_val", "clip"},
    {"half", "float16"},
    {"huberloss", "huber"},
    {"kldivloss", "kl_div"},
    {"l1loss", "l1"},
    {"l2", "weight_decay"},
    {"learning_rate", "lr"},
    {"linearlr", "linear"},
    {"log_metrics", "log"},
    {"log_uniform", "log"},
    {"loguniform", "log"},
    {"loss_fn", "loss"},
    {"lr_scheduler", "schedule"},
    {"max_epochs", "epochs"},
    {"max_grad_norm", "clip"},
    {"max_steps", "steps"},
    {"mixed_precision", "precision"},
    {"mode", "goal"},
    {"mseloss", "mse"},
    {"multisteplr", "multi_step"},
    {"n_epochs", "epochs"},
    {"n_jobs", "workers"},
    {"n_trials", "trials"},
    {"nllloss", "nll"},
    {"num_epochs", "epochs"},
    {"num_steps", "steps"},
    {"num_trials", "trials"},
    {"num_workers", "threads"},
    {"objective", "metric"},
    {"on_epoch_end", "epoch"},
    {"on_fit_end", "finish"},
    {"on_fit_start", "start"},
    {"on_step_end", "step"},
    {"on_train_batch_end", "step"},
    {"on_train_end", "finish"},
    {"on_train_epoch_end", "epoch"},
    {"on_train_start", "start"},
    {"on_validation_end", "validate"},
    {"onecyclelr", "one_cycle"},
    {"optimiser", "optim"},
    {"optimizer", "optim"},
    {"optimizers", "optim"},
    {"polynomiallr", "polynomial"},
    {"precision", "compute"},
    {"randint", "int"},
    {"random_seed", "seed"},
    {"random_state", "seed"},
    {"reducelronplateau", "plateau"},
    {"scheduler", "schedule"},
    {"search_space", "space"},
    {"sequentiallr", "sequence"},
    {"smoothl1loss", "smooth_l1"},
    {"steplr", "step"},
    {"train_data", "data"},
    {"train_end", "finish"},
    {"train_loader", "data"},
    {"val_acc", "val.accuracy"},
    {"val_accuracy", "val.accuracy"},
    {"val_loss", "val.loss"},
    {"wd", "weight_decay"},
    {"weight", "class_weights"},
    {"weight", "pos_weight"},
});

constexpr std::string_view for_devices = "the device is chosen when a recipe is run: trainlab RECIPE --device cuda";

constexpr auto known_options = std::to_array<Word>({
    {"accelerator", for_devices},
    {"device", for_devices},
    {"gpus", for_devices},
    {"learning_rate", "the rate belongs to the optimizer: optim = lab.optim.AdamW { lr = 1e-3 }"},
    {"lr", "the rate belongs to the optimizer: optim = lab.optim.AdamW { lr = 1e-3 }"},
    {"num_workers", "threads that prepare batches: loader = { threads = N }"},
    {"patience", "write stop = { lab.stop.patience { … } }"},
    {"shuffle", "training data are shuffled anew for each epoch"},
    {"state", "optim.Adam, optim.AdamW and optim.Lion can keep a lean state"},
    {"val", "a validation part belongs to the data: data:split { train = 0.8, val = 0.2 }"},
    {"val_data", "a validation part belongs to the data: data:split { train = 0.8, val = 0.2 }"},
    {"val_split", "a validation part belongs to the data: data:split { train = 0.8, val = 0.2 }"},
    {"validation_data", "a validation part belongs to the data: data:split { train = 0.8, val = 0.2 }"},
    {"validation_split", "a validation part belongs to the data: data:split { train = 0.8, val = 0.2 }"},
    {"verbose", "the command line has --quiet"},
});

// Input sizes of layers in PyTorch and Keras.
constexpr auto input_sizes =
    std::to_array<std::string_view>({"in_channels", "in_dim", "in_features", "in_size", "input_channels", "input_dim",
                                     "input_features", "input_shape", "input_size", "num_channels", "num_features"});

constexpr std::string_view for_batches = "a fit makes batches itself: lab.fit { batch = 64, loader = { threads = 2 } }";
constexpr std::string_view for_loops = "the samples come in batches: for batch in data.train:batches(64) do … end";
constexpr std::string_view for_clipping =
    "a fit takes clip = { norm = 1 }; in a loop lab.optimizer(lab.optim.Adam(), model:parameters(), { clip = 1 }) "
    "clips in each step";
constexpr std::string_view for_functions = "functions of tensors are in lab.ops: lab.ops.relu(x)";
constexpr std::string_view for_images =
    "images are changed by methods of the data: data:normalize(), data:augment { … }";
constexpr std::string_view for_layers = "a list of layers is a table of Lua: nn.Sequential { a, b }";
constexpr std::string_view for_more_data = "other data are added to the training part: data:append(other)";
constexpr std::string_view for_trainers = "a training is described and returned: return lab.fit { … }";

constexpr auto known_members = std::to_array<Word>({
    {"Compose", for_images},
    {"ConcatDataset", for_more_data},
    {"DataLoader", for_batches},
    {"Dataset", "data from the memory of a recipe: lab.data.tensors(function() return { x = …, y = … } end)"},
    {"F", for_functions},
    {"ImageFolder", "folders of images are read by lab.data.images"},
    {"Model", for_layers},
    {"ModuleList", for_layers},
    {"TensorDataset", "data from the memory of a recipe: lab.data.tensors(function() return { x = …, y = … } end)"},
    {"Trainer", for_trainers},
    {"clip_grad_norm", for_clipping},
    {"clip_grad_norm_", for_clipping},
    {"clip_grad_value_", for_clipping},
    {"cuda", for_devices},
    {"device", for_devices},
    {"functional", for_functions},
    {"lr_scheduler", "schedules are in lab.sched: lab.fit { schedule = lab.sched.cosine() }"},
    {"manual_seed", "the seed is given when a recipe is run: trainlab RECIPE --seed 1"},
    {"save", "a run keeps its weights itself: trainlab predict RUN uses them, and init.weights begins with them"},
    {"train", for_trainers},
    {"transforms", for_images},
});

struct Member {
  std::string_view object, elsewhere, here;
};

constexpr std::string_view for_models_on_devices =
    "the device is chosen when a recipe is run: trainlab RECIPE --device cuda; lab.build takes device = \"cuda\"";
constexpr std::string_view for_types_of_models =
    "lab.build takes dtype = \"float64\", and compute = \"bfloat16\" or \"float16\"; a fit has precision";
constexpr std::string_view for_layers_of_models =
    "layers are in the recipe's own description; model:named_parameters() gives the weights by name";
constexpr std::string_view for_saving =
    "a fit keeps its weights itself, run:save(name) writes them too; in a task ctx:save(name, model)";
constexpr std::string_view for_states =
    "ctx:batches(part, { save = { model, optimizer } }) keeps the states of both and restores them";
constexpr std::string_view for_rates = "the rate is optimizer.lr, which can be read and set";
constexpr std::string_view for_steps_of_schedules = "write optimizer.lr = rate * schedule:factor(step)";
constexpr std::string_view for_steps = "write optimizer:zero_grad(); loss:backward(); optimizer:step()";
constexpr std::string_view for_batches_on_devices = "batches are on the device of the run";

constexpr auto known_members_of_objects = std::to_array<Member>({
    {"batch", "cpu", for_batches_on_devices},
    {"batch", "cuda", for_batches_on_devices},
    {"batch", "to", for_batches_on_devices},
    {"ctx", "device", for_devices},
    {"ctx", "optimizer", "write local optimizer = lab.optimizer(lab.optim.SGD { lr = 0.1 }, model:parameters())"},
    {"lab.data", "append", for_more_data},
    {"lab.data", "cat", for_more_data},
    {"lab.data", "concat", for_more_data},
    {"lab.data", "concatenate", for_more_data},
    {"lab.data", "join", for_more_data},
    {"lab.data", "merge", for_more_data},
    {"lab.nn", "utils", for_clipping},
    {"model", "apply", "initial weights are options of layers and of lab.fit: init = { … }"},
    {"model", "backward", "the loss has it: loss:backward()"},
    {"model", "bfloat16", for_types_of_models},
    {"model", "children", for_layers_of_models},
    {"model", "clip_grad_norm_", for_clipping},
    {"model", "compile", for_trainers},
    {"model", "cpu", for_models_on_devices},
    {"model", "cuda", for_models_on_devices},
    {"model", "double", for_types_of_models},
    {"model", "fit", for_trainers},
    {"model", "float", for_types_of_models},
    {"model", "half", for_types_of_models},
    {"model", "layers", for_layers_of_models},
    {"model", "load_state_dict", "model:load(tensors) takes what model:tensors() gives"},
    {"model", "modules", for_layers_of_models},
    {"model", "named_modules", for_layers_of_models},
    {"model", "predict", "write model:forward(x); the result of a stage has result:predict(x)"},
    {"model", "requires_grad_", "lab.fit has freeze = { \"1.*\" }; of a tensor: t:requires_grad(false)"},
    {"model", "save", for_saving},
    {"model", "state_dict", "model:tensors() gives the tensors by name, model:load(tensors) takes them"},
    {"model", "summary", "print(model) shows the layers"},
    {"model", "to", for_models_on_devices},
    {"model", "training", "model:train() and model:eval() set it"},
    {"model", "zero_grad", "the optimizer has it: optimizer:zero_grad()"},
    {"optimizer", "apply_gradients", for_steps},
    {"optimizer", "backward", "the loss has it: loss:backward()"},
    {"optimizer", "clip_grad_norm_", for_clipping},
    {"optimizer", "learning_rate", for_rates},
    {"optimizer", "load_state_dict", for_states},
    {"optimizer", "minimize", for_steps},
    {"optimizer", "param_groups", for_rates},
    {"optimizer", "set_lr", for_rates},
    {"optimizer", "state_dict", for_states},
    {"part", "dataset", for_loops},
    {"part", "x", for_loops},
    {"part", "y", for_loops},
    {"run", "lr", "run.optim.lr is the rate, which can be read and set"},
    {"run", "log_dict", "run:log(name, value) logs one value"},
    {"run", "save_checkpoint", for_saving},
    {"run", "trainer", for_trainers},
    {"schedule", "get_last_lr", for_steps_of_schedules},
    {"schedule", "step", for_steps_of_schedules},
    {"tensor", "T", "write t:t() for a matrix, else t:transpose(0, 1)"},
    {"tensor", "append", "write lab.ops.cat({ a, b })"},
    {"tensor", "astype", "write t:to(\"float64\")"},
    {"tensor", "copy", "write t:clone()"},
    {"tensor", "cpu", "write t:to(\"cpu\")"},
    {"tensor", "cuda", "write t:to(\"cuda\")"},
    {"tensor", "data", "write t:detach()"},
    {"tensor", "nelement", "write t:numel()"},
    {"tensor", "numpy", "the numbers as a table of Lua are t:tolist()"},
    {"tensor", "type", "t.dtype is the type; t:to(\"float64\") is the tensor in another one"},
    {"tensor", "zero_grad", "write t.grad = nil, or optimizer:zero_grad()"},
});

// Commands of other programs, and trainlab's for the same.
constexpr auto known_commands = std::to_array<Word>({
    {"eval", "predict"},
    {"evaluate", "predict"},
    {"fit", "run"},
    {"log", "report"},
    {"logs", "report"},
    {"ls", "list"},
    {"optimize", "run"},
    {"runs", "list"},
    {"show", "report"},
    {"start", "run"},
    {"status", "list"},
    {"test", "predict"},
    {"train", "run"},
    {"tune", "run"},
    {"validate", "check"},
});

template <std::size_t N>
std::string_view saying(const std::array<Word, N>& words, std::string_view word) {
  const auto known = std::ranges::find(words, word, &Word::elsewhere);
  return known == words.end() ? std::string_view() : known->here;
}

}  // namespace

std::string called_here(std::string_view word, const std::vector<std::string>& names) {
  const std::string wanted = lower(word);
  for (const Word& known : known_words) {
    if (known.elsewhere != wanted) continue;
    if (const auto name = std::ranges::find(names, known.here); name != names.end()) return *name;
  }
  return "";
}

std::string_view said_otherwise(std::string_view option) { return saying(known_options, option); }

std::string_view said_otherwise_of_layer(std::string_view option) {
  if (std::ranges::find(input_sizes, option) == input_sizes.end()) return said_otherwise(option);
  return "input sizes are never given, they are inferred: leave this option out";
}

std::string_view member_otherwise(std::string_view name) { return saying(known_members, name); }

std::string_view member_otherwise(std::string_view object, std::string_view name) {
  const auto known = std::ranges::find_if(known_members_of_objects, [&](const Member& member) {
    return member.object == object && member.elsewhere == name;
  });
  return known == known_members_of_objects.end() ? std::string_view() : known->here;
}

std::string command_meant(std::string_view word, const std::vector<std::string>& commands) {
  std::vector<std::string> names = commands;
  for (const Word& known : known_commands) names.emplace_back(known.elsewhere);
  std::string close = Registry::closest(word, names);
  const std::string_view here = saying(known_commands, close);
  return here.empty() ? close : std::string(here);
}

}  // namespace trainlab
