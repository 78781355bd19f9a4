/** Messages out of order, cut short or too long, in both roles. */
import type { AlertName } from "../../../../daemon/peers/direct/tls/alert.ts";
import { u8 } from "../../../../daemon/peers/direct/tls/codec.ts";
import { HANDSHAKE_TYPES, handshakeMessage } from "../../../../daemon/peers/direct/tls/messages.ts";
import { CONTENT_TYPES } from "../../../../daemon/peers/direct/tls/records.ts";
import { refusedWith } from "./expect.ts";
import { ScriptedClient } from "./scripted-client.ts";
import { ScriptedServer } from "./scripted-server.ts";

describe("TLS refuses out of order", () => {
  const types = Object.values(HANDSHAKE_TYPES).filter((type) => type !== HANDSHAKE_TYPES.message_hash);
  const any = (type: number): Buffer => handshakeMessage(type, Buffer.alloc(40, 1));

  const expectedByClient: Record<string, number> = {
    serverHello: HANDSHAKE_TYPES.server_hello,
    encryptedExtensions: HANDSHAKE_TYPES.encrypted_extensions,
    certificateRequest: HANDSHAKE_TYPES.certificate_request,
    certificate: HANDSHAKE_TYPES.certificate,
    certificateVerify: HANDSHAKE_TYPES.certificate_verify,
    finished: HANDSHAKE_TYPES.finished,
  };
  for (const step of ScriptedServer.steps)
    it(`as a client every message but ${step} when that is due`, () => {
      for (const type of [...types, 0, 5, 22, 67, 255].filter((type) => type !== expectedByClient[step])) {
        const server = new ScriptedServer().run({}, step);
        server.sendRecord(CONTENT_TYPES.handshake, any(type));
        refusedWith(server, "unexpected_message");
      }
    });

  const expectedByServer: Record<string, number> = {
    clientHello: HANDSHAKE_TYPES.client_hello,
    certificate: HANDSHAKE_TYPES.certificate,
    certificateVerify: HANDSHAKE_TYPES.certificate_verify,
    finished: HANDSHAKE_TYPES.finished,
  };
  for (const step of ScriptedClient.steps)
    it(`as a server every message but ${step} when that is due`, () => {
      for (const type of [...types, 0, 5, 22, 67, 255].filter((type) => type !== expectedByServer[step])) {
        const client = new ScriptedClient().run({}, step);
        client.sendRecord(CONTENT_TYPES.handshake, any(type));
        refusedWith(client, "unexpected_message");
      }
    });

  it("every message after the handshake but KeyUpdate, and tickets for a client", () => {
    for (const type of [...types, 0, 5, 22, 255].filter((type) => type !== HANDSHAKE_TYPES.key_update)) {
      const client = new ScriptedClient().run();
      client.sendRecord(CONTENT_TYPES.handshake, any(type));
      refusedWith(client, "unexpected_message");
      if (type === HANDSHAKE_TYPES.new_session_ticket) continue;
      const server = new ScriptedServer().run();
      server.sendRecord(CONTENT_TYPES.handshake, any(type));
      refusedWith(server, "unexpected_message");
    }
  });
});

describe("TLS refuses messages cut short or with a byte behind", () => {
  /** `message` with its body replaced, and its head right for it. */
  const withBody = (message: Buffer, body: Buffer): Buffer => handshakeMessage(message[0]!, body);
  /** A hello cut right before its extensions is one of TLS 1.2. */
  const alertFor = (message: Buffer, length: number, hellosEnd: number): AlertName =>
    length === hellosEnd && message[0]! <= 2 ? "protocol_version" : "decode_error";

  for (const step of ScriptedServer.steps)
    it(`${step} to a client`, () => {
      const make = (server: ScriptedServer): Buffer =>
        ({
          serverHello: () => server.helloMessage(),
          encryptedExtensions: () => server.extensionsMessage(),
          certificateRequest: () => server.requestMessage(),
          certificate: () => server.certificateMessage(),
          certificateVerify: () => server.verifyMessage(),
          finished: () => server.finishedMessage(),
        })[step]();
      const whole = make(new ScriptedServer().run({}, step));
      for (let length = 0; length <= whole.length - 3; length += 1) {
        if (length === whole.length - 4) continue;
        const server = new ScriptedServer().run({}, step);
        const message = make(server);
        const body = Buffer.concat([message.subarray(4), u8(0)]).subarray(0, length);
        server.sendRecord(CONTENT_TYPES.handshake, withBody(message, body));
        refusedWith(server, alertFor(message, length, 2 + 32 + 1 + 2 + 1));
      }
    });

  for (const step of ScriptedClient.steps)
    it(`${step} to a server`, () => {
      const make = (client: ScriptedClient): Buffer =>
        ({
          clientHello: () => client.helloMessage(),
          certificate: () => client.certificateMessage(),
          certificateVerify: () => client.verifyMessage(),
          finished: () => client.finishedMessage(),
        })[step]();
      const whole = make(new ScriptedClient().run({}, step));
      for (let length = 0; length <= whole.length - 3; length += 1) {
        if (length === whole.length - 4) continue;
        const client = new ScriptedClient().run({}, step);
        const message = make(client);
        const body = Buffer.concat([message.subarray(4), u8(0)]).subarray(0, length);
        client.sendRecord(CONTENT_TYPES.handshake, withBody(message, body));
        refusedWith(client, alertFor(message, length, 2 + 32 + 1 + 2 + 6 + 2));
      }
    });
});
