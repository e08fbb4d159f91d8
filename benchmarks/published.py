"""The published procedure, restated plainly: what every speed of reseed is compared with.

Raine et al. 2025 (arXiv:2509.01019): decode a frame with Pillow, crop 4 x 7 patches, resize each to 256 x 256 px
(bicubic), turn each into a normalised tensor, run them as one batch of 28 through MobileNetV3-small in eager torch,
count. Patches for training are the crops, written as PNG, and read, resized and augmented by one worker. Nothing is
slowed down on purpose: torch uses every core it is given, and gradients are off where none are needed.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision import models, transforms
from torchvision.transforms import InterpolationMode

ROWS, COLS = 4, 7
INPUT_PX = 256
BATCH = 32
DEPLOY = 2
ALPHA = 0.5
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

_RESIZE = transforms.Resize((INPUT_PX, INPUT_PX), interpolation=InterpolationMode.BICUBIC)
_TENSOR = [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
TO_NETWORK = transforms.Compose([_RESIZE, *_TENSOR])
TO_TRAINING = transforms.Compose(
    [
        _RESIZE,
        transforms.RandomHorizontalFlip(),
        transforms.RandomVerticalFlip(),
        transforms.ColorJitter(brightness=0.2, contrast=0.2),
        transforms.RandomApply([transforms.GaussianBlur(5, (0.5, 1.5))], p=0.1),
        *_TENSOR,
    ]
)


def network() -> nn.Module:
    """Return MobileNetV3-small with the head of the paper, untrained: its weights do not change its speed."""
    torch.manual_seed(0)
    net: nn.Module = models.mobilenet_v3_small(weights=None)
    net.classifier[3] = nn.Sequential(nn.Linear(1024, 512), nn.ReLU(), nn.Dropout(0.15), nn.Linear(512, 3))
    return net.eval()


def crops(frame: Image.Image) -> list[Image.Image]:
    """Return the 28 patches of a frame at full size, row by row."""
    width, height = frame.size
    xs = [width * col // COLS for col in range(COLS + 1)]
    ys = [height * row // ROWS for row in range(ROWS + 1)]
    return [frame.crop((xs[col], ys[row], xs[col + 1], ys[row + 1])) for row in range(ROWS) for col in range(COLS)]


def decode(path: Path) -> Image.Image:
    """Decode a frame in full."""
    with Image.open(path) as image:
        return image.convert("RGB")


def infer(paths: Sequence[Path], net: nn.Module) -> list[bool]:
    """Decide every frame, one after the other."""
    decisions = []
    with torch.no_grad():
        for path in paths:
            batch = torch.stack([TO_NETWORK(crop) for crop in crops(decode(path))])
            deploy = int((net(batch).argmax(1) == DEPLOY).sum())
            decisions.append(deploy / len(batch) > ALPHA)
    return decisions


def extract(paths: Sequence[Path], out: Path, edge_px: int | None = None) -> int:
    """Write the patches of every frame as PNG files, at full size or at `edge_px`; return how many."""
    written = 0
    for path in paths:
        for index, crop in enumerate(crops(decode(path))):
            patch = crop if edge_px is None else crop.resize((edge_px, edge_px), Image.Resampling.BICUBIC)
            patch.save(out / f"{path.stem}_{index}.png")
            written += 1
    return written


class PatchFiles(Dataset[tuple[Tensor, int]]):
    """PNG patches with labels."""

    def __init__(self, files: Sequence[Path], labels: Sequence[int]) -> None:
        self.files, self.labels = files, labels

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        with Image.open(self.files[index]) as image:
            return TO_TRAINING(image.convert("RGB")), self.labels[index]


def train_epoch(files: Sequence[Path], labels: Sequence[int], net: nn.Module) -> int:
    """Train for one epoch with focal loss and Adam, one worker reading ahead; return how many patches were seen."""
    loader = DataLoader(PatchFiles(files, labels), batch_size=BATCH, shuffle=True, num_workers=1)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-4)
    net.train()
    seen = 0
    for batch, gold in loader:
        optimiser.zero_grad()
        cross_entropy = nn.functional.cross_entropy(net(batch), gold, reduction="none")
        loss = ((1 - torch.exp(-cross_entropy)) ** 2 * cross_entropy).mean()
        loss.backward()
        optimiser.step()
        seen += len(gold)
    return seen
