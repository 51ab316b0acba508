#include "core/known_elsewhere.h"

#include <algorithm>
#include <array>

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
    {"crossentropyloss", "cross_entropy"},
    {"cycliclr", "cyclic"},
    {"dataset", "data"},
    {"dense", "Linear"},
    {"direction", "goal"},
    {"directions", "goal"},
    {"early_stopping", "stop"},
    {"earlystopping", "patience"},
    {"epoch_end", "epoch"},
    {"exponentiallr", "exponential"},
    {"f1_score", "f1"},
    {"fp16", "precision"},
    {"grad_clip", "clip"},
    {"gradient_accumulation_steps", "accumulate"},
    {"gradient_clip_val", "clip"},
    {"huberloss", "huber"},
    {"kldivloss", "kl_div"},
    {"l1loss", "l1"},
    {"l2", "weight_decay"},
    {"learning_rate", "lr"},
    {"linearlr", "linear"},
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

constexpr auto known_options = std::to_array<Word>({
    {"accelerator", "the device is chosen when a recipe is run: trainlab RECIPE --device cuda"},
    {"device", "the device is chosen when a recipe is run: trainlab RECIPE --device cuda"},
    {"gpus", "the device is chosen when a recipe is run: trainlab RECIPE --device cuda"},
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

constexpr std::string_view for_batches = "a fit makes batches itself: lab.fit { batch = 64, loader = { threads = 2 } }";
constexpr std::string_view for_devices = "the device is chosen when a recipe is run: trainlab RECIPE --device cuda";
constexpr std::string_view for_functions = "functions of tensors are in lab.ops: lab.ops.relu(x)";
constexpr std::string_view for_images =
    "images are changed by methods of the data: data:normalize(), data:augment { … }";
constexpr std::string_view for_layers = "a list of layers is a table of Lua: nn.Sequential { a, b }";
constexpr std::string_view for_trainers = "a training is described and returned: return lab.fit { … }";

constexpr auto known_members = std::to_array<Word>({
    {"Compose", for_images},
    {"DataLoader", for_batches},
    {"Dataset", "data from the memory of a recipe: lab.data.tensors(function() return { x = …, y = … } end)"},
    {"F", for_functions},
    {"ImageFolder", "folders of images are read by lab.data.images"},
    {"Model", for_layers},
    {"ModuleList", for_layers},
    {"TensorDataset", "data from the memory of a recipe: lab.data.tensors(function() return { x = …, y = … } end)"},
    {"Trainer", for_trainers},
    {"cuda", for_devices},
    {"device", for_devices},
    {"functional", for_functions},
    {"lr_scheduler", "schedules are in lab.sched: lab.fit { schedule = lab.sched.cosine() }"},
    {"manual_seed", "the seed is given when a recipe is run: trainlab RECIPE --seed 1"},
    {"save", "a run keeps its weights itself: trainlab predict RUN uses them, and init.weights begins with them"},
    {"train", for_trainers},
    {"transforms", for_images},
});

constexpr auto known_methods = std::to_array<Word>({
    {"T", "write t:t() for a matrix, else t:transpose(0, 1)"},
    {"astype", "write t:to(\"float64\")"},
    {"cpu", "write t:to(\"cpu\")"},
    {"cuda", "write t:to(\"cuda\")"},
    {"data", "write t:detach()"},
    {"numpy", "the numbers as a table of Lua are t:tolist()"},
    {"type", "t.dtype is the type; t:to(\"float64\") is the tensor in another one"},
    {"zero_grad", "write t.grad = nil, or optimizer:zero_grad()"},
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

std::string_view member_otherwise(std::string_view name) { return saying(known_members, name); }

std::string_view method_otherwise(std::string_view name) { return saying(known_methods, name); }

}  // namespace trainlab
