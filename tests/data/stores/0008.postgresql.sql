CREATE TABLE public.abandoned (
    kafka_cluster text NOT NULL,
    worker text NOT NULL,
    connector text NOT NULL,
    task text NOT NULL,
    logged_total bigint NOT NULL,
    logged_current bigint NOT NULL,
    seen_total bigint NOT NULL,
    seen_current bigint NOT NULL,
    seen boolean NOT NULL,
    first_ms bigint NOT NULL,
    last_ms bigint NOT NULL,
    message text NOT NULL
);
CREATE TABLE public.audit (
    number bigint NOT NULL,
    at_ms bigint NOT NULL,
    who text NOT NULL,
    role text NOT NULL,
    token text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    why text NOT NULL,
    outcome text NOT NULL,
    request_id text NOT NULL,
    address text NOT NULL
);
CREATE SEQUENCE public.audit_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.audit_number_seq OWNED BY public.audit.number;
CREATE TABLE public.batches (
    query_id text NOT NULL,
    batch_id bigint NOT NULL,
    committed_at_ms bigint NOT NULL,
    duration_ms bigint NOT NULL,
    records bigint NOT NULL,
    lag_ms bigint NOT NULL
);
CREATE TABLE public.bucketed_series (
    id integer NOT NULL,
    name text NOT NULL,
    labels text NOT NULL
);
CREATE TABLE public.buckets (
    series integer NOT NULL,
    tier smallint NOT NULL,
    start_s bigint NOT NULL,
    value bigint NOT NULL
);
CREATE TABLE public.collector_counts (
    kafka_cluster text NOT NULL,
    collector text NOT NULL,
    name text NOT NULL,
    subject text NOT NULL,
    started_at_ms bigint NOT NULL,
    current bigint NOT NULL,
    counted bigint NOT NULL,
    total bigint NOT NULL
);
CREATE TABLE public.connect_tasks (
    kafka_cluster text NOT NULL,
    worker text NOT NULL,
    connector text NOT NULL,
    task text NOT NULL,
    source text NOT NULL,
    connect_cluster text NOT NULL,
    state text NOT NULL,
    counted boolean NOT NULL,
    started_at_ms bigint NOT NULL,
    records bigint NOT NULL,
    record_failures bigint NOT NULL,
    record_errors bigint NOT NULL,
    records_skipped bigint NOT NULL,
    retries bigint NOT NULL,
    errors_logged bigint NOT NULL,
    dlq_produce_requests bigint NOT NULL,
    dlq_produce_failures bigint NOT NULL,
    record_failures_total bigint NOT NULL,
    record_errors_total bigint NOT NULL,
    records_skipped_total bigint NOT NULL,
    retries_total bigint NOT NULL,
    errors_logged_total bigint NOT NULL,
    dlq_produce_requests_total bigint NOT NULL,
    dlq_produce_failures_total bigint NOT NULL,
    last_error_at_ms bigint NOT NULL,
    judged boolean NOT NULL,
    stalled_since_ms bigint NOT NULL,
    stalled_because text NOT NULL,
    observed_at_ms bigint NOT NULL
);
CREATE TABLE public.dead_letter_group_notes (
    fingerprint text NOT NULL,
    version bigint NOT NULL,
    owner text NOT NULL,
    comment text NOT NULL,
    archive_reason text NOT NULL,
    archived_at_ms bigint NOT NULL,
    archived_records bigint NOT NULL,
    changed_by text NOT NULL,
    changed_at_ms bigint NOT NULL
);
CREATE TABLE public.dead_letter_group_trends (
    fingerprint text NOT NULL,
    hour_s bigint NOT NULL,
    records bigint NOT NULL
);
CREATE TABLE public.dead_letter_groups (
    fingerprint text NOT NULL,
    kafka_cluster text NOT NULL,
    dlq_topic text NOT NULL,
    dialect text NOT NULL,
    source_topic text NOT NULL,
    consumer text NOT NULL,
    error_class text NOT NULL,
    message_pattern text NOT NULL,
    message text NOT NULL,
    records bigint NOT NULL,
    first_ms bigint NOT NULL,
    last_ms bigint NOT NULL
);
CREATE TABLE public.dead_letter_samples (
    fingerprint text NOT NULL,
    dlq_topic text NOT NULL,
    partition bigint NOT NULL,
    "offset" bigint NOT NULL,
    timestamp_ms bigint NOT NULL,
    headers text NOT NULL,
    key bytea,
    value bytea,
    key_bytes bigint NOT NULL,
    value_bytes bigint NOT NULL
);
CREATE TABLE public.dead_letter_topics (
    kafka_cluster text NOT NULL,
    dlq_topic text NOT NULL,
    source text NOT NULL,
    partitions bigint NOT NULL,
    records bigint NOT NULL,
    oldest_at_ms bigint NOT NULL,
    named_by text NOT NULL,
    read boolean NOT NULL,
    observed_at_ms bigint NOT NULL
);
CREATE TABLE public.deadwatch_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.findings (
    kafka_cluster text NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    source text NOT NULL,
    message text NOT NULL,
    change text NOT NULL,
    first_ms bigint NOT NULL,
    observed_at_ms bigint NOT NULL
);
CREATE TABLE public.instances (
    kafka_cluster text NOT NULL,
    worker text NOT NULL,
    connector text NOT NULL,
    task text NOT NULL,
    state text NOT NULL,
    abandoned bigint NOT NULL,
    observed_at_ms bigint NOT NULL,
    source text NOT NULL,
    state_since_ms bigint NOT NULL,
    trace text NOT NULL
);
CREATE TABLE public.leases (
    name text NOT NULL,
    epoch bigint NOT NULL,
    beats bigint NOT NULL,
    ttl_ms bigint NOT NULL,
    holder text NOT NULL,
    process text NOT NULL
);
CREATE TABLE public.marks (
    source text NOT NULL,
    epoch bigint NOT NULL,
    "offset" bigint NOT NULL,
    ordinal bigint NOT NULL
);
CREATE TABLE public.offsets (
    topic text NOT NULL,
    partition bigint NOT NULL,
    next_offset bigint NOT NULL
);
CREATE TABLE public.read_topics (
    topic text NOT NULL,
    topic_id text NOT NULL
);
CREATE TABLE public.redrive_ends (
    dlq_topic text NOT NULL,
    partition bigint NOT NULL,
    end_offset bigint NOT NULL
);
CREATE TABLE public.redrive_handled (
    dlq_topic text NOT NULL,
    dlq_topic_id text NOT NULL,
    partition bigint NOT NULL,
    block bigint NOT NULL,
    outcome text NOT NULL,
    offsets bytea NOT NULL
);
CREATE TABLE public.redrive_orders (
    id text NOT NULL,
    dlq_topic text NOT NULL,
    dlq_topic_id text NOT NULL,
    request text NOT NULL,
    begin text NOT NULL,
    cut_off text NOT NULL,
    plan text NOT NULL,
    dry_run boolean NOT NULL,
    requested_by text NOT NULL,
    idempotency_key text NOT NULL,
    status text NOT NULL,
    status_reason text NOT NULL,
    created_at_ms bigint NOT NULL,
    finished_at_ms bigint NOT NULL,
    worker text NOT NULL,
    epoch bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    policy text NOT NULL,
    waiting bigint NOT NULL,
    proceeded_at_ms bigint NOT NULL,
    sent_before bigint NOT NULL,
    bounced_before bigint NOT NULL
);
CREATE TABLE public.redrive_policies (
    id text NOT NULL,
    version bigint NOT NULL,
    request text NOT NULL,
    enabled boolean NOT NULL,
    changed_by text NOT NULL,
    created_at_ms bigint NOT NULL,
    changed_at_ms bigint NOT NULL,
    positions text NOT NULL,
    topic_ids text NOT NULL,
    last_topic text NOT NULL,
    failures bigint NOT NULL,
    status_reason text NOT NULL,
    next_at_ms bigint NOT NULL
);
CREATE TABLE public.redrive_policy_changes (
    policy text NOT NULL,
    version bigint NOT NULL,
    change text NOT NULL,
    request text NOT NULL,
    changed_by text NOT NULL,
    changed_at_ms bigint NOT NULL
);
CREATE TABLE public.redrive_written (
    kafka_cluster text NOT NULL,
    target_topic text NOT NULL,
    partition bigint NOT NULL,
    first_offset bigint NOT NULL,
    end_offset bigint NOT NULL,
    order_id text NOT NULL,
    written_at_ms bigint NOT NULL
);
CREATE TABLE public.series (
    name text NOT NULL,
    labels text NOT NULL,
    value bigint NOT NULL,
    first_ms bigint NOT NULL,
    last_ms bigint NOT NULL,
    detail text NOT NULL
);
CREATE TABLE public.share_groups (
    kafka_cluster text NOT NULL,
    consumergroup text NOT NULL,
    broker text NOT NULL,
    started_at_ms bigint NOT NULL,
    records bigint NOT NULL,
    produce_requests bigint NOT NULL,
    failed_produce_requests bigint NOT NULL,
    records_total bigint NOT NULL,
    produce_requests_total bigint NOT NULL,
    failed_produce_requests_total bigint NOT NULL
);
CREATE TABLE public.share_returns (
    kafka_cluster text NOT NULL,
    dlq_topic text NOT NULL,
    fingerprint text NOT NULL,
    source_topic text NOT NULL,
    partition bigint NOT NULL,
    first_offset bigint NOT NULL,
    end_offset bigint NOT NULL,
    read_at_ms bigint NOT NULL
);
CREATE TABLE public.sources (
    name text NOT NULL,
    kind text NOT NULL,
    up boolean NOT NULL,
    message text NOT NULL,
    since_ms bigint NOT NULL,
    heartbeat_ms bigint NOT NULL
);
CREATE TABLE public.stream_figures (
    name text NOT NULL,
    subject text NOT NULL,
    value bigint NOT NULL
);
CREATE TABLE public.task_timers (
    kafka_cluster text NOT NULL,
    streams_client text NOT NULL,
    task text NOT NULL,
    thread text NOT NULL,
    application text NOT NULL,
    said_by text NOT NULL,
    call text NOT NULL,
    since_ms bigint NOT NULL,
    heard_ms bigint NOT NULL,
    deadline_ms bigint NOT NULL,
    running boolean NOT NULL,
    message text NOT NULL
);
CREATE TABLE public.tokens (
    id text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    digest text NOT NULL,
    created_by text NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    revoked_at_ms bigint NOT NULL,
    revoked_by text NOT NULL,
    used_at_ms bigint NOT NULL
);
ALTER TABLE ONLY public.audit ALTER COLUMN number SET DEFAULT nextval('public.audit_number_seq'::regclass);
INSERT INTO public.abandoned VALUES ('default', '10.0.0.7:8083', 'pipe', '0', 2, 1, 2, 1, true, 1799967600000, 1799998980000, 'Graceful stop of task pipe-0 failed.');
INSERT INTO public.audit VALUES (1800000000000, 1800000000000, 'who', 'role', 'token', 'action', 'subject', 'why', 'outcome', 'request_id', 'address');
INSERT INTO public.batches VALUES ('q', 1, 1799999999300, 131, 64, 240);
INSERT INTO public.bucketed_series VALUES (1, 'dead_letters', '{"kafka_cluster":"default","dlq_topic":"dlq.orders","source_topic":"orders","dialect":"connect","consumergroup":"","connector":"","error_class":""}');
INSERT INTO public.bucketed_series VALUES (2, 'dead_letters', '{"kafka_cluster":"default","dlq_topic":"dlq.payments","source_topic":"payments","dialect":"spring","consumergroup":"","connector":"","error_class":""}');
INSERT INTO public.bucketed_series VALUES (3, 'task_timeouts', '{"kafka_cluster":"default","application":"wordcount","task":"0_1"}');
INSERT INTO public.bucketed_series VALUES (4, 'delivery_timeout_batches', '{"kafka_cluster":"default","topic":"orders","client_id":"checkout-1","client":"java"}');
INSERT INTO public.bucketed_series VALUES (5, 'delivery_timeout_records', '{"kafka_cluster":"default","topic":"orders","client_id":"checkout-1","client":"java"}');
INSERT INTO public.bucketed_series VALUES (6, 'redrive_records', '{"kafka_cluster":"default","dlq_topic":"dlq.orders","target_topic":"dlq.orders.parked","outcome":"parked"}');
INSERT INTO public.bucketed_series VALUES (7, 'redrive_orders', '{"order":"11111111-aaaa","outcome":"sent","outcome_reason":""}');
INSERT INTO public.bucketed_series VALUES (8, 'redrive_orders', '{"order":"11111111-aaaa","outcome":"bounced","outcome_reason":""}');
INSERT INTO public.bucketed_series VALUES (9, 'redrive_orders', '{"order":"11111111-aaaa","outcome":"skipped","outcome_reason":"no_origin"}');
INSERT INTO public.bucketed_series VALUES (10, 'redrive_orders', '{"order":"22222222-bbbb","outcome":"sent","outcome_reason":""}');
INSERT INTO public.buckets VALUES (1, 0, 1800000000, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799999970, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799999940, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799999910, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799999880, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799999850, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799999820, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799999790, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799999760, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799999730, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799999700, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799999670, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799999640, 10);
INSERT INTO public.buckets VALUES (1, 0, 1799999610, 15);
INSERT INTO public.buckets VALUES (1, 0, 1799999580, 3);
INSERT INTO public.buckets VALUES (1, 0, 1799999550, 8);
INSERT INTO public.buckets VALUES (1, 0, 1799999520, 13);
INSERT INTO public.buckets VALUES (1, 0, 1799999490, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799999460, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799999430, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799999400, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799999370, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799999340, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799999310, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799999280, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799999250, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799999220, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799999190, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799999160, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799999130, 10);
INSERT INTO public.buckets VALUES (1, 0, 1799999100, 15);
INSERT INTO public.buckets VALUES (1, 0, 1799999070, 3);
INSERT INTO public.buckets VALUES (1, 0, 1799999040, 8);
INSERT INTO public.buckets VALUES (1, 0, 1799999010, 13);
INSERT INTO public.buckets VALUES (1, 0, 1799998980, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799998950, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799998920, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799998890, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799998860, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799998830, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799998800, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799998770, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799998740, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799998710, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799998680, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799998650, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799998620, 10);
INSERT INTO public.buckets VALUES (1, 0, 1799998590, 15);
INSERT INTO public.buckets VALUES (1, 0, 1799998560, 3);
INSERT INTO public.buckets VALUES (1, 0, 1799998530, 8);
INSERT INTO public.buckets VALUES (1, 0, 1799998500, 13);
INSERT INTO public.buckets VALUES (1, 0, 1799998470, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799998440, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799998410, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799998380, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799998350, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799998320, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799998290, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799998260, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799998230, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799998200, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799998170, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799998140, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799998110, 10);
INSERT INTO public.buckets VALUES (1, 0, 1799998080, 15);
INSERT INTO public.buckets VALUES (1, 0, 1799998050, 3);
INSERT INTO public.buckets VALUES (1, 0, 1799998020, 8);
INSERT INTO public.buckets VALUES (1, 0, 1799997990, 13);
INSERT INTO public.buckets VALUES (1, 0, 1799997960, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799997930, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799997900, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799997870, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799997840, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799997810, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799997780, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799997750, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799997720, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799997690, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799997660, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799997630, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799997600, 10);
INSERT INTO public.buckets VALUES (1, 0, 1799997570, 15);
INSERT INTO public.buckets VALUES (1, 0, 1799997540, 3);
INSERT INTO public.buckets VALUES (1, 0, 1799997510, 8);
INSERT INTO public.buckets VALUES (1, 0, 1799997480, 13);
INSERT INTO public.buckets VALUES (1, 0, 1799997450, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799997420, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799997390, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799997360, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799997330, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799997300, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799997270, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799997240, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799997210, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799997180, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799997150, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799997120, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799997090, 10);
INSERT INTO public.buckets VALUES (1, 0, 1799997060, 15);
INSERT INTO public.buckets VALUES (1, 0, 1799997030, 3);
INSERT INTO public.buckets VALUES (1, 0, 1799997000, 8);
INSERT INTO public.buckets VALUES (1, 0, 1799996970, 13);
INSERT INTO public.buckets VALUES (1, 0, 1799996940, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799996910, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799996880, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799996850, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799996820, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799996790, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799996760, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799996730, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799996700, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799996670, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799996640, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799996610, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799996580, 10);
INSERT INTO public.buckets VALUES (1, 0, 1799996550, 15);
INSERT INTO public.buckets VALUES (1, 0, 1799996520, 3);
INSERT INTO public.buckets VALUES (1, 0, 1799996490, 8);
INSERT INTO public.buckets VALUES (1, 0, 1799996460, 13);
INSERT INTO public.buckets VALUES (1, 0, 1799996430, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799996400, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799996370, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799996340, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799996310, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799996280, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799996250, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799996220, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799996190, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799996160, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799996130, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799996100, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799996070, 10);
INSERT INTO public.buckets VALUES (1, 0, 1799996040, 15);
INSERT INTO public.buckets VALUES (1, 0, 1799996010, 3);
INSERT INTO public.buckets VALUES (1, 0, 1799995980, 8);
INSERT INTO public.buckets VALUES (1, 0, 1799995950, 13);
INSERT INTO public.buckets VALUES (1, 0, 1799995920, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799995890, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799995860, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799995830, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799995800, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799995770, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799995740, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799995710, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799995680, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799995650, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799995620, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799995590, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799995560, 10);
INSERT INTO public.buckets VALUES (1, 0, 1799995530, 15);
INSERT INTO public.buckets VALUES (1, 0, 1799995500, 3);
INSERT INTO public.buckets VALUES (1, 0, 1799995470, 8);
INSERT INTO public.buckets VALUES (1, 0, 1799995440, 13);
INSERT INTO public.buckets VALUES (1, 0, 1799995410, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799995380, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799995350, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799995320, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799995290, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799995260, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799995230, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799995200, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799995170, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799995140, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799995110, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799995080, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799995050, 10);
INSERT INTO public.buckets VALUES (1, 0, 1799995020, 15);
INSERT INTO public.buckets VALUES (1, 0, 1799994990, 3);
INSERT INTO public.buckets VALUES (1, 0, 1799994960, 8);
INSERT INTO public.buckets VALUES (1, 0, 1799994930, 13);
INSERT INTO public.buckets VALUES (1, 0, 1799994900, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799994870, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799994840, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799994810, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799994780, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799994750, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799994720, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799994690, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799994660, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799994630, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799994600, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799994570, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799994540, 10);
INSERT INTO public.buckets VALUES (1, 0, 1799994510, 15);
INSERT INTO public.buckets VALUES (1, 0, 1799994480, 3);
INSERT INTO public.buckets VALUES (1, 0, 1799994450, 8);
INSERT INTO public.buckets VALUES (1, 0, 1799994420, 13);
INSERT INTO public.buckets VALUES (1, 0, 1799994390, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799994360, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799994330, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799994300, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799994270, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799994240, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799994210, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799994180, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799994150, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799994120, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799994090, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799994060, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799994030, 10);
INSERT INTO public.buckets VALUES (1, 0, 1799994000, 15);
INSERT INTO public.buckets VALUES (1, 0, 1799993970, 3);
INSERT INTO public.buckets VALUES (1, 0, 1799993940, 8);
INSERT INTO public.buckets VALUES (1, 0, 1799993910, 13);
INSERT INTO public.buckets VALUES (1, 0, 1799993880, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799993850, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799993820, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799993790, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799993760, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799993730, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799993700, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799993670, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799993640, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799993610, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799993580, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799993550, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799993520, 10);
INSERT INTO public.buckets VALUES (1, 0, 1799993490, 15);
INSERT INTO public.buckets VALUES (1, 0, 1799993460, 3);
INSERT INTO public.buckets VALUES (1, 0, 1799993430, 8);
INSERT INTO public.buckets VALUES (1, 0, 1799993400, 13);
INSERT INTO public.buckets VALUES (1, 0, 1799993370, 1);
INSERT INTO public.buckets VALUES (1, 0, 1799993340, 6);
INSERT INTO public.buckets VALUES (1, 0, 1799993310, 11);
INSERT INTO public.buckets VALUES (1, 0, 1799993280, 16);
INSERT INTO public.buckets VALUES (1, 0, 1799993250, 4);
INSERT INTO public.buckets VALUES (1, 0, 1799993220, 9);
INSERT INTO public.buckets VALUES (1, 0, 1799993190, 14);
INSERT INTO public.buckets VALUES (1, 0, 1799993160, 2);
INSERT INTO public.buckets VALUES (1, 0, 1799993130, 7);
INSERT INTO public.buckets VALUES (1, 0, 1799993100, 12);
INSERT INTO public.buckets VALUES (1, 0, 1799993070, 17);
INSERT INTO public.buckets VALUES (1, 0, 1799993040, 5);
INSERT INTO public.buckets VALUES (1, 0, 1799993010, 10);
INSERT INTO public.buckets VALUES (2, 0, 1800000000, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799999970, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799999940, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799999910, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799999880, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799999850, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799999820, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799999790, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799999760, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799999730, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799999700, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799999670, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799999640, 10);
INSERT INTO public.buckets VALUES (2, 0, 1799999610, 15);
INSERT INTO public.buckets VALUES (2, 0, 1799999580, 3);
INSERT INTO public.buckets VALUES (2, 0, 1799999550, 8);
INSERT INTO public.buckets VALUES (2, 0, 1799999520, 13);
INSERT INTO public.buckets VALUES (2, 0, 1799999490, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799999460, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799999430, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799999400, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799999370, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799999340, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799999310, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799999280, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799999250, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799999220, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799999190, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799999160, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799999130, 10);
INSERT INTO public.buckets VALUES (2, 0, 1799999100, 15);
INSERT INTO public.buckets VALUES (2, 0, 1799999070, 3);
INSERT INTO public.buckets VALUES (2, 0, 1799999040, 8);
INSERT INTO public.buckets VALUES (2, 0, 1799999010, 13);
INSERT INTO public.buckets VALUES (2, 0, 1799998980, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799998950, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799998920, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799998890, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799998860, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799998830, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799998800, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799998770, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799998740, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799998710, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799998680, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799998650, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799998620, 10);
INSERT INTO public.buckets VALUES (2, 0, 1799998590, 15);
INSERT INTO public.buckets VALUES (2, 0, 1799998560, 3);
INSERT INTO public.buckets VALUES (2, 0, 1799998530, 8);
INSERT INTO public.buckets VALUES (2, 0, 1799998500, 13);
INSERT INTO public.buckets VALUES (2, 0, 1799998470, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799998440, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799998410, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799998380, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799998350, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799998320, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799998290, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799998260, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799998230, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799998200, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799998170, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799998140, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799998110, 10);
INSERT INTO public.buckets VALUES (2, 0, 1799998080, 15);
INSERT INTO public.buckets VALUES (2, 0, 1799998050, 3);
INSERT INTO public.buckets VALUES (2, 0, 1799998020, 8);
INSERT INTO public.buckets VALUES (2, 0, 1799997990, 13);
INSERT INTO public.buckets VALUES (2, 0, 1799997960, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799997930, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799997900, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799997870, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799997840, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799997810, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799997780, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799997750, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799997720, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799997690, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799997660, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799997630, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799997600, 10);
INSERT INTO public.buckets VALUES (2, 0, 1799997570, 15);
INSERT INTO public.buckets VALUES (2, 0, 1799997540, 3);
INSERT INTO public.buckets VALUES (2, 0, 1799997510, 8);
INSERT INTO public.buckets VALUES (2, 0, 1799997480, 13);
INSERT INTO public.buckets VALUES (2, 0, 1799997450, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799997420, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799997390, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799997360, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799997330, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799997300, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799997270, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799997240, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799997210, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799997180, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799997150, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799997120, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799997090, 10);
INSERT INTO public.buckets VALUES (2, 0, 1799997060, 15);
INSERT INTO public.buckets VALUES (2, 0, 1799997030, 3);
INSERT INTO public.buckets VALUES (2, 0, 1799997000, 8);
INSERT INTO public.buckets VALUES (2, 0, 1799996970, 13);
INSERT INTO public.buckets VALUES (2, 0, 1799996940, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799996910, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799996880, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799996850, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799996820, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799996790, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799996760, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799996730, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799996700, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799996670, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799996640, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799996610, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799996580, 10);
INSERT INTO public.buckets VALUES (2, 0, 1799996550, 15);
INSERT INTO public.buckets VALUES (2, 0, 1799996520, 3);
INSERT INTO public.buckets VALUES (2, 0, 1799996490, 8);
INSERT INTO public.buckets VALUES (2, 0, 1799996460, 13);
INSERT INTO public.buckets VALUES (2, 0, 1799996430, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799996400, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799996370, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799996340, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799996310, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799996280, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799996250, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799996220, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799996190, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799996160, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799996130, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799996100, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799996070, 10);
INSERT INTO public.buckets VALUES (2, 0, 1799996040, 15);
INSERT INTO public.buckets VALUES (2, 0, 1799996010, 3);
INSERT INTO public.buckets VALUES (2, 0, 1799995980, 8);
INSERT INTO public.buckets VALUES (2, 0, 1799995950, 13);
INSERT INTO public.buckets VALUES (2, 0, 1799995920, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799995890, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799995860, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799995830, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799995800, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799995770, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799995740, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799995710, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799995680, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799995650, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799995620, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799995590, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799995560, 10);
INSERT INTO public.buckets VALUES (2, 0, 1799995530, 15);
INSERT INTO public.buckets VALUES (2, 0, 1799995500, 3);
INSERT INTO public.buckets VALUES (2, 0, 1799995470, 8);
INSERT INTO public.buckets VALUES (2, 0, 1799995440, 13);
INSERT INTO public.buckets VALUES (2, 0, 1799995410, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799995380, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799995350, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799995320, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799995290, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799995260, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799995230, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799995200, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799995170, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799995140, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799995110, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799995080, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799995050, 10);
INSERT INTO public.buckets VALUES (2, 0, 1799995020, 15);
INSERT INTO public.buckets VALUES (2, 0, 1799994990, 3);
INSERT INTO public.buckets VALUES (2, 0, 1799994960, 8);
INSERT INTO public.buckets VALUES (2, 0, 1799994930, 13);
INSERT INTO public.buckets VALUES (2, 0, 1799994900, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799994870, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799994840, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799994810, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799994780, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799994750, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799994720, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799994690, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799994660, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799994630, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799994600, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799994570, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799994540, 10);
INSERT INTO public.buckets VALUES (2, 0, 1799994510, 15);
INSERT INTO public.buckets VALUES (2, 0, 1799994480, 3);
INSERT INTO public.buckets VALUES (2, 0, 1799994450, 8);
INSERT INTO public.buckets VALUES (2, 0, 1799994420, 13);
INSERT INTO public.buckets VALUES (2, 0, 1799994390, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799994360, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799994330, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799994300, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799994270, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799994240, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799994210, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799994180, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799994150, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799994120, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799994090, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799994060, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799994030, 10);
INSERT INTO public.buckets VALUES (2, 0, 1799994000, 15);
INSERT INTO public.buckets VALUES (2, 0, 1799993970, 3);
INSERT INTO public.buckets VALUES (2, 0, 1799993940, 8);
INSERT INTO public.buckets VALUES (2, 0, 1799993910, 13);
INSERT INTO public.buckets VALUES (2, 0, 1799993880, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799993850, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799993820, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799993790, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799993760, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799993730, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799993700, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799993670, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799993640, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799993610, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799993580, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799993550, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799993520, 10);
INSERT INTO public.buckets VALUES (2, 0, 1799993490, 15);
INSERT INTO public.buckets VALUES (2, 0, 1799993460, 3);
INSERT INTO public.buckets VALUES (2, 0, 1799993430, 8);
INSERT INTO public.buckets VALUES (2, 0, 1799993400, 13);
INSERT INTO public.buckets VALUES (2, 0, 1799993370, 1);
INSERT INTO public.buckets VALUES (2, 0, 1799993340, 6);
INSERT INTO public.buckets VALUES (2, 0, 1799993310, 11);
INSERT INTO public.buckets VALUES (2, 0, 1799993280, 16);
INSERT INTO public.buckets VALUES (2, 0, 1799993250, 4);
INSERT INTO public.buckets VALUES (2, 0, 1799993220, 9);
INSERT INTO public.buckets VALUES (2, 0, 1799993190, 14);
INSERT INTO public.buckets VALUES (2, 0, 1799993160, 2);
INSERT INTO public.buckets VALUES (2, 0, 1799993130, 7);
INSERT INTO public.buckets VALUES (2, 0, 1799993100, 12);
INSERT INTO public.buckets VALUES (2, 0, 1799993070, 17);
INSERT INTO public.buckets VALUES (2, 0, 1799993040, 5);
INSERT INTO public.buckets VALUES (2, 0, 1799993010, 10);
INSERT INTO public.buckets VALUES (3, 0, 1800000000, 1);
INSERT INTO public.buckets VALUES (3, 0, 1799998700, 1);
INSERT INTO public.buckets VALUES (3, 0, 1799997400, 1);
INSERT INTO public.buckets VALUES (3, 0, 1799996100, 1);
INSERT INTO public.buckets VALUES (3, 0, 1799994800, 1);
INSERT INTO public.buckets VALUES (3, 0, 1799993500, 1);
INSERT INTO public.buckets VALUES (4, 0, 1800000000, 1);
INSERT INTO public.buckets VALUES (4, 0, 1799998700, 1);
INSERT INTO public.buckets VALUES (4, 0, 1799997400, 1);
INSERT INTO public.buckets VALUES (4, 0, 1799996100, 1);
INSERT INTO public.buckets VALUES (4, 0, 1799994800, 1);
INSERT INTO public.buckets VALUES (4, 0, 1799993500, 1);
INSERT INTO public.buckets VALUES (5, 0, 1800000000, 1);
INSERT INTO public.buckets VALUES (5, 0, 1799998700, 1);
INSERT INTO public.buckets VALUES (5, 0, 1799997400, 1);
INSERT INTO public.buckets VALUES (5, 0, 1799996100, 1);
INSERT INTO public.buckets VALUES (5, 0, 1799994800, 1);
INSERT INTO public.buckets VALUES (5, 0, 1799993500, 1);
INSERT INTO public.buckets VALUES (6, 0, 1800000000, 1);
INSERT INTO public.buckets VALUES (6, 0, 1799998700, 1);
INSERT INTO public.buckets VALUES (6, 0, 1799997400, 1);
INSERT INTO public.buckets VALUES (6, 0, 1799996100, 1);
INSERT INTO public.buckets VALUES (6, 0, 1799994800, 1);
INSERT INTO public.buckets VALUES (6, 0, 1799993500, 1);
INSERT INTO public.buckets VALUES (7, 0, 1799996400, 640);
INSERT INTO public.buckets VALUES (8, 0, 1799996400, 12);
INSERT INTO public.buckets VALUES (9, 0, 1799996400, 3);
INSERT INTO public.buckets VALUES (10, 0, 1799996400, 41);
INSERT INTO public.collector_counts VALUES ('kafka_cluster', 'collector', 'name', 'subject', 1800000000000, 1800000000000, 1800000000000, 1800000000000);
INSERT INTO public.connect_tasks VALUES ('default', '10.0.0.7:8083', 'orders-sink', '0', '', 'http://10.0.0.7:8083', 'RUNNING', true, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20412, 20412, 0, 0, 20412, 0, 1799999880000, true, 0, '', 1799999996000);
INSERT INTO public.connect_tasks VALUES ('default', '10.0.0.7:8083', 'ledger-sink', '1', '', 'http://10.0.0.7:8083', 'RUNNING', true, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, true, 1799997600000, '1 204 records of ledger-1 wait and its committed offset has not moved', 1799999996000);
INSERT INTO public.dead_letter_group_notes VALUES ('3f1c0a9be27d4455', 1800000000000, 'owner', 'comment', 'archive_reason', 1800000000000, 1800000000000, 'changed_by', 1800000000000);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1800000000, 12);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799996400, 292);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799992800, 132);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799989200, 412);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799985600, 252);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799982000, 92);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799978400, 372);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799974800, 212);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799971200, 52);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799967600, 332);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799964000, 172);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799960400, 12);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799956800, 292);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799953200, 132);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799949600, 412);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799946000, 252);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799942400, 92);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799938800, 372);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799935200, 212);
INSERT INTO public.dead_letter_group_trends VALUES ('3f1c0a9be27d4455', 1799931600, 52);
INSERT INTO public.dead_letter_group_trends VALUES ('a4d2c0ffee112233', 1800000000, 318);
INSERT INTO public.dead_letter_groups VALUES ('3f1c0a9be27d4455', 'default', 'dlq.orders', 'connect', 'orders', 'orders-sink', 'org.apache.kafka.connect.errors.DataException', 'Converting byte[] to Kafka Connect data failed at offset #', 'Converting byte[] to Kafka Connect data failed at offset 1042', 20412, 1799927880000, 1799999880000);
INSERT INTO public.dead_letter_groups VALUES ('a4d2c0ffee112233', 'default', 'dlq.payments', 'spring', 'payments', 'billing', 'com.example.billing.CurrencyMismatchException', 'Converting byte[] to Kafka Connect data failed at offset #', 'expected EUR, got USD for invoice 88121', 318, 1799998680000, 1799999700000);
INSERT INTO public.dead_letter_groups VALUES ('beef00112233aabb', 'default', 'dlq.shipping', 'share_group', 'shipping', 'shipping', 'RejectedRecordException', 'Converting byte[] to Kafka Connect data failed at offset #', 'Record was rejected by the consumer.', 41, 1799917200000, 1799989200000);
INSERT INTO public.dead_letter_groups VALUES ('cafe00112233aabb', 'default', 'wordcount-dlq', 'streams', 'lines', 'wordcount', 'org.apache.kafka.common.errors.SerializationException', 'Converting byte[] to Kafka Connect data failed at offset #', 'Size of data received by LongDeserializer is not 8', 7, 1799926200000, 1799998200000);
INSERT INTO public.dead_letter_groups VALUES ('badbadbadbadbad0', 'default', 'dlq.orders', 'connect', '<script>document.title=''owned''</script><img src=x onerror="document.title=''owned''">‮gnp.exe [31mred[0m {{7*7}} '' " `', '<script>document.title=''owned''</script><img src=x onerror="document.title=''owned''">‮gnp.exe [31mred[0m {{7*7}} '' " `', 'com.evil.<script>document.title=''owned''</script><img src=x onerror="document.title=''owned''">‮gnp.exe [31mred[0m {{7*7}} '' " `', 'Converting byte[] to Kafka Connect data failed at offset #', '<script>document.title=''owned''</script><img src=x onerror="document.title=''owned''">‮gnp.exe [31mred[0m {{7*7}} '' " `', 12, 1799927400000, 1799999400000);
INSERT INTO public.dead_letter_samples VALUES ('3f1c0a9be27d4455', 'dlq.orders', 0, 42, 1799999958000, '[["__connect.errors.topic", "orders"], ["__connect.errors.partition", "0"], ["__connect.errors.offset", "462"], ["__connect.errors.stage", "VALUE_CONVERTER"], ["__connect.errors.exception.stacktrace", "org.apache.kafka.connect.errors.DataException: Converting byte[] to Kafka Connect data failed\n\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:331)\n\tat org.apache.kafka.connect.runtime.WorkerSinkTask.convertValue(WorkerSinkTask.java:545)\n\tat com.example.orders.PriceTransform.apply(PriceTransform.java:42)\n\tat org.apache.kafka.connect.runtime.TransformationChain.apply(TransformationChain.java:54)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\nCaused by: com.example.orders.NoPriceException: no price for article 4711\n\tat com.example.orders.Prices.of(Prices.java:17)\n\t... 12 more"], ["tenant", "globex"]]', NULL, '\x7b226f72646572223a2031372c20227072696365223a206e756c6c7d', -1, 28);
INSERT INTO public.dead_letter_samples VALUES ('3f1c0a9be27d4455', 'dlq.orders', 0, 43, 1799999957000, '[["__connect.errors.topic", "orders"], ["__connect.errors.partition", "1"], ["__connect.errors.offset", "473"], ["__connect.errors.stage", "VALUE_CONVERTER"], ["__connect.errors.exception.stacktrace", "org.apache.kafka.connect.errors.DataException: Converting byte[] to Kafka Connect data failed\n\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:331)\n\tat org.apache.kafka.connect.runtime.WorkerSinkTask.convertValue(WorkerSinkTask.java:545)\n\tat com.example.orders.PriceTransform.apply(PriceTransform.java:42)\n\tat org.apache.kafka.connect.runtime.TransformationChain.apply(TransformationChain.java:54)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\nCaused by: com.example.orders.NoPriceException: no price for article 4711\n\tat com.example.orders.Prices.of(Prices.java:17)\n\t... 12 more"], ["tenant", "acme"]]', NULL, '\x7b226f72646572223a2031372c20227072696365223a206e756c6c7d', -1, 28);
INSERT INTO public.dead_letter_samples VALUES ('3f1c0a9be27d4455', 'dlq.orders', 0, 57, 1799999943000, '[["__connect.errors.topic", "orders"], ["__connect.errors.partition", "0"], ["__connect.errors.offset", "627"], ["__connect.errors.stage", "VALUE_CONVERTER"], ["__connect.errors.exception.stacktrace", "org.apache.kafka.connect.errors.DataException: Converting byte[] to Kafka Connect data failed\n\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:331)\n\tat org.apache.kafka.connect.runtime.WorkerSinkTask.convertValue(WorkerSinkTask.java:545)\n\tat com.example.orders.PriceTransform.apply(PriceTransform.java:42)\n\tat org.apache.kafka.connect.runtime.TransformationChain.apply(TransformationChain.java:54)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\nCaused by: com.example.orders.NoPriceException: no price for article 4711\n\tat com.example.orders.Prices.of(Prices.java:17)\n\t... 12 more"], ["tenant", "acme"]]', NULL, '\x7b226f72646572223a2031372c20227072696365223a206e756c6c7d', -1, 28);
INSERT INTO public.dead_letter_samples VALUES ('badbadbadbadbad0', 'dlq.orders', 0, 1, 1799999999000, '[]', NULL, NULL, -1, -1);
INSERT INTO public.dead_letter_topics VALUES ('default', 'dlq.orders', '', 3, 20102, 1799982000000, 'connector orders-sink', true, 1799999996000);
INSERT INTO public.dead_letter_topics VALUES ('default', 'dlq.payments', '', 3, 318, 1799982000000, 'connector orders-sink', true, 1799999996000);
INSERT INTO public.dead_letter_topics VALUES ('default', 'dlq.ledger', '', 3, 0, 0, 'connector orders-sink', false, 1799999996000);
INSERT INTO public.dead_letter_topics VALUES ('default', 'dlq.orders.parked', '', 3, 14, 1799982000000, 'connector orders-sink', true, 1799999996000);
INSERT INTO public.deadwatch_version VALUES ('0008');
INSERT INTO public.findings VALUES ('default', 'dlq_compacted', 'topic:dlq.payments', '', 'it is compacted: of dead letters with the same key only the last one stays', 'kafka-configs.sh --alter --topic dlq.payments --add-config cleanup.policy=delete', 1799906400000, 1799999996000);
INSERT INTO public.instances VALUES ('default', '10.0.0.7:8083', 'pipe', '0', '', 1, 1799999996000, '', 0, '');
INSERT INTO public.leases VALUES ('name', 1800000000000, 1800000000000, 1800000000000, 'holder', 'process');
INSERT INTO public.marks VALUES ('source', 1800000000000, 1800000000000, 1800000000000);
INSERT INTO public.offsets VALUES ('topic', 1800000000000, 1800000000000);
INSERT INTO public.read_topics VALUES ('topic', 'topic_id');
INSERT INTO public.redrive_ends VALUES ('dlq_topic', 1800000000000, 1800000000000);
INSERT INTO public.redrive_handled VALUES ('dlq_topic', 'dlq_topic_id', 1800000000000, 1800000000000, 'outcome', '\x00ff6f666673657473');
INSERT INTO public.redrive_orders VALUES ('11111111-aaaa', 'dlq.orders', '', '{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":null,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":null,"reason":"converter fixed in 4.1","dlq_topic":"dlq.orders","selection":{"all":null,"group":"3f1c0a9be27d4455","filter":null,"offsets":null,"from":null,"to":null,"records":null},"dry_run":false,"confirm":null,"cut_off":null,"dlq_topic_id":null,"engine":"local","again":false}', '{"0": 0, "1": 0}', '{"0": 6667, "1": 6702}', '{"to_move":20100,"at_least":false,"at_most":20112,"read":20430,"bytes":38000000,"targets":{"orders":20100},"to_park":12,"park_reasons":{"attempts_used_up":11,"error_class_excluded":1},"skip_reasons":{"no_origin":3,"target_missing":1},"rehydrated":0,"dropped_headers":{"retry_topic-attempts":20100},"filter_problems":{},"estimated_ms":402000,"examples":[{"partition":0,"offset":42,"timestamp_ms":1799996400000,"error_class":"org.apache.kafka.connect.errors.DataException","target_topic":"orders","target_partition":3,"skip_reason":""},{"partition":1,"offset":7,"timestamp_ms":1799996400000,"error_class":"","target_topic":"","target_partition":null,"skip_reason":"no_origin"}],"warnings":[]}', false, 'alice', '', 'RUNNING', '', 1799999880000, 0, '', 0, 0, '', 0, 0, 0, 0);
INSERT INTO public.redrive_orders VALUES ('22222222-bbbb', 'dlq.orders', '', '{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":null,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":null,"reason":"converter fixed in 4.1","dlq_topic":"dlq.orders","selection":{"all":null,"group":"3f1c0a9be27d4455","filter":null,"offsets":null,"from":null,"to":null,"records":null},"dry_run":false,"confirm":null,"cut_off":null,"dlq_topic_id":null,"engine":"local","again":false}', '{"0": 0, "1": 0}', '{"0": 6667, "1": 6702}', '{"to_move":20100,"at_least":false,"at_most":20112,"read":20430,"bytes":38000000,"targets":{"orders":20100},"to_park":12,"park_reasons":{"attempts_used_up":11,"error_class_excluded":1},"skip_reasons":{"no_origin":3,"target_missing":1},"rehydrated":0,"dropped_headers":{"retry_topic-attempts":20100},"filter_problems":{},"estimated_ms":402000,"examples":[{"partition":0,"offset":42,"timestamp_ms":1799996400000,"error_class":"org.apache.kafka.connect.errors.DataException","target_topic":"orders","target_partition":3,"skip_reason":""},{"partition":1,"offset":7,"timestamp_ms":1799996400000,"error_class":"","target_topic":"","target_partition":null,"skip_reason":"no_origin"}],"warnings":[]}', false, 'alice', '', 'COMPLETED', '', 1799982000000, 1799982060000, '', 0, 0, '', 0, 0, 0, 0);
INSERT INTO public.redrive_orders VALUES ('33333333-cccc', 'dlq.orders', '', '{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":null,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":null,"reason":"converter fixed in 4.1","dlq_topic":"dlq.orders","selection":{"all":null,"group":"3f1c0a9be27d4455","filter":null,"offsets":null,"from":null,"to":null,"records":null},"dry_run":true,"confirm":null,"cut_off":null,"dlq_topic_id":null,"engine":"local","again":false}', '{"0": 0, "1": 0}', '{"0": 6667, "1": 6702}', '{"to_move":20100,"at_least":false,"at_most":20112,"read":20430,"bytes":38000000,"targets":{"orders":20100},"to_park":12,"park_reasons":{"attempts_used_up":11,"error_class_excluded":1},"skip_reasons":{"no_origin":3,"target_missing":1},"rehydrated":0,"dropped_headers":{"retry_topic-attempts":20100},"filter_problems":{},"estimated_ms":402000,"examples":[{"partition":0,"offset":42,"timestamp_ms":1799996400000,"error_class":"org.apache.kafka.connect.errors.DataException","target_topic":"orders","target_partition":3,"skip_reason":""},{"partition":1,"offset":7,"timestamp_ms":1799996400000,"error_class":"","target_topic":"","target_partition":null,"skip_reason":"no_origin"}],"warnings":[]}', true, 'alice', '', 'COMPLETED', '', 1799999820000, 1799999880000, '', 0, 0, '', 0, 0, 0, 0);
INSERT INTO public.redrive_policies VALUES ('44444444-dddd', 3, '{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":1000000,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":["x-retries","y-*"],"reason":"the price service is away now and then","dlq_topics":["dlq\\.orders"],"filter":"connector == \"orders-sink\"","exclude_error_classes":["org.apache.kafka.common.errors.SerializationException"],"excluded":"park","include_existing":true,"enabled":true}', true, 'alice', 1799906400000, 1799992800000, '{"dlq.orders": {"0": 6667}}', '{}', '', 0, '', 0);
INSERT INTO public.redrive_policy_changes VALUES ('44444444-dddd', 1, 'created', '{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":1000000,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":["x-retries","y-*"],"reason":"the price service is away now and then","dlq_topics":["dlq\\.orders"],"filter":"connector == \"orders-sink\"","exclude_error_classes":["org.apache.kafka.common.errors.SerializationException"],"excluded":"park","include_existing":true,"enabled":true}', 'alice', 1799985600000);
INSERT INTO public.redrive_policy_changes VALUES ('44444444-dddd', 2, 'changed', '{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":1000000,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":["x-retries","y-*"],"reason":"the price service is away now and then","dlq_topics":["dlq\\.orders"],"filter":"connector == \"orders-sink\"","exclude_error_classes":["org.apache.kafka.common.errors.SerializationException"],"excluded":"park","include_existing":true,"enabled":true}', 'alice', 1799989200000);
INSERT INTO public.redrive_policy_changes VALUES ('44444444-dddd', 3, 'changed', '{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":1000000,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":["x-retries","y-*"],"reason":"the price service is away now and then","dlq_topics":["dlq\\.orders"],"filter":"connector == \"orders-sink\"","exclude_error_classes":["org.apache.kafka.common.errors.SerializationException"],"excluded":"park","include_existing":true,"enabled":true}', 'alice', 1799992800000);
INSERT INTO public.redrive_written VALUES ('kafka_cluster', 'target_topic', 1800000000000, 1800000000000, 1800000000000, 'order_id', 1800000000000);
INSERT INTO public.series VALUES ('dead_letters', '{"kafka_cluster":"default","dlq_topic":"dlq.orders","source_topic":"orders","dialect":"connect","consumergroup":"","connector":"","error_class":""}', 20790, 1799982000000, 1799999880000, '{}');
INSERT INTO public.series VALUES ('dead_letters', '{"kafka_cluster":"default","dlq_topic":"dlq.payments","source_topic":"payments","dialect":"spring","consumergroup":"","connector":"","error_class":""}', 318, 1799982000000, 1799999880000, '{}');
INSERT INTO public.series VALUES ('task_timeouts', '{"kafka_cluster":"default","application":"wordcount","task":"0_1"}', 3, 1799982000000, 1799999880000, '{"elapsed_ms": 4006, "message": "Task 0_1 did not make progress within 4006 ms."}');
INSERT INTO public.series VALUES ('delivery_timeout_batches', '{"kafka_cluster":"default","topic":"orders","client_id":"checkout-1","client":"java"}', 7, 1799982000000, 1799999880000, '{"elapsed_ms": 120004, "message": "Expiring 3 record(s) for orders-0:120004 ms has passed since batch creation"}');
INSERT INTO public.series VALUES ('delivery_timeout_records', '{"kafka_cluster":"default","topic":"orders","client_id":"checkout-1","client":"java"}', 21, 1799982000000, 1799999880000, '{}');
INSERT INTO public.series VALUES ('redrive_records', '{"kafka_cluster":"default","dlq_topic":"dlq.orders","target_topic":"dlq.orders.parked","outcome":"parked"}', 14, 1799982000000, 1799999880000, '{}');
INSERT INTO public.series VALUES ('redrive_orders', '{"order":"11111111-aaaa","outcome":"sent","outcome_reason":""}', 640, 1799982000000, 1799999880000, '{}');
INSERT INTO public.series VALUES ('redrive_orders', '{"order":"11111111-aaaa","outcome":"bounced","outcome_reason":""}', 12, 1799982000000, 1799999880000, '{}');
INSERT INTO public.series VALUES ('redrive_orders', '{"order":"11111111-aaaa","outcome":"skipped","outcome_reason":"no_origin"}', 3, 1799982000000, 1799999880000, '{}');
INSERT INTO public.series VALUES ('redrive_orders', '{"order":"22222222-bbbb","outcome":"sent","outcome_reason":""}', 41, 1799982000000, 1799999880000, '{}');
INSERT INTO public.share_groups VALUES ('kafka_cluster', 'consumergroup', 'broker', 1800000000000, 1800000000000, 1800000000000, 1800000000000, 1800000000000, 1800000000000, 1800000000000);
INSERT INTO public.share_returns VALUES ('kafka_cluster', 'dlq_topic', 'fingerprint', 'source_topic', 1800000000000, 1800000000000, 1800000000000, 1800000000000);
INSERT INTO public.sources VALUES ('logs:/var/log/connect.log', 'logs', true, '', 1799999280000, 1800003600000);
INSERT INTO public.sources VALUES ('streaming', 'streaming', true, '', 1799999280000, 1800003600000);
INSERT INTO public.sources VALUES ('redrive-1', 'redrive', true, '', 1799999280000, 1800003600000);
INSERT INTO public.sources VALUES ('connect:10.0.0.8:8083', 'connect', false, 'connection refused', 1799999280000, 1800003600000);
INSERT INTO public.stream_figures VALUES ('name', 'subject', 1800000000000);
INSERT INTO public.task_timers VALUES ('kafka_cluster', 'streams_client', 'task', 'thread', 'application', 'said_by', 'call', 1800000000000, 1800000000000, 1800000000000, true, 'message');
INSERT INTO public.tokens VALUES ('id', 'name', 'role', 'digest', 'created_by', 1800000000000, 1800000000000, 1800000000000, 'revoked_by', 1800000000000);
SELECT pg_catalog.setval('public.audit_number_seq', 1, false);
ALTER TABLE ONLY public.abandoned
    ADD CONSTRAINT abandoned_pkey PRIMARY KEY (kafka_cluster, worker, connector, task);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.batches
    ADD CONSTRAINT batches_pkey PRIMARY KEY (query_id);
ALTER TABLE ONLY public.bucketed_series
    ADD CONSTRAINT bucketed_series_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.buckets
    ADD CONSTRAINT buckets_pkey PRIMARY KEY (series, tier, start_s);
ALTER TABLE ONLY public.collector_counts
    ADD CONSTRAINT collector_counts_pkey PRIMARY KEY (kafka_cluster, collector, name, subject);
ALTER TABLE ONLY public.connect_tasks
    ADD CONSTRAINT connect_tasks_pkey PRIMARY KEY (kafka_cluster, worker, connector, task);
ALTER TABLE ONLY public.dead_letter_group_notes
    ADD CONSTRAINT dead_letter_group_notes_pkey PRIMARY KEY (fingerprint);
ALTER TABLE ONLY public.dead_letter_group_trends
    ADD CONSTRAINT dead_letter_group_trends_pkey PRIMARY KEY (fingerprint, hour_s);
ALTER TABLE ONLY public.dead_letter_groups
    ADD CONSTRAINT dead_letter_groups_pkey PRIMARY KEY (fingerprint);
ALTER TABLE ONLY public.dead_letter_samples
    ADD CONSTRAINT dead_letter_samples_pkey PRIMARY KEY (fingerprint, dlq_topic, partition, "offset");
ALTER TABLE ONLY public.dead_letter_topics
    ADD CONSTRAINT dead_letter_topics_pkey PRIMARY KEY (kafka_cluster, dlq_topic);
ALTER TABLE ONLY public.deadwatch_version
    ADD CONSTRAINT deadwatch_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.findings
    ADD CONSTRAINT findings_pkey PRIMARY KEY (kafka_cluster, kind, subject);
ALTER TABLE ONLY public.instances
    ADD CONSTRAINT instances_pkey PRIMARY KEY (kafka_cluster, worker, connector, task);
ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.marks
    ADD CONSTRAINT marks_pkey PRIMARY KEY (source);
ALTER TABLE ONLY public.offsets
    ADD CONSTRAINT offsets_pkey PRIMARY KEY (topic, partition);
ALTER TABLE ONLY public.read_topics
    ADD CONSTRAINT read_topics_pkey PRIMARY KEY (topic);
ALTER TABLE ONLY public.redrive_ends
    ADD CONSTRAINT redrive_ends_pkey PRIMARY KEY (dlq_topic, partition);
ALTER TABLE ONLY public.redrive_handled
    ADD CONSTRAINT redrive_handled_pkey PRIMARY KEY (dlq_topic, dlq_topic_id, partition, block, outcome);
ALTER TABLE ONLY public.redrive_orders
    ADD CONSTRAINT redrive_orders_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.redrive_policies
    ADD CONSTRAINT redrive_policies_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.redrive_policy_changes
    ADD CONSTRAINT redrive_policy_changes_pkey PRIMARY KEY (policy, version);
ALTER TABLE ONLY public.redrive_written
    ADD CONSTRAINT redrive_written_pkey PRIMARY KEY (kafka_cluster, target_topic, partition, first_offset);
ALTER TABLE ONLY public.series
    ADD CONSTRAINT series_pkey PRIMARY KEY (name, labels);
ALTER TABLE ONLY public.share_groups
    ADD CONSTRAINT share_groups_pkey PRIMARY KEY (kafka_cluster, consumergroup, broker);
ALTER TABLE ONLY public.share_returns
    ADD CONSTRAINT share_returns_pkey PRIMARY KEY (kafka_cluster, dlq_topic, fingerprint, source_topic, partition, first_offset);
ALTER TABLE ONLY public.sources
    ADD CONSTRAINT sources_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.stream_figures
    ADD CONSTRAINT stream_figures_pkey PRIMARY KEY (name, subject);
ALTER TABLE ONLY public.task_timers
    ADD CONSTRAINT task_timers_pkey PRIMARY KEY (kafka_cluster, streams_client, task, thread);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);
CREATE INDEX audit_by_action ON public.audit USING btree (action, number);
CREATE INDEX audit_by_time ON public.audit USING btree (at_ms);
CREATE INDEX audit_by_who ON public.audit USING btree (who, number);
CREATE UNIQUE INDEX bucketed_series_by_name ON public.bucketed_series USING btree (name, labels);
CREATE INDEX dead_letter_group_trends_by_hour ON public.dead_letter_group_trends USING btree (hour_s);
CREATE INDEX dead_letter_groups_by_first ON public.dead_letter_groups USING btree (first_ms, fingerprint);
CREATE INDEX dead_letter_groups_by_last ON public.dead_letter_groups USING btree (last_ms, fingerprint);
CREATE INDEX dead_letter_groups_by_records ON public.dead_letter_groups USING btree (records, fingerprint);
CREATE INDEX redrive_orders_by_creation ON public.redrive_orders USING btree (created_at_ms, id);
CREATE INDEX redrive_orders_by_policy ON public.redrive_orders USING btree (policy, created_at_ms, id);
CREATE INDEX redrive_orders_by_status ON public.redrive_orders USING btree (status, created_at_ms);
ALTER TABLE ONLY public.buckets
    ADD CONSTRAINT buckets_series_fkey FOREIGN KEY (series) REFERENCES public.bucketed_series(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.dead_letter_group_notes
    ADD CONSTRAINT dead_letter_group_notes_fingerprint_fkey FOREIGN KEY (fingerprint) REFERENCES public.dead_letter_groups(fingerprint) ON DELETE CASCADE;
ALTER TABLE ONLY public.dead_letter_group_trends
    ADD CONSTRAINT dead_letter_group_trends_fingerprint_fkey FOREIGN KEY (fingerprint) REFERENCES public.dead_letter_groups(fingerprint) ON DELETE CASCADE;
ALTER TABLE ONLY public.dead_letter_samples
    ADD CONSTRAINT dead_letter_samples_fingerprint_fkey FOREIGN KEY (fingerprint) REFERENCES public.dead_letter_groups(fingerprint) ON DELETE CASCADE;
