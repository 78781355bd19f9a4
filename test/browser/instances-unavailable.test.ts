/**
 * Other instances of the account that can't be shown, or may not be any more: what the page says,
 * what it clears, and what brings them back.
 */
import assert from "node:assert/strict";
import { API_PREFIX } from "../../shared/names.ts";
import { verifies } from "../requirements.ts";
import { until } from "../support/until.ts";
import { answerPuppet, type Status, useFramedLab } from "./framed-lab.ts";

describe("Workbench: other instances that can't be shown", function () {
  this.timeout(240_000);
  const lab = useFramedLab();
  const again = () => lab.remote().getByRole("button", { name: "Try again" });
  /** The account's directory with these facts of the lab, or without the lab. */
  const listedAs =
    (facts: object | null) =>
    ({ connect }: Status) => {
      const instances = connect!.directory!.instances.flatMap((entry) => {
        if (entry.instance_id !== lab.side.instance_id) return [entry];
        return facts === null ? [] : [{ ...entry, ...facts }];
      });
      return { connect: { ...connect, directory: { ...connect!.directory, instances } } };
    };
  /** The daemon answers by itself again. */
  const confirmed = async () => {
    lab.told = null;
    await lab.check();
    await lab.row().waitFor();
    await lab.chooseOffice();
    await lab.remote().waitFor({ state: "detached" });
  };
  /**
   * Shows the lab where `pass` alone decides how late it is. How many proofs were asked for by
   * then.
   */
  const shownForLong = async () => {
    await lab.page.clock.install();
    await lab.page.reload();
    await lab.row().waitFor();
    await lab.show();
    await lab.stopClock();
    return lab.asked.length;
  };

  it("ends a frame that has expired or shows another instance, and opens it again", async () => {
    await lab.show();
    await lab.post({ type: "expired" });
    await lab.failed("frame_expired");
    await lab.row().locator(".instance-state", { hasText: "expired" }).waitFor();
    await lab.alone();
    await lab.open(again());
    await lab.ready("dev_other");
    await lab.failed("frame_stranger");
    await lab.row().locator(".instance-state", { hasText: "stranger" }).waitFor();
    await lab.alone();
    await lab.open(again());
    await lab.ready();
    await lab.groups("Rig");
    await lab.settled(["Rig"]);
  });

  it("loads itself again once for an instance that it may not frame yet", async () => {
    const moved = "https://moved.localhost:1";
    lab.told = listedAs({ public_origin: moved });
    await lab.page.route(lab.openAddress, (route) =>
      route.fulfill({ json: { ok: true, result: { origin: moved, proof: {} } } }),
    );
    await lab.check();
    await until("the list has its address", async () => (await lab.row().getAttribute("title")) === moved);
    let loaded = 0;
    lab.page.on("load", () => (loaded += 1));
    await lab.row().click();
    await until("it has loaded itself again", async () => loaded === 1);
    await lab.failed("frame_unlisted");
    await lab.remote().getByRole("button", { name: "Open in its own tab" }).waitFor();
    assert.equal(loaded, 1);
  });

  it("shows a page that answers while the browser is asked why it is silent", async () => {
    await lab.page.clock.install();
    await lab.page.reload();
    await lab.row().waitFor();
    await lab.page.evaluate(() => {
      const isReleased = new Promise<void>((resolve) => Object.assign(self, { letGo: resolve, asked: 0 }));
      navigator.permissions.query = async () => {
        Object.assign(self, { asked: 1 });
        await isReleased;
        return { state: "granted" } as PermissionStatus;
      };
    });
    await lab.lie();
    await lab.open(lab.row());
    await lab.frame();
    await lab.pass(20);
    await until("the browser is asked", () => lab.page.evaluate<boolean>("asked === 1"));
    await lab.ready();
    await lab.remote().locator(".remote-page[data-phase=shown]").waitFor();
    await lab.page.evaluate("letGo()");
    await lab.groups("Rig");
    await lab.settled(["Rig"]);
  });

  it("says that this browser doesn't show a page that stays silent", async () => {
    await lab.page.clock.install();
    await lab.page.reload();
    await lab.row().waitFor();
    await lab.lie();
    await lab.open(lab.row());
    await lab.frame();
    await lab.pass(20);
    await lab.failed("frame_silent");
    await lab.remote().getByRole("button", { name: "Open in its own tab" }).waitFor();
  });

  it("says whether this browser blocks the local network, and shows what it may reach", async () => {
    const other = await lab.profile();
    try {
      await lab.page.close();
      lab.page = await lab.entered(other);
      lab.page.setDefaultTimeout(60_000);
      await lab.page.clock.install();
      await lab.page.reload();
      await lab.row().waitFor();
      // Without a window it asks nobody, and refuses.
      await lab.open(lab.row());
      await until("the page was sent", () => lab.loads === 1);
      await lab.pass(20);
      await lab.failed("frame_local_network");
      await lab.row().locator(".instance-state", { hasText: "blocked" }).waitFor();
      await lab
        .remote()
        .locator(".remote-failed", { hasText: `your local network, where ${lab.origin} is` })
        .waitFor();
      const [tab] = await Promise.all([
        other.waitForEvent("page"),
        lab.remote().locator(".remote-failed vscode-button", { hasText: "Open in its own tab" }).click(),
      ]);
      await tab.locator(".sign-in").waitFor();
      assert.equal(new URL(tab.url()).origin, lab.origin);
      const session = await other.newCDPSession(lab.page);
      const { targetInfo } = await session.send("Target.getTargetInfo");
      const { browserContextId } = targetInfo;
      const permit = async (setting: "prompt" | "granted") => {
        for (const name of ["local-network-access", "loopback-network", "local-network"]) {
          const scope = browserContextId === undefined ? {} : { browserContextId };
          const permission = { permission: { name }, setting, origin: lab.officeOrigin };
          await session.send("Browser.setPermission", { ...permission, ...scope });
        }
      };
      // A window would still ask. What the test answers for the page needs no permission.
      await permit("prompt");
      await other.route(lab.frameAddress, answerPuppet);
      await lab.open(lab.row());
      await lab.frame();
      await lab.pass(20);
      await lab.failed("frame_silent");
      await lab.remote().locator(".remote-failed", { hasText: "If this browser asks whether" }).waitFor();
      await other.unroute(lab.frameAddress, answerPuppet);
      await permit("granted");
      await lab.row().click();
      await lab.page.frameLocator("svc-remote iframe").locator(".sign-in").waitFor();
    } finally {
      await other.close();
    }
  });

  it("ends what is shown when directory or access expired, and shows it again once confirmed", async () => {
    verifies("WB-038", "WB-039");
    await lab.show();
    lab.told = ({ connect }) => ({ connect: { ...connect, directory: null } });
    await lab.check();
    await lab.failed("account_unavailable");
    await lab.list().locator(".column-head").waitFor({ state: "detached" });
    await lab.alone();
    await confirmed();
    await lab.saved().waitFor();
    await lab.show();
    lab.told = () => null;
    // A question that comes before the page has heard that the last one failed takes its place.
    await until("the page gives up", async () => {
      const unanswered = lab.page.waitForEvent("requestfailed");
      await lab.check();
      await unanswered;
      await lab.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)));
      return lab.remote().locator(".remote-failed[data-code=account_unavailable]").isVisible();
    });
    await confirmed();
    await lab.saved().waitFor();
  });

  for (const [what, member, value] of [
    ["device", "device_id", "dev_other"],
    ["origin", "public_origin", "https://moved.localhost:1"],
  ] as const) {
    it(`clears what belonged to another ${what} of the instance`, async () => {
      verifies("WB-040", "WB-041");
      await lab.show();
      lab.told = listedAs({ [member]: value });
      await lab.check();
      await lab.failed("frame_moved");
      await lab.row().waitFor();
      await confirmed();
      assert.equal(await lab.saved().count(), 0);
    });
  }

  it("shows the own Group when the instance is no member of the account any more", async () => {
    await lab.show();
    lab.told = listedAs(null);
    await lab.check();
    await lab.remote().waitFor({ state: "detached" });
    await lab.alone();
    assert.equal(await lab.row().count(), 0);
    await lab.page.locator(".group-title", { hasText: "Office work" }).waitFor();
    lab.told = null;
    await lab.check();
    await lab.row().waitFor();
    assert.equal(await lab.saved().count(), 0);
    assert.equal(await lab.remote().count(), 0);
  });

  for (const [what, change] of [
    [
      "the account rejects this instance",
      ({ connect }) => ({ connect: { ...connect, directory: null, rejected: true } }),
    ],
    ["this instance is unlinked", () => ({ connect: null })],
    ["it is linked anew", ({ connect }) => ({ connect: { ...connect, device_id: "dev_new" } })],
    ["the person is no administrator any more", () => 403],
  ] satisfies [string, (status: Status) => object | number][]) {
    it(`forgets every instance when ${what}`, async () => {
      verifies("WB-043", "WB-044", "WB-045", "WB-046");
      await lab.show();
      lab.told = change;
      await lab.check();
      await lab.remote().waitFor({ state: "detached" });
      await lab.alone();
      await confirmed();
      assert.equal(await lab.saved().count(), 0);
      assert.equal(await lab.page.evaluate(() => sessionStorage.getItem("svc/instances")), null);
    });
  }

  it("renews the proof every 45 seconds, and asks every 15 whether the person may still see it", async () => {
    verifies("LIM-013", "WB-062");
    const opened = await shownForLong();
    await lab.pass(90);
    await until("two renewals", async () => lab.asked.length >= opened + 2);
    assert.equal(lab.asked.length, opened + 2);
    assert.equal(new Set(lab.asked.slice(opened - 1)).size, 1, "of the same frame");
    lab.told = () => 403;
    await lab.pass(15);
    await lab.remote().waitFor({ state: "detached" });
    await lab.alone();
  });

  it("shows one whose proof can't be renewed any more as offline", async () => {
    const opened = await shownForLong();
    const error = { code: "connect_unreachable", message: "It can't be reached.", details: {} };
    await lab.page.route(lab.openAddress, (route) =>
      route.fulfill({ status: 503, json: { ok: false, error } }),
    );
    await lab.pass(90);
    await until("two tries", async () => lab.asked.length >= opened + 2);
    assert.equal(await lab.remote().locator(".remote-failed").count(), 0);
    await lab.pass(45);
    await lab.failed("connect_unreachable");
    await lab.row().locator(".instance-state", { hasText: "offline since" }).waitFor();
  });

  it("ends what is shown when the daemon hangs", async () => {
    verifies("WB-039");
    await shownForLong();
    await lab.page.route(`${lab.officeOrigin}${API_PREFIX}/connect`, () => new Promise(() => {}));
    await lab.pass(75);
    await lab.failed("account_unavailable");
  });

  it("says what is wrong with an instance, and what helps", async () => {
    /** The list has it: what is clicked before that would be moved instead. */
    const reachedAt = async (origin: string | null) => {
      await lab.side.client.result("remote_access_set", { origin });
      await lab.rename();
      await until("the list has its route", async () => {
        await lab.check();
        return (await lab.row().getAttribute("title")) === (origin ?? "No route to it is set");
      });
    };
    await reachedAt(null);
    await lab.row().locator(".instance-state", { hasText: "no route" }).waitFor();
    await lab.row().click();
    await lab.failed("connect_route_missing");
    await reachedAt(lab.origin.replace("lab.", "office."));
    await lab.row().click();
    await lab.failed("connect_host_overlap");
    await lab.remote().locator(".remote-failed vscode-button", { hasText: "Open in its own tab" }).waitFor();
    await reachedAt(lab.origin);
    await lab.side.daemon.stop();
    await lab.row().click();
    await lab.failed("connect_unreachable");
    await lab.row().locator(".instance-state", { hasText: "offline since" }).waitFor();
  });
});
