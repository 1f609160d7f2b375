"""What Deadwatch costs, beside its peers, as ratios of one run: absolute figures drift, ratios hold."""
