/**
 * A real Workbench in a frame: the lab is a daemon over HTTPS below one name of this machine, and
 * the pages around it, of other names, are the test's.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, BrowserContext, Frame, Page } from "playwright-core";
import { freePort } from "../../demo/free-port.ts";
import type { FrameProof } from "../../shared/frame-protocol.ts";
import { TestInstance, TestService } from "../account/service.ts";
import { TestAuthority } from "../support/certificates.ts";
import { MachineClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";
import { takePicture } from "./at-rest.ts";
import { launchBrowser, Setting } from "./setting.ts";

/** A page that can frame, and writes down what it hears from whom. */
const PARENT = `<!doctype html><title>Entry</title><style>html, body { margin: 0; height: 100%; }
iframe { border: 0; width: 100%; height: 100%; }</style><script>
const heard = [];
addEventListener("message", ({ data, origin, source }) =>
  heard.push({ data, origin, ours: source === document.querySelector("iframe")?.contentWindow }));
function open_(action, proof) {
  document.querySelector("iframe")?.remove();
  const frame = document.createElement("iframe");
  frame.name = "target";
  frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms allow-downloads");
  document.body.append(frame);
  if (proof === null) { frame.src = action; return; }
  const form = document.createElement("form");
  form.method = "post"; form.action = action; form.target = "target";
  const field = document.createElement("input");
  field.name = "proof"; field.value = proof;
  form.append(field); document.body.append(form); form.submit(); form.remove();
}
</script><body></body>`;

interface Heard {
  data: { type: string; frame_id: string } & Record<string, unknown>;
  origin: string;
  ours: boolean;
}

/** A page of the test, which frames the lab's Workbench. */
export class EntryPage {
  readonly page: Page;
  readonly origin: string;
  /** Of the frame that was opened last. */
  frameId = "";
  readonly #target: FramedWorkbench;

  constructor(target: FramedWorkbench, page: Page, origin: string) {
    this.#target = target;
    this.page = page;
    this.origin = origin;
    page.setDefaultTimeout(60_000);
  }

  heard(): Promise<Heard[]> {
    return this.page.evaluate<Heard[]>("heard");
  }

  async types(): Promise<string[]> {
    return (await this.heard()).map(({ data }) => data.type);
  }

  async has(type: string): Promise<boolean> {
    return (await this.types()).includes(type);
  }

  async last(type: string): Promise<Heard["data"] | undefined> {
    return (await this.heard()).findLast(({ data }) => data.type === type)?.data;
  }

  /** Opens the frame again, with a proof for so many seconds. */
  async open(seconds?: number): Promise<void> {
    this.frameId = randomUUID();
    const proof = encoded(this.#target.proofFor(this.frameId, this.origin, seconds));
    await this.go(`${this.#target.origin}/ui/connect/`, proof);
    await until("the page in the frame works", () => this.has("ready"));
  }

  /** Opens the frame again at this address: by a form with the proof, or by the address alone. */
  async go(address: string, proof: string | null): Promise<void> {
    await this.page.evaluate("heard.length = 0");
    await this.page.evaluate(`open_(${JSON.stringify(address)}, ${JSON.stringify(proof)})`);
  }

  inside(): Frame {
    return this.page.frames().find((frame) => frame.url().startsWith(this.#target.origin))!;
  }

  /** Posts to the page in the frame. */
  post(message: object): Promise<void> {
    const posted = { channel: "svc.connect.frame.v1", frame_id: this.frameId, ...message };
    return this.page.evaluate(
      ([whole, to]) => document.querySelector("iframe")!.contentWindow!.postMessage(whole, to),
      [posted, this.#target.origin] as const,
    );
  }

  /**
   * Counts what is posted to the page in the frame from now on. Answers how to wait until the page
   * has dealt with so many.
   */
  async counting(): Promise<(count: number) => Promise<unknown>> {
    await this.inside().evaluate("globalThis.posted = 0; addEventListener('message', () => (posted += 1))");
    return (count) =>
      until(`${count} messages`, async () => (await this.inside().evaluate<number>("posted")) >= count);
  }

  async signIn(credential: string): Promise<void> {
    await this.inside().locator("vscode-text-field").locator("input").fill(credential);
    await this.inside().locator("vscode-button", { hasText: "Sign in" }).click();
  }

  /** As `open`, with an administrator signed in there. */
  async admit(seconds?: number): Promise<void> {
    await this.open(seconds);
    await until("it says who is there", async () => (await this.has("groups")) || (await this.has("locked")));
    if (await this.has("locked")) await this.signIn(await this.#target.lab.loginLink());
    await until("the Groups", () => this.has("groups"));
  }

  async picture(name: string): Promise<void> {
    const folder = process.env["SVC_TEST_PICTURES"];
    if (folder !== undefined) await takePicture(this.page, join(folder, `${name}.png`));
  }
}

/** As it goes with a form, or in an address. */
export function encoded(proof: object): string {
  return Buffer.from(JSON.stringify(proof)).toString("base64url");
}

class FramedWorkbench {
  browser!: Browser;
  context!: BrowserContext;
  lab!: Setting;
  /** The lab's. */
  origin!: string;
  instanceId!: string;
  deviceId!: string;
  /** Their ids, by their titles. */
  readonly groups: Record<string, string> = {};
  /** Of "Bench". */
  lead!: ReturnType<Setting["daemon"]["client"]>;
  /** Where nobody is signed in at first. All tests share it. */
  entry!: EntryPage;
  otherOrigin!: string;
  evilOrigin!: string;
  /** Every address that the entry's pages and their frames asked for. */
  readonly requested: string[] = [];
  readonly #servers: Server[] = [];
  readonly #source = new TestInstance();
  #sourceDevice!: string;
  #authority!: TestAuthority;
  #service!: TestService;

  async start(): Promise<void> {
    this.#authority = new TestAuthority();
    const port = await freePort();
    const { cert, key } = this.#authority.issue("lab.localhost");
    [this.#service, this.browser] = await Promise.all([
      TestService.started({ clock: new MachineClock() }),
      launchBrowser(),
    ]);
    this.otherOrigin = await this.#serve("attic.localhost");
    this.evilOrigin = await this.#serve("evil.localhost");
    const ann = await this.#service.member("Ann");
    const device = await this.#service.device(ann);
    const registered = await device.register(this.#source);
    assert.equal(registered.status, 200, JSON.stringify(registered.body));
    this.#sourceDevice = device.id;
    const environment = { SVC_TLS_CERT: cert, SVC_TLS_KEY: key };
    this.lab = await Setting.open(this.browser, { port, environment });
    this.origin = `https://lab.localhost:${port}`;
    const { owner } = this.lab;
    await owner.result("remote_access_set", { origin: this.origin });
    const { user_code: code } = await owner.result("account_link", { account_origin: ann.origin });
    await ann.approve(code);
    const linked = await until("the link", async () => {
      const { connect } = await owner.result("connect_status", {});
      return connect === null || connect.directory === null ? null : connect;
    });
    [this.instanceId, this.deviceId] = [linked.instance_id, linked.device_id];
    await this.fill();
    this.context = await this.browser.newContext({
      ignoreHTTPSErrors: true,
      viewport: { width: 1280, height: 800 },
      colorScheme: "dark",
      reducedMotion: "reduce",
    });
    this.entry = await this.visit(await this.#serve("office.localhost"));
  }

  async stop(): Promise<void> {
    await this.context?.close();
    await this.lab?.close();
    await Promise.all([this.browser?.close(), this.#service?.dispose()]);
    for (const server of this.#servers) server.close();
    this.#authority?.remove();
  }

  async fill(): Promise<void> {
    for (const title of ["Bench", "Kiln"]) {
      const group = await this.lab.group(title);
      this.groups[title] = group.groupId;
      if (title === "Bench") this.lead = group.actors["lead"]!;
    }
  }

  /** A page of that origin, where nobody is signed in yet. */
  async visit(origin: string, context = this.context): Promise<EntryPage> {
    const page = await context.newPage();
    page.on("request", (request) => this.requested.push(request.url()));
    const visited = new EntryPage(this, page, origin);
    await page.goto(origin);
    return visited;
  }

  proofFor(frameId: string, parent: string, seconds = 120): FrameProof {
    const now = Date.now();
    const fields = {
      account_origin: this.#service.origin,
      source_instance_id: this.#source.instance_id,
      source_device_id: this.#sourceDevice,
      target_instance_id: this.instanceId,
      target_device_id: this.deviceId,
      parent_origin: parent,
      frame_id: frameId,
      nonce: randomUUID(),
      issued_at: new Date(now).toISOString(),
      expires_at: new Date(now + seconds * 1000).toISOString(),
    };
    return { ...fields, signature: this.#source.sign(["svc.connect.frame.v1", ...Object.values(fields)]) };
  }

  async #serve(host: string): Promise<string> {
    const { cert, key } = this.#authority.issue(host);
    const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (_request, response) =>
      response.setHeader("Content-Type", "text/html").end(PARENT),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.#servers.push(server);
    return `https://${host}:${(server.address() as AddressInfo).port}`;
  }
}

/** For the tests of a describe. */
export function useFramedWorkbench(): FramedWorkbench {
  const target = new FramedWorkbench();
  before(() => target.start());
  after(() => target.stop());
  return target;
}
