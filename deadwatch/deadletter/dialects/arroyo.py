"""What Arroyo writes (``KafkaDlqProducer``): the record's place, but neither its topic nor why it failed."""

from typing import Final

from deadwatch.deadletter.dialects.dialect import Dialect

ARROYO: Final = Dialect(
    name="arroyo",
    source_partition="original_partition",
    source_offset="original_offset",
)
