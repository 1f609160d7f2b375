BEGIN TRANSACTION;
CREATE TABLE abandoned (
	kafka_cluster TEXT NOT NULL, 
	worker TEXT NOT NULL, 
	connector TEXT NOT NULL, 
	task TEXT NOT NULL, 
	logged_total BIGINT NOT NULL, 
	logged_current BIGINT NOT NULL, 
	seen_total BIGINT NOT NULL, 
	seen_current BIGINT NOT NULL, 
	seen BOOLEAN NOT NULL, 
	first_ms BIGINT NOT NULL, 
	last_ms BIGINT NOT NULL, 
	message TEXT NOT NULL, 
	PRIMARY KEY (kafka_cluster, worker, connector, task)
);
INSERT INTO "abandoned" VALUES('default','10.0.0.7:8083','pipe','0',2,1,2,1,1,1799967600000,1799998980000,'Graceful stop of task pipe-0 failed.');
CREATE TABLE audit (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at_ms BIGINT NOT NULL, 
	who TEXT NOT NULL, 
	role TEXT NOT NULL, 
	token TEXT NOT NULL, 
	action TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	why TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	request_id TEXT NOT NULL, 
	address TEXT NOT NULL
);
INSERT INTO "audit" VALUES(1800000000000,1800000000000,'who','role','token','action','subject','why','outcome','request_id','address');
CREATE TABLE batches (
	query_id TEXT NOT NULL, 
	batch_id BIGINT NOT NULL, 
	committed_at_ms BIGINT NOT NULL, 
	duration_ms BIGINT NOT NULL, 
	records BIGINT NOT NULL, 
	lag_ms BIGINT NOT NULL, 
	PRIMARY KEY (query_id)
);
INSERT INTO "batches" VALUES('q',1,1799999999300,131,64,240);
CREATE TABLE bucketed_series (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	labels TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "bucketed_series" VALUES(1,'dead_letters','{"kafka_cluster":"default","dlq_topic":"dlq.orders","source_topic":"orders","dialect":"connect","consumergroup":"","connector":"","error_class":""}');
INSERT INTO "bucketed_series" VALUES(2,'dead_letters','{"kafka_cluster":"default","dlq_topic":"dlq.payments","source_topic":"payments","dialect":"spring","consumergroup":"","connector":"","error_class":""}');
INSERT INTO "bucketed_series" VALUES(3,'task_timeouts','{"kafka_cluster":"default","application":"wordcount","task":"0_1"}');
INSERT INTO "bucketed_series" VALUES(4,'delivery_timeout_batches','{"kafka_cluster":"default","topic":"orders","client_id":"checkout-1","client":"java"}');
INSERT INTO "bucketed_series" VALUES(5,'delivery_timeout_records','{"kafka_cluster":"default","topic":"orders","client_id":"checkout-1","client":"java"}');
INSERT INTO "bucketed_series" VALUES(6,'redrive_records','{"kafka_cluster":"default","dlq_topic":"dlq.orders","target_topic":"dlq.orders.parked","outcome":"parked"}');
INSERT INTO "bucketed_series" VALUES(7,'redrive_orders','{"order":"11111111-aaaa","outcome":"sent","outcome_reason":""}');
INSERT INTO "bucketed_series" VALUES(8,'redrive_orders','{"order":"11111111-aaaa","outcome":"bounced","outcome_reason":""}');
INSERT INTO "bucketed_series" VALUES(9,'redrive_orders','{"order":"11111111-aaaa","outcome":"skipped","outcome_reason":"no_origin"}');
INSERT INTO "bucketed_series" VALUES(10,'redrive_orders','{"order":"22222222-bbbb","outcome":"sent","outcome_reason":""}');
CREATE TABLE buckets (
	series INTEGER NOT NULL, 
	tier SMALLINT NOT NULL, 
	start_s BIGINT NOT NULL, 
	value BIGINT NOT NULL, 
	PRIMARY KEY (series, tier, start_s), 
	FOREIGN KEY(series) REFERENCES bucketed_series (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "buckets" VALUES(1,0,1799993010,10);
INSERT INTO "buckets" VALUES(1,0,1799993040,5);
INSERT INTO "buckets" VALUES(1,0,1799993070,17);
INSERT INTO "buckets" VALUES(1,0,1799993100,12);
INSERT INTO "buckets" VALUES(1,0,1799993130,7);
INSERT INTO "buckets" VALUES(1,0,1799993160,2);
INSERT INTO "buckets" VALUES(1,0,1799993190,14);
INSERT INTO "buckets" VALUES(1,0,1799993220,9);
INSERT INTO "buckets" VALUES(1,0,1799993250,4);
INSERT INTO "buckets" VALUES(1,0,1799993280,16);
INSERT INTO "buckets" VALUES(1,0,1799993310,11);
INSERT INTO "buckets" VALUES(1,0,1799993340,6);
INSERT INTO "buckets" VALUES(1,0,1799993370,1);
INSERT INTO "buckets" VALUES(1,0,1799993400,13);
INSERT INTO "buckets" VALUES(1,0,1799993430,8);
INSERT INTO "buckets" VALUES(1,0,1799993460,3);
INSERT INTO "buckets" VALUES(1,0,1799993490,15);
INSERT INTO "buckets" VALUES(1,0,1799993520,10);
INSERT INTO "buckets" VALUES(1,0,1799993550,5);
INSERT INTO "buckets" VALUES(1,0,1799993580,17);
INSERT INTO "buckets" VALUES(1,0,1799993610,12);
INSERT INTO "buckets" VALUES(1,0,1799993640,7);
INSERT INTO "buckets" VALUES(1,0,1799993670,2);
INSERT INTO "buckets" VALUES(1,0,1799993700,14);
INSERT INTO "buckets" VALUES(1,0,1799993730,9);
INSERT INTO "buckets" VALUES(1,0,1799993760,4);
INSERT INTO "buckets" VALUES(1,0,1799993790,16);
INSERT INTO "buckets" VALUES(1,0,1799993820,11);
INSERT INTO "buckets" VALUES(1,0,1799993850,6);
INSERT INTO "buckets" VALUES(1,0,1799993880,1);
INSERT INTO "buckets" VALUES(1,0,1799993910,13);
INSERT INTO "buckets" VALUES(1,0,1799993940,8);
INSERT INTO "buckets" VALUES(1,0,1799993970,3);
INSERT INTO "buckets" VALUES(1,0,1799994000,15);
INSERT INTO "buckets" VALUES(1,0,1799994030,10);
INSERT INTO "buckets" VALUES(1,0,1799994060,5);
INSERT INTO "buckets" VALUES(1,0,1799994090,17);
INSERT INTO "buckets" VALUES(1,0,1799994120,12);
INSERT INTO "buckets" VALUES(1,0,1799994150,7);
INSERT INTO "buckets" VALUES(1,0,1799994180,2);
INSERT INTO "buckets" VALUES(1,0,1799994210,14);
INSERT INTO "buckets" VALUES(1,0,1799994240,9);
INSERT INTO "buckets" VALUES(1,0,1799994270,4);
INSERT INTO "buckets" VALUES(1,0,1799994300,16);
INSERT INTO "buckets" VALUES(1,0,1799994330,11);
INSERT INTO "buckets" VALUES(1,0,1799994360,6);
INSERT INTO "buckets" VALUES(1,0,1799994390,1);
INSERT INTO "buckets" VALUES(1,0,1799994420,13);
INSERT INTO "buckets" VALUES(1,0,1799994450,8);
INSERT INTO "buckets" VALUES(1,0,1799994480,3);
INSERT INTO "buckets" VALUES(1,0,1799994510,15);
INSERT INTO "buckets" VALUES(1,0,1799994540,10);
INSERT INTO "buckets" VALUES(1,0,1799994570,5);
INSERT INTO "buckets" VALUES(1,0,1799994600,17);
INSERT INTO "buckets" VALUES(1,0,1799994630,12);
INSERT INTO "buckets" VALUES(1,0,1799994660,7);
INSERT INTO "buckets" VALUES(1,0,1799994690,2);
INSERT INTO "buckets" VALUES(1,0,1799994720,14);
INSERT INTO "buckets" VALUES(1,0,1799994750,9);
INSERT INTO "buckets" VALUES(1,0,1799994780,4);
INSERT INTO "buckets" VALUES(1,0,1799994810,16);
INSERT INTO "buckets" VALUES(1,0,1799994840,11);
INSERT INTO "buckets" VALUES(1,0,1799994870,6);
INSERT INTO "buckets" VALUES(1,0,1799994900,1);
INSERT INTO "buckets" VALUES(1,0,1799994930,13);
INSERT INTO "buckets" VALUES(1,0,1799994960,8);
INSERT INTO "buckets" VALUES(1,0,1799994990,3);
INSERT INTO "buckets" VALUES(1,0,1799995020,15);
INSERT INTO "buckets" VALUES(1,0,1799995050,10);
INSERT INTO "buckets" VALUES(1,0,1799995080,5);
INSERT INTO "buckets" VALUES(1,0,1799995110,17);
INSERT INTO "buckets" VALUES(1,0,1799995140,12);
INSERT INTO "buckets" VALUES(1,0,1799995170,7);
INSERT INTO "buckets" VALUES(1,0,1799995200,2);
INSERT INTO "buckets" VALUES(1,0,1799995230,14);
INSERT INTO "buckets" VALUES(1,0,1799995260,9);
INSERT INTO "buckets" VALUES(1,0,1799995290,4);
INSERT INTO "buckets" VALUES(1,0,1799995320,16);
INSERT INTO "buckets" VALUES(1,0,1799995350,11);
INSERT INTO "buckets" VALUES(1,0,1799995380,6);
INSERT INTO "buckets" VALUES(1,0,1799995410,1);
INSERT INTO "buckets" VALUES(1,0,1799995440,13);
INSERT INTO "buckets" VALUES(1,0,1799995470,8);
INSERT INTO "buckets" VALUES(1,0,1799995500,3);
INSERT INTO "buckets" VALUES(1,0,1799995530,15);
INSERT INTO "buckets" VALUES(1,0,1799995560,10);
INSERT INTO "buckets" VALUES(1,0,1799995590,5);
INSERT INTO "buckets" VALUES(1,0,1799995620,17);
INSERT INTO "buckets" VALUES(1,0,1799995650,12);
INSERT INTO "buckets" VALUES(1,0,1799995680,7);
INSERT INTO "buckets" VALUES(1,0,1799995710,2);
INSERT INTO "buckets" VALUES(1,0,1799995740,14);
INSERT INTO "buckets" VALUES(1,0,1799995770,9);
INSERT INTO "buckets" VALUES(1,0,1799995800,4);
INSERT INTO "buckets" VALUES(1,0,1799995830,16);
INSERT INTO "buckets" VALUES(1,0,1799995860,11);
INSERT INTO "buckets" VALUES(1,0,1799995890,6);
INSERT INTO "buckets" VALUES(1,0,1799995920,1);
INSERT INTO "buckets" VALUES(1,0,1799995950,13);
INSERT INTO "buckets" VALUES(1,0,1799995980,8);
INSERT INTO "buckets" VALUES(1,0,1799996010,3);
INSERT INTO "buckets" VALUES(1,0,1799996040,15);
INSERT INTO "buckets" VALUES(1,0,1799996070,10);
INSERT INTO "buckets" VALUES(1,0,1799996100,5);
INSERT INTO "buckets" VALUES(1,0,1799996130,17);
INSERT INTO "buckets" VALUES(1,0,1799996160,12);
INSERT INTO "buckets" VALUES(1,0,1799996190,7);
INSERT INTO "buckets" VALUES(1,0,1799996220,2);
INSERT INTO "buckets" VALUES(1,0,1799996250,14);
INSERT INTO "buckets" VALUES(1,0,1799996280,9);
INSERT INTO "buckets" VALUES(1,0,1799996310,4);
INSERT INTO "buckets" VALUES(1,0,1799996340,16);
INSERT INTO "buckets" VALUES(1,0,1799996370,11);
INSERT INTO "buckets" VALUES(1,0,1799996400,6);
INSERT INTO "buckets" VALUES(1,0,1799996430,1);
INSERT INTO "buckets" VALUES(1,0,1799996460,13);
INSERT INTO "buckets" VALUES(1,0,1799996490,8);
INSERT INTO "buckets" VALUES(1,0,1799996520,3);
INSERT INTO "buckets" VALUES(1,0,1799996550,15);
INSERT INTO "buckets" VALUES(1,0,1799996580,10);
INSERT INTO "buckets" VALUES(1,0,1799996610,5);
INSERT INTO "buckets" VALUES(1,0,1799996640,17);
INSERT INTO "buckets" VALUES(1,0,1799996670,12);
INSERT INTO "buckets" VALUES(1,0,1799996700,7);
INSERT INTO "buckets" VALUES(1,0,1799996730,2);
INSERT INTO "buckets" VALUES(1,0,1799996760,14);
INSERT INTO "buckets" VALUES(1,0,1799996790,9);
INSERT INTO "buckets" VALUES(1,0,1799996820,4);
INSERT INTO "buckets" VALUES(1,0,1799996850,16);
INSERT INTO "buckets" VALUES(1,0,1799996880,11);
INSERT INTO "buckets" VALUES(1,0,1799996910,6);
INSERT INTO "buckets" VALUES(1,0,1799996940,1);
INSERT INTO "buckets" VALUES(1,0,1799996970,13);
INSERT INTO "buckets" VALUES(1,0,1799997000,8);
INSERT INTO "buckets" VALUES(1,0,1799997030,3);
INSERT INTO "buckets" VALUES(1,0,1799997060,15);
INSERT INTO "buckets" VALUES(1,0,1799997090,10);
INSERT INTO "buckets" VALUES(1,0,1799997120,5);
INSERT INTO "buckets" VALUES(1,0,1799997150,17);
INSERT INTO "buckets" VALUES(1,0,1799997180,12);
INSERT INTO "buckets" VALUES(1,0,1799997210,7);
INSERT INTO "buckets" VALUES(1,0,1799997240,2);
INSERT INTO "buckets" VALUES(1,0,1799997270,14);
INSERT INTO "buckets" VALUES(1,0,1799997300,9);
INSERT INTO "buckets" VALUES(1,0,1799997330,4);
INSERT INTO "buckets" VALUES(1,0,1799997360,16);
INSERT INTO "buckets" VALUES(1,0,1799997390,11);
INSERT INTO "buckets" VALUES(1,0,1799997420,6);
INSERT INTO "buckets" VALUES(1,0,1799997450,1);
INSERT INTO "buckets" VALUES(1,0,1799997480,13);
INSERT INTO "buckets" VALUES(1,0,1799997510,8);
INSERT INTO "buckets" VALUES(1,0,1799997540,3);
INSERT INTO "buckets" VALUES(1,0,1799997570,15);
INSERT INTO "buckets" VALUES(1,0,1799997600,10);
INSERT INTO "buckets" VALUES(1,0,1799997630,5);
INSERT INTO "buckets" VALUES(1,0,1799997660,17);
INSERT INTO "buckets" VALUES(1,0,1799997690,12);
INSERT INTO "buckets" VALUES(1,0,1799997720,7);
INSERT INTO "buckets" VALUES(1,0,1799997750,2);
INSERT INTO "buckets" VALUES(1,0,1799997780,14);
INSERT INTO "buckets" VALUES(1,0,1799997810,9);
INSERT INTO "buckets" VALUES(1,0,1799997840,4);
INSERT INTO "buckets" VALUES(1,0,1799997870,16);
INSERT INTO "buckets" VALUES(1,0,1799997900,11);
INSERT INTO "buckets" VALUES(1,0,1799997930,6);
INSERT INTO "buckets" VALUES(1,0,1799997960,1);
INSERT INTO "buckets" VALUES(1,0,1799997990,13);
INSERT INTO "buckets" VALUES(1,0,1799998020,8);
INSERT INTO "buckets" VALUES(1,0,1799998050,3);
INSERT INTO "buckets" VALUES(1,0,1799998080,15);
INSERT INTO "buckets" VALUES(1,0,1799998110,10);
INSERT INTO "buckets" VALUES(1,0,1799998140,5);
INSERT INTO "buckets" VALUES(1,0,1799998170,17);
INSERT INTO "buckets" VALUES(1,0,1799998200,12);
INSERT INTO "buckets" VALUES(1,0,1799998230,7);
INSERT INTO "buckets" VALUES(1,0,1799998260,2);
INSERT INTO "buckets" VALUES(1,0,1799998290,14);
INSERT INTO "buckets" VALUES(1,0,1799998320,9);
INSERT INTO "buckets" VALUES(1,0,1799998350,4);
INSERT INTO "buckets" VALUES(1,0,1799998380,16);
INSERT INTO "buckets" VALUES(1,0,1799998410,11);
INSERT INTO "buckets" VALUES(1,0,1799998440,6);
INSERT INTO "buckets" VALUES(1,0,1799998470,1);
INSERT INTO "buckets" VALUES(1,0,1799998500,13);
INSERT INTO "buckets" VALUES(1,0,1799998530,8);
INSERT INTO "buckets" VALUES(1,0,1799998560,3);
INSERT INTO "buckets" VALUES(1,0,1799998590,15);
INSERT INTO "buckets" VALUES(1,0,1799998620,10);
INSERT INTO "buckets" VALUES(1,0,1799998650,5);
INSERT INTO "buckets" VALUES(1,0,1799998680,17);
INSERT INTO "buckets" VALUES(1,0,1799998710,12);
INSERT INTO "buckets" VALUES(1,0,1799998740,7);
INSERT INTO "buckets" VALUES(1,0,1799998770,2);
INSERT INTO "buckets" VALUES(1,0,1799998800,14);
INSERT INTO "buckets" VALUES(1,0,1799998830,9);
INSERT INTO "buckets" VALUES(1,0,1799998860,4);
INSERT INTO "buckets" VALUES(1,0,1799998890,16);
INSERT INTO "buckets" VALUES(1,0,1799998920,11);
INSERT INTO "buckets" VALUES(1,0,1799998950,6);
INSERT INTO "buckets" VALUES(1,0,1799998980,1);
INSERT INTO "buckets" VALUES(1,0,1799999010,13);
INSERT INTO "buckets" VALUES(1,0,1799999040,8);
INSERT INTO "buckets" VALUES(1,0,1799999070,3);
INSERT INTO "buckets" VALUES(1,0,1799999100,15);
INSERT INTO "buckets" VALUES(1,0,1799999130,10);
INSERT INTO "buckets" VALUES(1,0,1799999160,5);
INSERT INTO "buckets" VALUES(1,0,1799999190,17);
INSERT INTO "buckets" VALUES(1,0,1799999220,12);
INSERT INTO "buckets" VALUES(1,0,1799999250,7);
INSERT INTO "buckets" VALUES(1,0,1799999280,2);
INSERT INTO "buckets" VALUES(1,0,1799999310,14);
INSERT INTO "buckets" VALUES(1,0,1799999340,9);
INSERT INTO "buckets" VALUES(1,0,1799999370,4);
INSERT INTO "buckets" VALUES(1,0,1799999400,16);
INSERT INTO "buckets" VALUES(1,0,1799999430,11);
INSERT INTO "buckets" VALUES(1,0,1799999460,6);
INSERT INTO "buckets" VALUES(1,0,1799999490,1);
INSERT INTO "buckets" VALUES(1,0,1799999520,13);
INSERT INTO "buckets" VALUES(1,0,1799999550,8);
INSERT INTO "buckets" VALUES(1,0,1799999580,3);
INSERT INTO "buckets" VALUES(1,0,1799999610,15);
INSERT INTO "buckets" VALUES(1,0,1799999640,10);
INSERT INTO "buckets" VALUES(1,0,1799999670,5);
INSERT INTO "buckets" VALUES(1,0,1799999700,17);
INSERT INTO "buckets" VALUES(1,0,1799999730,12);
INSERT INTO "buckets" VALUES(1,0,1799999760,7);
INSERT INTO "buckets" VALUES(1,0,1799999790,2);
INSERT INTO "buckets" VALUES(1,0,1799999820,14);
INSERT INTO "buckets" VALUES(1,0,1799999850,9);
INSERT INTO "buckets" VALUES(1,0,1799999880,4);
INSERT INTO "buckets" VALUES(1,0,1799999910,16);
INSERT INTO "buckets" VALUES(1,0,1799999940,11);
INSERT INTO "buckets" VALUES(1,0,1799999970,6);
INSERT INTO "buckets" VALUES(1,0,1800000000,1);
INSERT INTO "buckets" VALUES(2,0,1799993010,10);
INSERT INTO "buckets" VALUES(2,0,1799993040,5);
INSERT INTO "buckets" VALUES(2,0,1799993070,17);
INSERT INTO "buckets" VALUES(2,0,1799993100,12);
INSERT INTO "buckets" VALUES(2,0,1799993130,7);
INSERT INTO "buckets" VALUES(2,0,1799993160,2);
INSERT INTO "buckets" VALUES(2,0,1799993190,14);
INSERT INTO "buckets" VALUES(2,0,1799993220,9);
INSERT INTO "buckets" VALUES(2,0,1799993250,4);
INSERT INTO "buckets" VALUES(2,0,1799993280,16);
INSERT INTO "buckets" VALUES(2,0,1799993310,11);
INSERT INTO "buckets" VALUES(2,0,1799993340,6);
INSERT INTO "buckets" VALUES(2,0,1799993370,1);
INSERT INTO "buckets" VALUES(2,0,1799993400,13);
INSERT INTO "buckets" VALUES(2,0,1799993430,8);
INSERT INTO "buckets" VALUES(2,0,1799993460,3);
INSERT INTO "buckets" VALUES(2,0,1799993490,15);
INSERT INTO "buckets" VALUES(2,0,1799993520,10);
INSERT INTO "buckets" VALUES(2,0,1799993550,5);
INSERT INTO "buckets" VALUES(2,0,1799993580,17);
INSERT INTO "buckets" VALUES(2,0,1799993610,12);
INSERT INTO "buckets" VALUES(2,0,1799993640,7);
INSERT INTO "buckets" VALUES(2,0,1799993670,2);
INSERT INTO "buckets" VALUES(2,0,1799993700,14);
INSERT INTO "buckets" VALUES(2,0,1799993730,9);
INSERT INTO "buckets" VALUES(2,0,1799993760,4);
INSERT INTO "buckets" VALUES(2,0,1799993790,16);
INSERT INTO "buckets" VALUES(2,0,1799993820,11);
INSERT INTO "buckets" VALUES(2,0,1799993850,6);
INSERT INTO "buckets" VALUES(2,0,1799993880,1);
INSERT INTO "buckets" VALUES(2,0,1799993910,13);
INSERT INTO "buckets" VALUES(2,0,1799993940,8);
INSERT INTO "buckets" VALUES(2,0,1799993970,3);
INSERT INTO "buckets" VALUES(2,0,1799994000,15);
INSERT INTO "buckets" VALUES(2,0,1799994030,10);
INSERT INTO "buckets" VALUES(2,0,1799994060,5);
INSERT INTO "buckets" VALUES(2,0,1799994090,17);
INSERT INTO "buckets" VALUES(2,0,1799994120,12);
INSERT INTO "buckets" VALUES(2,0,1799994150,7);
INSERT INTO "buckets" VALUES(2,0,1799994180,2);
INSERT INTO "buckets" VALUES(2,0,1799994210,14);
INSERT INTO "buckets" VALUES(2,0,1799994240,9);
INSERT INTO "buckets" VALUES(2,0,1799994270,4);
INSERT INTO "buckets" VALUES(2,0,1799994300,16);
INSERT INTO "buckets" VALUES(2,0,1799994330,11);
INSERT INTO "buckets" VALUES(2,0,1799994360,6);
INSERT INTO "buckets" VALUES(2,0,1799994390,1);
INSERT INTO "buckets" VALUES(2,0,1799994420,13);
INSERT INTO "buckets" VALUES(2,0,1799994450,8);
INSERT INTO "buckets" VALUES(2,0,1799994480,3);
INSERT INTO "buckets" VALUES(2,0,1799994510,15);
INSERT INTO "buckets" VALUES(2,0,1799994540,10);
INSERT INTO "buckets" VALUES(2,0,1799994570,5);
INSERT INTO "buckets" VALUES(2,0,1799994600,17);
INSERT INTO "buckets" VALUES(2,0,1799994630,12);
INSERT INTO "buckets" VALUES(2,0,1799994660,7);
INSERT INTO "buckets" VALUES(2,0,1799994690,2);
INSERT INTO "buckets" VALUES(2,0,1799994720,14);
INSERT INTO "buckets" VALUES(2,0,1799994750,9);
INSERT INTO "buckets" VALUES(2,0,1799994780,4);
INSERT INTO "buckets" VALUES(2,0,1799994810,16);
INSERT INTO "buckets" VALUES(2,0,1799994840,11);
INSERT INTO "buckets" VALUES(2,0,1799994870,6);
INSERT INTO "buckets" VALUES(2,0,1799994900,1);
INSERT INTO "buckets" VALUES(2,0,1799994930,13);
INSERT INTO "buckets" VALUES(2,0,1799994960,8);
INSERT INTO "buckets" VALUES(2,0,1799994990,3);
INSERT INTO "buckets" VALUES(2,0,1799995020,15);
INSERT INTO "buckets" VALUES(2,0,1799995050,10);
INSERT INTO "buckets" VALUES(2,0,1799995080,5);
INSERT INTO "buckets" VALUES(2,0,1799995110,17);
INSERT INTO "buckets" VALUES(2,0,1799995140,12);
INSERT INTO "buckets" VALUES(2,0,1799995170,7);
INSERT INTO "buckets" VALUES(2,0,1799995200,2);
INSERT INTO "buckets" VALUES(2,0,1799995230,14);
INSERT INTO "buckets" VALUES(2,0,1799995260,9);
INSERT INTO "buckets" VALUES(2,0,1799995290,4);
INSERT INTO "buckets" VALUES(2,0,1799995320,16);
INSERT INTO "buckets" VALUES(2,0,1799995350,11);
INSERT INTO "buckets" VALUES(2,0,1799995380,6);
INSERT INTO "buckets" VALUES(2,0,1799995410,1);
INSERT INTO "buckets" VALUES(2,0,1799995440,13);
INSERT INTO "buckets" VALUES(2,0,1799995470,8);
INSERT INTO "buckets" VALUES(2,0,1799995500,3);
INSERT INTO "buckets" VALUES(2,0,1799995530,15);
INSERT INTO "buckets" VALUES(2,0,1799995560,10);
INSERT INTO "buckets" VALUES(2,0,1799995590,5);
INSERT INTO "buckets" VALUES(2,0,1799995620,17);
INSERT INTO "buckets" VALUES(2,0,1799995650,12);
INSERT INTO "buckets" VALUES(2,0,1799995680,7);
INSERT INTO "buckets" VALUES(2,0,1799995710,2);
INSERT INTO "buckets" VALUES(2,0,1799995740,14);
INSERT INTO "buckets" VALUES(2,0,1799995770,9);
INSERT INTO "buckets" VALUES(2,0,1799995800,4);
INSERT INTO "buckets" VALUES(2,0,1799995830,16);
INSERT INTO "buckets" VALUES(2,0,1799995860,11);
INSERT INTO "buckets" VALUES(2,0,1799995890,6);
INSERT INTO "buckets" VALUES(2,0,1799995920,1);
INSERT INTO "buckets" VALUES(2,0,1799995950,13);
INSERT INTO "buckets" VALUES(2,0,1799995980,8);
INSERT INTO "buckets" VALUES(2,0,1799996010,3);
INSERT INTO "buckets" VALUES(2,0,1799996040,15);
INSERT INTO "buckets" VALUES(2,0,1799996070,10);
INSERT INTO "buckets" VALUES(2,0,1799996100,5);
INSERT INTO "buckets" VALUES(2,0,1799996130,17);
INSERT INTO "buckets" VALUES(2,0,1799996160,12);
INSERT INTO "buckets" VALUES(2,0,1799996190,7);
INSERT INTO "buckets" VALUES(2,0,1799996220,2);
INSERT INTO "buckets" VALUES(2,0,1799996250,14);
INSERT INTO "buckets" VALUES(2,0,1799996280,9);
INSERT INTO "buckets" VALUES(2,0,1799996310,4);
INSERT INTO "buckets" VALUES(2,0,1799996340,16);
INSERT INTO "buckets" VALUES(2,0,1799996370,11);
INSERT INTO "buckets" VALUES(2,0,1799996400,6);
INSERT INTO "buckets" VALUES(2,0,1799996430,1);
INSERT INTO "buckets" VALUES(2,0,1799996460,13);
INSERT INTO "buckets" VALUES(2,0,1799996490,8);
INSERT INTO "buckets" VALUES(2,0,1799996520,3);
INSERT INTO "buckets" VALUES(2,0,1799996550,15);
INSERT INTO "buckets" VALUES(2,0,1799996580,10);
INSERT INTO "buckets" VALUES(2,0,1799996610,5);
INSERT INTO "buckets" VALUES(2,0,1799996640,17);
INSERT INTO "buckets" VALUES(2,0,1799996670,12);
INSERT INTO "buckets" VALUES(2,0,1799996700,7);
INSERT INTO "buckets" VALUES(2,0,1799996730,2);
INSERT INTO "buckets" VALUES(2,0,1799996760,14);
INSERT INTO "buckets" VALUES(2,0,1799996790,9);
INSERT INTO "buckets" VALUES(2,0,1799996820,4);
INSERT INTO "buckets" VALUES(2,0,1799996850,16);
INSERT INTO "buckets" VALUES(2,0,1799996880,11);
INSERT INTO "buckets" VALUES(2,0,1799996910,6);
INSERT INTO "buckets" VALUES(2,0,1799996940,1);
INSERT INTO "buckets" VALUES(2,0,1799996970,13);
INSERT INTO "buckets" VALUES(2,0,1799997000,8);
INSERT INTO "buckets" VALUES(2,0,1799997030,3);
INSERT INTO "buckets" VALUES(2,0,1799997060,15);
INSERT INTO "buckets" VALUES(2,0,1799997090,10);
INSERT INTO "buckets" VALUES(2,0,1799997120,5);
INSERT INTO "buckets" VALUES(2,0,1799997150,17);
INSERT INTO "buckets" VALUES(2,0,1799997180,12);
INSERT INTO "buckets" VALUES(2,0,1799997210,7);
INSERT INTO "buckets" VALUES(2,0,1799997240,2);
INSERT INTO "buckets" VALUES(2,0,1799997270,14);
INSERT INTO "buckets" VALUES(2,0,1799997300,9);
INSERT INTO "buckets" VALUES(2,0,1799997330,4);
INSERT INTO "buckets" VALUES(2,0,1799997360,16);
INSERT INTO "buckets" VALUES(2,0,1799997390,11);
INSERT INTO "buckets" VALUES(2,0,1799997420,6);
INSERT INTO "buckets" VALUES(2,0,1799997450,1);
INSERT INTO "buckets" VALUES(2,0,1799997480,13);
INSERT INTO "buckets" VALUES(2,0,1799997510,8);
INSERT INTO "buckets" VALUES(2,0,1799997540,3);
INSERT INTO "buckets" VALUES(2,0,1799997570,15);
INSERT INTO "buckets" VALUES(2,0,1799997600,10);
INSERT INTO "buckets" VALUES(2,0,1799997630,5);
INSERT INTO "buckets" VALUES(2,0,1799997660,17);
INSERT INTO "buckets" VALUES(2,0,1799997690,12);
INSERT INTO "buckets" VALUES(2,0,1799997720,7);
INSERT INTO "buckets" VALUES(2,0,1799997750,2);
INSERT INTO "buckets" VALUES(2,0,1799997780,14);
INSERT INTO "buckets" VALUES(2,0,1799997810,9);
INSERT INTO "buckets" VALUES(2,0,1799997840,4);
INSERT INTO "buckets" VALUES(2,0,1799997870,16);
INSERT INTO "buckets" VALUES(2,0,1799997900,11);
INSERT INTO "buckets" VALUES(2,0,1799997930,6);
INSERT INTO "buckets" VALUES(2,0,1799997960,1);
INSERT INTO "buckets" VALUES(2,0,1799997990,13);
INSERT INTO "buckets" VALUES(2,0,1799998020,8);
INSERT INTO "buckets" VALUES(2,0,1799998050,3);
INSERT INTO "buckets" VALUES(2,0,1799998080,15);
INSERT INTO "buckets" VALUES(2,0,1799998110,10);
INSERT INTO "buckets" VALUES(2,0,1799998140,5);
INSERT INTO "buckets" VALUES(2,0,1799998170,17);
INSERT INTO "buckets" VALUES(2,0,1799998200,12);
INSERT INTO "buckets" VALUES(2,0,1799998230,7);
INSERT INTO "buckets" VALUES(2,0,1799998260,2);
INSERT INTO "buckets" VALUES(2,0,1799998290,14);
INSERT INTO "buckets" VALUES(2,0,1799998320,9);
INSERT INTO "buckets" VALUES(2,0,1799998350,4);
INSERT INTO "buckets" VALUES(2,0,1799998380,16);
INSERT INTO "buckets" VALUES(2,0,1799998410,11);
INSERT INTO "buckets" VALUES(2,0,1799998440,6);
INSERT INTO "buckets" VALUES(2,0,1799998470,1);
INSERT INTO "buckets" VALUES(2,0,1799998500,13);
INSERT INTO "buckets" VALUES(2,0,1799998530,8);
INSERT INTO "buckets" VALUES(2,0,1799998560,3);
INSERT INTO "buckets" VALUES(2,0,1799998590,15);
INSERT INTO "buckets" VALUES(2,0,1799998620,10);
INSERT INTO "buckets" VALUES(2,0,1799998650,5);
INSERT INTO "buckets" VALUES(2,0,1799998680,17);
INSERT INTO "buckets" VALUES(2,0,1799998710,12);
INSERT INTO "buckets" VALUES(2,0,1799998740,7);
INSERT INTO "buckets" VALUES(2,0,1799998770,2);
INSERT INTO "buckets" VALUES(2,0,1799998800,14);
INSERT INTO "buckets" VALUES(2,0,1799998830,9);
INSERT INTO "buckets" VALUES(2,0,1799998860,4);
INSERT INTO "buckets" VALUES(2,0,1799998890,16);
INSERT INTO "buckets" VALUES(2,0,1799998920,11);
INSERT INTO "buckets" VALUES(2,0,1799998950,6);
INSERT INTO "buckets" VALUES(2,0,1799998980,1);
INSERT INTO "buckets" VALUES(2,0,1799999010,13);
INSERT INTO "buckets" VALUES(2,0,1799999040,8);
INSERT INTO "buckets" VALUES(2,0,1799999070,3);
INSERT INTO "buckets" VALUES(2,0,1799999100,15);
INSERT INTO "buckets" VALUES(2,0,1799999130,10);
INSERT INTO "buckets" VALUES(2,0,1799999160,5);
INSERT INTO "buckets" VALUES(2,0,1799999190,17);
INSERT INTO "buckets" VALUES(2,0,1799999220,12);
INSERT INTO "buckets" VALUES(2,0,1799999250,7);
INSERT INTO "buckets" VALUES(2,0,1799999280,2);
INSERT INTO "buckets" VALUES(2,0,1799999310,14);
INSERT INTO "buckets" VALUES(2,0,1799999340,9);
INSERT INTO "buckets" VALUES(2,0,1799999370,4);
INSERT INTO "buckets" VALUES(2,0,1799999400,16);
INSERT INTO "buckets" VALUES(2,0,1799999430,11);
INSERT INTO "buckets" VALUES(2,0,1799999460,6);
INSERT INTO "buckets" VALUES(2,0,1799999490,1);
INSERT INTO "buckets" VALUES(2,0,1799999520,13);
INSERT INTO "buckets" VALUES(2,0,1799999550,8);
INSERT INTO "buckets" VALUES(2,0,1799999580,3);
INSERT INTO "buckets" VALUES(2,0,1799999610,15);
INSERT INTO "buckets" VALUES(2,0,1799999640,10);
INSERT INTO "buckets" VALUES(2,0,1799999670,5);
INSERT INTO "buckets" VALUES(2,0,1799999700,17);
INSERT INTO "buckets" VALUES(2,0,1799999730,12);
INSERT INTO "buckets" VALUES(2,0,1799999760,7);
INSERT INTO "buckets" VALUES(2,0,1799999790,2);
INSERT INTO "buckets" VALUES(2,0,1799999820,14);
INSERT INTO "buckets" VALUES(2,0,1799999850,9);
INSERT INTO "buckets" VALUES(2,0,1799999880,4);
INSERT INTO "buckets" VALUES(2,0,1799999910,16);
INSERT INTO "buckets" VALUES(2,0,1799999940,11);
INSERT INTO "buckets" VALUES(2,0,1799999970,6);
INSERT INTO "buckets" VALUES(2,0,1800000000,1);
INSERT INTO "buckets" VALUES(3,0,1799993500,1);
INSERT INTO "buckets" VALUES(3,0,1799994800,1);
INSERT INTO "buckets" VALUES(3,0,1799996100,1);
INSERT INTO "buckets" VALUES(3,0,1799997400,1);
INSERT INTO "buckets" VALUES(3,0,1799998700,1);
INSERT INTO "buckets" VALUES(3,0,1800000000,1);
INSERT INTO "buckets" VALUES(4,0,1799993500,1);
INSERT INTO "buckets" VALUES(4,0,1799994800,1);
INSERT INTO "buckets" VALUES(4,0,1799996100,1);
INSERT INTO "buckets" VALUES(4,0,1799997400,1);
INSERT INTO "buckets" VALUES(4,0,1799998700,1);
INSERT INTO "buckets" VALUES(4,0,1800000000,1);
INSERT INTO "buckets" VALUES(5,0,1799993500,1);
INSERT INTO "buckets" VALUES(5,0,1799994800,1);
INSERT INTO "buckets" VALUES(5,0,1799996100,1);
INSERT INTO "buckets" VALUES(5,0,1799997400,1);
INSERT INTO "buckets" VALUES(5,0,1799998700,1);
INSERT INTO "buckets" VALUES(5,0,1800000000,1);
INSERT INTO "buckets" VALUES(6,0,1799993500,1);
INSERT INTO "buckets" VALUES(6,0,1799994800,1);
INSERT INTO "buckets" VALUES(6,0,1799996100,1);
INSERT INTO "buckets" VALUES(6,0,1799997400,1);
INSERT INTO "buckets" VALUES(6,0,1799998700,1);
INSERT INTO "buckets" VALUES(6,0,1800000000,1);
INSERT INTO "buckets" VALUES(7,0,1799996400,640);
INSERT INTO "buckets" VALUES(8,0,1799996400,12);
INSERT INTO "buckets" VALUES(9,0,1799996400,3);
INSERT INTO "buckets" VALUES(10,0,1799996400,41);
CREATE TABLE collector_counts (
	kafka_cluster TEXT NOT NULL, 
	collector TEXT NOT NULL, 
	name TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	started_at_ms BIGINT NOT NULL, 
	current BIGINT NOT NULL, 
	counted BIGINT NOT NULL, 
	total BIGINT NOT NULL, 
	PRIMARY KEY (kafka_cluster, collector, name, subject)
);
INSERT INTO "collector_counts" VALUES('kafka_cluster','collector','name','subject',1800000000000,1800000000000,1800000000000,1800000000000);
CREATE TABLE connect_tasks (
	kafka_cluster TEXT NOT NULL, 
	worker TEXT NOT NULL, 
	connector TEXT NOT NULL, 
	task TEXT NOT NULL, 
	source TEXT NOT NULL, 
	connect_cluster TEXT NOT NULL, 
	state TEXT NOT NULL, 
	counted BOOLEAN NOT NULL, 
	started_at_ms BIGINT NOT NULL, 
	records BIGINT NOT NULL, 
	record_failures BIGINT NOT NULL, 
	record_errors BIGINT NOT NULL, 
	records_skipped BIGINT NOT NULL, 
	retries BIGINT NOT NULL, 
	errors_logged BIGINT NOT NULL, 
	dlq_produce_requests BIGINT NOT NULL, 
	dlq_produce_failures BIGINT NOT NULL, 
	record_failures_total BIGINT NOT NULL, 
	record_errors_total BIGINT NOT NULL, 
	records_skipped_total BIGINT NOT NULL, 
	retries_total BIGINT NOT NULL, 
	errors_logged_total BIGINT NOT NULL, 
	dlq_produce_requests_total BIGINT NOT NULL, 
	dlq_produce_failures_total BIGINT NOT NULL, 
	last_error_at_ms BIGINT NOT NULL, 
	judged BOOLEAN NOT NULL, 
	stalled_since_ms BIGINT NOT NULL, 
	stalled_because TEXT NOT NULL, 
	observed_at_ms BIGINT NOT NULL, 
	PRIMARY KEY (kafka_cluster, worker, connector, task)
);
INSERT INTO "connect_tasks" VALUES('default','10.0.0.7:8083','orders-sink','0','','http://10.0.0.7:8083','RUNNING',1,0,0,0,0,0,0,0,0,0,0,20412,20412,0,0,20412,0,1799999880000,1,0,'',1799999996000);
INSERT INTO "connect_tasks" VALUES('default','10.0.0.7:8083','ledger-sink','1','','http://10.0.0.7:8083','RUNNING',1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,1799997600000,'1 204 records of ledger-1 wait and its committed offset has not moved',1799999996000);
CREATE TABLE dead_letter_group_notes (
	fingerprint TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	owner TEXT NOT NULL, 
	comment TEXT NOT NULL, 
	archive_reason TEXT NOT NULL, 
	archived_at_ms BIGINT NOT NULL, 
	archived_records BIGINT NOT NULL, 
	changed_by TEXT NOT NULL, 
	changed_at_ms BIGINT NOT NULL, 
	PRIMARY KEY (fingerprint), 
	FOREIGN KEY(fingerprint) REFERENCES dead_letter_groups (fingerprint) ON DELETE CASCADE
);
INSERT INTO "dead_letter_group_notes" VALUES('3f1c0a9be27d4455',1800000000000,'owner','comment','archive_reason',1800000000000,1800000000000,'changed_by',1800000000000);
CREATE TABLE dead_letter_group_trends (
	fingerprint TEXT NOT NULL, 
	hour_s BIGINT NOT NULL, 
	records BIGINT NOT NULL, 
	PRIMARY KEY (fingerprint, hour_s), 
	FOREIGN KEY(fingerprint) REFERENCES dead_letter_groups (fingerprint) ON DELETE CASCADE
);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1800000000,12);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799996400,292);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799992800,132);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799989200,412);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799985600,252);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799982000,92);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799978400,372);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799974800,212);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799971200,52);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799967600,332);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799964000,172);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799960400,12);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799956800,292);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799953200,132);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799949600,412);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799946000,252);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799942400,92);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799938800,372);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799935200,212);
INSERT INTO "dead_letter_group_trends" VALUES('3f1c0a9be27d4455',1799931600,52);
INSERT INTO "dead_letter_group_trends" VALUES('a4d2c0ffee112233',1800000000,318);
CREATE TABLE dead_letter_groups (
	fingerprint TEXT NOT NULL, 
	kafka_cluster TEXT NOT NULL, 
	dlq_topic TEXT NOT NULL, 
	dialect TEXT NOT NULL, 
	source_topic TEXT NOT NULL, 
	consumer TEXT NOT NULL, 
	error_class TEXT NOT NULL, 
	message_pattern TEXT NOT NULL, 
	message TEXT NOT NULL, 
	records BIGINT NOT NULL, 
	first_ms BIGINT NOT NULL, 
	last_ms BIGINT NOT NULL, 
	PRIMARY KEY (fingerprint)
);
INSERT INTO "dead_letter_groups" VALUES('3f1c0a9be27d4455','default','dlq.orders','connect','orders','orders-sink','org.apache.kafka.connect.errors.DataException','Converting byte[] to Kafka Connect data failed at offset #','Converting byte[] to Kafka Connect data failed at offset 1042',20412,1799927880000,1799999880000);
INSERT INTO "dead_letter_groups" VALUES('a4d2c0ffee112233','default','dlq.payments','spring','payments','billing','com.example.billing.CurrencyMismatchException','Converting byte[] to Kafka Connect data failed at offset #','expected EUR, got USD for invoice 88121',318,1799998680000,1799999700000);
INSERT INTO "dead_letter_groups" VALUES('beef00112233aabb','default','dlq.shipping','share_group','shipping','shipping','RejectedRecordException','Converting byte[] to Kafka Connect data failed at offset #','Record was rejected by the consumer.',41,1799917200000,1799989200000);
INSERT INTO "dead_letter_groups" VALUES('cafe00112233aabb','default','wordcount-dlq','streams','lines','wordcount','org.apache.kafka.common.errors.SerializationException','Converting byte[] to Kafka Connect data failed at offset #','Size of data received by LongDeserializer is not 8',7,1799926200000,1799998200000);
INSERT INTO "dead_letter_groups" VALUES('badbadbadbadbad0','default','dlq.orders','connect','<script>document.title=''owned''</script><img src=x onerror="document.title=''owned''">‮gnp.exe [31mred[0m {{7*7}} '' " `','<script>document.title=''owned''</script><img src=x onerror="document.title=''owned''">‮gnp.exe [31mred[0m {{7*7}} '' " `','com.evil.<script>document.title=''owned''</script><img src=x onerror="document.title=''owned''">‮gnp.exe [31mred[0m {{7*7}} '' " `','Converting byte[] to Kafka Connect data failed at offset #','<script>document.title=''owned''</script><img src=x onerror="document.title=''owned''">‮gnp.exe [31mred[0m {{7*7}} '' " `',12,1799927400000,1799999400000);
CREATE TABLE dead_letter_samples (
	fingerprint TEXT NOT NULL, 
	dlq_topic TEXT NOT NULL, 
	partition BIGINT NOT NULL, 
	"offset" BIGINT NOT NULL, 
	timestamp_ms BIGINT NOT NULL, 
	headers TEXT NOT NULL, 
	"key" BLOB, 
	value BLOB, 
	key_bytes BIGINT NOT NULL, 
	value_bytes BIGINT NOT NULL, 
	PRIMARY KEY (fingerprint, dlq_topic, partition, "offset"), 
	FOREIGN KEY(fingerprint) REFERENCES dead_letter_groups (fingerprint) ON DELETE CASCADE
);
INSERT INTO "dead_letter_samples" VALUES('3f1c0a9be27d4455','dlq.orders',0,42,1799999958000,'[["__connect.errors.topic", "orders"], ["__connect.errors.partition", "0"], ["__connect.errors.offset", "462"], ["__connect.errors.stage", "VALUE_CONVERTER"], ["__connect.errors.exception.stacktrace", "org.apache.kafka.connect.errors.DataException: Converting byte[] to Kafka Connect data failed\n\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:331)\n\tat org.apache.kafka.connect.runtime.WorkerSinkTask.convertValue(WorkerSinkTask.java:545)\n\tat com.example.orders.PriceTransform.apply(PriceTransform.java:42)\n\tat org.apache.kafka.connect.runtime.TransformationChain.apply(TransformationChain.java:54)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\nCaused by: com.example.orders.NoPriceException: no price for article 4711\n\tat com.example.orders.Prices.of(Prices.java:17)\n\t... 12 more"], ["tenant", "globex"]]',NULL,X'7B226F72646572223A2031372C20227072696365223A206E756C6C7D',-1,28);
INSERT INTO "dead_letter_samples" VALUES('3f1c0a9be27d4455','dlq.orders',0,43,1799999957000,'[["__connect.errors.topic", "orders"], ["__connect.errors.partition", "1"], ["__connect.errors.offset", "473"], ["__connect.errors.stage", "VALUE_CONVERTER"], ["__connect.errors.exception.stacktrace", "org.apache.kafka.connect.errors.DataException: Converting byte[] to Kafka Connect data failed\n\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:331)\n\tat org.apache.kafka.connect.runtime.WorkerSinkTask.convertValue(WorkerSinkTask.java:545)\n\tat com.example.orders.PriceTransform.apply(PriceTransform.java:42)\n\tat org.apache.kafka.connect.runtime.TransformationChain.apply(TransformationChain.java:54)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\nCaused by: com.example.orders.NoPriceException: no price for article 4711\n\tat com.example.orders.Prices.of(Prices.java:17)\n\t... 12 more"], ["tenant", "acme"]]',NULL,X'7B226F72646572223A2031372C20227072696365223A206E756C6C7D',-1,28);
INSERT INTO "dead_letter_samples" VALUES('3f1c0a9be27d4455','dlq.orders',0,57,1799999943000,'[["__connect.errors.topic", "orders"], ["__connect.errors.partition", "0"], ["__connect.errors.offset", "627"], ["__connect.errors.stage", "VALUE_CONVERTER"], ["__connect.errors.exception.stacktrace", "org.apache.kafka.connect.errors.DataException: Converting byte[] to Kafka Connect data failed\n\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:331)\n\tat org.apache.kafka.connect.runtime.WorkerSinkTask.convertValue(WorkerSinkTask.java:545)\n\tat com.example.orders.PriceTransform.apply(PriceTransform.java:42)\n\tat org.apache.kafka.connect.runtime.TransformationChain.apply(TransformationChain.java:54)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\nCaused by: com.example.orders.NoPriceException: no price for article 4711\n\tat com.example.orders.Prices.of(Prices.java:17)\n\t... 12 more"], ["tenant", "acme"]]',NULL,X'7B226F72646572223A2031372C20227072696365223A206E756C6C7D',-1,28);
INSERT INTO "dead_letter_samples" VALUES('badbadbadbadbad0','dlq.orders',0,1,1799999999000,'[]',NULL,NULL,-1,-1);
CREATE TABLE dead_letter_topics (
	kafka_cluster TEXT NOT NULL, 
	dlq_topic TEXT NOT NULL, 
	source TEXT NOT NULL, 
	partitions BIGINT NOT NULL, 
	records BIGINT NOT NULL, 
	oldest_at_ms BIGINT NOT NULL, 
	named_by TEXT NOT NULL, 
	read BOOLEAN NOT NULL, 
	observed_at_ms BIGINT NOT NULL, 
	PRIMARY KEY (kafka_cluster, dlq_topic)
);
INSERT INTO "dead_letter_topics" VALUES('default','dlq.orders','',3,20102,1799982000000,'connector orders-sink',1,1799999996000);
INSERT INTO "dead_letter_topics" VALUES('default','dlq.payments','',3,318,1799982000000,'connector orders-sink',1,1799999996000);
INSERT INTO "dead_letter_topics" VALUES('default','dlq.ledger','',3,0,0,'connector orders-sink',0,1799999996000);
INSERT INTO "dead_letter_topics" VALUES('default','dlq.orders.parked','',3,14,1799982000000,'connector orders-sink',1,1799999996000);
CREATE TABLE deadwatch_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT deadwatch_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "deadwatch_version" VALUES('0008');
CREATE TABLE findings (
	kafka_cluster TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	source TEXT NOT NULL, 
	message TEXT NOT NULL, 
	change TEXT NOT NULL, 
	first_ms BIGINT NOT NULL, 
	observed_at_ms BIGINT NOT NULL, 
	PRIMARY KEY (kafka_cluster, kind, subject)
);
INSERT INTO "findings" VALUES('default','dlq_compacted','topic:dlq.payments','','it is compacted: of dead letters with the same key only the last one stays','kafka-configs.sh --alter --topic dlq.payments --add-config cleanup.policy=delete',1799906400000,1799999996000);
CREATE TABLE instances (
	kafka_cluster TEXT NOT NULL, 
	worker TEXT NOT NULL, 
	connector TEXT NOT NULL, 
	task TEXT NOT NULL, 
	state TEXT NOT NULL, 
	abandoned BIGINT NOT NULL, 
	observed_at_ms BIGINT NOT NULL, 
	source TEXT NOT NULL, 
	state_since_ms BIGINT NOT NULL, 
	trace TEXT NOT NULL, 
	PRIMARY KEY (kafka_cluster, worker, connector, task)
);
INSERT INTO "instances" VALUES('default','10.0.0.7:8083','pipe','0','',1,1799999996000,'',0,'');
CREATE TABLE leases (
	name TEXT NOT NULL, 
	epoch BIGINT NOT NULL, 
	beats BIGINT NOT NULL, 
	ttl_ms BIGINT NOT NULL, 
	holder TEXT NOT NULL, 
	process TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "leases" VALUES('name',1800000000000,1800000000000,1800000000000,'holder','process');
CREATE TABLE marks (
	source TEXT NOT NULL, 
	epoch BIGINT NOT NULL, 
	"offset" BIGINT NOT NULL, 
	ordinal BIGINT NOT NULL, 
	PRIMARY KEY (source)
);
INSERT INTO "marks" VALUES('source',1800000000000,1800000000000,1800000000000);
CREATE TABLE offsets (
	topic TEXT NOT NULL, 
	partition BIGINT NOT NULL, 
	next_offset BIGINT NOT NULL, 
	PRIMARY KEY (topic, partition)
);
INSERT INTO "offsets" VALUES('topic',1800000000000,1800000000000);
CREATE TABLE read_topics (
	topic TEXT NOT NULL, 
	topic_id TEXT NOT NULL, 
	PRIMARY KEY (topic)
);
INSERT INTO "read_topics" VALUES('topic','topic_id');
CREATE TABLE redrive_ends (
	dlq_topic TEXT NOT NULL, 
	partition BIGINT NOT NULL, 
	end_offset BIGINT NOT NULL, 
	PRIMARY KEY (dlq_topic, partition)
);
INSERT INTO "redrive_ends" VALUES('dlq_topic',1800000000000,1800000000000);
CREATE TABLE redrive_handled (
	dlq_topic TEXT NOT NULL, 
	dlq_topic_id TEXT NOT NULL, 
	partition BIGINT NOT NULL, 
	block BIGINT NOT NULL, 
	outcome TEXT NOT NULL, 
	offsets BLOB NOT NULL, 
	PRIMARY KEY (dlq_topic, dlq_topic_id, partition, block, outcome)
);
INSERT INTO "redrive_handled" VALUES('dlq_topic','dlq_topic_id',1800000000000,1800000000000,'outcome',X'00FF6F666673657473');
CREATE TABLE redrive_orders (
	id TEXT NOT NULL, 
	dlq_topic TEXT NOT NULL, 
	dlq_topic_id TEXT NOT NULL, 
	request TEXT NOT NULL, 
	"begin" TEXT NOT NULL, 
	cut_off TEXT NOT NULL, 
	"plan" TEXT NOT NULL, 
	dry_run BOOLEAN NOT NULL, 
	requested_by TEXT NOT NULL, 
	idempotency_key TEXT NOT NULL, 
	status TEXT NOT NULL, 
	status_reason TEXT NOT NULL, 
	created_at_ms BIGINT NOT NULL, 
	finished_at_ms BIGINT NOT NULL, 
	worker TEXT NOT NULL, 
	epoch BIGINT NOT NULL, 
	expires_at_ms BIGINT NOT NULL, 
	policy TEXT NOT NULL, 
	waiting BIGINT NOT NULL, 
	proceeded_at_ms BIGINT NOT NULL, 
	sent_before BIGINT NOT NULL, 
	bounced_before BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "redrive_orders" VALUES('11111111-aaaa','dlq.orders','','{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":null,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":null,"reason":"converter fixed in 4.1","dlq_topic":"dlq.orders","selection":{"all":null,"group":"3f1c0a9be27d4455","filter":null,"offsets":null,"from":null,"to":null,"records":null},"dry_run":false,"confirm":null,"cut_off":null,"dlq_topic_id":null,"engine":"local","again":false}','{"0": 0, "1": 0}','{"0": 6667, "1": 6702}','{"to_move":20100,"at_least":false,"at_most":20112,"read":20430,"bytes":38000000,"targets":{"orders":20100},"to_park":12,"park_reasons":{"attempts_used_up":11,"error_class_excluded":1},"skip_reasons":{"no_origin":3,"target_missing":1},"rehydrated":0,"dropped_headers":{"retry_topic-attempts":20100},"filter_problems":{},"estimated_ms":402000,"examples":[{"partition":0,"offset":42,"timestamp_ms":1799996400000,"error_class":"org.apache.kafka.connect.errors.DataException","target_topic":"orders","target_partition":3,"skip_reason":""},{"partition":1,"offset":7,"timestamp_ms":1799996400000,"error_class":"","target_topic":"","target_partition":null,"skip_reason":"no_origin"}],"warnings":[]}',0,'alice','','RUNNING','',1799999880000,0,'',0,0,'',0,0,0,0);
INSERT INTO "redrive_orders" VALUES('22222222-bbbb','dlq.orders','','{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":null,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":null,"reason":"converter fixed in 4.1","dlq_topic":"dlq.orders","selection":{"all":null,"group":"3f1c0a9be27d4455","filter":null,"offsets":null,"from":null,"to":null,"records":null},"dry_run":false,"confirm":null,"cut_off":null,"dlq_topic_id":null,"engine":"local","again":false}','{"0": 0, "1": 0}','{"0": 6667, "1": 6702}','{"to_move":20100,"at_least":false,"at_most":20112,"read":20430,"bytes":38000000,"targets":{"orders":20100},"to_park":12,"park_reasons":{"attempts_used_up":11,"error_class_excluded":1},"skip_reasons":{"no_origin":3,"target_missing":1},"rehydrated":0,"dropped_headers":{"retry_topic-attempts":20100},"filter_problems":{},"estimated_ms":402000,"examples":[{"partition":0,"offset":42,"timestamp_ms":1799996400000,"error_class":"org.apache.kafka.connect.errors.DataException","target_topic":"orders","target_partition":3,"skip_reason":""},{"partition":1,"offset":7,"timestamp_ms":1799996400000,"error_class":"","target_topic":"","target_partition":null,"skip_reason":"no_origin"}],"warnings":[]}',0,'alice','','COMPLETED','',1799982000000,1799982060000,'',0,0,'',0,0,0,0);
INSERT INTO "redrive_orders" VALUES('33333333-cccc','dlq.orders','','{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":null,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":null,"reason":"converter fixed in 4.1","dlq_topic":"dlq.orders","selection":{"all":null,"group":"3f1c0a9be27d4455","filter":null,"offsets":null,"from":null,"to":null,"records":null},"dry_run":true,"confirm":null,"cut_off":null,"dlq_topic_id":null,"engine":"local","again":false}','{"0": 0, "1": 0}','{"0": 6667, "1": 6702}','{"to_move":20100,"at_least":false,"at_most":20112,"read":20430,"bytes":38000000,"targets":{"orders":20100},"to_park":12,"park_reasons":{"attempts_used_up":11,"error_class_excluded":1},"skip_reasons":{"no_origin":3,"target_missing":1},"rehydrated":0,"dropped_headers":{"retry_topic-attempts":20100},"filter_problems":{},"estimated_ms":402000,"examples":[{"partition":0,"offset":42,"timestamp_ms":1799996400000,"error_class":"org.apache.kafka.connect.errors.DataException","target_topic":"orders","target_partition":3,"skip_reason":""},{"partition":1,"offset":7,"timestamp_ms":1799996400000,"error_class":"","target_topic":"","target_partition":null,"skip_reason":"no_origin"}],"warnings":[]}',1,'alice','','COMPLETED','',1799999820000,1799999880000,'',0,0,'',0,0,0,0);
CREATE TABLE redrive_policies (
	id TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	request TEXT NOT NULL, 
	enabled BOOLEAN NOT NULL, 
	changed_by TEXT NOT NULL, 
	created_at_ms BIGINT NOT NULL, 
	changed_at_ms BIGINT NOT NULL, 
	positions TEXT NOT NULL, 
	topic_ids TEXT NOT NULL, 
	last_topic TEXT NOT NULL, 
	failures BIGINT NOT NULL, 
	status_reason TEXT NOT NULL, 
	next_at_ms BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "redrive_policies" VALUES('44444444-dddd',3,'{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":1000000,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":["x-retries","y-*"],"reason":"the price service is away now and then","dlq_topics":["dlq\\.orders"],"filter":"connector == \"orders-sink\"","exclude_error_classes":["org.apache.kafka.common.errors.SerializationException"],"excluded":"park","include_existing":true,"enabled":true}',1,'alice',1799906400000,1799992800000,'{"dlq.orders": {"0": 6667}}','{}','',0,'',0);
CREATE TABLE redrive_policy_changes (
	policy TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	change TEXT NOT NULL, 
	request TEXT NOT NULL, 
	changed_by TEXT NOT NULL, 
	changed_at_ms BIGINT NOT NULL, 
	PRIMARY KEY (policy, version)
);
INSERT INTO "redrive_policy_changes" VALUES('44444444-dddd',1,'created','{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":1000000,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":["x-retries","y-*"],"reason":"the price service is away now and then","dlq_topics":["dlq\\.orders"],"filter":"connector == \"orders-sink\"","exclude_error_classes":["org.apache.kafka.common.errors.SerializationException"],"excluded":"park","include_existing":true,"enabled":true}','alice',1799985600000);
INSERT INTO "redrive_policy_changes" VALUES('44444444-dddd',2,'changed','{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":1000000,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":["x-retries","y-*"],"reason":"the price service is away now and then","dlq_topics":["dlq\\.orders"],"filter":"connector == \"orders-sink\"","exclude_error_classes":["org.apache.kafka.common.errors.SerializationException"],"excluded":"park","include_existing":true,"enabled":true}','alice',1799989200000);
INSERT INTO "redrive_policy_changes" VALUES('44444444-dddd',3,'changed','{"target":{"kind":"origin"},"limits":{"records_per_second":50.0,"bytes_per_second":1000000,"max_records":null,"max_in_flight":1000,"per_target_records_per_second":null},"retry":{"max_attempts":5,"retry_backoff_ms":1000,"retry_backoff_max_ms":60000,"park_error_classes":[]},"guards":{"max_bounce_ratio":0.5,"max_consecutive_failures":100,"max_target_lag":null,"lag_group":null,"settle_window_ms":600000},"task_timeout_ms":300000,"delivery_timeout_ms":120000,"drop_headers":["x-retries","y-*"],"reason":"the price service is away now and then","dlq_topics":["dlq\\.orders"],"filter":"connector == \"orders-sink\"","exclude_error_classes":["org.apache.kafka.common.errors.SerializationException"],"excluded":"park","include_existing":true,"enabled":true}','alice',1799992800000);
CREATE TABLE redrive_written (
	kafka_cluster TEXT NOT NULL, 
	target_topic TEXT NOT NULL, 
	partition BIGINT NOT NULL, 
	first_offset BIGINT NOT NULL, 
	end_offset BIGINT NOT NULL, 
	order_id TEXT NOT NULL, 
	written_at_ms BIGINT NOT NULL, 
	PRIMARY KEY (kafka_cluster, target_topic, partition, first_offset)
);
INSERT INTO "redrive_written" VALUES('kafka_cluster','target_topic',1800000000000,1800000000000,1800000000000,'order_id',1800000000000);
CREATE TABLE series (
	name TEXT NOT NULL, 
	labels TEXT NOT NULL, 
	value BIGINT NOT NULL, 
	first_ms BIGINT NOT NULL, 
	last_ms BIGINT NOT NULL, 
	detail TEXT NOT NULL, 
	PRIMARY KEY (name, labels)
);
INSERT INTO "series" VALUES('dead_letters','{"kafka_cluster":"default","dlq_topic":"dlq.orders","source_topic":"orders","dialect":"connect","consumergroup":"","connector":"","error_class":""}',20790,1799982000000,1799999880000,'{}');
INSERT INTO "series" VALUES('dead_letters','{"kafka_cluster":"default","dlq_topic":"dlq.payments","source_topic":"payments","dialect":"spring","consumergroup":"","connector":"","error_class":""}',318,1799982000000,1799999880000,'{}');
INSERT INTO "series" VALUES('task_timeouts','{"kafka_cluster":"default","application":"wordcount","task":"0_1"}',3,1799982000000,1799999880000,'{"elapsed_ms": 4006, "message": "Task 0_1 did not make progress within 4006 ms."}');
INSERT INTO "series" VALUES('delivery_timeout_batches','{"kafka_cluster":"default","topic":"orders","client_id":"checkout-1","client":"java"}',7,1799982000000,1799999880000,'{"elapsed_ms": 120004, "message": "Expiring 3 record(s) for orders-0:120004 ms has passed since batch creation"}');
INSERT INTO "series" VALUES('delivery_timeout_records','{"kafka_cluster":"default","topic":"orders","client_id":"checkout-1","client":"java"}',21,1799982000000,1799999880000,'{}');
INSERT INTO "series" VALUES('redrive_records','{"kafka_cluster":"default","dlq_topic":"dlq.orders","target_topic":"dlq.orders.parked","outcome":"parked"}',14,1799982000000,1799999880000,'{}');
INSERT INTO "series" VALUES('redrive_orders','{"order":"11111111-aaaa","outcome":"sent","outcome_reason":""}',640,1799982000000,1799999880000,'{}');
INSERT INTO "series" VALUES('redrive_orders','{"order":"11111111-aaaa","outcome":"bounced","outcome_reason":""}',12,1799982000000,1799999880000,'{}');
INSERT INTO "series" VALUES('redrive_orders','{"order":"11111111-aaaa","outcome":"skipped","outcome_reason":"no_origin"}',3,1799982000000,1799999880000,'{}');
INSERT INTO "series" VALUES('redrive_orders','{"order":"22222222-bbbb","outcome":"sent","outcome_reason":""}',41,1799982000000,1799999880000,'{}');
CREATE TABLE share_groups (
	kafka_cluster TEXT NOT NULL, 
	consumergroup TEXT NOT NULL, 
	broker TEXT NOT NULL, 
	started_at_ms BIGINT NOT NULL, 
	records BIGINT NOT NULL, 
	produce_requests BIGINT NOT NULL, 
	failed_produce_requests BIGINT NOT NULL, 
	records_total BIGINT NOT NULL, 
	produce_requests_total BIGINT NOT NULL, 
	failed_produce_requests_total BIGINT NOT NULL, 
	PRIMARY KEY (kafka_cluster, consumergroup, broker)
);
INSERT INTO "share_groups" VALUES('kafka_cluster','consumergroup','broker',1800000000000,1800000000000,1800000000000,1800000000000,1800000000000,1800000000000,1800000000000);
CREATE TABLE share_returns (
	kafka_cluster TEXT NOT NULL, 
	dlq_topic TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	source_topic TEXT NOT NULL, 
	partition BIGINT NOT NULL, 
	first_offset BIGINT NOT NULL, 
	end_offset BIGINT NOT NULL, 
	read_at_ms BIGINT NOT NULL, 
	PRIMARY KEY (kafka_cluster, dlq_topic, fingerprint, source_topic, partition, first_offset)
);
INSERT INTO "share_returns" VALUES('kafka_cluster','dlq_topic','fingerprint','source_topic',1800000000000,1800000000000,1800000000000,1800000000000);
CREATE TABLE sources (
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	up BOOLEAN NOT NULL, 
	message TEXT NOT NULL, 
	since_ms BIGINT NOT NULL, 
	heartbeat_ms BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "sources" VALUES('logs:/var/log/connect.log','logs',1,'',1799999280000,1800003600000);
INSERT INTO "sources" VALUES('streaming','streaming',1,'',1799999280000,1800003600000);
INSERT INTO "sources" VALUES('redrive-1','redrive',1,'',1799999280000,1800003600000);
INSERT INTO "sources" VALUES('connect:10.0.0.8:8083','connect',0,'connection refused',1799999280000,1800003600000);
CREATE TABLE stream_figures (
	name TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	value BIGINT NOT NULL, 
	PRIMARY KEY (name, subject)
);
INSERT INTO "stream_figures" VALUES('name','subject',1800000000000);
CREATE TABLE task_timers (
	kafka_cluster TEXT NOT NULL, 
	streams_client TEXT NOT NULL, 
	task TEXT NOT NULL, 
	thread TEXT NOT NULL, 
	application TEXT NOT NULL, 
	said_by TEXT NOT NULL, 
	call TEXT NOT NULL, 
	since_ms BIGINT NOT NULL, 
	heard_ms BIGINT NOT NULL, 
	deadline_ms BIGINT NOT NULL, 
	running BOOLEAN NOT NULL, 
	message TEXT NOT NULL, 
	PRIMARY KEY (kafka_cluster, streams_client, task, thread)
);
INSERT INTO "task_timers" VALUES('kafka_cluster','streams_client','task','thread','application','said_by','call',1800000000000,1800000000000,1800000000000,1,'message');
CREATE TABLE tokens (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	created_by TEXT NOT NULL, 
	created_at_ms BIGINT NOT NULL, 
	expires_at_ms BIGINT NOT NULL, 
	revoked_at_ms BIGINT NOT NULL, 
	revoked_by TEXT NOT NULL, 
	used_at_ms BIGINT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "tokens" VALUES('id','name','role','digest','created_by',1800000000000,1800000000000,1800000000000,'revoked_by',1800000000000);
CREATE UNIQUE INDEX bucketed_series_by_name ON bucketed_series (name, labels);
CREATE INDEX dead_letter_groups_by_first ON dead_letter_groups (first_ms, fingerprint);
CREATE INDEX dead_letter_groups_by_records ON dead_letter_groups (records, fingerprint);
CREATE INDEX dead_letter_groups_by_last ON dead_letter_groups (last_ms, fingerprint);
CREATE INDEX redrive_orders_by_creation ON redrive_orders (created_at_ms, id);
CREATE INDEX redrive_orders_by_policy ON redrive_orders (policy, created_at_ms, id);
CREATE INDEX redrive_orders_by_status ON redrive_orders (status, created_at_ms);
CREATE INDEX audit_by_time ON audit (at_ms);
CREATE INDEX audit_by_who ON audit (who, number);
CREATE INDEX audit_by_action ON audit (action, number);
CREATE INDEX dead_letter_group_trends_by_hour ON dead_letter_group_trends (hour_s);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('audit',1800000000000);
COMMIT;
