/**
 * Makes forgeries.json: keys that must never be taken in, and signatures that a lax verifier takes
 * (RFC 8032, section 5.1.7; Chalkias, Garillot, Nikolaenko, "Taming the many EdDSAs", 2020). Made
 * with @noble/curves' arithmetic and no code of ours.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ed25519 } from "@noble/curves/ed25519.js";

const folder = process.argv[2] ?? import.meta.dirname;
const { Point } = ed25519;
const ORDER = Point.Fn.ORDER;
const PRIME = 2n ** 255n - 19n;
const little = (number) =>
  Uint8Array.from({ length: 32 }, (_, index) => Number((number >> BigInt(8 * index)) & 0xffn));
const number = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const challenge = (R, A, message) => {
  const digest = createHash("sha512").update(R).update(A).update(message).digest();
  return number([...digest]) % ORDER;
};

// A generator of the eight points of small order: times the large order, whatever a point had
// beside it remains.
let torsion;
for (let y = 2n; ; y++) {
  try {
    const point = Point.fromBytes(little(y), true);
    const rest = point.multiplyUnsafe(ORDER - 1n).add(point);
    if (!rest.multiplyUnsafe(4n).equals(Point.ZERO)) {
      torsion = rest;
      break;
    }
  } catch {}
}
const small = Array.from({ length: 8 }, (_, factor) =>
  factor === 0 ? Point.ZERO : torsion.multiplyUnsafe(BigInt(factor)),
);

const keys = small.map((point, factor) => ({
  name: `point of small order, ${factor} x generator`,
  key: hex(point.toBytes()),
}));
for (const [name, y, sign] of [
  ["y = 1 with the sign of x set", 1n, 1n],
  ["y = -1 with the sign of x set", PRIME - 1n, 1n],
  ["y = p, which is 0", PRIME, 0n],
  ["y = p, which is 0, with the sign of x set", PRIME, 1n],
  ["y = p + 1, which is 1", PRIME + 1n, 0n],
  ["y = p + 1, which is 1, with the sign of x set", PRIME + 1n, 1n],
  ["y = p + 3, a point of large order written above p", PRIME + 3n, 0n],
  ["y = 2, no point of the curve", 2n, 0n],
  ["all bits set", 2n ** 255n - 1n, 1n],
]) {
  keys.push({ name, key: hex(little(y | (sign << 255n))) });
}
for (const length of [0, 31, 33]) keys.push({ name: `${length} bytes`, key: "58".repeat(length) });

const seed = createHash("sha256").update("svc forgery key").digest();
const { scalar, pointBytes: publicKey } = ed25519.utils.getExtendedPublicKey(seed);
const message = Buffer.from("A message that is signed.");
const honest = ed25519.sign(message, seed);
const [R, S] = [honest.subarray(0, 32), number([...honest.subarray(32)])];
const nonce = number([...createHash("sha512").update("nonce").digest()]) % ORDER;
/**
 * Signature with a commitment of our choice: valid with the cofactor when R and nonce differ by a
 * point of small order.
 */
const signature = (commitment) => {
  const first = commitment instanceof Uint8Array ? commitment : commitment.toBytes();
  return hex([...first, ...little((nonce + challenge(first, publicKey, message) * scalar) % ORDER)]);
};
const commitment = Point.BASE.multiply(nonce);
const signatures = [
  { name: "S + order", signature: hex([...R, ...little(S + ORDER)]) },
  { name: "S + 2 x order", signature: hex([...R, ...little(S + 2n * ORDER)]) },
  { name: "S with its highest bit set", signature: hex([...R, ...little(S | (1n << 255n))]) },
  {
    name: "R with its sign turned",
    signature: hex([...R.subarray(0, 31), R[31] ^ 0x80, ...honest.subarray(32)]),
  },
  { name: "R and S exchanged", signature: hex([...honest.subarray(32), ...R]) },
  { name: "only zeros", signature: "00".repeat(64) },
  { name: "R the neutral point and S 0", signature: hex([...Point.ZERO.toBytes(), ...little(0n)]) },
  { name: "63 bytes", signature: hex(honest.subarray(0, 63)) },
  { name: "65 bytes", signature: `${hex(honest)}00` },
  { name: "no bytes", signature: "" },
  ...[1, 2, 4].map((factor) => ({
    name: `R off by ${factor} x the generator of small order: valid with the cofactor only`,
    signature: signature(commitment.add(small[factor])),
  })),
];
// R = [h](A) + [S]B with R the neutral point, written above p: only a verifier that decodes R takes
// it.
const loose = little(PRIME + 1n);
signatures.push({
  name: "R the neutral point, written above p",
  signature: hex([...loose, ...little((challenge(loose, publicKey, message) * scalar) % ORDER)]),
});

const vectors = {
  keys,
  public_key: hex(publicKey),
  message: hex(message),
  honest: hex(honest),
  /**
   * Signed with a commitment that is the plain multiple: shows that the construction of the others
   * is sound.
   */
  constructed: signature(commitment),
  signatures,
};
writeFileSync(join(folder, "forgeries.json"), `${JSON.stringify(vectors, null, 2)}\n`);
