"""Writes layers_conv_golden.safetensors: convolutions, pools, sizes and norms of images, by PyTorch 2.11 in float64.

Run from any folder: python3 tests/golden/layers_conv_golden.py. The form is that of model_golden.py.
"""

import torch
from torch import nn
from torch.nn.utils import parametrizations

from model_golden import write_cases


class Separable(nn.Module):
    def __init__(self):
        super().__init__()
        self.depthwise = nn.Conv2d(3, 3, 3, stride=2, padding=1, groups=3, bias=False)
        self.pointwise = nn.Conv2d(3, 5, 1)

    def forward(self, x):
        return self.pointwise(self.depthwise(x))


class SqueezeExcitation(nn.Module):
    def __init__(self, channels, squeezed):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(channels, squeezed), nn.Linear(squeezed, channels)

    def forward(self, x):
        scale = torch.sigmoid(self.fc2(torch.relu(self.fc1(x.mean((2, 3))))))
        return x * scale[:, :, None, None]


class Wrapped(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


CASES = {
    "conv1d": (nn.Conv1d(3, 4, 3, stride=2, padding=1), [2, 3, 9]),
    "conv1d_same": (nn.Conv1d(2, 4, 4, padding="same", dilation=3, groups=2), [2, 2, 12]),
    "conv2d_reflect": (nn.Conv2d(2, 3, 3, padding=(2, 1), padding_mode="reflect"), [2, 2, 5, 4]),
    "conv2d_circular": (nn.Conv2d(2, 3, (3, 2), padding="same", padding_mode="circular"), [2, 2, 5, 4]),
    "conv2d_replicate": (nn.Conv2d(2, 3, 3, padding=1, stride=2, padding_mode="replicate"), [2, 2, 5, 4]),
    "conv3d": (nn.Conv3d(2, 3, (2, 3, 2), padding=(0, 1, 1)), [2, 2, 4, 3, 3]),
    "conv_transpose1d": (nn.ConvTranspose1d(3, 2, 4, stride=2, padding=1), [2, 3, 5]),
    "conv_transpose2d": (
        nn.ConvTranspose2d(
            4, 6, 3, stride=(2, 1), padding=1, output_padding=(1, 0), groups=2, dilation=(1, 2), bias=False
        ),
        [2, 4, 3, 5],
    ),
    "conv_transpose3d": (nn.ConvTranspose3d(2, 3, 2, stride=2), [2, 2, 2, 3, 2]),
    "separable_conv2d": (Separable(), [2, 3, 6, 5]),
    "max_pool1d": (nn.MaxPool1d(3, stride=2, padding=1), [2, 3, 8]),
    "max_pool3d": (nn.MaxPool3d(2, ceil_mode=True), [2, 2, 4, 3, 5]),
    "avg_pool1d": (nn.AvgPool1d(2), [2, 3, 7]),
    "avg_pool3d": (nn.AvgPool3d(2, stride=1, padding=1, count_include_pad=False), [2, 2, 3, 4, 3]),
    "adaptive_avg_pool1d": (nn.AdaptiveAvgPool1d(3), [2, 3, 7]),
    "adaptive_avg_pool3d": (nn.AdaptiveAvgPool3d((1, 2, 3)), [2, 2, 3, 4, 5]),
    "batch_norm3d": (nn.BatchNorm3d(3), [4, 3, 2, 2, 2]),
    "group_norm": (nn.GroupNorm(2, 4), [3, 4, 3, 2]),
    "group_norm_plain": (nn.GroupNorm(3, 6, eps=1e-2, affine=False), [3, 6, 4]),
    "instance_norm1d": (nn.InstanceNorm1d(3), [2, 3, 5]),
    "instance_norm2d": (nn.InstanceNorm2d(3, affine=True), [2, 3, 4, 3]),
    "instance_norm3d": (nn.InstanceNorm3d(2, eps=1e-3), [2, 2, 2, 3, 2]),
    "upsample_nearest": (nn.Upsample(scale_factor=2), [2, 3, 3, 2]),
    "upsample_linear1d": (nn.Upsample(size=7, mode="linear"), [2, 3, 4]),
    "upsample_bilinear": (nn.Upsample(size=(5, 7), mode="bilinear", align_corners=True), [2, 2, 3, 4]),
    "upsample_nearest1d": (nn.Upsample(scale_factor=3), [2, 2, 4]),
    "zero_pad1d": (nn.ZeroPad1d((1, 2)), [2, 2, 4]),
    "zero_pad2d": (nn.ZeroPad2d(1), [2, 2, 3, 4]),
    "reflection_pad1d": (nn.ReflectionPad1d((2, 1)), [2, 2, 4]),
    "reflection_pad2d": (nn.ReflectionPad2d((1, 2, 0, 1)), [2, 2, 3, 4]),
    "pixel_shuffle": (nn.PixelShuffle(2), [2, 8, 2, 3]),
    "weight_norm": (Wrapped(parametrizations.weight_norm(nn.Linear(4, 3))), [3, 4]),
    "weight_norm_conv": (Wrapped(parametrizations.weight_norm(nn.Conv2d(2, 3, 2, bias=False))), [2, 2, 3, 4]),
    "spectral_norm": (Wrapped(parametrizations.spectral_norm(nn.Linear(4, 3))), [3, 4]),
    "spectral_norm_conv": (
        Wrapped(parametrizations.spectral_norm(nn.Conv1d(2, 3, 2), n_power_iterations=3)),
        [2, 2, 5],
    ),
    "squeeze_excitation": (SqueezeExcitation(8, 2), [2, 8, 3, 4]),
}

if __name__ == "__main__":
    write_cases(__file__, CASES)
