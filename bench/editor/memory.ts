/** What 100,000 events leave in the memory of the extension host and of the page. */
import { once } from "node:events";
import type { Page } from "playwright-core";
import { WebSocket } from "ws";
import type { DaemonClient } from "../../client/client.ts";
import { until } from "../../test/support/until.ts";
import { absolute, type Measurement } from "../figure.ts";
import { addLead, inPlace } from "./place.ts";

const HOST = "editor: extension host after 100,000 events, against before";
const PAGE = "editor: page with a Workbench after 100,000 events, against before";
const EVENTS = 100_000;
const PRODUCERS = 64;
const MB = 1e6;
/** Where Node's debugger listens once a process is asked for it. */
const DEBUGGER = "http://127.0.0.1:9229/json/list";

/** A process's heap, through its debugger. */
class Heap {
  readonly #socket: WebSocket;
  #calls = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** Throws when another process has the debugger's port. */
  static async of(pid: number): Promise<Heap> {
    process.kill(pid, "SIGUSR1");
    const socket = await until("the debugger listens", async () => {
      try {
        const [target] = (await (await fetch(DEBUGGER)).json()) as { webSocketDebuggerUrl: string }[];
        return target === undefined ? null : new WebSocket(target.webSocketDebuggerUrl);
      } catch {
        return null;
      }
    });
    await once(socket, "open");
    const heap = new Heap(socket);
    const { result } = await heap.#call("Runtime.evaluate", { expression: "process.pid" });
    if ((result as { value?: unknown }).value !== pid)
      throw new Error("Another process has the port of Node's debugger.");
    return heap;
  }

  /** Bytes in use after a collection. */
  async used(): Promise<number> {
    await this.#call("HeapProfiler.collectGarbage");
    return (await this.#call("Runtime.getHeapUsage"))["usedSize"] as number;
  }

  close(): void {
    this.#socket.close();
  }

  async #call(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = ++this.#calls;
    const answered = new Promise<Record<string, unknown>>((resolve) => {
      const receive = (data: Buffer) => {
        const message = JSON.parse(data.toString("utf8")) as {
          id?: number;
          result?: Record<string, unknown>;
        };
        if (message.id !== id) return;
        this.#socket.off("message", receive);
        resolve(message.result ?? {});
      };
      this.#socket.on("message", receive);
    });
    this.#socket.send(JSON.stringify({ id, method, params }));
    return answered;
  }
}

async function pageHeap(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}

/** Sends this many messages, several at a time. */
async function send(owner: DaemonClient, groupId: string, count: number): Promise<void> {
  let left = count;
  const produce = async (): Promise<void> => {
    for (; left > 0; ) {
      left -= 1;
      await owner.result("send", { group_id: groupId, text: `A message, and ${left} more.`, to: ["lead"] });
    }
  };
  await Promise.all(Array.from({ length: PRODUCERS }, produce));
}

export const memory: Measurement = {
  figures: [HOST, PAGE],
  needsBrowser: true,
  run: ({ short }) =>
    inPlace(async ({ editor, owner }) => {
      const { group_id: groupId } = await owner.result("group_create", { title: "shop" });
      await addLead(owner, groupId);
      const window = await editor.window(editor.workspace("shop"));
      await window.openSideBar();
      await window.command("svc: Open the Workbench");
      const workbench = await window.documentWith("svc-workbench svc-composer textarea");
      const shown = async (text: string) => {
        await owner.result("send", { group_id: groupId, text, to: ["lead"] });
        await workbench.locator("svc-message", { hasText: text }).first().waitFor();
      };
      // What one screen of messages takes isn't what events leave.
      await send(owner, groupId, 500);
      await shown("The first ones are there.");
      const heap = await Heap.of(editor.extensionHost());
      const used = async () => ({ host: await heap.used(), page: await pageHeap(window.page) });
      const before = await used();
      await send(owner, groupId, short ? EVENTS / 50 : EVENTS);
      await shown("All are there.");
      const after = await used();
      heap.close();
      const figure = (name: string, grown: number, goal: number, floor: number) =>
        absolute({ name, unit: "MB", value: grown / MB, against: "MB", goal, floor, better: "lower" });
      return [figure(HOST, after.host - before.host, 5, 20), figure(PAGE, after.page - before.page, 20, 100)];
    }),
};
