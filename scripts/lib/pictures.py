"""Pictures of documents: figures of scripts/plot, of a part of a published campaign.

Each says in its file of what it was made. So scripts/publish sees which are not as published.
"""

from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
from PIL import Image

from console import Failure
from figures.parts import write_picture
from reports import Choice, open_report

SOURCE = "Source"  # the keyword of a PNG for it


@dataclass(frozen=True)
class Picture:
    """A figure, which lies in the folder of its campaign."""

    folder: Path
    name: str  # of the file, without .png
    figure: str  # of scripts/plot
    shows: str  # in words
    choice: Choice = Choice()

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name}.png"

    @property
    def source(self) -> str:
        chosen = [*self.choice.workloads, *self.choice.backends, self.choice.size]
        return " ".join([self.figure, *(str(part) for part in chosen if part)])

    def is_drawn(self) -> bool:
        if not self.path.exists():
            return False
        with Image.open(self.path) as image:
            return bool(image.info.get(SOURCE) == self.source)

    def draw(self) -> None:
        """Writes it. Takes a second or two."""
        draws = dict(open_report([self.folder], self.choice).figures())
        if self.figure not in draws:
            raise Failure(f"{self.folder}: {self.figure} is none of {', '.join(draws)}")
        figure = draws[self.figure]()
        write_picture(figure, self.path, {SOURCE: self.source})
        plt.close(figure)
