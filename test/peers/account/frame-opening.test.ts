/** What lets a page here frame another instance, over a real directory and identity check. */
import assert from "node:assert/strict";
import type { InstanceIdentity } from "../../../daemon/home/identity.ts";
import { FrameOpening, type FramingPage } from "../../../daemon/peers/account/frame-opening.ts";
import { WebTransport } from "../../../daemon/peers/https/web-transport.ts";
import { isSignedBy, signStatement } from "../../../daemon/peers/wire/statements.ts";
import { VerifyingKeys } from "../../../platform/keys.ts";
import { RealRandom } from "../../../platform/real-random.ts";
import { Refusal } from "../../../shared/errors.ts";
import { PRODUCT_VERSION } from "../../../shared/version.ts";
import { frameStatement, identityStatement } from "../../../shared/wire/v1/signing.ts";
import { untimelyFrame } from "../../../shared/wire/v1/timely.ts";
import { verifies } from "../../requirements.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { newIdentity } from "../receiver-setting.ts";
import { DirectorySetting } from "./directory-setting.ts";

const PAGE = "https://office.example";
const LAB = "https://lab.example:8443";
const FRAME = "6c1f6ad3-6b2b-4c50-8f0a-0c6a3a3a9a01";

describe("a frame of another instance", () => {
  let setting: DirectorySetting;
  let lab: InstanceIdentity;
  let opening: FrameOpening;
  /** Happens when the other instance is asked for its identity, before it answers. */
  let challenged: () => unknown;

  const list = async (...others: { device?: string; origin: string | null; who?: InstanceIdentity }[]) => {
    setting.others = others.map(({ device = "dev_lab", origin, who = lab }) => ({
      ...setting.entry(device, who),
      display_name: "Lab",
      public_origin: origin,
    }));
    await setting.directory.refresh();
  };
  const page = (check: () => void = () => {}, origin = PAGE): FramingPage => ({
    origin,
    check,
    signal: new AbortController().signal,
  });
  const open = (by: FramingPage = page()) =>
    opening.open({ instance_id: lab.instance_id, frame_id: FRAME }, by);
  const refused = async (code: string, by?: FramingPage) => {
    const error = await open(by).then(
      () => assert.fail(`opened, not ${code}`),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, code, error.message);
    return error;
  };

  beforeEach(async () => {
    // Time passes between any two looks at the clock.
    setting = await DirectorySetting.open({ clock: new ManualClock({ tick: 1 }) });
    lab = await newIdentity();
    challenged = () => {};
    const transport = new WebTransport({
      clock: setting.clock,
      random: new RealRandom(),
      http: {
        close: () => {},
        async request({ url }) {
          await challenged();
          const proof = signStatement(identityStatement, lab, {
            instance_id: lab.instance_id,
            device_id: "dev_lab",
            public_origin: LAB,
            client_version: PRODUCT_VERSION,
            nonce: new URL(url).searchParams.get("nonce")!,
            expires_at: new Date(setting.clock.now() + 30_000).toISOString(),
          });
          return { kind: "answered", status: 200, headers: {}, body: Buffer.from(JSON.stringify(proof)) };
        },
      },
    });
    const { clock, identity, membership, directory } = setting;
    opening = new FrameOpening({
      clock,
      random: new RealRandom(),
      identity,
      membership,
      directory,
      transport,
    });
    await setting.started();
    await list({ origin: LAB });
  });
  afterEach(() => setting.directory.close());

  it("is opened with a proof for this page, this frame and both bindings", async () => {
    verifies("WB-006", "WB-009", "WB-010");
    const { origin, url, proof } = await open();
    assert.equal(origin, LAB);
    assert.ok(url.startsWith(`${LAB}/ui/connect/?proof=`));
    const encoded = new URL(url).searchParams.get("proof")!;
    assert.deepEqual(JSON.parse(Buffer.from(encoded, "base64url").toString()), proof);
    assert.ok(isSignedBy(frameStatement, setting.identity, proof, new VerifyingKeys()));
    assert.equal(untimelyFrame(proof, setting.clock.now()), null);
    const { source_instance_id: source, source_device_id: device, target_device_id: target } = proof;
    assert.deepEqual([source, device, target], [setting.identity.instance_id, "dev_1", "dev_lab"]);
    assert.deepEqual([proof.parent_origin, proof.frame_id], [PAGE, FRAME]);
    assert.notEqual((await open()).proof.nonce, proof.nonce);
    assert.deepEqual(opening.origins(PAGE), [LAB]);
  });

  it("is refused to who lost the access while the other instance was asked", async () => {
    verifies("WB-008");
    let mayAsk = true;
    challenged = () => {
      mayAsk = false;
    };
    const check = () => {
      if (!mayAsk) throw new Refusal("unauthenticated");
    };
    await refused("unauthenticated", page(check));
  });

  it("is refused when the binding, the device or the origin changed meanwhile", async () => {
    challenged = () => list({ origin: LAB, device: "dev_new" });
    await refused("connect_unreachable");
    await list({ origin: LAB });
    challenged = () => list({ origin: "https://moved.example" });
    await refused("connect_unreachable");
    await list({ origin: LAB });
    challenged = () => list();
    await refused("connect_instance_unknown");
    await list({ origin: LAB });
    challenged = () => setting.link("dev_2");
    await refused("account_unavailable");
  });

  it("is refused for unknown instances, itself, no origin, and another one's answer", async () => {
    await list();
    await refused("connect_instance_unknown");
    const own = { instance_id: setting.identity.instance_id, frame_id: FRAME };
    await assert.rejects(opening.open(own, page()), { code: "connect_instance_unknown" });
    await list({ origin: null });
    await refused("connect_route_missing");
    await list({ origin: LAB, device: "dev_other" });
    const { message } = await refused("connect_unreachable");
    assert.match(message, /linked to the account in another way/u);
    for (const body of [null, {}, { ...own, more: 1 }, { ...own, frame_id: "1" }])
      await assert.rejects(opening.open(body, page()), { code: "invalid_args" });
  });

  it("is refused where hostnames overlap, also by port", async () => {
    verifies("WB-047", "WB-048", "WB-049");
    await open();
    const other = await newIdentity();
    await list({ origin: LAB }, { origin: "https://lab.example", device: "dev_3", who: other });
    const { message, details } = await refused("connect_host_overlap");
    assert.match(message, /“Lab” has the hostname lab\.example as well.*hostname of its own/u);
    assert.deepEqual(details, { hostname: "lab.example" });
    assert.deepEqual(opening.origins(PAGE), []);
    await list({ origin: LAB }, { origin: "https://rig.example:8443", device: "dev_3", who: other });
    await open();
    await refused(
      "connect_host_overlap",
      page(() => {}, "https://lab.example"),
    );
  });

  it("is refused once the directory has expired", async () => {
    setting.answer = () => "down";
    setting.clock.advance(121_000);
    await refused("account_unavailable");
    assert.deepEqual(opening.origins(PAGE), []);
  });
});
