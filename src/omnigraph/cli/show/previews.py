"""Output of dry runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.cli.show.mutations import show_returned
from omnigraph.cli.show.output import count, say, say_json
from omnigraph.cli.show.tables import aligned
from omnigraph.wire.addresses import with_uri
from omnigraph.wire.writes import write_preview_json

if TYPE_CHECKING:
    from omnigraph.engine.previews import WritePreview


def show_preview(uri: str, preview: WritePreview, as_json: bool) -> None:
    """Print the changes that a write would make."""
    if as_json:
        say_json(with_uri(uri, write_preview_json(preview)))
        return
    show_returned(preview.returned)
    if preview.tables:
        rows = [(item.key, item.inserted, item.updated, item.deleted) for item in preview.tables]
        say(aligned(("table", "inserted", "updated", "deleted"), rows))
    for line in preview.rejections:
        say(f"  would reject {line}")
    if preview.rejected > len(preview.rejections):
        say(f"  ... and {preview.rejected - len(preview.rejections):,} more")
    if preview.rejected:
        say(f"would reject {count(preview.rejected, 'row', 'rows')}")
    say(f"would change {count(preview.total, 'entity', 'entities')} on {preview.branch}; nothing was changed")
