/**
 * The key schedule and the record layer against the trace of RFC 8448, section 3 ("Simple 1-RTT
 * Handshake").
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  finishedData,
  KeySchedule,
  nextTrafficSecret,
  trafficKey,
} from "../../../../daemon/peers/direct/tls/key-schedule.ts";
import { KeyShare } from "../../../../daemon/peers/direct/tls/key-share.ts";
import { TrafficKey } from "../../../../daemon/peers/direct/tls/protection.ts";
import { CONTENT_TYPES } from "../../../../daemon/peers/direct/tls/records.ts";
import { SUITES } from "../../../../daemon/peers/direct/tls/suites.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");
const suite = SUITES[0]!;

const CLIENT_HELLO = hex(
  "010000c00303cb34ecb1e78163ba1c38c6dacb196a6dffa21a8d9912ec18a2ef6283024dece7000006130113031302010000910000000b0009000006736572766572ff01000100000a00140012001d0017001800190100010101020103010400230000003300260024001d002099381de560e4bd43d23d8e435a7dbafeb3c06e51c13cae4d5413691e529aaf2c002b0003020304000d0020001e040305030603020308040805080604010501060102010402050206020202002d00020101001c00024001",
);
const SERVER_HELLO = hex(
  "020000560303a6af06a4121860dc5e6e60249cd34c95930c8ac5cb1434dac155772ed3e2692800130100002e00330024001d0020c9828876112095fe66762bdbf7c672e156d6cc253b833df1dd69b1b04e751f0f002b00020304",
);
const SHARED = hex("8bd4054fb55b9d63fdfbacf9f04b9f0d35e6d63f537563efd46272900f89492d");
/** Of ClientHello to the server's Finished. */
const FLIGHT_HASH = hex("9608102a0f1ccc6db6250b7b7e417b1a000eaada3daae4777a7686c9ff83df13");
const CLIENT_HANDSHAKE = hex("b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21");
const SERVER_HANDSHAKE = hex("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38");
const CLIENT_APPLICATION = hex("9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5");
const SERVER_APPLICATION = hex("a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643");

describe("TLS by RFC 8448", () => {
  it("agrees on X25519", () => {
    const random = (seed: string) => ({ bytes: () => hex(seed), uuid: () => "" });
    const client = new KeyShare(random("49af42ba7f7994852d713ef2784bcbcaa7911de26adc5642cb634540e7ea5005"));
    const server = new KeyShare(random("b1580eeadf6dd589b8ef4f2d5652578cc810e9980191ec8d058308cea216a21e"));
    assert.ok(CLIENT_HELLO.includes(client.publicKey));
    assert.ok(SERVER_HELLO.includes(server.publicKey));
    assert.deepEqual(client.agree(server.publicKey), SHARED);
    assert.deepEqual(server.agree(client.publicKey), SHARED);
  });

  it("derives the traffic secrets, keys and Finished", () => {
    const hellos = createHash("sha256").update(CLIENT_HELLO).update(SERVER_HELLO).digest();
    const schedule = new KeySchedule(suite, SHARED);
    assert.deepEqual(schedule.handshake(hellos), { client: CLIENT_HANDSHAKE, server: SERVER_HANDSHAKE });
    assert.deepEqual(schedule.application(FLIGHT_HASH), {
      client: CLIENT_APPLICATION,
      server: SERVER_APPLICATION,
    });
    for (const [secret, key, iv] of [
      [SERVER_HANDSHAKE, "3fce516009c21727d0f2e4e86ee403bc", "5d313eb2671276ee13000b30"],
      [CLIENT_HANDSHAKE, "dbfaa693d1762c5b666af5d950258d01", "5bd3c71b836e0b76bb73265f"],
      [SERVER_APPLICATION, "9f02283b6c9c07efc26bb9f2ac92e356", "cf782b88dd83549aadf1e984"],
      [CLIENT_APPLICATION, "17422dda596ed5d9acd890e3c63f5051", "5b78923dee08579033e523d9"],
    ] as const)
      assert.deepEqual(trafficKey(suite, secret), { key: hex(key), iv: hex(iv) });
    // The client shows no certificate there, so its Finished covers the same messages.
    assert.deepEqual(
      finishedData(suite, CLIENT_HANDSHAKE, FLIGHT_HASH),
      hex("a8ec436d677634ae525ac1fcebe11a039ec17694fac6e98527b642f2edd5ce61"),
    );
    assert.equal(nextTrafficSecret(suite, CLIENT_APPLICATION).length, 32);
  });

  const finishedRecord = hex(
    "1703030035 75ec4dc238cce60b298044a71e219c56cc77b0517fe9b93c7a4bfc44d87f38f80338ac98fc46deb384bd1caeacab6867d726c40546",
  );
  const dataRecord = hex(
    "1703030043 a23f7054b62c94d0affafe8228ba55cbefacea42f914aa66bcab3f2b9819a8a5b46b395bd54a9a20441e2b62974e1f5a6292a2977014bd1e3deae63aeebb21694915e4",
  );
  const data = Buffer.from(Array.from({ length: 50 }, (_, index) => index));

  it("opens and seals its records", () => {
    const opened = new TrafficKey(suite, CLIENT_HANDSHAKE).open(
      finishedRecord.subarray(0, 5),
      finishedRecord.subarray(5),
    );
    assert.equal(opened.type, CONTENT_TYPES.handshake);
    assert.equal(opened.content.toString("hex").slice(0, 16), "14000020a8ec436d");
    const key = new TrafficKey(suite, CLIENT_APPLICATION);
    assert.deepEqual(Buffer.concat(key.seal(CONTENT_TYPES.application_data, data)), dataRecord);
    const alert = Buffer.concat(key.seal(CONTENT_TYPES.alert, Buffer.of(1, 0)));
    assert.deepEqual(alert, hex("1703030013 c9872760655666b74d7ff1153efd6db6d0b0e3"));
  });
});
