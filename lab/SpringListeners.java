import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.IntegerDeserializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.EnableKafkaRetryTopic;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.retrytopic.SameIntervalTopicReuseStrategy;
import org.springframework.kafka.support.serializer.ErrorHandlingDeserializer;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;
import org.springframework.util.backoff.FixedBackOff;

/**
 * Three listeners that fail as long as a file is missing, each by another of Spring Kafka's ways to a dead letter topic:
 * retry topics, a recoverer, a deserializer. When the file is there, they copy each record to spring-processed.
 *
 * Arguments: the bootstrap servers, and the file.
 */
@EnableKafka
@EnableKafkaRetryTopic
@Configuration(proxyBeanMethods = false)
public class SpringListeners {
    private static final String GROUP = "spring-billing";
    private static String servers;
    private static Path fixed;
    private final KafkaTemplate<byte[], byte[]> template = new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(Map.of(
        ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, servers,
        ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class,
        ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class)));

    public static void main(String[] arguments) {
        servers = arguments[0];
        fixed = Path.of(arguments[1]);
        new AnnotationConfigApplicationContext(SpringListeners.class);
    }

    /** Reads numbers of four bytes; what it is sent has more. */
    public static class Numbers implements Deserializer<Object> {
        @Override
        public Object deserialize(String topic, byte[] data) {
            return Files.exists(fixed) ? data : new IntegerDeserializer().deserialize(topic, data);
        }
    }

    @RetryableTopic(
        attempts = "3",
        backOff = @BackOff(delay = 100),
        sameIntervalTopicReuseStrategy = SameIntervalTopicReuseStrategy.MULTIPLE_TOPICS,
        autoStartDltHandler = "false")
    @KafkaListener(topics = "spring-orders", groupId = GROUP)
    void order(ConsumerRecord<byte[], byte[]> record) {
        process(record);
    }

    @KafkaListener(topics = "spring-payments", groupId = GROUP)
    void payment(ConsumerRecord<byte[], byte[]> record) {
        process(record);
    }

    @KafkaListener(topics = "spring-numbers", groupId = GROUP, containerFactory = "numbers")
    void number(ConsumerRecord<byte[], byte[]> record) {
        process(record);
    }

    private void process(ConsumerRecord<byte[], byte[]> record) {
        String number = new String(record.value(), StandardCharsets.UTF_8).replaceAll("\\D", "");
        if (Files.exists(fixed)) {
            template.send("spring-processed", record.topic().getBytes(StandardCharsets.UTF_8), record.value()).join();
        } else if (Long.parseLong(number) % 2 == 0) {
            throw new IllegalStateException("no account " + number);
        } else {
            throw new IllegalArgumentException("bad amount " + number, new ArithmeticException("/ by zero"));
        }
    }

    @Bean
    KafkaTemplate<byte[], byte[]> kafkaTemplate() {
        return template;
    }

    @Bean
    KafkaAdmin admin() {
        return new KafkaAdmin(Map.of(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, servers));
    }

    @Bean
    TaskScheduler scheduler() {
        return new ThreadPoolTaskScheduler();
    }

    @Bean
    ConcurrentKafkaListenerContainerFactory<Object, Object> kafkaListenerContainerFactory() {
        return containers(ByteArrayDeserializer.class);
    }

    @Bean
    ConcurrentKafkaListenerContainerFactory<Object, Object> numbers() {
        return containers(Numbers.class);
    }

    private ConcurrentKafkaListenerContainerFactory<Object, Object> containers(Class<?> values) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        settings.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
        settings.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ErrorHandlingDeserializer.class);
        settings.put(ErrorHandlingDeserializer.VALUE_DESERIALIZER_CLASS, values);
        ConcurrentKafkaListenerContainerFactory<Object, Object> made = new ConcurrentKafkaListenerContainerFactory<>();
        made.setConsumerFactory(new DefaultKafkaConsumerFactory<>(settings));
        made.setCommonErrorHandler(new DefaultErrorHandler(new DeadLetterPublishingRecoverer(template), new FixedBackOff(0, 0)));
        return made;
    }
}
