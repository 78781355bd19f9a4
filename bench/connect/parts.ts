/**
 * The minimum work of a delivery, each part measured by itself: signatures, verifications, durable
 * writes, one round trip.
 */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { Ledger } from "../../daemon/ledger/ledger.ts";
import { ensureDirectory, replaceFile } from "../../platform/durable.ts";
import { VerifyingKey } from "../../platform/keys.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { median } from "../figure.ts";
import { scratchPath } from "../folder.ts";
import { message, openLedger } from "../ledger/setting.ts";
import { start, stop } from "../processes.ts";

/** About what a message of 600 bytes makes of each. */
const STATEMENT_BYTES = 500;
const RECORD_BYTES = 4000;
const REQUEST_BYTES = 2800;
const RESPONSE_BYTES = 500;

export class Parts {
  readonly #files = new RealFiles();
  readonly #directory: string;
  readonly #source: Ledger;
  readonly #target: Ledger;
  readonly #socket: Socket;
  readonly #stop: () => Promise<void>;
  readonly #key = generateKeyPairSync("ed25519");
  readonly #verifying = VerifyingKey.admit(
    Buffer.from(this.#key.publicKey.export({ format: "jwk" }).x!, "base64url"),
  );
  readonly #statement = randomBytes(STATEMENT_BYTES);
  #made = 0;
  /**
   * In the order of a delivery: the request is signed, noted, carried and verified, recorded there;
   * the answer signed, verified, recorded.
   */
  readonly #steps: readonly (() => unknown)[] = [
    () => this.#sign(),
    () => this.#replace(),
    () => this.#roundTrip(),
    () => this.#verify(),
    () => this.#append(this.#target),
    () => this.#sign(),
    () => this.#verify(),
    () => this.#append(this.#source),
  ];

  private constructor(
    directory: string,
    [source, target]: readonly [Ledger, Ledger],
    socket: Socket,
    stopEcho: () => Promise<void>,
  ) {
    this.#directory = directory;
    this.#source = source;
    this.#target = target;
    this.#socket = socket;
    this.#stop = stopEcho;
  }

  static async open(): Promise<Parts> {
    const directory = scratchPath("parts");
    await ensureDirectory(new RealFiles(), directory);
    const program = join(import.meta.dirname, "..", "bare", "echo.mjs");
    const echo = start(process.execPath, [program, `${REQUEST_BYTES}`, `${RESPONSE_BYTES}`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [port] = (await once(echo.stdout!, "data")) as [Buffer];
    const socket = connect({ port: Number(String(port)), host: "127.0.0.1", noDelay: true });
    await once(socket, "connect");
    const source = await openLedger(join(directory, "source"));
    const target = await openLedger(join(directory, "target"));
    return new Parts(directory, [source, target], socket, async () => {
      socket.destroy();
      await stop(echo);
    });
  }

  /** Milliseconds of one delivery's parts together: the medians of each, added. */
  async sum(rounds: number): Promise<number> {
    const times = this.#steps.map((): number[] => []);
    for (let round = 0; round < rounds; round += 1) {
      for (const [at, step] of this.#steps.entries()) {
        const begin = performance.now();
        await step();
        times[at]!.push(performance.now() - begin);
      }
    }
    return times.reduce((sum, each) => sum + median(each), 0);
  }

  /** All parts of this many deliveries, one after the other. */
  async run(count: number): Promise<void> {
    for (let made = 0; made < count; made += 1) for (const step of this.#steps) await step();
  }

  async close(): Promise<void> {
    await this.#source.close();
    await this.#target.close();
    await this.#stop();
  }

  #sign(): Buffer {
    return sign(null, this.#statement, this.#key.privateKey);
  }

  readonly #signature = this.#sign();

  #verify(): void {
    if (!this.#verifying.verify(this.#statement, this.#signature)) throw new Error("not verified");
  }

  #replace(): Promise<void> {
    return replaceFile(this.#files, join(this.#directory, "record.json"), Buffer.alloc(RECORD_BYTES, 0x78));
  }

  #append(ledger: Ledger): Promise<unknown> {
    this.#made += 1;
    return ledger.appendAll([message(this.#made)]);
  }

  async #roundTrip(): Promise<void> {
    let left = RESPONSE_BYTES;
    const done = new Promise<void>((resolve) => {
      const take = (bytes: Buffer): void => {
        left -= bytes.length;
        if (left > 0) return;
        this.#socket.off("data", take);
        resolve();
      };
      this.#socket.on("data", take);
    });
    this.#socket.write(Buffer.alloc(REQUEST_BYTES, 3));
    await done;
  }
}
