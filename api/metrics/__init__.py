"""The metrics: declared in ``catalog``, read in ``samples``, written in ``exposition``."""
