"""Writes image_golden.safetensors: small JPEG and PNG files as Pillow encodes them, the pixels that Pillow decodes and
resizes, and the results of torchvision's functions. The files go into the fuzz targets' corpus too. Needs torch,
torchvision, Pillow and safetensors.

    python image_golden.py
"""

import io
import pathlib

import numpy
import torch
from PIL import Image
from safetensors.torch import save_file
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

height, width = 20, 27
y, x = numpy.mgrid[0:height, 0:width]
noise = numpy.random.default_rng(1).integers(0, 60, (height, width, 3))
smooth = numpy.stack([9 * y, 7 * x, 120 + 60 * numpy.sin(x / 5) * numpy.cos(y / 4)], axis=2)
picture = Image.fromarray(numpy.clip(smooth + noise, 0, 255).astype(numpy.uint8), "RGB")
tensors = {}
corpus = pathlib.Path(__file__).parents[1] / "fuzz" / "corpus"


def planar(image):
    array = numpy.asarray(image)
    return torch.from_numpy(array[None].copy() if array.ndim == 2 else array.transpose(2, 0, 1).copy())


def file(name, image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    tensors[f"file/{name}"] = torch.frombuffer(bytearray(out.getvalue()), dtype=torch.uint8).clone()
    target = corpus / name.split(".")[1].replace("jpg", "jpeg") / name.split(".")[0]
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(b"\1" + out.getvalue())  # the first byte asks for RGB
    tensors[f"rgb/{name}"] = planar(Image.open(io.BytesIO(out.getvalue())).convert("RGB"))


file("420.jpg", picture, "JPEG", quality=90)
file("444.jpg", picture, "JPEG", quality=95, subsampling=0)
file("progressive.jpg", picture, "JPEG", quality=80, progressive=True)
file("grey.jpg", picture.convert("L"), "JPEG", quality=90)
file("rgb.png", picture, "PNG")
file("grey.png", picture.convert("L"), "PNG")
file("palette.png", picture.quantize(37), "PNG")
file("bits.png", picture.convert("1"), "PNG")
alpha = picture.copy()
alpha.putalpha(picture.convert("L"))
file("alpha.png", alpha, "PNG")
out = io.BytesIO()
picture.convert("CMYK").save(out, "JPEG")
tensors["file/cmyk.jpg"] = torch.frombuffer(bytearray(out.getvalue()), dtype=torch.uint8).clone()
tensors["grey/rgb.png"] = planar(picture.convert("L"))

tensors["picture"] = planar(picture)
for h, w in ((20, 27), (7, 9), (41, 30), (1, 1), (20, 13)):
    tensors[f"resize/{h}x{w}"] = planar(picture.resize((w, h), Image.Resampling.BILINEAR))
tensors["resize/box"] = planar(picture.resize((12, 15), Image.Resampling.BILINEAR, box=(3, 2, 20, 18)))
covered = F.center_crop(F.resize(picture, 11, InterpolationMode.BILINEAR), [11, 11])
tensors["cover/11"] = planar(covered)

image = tensors["picture"]
BILINEAR = InterpolationMode.BILINEAR
for degrees in (90, 30, -12.5):
    square = image[:, :, :20].contiguous()
    tensors[f"rotate/{degrees}"] = F.rotate(square, degrees, BILINEAR)
affine = dict(angle=0.0, translate=[0, 0], scale=1.0, interpolation=BILINEAR)
tensors["shear/across"] = F.affine(image, shear=[float(numpy.degrees(numpy.arctan(0.2))), 0.0], center=[0, 0], **affine)
tensors["shear/down"] = F.affine(image, shear=[0.0, float(numpy.degrees(numpy.arctan(0.2)))], center=[0, 0], **affine)
for factor in (0.0, 0.4, 1.0, 1.7):
    tensors[f"brightness/{factor}"] = F.adjust_brightness(image, factor)
    tensors[f"contrast/{factor}"] = F.adjust_contrast(image, factor)
    tensors[f"saturation/{factor}"] = F.adjust_saturation(image, factor)
    tensors[f"sharpness/{factor}"] = F.adjust_sharpness(image, factor)
for turns in (-0.5, -0.1, 0.0, 0.25):
    tensors[f"hue/{turns}"] = F.adjust_hue(image, turns)
tensors["posterize/3"] = F.posterize(image, 3)
tensors["solarize/128"] = F.solarize(image, 128)
tensors["stretch"] = F.autocontrast(image)
tensors["equalize"] = F.equalize(image)

save_file({name: tensor.contiguous() for name, tensor in tensors.items()},
          pathlib.Path(__file__).with_name("image_golden.safetensors"))
