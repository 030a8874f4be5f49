"""Tensors as raw bytes with a description of each; what arrives is believed in nothing.

Raw bytes and not safetensors: that format has neither strides nor devices nor complex128, so a header of
our own is needed beside it anyway, and one parser for what a stranger sends is better than two.
"""

from math import prod

import torch
from torch import Tensor

from grader.isolation.wire import WireError
from grader.judge.local import LARGEST_RESULT

_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.complex128,
        torch.complex64,
        torch.complex32,
        torch.float8_e4m3fn,
        torch.float8_e4m3fnuz,
        torch.float8_e5m2,
        torch.float8_e5m2fnuz,
        torch.float8_e8m0fnu,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint64,
        torch.uint32,
        torch.uint16,
        torch.uint8,
        torch.bool,
    )
}
_ALIGNMENT = 16  # the largest item
MOST_TENSORS = 1024
_MOST_DIMENSIONS = 64  # torch's own limit


class Packer:
    """Collects tensors for one frame."""

    def __init__(self):
        self.descriptions: list[dict] = []
        self._pieces: list[bytes] = []

    def add(self, tensor: Tensor) -> int:
        """Take up a tensor, with its layout; the number that it gets. ValueError if it cannot travel."""
        name = str(tensor.dtype).removeprefix("torch.")
        if name not in _DTYPES or tensor.layout != torch.strided or tensor.numel() > LARGEST_RESULT:
            raise ValueError(f"{tensor.layout} {tensor.dtype} {tuple(tensor.shape)}")
        tensor = tensor.detach().resolve_conj().resolve_neg()
        description = {"dtype": name, "shape": list(tensor.shape)}
        if tensor.device.type == "meta":
            description["meta"] = True  # no numbers behind it
        else:
            tensor = tensor.cpu()
            if tensor.is_contiguous():
                flat = tensor.reshape(-1)
            else:  # the whole storage, so that it arrives with the same strides
                flat = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
                description |= {"strides": list(tensor.stride()), "offset": tensor.storage_offset()}
            data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
            description["bytes"] = len(data)
            self._pieces.append(data.ljust(-len(data) % _ALIGNMENT + len(data), b"\0"))
        self.descriptions.append(description)
        return len(self.descriptions) - 1

    def body(self) -> bytes:
        """The bytes of all tensors."""
        return b"".join(self._pieces)


def unpack(descriptions: object, body: bytearray) -> list[Tensor]:
    """The tensors of a frame. WireError unless every description is sound and the body is used up."""
    if type(descriptions) is not list or len(descriptions) > MOST_TENSORS:
        raise WireError("not a list of tensors, or too many")
    tensors, start = [], 0
    for description in descriptions:
        tensor, size = _unpack(description, body, start)
        tensors.append(tensor)
        start += -size % _ALIGNMENT + size
    if start != len(body):
        raise WireError("more bytes than tensors")
    return tensors


def _unpack(description: object, body: bytearray, start: int) -> tuple[Tensor, int]:
    if type(description) is not dict:
        raise WireError("not the description of a tensor")
    name, shape = description.get("dtype"), whole_numbers(description.get("shape"))
    if type(name) is not str or name not in _DTYPES:
        raise WireError("an unknown dtype")
    # each size by itself too: torch multiplies them before it looks whether one is 0
    if prod(size or 1 for size in shape) > LARGEST_RESULT:
        raise WireError("a tensor that is too large")
    dtype = _DTYPES[name]
    if description.get("meta") is True:
        return torch.empty(shape, dtype=dtype, device="meta"), 0
    size = description.get("bytes")
    if type(size) is not int or not 0 <= size <= len(body) - start or size % dtype.itemsize:
        raise WireError("a tensor beyond the end of its frame")
    count = size // dtype.itemsize
    flat = _numbers(body, dtype, count, start)
    if "strides" not in description:
        if count != prod(shape):
            raise WireError("a shape that does not fit its bytes")
        return flat.view(shape), size
    strides, offset = whole_numbers(description["strides"]), description.get("offset")
    if len(strides) != len(shape) or type(offset) is not int or offset < 0:
        raise WireError("unsound strides")
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if prod(shape) and last >= count:
        raise WireError("strides beyond the end of the storage")
    return flat.as_strided(shape, strides, offset if prod(shape) else 0), size


def _numbers(body: bytearray, dtype: torch.dtype, count: int, start: int) -> Tensor:
    if not count:
        return torch.empty(0, dtype=dtype)  # frombuffer refuses nothing at all
    if dtype == torch.bool:  # a byte that is neither 0 nor 1 would be a bool that equals none
        return torch.frombuffer(body, dtype=torch.uint8, count=count, offset=start).ne(0)
    return torch.frombuffer(body, dtype=dtype, count=count, offset=start)


def whole_numbers(value: object) -> list[int]:
    """A list of sizes or strides. WireError for anything else."""
    if type(value) is not list or len(value) > _MOST_DIMENSIONS:
        raise WireError("not a list of sizes")
    for number in value:
        if type(number) is not int or not 0 <= number <= LARGEST_RESULT:
            raise WireError("not a size")
    return value
