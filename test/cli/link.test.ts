/** `svc link` as a person runs it, against the real account service. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { qrCode } from "../../cli/qr-code.ts";
import { FailingProxy } from "../account/failing-proxy.ts";
import { type TestBrowser, TestService } from "../account/service.ts";
import { DaemonProcess, plainEnvironment, SVC } from "../support/daemon-process.ts";
import { MachineClock } from "../support/manual-clock.ts";
import { Terminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";
import { collect, type Ran, run, start } from "./svc.ts";

describe("svc link", function () {
  this.timeout(60_000);
  let proxy: FailingProxy;
  let service: TestService;
  let daemon: DaemonProcess;
  let ann: TestBrowser;

  before(async () => {
    proxy = await FailingProxy.open();
    service = await TestService.started({ origin: proxy.origin, clock: new MachineClock() });
    proxy.port = service.settings.port;
    ann = await service.member("Ann");
    daemon = await DaemonProcess.started();
  });
  afterEach(() => proxy.failing.clear());
  after(async () => {
    await daemon?.dispose();
    await proxy?.close();
    await service?.dispose();
  });

  /** Waits for the confirmation as a person does, who gives it after `meanwhile`. */
  async function linked(meanwhile: (ran: Ran) => Promise<void> = async () => {}): Promise<Ran> {
    const child = start(["link", "--account", proxy.origin], { home: daemon.home });
    const ran = collect(child);
    const [, code] = await until("the code", () => /^and compare the code: (\S+)$/mu.exec(ran.out));
    await meanwhile(ran);
    await ann.approve(code!);
    await once(child, "close");
    return { ...ran, code: child.exitCode };
  }

  it("shows the page's address as a QR code in a terminal, opens it when asked, and can be given up", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-browser-"));
    try {
      const asked = join(folder, "asked");
      writeFileSync(join(folder, "xdg-open"), `#!/bin/sh\nprintf %s "$1" >'${asked}'\n`, { mode: 0o755 });
      const command = [process.execPath, SVC, "link", "--account", proxy.origin, "--open", "--no-wait"];
      const path = `${folder}${delimiter}${plainEnvironment()["PATH"]}`;
      const env = { SVC_HOME: daemon.home, DISPLAY: ":0", PATH: path };
      const terminal = new Terminal(command, { env, columns: 120 });
      const code = await terminal.ended();
      terminal.kill();
      const { text } = terminal;
      assert.equal(code, 0, text);
      const { pending } = await daemon.client().result("account_show", {});
      const page = pending!.verification_uri_complete;
      assert.ok(text.includes("Opened in the browser."), text);
      const lines = text.split("\r\n");
      assert.ok(lines.includes(`Open ${page}`), text);
      for (const line of qrCode(page)) assert.ok(lines.includes(line), text);
      // The command line of a browser can be read by every user of the machine.
      const opened = await until("the browser", () => {
        const path = statSync(asked, { throwIfNoEntry: false }) && readFileSync(asked, "utf8");
        return path === undefined || path === "" ? null : path;
      });
      assert.equal(statSync(opened).mode & 0o777, 0o600);
      assert.ok(readFileSync(opened, "utf8").includes(JSON.stringify(page)));

      const { out } = await run(["link", "--cancel"], { home: daemon.home });
      assert.match(out, /^It no longer waits/u);
      const { state } = await daemon.client().result("account_show", {});
      assert.equal(state, "not_linked");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("says with whom it is linked", async () => {
    const { code, out, err } = await linked();
    assert.equal(code, 0, err);
    assert.match(out, /^Linked to “Ann”\.$/mu);
    assert.doesNotMatch(err, /^svc: /mu);
  });

  it("leaves open whether there are connections to other accounts while the service doesn't tell", async () => {
    assert.equal((await run(["unlink", "--yes"], { home: daemon.home })).code, 0);
    proxy.failing.set("/v1/connect/groups", 500);
    assert.equal((await linked()).code, 0);
    const created = await run(["group", "create", "Alone"], { home: daemon.home });
    assert.equal(created.code, 0, created.err);
    const unsure = /^Connections to other accounts aren't confirmed now\. .*status 500\.$/mu;
    for (const command of [["connections"], ["connect"]]) {
      const { out, err } = await until("the words", async () => {
        const ran = await run(command, { home: daemon.home });
        return unsure.test(ran.err) ? ran : null;
      });
      assert.doesNotMatch(out + err, /no connections/iu);
    }
    proxy.failing.clear();
  });

  it("says while it waits that the account service doesn't answer", async () => {
    assert.equal((await run(["unlink", "--yes"], { home: daemon.home })).code, 0);
    proxy.failing.set("/v1/device/token", 503);
    const { code, err } = await linked(async (ran) => {
      await until("the failure", () => /^http:\S+ It answers with status 503\.$/mu.exec(ran.err));
      const { out } = await run(["account"], { home: daemon.home });
      assert.match(out, /^error +http:\S+ It answers with status 503\.$/mu);
      proxy.failing.clear();
    });
    assert.equal(code, 0, err);
  });

  it("says what keeps the account from listing the instance that was just linked", async () => {
    assert.equal((await run(["unlink", "--yes"], { home: daemon.home })).code, 0);
    proxy.failing.set("/v1/connect/instances", 500);
    const { code, out, err } = await linked();
    assert.equal(code, 0, err);
    assert.match(out, /^Linked\.$/mu);
    assert.match(err, /^svc: http:\S+ It answers with status 500\.$/mu);
  });

  it("says what to do about an address that isn't an account service's", async () => {
    assert.equal((await run(["unlink", "--yes"], { home: daemon.home })).code, 0);
    const refused = async (origin: string) => {
      const { code, err } = await run(["link", "--account", origin], { home: daemon.home });
      assert.equal(code, 1);
      return err;
    };
    assert.match(
      await refused("https://account.example.org/path"),
      /^svc: --account isn't .* 'svc link --account /u,
    );
    for (const status of [401, 403, 404, 405]) {
      proxy.failing.set("/v1/device/code", status);
      const words = new RegExp(
        `isn't an account service \\(status ${status}\\)\\. Check its address\\.$`,
        "mu",
      );
      assert.match(await refused(proxy.origin), words);
    }
  });

  it("links again where it was retired, and says meanwhile that nothing is confirmed", async () => {
    assert.equal((await linked()).code, 0);
    const client = daemon.client();
    proxy.failing.set("/v1/connect/instances", 403);
    await client.result("connect_rename", { by: "user", display_name: "Renamed" });
    const { home } = daemon;
    const { out, err } = await run(["connections"], { home });
    assert.equal(out, "No connection is confirmed now.\n");
    assert.match(err, /^svc: This instance was retired in the account\. Link it again with 'svc link'\.$/mu);
    const catalog = await run(["connect"], { home });
    assert.match(catalog.err, /^This instance was retired in the account\./mu);
    assert.doesNotMatch(catalog.err, /no connections/u);
    for (const group of [[], ["--dst-group", "Lab"]])
      assert.match(
        (await run(["send", "Hello", "--dst-instance", "Lab", ...group], { home })).err,
        /^svc: This instance was retired in the account\./mu,
      );
    const again = await run(["link", "--no-wait"], { home });
    assert.equal(again.code, 0, again.err);
    assert.ok(again.out.includes(proxy.origin), again.out);
    assert.equal((await run(["link", "--cancel"], { home })).code, 0);
  });

  it("names no second link among the ways to a first connection", async () => {
    const { home } = daemon;
    await daemon.client().result("connect_rename", { by: "user", display_name: "Renamed" });
    const { out } = await run(["connections"], { home });
    assert.match(out, /^No connections\. Begin with:$/mu);
    assert.ok(out.includes(`\nsvc link --account ${proxy.origin} on another machine: `), out);
    assert.match(out, /^svc direct invite: /mu);
  });
});
