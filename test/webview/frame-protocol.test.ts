/** What a page takes from the other page of a frame. In a browser: test/browser/frame.test.ts. */
import assert from "node:assert/strict";
import {
  ENTRY_MESSAGES,
  type FrameGroup,
  FramePage,
  FrameProof,
  frameMessage,
  TARGET_MESSAGES,
} from "../../shared/frame-protocol.ts";
import { LIMITS } from "../../shared/limits.ts";
import { ConnectFrameProof } from "../../shared/wire/v1/proofs.ts";
import { verifies } from "../requirements.ts";
import { vectors } from "../wire/sample.ts";

const FRAME = "6f2b6a52-0b4e-4a0c-9b0e-3a1f6f0f9a11";
const OTHER = "6f2b6a52-0b4e-4a0c-9b0e-3a1f6f0f9a12";
const GROUP = "g_0123456789ab";

const { read: readTargetMessage } = TARGET_MESSAGES;
const { read: readEntryMessage } = ENTRY_MESSAGES;

const group: FrameGroup = { group_id: GROUP, title: "Build", running: true };
const posted = (message: object) => ({ channel: "svc.connect.frame.v1", frame_id: FRAME, ...message });

describe("messages between the pages of a frame", () => {
  it("are taken with exactly their fields, and only of this frame", () => {
    verifies("WB-011", "WB-033");
    const proof = (vectors("statements") as { kind: string; json: string }[]).find(
      ({ kind }) => kind === "frame",
    )!;
    const signed = JSON.parse(proof.json) as FrameProof;
    assert.deepEqual(Object.keys(FrameProof.parse(signed)), Object.keys(ConnectFrameProof.parse(signed)));
    const ofTarget = [
      { type: "ready", instance_id: "i", device_id: "d" },
      { type: "groups", groups: [group, { ...group, connection: { count: null, expires_at: "2026" } }] },
      { type: "groups", groups: Array.from({ length: LIMITS.group.perHome }, () => group) },
      { type: "selected", group_id: GROUP, revision: 0 },
      { type: "sidebar" },
      { type: "locked" },
      { type: "expired" },
      { type: "workspace_dirty", dirty: true },
    ];
    const ofEntry = [
      { type: "select", group_id: GROUP, revision: 7 },
      { type: "select", group_id: GROUP, revision: 7, action: "connections" },
      { type: "renew", proof: signed },
    ];
    for (const [{ read, types }, { read: opposite }, messages] of [
      [TARGET_MESSAGES, ENTRY_MESSAGES, ofTarget],
      [ENTRY_MESSAGES, TARGET_MESSAGES, ofEntry],
    ] as const) {
      assert.deepEqual([...types], [...new Set(messages.map(({ type }) => type))]);
      for (const message of messages) {
        assert.deepEqual(read(posted(message), FRAME), posted(message));
        assert.equal(opposite(posted(message), FRAME), null, "of the other side");
        assert.equal(read(posted(message), OTHER), null, "of another frame");
        assert.equal(read(posted({ ...message, token: "x" }), FRAME), null, "with something more");
        assert.equal(read({ ...posted(message), channel: "svc.connect.frame.v2" }, FRAME), null);
      }
    }
    assert.deepEqual(frameMessage(FRAME, { type: "sidebar" }), posted({ type: "sidebar" }));
  });

  it("are bounded, and nothing else is taken", () => {
    verifies("WB-002");
    const many = Array.from({ length: LIMITS.group.perHome + 1 }, () => group);
    for (const wrong of [
      null,
      "select",
      [],
      posted({ type: "groups", groups: many }),
      posted({ type: "groups", groups: { length: 1, 0: group } }),
      posted({ type: "groups", groups: [{ ...group, topic: "secret" }] }),
      posted({ type: "groups", groups: [{ ...group, title: "x".repeat(1025) }] }),
      posted({ type: "groups", groups: [{ ...group, connection: { count: -1, expires_at: "2026" } }] }),
      posted({ type: "selected", group_id: "../etc", revision: 1 }),
      posted({ type: "selected", group_id: GROUP, revision: -1 }),
      posted({ type: "workspace_dirty", dirty: "no" }),
      posted({ type: "ready", instance_id: "x".repeat(129), device_id: "d" }),
    ])
      assert.equal(readTargetMessage(wrong, FRAME), null);
    for (const wrong of [
      undefined,
      posted({ type: "select", group_id: GROUP, revision: 1.5 }),
      posted({ type: "select", group_id: GROUP, revision: 2 ** 60 }),
      posted({ type: "select", group_id: GROUP, revision: 1, action: "delete" }),
      posted({ type: "renew", proof: {} }),
      posted({ type: "renew", proof: "x" }),
    ])
      assert.equal(readEntryMessage(wrong, FRAME), null);
    const page = { frame_id: FRAME, parent_origin: "https://a.example", instance_id: "i", device_id: "d" };
    assert.equal(FramePage.safeParse(page).success, true);
    assert.equal(FramePage.safeParse({ ...page, token: "x" }).success, false);
  });
});
