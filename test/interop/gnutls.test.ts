/** Our TLS against GnuTLS, in both roles. */
import assert from "node:assert/strict";
import { TlsError } from "../../daemon/peers/direct/tls/alert.ts";
import { SUITES } from "../../daemon/peers/direct/tls/suites.ts";
import { verifies } from "../requirements.ts";
import { GNUTLS_CIPHERS, GnuTls, Inbox, onlyCipher, PRIORITY, pattern } from "./gnutls.ts";

const RETRY_RANDOM = "cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c";
const ED25519_X25519_ONLY = `${PRIORITY}:-SIGN-ALL:+SIGN-EDDSA-ED25519:-GROUP-ALL:+GROUP-X25519`;

async function alertOf(attempt: Promise<unknown>): Promise<[string, number | null]> {
  const error = await attempt.then(
    () => assert.fail("connected"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof TlsError, String(error));
  return [error.origin, error.alert];
}

describe("TLS with GnuTLS", () => {
  let gnutls: GnuTls;
  beforeEach(() => (gnutls = new GnuTls()));
  afterEach(() => gnutls.dispose());

  for (const suite of SUITES) {
    const cipher = GNUTLS_CIPHERS[suite.name as keyof typeof GNUTLS_CIPHERS];

    it(`serves gnutls-cli by ${suite.name}`, async () => {
      verifies("DRC-085", "DRC-086", "DRC-087");
      const { port, secured } = await gnutls.serve();
      const client = gnutls.client(port, { priority: onlyCipher(cipher) });
      const socket = await secured;
      assert.deepEqual(Buffer.from(socket.peerPublicKey), gnutls.theirs.identity.publicKey);
      const inbox = new Inbox(socket);
      client.child.stdin!.write("hello\n");
      await inbox.until(6);
      socket.send(Buffer.from("from the server\n"));
      await client.prints(/from the server/);
      socket.close();
      await client.prints(/Peer has closed the GnuTLS connection/);
      assert.match(client.text(), new RegExp(`ECDHE-X25519\\)-\\(EdDSA-Ed25519\\)-\\(${cipher}\\)`));
      assert.match(client.text(), /Application protocol: svc-direct\/1/);
      assert.equal(inbox.bytes.toString(), "hello\n");
    });

    for (const keyShare of [true, false])
      it(`dials gnutls-serv by ${suite.name}${keyShare ? "" : ", which asks for a key share by HelloRetryRequest"}`, async () => {
        const { port } = await gnutls.server();
        // gnutls-serv sends two tickets unasked, right behind the handshake.
        const socket = await gnutls.dial(port, { suites: [suite], keyShare });
        assert.deepEqual(Buffer.from(socket.peerPublicKey), gnutls.theirs.identity.publicKey);
        const inbox = new Inbox(socket);
        socket.send(Buffer.from("echo this\n"));
        await inbox.until(10);
        assert.equal(inbox.bytes.toString(), "echo this\n");
        socket.close();
        assert.equal(await inbox.end, null);
      });
  }

  it("serves and dials a GnuTLS that does Ed25519 and X25519 alone", async () => {
    const { port, secured } = await gnutls.serve();
    gnutls.client(port, { priority: ED25519_X25519_ONLY });
    await secured;
    const server = await gnutls.server({ priority: ED25519_X25519_ONLY });
    await gnutls.dial(server.port);
  });

  it("asks gnutls-cli, which begins with P-256, for X25519 by HelloRetryRequest", async () => {
    const { port, secured, sent } = await gnutls.serve();
    const client = gnutls.client(port, {
      priority: `${PRIORITY}:-GROUP-ALL:+GROUP-SECP256R1:+GROUP-X25519`,
      more: ["--single-key-share"],
    });
    const inbox = new Inbox(await secured);
    client.child.stdin!.write("hello\n");
    await inbox.until(6);
    assert.ok(Buffer.concat(sent).toString("hex").includes(RETRY_RANDOM));
  });

  it("follows gnutls-cli through key updates", async () => {
    const { port, secured } = await gnutls.serve();
    const client = gnutls.client(port, { more: ["--inline-commands"] });
    const socket = await secured;
    const inbox = new Inbox(socket);
    for (let round = 1; round <= 3; round += 1) {
      client.child.stdin!.write("^rekey^\n");
      await client.prints(new RegExp(`(Rekey was completed[^]*){${round}}`));
      client.child.stdin!.write("hello\n");
      await inbox.until(6 * round);
      socket.send(Buffer.from(`answer ${round}\n`));
      await client.prints(new RegExp(`answer ${round}`));
    }
  });

  for (const role of ["client", "server"] as const) {
    /** Our end and the program at the other. */
    const connected = async (
      commands: string[],
      options: { priority?: string; recordSize?: number } = {},
      overrides: { recordsPerKey?: number } = {},
    ) => {
      if (role === "client") {
        const { port, secured } = await gnutls.serve(overrides);
        const peer = gnutls.peer("client", port, commands, options);
        return { peer, socket: await secured };
      }
      const peer = gnutls.peer("server", 0, commands, options);
      const [, port] = await peer.prints(/^port (\d+)$/m);
      return { peer, socket: await gnutls.dial(Number(port), overrides) };
    };

    describe(`as a ${role}`, () => {
      it("knows our key, and pads its records", async () => {
        const sizes = [
          [1, 0],
          [1, 1],
          [100, 255],
          [1000, 4000],
          [1, 16_000],
          [16_384, 0],
          [384, 15_000],
        ];
        const { peer, socket } = await connected([
          ...sizes.map(([bytes, pad]) => `send:${bytes}:${pad}`),
          "recv:100000",
          "bye",
        ]);
        const inbox = new Inbox(socket);
        const total = sizes.reduce((sum, [bytes]) => sum + bytes!, 0);
        await inbox.until(total);
        assert.deepEqual(inbox.bytes, pattern(total));
        socket.send(pattern(100_000));
        assert.equal(await inbox.end, null);
        socket.close();
        assert.equal(await peer.ended(), 0, peer.text());
        assert.match(peer.text(), new RegExp(`^peer ${gnutls.ours.hex}$`, "m"));
      });

      if (role === "client")
        it("cuts its data into records of 512 bytes", async () => {
          const sends = Array.from({ length: 50 }, (_, index) => `send:${100 * (index + 1)}:0`);
          const { peer, socket } = await connected([...sends, "recv:5000", "bye"], { recordSize: 512 });
          const inbox = new Inbox(socket);
          await inbox.until(5000 * 25.5);
          assert.deepEqual(inbox.bytes, pattern(5000 * 25.5));
          socket.send(pattern(5000));
          assert.equal(await inbox.end, null);
          socket.close();
          assert.equal(await peer.ended(), 0, peer.text());
        });

      it("changes its key, and asks for ours", async () => {
        const rounds = 6;
        const commands = Array.from({ length: rounds }, (_, index) => [
          `rekey:${index % 2}`,
          "send:1000:0",
          "recv:1000",
        ]).flat();
        const { peer, socket } = await connected([...commands, "bye"]);
        const inbox = new Inbox(socket);
        for (let round = 1; round <= rounds; round += 1) {
          await inbox.until(1000 * round);
          socket.send(pattern(1000, 1000 * (round - 1)));
        }
        assert.equal(await inbox.end, null);
        assert.deepEqual(inbox.bytes, pattern(1000 * rounds));
        socket.close();
        assert.equal(await peer.ended(), 0, peer.text());
      });

      for (const suite of SUITES)
        it(`follows our own key updates by ${suite.name}`, async () => {
          const priority = onlyCipher(GNUTLS_CIPHERS[suite.name as keyof typeof GNUTLS_CIPHERS]);
          const { peer, socket } = await connected(
            ["recv:300000", "send:5:0", "bye"],
            { priority },
            { recordsPerKey: 3 },
          );
          const inbox = new Inbox(socket);
          socket.send(pattern(300_000));
          await inbox.until(5);
          assert.equal(await inbox.end, null);
          socket.close();
          assert.equal(await peer.ended(), 0, peer.text());
        });
    });
  }

  it("ignores tickets that come between data", async () => {
    const peer = gnutls.peer("server", 0, [
      "ticket",
      "send:10:0",
      "ticket",
      "recv:10",
      "ticket",
      "send:10:0",
      "bye",
    ]);
    const [, port] = await peer.prints(/^port (\d+)$/m);
    const socket = await gnutls.dial(Number(port));
    const inbox = new Inbox(socket);
    await inbox.until(10);
    socket.send(pattern(10));
    await inbox.until(20);
    assert.equal(await inbox.end, null);
    socket.close();
    assert.equal(await peer.ended(), 0, peer.text());
  });

  describe("is refused by our server", () => {
    it("without a key", async () => {
      verifies("DRC-086");
      const { port, secured } = await gnutls.serve();
      const client = gnutls.client(port, { key: false });
      await assert.rejects(secured, TlsError);
      assert.notEqual(await client.ended(), 0);
    });

    it("with another key than the expected one: access_denied, which it hears", async () => {
      const { port, secured } = await gnutls.serve({ pin: () => false });
      const client = gnutls.client(port);
      assert.deepEqual(await alertOf(secured), ["us", 49]);
      await client.prints(/Access was denied/);
    });

    it("with X.509 alone: unsupported_certificate", async () => {
      const { port, secured } = await gnutls.serve();
      gnutls.client(port, { priority: "NORMAL:-VERS-ALL:+VERS-TLS1.3", key: false });
      assert.deepEqual(await alertOf(secured), ["us", 43]);
    });

    it("with TLS 1.2 alone: protocol_version", async () => {
      verifies("DRC-085");
      const { port, secured } = await gnutls.serve();
      gnutls.client(port, { priority: "NORMAL:-VERS-ALL:+VERS-TLS1.2", key: false });
      assert.deepEqual(await alertOf(secured), ["us", 70]);
    });

    it("with another application protocol: no_application_protocol", async () => {
      verifies("DRC-087");
      const { port, secured } = await gnutls.serve();
      gnutls.client(port, { alpn: "h2" });
      assert.deepEqual(await alertOf(secured), ["us", 120]);
    });
  });

  describe("is refused by our client", () => {
    it("with another key than the pinned one: access_denied", async () => {
      verifies("DRC-089");
      const { port } = await gnutls.server();
      const pin = gnutls.ours.identity.publicKey;
      assert.deepEqual(await alertOf(gnutls.dial(port, { pin })), ["us", 49]);
    });

    it("when it asks for no key: unexpected_message", async () => {
      const { port } = await gnutls.server({ more: ["--disable-client-cert"] });
      assert.deepEqual(await alertOf(gnutls.dial(port)), ["us", 10]);
    });
  });

  it("refuses us when it speaks another protocol or an earlier TLS", async () => {
    const other = await gnutls.server({ alpn: "h2" });
    assert.deepEqual(await alertOf(gnutls.dial(other.port)), ["peer", 120]);
    const old = await gnutls.server({ priority: "NORMAL:-VERS-ALL:+VERS-TLS1.2", more: ["-a"] });
    assert.equal((await alertOf(gnutls.dial(old.port)))[0], "peer");
  });
});
