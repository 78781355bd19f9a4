/**
 * A debugger as editors have it: the Chrome DevTools Protocol over a WebSocket, with breakpoints
 * set through source maps.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { WebSocket } from "ws";
import { generatedPositions, type SourceMap } from "./source-map.ts";

/** A line of a source, counted from 1. */
export interface Place {
  /** Absolute path. */
  file: string;
  line: number;
}

interface Message {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { message: string };
}

interface Script {
  scriptId: string;
  url: string;
  sourceMapURL: string;
}

interface Paused {
  hitBreakpoints?: string[];
}

/**
 * Runs `node --inspect-brk=0 ARGS` until the program stops at `place`, ends it then, and answers
 * whether it got there. `outputs` are the built files whose maps are read beforehand, as an editor
 * does with `outFiles`; scripts with a map in themselves get theirs when they are loaded.
 */
export async function stopsAt(
  place: Place,
  args: readonly string[],
  options: { env: NodeJS.ProcessEnv; cwd: string; outputs: readonly string[] },
): Promise<boolean> {
  const child = spawn(process.execPath, ["--inspect-brk=0", ...args], {
    env: options.env,
    cwd: options.cwd,
    stdio: ["pipe", "ignore", "pipe"],
  });
  const ended = once(child, "exit");
  child.stdin?.on("error", () => undefined).end();
  try {
    const debugged = new Debugged(new WebSocket(await address(child)), place, options.outputs);
    return await Promise.race([debugged.reached(), ended.then(() => false)]);
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}

/** What Node says on standard error before it waits for a debugger. */
async function address(child: ChildProcess): Promise<string> {
  let said = "";
  child.stderr!.setEncoding("utf8");
  for await (const chunk of child.stderr!.iterator({ destroyOnReturn: false })) {
    said += String(chunk);
    const found = /Debugger listening on (ws:\S+)/.exec(said);
    if (found) return found[1]!;
  }
  throw new Error(`no debugger could connect:\n${said}`);
}

class Debugged {
  readonly #socket: WebSocket;
  readonly #place: Place;
  readonly #outputs: readonly string[];
  readonly #answers = new Map<number, (message: Message) => void>();
  readonly #breakpoints = new Set<string>();
  /** Breakpoints that are being set in scripts with a map in themselves. */
  #setting: Promise<void> = Promise.resolve();
  #calls = 0;

  constructor(socket: WebSocket, place: Place, outputs: readonly string[]) {
    this.#socket = socket;
    this.#place = place;
    this.#outputs = outputs;
  }

  /** Resolves when the program stops at the place; false when the connection ends before. */
  async reached(): Promise<boolean> {
    await once(this.#socket, "open");
    const over = new Promise<boolean>((resolve, reject) => {
      this.#socket.on("close", () => resolve(false));
      this.#socket.on("message", (data: Buffer) => {
        const message = JSON.parse(data.toString("utf8")) as Message;
        if (message.id !== undefined) this.#answers.get(message.id)?.(message);
        if (message.method === "Debugger.scriptParsed") {
          const set = this.#setBreakpoints(message.params as unknown as Script);
          set.catch(reject);
          this.#setting = Promise.all([this.#setting, set]).then(() => undefined);
        }
        // Node itself waits then until the debugger goes.
        if (message.method === "Runtime.executionContextDestroyed") resolve(false);
        if (message.method === "Debugger.paused")
          this.#paused(message.params as unknown as Paused).then((hit) => hit && resolve(true), reject);
      });
    });
    await this.#call("Debugger.enable");
    await this.#call("Runtime.enable");
    for (const file of this.#outputs) await this.#predict(file);
    // A script of the source's own name stops where it begins, until its map is read and its
    // breakpoint set.
    await this.#call("Debugger.setBreakpointByUrl", {
      url: pathToFileURL(this.#place.file).href,
      lineNumber: 0,
    });
    await this.#call("Runtime.runIfWaitingForDebugger");
    return over;
  }

  async #paused({ hitBreakpoints = [] }: Paused): Promise<boolean> {
    if (hitBreakpoints.some((id) => this.#breakpoints.has(id))) return true;
    await this.#setting;
    await this.#call("Debugger.resume");
    return false;
  }

  /** Breakpoints in a file that isn't loaded yet. */
  async #predict(file: string): Promise<void> {
    const url = pathToFileURL(file).href;
    const map = JSON.parse(readFileSync(`${file}.map`, "utf8")) as SourceMap;
    for (const [lineNumber, columnNumber] of generatedPositions(map, url, this.#place)) {
      const set = await this.#call("Debugger.setBreakpointByUrl", { url, lineNumber, columnNumber });
      this.#breakpoints.add(set["breakpointId"] as string);
    }
  }

  async #setBreakpoints({ scriptId, url, sourceMapURL }: Script): Promise<void> {
    const inline = /^data:application\/json[^,]*;base64,(.*)$/s.exec(sourceMapURL);
    if (!inline || !url.startsWith("file:")) return;
    const map = JSON.parse(Buffer.from(inline[1]!, "base64").toString("utf8")) as SourceMap;
    for (const [lineNumber, columnNumber] of generatedPositions(map, url, this.#place)) {
      const set = await this.#call("Debugger.setBreakpoint", {
        location: { scriptId, lineNumber, columnNumber },
      });
      this.#breakpoints.add(set["breakpointId"] as string);
    }
  }

  #call(method: string, params: object = {}): Promise<Record<string, unknown>> {
    const id = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#answers.set(id, ({ result, error }) => {
        this.#answers.delete(id);
        if (error) reject(new Error(`${method}: ${error.message}`));
        else resolve(result ?? {});
      });
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }
}
