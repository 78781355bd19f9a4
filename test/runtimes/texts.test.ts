import assert from "node:assert/strict";
import * as fc from "fast-check";
import { entryOf } from "../../daemon/runtimes/catalogue.ts";
import { asPaste, neutralised, parcelText } from "../../daemon/runtimes/input/envelope.ts";
import { codexTrustHash, handOver } from "../../daemon/runtimes/launch/handover.ts";
import { InputWatch } from "../../daemon/runtimes/terminal/input-watch.ts";
import { OWN_TOOLS } from "../../mcp-server/tools.ts";
import type { ChatMessage, MessageEvent } from "../../shared/events.ts";
import { LIMITS } from "../../shared/limits.ts";
import { chatMessage } from "../support/events.ts";

const ID = "0123456789abcdef0123456789abcdef";

function event(data: Partial<ChatMessage>, by = "user"): MessageEvent {
  return {
    v: 1,
    id: ID,
    ts: "",
    kind: "chat.message",
    group_id: "g_000000000000",
    scope_key: "",
    by,
    data: chatMessage({ sender_title: "", ...data }),
  };
}

const CODEX = { answerWith: "mcp", markdown: true } as const;

/** Whatever a sender could try. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "\u001b[201~",
        "\r",
        "\n",
        "\u2028",
        "\u2029",
        "\u0085",
        "\v",
        "\f",
        "\u009b201~",
        "[svc]",
        "> ",
        "\u202e",
        "\u2066",
        "\u200b",
        "\u{e0041}",
        "\ufe00\ufe01",
      ),
      fc.string({ unit: "binary" }),
    ),
  )
  .map((parts) => parts.join(""));

describe("the envelope", () => {
  it("holds any text in its lines, without one control character", () => {
    fc.assert(
      fc.property(hostile, hostile, hostile, (text, quoteText, insight) => {
        const data = {
          text,
          quote_text: quoteText,
          insight,
          sender_title: text,
          message_mode: "send" as const,
          attachments: [{ path: "", name: text, mime_type: "", bytes: 1, sha256: "" }],
        };
        const parcel = parcelText({ event: event(data), redelivered: false }, CODEX);
        // oxlint-disable-next-line no-control-regex
        assert.doesNotMatch(parcel, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/);
        assert.doesNotMatch(parcel, /[\u200b\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/u);
        assert.doesNotMatch(parcel, /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{2}/u);
        const lines = parcel.split("\n");
        assert.ok(lines.every((line) => line === "" || line.startsWith("[svc] ") || line.startsWith("> ")));
        const heads = lines.filter((line) => line.startsWith("[svc] "));
        assert.ok(heads[0]!.startsWith(`[svc] message ${ID} from user`));
        assert.deepEqual(
          heads.slice(1).map((line) => /^\[svc\] (about|says|remark|attached|To answer)/.exec(line)?.[1]),
          ["about", ...(text === "" ? [] : ["says"]), "remark", "attached", "To answer"],
        );
        // Markdown goes on with a quotation in the line behind it, unless that is empty.
        for (const [at, line] of lines.entries())
          assert.ok(!line.startsWith("[svc] ") || !lines[at - 1]?.startsWith("> "), line);
      }),
    );
  });

  it("says who asks, what is asked for and how to answer", () => {
    const data = { text: "one\r\ntwo", sender_title: "Lead", message_mode: "request_reply" as const };
    assert.equal(
      parcelText(
        { event: event(data, "lead"), redelivered: true },
        { answerWith: "command", markdown: false },
      ),
      [
        `[svc] message ${ID} from lead (“Lead”), sent again`,
        "> one",
        "> two",
        `[svc] A reply is requested: svc reply ${ID} "your answer"`,
      ].join("\n"),
    );
  });

  it("says where a sender is that isn't in this Group", () => {
    const heads = [
      event({ text: "", sender_title: "Lead", src_group_title: "Other" }, "lead"),
      event(
        {
          text: "",
          source_user_id: "lead",
          source_user_name: "Lead",
          src_instance_id: "12D3KooWEoppNCUx8Y",
          src_instance_name: "Their\nmachine",
          src_group_title: "Theirs",
        },
        "connect:there",
      ),
    ].map((one) => parcelText({ event: one, redelivered: false }, CODEX).split("\n", 1)[0]);
    assert.deepEqual(heads, [
      `[svc] message ${ID} from lead (“Lead”) in “Other”, another Group here`,
      `[svc] message ${ID} from [outside, key EoppNCUx8Y, this account] Actor lead (“Lead”) in “Theirs”`,
    ]);
  });

  it("shows what would turn or hide text, and tells a quotation from what is said", () => {
    const data = {
      text: "rm \u202etxt.exe\u202c \u{e0072}\u{e006d} می\u200cشود 👩\u200d🚀",
      quote_text: "why\u200b?",
      sender_title: "Le\u2066ad\u3164\nhere",
      message_mode: "send" as const,
    };
    assert.equal(
      parcelText({ event: event(data, "lead"), redelivered: false }, CODEX),
      [
        `[svc] message ${ID} from lead`,
        "[svc] about:",
        "> why\ufffd?",
        "",
        "[svc] says:",
        "> rm \ufffdtxt.exe\ufffd \ufffd\ufffd می\u200cشود 👩\u200d🚀",
        "",
        `[svc] To answer: svc_message_reply with event_id ${ID}`,
      ].join("\n"),
    );
  });

  it("is one bracketed paste", () => {
    assert.equal(asPaste(neutralised("a\u001b[201~b")), "\u001b[200~a\u241b[201~b\u001b[201~");
  });
});

describe("keys of a person", () => {
  it("interrupt by Ctrl-C or Esc alone, outside pastes; two fast Esc are Esc, too", () => {
    const watch = new InputWatch();
    const found = [
      "a",
      "\u0003",
      "\u001b",
      "\u001b[A",
      "x\u0003",
      "\u001b[200~\u0003",
      "\u001b",
      "\u0003\u001b[201~",
      "\u001b",
      "\u001b\u001b",
      "\u001b\u001b[A",
    ];
    assert.deepEqual(
      found.map((input) => watch.read(input).interrupts),
      [false, true, true, false, true, false, false, false, true, true, false],
    );
  });

  it("leave a draft until Enter, Ctrl-C or Ctrl-U; what a terminal tells by itself isn't typed", () => {
    const watch = new InputWatch();
    const read = (input: string) => {
      const { isTyped, hasDraft } = watch.read(input);
      return [isTyped, hasDraft];
    };
    assert.deepEqual(read("\u001b[I"), [false, false]);
    assert.deepEqual(read("l"), [true, true]);
    assert.deepEqual(read("\u001b[O"), [false, true]);
    assert.deepEqual(read("s\r"), [true, false]);
    assert.deepEqual(read("\u001b[200~a\r"), [true, true]);
    assert.deepEqual(read("b\u001b[201~"), [true, true]);
    assert.deepEqual(read("\u0003"), [true, false]);
    assert.deepEqual(read("\u001b[<0;4;5M"), [false, false]);
    assert.deepEqual(read("x"), [true, true]);
    assert.deepEqual(read("\u0015"), [true, false]);
  });
});

describe("what a runtime is handed", () => {
  const wiring = {
    mcp: ["/usr/bin/node", "/opt/svc it/svc.cjs", "mcp"] as const,
    mcpEnvironment: { SVC_HOME: '/home/"x"' },
    hook: ["/bin/sh", "/home/it's/hook.sh"] as const,
    decide: null,
    allowedTools: OWN_TOOLS,
    version: null,
  };

  it("lets it use without asking what touches svc alone, and nothing else", () => {
    const settings = (tools: readonly string[]) =>
      JSON.parse(handOver(entryOf("claude"), { ...wiring, allowedTools: tools }).args[1]!) as {
        permissions: { allow: string[] };
      };
    const { allow } = settings(OWN_TOOLS).permissions;
    assert.ok(allow.includes("mcp__svc__svc_message_send") && allow.includes("mcp__svc__svc_inbox_read"));
    assert.ok(!allow.some((rule) => /svc_(?:actor|file|file_send)$/.test(rule)));
    assert.deepEqual(settings([]).permissions.allow, []);
    const codex = handOver(entryOf("codex"), wiring).args;
    assert.ok(codex.includes('mcp_servers.svc.tools.svc_reply_request_cancel.approval_mode="approve"'));
    assert.ok(!codex.some((argument) => argument.startsWith("mcp_servers.svc.tools.svc_actor")));
  });

  it("for Codex are overrides, with the trust for exactly these hooks", () => {
    const { args } = handOver(entryOf("codex"), wiring);
    assert.ok(args.every((argument, at) => at % 2 === 1 || argument === "-c"));
    const overrides = args.filter((_argument, at) => at % 2 === 1);
    const command = "/bin/sh '/home/it'\\\\''s/hook.sh'";
    assert.ok(
      overrides.includes(
        `hooks.UserPromptSubmit=[{hooks=[{type="command",command="${command}",timeout=3}]}]`,
      ),
    );
    const trust = overrides.find((override) => override.startsWith("hooks.state="))!;
    const hash = codexTrustHash("user_prompt_submit", "/bin/sh '/home/it'\\''s/hook.sh'", 3);
    assert.ok(
      trust.includes(`"/<session-flags>/config.toml:user_prompt_submit:0:0"={trusted_hash="${hash}"}`),
    );
    assert.ok(overrides.includes('mcp_servers.svc.args=["/opt/svc it/svc.cjs","mcp"]'));
    assert.ok(overrides.includes('mcp_servers.svc.env.SVC_HOME="/home/\\"x\\""'));
  });

  it("gets a second hook for what it asks a person, which ends before its runtime ends it", () => {
    const decide = ["/bin/sh", "-c", "decides"] as const;
    const seconds = LIMITS.questions.openSeconds + 2 * LIMITS.questions.graceSeconds;
    const { hooks } = JSON.parse(handOver(entryOf("claude"), { ...wiring, decide }).args[1]!) as {
      hooks: Record<string, { hooks: { command: string; timeout: number }[] }[]>;
    };
    const commands = (event: string) =>
      hooks[event]!.flatMap((group) => group.hooks.map(({ command, timeout }) => [command, timeout]));
    assert.deepEqual(commands("PermissionRequest").slice(1), [["/bin/sh -c decides", seconds]]);
    assert.deepEqual(commands("PreToolUse"), commands("PermissionRequest").slice(0, 1));
    const overrides = handOver(entryOf("codex"), { ...wiring, decide }).args;
    const asks = overrides.find((override) => override.startsWith("hooks.PermissionRequest="))!;
    assert.ok(asks.endsWith(`,{hooks=[{type="command",command="/bin/sh -c decides",timeout=${seconds}}]}]`));
    const hash = codexTrustHash("permission_request", "/bin/sh -c decides", seconds);
    const trusted = `"/<session-flags>/config.toml:permission_request:1:0"={trusted_hash="${hash}"}`;
    assert.ok(overrides.at(overrides.findIndex((one) => one.startsWith("hooks.state=")))!.includes(trusted));
    assert.ok(overrides.filter((override) => override.includes("decides")).length === 1);
  });

  it("is nothing where the catalogue knows no way", () => {
    assert.deepEqual(handOver(entryOf("gemini"), wiring), { args: [], environment: {} });
    assert.deepEqual(handOver(entryOf("claude"), { ...wiring, hook: null }).args[0], "--mcp-config");
  });
});
