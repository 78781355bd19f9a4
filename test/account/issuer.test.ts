/** Sign-in through another issuer: with a real one, and with one that lies. */
import assert from "node:assert/strict";
import { freePort } from "../../demo/free-port.ts";
import { LIMITS } from "../../shared/limits.ts";
import { type Lie, LyingIssuer, RealIssuer, trusting } from "./issuers.ts";
import { KINDS, type TestBrowser, TestService } from "./service.ts";

const ANSWER = "/login/issuer/answer";

/** Where the browser is sent to sign in. */
async function begun(browser: TestBrowser, next = "/"): Promise<string> {
  const { status, headers, body } = await browser.get(`/login/issuer?next=${encodeURIComponent(next)}`);
  assert.equal(status, 303, body);
  return headers.location!;
}

/** The page that the issuer's answer leads to, of this service. */
function pathOf(address: string): string {
  const { pathname, search } = new URL(address);
  return `${pathname}${search}`;
}

const isSignedIn = async (browser: TestBrowser): Promise<boolean> => (await browser.get("/")).status === 200;

async function members(service: TestService): Promise<string[]> {
  const rows = await service.store.db.selectFrom("members").select("name").orderBy("name").execute();
  return rows.map(({ name }) => name);
}

for (const kind of KINDS) {
  describe(`sign-in through a real issuer, ${kind}`, () => {
    let issuer: RealIssuer;
    let service: TestService;
    before(async () => {
      const port = await freePort();
      issuer = await RealIssuer.open([`http://localhost:${port}${ANSWER}`]);
      service = await TestService.started({ kind, port, issuer: trusting(issuer.url, true) });
    });
    after(async () => {
      await service?.dispose();
      await issuer?.close();
    });

    it("lets a new member in, who is the same one the next time", async () => {
      for (let time = 1; time <= 2; time += 1) {
        const browser = service.browser();
        const page = await browser.get("/login?next=%2Fsecurity");
        assert.match(page.body as string, /href="\/login\/issuer\?next=%2Fsecurity"/u);
        const answered = await browser.get(
          pathOf(await issuer.answer(await begun(browser, "/security"), "bob")),
        );
        assert.deepEqual([answered.status, answered.headers.location], [303, "/security"]);
        assert.equal((await browser.get("/security")).status, 200);
        assert.deepEqual(await members(service), ["bob of the issuer"]);
      }
    });

    it("links a member, and never by name or mail", async () => {
      // The same name and the same, unverified, mail as the subject's.
      const ann = await service.member("ann of the issuer");
      const before = await members(service);
      const stranger = service.browser();
      await stranger.get(pathOf(await issuer.answer(await begun(stranger), "ann")));
      assert.deepEqual(await members(service), [...before, "ann of the issuer"].sort());

      const page = await ann.submit("/security", "/security/issuer", {});
      const [, link] = /href="(http[^"]+)"/u.exec(page.body as string)!;
      const taken = await ann.get(pathOf(await issuer.answer(link!.replaceAll("&amp;", "&"), "ann")));
      assert.equal(taken.status, 409, "another member signs in with it");
      const again = await ann.submit("/security", "/security/issuer", {});
      const [, free] = /href="(http[^"]+)"/u.exec(again.body as string)!;
      const linked = await ann.get(pathOf(await issuer.answer(free!.replaceAll("&amp;", "&"), "annabel")));
      assert.equal(linked.headers.location, "/security");
      assert.match((await ann.get("/")).body as string, /Identity provider linked/u);

      const browser = service.browser();
      await browser.get(pathOf(await issuer.answer(await begun(browser), "annabel")));
      assert.match((await browser.get("/")).body as string, /Identity provider linked/u);
      // Without a passkey, nothing else would be left.
      assert.equal((await ann.submit("/security", "/security/issuer/remove", {})).status, 409);
    });

    it("creates one member when two browsers sign the same new person in at once", async () => {
      const browsers = [service.browser(), service.browser(), service.browser(), service.browser()];
      const answers = await Promise.all(
        browsers.map(async (browser) => pathOf(await issuer.answer(await begun(browser), "twin"))),
      );
      const shown = await Promise.all(browsers.map(async (browser, index) => browser.get(answers[index]!)));
      assert.deepEqual(new Set(shown.map(({ status }) => status)), new Set([303]));
      assert.equal((await members(service)).filter((name) => name.startsWith("twin")).length, 1);
    });
  });
}

describe("sign-in through an issuer, hostile", () => {
  let issuer: LyingIssuer;
  let service: TestService;
  before(async () => {
    issuer = await LyingIssuer.open();
    service = await TestService.started({ issuer: trusting(issuer.url, true) });
  });
  after(async () => {
    await service?.dispose();
    await issuer?.close();
  });
  beforeEach(() => {
    issuer.lie = {};
  });

  const back = (fields: Record<string, string>): string => `${ANSWER}?${new URLSearchParams(fields)}`;

  async function refused(
    browser: TestBrowser,
    fields: Record<string, string>,
    what: string,
  ): Promise<string> {
    const before = await members(service);
    const answer = await browser.get(back(fields));
    assert.equal(answer.status, 403, `${what}: ${answer.body}`);
    assert.ok(!(await isSignedIn(browser)), what);
    assert.deepEqual(await members(service), before, what);
    return (answer.body as string).replaceAll("&#39;", "'");
  }

  it("takes an honest answer, so that the others are refused for their lie", async () => {
    const browser = service.browser();
    const answer = await browser.get(back(issuer.answer(await begun(browser))));
    assert.equal(answer.status, 303, answer.body);
    assert.ok(await isSignedIn(browser));
  });

  it("believes no token of another issuer, audience, nonce, key or time", async () => {
    const now = Math.floor(Date.now() / 1000);
    const lies: Record<string, Lie> = {
      "another issuer": { claims: { iss: "https://evil.example" } },
      "another audience": { claims: { aud: "another client" } },
      "several audiences, another one authorized": { claims: { aud: ["svc", "other"], azp: "other" } },
      "another nonce": { claims: { nonce: "x".repeat(43) } },
      "no nonce": { claims: { nonce: undefined } },
      "no subject": { claims: { sub: undefined } },
      expired: { claims: { exp: now - 3600, iat: now - 7200 } },
      "signed in too long ago": { claims: { auth_time: now - LIMITS.account.freshSeconds - 60 } },
      "no time of the sign-in": { claims: { auth_time: undefined } },
      "another key": { isForged: true },
      "an unknown key": { header: { kid: "unknown" } },
      "no signature": { header: { alg: "none" }, isUnsigned: true },
      "another algorithm": { header: { alg: "HS256" } },
      "no token": { isMissing: true },
      "a refusal": { status: 400 },
    };
    for (const [what, lie] of Object.entries(lies)) {
      const browser = service.browser();
      issuer.lie = lie;
      await refused(browser, issuer.answer(await begun(browser)), what);
    }
    // The operator finds out why: the client's secret is wrong, for example.
    issuer.lie = { status: 401, error: "invalid_client" };
    const browser = service.browser();
    await refused(browser, issuer.answer(await begun(browser)), "a wrong secret");
    assert.match(service.log.lines.at(-1)!, /"identity provider refused".*"said":"invalid_client"/u);
  });

  it("takes an answer only in the browser that asked, once, in time, from this issuer", async () => {
    const [ann, mallory] = [service.browser(), service.browser()];
    const asked = issuer.answer(await begun(mallory));
    await begun(ann);
    await refused(ann, asked, "an answer to another browser");
    await refused(mallory, { ...asked, iss: "https://evil.example" }, "a mix-up");
    const { iss: _iss, ...unnamed } = issuer.answer(await begun(mallory));
    await refused(mallory, unnamed, "no issuer");
    const { state: _state, ...stateless } = issuer.answer(await begun(mallory));
    await refused(mallory, stateless, "no state");
    const forged = issuer.answer(await begun(mallory));
    const [challenge] = forged["state"]!.split(".");
    const link = `${challenge}.${Buffer.from("link").toString("base64url")}`;
    await refused(mallory, { ...forged, state: link }, "a state for another purpose");
    await refused(mallory, { ...forged, state: `${forged["state"]}.x` }, "a longer state");
    const { state, iss } = issuer.answer(await begun(mallory));
    const cancelled = await refused(mallory, { state: state!, iss: iss!, error: "access_denied" }, "no");
    assert.match(cancelled, /You weren't signed in at localhost:\d+: it was cancelled there/u);

    const late = issuer.answer(await begun(mallory));
    service.clock.advance(LIMITS.account.challengeSeconds * 1000 + 1);
    await refused(mallory, late, "too late");

    const cookies = new Map(ann.cookies);
    const once = issuer.answer(await begun(ann));
    assert.equal((await ann.get(back(once))).status, 303);
    // The old cookie is what an observer of the first browser would have.
    const copy = Object.assign(service.browser(), { cookies });
    await refused(copy, once, "a replay");
  });

  it("leads nowhere else afterwards, and shows no name that misleads", async () => {
    const browser = service.browser();
    const elsewhere = await browser.get(back(issuer.answer(await begun(browser, "https://evil.example/"))));
    assert.equal(elsewhere.headers.location, "/");
    issuer.subject = "nameless";
    issuer.lie = { userinfo: { sub: "another", name: "Administrator" } };
    const other = service.browser();
    await other.get(back(issuer.answer(await begun(other))));
    assert.match((await other.get("/")).body as string, /Signed in as <bdi>Member<\/bdi>/u);
    issuer.subject = "hidden";
    issuer.lie = { userinfo: { name: "evil\u202ename" }, claims: { preferred_username: "Plain" } };
    const third = service.browser();
    await third.get(back(issuer.answer(await begun(third))));
    assert.match((await third.get("/")).body as string, /Signed in as <bdi>Plain<\/bdi>/u);
  });

  it("lets nobody new in unless it is open, nor a disabled member", async () => {
    Object.assign(service.settings, { issuer: trusting(issuer.url, false) });
    await service.stop();
    await service.start();
    issuer.subject = "newcomer";
    const browser = service.browser();
    await refused(browser, issuer.answer(await begun(browser)), "a new person");
    issuer.subject = "mallory";
    await service.store.db.updateTable("members").set({ disabled_at: 1 }).execute();
    const disabled = await refused(browser, issuer.answer(await begun(browser)), "a disabled member");
    assert.match(disabled, /The administrator disabled this account\./u);
  });

  it("says so when it isn't reached, and the other ways in go on", async () => {
    await issuer.close();
    await service.stop();
    await service.start();
    const browser = service.browser();
    const { status, headers } = await browser.get("/login/issuer");
    assert.equal(status, 503);
    assert.match(headers["retry-after"]!, /^\d+$/u);
    assert.equal((await browser.get("/login")).status, 200);
  });
});
