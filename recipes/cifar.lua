-- CIFAR-10 from its JPEG files with a small residual network: padded crop, flip, label smoothing,
-- one cycle of the learning rate, an average of the weights.
--   trainlab recipes/cifar.lua --data cifar10-jpeg.tar                   ten minutes
--   trainlab recipes/cifar.lua --data cifar10-jpeg.tar --time "1 h" --width 32
local nn, augment = lab.nn, lab.augment

local path = lab.param { "data", type = "path", doc = "archive or folder of images: train/CLASS/FILE, test/CLASS/FILE" }
local time = lab.param { "time", "10 min", doc = "budget of time" }
local width = lab.param { "width", 16, doc = "channels of the first layer, an eighth of those of the last", min = 8 }
local lr = lab.param { "lr", 0.2, doc = "peak learning rate", min = 0 }
local batch = lab.param { "batch", 128, doc = "samples per step", min = 1 }

local function conv(channels)
  return nn.Sequential { nn.Conv2d(channels, 3, { padding = 1, bias = false }), nn.BatchNorm2d(), nn.ReLU() }
end

local function down(channels)
  return nn.Sequential { conv(channels), nn.MaxPool2d(2) }
end

return lab.fit {
  name     = "cifar",
  data     = lab.data.images { path = path }
               :split { val = 0.04, seed = 1 }
               :normalize { mean = { 0.4914, 0.4822, 0.4465 }, std = { 0.2470, 0.2435, 0.2616 } }
               :augment { augment.crop { padding = 4, fill = "reflect" }, augment.flip() },
  model    = nn.Sequential {
    conv(width),                                                                     -- 32 × 32
    down(2 * width), nn.Residual { conv(2 * width), conv(2 * width) },               -- 16 × 16
    down(4 * width),                                                                 -- 8 × 8
    down(8 * width), nn.Residual { conv(8 * width), conv(8 * width) },               -- 4 × 4
    nn.MaxPool2d(4), nn.Flatten(), nn.Linear(10),
  },
  loss     = lab.loss.cross_entropy { label_smoothing = 0.1 },
  metrics  = { "accuracy" },
  optim    = lab.optim.SGD { lr = lr, momentum = 0.9, nesterov = true, weight_decay = 5e-4 },
  schedule = lab.sched.one_cycle { rise = 0.2, shape = "linear" },
  ema      = lab.ema { decay = 0.99 },
  batch    = batch,
  time     = time,
}
