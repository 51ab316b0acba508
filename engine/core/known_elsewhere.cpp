#include "known_elsewhere.h"

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
    {"chainedscheduler", "product"},
    {"clip_norm", "clip"},
    {"constantlr", "constant"},
    {"cosineannealinglr", "cosine"},
    {"cosineannealingwarmrestarts", "cosine_restarts"},
    {"criterion", "loss"},
    {"crossentropyloss", "cross_entropy"},
    {"cycliclr", "cyclic"},
    {"dataset", "data"},
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
    {"num_workers", "threads that prepare batches: loader = { threads = N }"},
    {"patience", "write stop = { lab.stop.patience { … } }"},
    {"shuffle", "training data are shuffled anew for each epoch"},
    {"state", "optim.Adam, optim.AdamW and optim.Lion can keep a lean state"},
    {"val_data", "a validation part belongs to the data: data:split { train = 0.8, val = 0.2 }"},
    {"validation_data", "a validation part belongs to the data: data:split { train = 0.8, val = 0.2 }"},
    {"validation_split", "a validation part belongs to the data: data:split { train = 0.8, val = 0.2 }"},
    {"verbose", "the command line has --quiet"},
});

}  // namespace

std::string called_here(std::string_view word, const std::vector<std::string>& names) {
  const std::string wanted = lower(word);
  for (const Word& known : known_words) {
    if (known.elsewhere != wanted) continue;
    if (const auto name = std::ranges::find(names, known.here); name != names.end()) return *name;
  }
  return "";
}

std::string_view said_otherwise(std::string_view option) {
  const auto known = std::ranges::find(known_options, option, &Word::elsewhere);
  return known == known_options.end() ? std::string_view() : known->here;
}

}  // namespace trainlab
