/** A part that is made when it is first asked for. */
import assert from "node:assert/strict";
import { Lazy } from "../../daemon/assembly/lazy.ts";

describe("a lazy part", () => {
  it("is made once, when it is first asked for", async () => {
    let made = 0;
    const part = new Lazy(async () => {
      made += 1;
      return made;
    });
    assert.equal(await part.settled(), null);
    assert.deepEqual(await Promise.all([part.get(), part.get(), part.settled()]), [1, 1, 1]);
    assert.equal(part.made, 1);
  });

  it("that can't be made keeps nobody from stopping", async () => {
    const part = new Lazy(() => Promise.reject(new Error("replaced")));
    await assert.rejects(part.get(), /replaced/);
    assert.equal(await part.settled(), null);
  });
});
