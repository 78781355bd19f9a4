/** The local socket with operations of a test's own, and requests to it byte by byte. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalCallers } from "../../daemon/http/local/local-caller.ts";
import { LocalSocket } from "../../daemon/http/local/local-socket.ts";
import type { Clock } from "../../platform/clock.ts";
import { UNLIMITED } from "../../platform/descriptors.ts";
import { RequestIds } from "../../platform/http/request-id.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealNetwork } from "../../platform/real-network.ts";
import { RealRandom } from "../../platform/real-random.ts";
import type { CallContext } from "../../shared/operations/caller.ts";
import { fakeDispatcher, MemoryLog } from "../operations/support.ts";

export const KEY = "k".repeat(43);
export const TOKEN = "t".repeat(43);
export const GROUP = "g_0123456789ab";

export interface Fixture {
  path: string;
  local: LocalSocket;
  log: MemoryLog;
  calls: { name: string; by: string }[];
  aborted: Promise<void>;
  leases: { opened: number; closed: number };
  close(): Promise<void>;
}

export async function start(clock: Clock = new RealClock()): Promise<Fixture> {
  const directory = mkdtempSync(join(tmpdir(), "svc-socket-"));
  const path = join(directory, "s");
  const log = new MemoryLog();
  const calls: Fixture["calls"] = [];
  const leases = { opened: 0, closed: 0 };
  let tellAborted = (): void => {};
  const aborted = new Promise<void>((resolve) => (tellAborted = resolve));
  const dispatcher = fakeDispatcher(
    {
      whoami: (_input: never, context: CallContext) => {
        calls.push({ name: "whoami", by: context.caller.by });
        const { caller } = context;
        const actor =
          caller.kind === "actor" ? { group_id: caller.group_id, actor_id: caller.actor_id } : null;
        return { kind: caller.kind, by: caller.by, groups: null, actor };
      },
      group_create: (input: { title: string }) => {
        calls.push({ name: "group_create", by: input.title });
        return { title: input.title };
      },
      inbox_read: (_input: never, context: CallContext) =>
        new Promise((resolve) => {
          context.signal.addEventListener("abort", () => {
            tellAborted();
            resolve({ messages: [], batch_id: null, cursor: null, unread: 0 });
          });
        }),
    },
    { log },
  );
  const random = new RealRandom();
  const network = new RealNetwork();
  const local = new LocalSocket({
    most: { person: 64, actor: 64 },
    descriptors: UNLIMITED,
    dispatcher,
    callers: new LocalCallers({
      socketKey: KEY,
      verifyLaunchToken: (token) =>
        token === TOKEN ? { group_id: GROUP, actor_id: "a1", generation: "gen" } : null,
    }),
    watch: null,
    requestIds: new RequestIds(random),
    clock,
    log,
    app: async () => (request, response, caller) => {
      response.setHeader("x-app", `${request.method} ${request.url} ${caller.by}`);
      response.end("app");
    },
    upgrade: (_request, socket) => socket.destroy(),
    lease: () => {
      leases.opened += 1;
      return () => (leases.closed += 1);
    },
  });
  await network.listen(local.server, { path });
  return {
    path,
    local,
    log,
    calls,
    aborted,
    leases,
    async close() {
      local.destroy();
      await network.close(local.server);
      rmSync(directory, { recursive: true });
    },
  };
}

export function frame(name: string, body: string, extra = "", key = KEY): string {
  return (
    `POST /op/${name} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
    `Svc-Socket-Key: ${key}\r\n${extra}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

/** Everything that comes back until `answers` answers are complete or the connection ends. */
export async function exchange(
  path: string,
  pieces: (string | Buffer)[],
  answers: number,
): Promise<string[]> {
  const socket = connect(path);
  await once(socket, "connect");
  const done = collect(socket, answers);
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const result = await done;
  socket.destroy();
  return result;
}

export function collect(socket: Socket, count: number): Promise<string[]> {
  return new Promise((resolve) => {
    let text = "";
    const check = (ended: boolean): void => {
      const found = split(text);
      if (found.length >= count || ended) resolve(found);
    };
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      check(false);
    });
    socket.on("close", () => check(true));
    socket.on("error", () => {});
  });
}

/** Complete answers with a Content-Length at the front of `text`. */
export function split(text: string): string[] {
  const found: string[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end === -1) return found;
    const length = Number(/content-length: (\d+)/i.exec(rest.slice(0, end))?.[1] ?? 0);
    if (rest.length < end + 4 + length) return found;
    found.push(rest.slice(0, end + 4 + length));
    rest = rest.slice(end + 4 + length);
  }
}

export function statusOf(text: string | undefined): number {
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text ?? "")?.[1]);
}
