/** Browsers in which a member is signed in, and what signs them out. */
import assert from "node:assert/strict";
import { KINDS, type TestBrowser, TestService } from "./service.ts";

for (const kind of KINDS) {
  describe(`other browsers of a member on ${kind}`, () => {
    let service: TestService;
    let names = 0;
    before(async () => {
      service = await TestService.started({ kind });
    });
    after(async () => service?.dispose());

    /** Two browsers of a new member, and one of somebody else. */
    const browsers = async () => {
      names += 1;
      const [here, there] = [await service.member(`Ada ${names}`), await service.member(`Ada ${names}`)];
      return { here, there, foreign: await service.member(`Bob ${names}`) };
    };
    const isSignedIn = async (browser: TestBrowser) => (await browser.get("/")).status === 200;
    const securityPage = async (browser: TestBrowser) => (await browser.get("/security")).body as string;
    const memberOf = async (browser: TestBrowser) => {
      const [, id] = /Member id: ([0-9a-f-]+)/u.exec((await browser.get("/")).body as string)!;
      return id!;
    };

    it("are signed out on purpose, and nobody else is", async () => {
      const { here, there, foreign } = await browsers();
      assert.match(await securityPage(here), /signed in with another browser/u);
      const ended = await here.submit("/security", "/security/sessions/end", {});
      assert.deepEqual([ended.status, ended.headers.location], [303, "/security"]);
      assert.equal(await isSignedIn(there), false);
      assert.deepEqual([await isSignedIn(here), await isSignedIn(foreign)], [true, true]);
      const page = await securityPage(here);
      assert.match(page, /signed in only here/u);
      assert.doesNotMatch(page, /sessions\/end/u);
      assert.match((await here.get("/")).body as string, /Signed out in all other browsers/u);
    });

    it("are signed out with a passkey that is removed", async () => {
      const { here, there, foreign } = await browsers();
      const member = await memberOf(here);
      await service.store.db
        .insertInto("passkeys")
        .values(
          ["kept", "lost"].map((id) => ({
            credential_id: `${id}-${member}`,
            member_id: member,
            public_key: "",
            counter: 0,
            transports: "[]",
            created_at: service.clock.now(),
            used_at: null,
          })),
        )
        .execute();
      const removed = await here.submit("/security", "/security/passkeys/remove", { id: `lost-${member}` });
      assert.equal(removed.status, 303);
      assert.equal(await isSignedIn(there), false);
      assert.deepEqual([await isSignedIn(here), await isSignedIn(foreign)], [true, true]);
    });

    it("are signed out when the member signs in with a recovery code", async () => {
      const { here, there, foreign } = await browsers();
      const codes = (await here.submit("/security", "/security/recovery", {})).body as string;
      const [, code] = /<li>([a-z2-7-]+)<\/li>/u.exec(codes)!;
      const found = service.browser();
      assert.equal((await found.submit("/login", "/login/recovery", { code: code! })).status, 303);
      assert.deepEqual([await isSignedIn(here), await isSignedIn(there)], [false, false]);
      assert.deepEqual([await isSignedIn(found), await isSignedIn(foreign)], [true, true]);
    });
  });
}
