/**
 * Two ways to a secure connection over loopback, client and server in this process, both with a
 * proven Ed25519 key.
 */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import * as nodeTlsModule from "node:tls";
import {
  type SecureSocket,
  secureConnect,
  type TlsIdentity,
} from "../../daemon/peers/direct/secure-socket.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { scratchPath } from "../folder.ts";
import { output } from "../processes.ts";

export interface Connection {
  /** Sends `bytes` so often from client to server; resolves when all of it has arrived. */
  carry(bytes: Buffer, times: number): Promise<void>;
  end(): void;
}

export interface Ends {
  /** A connection after its handshake, complete on both sides. */
  connect(): Promise<Connection>;
  close(): void;
}

function portOf(server: Server): number {
  return (server.address() as { port: number }).port;
}

/** Sends the next as soon as the one before was taken. */
function repeat(times: number, one: (taken: () => void) => void): void {
  if (times > 0) one(() => repeat(times - 1, one));
}

function identity(): TlsIdentity {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    publicKey: Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url"),
    sign: (bytes) => sign(null, bytes, privateKey),
  };
}

export async function ourTls(): Promise<Ends> {
  const [client, server] = [identity(), identity()];
  const common = { clock: new RealClock(), random: new RealRandom(), handshakeSeconds: 30, writeSeconds: 30 };
  const waiting: ((socket: SecureSocket) => void)[] = [];
  const listener = createServer({ noDelay: true }, (socket) => {
    void secureConnect({
      ...common,
      socket,
      role: "server",
      identity: server,
      pin: (key) => client.publicKey.every((byte, index) => byte === key[index]),
    }).then((secure) => waiting.shift()!(secure));
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  return {
    async connect() {
      const accepted = new Promise<SecureSocket>((resolve) => waiting.push(resolve));
      const socket = connect({ port: portOf(listener), host: "127.0.0.1", noDelay: true });
      await once(socket, "connect");
      const dialled = await secureConnect({
        ...common,
        socket,
        role: "client",
        identity: client,
        pin: server.publicKey,
      });
      const answered = await accepted;
      return {
        carry: (bytes, times) =>
          new Promise((resolve) => {
            let left = bytes.length * times;
            answered.receive({
              data: (arrived) => {
                left -= arrived.length;
                if (left === 0) resolve();
              },
              ended: () => {},
            });
            repeat(times, (taken) => dialled.send(bytes, taken));
          }),
        end: () => {
          dialled.destroy();
          answered.destroy();
        },
      };
    },
    close: () => void listener.close(),
  };
}

/** A self-signed certificate for a fresh Ed25519 key, as PEM. */
async function certificate(): Promise<{ key: string; cert: string }> {
  const { privateKey }: { privateKey: KeyObject } = generateKeyPairSync("ed25519");
  const key = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  const [keyFile, certFile] = [scratchPath("key.pem"), scratchPath("cert.pem")];
  writeFileSync(keyFile, key, { mode: 0o600 });
  await output("openssl", [
    "req",
    "-x509",
    "-new",
    "-key",
    keyFile,
    "-out",
    certFile,
    "-days",
    "2",
    "-subj",
    "/CN=direct.invalid",
    "-addext",
    "subjectAltName=DNS:direct.invalid",
  ]);
  return { key, cert: readFileSync(certFile, "utf8") };
}

export async function nodeTls(): Promise<Ends> {
  const [client, server] = [await certificate(), await certificate()];
  const common = { minVersion: "TLSv1.3" as const, ALPNProtocols: ["svc-direct/1"], ecdhCurve: "X25519" };
  const waiting: ((socket: Socket) => void)[] = [];
  const options = {
    ...common,
    ...server,
    ca: client.cert,
    requestCert: true,
    rejectUnauthorized: true,
    noDelay: true,
  };
  const listener = nodeTlsModule.createServer(options, (socket) => waiting.shift()!(socket));
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  // Made once, as the daemon's key is.
  const secureContext = nodeTlsModule.createSecureContext({ ...common, ...client, ca: server.cert });
  return {
    async connect() {
      const accepted = new Promise<Socket>((resolve) => waiting.push(resolve));
      const socket = connect({ port: portOf(listener), host: "127.0.0.1", noDelay: true });
      await once(socket, "connect");
      const dialled = nodeTlsModule.connect({
        socket,
        secureContext,
        servername: "direct.invalid",
        ALPNProtocols: ["svc-direct/1"],
      });
      await once(dialled, "secureConnect");
      const answered = await accepted;
      return {
        carry: (bytes, times) =>
          new Promise((resolve) => {
            let left = bytes.length * times;
            answered.on("data", (arrived: Buffer) => {
              left -= arrived.length;
              if (left === 0) resolve();
            });
            repeat(times, (taken) => void dialled.write(bytes, taken));
          }),
        end: () => {
          dialled.destroy();
          answered.destroy();
        },
      };
    },
    close: () => void listener.close(),
  };
}
