import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import type * as z from "zod";
import { FrameReader } from "../../daemon/peers/direct/frame-reader.ts";
import { encodeFrame } from "../../daemon/peers/direct/frames.ts";
import { requestDigest, sha256Hex } from "../../daemon/peers/wire/digests.ts";
import { signStatement, verifyStatement } from "../../daemon/peers/wire/statements.ts";
import { VerifyingKey } from "../../platform/keys.ts";
import { LIMITS } from "../../shared/limits.ts";
import {
  DirectFrame,
  DirectHello,
  DirectInvitation,
  DirectState,
  invitationText,
  parseInvitationText,
} from "../../shared/wire/v1/direct.ts";
import { instanceIdOf } from "../../shared/wire/v1/fields.ts";
import { directFingerprint } from "../../shared/wire/v1/fingerprint.ts";
import { ConnectCancellation, ConnectMessage } from "../../shared/wire/v1/message.ts";
import { ConnectPeerOperation } from "../../shared/wire/v1/peer.ts";
import {
  frameStatement,
  groupCheckStatement,
  identityStatement,
  registrationStatement,
  requestStatement,
  responseStatement,
  type Statement,
  ticketStatement,
} from "../../shared/wire/v1/signing.ts";
import { verifies } from "../requirements.ts";
import { cancellationDigest, messageDigest, operationDigest } from "./digests.ts";
import { vectors } from "./sample.ts";

type AnyStatement = Statement<{ signature: string }>;

interface StatementVector {
  name: string;
  kind: "registration" | "identity" | "frame" | "request" | "response" | "ticket" | "groupCheck";
  known?: { account_origin: string; device_id: string };
  public_key: string;
  fields: Record<string, unknown>;
  material: string;
  material_sha256: string;
  json: string;
}
interface DigestVector {
  name: string;
  kind: "message" | "cancellation" | "operation";
  value: unknown;
  json: string;
  sha256: string;
}
interface DirectVectors {
  invitation: { value: unknown; json: string; text: string };
  fingerprints: {
    connection_id: string;
    host_public_key: string;
    joiner_public_key: string;
    material: string;
    words: string[];
  }[];
  frames: FrameVector[];
}
interface FrameVector {
  name: string;
  kind: "hello" | "state" | "request" | "response" | "refusal" | "ping";
  /** Who signed what is in it. */
  public_key?: string;
  /** Of the request that it answers. */
  request_sha256?: string;
  head: string;
  json: string;
}

const STATEMENTS = {
  identity: identityStatement,
  frame: frameStatement,
  request: requestStatement,
  response: responseStatement,
  ticket: ticketStatement,
  groupCheck: groupCheckStatement,
};

function statementOf({ kind, known }: StatementVector): AnyStatement {
  return kind === "registration" ? registrationStatement(known!) : STATEMENTS[kind];
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe("test vectors", () => {
  it("are what their script makes of the contract", () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-vectors-"));
    try {
      for (const script of ["make.mjs", "make-forgeries.mjs"]) {
        const { status, stderr } = spawnSync(process.execPath, [join("test/vectors", script), folder], {
          encoding: "utf8",
        });
        assert.equal(status, 0, stderr);
      }
      const names = readdirSync("test/vectors").filter((name) => name.endsWith(".json"));
      assert.deepEqual(readdirSync(folder).toSorted(), names.toSorted());
      for (const name of names) {
        const kept = readFileSync(join("test/vectors", name), "utf8");
        assert.equal(kept, readFileSync(join(folder, name), "utf8"), name);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("give every key its instance id", () => {
    verifies("ID-022");
    for (const { public_key: publicKey, instance_id: instanceId } of vectors("identities") as {
      public_key: string;
      instance_id: string;
    }[]) {
      assert.equal(instanceIdOf(Buffer.from(publicKey, "base64")), instanceId);
      assert.equal(VerifyingKey.admit(publicKey).instance_id, instanceId);
    }
  });

  it("have statements of every kind and domain", () => {
    verifies("VER-002", "PROOF-015", "DRC-053", "PEER-025");
    const domains = (vectors("statements") as StatementVector[]).map(
      ({ material }) => (JSON.parse(material) as string[])[0],
    );
    assert.deepEqual(
      new Set(domains),
      new Set([
        "svc.connect.frame.v1",
        "svc.connect.group.check.v1",
        "svc.connect.group.ticket.v1",
        "svc.connect.identity.v1",
        "svc.connect.peer.direct.request.v1",
        "svc.connect.peer.group.request.v1",
        "svc.connect.peer.request.v1",
        "svc.connect.peer.response.v1",
        "svc.connect.register.v1",
      ]),
    );
  });

  it("sign the connection of a request over an external connection last, in a domain of its own", () => {
    verifies("EXT-059", "EXT-060");
    const requests = (vectors("statements") as StatementVector[]).filter(({ kind }) => kind === "request");
    const external = requests.filter(({ material }) => material.startsWith('["svc.connect.peer.group.'));
    assert.ok(external.length > 0);
    for (const vector of external) {
      const proof = vector.fields as Record<string, string>;
      assert.deepEqual(JSON.parse(text(statementOf(vector).material(vector.fields))), [
        "svc.connect.peer.group.request.v1",
        proof["account_origin"],
        proof["account_id"],
        proof["source_instance_id"],
        proof["source_device_id"],
        proof["target_instance_id"],
        proof["target_device_id"],
        proof["request_id"],
        proof["issued_at"],
        proof["expires_at"],
        proof["operation_sha256"],
        proof["connection_id"],
      ]);
    }
  });

  for (const vector of vectors("statements") as StatementVector[]) {
    it(`${vector.name}: the same bytes are signed, and the object is written alike`, () => {
      verifies("PROOF-004", "PROOF-005", "PROOF-008", "PROOF-014", "PROOF-001", "PROOF-006", "PROOF-011");
      const statement = statementOf(vector);
      assert.equal(text(statement.material(vector.fields)), vector.material);
      const { signature, ...fields } = statement.schema.parse(JSON.parse(vector.json));
      assert.equal(text(statement.material(fields)), vector.material);
      assert.equal(sha256Hex(vector.material), vector.material_sha256);
      const signer = { sign: () => Buffer.from(signature, "base64") };
      const made = signStatement(statement, signer, vector.fields);
      // An answer's inner result stays in the order it came.
      if (vector.kind !== "response") assert.equal(JSON.stringify(made), vector.json);
      assert.equal(JSON.stringify(statement.schema.parse(JSON.parse(vector.json))), vector.json);
    });

    it(`${vector.name}: the signature holds, and for nothing else`, () => {
      verifies("PROOF-002", "PROOF-007");
      const statement = statementOf(vector);
      const key = VerifyingKey.admit(vector.public_key);
      const proof = statement.schema.parse(JSON.parse(vector.json)) as Record<string, unknown> & {
        signature: string;
      };
      assert.ok(verifyStatement(statement, key, proof));
      for (const [name, value] of Object.entries(proof)) {
        if (name === "signature") continue;
        const other = typeof value === "string" ? `${value}x` : "x";
        assert.ok(!verifyStatement(statement, key, { ...proof, [name]: other }), `${name} isn't signed`);
      }
      const foreign = (vectors("identities") as { public_key: string }[])[2]!;
      assert.ok(!verifyStatement(statement, VerifyingKey.admit(foreign.public_key), proof));
    });
  }

  it("a registration is signed for one account service and one device", () => {
    const vector = (vectors("statements") as StatementVector[]).find(({ kind }) => kind === "registration")!;
    const key = VerifyingKey.admit(vector.public_key);
    for (const known of [
      { ...vector.known!, device_id: "another" },
      { ...vector.known!, account_origin: "https://other.example" },
    ]) {
      const statement = statementOf({ ...vector, known });
      assert.ok(!verifyStatement(statement, key, statement.schema.parse(JSON.parse(vector.json))));
    }
  });

  it("the digests of requests are those of their signed bytes", () => {
    for (const { kind, fields, material_sha256: materialSha256 } of vectors(
      "statements",
    ) as StatementVector[]) {
      if (kind === "request") assert.equal(requestDigest(fields as never), materialSha256);
    }
  });

  const SCHEMAS: Record<DigestVector["kind"], z.ZodType> = {
    message: ConnectMessage,
    cancellation: ConnectCancellation,
    operation: ConnectPeerOperation,
  };
  const DIGESTS: Record<DigestVector["kind"], (value: never) => string | Promise<string>> = {
    message: messageDigest,
    cancellation: cancellationDigest,
    operation: operationDigest,
  };
  for (const { name, kind, value, json, sha256 } of vectors("digests") as DigestVector[]) {
    it(`${kind}, ${name}: the same bytes and digest, whatever the order of members`, async () => {
      verifies("MSG-013", "PEER-006", "PEER-025");
      assert.notEqual(JSON.stringify(value), json);
      assert.equal(JSON.stringify(SCHEMAS[kind].parse(value)), json);
      assert.equal(JSON.stringify(SCHEMAS[kind].parse(JSON.parse(json))), json);
      assert.equal(await DIGESTS[kind](value as never), sha256);
    });
  }

  it("an invitation is written and read alike", () => {
    verifies("DRC-007", "DRC-008", "DRC-084");
    const { value, json, text: written } = (vectors("direct") as DirectVectors).invitation;
    const invitation = DirectInvitation.parse(value);
    assert.equal(JSON.stringify(invitation), json);
    assert.equal(invitationText(invitation), written);
    assert.deepEqual(parseInvitationText(` ${written}\n`), invitation);
  });

  it("fingerprints are six words of the BIP-39 list", () => {
    // The digest of english.txt as BIP-39 publishes it.
    assert.equal(
      sha256Hex(`${wordlist.join("\n")}\n`),
      "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda",
    );
    const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();
    const { fingerprints } = vectors("direct") as DirectVectors;
    for (const { words, material, ...relation } of fingerprints) {
      let hashed = "";
      const seen = directFingerprint((bytes) => {
        hashed = text(bytes);
        return sha256(bytes);
      }, relation);
      assert.equal(hashed, material);
      assert.deepEqual(seen, words);
    }
    // Who invites and who joins aren't the same.
    assert.notDeepEqual(fingerprints[0]!.words, fingerprints[1]!.words);
  });

  const { frames } = vectors("direct") as DirectVectors;
  /** Its bytes on the line. */
  const bytesOf = ({ head, json }: FrameVector) =>
    Buffer.concat([Buffer.from(head, "hex"), Buffer.from(json)]);
  const SCHEMA_OF: Partial<Record<FrameVector["kind"], z.ZodType>> = {
    hello: DirectHello,
    state: DirectState,
  };

  it("have frames of every kind, operation and answer", () => {
    verifies("DRC-084");
    const kinds = frames.map(({ kind, json }) => {
      const frame = kind === "request" ? DirectFrame.parse(JSON.parse(json)) : null;
      return frame?.kind === "request" ? `request ${frame.request.operation.op}` : kind;
    });
    const all = ["catalog", "deliver", "receipt", "cancel"].map((op) => `request ${op}`);
    assert.deepEqual(new Set(kinds), new Set(["hello", "state", ...all, "response", "refusal", "ping"]));
    assert.deepEqual(
      frames.filter(({ kind }) => kind === "state").map(({ json }) => JSON.parse(json) as string),
      DirectState.options,
    );
  });

  for (const vector of frames) {
    it(`frame, ${vector.name}: the same bytes are written and read`, () => {
      verifies("LIM-053");
      const reader = new FrameReader(LIMITS.direct.frameBytes);
      reader.push(bytesOf(vector));
      const value = reader.next()?.value();
      const parsed: unknown = (SCHEMA_OF[vector.kind] ?? DirectFrame).parse(value);
      assert.equal(reader.held, 0);
      assert.equal(JSON.stringify(parsed), vector.json);
      const { parts } = encodeFrame(parsed, LIMITS.direct.frameBytes);
      assert.ok(Buffer.concat([...parts].map((part) => Buffer.from(part))).equals(bytesOf(vector)));
    });
  }

  it("frames hold proofs of their operations, and answers to those", async () => {
    verifies("DRC-053", "DRC-058");
    for (const { kind, json, public_key: publicKey, request_sha256: requestSha256, name } of frames) {
      const frame = kind === "hello" || kind === "state" ? null : DirectFrame.parse(JSON.parse(json));
      if (frame?.kind === "request") {
        const { proof, operation } = frame.request;
        assert.ok(verifyStatement(requestStatement, VerifyingKey.admit(publicKey!), proof), name);
        assert.equal(await operationDigest(operation), proof.operation_sha256, name);
      } else if (frame?.kind === "response" && frame.response.ok) {
        const { response } = frame.response.result;
        assert.equal(response.request_sha256, requestSha256, name);
        assert.equal(response.request_id, frame.id, name);
        assert.ok(verifyStatement(responseStatement, VerifyingKey.admit(publicKey!), response), name);
      }
    }
    const requests = frames
      .filter(({ kind }) => kind === "request")
      .map(({ json }) => DirectFrame.parse(JSON.parse(json)))
      .flatMap((frame) => (frame.kind === "request" ? [requestDigest(frame.request.proof)] : []));
    for (const { kind, request_sha256: requestSha256, name } of frames)
      if (kind === "response") assert.ok(requests.includes(requestSha256!), name);
  });
});
