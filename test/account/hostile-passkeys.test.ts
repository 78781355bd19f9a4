/** Passkeys that aren't what they should be, and links and codes that are used again. */
import assert from "node:assert/strict";
import { Operator } from "../../account/operator.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { LIMITS } from "../../shared/limits.ts";
import { Authenticator, type Mistakes } from "./authenticator.ts";
import { type Answer, csrfOf, KINDS, type TestBrowser, TestDevice, TestService } from "./service.ts";

const LOGIN = "/login/passkey";
const DECIDE = "/device/decide";

for (const kind of KINDS) {
  describe(`hostile passkeys, ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await TestService.started({ kind, developmentLogin: false });
    });
    after(async () => service.dispose());

    function operator(): Operator {
      const { store, settings, clock } = service;
      return new Operator({ store, settings, clock, random: new RealRandom() });
    }

    async function join(
      link: string,
      {
        mistakes = {},
        key = new Authenticator(service.origin),
      }: { mistakes?: Mistakes; key?: Authenticator } = {},
    ): Promise<{ browser: TestBrowser; key: Authenticator; answer: Answer }> {
      const browser = service.browser();
      const person = { invitation: new URL(link).hash.slice(1), name: "Ada" };
      const asked = await browser.submit("/join", "/join", person);
      if (asked.status !== 200) return { browser, key, answer: asked };
      const page = asked.body as string;
      const passkey = key.make(page, "/join/passkey", mistakes);
      const answer = await browser.post("/join/passkey", { csrf: csrfOf(page), ...person, passkey });
      return { browser, key, answer };
    }

    const joined = async () => {
      const made = await join(await operator().invite(false));
      assert.equal(made.answer.status, 200, made.answer.body as string);
      return made;
    };

    async function signIn(key: Authenticator, mistakes: Mistakes = {}): Promise<Answer> {
      const browser = service.browser();
      const page = (await browser.get("/login")).body as string;
      return browser.post(LOGIN, { csrf: csrfOf(page), next: "/", passkey: key.use(page, LOGIN, mistakes) });
    }

    const wrong: Record<string, Mistakes> = {
      "another site's": { origin: "https://evil.example" },
      "another port's": { origin: "http://localhost:1" },
      "another host's": { rpId: "evil.example" },
      "made without its user": { flags: 0x04 },
      "made without checking its user": { flags: 0x01 },
      "an answer to an empty challenge": { challenge: "" },
      "an answer to somebody's own challenge": { challenge: Buffer.alloc(56, 7).toString("base64url") },
    };

    it("let nobody in by the first member's link when there is a member", async () => {
      const links = [await operator().firstInvitation(), await operator().firstInvitation()] as string[];
      assert.equal((await join(links[1]!)).answer.status, 200);
      assert.equal((await join(links[0]!)).answer.status, 403);
      assert.deepEqual(
        (await operator().members()).map(({ is_admin: isAdmin }) => isAdmin),
        [true],
      );
    });

    it("make no member, and leave the invitation to a right one", async () => {
      const link = await operator().invite(false);
      const members = (await operator().members()).length;
      const use = { type: "webauthn.get" };
      for (const [name, mistakes] of Object.entries({ ...wrong, "no new one": use }))
        assert.equal((await join(link, { mistakes })).answer.status, 403, name);
      // Longer than a credential's id may be. An index takes no more than about 2,700 bytes.
      for (const bytes of [1024, 2600])
        assert.equal(
          (await join(link, { key: new Authenticator(service.origin, bytes) })).answer.status,
          403,
        );
      assert.equal((await operator().members()).length, members);
      const key = new Authenticator(service.origin, 1023);
      assert.equal((await join(link, { key })).answer.status, 200);
      assert.equal((await signIn(key)).headers.location, "/");
      const again = await operator().invite(false);
      assert.equal((await join(again, { key })).answer.status, 409);
    });

    it("sign nobody in", async () => {
      const { key } = await joined();
      const create = { type: "webauthn.create" };
      for (const [name, mistakes] of Object.entries({ ...wrong, "a new one": create }))
        assert.equal((await signIn(key, mistakes)).status, 403, name);
      assert.equal((await signIn(key)).status, 303);
      const copied = new Authenticator(service.origin);
      Object.assign(copied, { id: key.id });
      assert.equal((await signIn(copied)).status, 403);
    });

    it("answer a challenge once, in its browser, for its purpose and in its time", async () => {
      const { key, browser: own } = await joined();
      const [browser, other] = [service.browser(), service.browser()];
      const page = (await browser.get("/login")).body as string;
      const passkey = key.use(page, LOGIN);
      const foreign = (await other.get("/login")).body as string;
      assert.equal((await other.post(LOGIN, { csrf: csrfOf(foreign), passkey })).status, 403);
      const device = new TestDevice(service);
      const grant = await device.ask();
      const question = (await own.submit("/device", "/device", { user_code: grant.user_code }))
        .body as string;
      const approve = { csrf: csrfOf(question), user_code: grant.user_code, decision: "approved" };
      // One for a sign-in, in the member's own browser.
      const again = (await own.get("/login?again=1")).body as string;
      assert.equal((await own.post(DECIDE, { ...approve, passkey: key.use(again, LOGIN) })).status, 403);
      assert.equal((await own.post(DECIDE, { ...approve, passkey: "" })).status, 403);
      // One for another code.
      const second = await new TestDevice(service).ask();
      const elsewhere = (await own.submit("/device", "/device", { user_code: second.user_code }))
        .body as string;
      assert.equal((await own.post(DECIDE, { ...approve, passkey: key.use(elsewhere, DECIDE) })).status, 403);
      // One of another member.
      const mallory = await joined();
      const theirs = mallory.key.use(question, DECIDE);
      assert.equal((await own.post(DECIDE, { ...approve, passkey: theirs })).status, 403);
      assert.equal((await own.post(DECIDE, { ...approve, passkey: key.use(question, DECIDE) })).status, 200);
      await device.fetchToken(grant.device_code);

      const csrf = csrfOf(page);
      const planted = new Map(browser.cookies);
      const fresh = key.use(page, LOGIN);
      assert.equal((await browser.post(LOGIN, { csrf, passkey: fresh })).status, 303);
      for (const [name, value] of planted) browser.cookies.set(name, value);
      assert.equal((await browser.post(LOGIN, { csrf, passkey: fresh })).status, 403);
      assert.equal((await browser.post(LOGIN, { csrf, passkey: key.use(page, LOGIN) })).status, 403);

      const late = (await other.get("/login")).body as string;
      service.clock.advance(LIMITS.account.challengeSeconds * 1000);
      assert.equal(
        (await other.post(LOGIN, { csrf: csrfOf(late), passkey: key.use(late, LOGIN) })).status,
        403,
      );
    });

    it("sign nobody in as a copy that counts less, or as one that was removed meanwhile", async () => {
      const { key } = await joined();
      assert.equal((await signIn(key, { counter: 7 })).status, 303);
      assert.equal((await signIn(key, { counter: 7 })).status, 403);
      assert.equal((await signIn(key, { counter: 6 })).status, 403);
      // Both were looked up before one of them was used.
      const copies = await Promise.all([8, 8, 8, 8, 8, 8].map((counter) => signIn(key, { counter })));
      assert.equal(copies.filter(({ status }) => status === 303).length, 1);
      const removed = await joined();
      const { store } = service;
      const transaction = store.transaction.bind(store);
      try {
        Object.assign(store, {
          async transaction(work: Parameters<typeof store.transaction>[0]) {
            await store.db.deleteFrom("passkeys").where("credential_id", "=", removed.key.id).execute();
            return transaction(work);
          },
        });
        assert.equal((await signIn(removed.key)).status, 403);
      } finally {
        Object.assign(store, { transaction });
      }
    });
  });
}
