/** The name that an instance gives itself in its account: once, after a new grant. */
import assert from "node:assert/strict";
import { AccountClient } from "../../../daemon/peers/account/account-client.ts";
import { AccountLogin } from "../../../daemon/peers/account/account-login.ts";
import { Membership } from "../../../daemon/peers/account/membership.ts";
import type { HttpClient, HttpFailure, HttpOutcome } from "../../../platform/http/client.ts";
import { verifies } from "../../requirements.ts";
import { SimulatedFiles } from "../../simulation/files.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { until } from "../../support/until.ts";
import { ORIGIN } from "../receiver-setting.ts";

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const PATH = "/secrets/membership.json";

describe("the name of an instance in its account", () => {
  let clock: ManualClock;
  let files: SimulatedFiles;
  let membership: Membership;
  /** Paths that the account service was asked at. */
  let asked: string[];
  /** Polls that are answered with `authorization_pending` first. */
  let pending: number;
  /** Why no answer comes. */
  let failure: HttpFailure | null = null;
  /** A refusal by which every request is answered. */
  let refusal: { status: number; code: string; message: string } | null = null;
  /** Keeps a request waiting. */
  let hold: ((path: string) => Promise<void> | undefined) | null = null;
  let login: AccountLogin;

  const http: HttpClient = {
    async request({ url }): Promise<HttpOutcome> {
      const path = new URL(url).pathname;
      asked.push(path);
      await hold?.(path);
      if (failure !== null) return { kind: "failed", why: failure, escaped: false, reason: "That's why." };
      const answer = (status: number, body: object): HttpOutcome => ({
        kind: "answered",
        status,
        headers: {},
        body: Buffer.from(JSON.stringify(body)),
      });
      if (refusal !== null) {
        const { status, code, message } = refusal;
        return answer(status, { error: { code, message } });
      }
      if (path === "/v1/device/code") {
        const page = `${ORIGIN}/device`;
        const codes = {
          device_code: `${asked.length}`.padStart(43, "d"),
          user_code: "BCDF-GHJK",
          verification_uri: page,
        };
        return answer(200, { ...codes, expires_in: 900, interval: 5 });
      }
      if (path === "/v1/device/token") {
        pending -= 1;
        if (pending >= 0) return answer(400, { error: "authorization_pending" });
        const token = { access_token: "t".repeat(43), token_type: "Bearer" };
        return answer(200, { ...token, device_id: "dev_1", hostname: "host" });
      }
      // The name can't be saved.
      return answer(500, {});
    },
    close: () => {},
  };
  afterEach(() => {
    hold = null;
  });

  const namings = () => asked.filter((path) => path === "/v1/device/name").length;

  async function opened(hostname: string): Promise<void> {
    membership = await Membership.open(files, PATH);
    const client = new AccountClient(http, 15, new AbortController().signal);
    login = new AccountLogin({ clock, log: SILENT, hostname, membership, client });
    login.start();
  }

  async function linked(hostname: string): Promise<void> {
    clock = new ManualClock();
    files = new SimulatedFiles();
    files.mkdir("/secrets");
    asked = [];
    pending = 3;
    await opened(hostname);
    await login.begin(ORIGIN);
    await until("the binding", () => {
      clock.advanceToTimer();
      return membership.binding;
    });
    await login.close();
  }

  it("is tried once, and the grant stays when it can't be saved", async () => {
    verifies("DIR-050", "DIR-051", "DIR-052", "DIR-053");
    await linked("workbench");
    assert.equal(asked.filter((path) => path === "/v1/device/token").length, 4);
    assert.equal(namings(), 1);
    assert.equal(membership.binding?.device_id, "dev_1");
    assert.equal(membership.value.logged_in, true);

    // It starts anew, bound, and time passes.
    const before = asked.length;
    await opened("another name");
    clock.advance(3_600_000);
    await login.close();
    assert.equal(membership.binding?.device_id, "dev_1");
    assert.equal(asked.length, before);
  });

  it("comes before a person's, also when the answer to an earlier login comes in between", async () => {
    clock = new ManualClock();
    files = new SimulatedFiles();
    files.mkdir("/secrets");
    asked = [];
    pending = 1;
    await opened("workbench");
    const gates: { path: string; open: () => void }[] = [];
    hold = (path) =>
      path === "/v1/device/code" ? undefined : new Promise((open) => gates.push({ path, open }));
    for (let count = 1; count <= 2; count += 1) {
      await login.begin(ORIGIN);
      clock.advance(5000);
      await until("the question", () => gates.length === count);
    }
    const [earlier, later] = gates;
    earlier!.open();
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    let isSettled = false;
    const settled = login.settled().then(() => {
      isSettled = true;
    });
    later!.open();
    await until("the naming", () => gates.length === 3);
    assert.equal(gates[2]?.path, "/v1/device/name");
    assert.equal(isSettled, false);
    gates[2].open();
    await settled;
    await login.close();
  });

  it("isn't the host's when that can't be a name", async () => {
    verifies("DIR-049");
    for (const hostname of ["h".repeat(61), "bell\u0007", "turned\u202e", ""]) {
      await linked(hostname);
      assert.equal(namings(), 0, JSON.stringify(hostname));
    }
    await linked("h".repeat(60));
    assert.equal(namings(), 1);
  });

  it("needs a service with a certificate that is trusted, and says so to a person", async () => {
    asked = [];
    files = new SimulatedFiles();
    files.mkdir("/secrets");
    await opened("workbench");
    const begun = async (why: HttpFailure): Promise<unknown> => {
      failure = why;
      return login.begin(ORIGIN).catch(({ message }: Error) => message);
    };
    try {
      assert.equal(await begun("untrusted"), `${ORIGIN}: That's why. Then try again.`);
      assert.equal(await begun("unreachable"), `${ORIGIN}: That's why. Try again in a moment.`);
      assert.equal(asked.length, 2);
    } finally {
      failure = null;
      await login.close();
    }
  });

  it("needs the address of the service, which the service says", async () => {
    asked = [];
    files = new SimulatedFiles();
    files.mkdir("/secrets");
    await opened("workbench");
    refusal = { status: 421, code: "wrong_host", message: "It is elsewhere. Use https://there.example." };
    try {
      await assert.rejects(login.begin(ORIGIN), {
        message: `${ORIGIN}: It is elsewhere. Use https://there.example. Then try again.`,
      });
      // Whoever runs it steers no terminal and imitates no other line.
      const message = "\u001b]0;title\u0007It\u200b is\u202e there.\nsvc: Done.";
      refusal = { status: 400, code: "invalid_request", message };
      await assert.rejects(login.begin(ORIGIN), {
        message: "\u241b]0;title\u2407It\ufffd is\ufffd there. svc: Done. 'svc account' shows the link.",
      });
    } finally {
      refusal = null;
      await login.close();
    }
  });
});
