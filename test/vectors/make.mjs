/**
 * Makes the vectors of this folder from docs/protocol.md alone: plain Node, no code of ours, JSON
 * put together member by member in the order that the contract lists. `node test/vectors/make.mjs
 * [folder]`; a test holds the files and this script together.
 *
 * Another implementation checks itself against them: `material` is the text whose UTF-8 bytes are
 * signed, `json` the exact bytes of an object in declared order, keys are seeds of Ed25519 in hex.
 * The fields of a case stand in a different order than declared, on purpose.
 */
import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { wordlist } from "@scure/bip39/wordlists/english.js";

const folder = process.argv[2] ?? import.meta.dirname;
const sha256 = (content) => createHash("sha256").update(content).digest();
const hex = (content) => sha256(content).toString("hex");
const text = JSON.stringify;
/**
 * JSON of the named members of `value` that are there, in the order of `names`; `nested` gives the
 * JSON of some of them.
 */
const object = (names, value, nested = {}) =>
  `{${names
    .split(" ")
    .filter((name) => value[name] !== undefined)
    .map((name) => `${text(name)}:${nested[name] ? nested[name](value[name]) : text(value[name])}`)
    .join(",")}}`;
const list = (one) => (values) => `[${values.map(one).join(",")}]`;
const reversed = (value) => {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)]),
  );
};

// Section 2 and "Instance identity": the peer id.
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
function base58(bytes) {
  let number = BigInt(`0x${bytes.toString("hex")}`);
  let out = "";
  for (; number > 0n; number /= 58n) out = ALPHABET[Number(number % 58n)] + out;
  for (const byte of bytes) {
    if (byte !== 0) break;
    out = `1${out}`;
  }
  return out;
}

function instance(name) {
  const seed = sha256(`svc test vector key: ${name}`);
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
  const privateKey = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const raw = createPublicKey(privateKey).export({ format: "der", type: "spki" }).subarray(12);
  return {
    seed: seed.toString("hex"),
    public_key: raw.toString("base64"),
    instance_id: base58(Buffer.concat([Buffer.from([0x00, 0x24, 0x08, 0x01, 0x12, 0x20]), raw])),
    sign: (material) => sign(null, Buffer.from(material, "utf8"), privateKey).toString("base64"),
  };
}

const [ada, bob, eve] = ["ada", "bob", "eve"].map(instance);
const identities = [ada, bob, eve].map(({ seed, public_key, instance_id }) => ({
  seed,
  public_key,
  instance_id,
}));

const uuid = (name) => hex(name).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/u, "$1-$2-$3-$4-$5");
const dashless = (name) => hex(name).slice(0, 32);
const account = { account_origin: "https://account.example", account_id: "acct_7" };
const devices = { source_device_id: "dev_ada", target_device_id: "dev_bob" };
const pair = { source_instance_id: ada.instance_id, target_instance_id: bob.instance_id };
const direct_id = `direct-${uuid("relation")}`;
const external_id = uuid("external connection");
const times = { issued_at: "2026-03-01T10:00:00.000Z", expires_at: "2026-03-01T11:00:59.999999999+01:00" };
/**
 * Quotes, escapes, a pair of surrogates and a sign behind all pairs in UTF-16 order but not in
 * UTF-8.
 */
const awkward = 'Ünï "\\" \u0001\u2028 \u{1f600} \uff21';

// Section 4: fields of the proofs and of what is signed.
const REGISTRATION = "instance_id public_key client_version public_origin issued_at signature";
const IDENTITY = "instance_id device_id public_origin client_version nonce expires_at signature";
const FRAME =
  "account_origin source_instance_id source_device_id target_instance_id target_device_id parent_origin frame_id nonce issued_at expires_at signature";
const REQUEST =
  "connection_id account_origin account_id source_instance_id source_device_id target_instance_id target_device_id request_id issued_at expires_at operation_sha256 signature";
const TICKET =
  "account_origin account_id instance_id instance_name device_id group_id group_generation title issued_at expires_at signature";
const CHECK = "ticket_sha256 nonce title expires_at signature";

const statements = [];
/** One signed object: `array` is what is signed. */
function statement(name, kind, names, signer, fields, array, known) {
  const material = text(array);
  const signature = signer.sign(material);
  const whole = { ...fields, signature };
  statements.push({
    name,
    kind,
    ...(known === undefined ? {} : { known }),
    public_key: signer.public_key,
    fields: reversed(fields),
    material,
    material_sha256: hex(material),
    json: object(names, whole),
  });
  return { ...whole, material };
}

for (const [name, public_origin] of [
  ["registration with an origin", "https://ada.example:8443"],
  ["registration without an origin", null],
]) {
  const known = { account_origin: account.account_origin, device_id: "dev_ada" };
  const fields = {
    instance_id: ada.instance_id,
    public_key: ada.public_key,
    client_version: "0.5.0",
    public_origin,
    issued_at: "2026-03-01T10:00:00.000Z",
  };
  const array = [
    "svc.connect.register.v1",
    known.account_origin,
    known.device_id,
    fields.instance_id,
    fields.public_key,
    fields.client_version,
    public_origin,
    fields.issued_at,
  ];
  statement(name, "registration", REGISTRATION, ada, fields, array, known);
}

{
  const fields = {
    instance_id: bob.instance_id,
    device_id: "dev_bob",
    public_origin: "https://bob.example",
    client_version: "0.5.0-rc.1+build",
    nonce: uuid("challenge"),
    expires_at: "2026-03-01T10:00:30Z",
  };
  const array = [
    "svc.connect.identity.v1",
    fields.instance_id,
    fields.device_id,
    fields.public_origin,
    fields.client_version,
    fields.nonce,
    fields.expires_at,
  ];
  statement("identity", "identity", IDENTITY, bob, fields, array);
}

{
  const fields = {
    account_origin: account.account_origin,
    ...pair,
    ...devices,
    parent_origin: "http://127.0.0.1:8848",
    frame_id: uuid("frame"),
    nonce: dashless("frame nonce"),
    ...times,
  };
  const array = [
    "svc.connect.frame.v1",
    fields.account_origin,
    fields.source_instance_id,
    fields.source_device_id,
    fields.target_instance_id,
    fields.target_device_id,
    fields.parent_origin,
    fields.frame_id,
    fields.nonce,
    fields.issued_at,
    fields.expires_at,
  ];
  statement("frame", "frame", FRAME, ada, fields, array);
}

// Section 5: operations and what they carry.
const ADDRESS = "instance_id device_id group_id title";
const ACTOR = "id title generation enabled role";
const ATTACHMENT = "sha256 bytes name mime_type";
const MESSAGE =
  "connection_id delivery_id account_origin account_id source sender source_event_id target recipients text format insight message_mode attachments reply_to created_at deliver_before reply_before";
const CANCELLATION =
  "connection_id delivery_id account_origin account_id source sender source_event_id target original_delivery_id original_message_sha256 original_source_event_id original_deliver_before created_at deliver_before";
const address = (value) => object(ADDRESS, value);
const actor = (value) => object(ACTOR, value);
const messageJson = (value) =>
  object(MESSAGE, value, {
    source: address,
    sender: actor,
    target: address,
    recipients: list(actor),
    attachments: list((one) => object(ATTACHMENT, one)),
    reply_to: (reply) => (reply === null ? "null" : object("delivery_id event_id", reply)),
  });
const cancellationJson = (value) =>
  object(CANCELLATION, value, { source: address, sender: actor, target: address });

const file = Buffer.from("The bytes of a file.\n");
const person = { id: "user", title: "", generation: "", enabled: true, role: null };
const claude = { id: "claude-1", title: awkward, generation: uuid("claude"), enabled: true, role: "foreman" };
const codex = {
  id: "codex",
  title: "",
  generation: "legacy:2024-05-06T07:08:09Z",
  enabled: false,
  role: "peer",
};

function envelope(connection_id) {
  const direct = connection_id?.startsWith("direct-") ?? false;
  return {
    ...(connection_id === undefined ? {} : { connection_id }),
    ...(direct ? {} : account),
    source: {
      instance_id: ada.instance_id,
      ...(direct ? {} : { device_id: "dev_ada" }),
      group_id: "g_0123456789ab",
      title: awkward,
    },
    target: {
      instance_id: bob.instance_id,
      ...(direct ? {} : { device_id: "dev_bob" }),
      group_id: "any group: 7",
      title: "",
    },
  };
}

const messages = {
  "message of an account": {
    ...envelope(undefined),
    delivery_id: uuid("delivery 1"),
    sender: claude,
    source_event_id: dashless("event 1"),
    recipients: [codex, claude],
    text: awkward,
    format: "markdown",
    insight: "Because.",
    message_mode: "request_reply",
    attachments: [],
    reply_to: null,
    created_at: "2026-03-01T10:00:00.000Z",
    deliver_before: "2026-03-01T10:15:00.000Z",
    reply_before: "2026-03-08T10:00:00.000Z",
  },
  "message of an external connection": {
    ...envelope(external_id),
    delivery_id: uuid("delivery 2"),
    sender: person,
    source_event_id: uuid("event 2"),
    recipients: [codex],
    text: "Hello",
    format: "plain",
    insight: null,
    message_mode: "mail",
    attachments: [],
    reply_to: null,
    created_at: "2026-03-01T10:00:00+00:00",
    deliver_before: "2026-03-01T10:00:00.000000001Z",
    reply_before: "2026-03-01T10:00:01-00:00",
  },
  "message of a Direct connection, a reply to a person with a file twice": {
    ...envelope(direct_id),
    delivery_id: dashless("delivery 3"),
    sender: claude,
    source_event_id: dashless("event 3"),
    recipients: [person],
    text: "",
    format: "plain",
    insight: null,
    message_mode: "send",
    attachments: [
      { sha256: hex(file), bytes: file.length, name: `../${awkward}`, mime_type: "text/plain" },
      { sha256: hex(file), bytes: file.length, name: "again.txt", mime_type: "" },
    ],
    reply_to: { delivery_id: uuid("delivery 0"), event_id: dashless("event 0") },
    created_at: "2026-03-01T10:00:00.000Z",
    deliver_before: "2026-03-01T10:15:00.000Z",
    reply_before: "2026-03-08T10:00:00.000Z",
  },
};

const digests = [];
function digest(name, kind, value, json) {
  digests.push({ name, kind, value: reversed(value), json, sha256: hex(json) });
  return hex(json);
}

const operations = {};
const OPERATION = {
  catalog: "op connection_id source_group_id target_group_id after",
  receipt: "op connection_id source_group_id target_group_id delivery_id message_sha256",
};
for (const [name, message] of Object.entries(messages)) {
  const message_sha256 = digest(name, "message", message, messageJson(message));
  const blobs =
    message.attachments.length === 0 ? [] : [{ sha256: hex(file), base64: file.toString("base64") }];
  const deliver = { op: "deliver", message, blobs };
  operations[`deliver: ${name}`] = [
    deliver,
    object("op message blobs", deliver, {
      message: messageJson,
      blobs: list((blob) => object("sha256 base64", blob)),
    }),
  ];
  const { connection_id, source, target, delivery_id } = message;
  const receipt = {
    op: "receipt",
    connection_id,
    source_group_id: source.group_id,
    target_group_id: target.group_id,
    delivery_id,
    message_sha256,
  };
  operations[`receipt: ${name}`] = [receipt, object(OPERATION.receipt, receipt)];
  const cancellation = {
    ...envelope(connection_id),
    delivery_id: uuid(`cancel ${delivery_id}`),
    sender: message.sender,
    source_event_id: uuid(`control ${delivery_id}`),
    original_delivery_id: delivery_id,
    original_message_sha256: message_sha256,
    original_source_event_id: message.source_event_id,
    original_deliver_before: message.deliver_before,
    created_at: "2026-03-01T12:00:00.5+02:00",
    deliver_before: "2026-03-01T10:15:00.5Z",
  };
  digest(`cancellation of: ${name}`, "cancellation", cancellation, cancellationJson(cancellation));
  const cancel = { op: "cancel", cancellation };
  operations[`cancel: ${name}`] = [
    cancel,
    object("op cancellation", cancel, { cancellation: cancellationJson }),
  ];
}
const whole = { op: "catalog", source_group_id: "", target_group_id: null, after: null };
operations["catalog of an instance"] = [whole, object(OPERATION.catalog, whole)];
const short = { op: "catalog", source_group_id: "g_0123456789ab" };
operations["catalog with members left out, which count as null"] = [
  short,
  object(OPERATION.catalog, { ...short, target_group_id: null, after: null }),
];
const narrow = {
  op: "catalog",
  connection_id: direct_id,
  source_group_id: "g_0123456789ab",
  target_group_id: "any group: 7",
  after: "cursor",
};
operations["catalog of a Direct connection"] = [narrow, object(OPERATION.catalog, narrow)];
for (const [name, [operation, json]] of Object.entries(operations))
  digest(name, "operation", operation, json);

// Requests over the three kinds of connection, and answers to them.
const requests = {};
for (const [name, connection_id, domain] of [
  ["request within an account", undefined, "svc.connect.peer.request.v1"],
  ["request over an external connection", external_id, "svc.connect.peer.group.request.v1"],
  ["request over a Direct connection", direct_id, "svc.connect.peer.direct.request.v1"],
]) {
  const direct = connection_id === direct_id;
  const fields = {
    ...(connection_id === undefined ? {} : { connection_id }),
    ...(direct ? {} : account),
    ...pair,
    ...(direct ? {} : devices),
    request_id: uuid(name),
    ...times,
    operation_sha256: hex(name),
  };
  const array = [
    domain,
    direct ? "" : account.account_origin,
    direct ? "" : account.account_id,
    fields.source_instance_id,
    direct ? "" : devices.source_device_id,
    fields.target_instance_id,
    direct ? "" : devices.target_device_id,
    fields.request_id,
    fields.issued_at,
    fields.expires_at,
    fields.operation_sha256,
    ...(connection_id === undefined ? [] : [connection_id]),
  ];
  requests[name] = statement(name, "request", REQUEST, ada, fields, array);
}

const sorted = (value) => {
  if (Array.isArray(value)) return `[${value.map(sorted).join(",")}]`;
  if (typeof value !== "object" || value === null) return text(value);
  const names = Object.keys(value).sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  return `{${names.map((name) => `${text(name)}:${sorted(value[name])}`).join(",")}}`;
};
const answers = {
  "response with a receipt": {
    ok: true,
    result: {
      receipt: {
        message_sha256: hex("message"),
        event_id: dashless("event"),
        delivery_id: uuid("delivery"),
        delivered_at: "2026-03-01T10:00:01.234Z",
      },
      duplicate: true,
    },
  },
  "response without a receipt": { ok: true, result: { receipt: null } },
  "response with an error": {
    ok: false,
    error: { message: awkward, code: "connect_original_pending" },
  },
  "response with members that only sorting by UTF-8 puts in order": {
    ok: true,
    result: {
      next: null,
      "\u{1f600}": 1,
      "\uff21": [{ b: true, a: "x" }, []],
      10: "ten",
      9: "nine",
      groups: [],
      "": {},
    },
  },
};
for (const [name, result] of Object.entries(answers)) {
  const { request_id, material: requestMaterial } = requests["request over a Direct connection"];
  const request_sha256 = hex(requestMaterial);
  const material = `[${text("svc.connect.peer.response.v1")},${text(request_id)},${text(request_sha256)},${sorted(result)}]`;
  const signature = bob.sign(material);
  statements.push({
    name,
    kind: "response",
    public_key: bob.public_key,
    fields: reversed({ request_id, request_sha256, result }),
    material,
    material_sha256: hex(material),
    json: object(
      "request_id request_sha256 result signature",
      { request_id, request_sha256, result, signature },
      {
        result: (value) => object("ok result error", value, { error: (one) => object("code message", one) }),
      },
    ),
  });
}

{
  const fields = {
    ...account,
    instance_id: ada.instance_id,
    instance_name: awkward,
    device_id: "dev_ada",
    group_id: "g_0123456789ab",
    group_generation: "legacy:2024-05-06T07:08:09Z",
    title: awkward,
    issued_at: "2026-03-01T10:00:00.000Z",
    expires_at: "2026-03-02T10:00:00.000Z",
  };
  const array = [
    "svc.connect.group.ticket.v1",
    fields.account_origin,
    fields.account_id,
    fields.instance_id,
    fields.instance_name,
    fields.device_id,
    fields.group_id,
    fields.group_generation,
    fields.title,
    fields.issued_at,
    fields.expires_at,
  ];
  const ticket = statement("ticket", "ticket", TICKET, ada, fields, array);
  const check = {
    ticket_sha256: hex(ticket.material),
    nonce: uuid("check"),
    title: awkward,
    expires_at: "2026-03-01T10:00:30.000Z",
  };
  statement("group check", "groupCheck", CHECK, ada, check, [
    "svc.connect.group.check.v1",
    check.ticket_sha256,
    check.nonce,
    check.title,
    check.expires_at,
  ]);
}

// Section 9: invitation and fingerprint.
const ENDPOINT = "instance_id public_key client_version name group_id generation title";
const endpoint = {
  instance_id: ada.instance_id,
  public_key: ada.public_key,
  client_version: "0.5.0",
  name: awkward,
  group_id: "g_0123456789ab",
  generation: uuid("group"),
  title: awkward,
};
const invitation = {
  v: 1,
  id: direct_id,
  address: "[2001:db8::1]:8847",
  host: endpoint,
  expires_at: "2026-03-01T10:30:00.000Z",
  secret: hex("secret"),
};
const invitationJson = object("v id address host expires_at secret", invitation, {
  host: (value) => object(ENDPOINT, value),
});
const fingerprints = [
  [direct_id, ada, bob],
  [direct_id, bob, ada],
  [`direct-${uuid("other relation")}`, ada, eve],
].map(([connection_id, host, joiner]) => {
  const material = text(["svc.direct.fingerprint.v1", connection_id, host.public_key, joiner.public_key]);
  const bits = [...sha256(material)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const words = [0, 1, 2, 3, 4, 5].map(
    (index) => wordlist[Number.parseInt(bits.slice(index * 11, index * 11 + 11), 2)],
  );
  return {
    connection_id,
    host_public_key: host.public_key,
    joiner_public_key: joiner.public_key,
    material,
    words,
  };
});

// Section 9: every kind of frame. Ada asks over the connection that Bob joined; on the line stand
// the bytes of `head` and the UTF-8 of `json`.
const frames = [];
function frame(name, kind, json, more = {}) {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(Buffer.byteLength(json));
  frames.push({ name, kind, ...more, head: head.toString("hex"), json });
}
const joiner = {
  ...endpoint,
  instance_id: bob.instance_id,
  public_key: bob.public_key,
  name: "",
  group_id: "any group: 7",
  title: "",
};
frame(
  "hello of the joiner",
  "hello",
  object(
    "id secret endpoint",
    { id: direct_id, secret: invitation.secret, endpoint: joiner },
    { endpoint: (value) => object(ENDPOINT, value) },
  ),
);
for (const state of ["invited", "pending", "active", "expired", "revoked"])
  frame(`answer to a hello: ${state}`, "state", text(state));

const asked = {};
for (const { name, kind, value: operation, json: operationJson } of digests) {
  if (kind !== "operation") continue;
  const { message, cancellation, connection_id } = operation;
  if ((message ?? cancellation ?? { connection_id }).connection_id !== direct_id) continue;
  const fields = {
    connection_id: direct_id,
    ...pair,
    request_id: uuid(`frame of ${name}`),
    ...times,
    operation_sha256: hex(operationJson),
  };
  const material = text([
    "svc.connect.peer.direct.request.v1",
    "",
    "",
    fields.source_instance_id,
    "",
    fields.target_instance_id,
    "",
    fields.request_id,
    fields.issued_at,
    fields.expires_at,
    fields.operation_sha256,
    direct_id,
  ]);
  const proofJson = object(REQUEST, { ...fields, signature: ada.sign(material) });
  asked[operation.op] = { request_id: fields.request_id, request_sha256: hex(material) };
  const json = `{"kind":"request","request":{"proof":${proofJson},"operation":${operationJson}}}`;
  frame(`request, ${name}`, "request", json, { public_key: ada.public_key });
}

const responseFrame = (id, answer) => `{"kind":"response","id":${text(id)},"response":${answer}}`;
/**
 * `result` is the inner one, its members in the order of `sorted`, in which it may as well be
 * written.
 */
function signedResponse(name, op, result) {
  const { request_id, request_sha256 } = asked[op];
  const material = `[${text("svc.connect.peer.response.v1")},${text(request_id)},${text(request_sha256)},${sorted(result)}]`;
  const whole = { request_id, request_sha256, result, signature: bob.sign(material) };
  const json = object("request_id request_sha256 result signature", whole, {
    result: (value) =>
      object("ok result error", value, { result: sorted, error: (one) => object("code message", one) }),
  });
  frame(name, "response", responseFrame(request_id, `{"ok":true,"result":{"response":${json}}}`), {
    public_key: bob.public_key,
    request_sha256,
  });
}
const recorded = {
  delivered_at: "2026-03-01T10:00:01.234Z",
  delivery_id: uuid("delivery 3"),
  event_id: dashless("arrived"),
  message_sha256: hex(
    messageJson(messages["message of a Direct connection, a reply to a person with a file twice"]),
  ),
};
signedResponse("response, a page of a catalog", "catalog", {
  ok: true,
  result: { groups: [{ actors: [claude], group_id: "any group: 7", title: awkward }], next: null },
});
signedResponse("response, a receipt", "deliver", { ok: true, result: { receipt: recorded } });
signedResponse("response, the receipt of what came before", "receipt", {
  ok: true,
  result: { duplicate: true, receipt: recorded },
});
signedResponse("response, no receipt", "receipt", { ok: true, result: { receipt: null } });
signedResponse("response, a signed error", "cancel", {
  ok: false,
  error: { code: "connect_original_pending", message: awkward },
});
const denied = { code: "connect_peer_denied", message: awkward, details: { anything: ["more"] } };
frame(
  "response, a refusal without a signature",
  "refusal",
  responseFrame(asked.deliver.request_id, `{"ok":false,"error":${object("code message details", denied)}}`),
);
frame("ping", "ping", '{"kind":"ping"}');

const files = {
  identities,
  statements,
  digests,
  direct: {
    invitation: {
      value: reversed(invitation),
      json: invitationJson,
      text: `svc-direct:${Buffer.from(invitationJson).toString("base64url")}`,
    },
    fingerprints,
    frames,
  },
};
for (const [name, value] of Object.entries(files)) {
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(value, null, 2)}\n`);
}
