/** Debian's Caddy in front of two daemons and the account service, by docs/remote-access.md. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../demo/free-port.ts";
import { ask, type Question, TestBrowser, TestService } from "../account/service.ts";
import { link, renamed, TEST_HOSTS } from "../peers/account/linked-side.ts";
import { Side } from "../peers/direct/two-homes.ts";
import { MachineClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";

/** The part of a Caddyfile that the page shows for this site. */
function recipe(site: string): string {
  const page = readFileSync("docs/remote-access.md", "utf8");
  const found = [...page.matchAll(/^```\n([\s\S]*?)^```$/gmu)].map(([, block]) => block!);
  const block = found.find((text) => text.startsWith(`${site} {`));
  assert.ok(block, site);
  return block;
}

/** The recipe under another name and for another port; each is there once. */
function adapted(site: string, origin: string, port: number): string {
  const parts = recipe(site)
    .replace(site, new URL(origin).host)
    .split(/127\.0\.0\.1:[0-9]+/u);
  assert.equal(parts.length, 2);
  return parts.join(`127.0.0.1:${port}`);
}

describe("behind Caddy", function () {
  this.timeout(180_000);
  const folder = mkdtempSync(join(tmpdir(), "svc-caddy-"));
  const root = join(folder, "caddy/pki/authorities/local/root.crt");
  let said = "";
  let caddy: ChildProcess;
  let ca: string;
  let service: TestService;
  let ann: TestBrowser;
  let desk: Side;
  let lab: Side;

  before(async () => {
    const [port, servicePort, deskPort, labPort] = await Promise.all(
      [1, 2, 3, 4].map(async () => freePort()),
    );
    const at = (name: string): string => `https://${name}.svc.test:${port}`;
    writeFileSync(
      join(folder, "Caddyfile"),
      [
        "{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n",
        adapted("account.example.org", at("account"), servicePort!),
        adapted("desk.example.org", at("desk"), deskPort!),
        adapted("desk.example.org", at("lab"), labPort!),
      ].join(""),
    );
    caddy = spawn("/usr/bin/caddy", ["run", "--config", join(folder, "Caddyfile")], {
      env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      stdio: ["ignore", "ignore", "pipe"],
    });
    caddy.stderr!.on("data", (text: Buffer) => (said += text.toString("utf8")));
    service = await TestService.started({
      port: servicePort!,
      origin: at("account"),
      proxies: 1,
      clock: new MachineClock(),
    });
    let answered = "";
    await until("Caddy serves the account", async () => {
      assert.equal(caddy.exitCode, null);
      if (!existsSync(root)) return false;
      // It may be there before all of it is written.
      ca = readFileSync(root, "utf8");
      const asked = ask(service.origin, "/login", { ca });
      answered = await asked.then(({ status }) => String(status), String);
      return answered === "200";
    }).catch((error: unknown) => {
      throw new Error(`Caddy answers ${answered || "nothing"}\n${said}`, { cause: error });
    });
    const started = async (title: string, origin: string, webPort: number): Promise<Side> => {
      const side = await Side.started(title, {
        ...TEST_HOSTS,
        SVC_WEB_PORT: String(webPort),
        NODE_EXTRA_CA_CERTS: root,
      });
      await side.svc(["origin", "set", origin]);
      return side;
    };
    [desk, lab] = await Promise.all([
      started("Desk", at("desk"), deskPort!),
      started("Lab", at("lab"), labPort!),
    ]);
    ann = new TestBrowser(service.origin, async (origin, path, question: Question = {}) =>
      ask(origin, path, { ...question, ca }),
    );
    await ann.submit("/login", "/login/development", { name: "Ann" });
    await link(desk, ann);
    await link(lab, ann);
    // Each learns about the other at its next refresh, which a new name brings about.
    await renamed(desk, "Desk");
    await renamed(lab, "Lab");
  });
  after(async () => {
    await Promise.all([desk?.dispose(), lab?.dispose()]);
    await service?.dispose();
    caddy?.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  it("two instances list each other, and a message and a file arrive", async () => {
    for (const side of [desk, lab]) {
      const checked = await side.svc(["origin", "check"]);
      assert.equal(checked["reached"], true, JSON.stringify(checked));
    }
    const { source_event: sourceEvent } = await desk.send(lab, "hello", "Hello through Caddy");
    assert.equal((await desk.delivered(sourceEvent.id)).state, "sent");
    const bytes = randomBytes(3 * 1024 * 1024);
    writeFileSync(join(lab.project, "picture.bin"), bytes);
    const { source_event: withFile } = await lab.client.result("connect_send_files", {
      group_id: lab.group_id,
      instance_id: desk.instance_id,
      target_group_id: desk.group_id,
      client_id: "file",
      text: "A picture",
      to: ["lead"],
      paths: [join(lab.project, "picture.bin")],
    });
    assert.equal((await lab.delivered(withFile.id)).state, "sent");
    assert.deepEqual(
      (await desk.messages()).map(({ data }) => data["text"]),
      ["Hello through Caddy", "A picture"],
    );
  });

  it("the service sees where requests come from, and shows its operators' pages to nobody outside", async () => {
    const forged = { "x-forwarded-for": "192.0.2.7", "content-type": "application/json" };
    const grant = await ask(service.origin, "/v1/device/code", {
      ca,
      method: "POST",
      headers: forged,
      body: "{}",
    });
    assert.equal(grant.status, 200);
    const { user_code: userCode } = grant.body as { user_code: string };
    const { body } = await ann.submit("/device", "/device", { user_code: userCode });
    assert.match(body as string, /127\.0\.0\.1/u);
    assert.doesNotMatch(body as string, /192\.0\.2\.7/u);
    for (const path of ["/health", "/ready", "/metrics"])
      assert.equal((await ask(service.origin, path, { ca })).status, 404, path);
  });

  it("an instance whose device is retired is refused, and no more listed", async () => {
    const { connect } = await lab.client.result("connect_status", {});
    await ann.submit("/", "/devices/retire", { device: connect!.device_id });
    await renamed(desk, "Desk again");
    await until("it isn't listed", async () => {
      const status = await desk.client.result("connect_status", {});
      return status.connect?.directory?.instances.every(({ instance_id: id }) => id !== lab.instance_id);
    });
    await assert.rejects(desk.send(lab, "late", "Too late"));
  });

  it("an origin of its own machine is told to no service elsewhere, and the check says so", async () => {
    await desk.svc(["origin", "set", "https://desk.localhost:9"]);
    const { reached, problem } = await desk.client.result("remote_access_check", {});
    assert.equal(reached, false);
    assert.match(problem ?? "", /isn't told to an account service elsewhere/u);
  });
});
