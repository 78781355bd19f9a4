import assert from "node:assert/strict";
import * as fc from "fast-check";
import { type RecipientRequest, resolveRecipients, type Sender } from "../../daemon/groups/recipients.ts";
import { type ErrorCode, Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { DEFAULT_GROUP_SETTINGS, type StoredActor, type StoredGroup } from "../../shared/model.ts";
import { verifies } from "../requirements.ts";
import { storedActor } from "./setting.ts";

function groupOf(actors: StoredActor[], defaultSendTo: "foreman" | "broadcast" = "foreman"): StoredGroup {
  return {
    v: 1,
    group_id: "g_0123456789ab",
    title: "Group",
    topic: "",
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    generation: "generation",
    state: "active",
    active_scope_key: null,
    scopes: [],
    actors,
    settings: { ...DEFAULT_GROUP_SETTINGS, default_send_to: defaultSendTo },
  };
}

const team = groupOf([
  storedActor("lead", { title: "Team lead" }),
  storedActor("ann", { title: "Reviewer" }),
  storedActor("bob", { title: "reviewer " }),
  storedActor("off", { title: "Café", enabled: false }),
]);
const user: Sender = { kind: "user" };

function actor(actorId: string): Sender {
  return { kind: "actor", actor_id: actorId };
}

function to(group: StoredGroup, recipients: string[], change: Partial<RecipientRequest> = {}): string[] {
  const request: RecipientRequest = { to: recipients, mode: "send", sender: user, ...change };
  const audience = resolveRecipients(group, request);
  assert.deepEqual(
    Object.keys(audience.to_generations).sort(),
    audience.to.filter((id) => id !== "user").sort(),
  );
  return audience.to;
}

function refused(
  group: StoredGroup,
  recipients: string[],
  change: Partial<RecipientRequest> = {},
): ErrorCode {
  try {
    to(group, recipients, change);
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return error.code;
  }
  throw new assert.AssertionError({ message: "was accepted" });
}

describe("recipients", () => {
  it("leaves a command that nobody said reads prompts out of @all and @peers; its name reaches it", () => {
    const shell = { runner: "pty", runtime: "custom" } as const;
    const group = groupOf([
      storedActor("lead"),
      storedActor("shell", shell),
      storedActor("chat", { ...shell, prompts: true }),
    ]);
    assert.deepEqual(to(group, ["@all"]), ["lead", "chat"]);
    assert.deepEqual(to(group, ["@peers"]), ["chat"]);
    assert.deepEqual(to(group, ["shell"]), ["shell"]);
  });

  it("are ids, titles and aliases, each once, in order of mention", () => {
    verifies("MSG-054");
    assert.deepEqual(to(team, ["bob", "Team lead", "bob"]), ["bob", "lead"]);
    assert.deepEqual(to(team, ["@all"]), ["lead", "ann", "bob"]);
    assert.deepEqual(to(team, ["@peers"]), ["ann", "bob"]);
    assert.deepEqual(to(team, ["@foreman"]), ["lead"]);
    assert.deepEqual(to(team, ["ann", "@all"]), ["ann", "lead", "bob"]);
    assert.deepEqual(to(team, ["user"], { sender: actor("ann") }), ["user"]);
  });

  it("carry the generations of that moment, so that a later Actor under an old id isn't meant", () => {
    verifies("MSG-053", "MSG-055");
    const { to_generations: toGenerations } = resolveRecipients(team, {
      to: ["@peers"],
      mode: "send",
      sender: user,
    });
    assert.deepEqual(toGenerations, { ann: "generation of ann", bob: "generation of bob" });
  });

  it("match titles without regard to case, blanks around and composition, unless two share one", () => {
    assert.deepEqual(to(team, ["  TEAM LEAD "]), ["lead"]);
    assert.deepEqual(to(team, ["Cafe\u0301"], { mode: "mail" }), ["off"]);
    assert.equal(refused(team, ["Reviewer"]), "invalid_recipient");
    assert.equal(refused(team, ["reviewer"]), "invalid_recipient");
    for (const unknown of ["nobody", "ANN", "", " ", "@ann", "@ALL", "constructor", "__proto__", "User"]) {
      assert.equal(refused(team, [unknown]), "invalid_recipient", unknown);
    }
  });

  it("prefer an id to a title", () => {
    const group = groupOf([storedActor("lead", { title: "ann" }), storedActor("ann")]);
    assert.deepEqual(to(group, ["ann"]), ["ann"]);
    // Letter by letter: another case can only be the title.
    assert.deepEqual(to(group, ["Ann"]), ["lead"]);
  });

  it("never let a title stand for the person or an alias", () => {
    const group = groupOf([storedActor("lead", { title: "user" }), storedActor("ann", { title: "@all" })]);
    assert.deepEqual(to(group, ["user"]), ["user"]);
    assert.deepEqual(to(group, ["@all"]), ["lead", "ann"]);
  });

  it("of an empty list are the Group's default", () => {
    assert.deepEqual(to(team, []), ["lead"]);
    assert.deepEqual(to(groupOf(team.actors, "broadcast"), []), ["lead", "ann", "bob"]);
  });

  it("by alias leave the sender out, but it may name itself", () => {
    assert.deepEqual(to(team, ["@all"], { sender: actor("ann") }), ["lead", "bob"]);
    assert.deepEqual(to(team, ["@peers"], { sender: actor("ann") }), ["bob"]);
    assert.deepEqual(to(team, ["ann"], { sender: actor("ann"), mode: "mail" }), ["ann"]);
    assert.equal(refused(team, ["@foreman"], { sender: actor("lead") }), "concrete_recipients_required");
    assert.equal(refused(team, [], { sender: actor("lead") }), "concrete_recipients_required");
    assert.deepEqual(to(team, ["@foreman"], { sender: { kind: "remote" } }), ["lead"]);
  });

  it("are the person or Actors, never both", () => {
    assert.equal(refused(team, ["user", "ann"]), "mixed_recipient_kinds");
    assert.equal(refused(team, ["@all", "user"]), "mixed_recipient_kinds");
    assert.equal(refused(team, ["user", "nobody"]), "mixed_recipient_kinds");
    assert.deepEqual(to(team, ["user", "user"], { sender: actor("ann") }), ["user"]);
    assert.equal(refused(team, ["user"], { mode: "mail" }), "mail_requires_actor_recipient");
    assert.deepEqual(to(team, ["user"], { mode: "request_reply", sender: actor("ann") }), ["user"]);
  });

  it("that are disabled get Mail, and other messages only beside somebody enabled", () => {
    assert.equal(refused(team, ["off"]), "no_enabled_recipients");
    assert.equal(refused(team, ["off"], { mode: "request_reply" }), "no_enabled_recipients");
    assert.deepEqual(to(team, ["off", "ann"]), ["off", "ann"]);
    assert.deepEqual(to(team, ["off"], { mode: "mail" }), ["off"]);
    assert.deepEqual(to(team, ["@all"], { mode: "mail" }), ["lead", "ann", "bob", "off"]);
    const asleep = groupOf([storedActor("lead", { enabled: false })]);
    assert.equal(refused(asleep, ["@all"]), "no_enabled_recipients");
  });

  it("must exist", () => {
    for (const mode of ["send", "request_reply", "mail"] as const) {
      assert.equal(refused(groupOf([]), ["@all"], { mode }), "concrete_recipients_required");
      assert.equal(
        refused(groupOf([storedActor("lead")]), ["@peers"], { mode }),
        "concrete_recipients_required",
      );
    }
  });

  it("are at most 128 after expansion", () => {
    verifies("LIM-030");
    const many = Array.from({ length: LIMITS.message.recipients + 1 }, (_, at) => storedActor(`a${at}`));
    assert.equal(refused(groupOf(many), ["@all"]), "invalid_recipient");
    assert.equal(to(groupOf(many), ["@peers"]).length, LIMITS.message.recipients);
  });
});

/** The rules once more, one recipient at a time and without regard to speed. */
function model(group: StoredGroup, { to: written, mode, sender }: RecipientRequest): string[] | ErrorCode {
  const list =
    written.length === 0 ? [group.settings.default_send_to === "foreman" ? "@foreman" : "@all"] : written;
  const people = list.filter((one) => one === "user").length;
  if (people > 0) {
    if (people < list.length) return "mixed_recipient_kinds";
    return mode === "mail" ? "mail_requires_actor_recipient" : ["user"];
  }
  const same = (one: string, other: string) =>
    one.normalize("NFC").trim().toLowerCase() === other.normalize("NFC").trim().toLowerCase();
  const meant: StoredActor[] = [];
  let asleep = 0;
  for (const one of list) {
    const places =
      one === "@all"
        ? group.actors
        : one === "@peers"
          ? group.actors.slice(1)
          : one === "@foreman"
            ? group.actors.slice(0, 1)
            : null;
    if (places !== null) {
      const others = places.filter((actor) => !(sender.kind === "actor" && sender.actor_id === actor.id));
      meant.push(...others.filter((actor) => mode === "mail" || actor.enabled));
      asleep += others.filter((actor) => mode !== "mail" && !actor.enabled).length;
      continue;
    }
    const byId = group.actors.filter((actor) => actor.id === one);
    const byTitle = group.actors.filter((actor) => actor.title.trim() !== "" && same(actor.title, one));
    const found = byId.length > 0 ? byId : byTitle;
    if (found.length !== 1) return "invalid_recipient";
    meant.push(...found);
  }
  const ids = [...new Set(meant.map((actor) => actor.id))];
  if (ids.length === 0 && asleep === 0) return "concrete_recipients_required";
  if (mode !== "mail" && !meant.some((actor) => actor.enabled)) return "no_enabled_recipients";
  return ids;
}

describe("recipients against a model", () => {
  const word = fc.constantFrom("ann", "Ann", "bob", "é", "e\u0301", " x ", "X", "user", "@all", "");
  const actors = fc.uniqueArray(
    fc.record({ id: fc.constantFrom("ann", "bob", "cat", "dog"), title: word, enabled: fc.boolean() }),
    { selector: ({ id }) => id },
  );
  const recipients = fc.array(
    fc.oneof(word, fc.constantFrom("@all", "@peers", "@foreman", "user", "cat", "dog", "@nobody")),
    { maxLength: 4 },
  );
  const sender: fc.Arbitrary<Sender> = fc.oneof(
    fc.constant<Sender>({ kind: "user" }),
    fc.constant<Sender>({ kind: "remote" }),
    fc.constantFrom("ann", "bob", "gone").map(actor),
  );

  it("agree for every Group, list, mode and sender", () => {
    fc.assert(
      fc.property(
        actors,
        recipients,
        fc.constantFrom("send" as const, "request_reply" as const, "mail" as const),
        sender,
        fc.constantFrom("foreman" as const, "broadcast" as const),
        (people, written, mode, from, byDefault) => {
          const group = groupOf(
            people.map(({ id, ...rest }) => storedActor(id, rest)),
            byDefault,
          );
          const request = { to: written, mode, sender: from };
          const expected = model(group, request);
          if (typeof expected === "string") assert.equal(refused(group, written, request), expected);
          else assert.deepEqual(to(group, written, request), expected);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
