import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ed25519 } from "@noble/curves/ed25519.js";
import * as fc from "fast-check";
import layers from "../../build/layers.cjs";
import { VerifyingKey } from "../../platform/keys.ts";
import { verifies } from "../requirements.ts";
import { vectors } from "../wire/sample.ts";

interface Forgeries {
  keys: { name: string; key: string }[];
  public_key: string;
  message: string;
  honest: string;
  constructed: string;
  signatures: { name: string; signature: string }[];
}

const forgeries = vectors("forgeries") as Forgeries;
const bytes = (hex: string) => Buffer.from(hex, "hex");
const key = VerifyingKey.admit(bytes(forgeries.public_key));
const message = bytes(forgeries.message);

describe("VerifyingKey", () => {
  it("takes an honest signature, and one made by hand in the same way", () => {
    assert.ok(key.verify(message, bytes(forgeries.honest)));
    assert.ok(key.verify(message, bytes(forgeries.constructed)));
    assert.ok(!key.verify(Buffer.concat([message, Buffer.from([0])]), bytes(forgeries.honest)));
  });

  for (const { name, key: refused } of forgeries.keys) {
    it(`doesn't admit a key that is ${name}`, () => {
      verifies("PROOF-002");
      assert.throws(() => VerifyingKey.admit(bytes(refused)), RangeError);
      assert.throws(() => VerifyingKey.admit(bytes(refused).toString("base64")), RangeError);
    });
  }

  for (const { name, signature } of forgeries.signatures) {
    it(`refuses a signature: ${name}`, () => {
      verifies("PROOF-002");
      assert.equal(key.verify(message, bytes(signature)), false);
    });
  }

  it("refuses every signature with one bit turned", () => {
    const honest = bytes(forgeries.honest);
    for (let bit = 0; bit < 512; bit++) {
      const turned = Buffer.from(honest);
      turned[bit >> 3]! ^= 1 << (bit & 7);
      assert.equal(key.verify(message, turned), false, `bit ${bit}`);
    }
  });

  it("admits canonical base64 alone", () => {
    const text = bytes(forgeries.public_key).toString("base64");
    assert.equal(VerifyingKey.admit(text).public_key, text);
    const loose = [text.slice(0, -1), `${text}=`, ` ${text}`, text.replaceAll("=", ""), `${text}\n`];
    const surplus = `${text.slice(0, -2)}${String.fromCharCode(text.charCodeAt(text.length - 2) + 1)}=`;
    for (const value of [...loose, surplus])
      assert.throws(() => VerifyingKey.admit(value), RangeError, value);
  });

  it("agrees with another implementation on keys and signatures of any seed and message", () => {
    const seed = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(seed, fc.uint8Array({ maxLength: 200 }), (secret, content) => {
        const publicKey = ed25519.getPublicKey(secret);
        return VerifyingKey.admit(publicKey).verify(content, ed25519.sign(content, secret));
      }),
      { numRuns: 40 },
    );
  });

  it("is the only place of the product that verifies signatures, but for the shared library below it", () => {
    const sources = layers.productFolders
      .filter((folder) => folder !== "shared")
      .flatMap((folder) =>
        readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
      )
      .filter((path) => path.endsWith(".ts") && statSync(path).isFile());
    const verifying = sources.filter((path) =>
      /import \{[^}]*\b(?:verify|createVerify)\b[^}]*\} from "node:crypto"|ed25519\.verify/u.test(
        readFileSync(path, "utf8"),
      ),
    );
    assert.deepEqual(verifying, [join("platform", "keys.ts")]);
  });
});
