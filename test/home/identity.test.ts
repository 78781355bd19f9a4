import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createPublicKey, verify } from "node:crypto";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { format, inspect } from "node:util";
import * as fc from "fast-check";
import { InstanceIdentity } from "../../daemon/home/identity.ts";
import { checkPublicKey } from "../../platform/keys.ts";
import { HomeProblem } from "../../platform/problem.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { verifies } from "../requirements.ts";
import { removeTemporaryDirectories, temporaryDirectory } from "./setting.ts";

const FILE = "group_bridge_identity_key.yaml";
/** Keys of RFC 8032, section 7.1, tests 1 and 2; ids computed by a base58 of another language. */
const VECTORS = [
  {
    private_key: "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=",
    public_key: "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
    peer_id: "12D3KooWQK1wnefoLrcVHbbnf5tLzbopUd3K3bFAoJpA7YJgL5pV",
    emptySignature:
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  },
  {
    private_key: "TM0Imyj/ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U+4pvs=",
    public_key: "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=",
    peer_id: "12D3KooWDwTirQce1RRKnasT5fPVFgzXCy6SiRgSwrwPGLC7zE91",
  },
] as const;
const [first, second] = VECTORS;
const files = new RealFiles();

function yamlOf(fields: Record<string, string>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join("");
}

function written(text: string | Uint8Array): string {
  const path = join(temporaryDirectory(), FILE);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

function yamlOfVector({
  private_key: privateKey,
  public_key: publicKey,
  peer_id: peerId,
}: (typeof VECTORS)[number]): string {
  return yamlOf({ private_key: privateKey, public_key: publicKey, peer_id: peerId });
}

function corrupt(error: unknown): boolean {
  assert.ok(error instanceof HomeProblem);
  assert.equal(error.code, "corrupt");
  assert.ok(!inspect(error).includes(first.private_key), "the private key shows in the error");
  return true;
}

describe("InstanceIdentity", () => {
  after(removeTemporaryDirectories);

  it("reads the key that is there: id and signatures as computed elsewhere", () => {
    verifies("ID-005", "ID-022", "ID-018");
    for (const vector of VECTORS) {
      const identity = InstanceIdentity.read(files, written(yamlOfVector(vector)));
      assert.equal(identity?.instance_id, vector.peer_id);
      assert.equal(identity.public_key, vector.public_key);
    }
    const identity = InstanceIdentity.read(files, written(yamlOfVector(first)));
    assert.equal(Buffer.from(identity!.sign(new Uint8Array(0))).toString("hex"), first.emptySignature);
  });

  it("reads quoted values and ignores members that other versions may have", () => {
    const { private_key: privateKey, public_key: publicKey, peer_id: peerId } = first;
    const text = `# key\npeer_id: "${peerId}"\nprivate_key: '${privateKey}'\npublic_key: ${publicKey}\nnote: 1\n`;
    assert.equal(InstanceIdentity.read(files, written(text))?.instance_id, peerId);
  });

  it("makes a missing key once, as a YAML mapping of three strings with mode 0600", async () => {
    verifies("ID-015", "ID-017", "ID-019", "ID-025", "ID-007", "ID-016");
    const path = join(temporaryDirectory(), FILE);
    const before = process.umask(0);
    const made = await InstanceIdentity.obtain(files, new RealRandom(), path).finally(() =>
      process.umask(before),
    );
    const bytes = readFileSync(path);
    assert.match(
      bytes.toString(),
      /^private_key: [A-Za-z0-9+/]{43}=\npublic_key: [A-Za-z0-9+/]{43}=\npeer_id: 12D3KooW\w{44}\n$/,
    );
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const again = await InstanceIdentity.obtain(files, new RealRandom(), path);
    assert.equal(again.instance_id, made.instance_id);
    assert.deepEqual(readFileSync(path), bytes);
  });

  it("signs what node:crypto verifies under the public key", async () => {
    const identity = await InstanceIdentity.obtain(files, new RealRandom(), join(temporaryDirectory(), FILE));
    const message = Buffer.from('["svc.connect.identity.v1"]');
    const x = Buffer.from(identity.public_key, "base64").toString("base64url");
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    assert.ok(verify(null, message, key, identity.sign(message)));
  });

  it("creates nothing when it is only read", () => {
    const path = join(temporaryDirectory(), FILE);
    assert.equal(InstanceIdentity.read(files, path), null);
    assert.ok(!existsSync(path));
  });

  const bad: Record<string, string | Uint8Array> = {
    "an empty file": "",
    garbage: Buffer.from([0x00, 0xff, 0x12, 0x80]),
    "broken YAML": `private_key: "${first.private_key}\n`,
    "a list": `- ${first.private_key}\n`,
    "a duplicate member": `${yamlOfVector(first)}public_key: ${first.public_key}\n`,
    "an alias": `private_key: &a ${first.private_key}\npublic_key: *a\npeer_id: ${first.peer_id}\n`,
    "a tag of a program": `private_key: !!binary ${first.private_key}\npublic_key: ${first.public_key}\npeer_id: ${first.peer_id}\n`,
    "a missing member": yamlOf({ private_key: first.private_key, public_key: first.public_key }),
    "a short key": yamlOfVector({ ...first, private_key: "AAAA" as never }),
    "base64 without padding": yamlOfVector({
      ...first,
      private_key: first.private_key.slice(0, -1) as never,
    }),
    "another's public key": yamlOfVector({ ...first, public_key: second.public_key as never }),
    "another's peer id": yamlOfVector({ ...first, peer_id: second.peer_id as never }),
  };
  for (const [name, bytes] of Object.entries(bad)) {
    it(`refuses ${name} and keeps the bytes`, async () => {
      verifies("ID-021");
      const path = written(bytes);
      assert.throws(() => InstanceIdentity.read(files, path), corrupt);
      await assert.rejects(InstanceIdentity.obtain(files, new RealRandom(), path), corrupt);
      assert.deepEqual(readFileSync(path), Buffer.from(bytes));
    });
  }

  it("never reads another identity out of a damaged file", () => {
    verifies("ID-021");
    const bytes = Buffer.from(yamlOfVector(first));
    const path = written(bytes);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const damaged = Buffer.from(bytes);
        damaged[at]! ^= change;
        writeFileSync(path, damaged);
        try {
          assert.equal(InstanceIdentity.read(files, path)?.instance_id, first.peer_id);
        } catch (error) {
          corrupt(error);
        }
        assert.deepEqual(readFileSync(path), damaged);
      }),
      { numRuns: 500 },
    );
  });

  it("refuses what it can't read and leaves it there", async () => {
    verifies("ID-020");
    const directory = join(temporaryDirectory(), FILE);
    mkdirSync(directory);
    await assert.rejects(InstanceIdentity.obtain(files, new RealRandom(), directory), {
      code: "unreadable",
    });
    assert.ok(statSync(directory).isDirectory());
  });

  it("refuses a file without read permission, as another user meets it", function () {
    verifies("ID-020");
    const path = written(yamlOfVector(first));
    chmodSync(path, 0);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) {
      chmodSync(join(path, ".."), 0o755);
      chownSync(path, 65534, 65534);
    }
    const module = (name: string) => pathToFileURL(join(import.meta.dirname, "../..", name)).href;
    const script = `
      import { InstanceIdentity } from "${module("daemon/home/identity.ts")}";
      import { RealFiles } from "${module("platform/real-files.ts")}";
      import { RealRandom } from "${module("platform/real-random.ts")}";
      if (${isRoot}) process.setuid(65534);
      await InstanceIdentity.obtain(new RealFiles(), new RealRandom(), ${JSON.stringify(path)}).then(
        () => console.log("read"),
        (error) => console.log(error.code),
      );`;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ["--import=tsx", "--input-type=module", "--eval", script],
      { encoding: "utf8", cwd: join(import.meta.dirname, "../..") },
    );
    assert.equal(stdout.trim(), "unreadable", stderr);
    chmodSync(path, 0o600);
    assert.equal(readFileSync(path, "utf8"), yamlOfVector(first));
  });

  it("shows its private key in no inspection, text or JSON", () => {
    const identity = InstanceIdentity.read(files, written(yamlOfVector(first)))!;
    const shown = [
      inspect(identity, { depth: 9, showHidden: true, getters: true }),
      JSON.stringify(identity),
      format("%s %o %j", identity, identity, identity),
      JSON.stringify(Object.getOwnPropertyDescriptors(identity)),
    ].join("\n");
    const seed = Buffer.from(first.private_key, "base64");
    for (const encoding of ["base64", "base64url", "hex"] as const) {
      assert.ok(!shown.includes(seed.toString(encoding)), encoding);
    }
  });
});

describe("checkPublicKey", () => {
  it("takes honest keys and refuses those of small order, not canonical or not on the curve", () => {
    for (const { public_key: publicKey } of VECTORS) checkPublicKey(Buffer.from(publicKey, "base64"));
    const refused = [
      // Small order: 0, 1, -1 and two of order 8.
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0100000000000000000000000000000000000000000000000000000000000000",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
      "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
      // Not canonical: p, p + 1, and -0.
      "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "0100000000000000000000000000000000000000000000000000000000000080",
      // Not on the curve.
      "0200000000000000000000000000000000000000000000000000000000000000",
    ];
    for (const hex of refused) {
      assert.throws(() => checkPublicKey(Buffer.from(hex, "hex")), RangeError, hex);
    }
    assert.throws(() => checkPublicKey(new Uint8Array(31)), RangeError);
    assert.throws(() => checkPublicKey(new Uint8Array(33)), RangeError);
  });
});
