import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.IntegerDeserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.ErrorHandlerContext;
import org.apache.kafka.streams.errors.LogAndContinueExceptionHandler;
import org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler;
import org.apache.kafka.streams.errors.ProductionExceptionHandler;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;

/**
 * A Streams application that goes on whatever it meets. A value of four bytes says what happens to its record; any other
 * cannot be read. For 0 it writes how many records it has dropped by its own count (dropped-records-total).
 *
 * Arguments: the bootstrap servers, a directory, the topic that it reads, the one for its count, and one for the rest.
 */
public class StreamsDrops {
    static final int COUNT = 0, UNDATED = 1, LATE = 2, UNWRITABLE = 3, TOO_LARGE = 4, FAILS = 5;

    /** Goes on after a record that cannot be written. */
    public static class Continue implements ProductionExceptionHandler {
        @Override
        public Response handleError(ErrorHandlerContext at, ProducerRecord<byte[], byte[]> record, Exception error) {
            return Response.resume();
        }

        @Override
        @SuppressWarnings("rawtypes")
        public Response handleSerializationError(
                ErrorHandlerContext at, ProducerRecord record, Exception error, SerializationExceptionOrigin origin) {
            return Response.resume();
        }

        @Override
        public void configure(Map<String, ?> settings) {}
    }

    public static void main(String[] arguments) {
        String input = arguments[2], count = arguments[3], rest = arguments[4];
        StreamsBuilder builder = new StreamsBuilder();
        KafkaStreams[] streams = new KafkaStreams[1];
        Serde<Integer> unwritable = Serdes.serdeFrom(
                (topic, value) -> { throw new SerializationException("no word for it"); }, new IntegerDeserializer());
        KStream<String, Integer> records = builder
                .stream(input, Consumed.with(Serdes.String(), Serdes.Integer()).withTimestampExtractor(
                        (record, latest) -> Integer.valueOf(UNDATED).equals(record.value()) ? -1 : record.timestamp()))
                .mapValues(value -> {
                    if (value == FAILS) throw new IllegalStateException("no account");
                    return value;
                });
        records.filter((key, value) -> value == COUNT && key != null)
                .mapValues(value -> Long.toString(dropped(streams[0])))
                .to(count, Produced.with(Serdes.String(), Serdes.String()));
        records.filter((key, value) -> value == UNWRITABLE).to(rest, Produced.with(Serdes.String(), unwritable));
        records.filter((key, value) -> value == TOO_LARGE).mapValues(value -> "x".repeat(2_000_000))
                .to(rest, Produced.with(Serdes.String(), Serdes.String()));
        records.filter((key, value) -> value == COUNT || value == LATE)
                .groupByKey()
                .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofSeconds(1)))
                .count();
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "drops");
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[1]);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.IntegerSerde.class);
        settings.put(StreamsConfig.DESERIALIZATION_EXCEPTION_HANDLER_CLASS_CONFIG, LogAndContinueExceptionHandler.class);
        settings.put(StreamsConfig.PROCESSING_EXCEPTION_HANDLER_CLASS_CONFIG, LogAndContinueProcessingExceptionHandler.class);
        settings.put(StreamsConfig.PRODUCTION_EXCEPTION_HANDLER_CLASS_CONFIG, Continue.class);
        settings.put(StreamsConfig.producerPrefix("linger.ms"), 0);
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        streams[0] = new KafkaStreams(builder.build(), settings);
        streams[0].start();
    }

    private static long dropped(KafkaStreams streams) {
        return streams.metrics().values().stream()
                .filter(metric -> metric.metricName().name().equals("dropped-records-total"))
                .mapToLong(metric -> ((Double) metric.metricValue()).longValue())
                .sum();
    }
}
