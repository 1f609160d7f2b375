"""Dead letters as they are in Kafka: read in windows, merged, filtered, rendered, masked."""
