import numpy as np
import torch

from reseed.base.grid import Grid
from reseed.patches.resize import box_patches, grid_patches, resize


def test_resize_agrees_with_antialiased_bicubic_of_another_library() -> None:
    image = np.random.default_rng(0).integers(0, 256, (120, 180, 3), dtype=np.uint8)
    ours = resize(image, 45, 30).astype(float)
    tensor = torch.from_numpy(image).permute(2, 0, 1)[None]
    theirs = torch.nn.functional.interpolate(tensor, size=(30, 45), mode="bicubic", antialias=True)
    assert np.abs(ours - theirs[0].permute(1, 2, 0).numpy()).max() <= 1  # rounding


def test_grid_patches_are_in_row_order_and_hold_their_tile() -> None:
    image = np.zeros((40, 60, 3), np.uint8)
    image[20:, 40:] = 200  # the last tile of a 2 x 3 grid
    patches = grid_patches(image, Grid(2, 3), 32)
    assert patches.shape == (6, 32, 32, 3)
    assert [int(patch[16, 16, 0]) for patch in patches] == [0, 0, 0, 0, 0, 200]


def test_patch_over_the_border_is_filled_by_reflection() -> None:
    image = np.arange(100, dtype=np.uint8).reshape(1, 100, 1).repeat(100, 0).repeat(3, 2)
    patch = box_patches(image, np.array([[-16, 0, 16, 32]]), 32)[0]
    # columns -16..-1 mirror columns 16..1; column 16 of the patch is column 0 of the frame
    assert patch[5, :, 0].tolist() == [*range(16, 0, -1), *range(16)]


def test_patch_larger_than_the_frame_reflects_as_often_as_needed() -> None:
    image = np.zeros((3, 3, 3), np.uint8)
    image[1, 1] = 255
    assert box_patches(image, np.array([[-20, -20, 20, 20]]), 40).shape == (1, 40, 40, 3)
