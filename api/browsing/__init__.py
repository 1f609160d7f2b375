"""Dead letters as they are in Kafka: read in windows, merged by time, filtered, rendered, masked."""
