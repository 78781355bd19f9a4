/** The account service of a demo, as a process of its own, with the member who uses its pages. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { ENVIRONMENT } from "../shared/names.ts";
import { freePort } from "./free-port.ts";

const START_SECONDS = 20;
const LOOK_MS = 25;

export class Service {
  readonly #program: string;
  readonly #folder: string;
  #process: ChildProcess | null = null;
  #origin = "";

  constructor(program: string, folder: string) {
    this.#program = program;
    this.#folder = folder;
  }

  /** As members and daemons name it. */
  get origin(): string {
    return this.#origin;
  }

  /** Starts it with the development login, which works only on this machine. */
  async open(): Promise<void> {
    const port = await freePort();
    this.#origin = `http://localhost:${port}`;
    const options = ["--folder", this.#folder, "--port", String(port), "--origin", this.#origin];
    const child = spawn(process.execPath, [this.#program, "account-service", ...options], {
      env: { ...process.env, ALLOW_DEV_LOGIN: "1", [ENVIRONMENT.accountDatabase]: "" },
      // A group of its own: Ctrl-C is for the demo, which then stops it in order.
      detached: true,
      stdio: ["ignore", "ignore", "inherit"],
    });
    this.#process = child;
    for (const deadline = Date.now() + START_SECONDS * 1000; Date.now() < deadline; ) {
      if (hasEnded(child)) break;
      const answer = await fetch(`${this.#origin}/ready`).catch(() => null);
      if (answer?.ok === true) return;
      await delay(LOOK_MS);
    }
    throw new Error("The demo's account service didn't start.");
  }

  /** Signs a member in, as a browser would. */
  async member(name: string): Promise<Member> {
    const member = new Member(this.#origin);
    await member.submit("/login", "/login/development", { name });
    return member;
  }

  async close(): Promise<void> {
    const child = this.#process;
    if (child === null || hasEnded(child)) return;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
  }

  /** Ends it at once. */
  kill(): void {
    const child = this.#process;
    if (child?.pid !== undefined && !hasEnded(child)) process.kill(-child.pid, "SIGKILL");
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Uses the pages: keeps the cookie, and sends forms with the token that their page has. */
export class Member {
  readonly #origin: string;
  #cookie = "";

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Lets the device with this code in. */
  async approve(userCode: string): Promise<void> {
    const question = await this.submit("/device", "/device", { user_code: userCode });
    await this.#send("/device/decide", question, { user_code: userCode, decision: "approved" });
  }

  async retire(device: string): Promise<void> {
    await this.submit(`/devices/retire?device=${device}`, "/devices/retire", { device });
  }

  /** What others need to invite this member. */
  async memberId(): Promise<string> {
    return found(/<code class="id">([0-9a-f-]{36})</u, await this.#ask("/connect", {}));
  }

  /** Invites a member to the selection whose page this is. */
  async invite(page: string, recipient: string): Promise<void> {
    const [path, ticket] = this.#selection(page);
    await this.submit(path, "/connect/select", { ticket, recipient });
  }

  /** The invitation that waits for this member. */
  async invitation(): Promise<string> {
    return found(/svc connect accept ([0-9a-f-]{36})/u, await this.#ask("/connect", {}));
  }

  /** Accepts it with the selection whose page this is. */
  async accept(page: string, invitation: string): Promise<void> {
    const [path, ticket] = this.#selection(page);
    await this.submit(path, "/connect/select", { ticket, invitation });
  }

  /** Ends the connection whose page this is. */
  async end(page: string): Promise<void> {
    const { pathname } = new URL(page);
    await this.submit(pathname, pathname, {});
  }

  #selection(page: string): [path: string, ticket: string] {
    const { pathname, search, searchParams } = new URL(page);
    return [pathname + search, searchParams.get("ticket") ?? ""];
  }

  /** Opens a page and sends one of its forms. Answers the page that comes back. */
  async submit(path: string, action: string, fields: Record<string, string>): Promise<string> {
    return this.#send(action, await this.#ask(path, {}), fields);
  }

  #send(action: string, page: string, fields: Record<string, string>): Promise<string> {
    const [, csrf = ""] = /name="csrf" value="([^"]+)"/u.exec(page) ?? [];
    return this.#ask(action, { method: "POST", body: new URLSearchParams({ csrf, ...fields }) });
  }

  async #ask(path: string, init: RequestInit): Promise<string> {
    const headers = { cookie: this.#cookie, origin: this.#origin };
    const answer = await fetch(`${this.#origin}${path}`, { ...init, headers, redirect: "manual" });
    for (const line of answer.headers.getSetCookie()) this.#cookie = line.split(";", 1)[0]!;
    const text = await answer.text();
    if (answer.status >= 400) throw new Error(`${path} of the account service answers ${answer.status}.`);
    return text;
  }
}

function found(pattern: RegExp, page: string): string {
  const [, text] = pattern.exec(page) ?? [];
  if (text === undefined) throw new Error("The account service's page isn't as the demo expects.");
  return text;
}
