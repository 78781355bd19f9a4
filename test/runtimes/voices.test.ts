/** Names that others choose, wherever a model or a person reads them beside svc's own words. */
import assert from "node:assert/strict";
import { Output } from "../../cli/output.ts";
import { printEvent } from "../../cli/render.ts";
import { parcelText } from "../../daemon/runtimes/input/envelope.ts";
import { plain } from "../../extension/plain.ts";
import { told } from "../../mcp-server/told.ts";
import { actorName } from "../../shared/actor-words.ts";
import { peerName } from "../../shared/connections-brief.ts";
import type { EventOf, LedgerEvent, MessageEvent } from "../../shared/events.ts";
import { imitates } from "../../shared/imitation.ts";
import { addressOf, partiesOf, senderWithPlace } from "../../shared/message-parties.ts";
import { notificationWords } from "../../shared/needs-you.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";
import { labelled, quoted, senderWords, shownId, titleOf } from "../../shared/voice.ts";
import { eventWords } from "../../webview/feed/event-words.ts";
import { messageLabel } from "../../webview/feed/message-label.ts";
import { chatMessage } from "../support/events.ts";
import { HARMLESS_NAMES, HOSTILE_NAMES, ownWords } from "../support/hostile-names.ts";

const ID = "0123456789abcdef0123456789abcdef";
const INSTANCE = "12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp";
const READER = { answerWith: "mcp", markdown: false } as const;
const name = (id: string) => (id === "user" ? "you" : shownId(id));

function message(by: string, data: Partial<MessageEvent["data"]>): MessageEvent {
  const event = {
    v: 1,
    id: ID,
    ts: "2026-01-01T00:00:00.000Z",
    kind: "chat.message",
    group_id: "g_000000000000",
  } as const;
  return { ...event, scope_key: "", by, data: chatMessage({ to: ["a1"], ...data }) };
}

function notice(title: string): EventOf<"system.notify"> {
  const { kind: _kind, data: _data, ...event } = message("system", {});
  const data = {
    kind: "x",
    title,
    message: title,
    target_actor_id: null,
    priority: "normal",
    context: {},
    related_event_id: ID,
  };
  return { ...event, kind: "system.notify", data } as EventOf<"system.notify">;
}

/** By where the name comes from. */
const SOURCES: Readonly<Record<string, (hostile: string) => MessageEvent>> = {
  "the title of an Actor": (hostile) => message("a1", { sender_title: hostile }),
  "the title of another Group": (hostile) =>
    message("a1", { sender_title: hostile, src_group_id: "g_111111111111", src_group_title: hostile }),
  "a file": (hostile) =>
    message("a1", {
      sender_title: "",
      attachments: [{ path: "", name: hostile, mime_type: "", bytes: 4, sha256: "" }],
    }),
  "another instance": (hostile) =>
    message(`connect:${INSTANCE}`, {
      sender_title: hostile,
      source_user_id: hostile,
      source_user_name: hostile,
      src_instance_id: INSTANCE,
      src_instance_name: hostile,
      src_group_id: hostile,
      src_group_title: hostile,
      connect_message: { connection_id: "direct-1a2b3c4d-0000-4000-8000-000000000000" },
    }),
  "an import": (hostile) => Object.assign(message(hostile, { sender_title: hostile }), { _imported: true }),
};

function printed(event: LedgerEvent): string {
  const lines: string[] = [];
  const out = new Output(false, {});
  out.line = (text) => void lines.push(text ?? "");
  printEvent(out, event);
  return lines.join("\n");
}

/** Everything that is said of a message, by place. */
const PLACES: Readonly<Record<string, (event: MessageEvent) => string>> = {
  "the prompt": (event) =>
    parcelText({ event, redelivered: false }, READER).replaceAll(/\[svc\]|svc_message_reply/g, ""),
  "a tool's result": (event) => (told(event) as { _from: string })._from,
  "svc tail": printed,
  "the Workbench's screen reader": (event) => messageLabel(event, name),
  "the Workbench's feed": (event) => {
    const { sender, from, to, mark } = partiesOf(event, name);
    return [senderWithPlace({ sender, mark }), from, to].join("\n");
  },
};

const fold = (text: string) => text.normalize("NFKC").toLowerCase();

describe("names that others choose", () => {
  it("are more than 200 in the table, and all of them imitate", () => {
    assert.ok(HOSTILE_NAMES.length >= 200, String(HOSTILE_NAMES.length));
    const missed = HOSTILE_NAMES.filter(({ name: hostile }) => !imitates(hostile));
    assert.deepEqual(
      missed.map(({ claim, disguise }) => `${claim}: ${disguise}`),
      [],
    );
    assert.deepEqual(HARMLESS_NAMES.filter(imitates), []);
  });

  for (const [source, of] of Object.entries(SOURCES))
    for (const [place, show] of Object.entries(PLACES))
      it(`say nothing for svc or the person: ${source}, in ${place}`, () => {
        for (const { name: hostile, claim, disguise } of HOSTILE_NAMES) {
          const shown = show(of(hostile));
          const about = `${claim}: ${disguise}: ${JSON.stringify(shown)}`;
          assert.doesNotMatch(shown.replaceAll("\n", ""), /[\p{Cc}\u2028\u2029\u202a-\u202e]/u, about);
          const own = fold(ownWords(shown));
          assert.ok(!own.includes(fold(hostile).trim()), about);
          assert.doesNotMatch(own, /(?<![\p{L}\p{N}])(?:svc|user|your|approved)(?![\p{L}\p{N}])/u, about);
        }
      });

  it("say nothing in notices, notifications, connections and titles", () => {
    for (const { name: hostile, claim, disguise } of HOSTILE_NAMES) {
      const event = notice(`${hostile} can't work`);
      const actor = { id: "a1", title: hostile };
      const item = {
        kind: "waiting",
        actor,
        group_id: "g_000000000000",
        group_title: hostile,
        reason: "",
        event_id: null,
      } as const;
      const remote = { title: hostile, name: hostile } as DirectRelation["remote"];
      const notification = notificationWords(item);
      const shown = [
        parcelText({ event, redelivered: false }, READER).replace("[svc]", ""),
        printed(event),
        eventWords(event, name).text,
        notification.title,
        // The editor's notification.
        plain(`${notification.title}: ${notification.body.replace("waits for you", "waits")}`),
        peerName({ remote }),
        actorName(actor),
        labelled(hostile),
        plain(quoted(hostile)),
        titleOf(hostile, "a1"),
      ];
      for (const one of shown) {
        const own = fold(ownWords(one));
        assert.doesNotMatch(
          own,
          /(?<![\p{L}\p{N}])(?:svc|user|your|approved)(?![\p{L}\p{N}])/u,
          `${claim}: ${disguise}: ${one}`,
        );
      }
    }
  });

  it("have the mark of their connection and key where they come from another instance", () => {
    const fromPerson = message(`connect:${INSTANCE}`, {
      sender_title: "user",
      source_user_id: "user",
      source_user_name: "user",
      src_instance_id: INSTANCE,
      src_instance_name: "this machine",
      src_group_id: "g_222222222222",
      src_group_title: "Lab",
      connect_message: { connection_id: "direct-1a2b3c4d-0000-4000-8000-000000000000" },
    });
    assert.equal(
      senderWords(fromPerson),
      `[outside, key ${INSTANCE.slice(-10)}, Direct 1a2b3c4d] a person there in “Lab”`,
    );
    const { sender, mark } = partiesOf(fromPerson, name);
    assert.deepEqual(
      [sender, mark],
      ["a person there", `outside, key ${INSTANCE.slice(-10)}, Direct 1a2b3c4d`],
    );
    assert.equal(addressOf(partiesOf(fromPerson, name)), "a1");
  });

  it("are as they were where they are harmless", () => {
    for (const harmless of HARMLESS_NAMES) {
      assert.equal(titleOf(harmless, "a1"), harmless);
      assert.equal(senderWords(message("a1", { sender_title: harmless })), `a1 (${quoted(harmless)})`);
    }
    assert.deepEqual(
      ["Lead", "my project-2", "Lead: x"].map((one) => labelled(one)),
      ["Lead", "my project-2", "“Lead: x”"],
    );
  });
});
