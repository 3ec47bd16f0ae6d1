"""A picture: a document that shows itself in a notebook, and can be saved as a file."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, field

from omnigraph.engine.picture.document import document
from omnigraph.engine.picture.scene import Scene
from omnigraph.storage.objects.target_files import write_file

HEIGHT_PIXELS = 520


@dataclass(frozen=True, repr=False)
class Picture:
    """An interactive picture of a graph. At the end of a notebook cell it shows itself; ``save`` writes a file.

    The page needs no network: data, style and script are in it.
    """

    scene: Scene
    height: int = field(default=HEIGHT_PIXELS)

    def __repr__(self) -> str:
        return f"<Picture: {self.shown}>"

    @property
    def shown(self) -> str:
        """The numbers of nodes and edges shown, such as ``300 of 1,200 nodes, 512 of 4,000 edges shown``."""
        return self.scene.shown

    def html(self) -> str:
        """The page: one HTML document."""
        return document(self.scene, self.shown)

    def _repr_html_(self) -> str:
        # A frame has its own document: the styles of a notebook and of the picture do not meet, and scripts run even
        # where the notebook is not trusted to run its own.
        style = f"width: 100%; height: {self.height}px; border: 1px solid #8884; border-radius: 6px"
        label = html.escape(f"{self.scene.title}: {self.shown}", quote=True)
        document = html.escape(self.html(), quote=True)
        return f'<iframe sandbox="allow-scripts" title="{label}" style="{style}" srcdoc="{document}"></iframe>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which any browser opens."""
        with write_file(os.fspath(path), {}) as file:
            file.write(self.html().encode())
