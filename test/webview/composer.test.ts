/** What the composer rests on: completion, drafts, sending once, read marks. */

import assert from "node:assert/strict";
import type { MessageEvent } from "../../shared/events.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { GroupSummary } from "../../shared/operations/groups.ts";
import { candidates, choice, complete, triggerAt } from "../../webview/composer/completion.ts";
import { type Host, HostError } from "../../webview/hosts/host.ts";
import { Answering } from "../../webview/state/answering.ts";
import { DraftKeeper, emptyDraft } from "../../webview/state/draft.ts";
import { addressedBy, mentionIn } from "../../webview/state/mention.ts";
import { Outgoing } from "../../webview/state/outgoing.ts";
import { ReadMarks } from "../../webview/state/read-marks.ts";
import { Sending } from "../../webview/state/sending.ts";
import { until } from "../support/until.ts";

const GROUP = "g_000000000001";

describe("completion", () => {
  const actors = [
    { id: "lead", title: "", role: "foreman", enabled: true },
    { id: "docs", title: "Docs writer", role: "peer", enabled: true },
  ] as ActorWithPresence[];
  const groups = [{ group_id: "g_2", title: "infra tools", topic: "" }] as GroupSummary[];

  it("begins at a sign that begins a word", () => {
    assert.deepEqual(triggerAt("hello @le", 9), { sign: "@", query: "le", start: 6 });
    assert.deepEqual(triggerAt("#", 1), { sign: "#", query: "", start: 0 });
    assert.equal(triggerAt("me@example", 10), null);
    assert.equal(triggerAt("@lead now", 9), null);
  });

  it("finds Actors by id and title, aliases where there are several, Groups by title", () => {
    const found = (text: string) =>
      candidates(triggerAt(text, text.length)!, actors, groups).map((entry) => entry.value);
    assert.deepEqual(found("@"), ["lead", "docs", "@foreman", "@peers", "@all"]);
    assert.deepEqual(found("@writ"), ["docs"]);
    assert.deepEqual(found("@al"), ["@all"]);
    assert.deepEqual(found("#tools"), ["g_2"]);
  });

  it("says who is no part of all, and whose messages wait", () => {
    const program = { title: "", role: "peer", enabled: true, runner: "pty", runtime: "custom" };
    const details = (prompts: boolean) => {
      const all = [...actors, { ...program, id: "shell", prompts } as ActorWithPresence];
      return Object.fromEntries(
        candidates(triggerAt("@", 1)!, all, groups).map((one) => [one.value, one.detail]),
      );
    };
    const { shell, "@all": everybody, "@peers": peers, "@foreman": foreman } = details(false);
    assert.deepEqual(
      [shell, everybody, peers, foreman],
      [
        "peer · messages wait in its Inbox",
        "every enabled Actor except shell",
        "every enabled peer except shell",
        "the first Actor",
      ],
    );
    assert.deepEqual([details(true)["shell"], details(true)["@all"]], ["peer", "every enabled Actor"]);
  });

  it("finds Actors of other instances, and their Groups to be spoken of", () => {
    const lab = {
      instanceId: "12D3",
      instanceName: "office",
      groupId: "g_9",
      title: "Lab",
      state: "reached" as const,
      actors: [{ id: "lead", title: "Head\u202e", generation: "1", enabled: true, role: "foreman" as const }],
    };
    const found = (text: string) => candidates(triggerAt(text, text.length)!, actors, groups, [lab]);
    assert.deepEqual(
      found("@head").map(({ label, detail, kind }) => [label, detail, kind]),
      [["Head\ufffd", "Lab at office · lead", "remote"]],
    );
    assert.deepEqual(
      found("@office").map(({ value }) => value),
      ["lead", "user"],
    );
    const [mention] = found("#lab");
    const [there, person] = found("@lab");
    const place = { instance_id: "12D3", instance_name: "office", group_id: "g_9", title: "Lab" };
    const local = { ...emptyDraft(), to: ["docs"], replyTo: "e" };
    assert.deepEqual(choice(local, mention!), { refs: [{ kind: "connect_group_ref", ...place }] });
    const sent = { ...local, ...choice(local, there!) };
    assert.deepEqual([sent.to, sent.remote, sent.replyTo], [["lead"], place, null]);
    assert.deepEqual(choice(sent, person!).to, ["user"]);
    assert.deepEqual(choice(sent, mention!), {});
    const back = choice(sent, candidates(triggerAt("@docs", 5)!, actors, groups)[0]!);
    assert.deepEqual([back.to, back.remote], [["docs"], null]);
    assert.deepEqual(complete("#la", triggerAt("#la", 3)!, "Lab", true), { text: "#Lab ", caret: 5 });
  });

  it("takes the word out at the beginning, and leaves the name in a sentence", () => {
    assert.deepEqual(complete("@le please", triggerAt("@le", 3)!, "lead"), { text: "please", caret: 0 });
    const inside = complete("ask @le about it", triggerAt("ask @le", 7)!, "lead");
    assert.equal(inside.text, "ask @lead about it");
    assert.equal(inside.text.slice(0, inside.caret), "ask @lead");
  });
});

describe("a name at the start of the text", () => {
  const actors = [
    { id: "lead", title: "", role: "foreman", enabled: true },
    { id: "docs", title: "Docs writer", role: "peer", enabled: true },
    { id: "docs2", title: "lead", role: "peer", enabled: true },
    { id: "a", title: "Twin", role: "peer", enabled: true },
    { id: "b", title: "Twin", role: "peer", enabled: true },
  ] as ActorWithPresence[];
  const named = (text: string) => {
    const mention = mentionIn(text, actors);
    return mention?.kind === "recipient" ? mention.value : (mention?.name ?? null);
  };

  it("is one Actor's by id or title, or an alias", () => {
    assert.equal(named("@docs hello"), "docs");
    assert.equal(named("  @DOCS, hello"), "docs");
    assert.equal(named("@docs writer: hello"), "docs");
    assert.equal(named("@docs2"), "docs2");
    assert.equal(named("@lead hello"), "lead");
    assert.equal(named("@all hello"), "@all");
    assert.deepEqual(mentionIn("@all hello", actors.slice(0, 1)), { kind: "unknown", name: "all" });
  });

  it("is nobody's where none or several have it, and counts at the start only", () => {
    assert.deepEqual(mentionIn("@docs3 hello", actors), { kind: "unknown", name: "docs3" });
    assert.deepEqual(mentionIn("@twin hello", actors), { kind: "unknown", name: "twin" });
    for (const text of ["hello @docs", "docs", "@", "@ docs", "me@docs"])
      assert.equal(mentionIn(text, actors), null);
  });

  it("joins those that were picked, and means nothing in another Group", () => {
    const draft = { ...emptyDraft(), text: "@docs hello" };
    const to = (change: Partial<typeof draft>) => addressedBy({ ...draft, ...change }, actors).to;
    assert.deepEqual(to({}), ["docs"]);
    assert.deepEqual(to({ to: ["lead"] }), ["lead", "docs"]);
    assert.deepEqual(to({ to: ["docs"] }), ["docs"]);
    assert.deepEqual(to({ elsewhere: "g_2" }), []);
  });

  it("takes the place of those who only got the message before, here and elsewhere", () => {
    const draft = { ...emptyDraft(), text: "@docs hello", to: ["lead"], carried: true };
    const alone = { to: ["docs"], elsewhere: null, remote: null };
    assert.deepEqual(addressedBy(draft, actors), alone);
    assert.deepEqual(addressedBy({ ...draft, elsewhere: "g_2", to: [] }, actors), alone);
    assert.deepEqual(addressedBy({ ...draft, text: "hello" }, actors).to, ["lead"]);
  });
});

/** A host with a memory and one operation. */
function hostWith(call: (name: string, input: Record<string, unknown>) => unknown) {
  const memory = new Map<string, unknown>();
  const host = {
    call: async (name: string, input: unknown) => call(name, input as Record<string, unknown>),
    remember: (key: string, value: unknown) =>
      value === null ? memory.delete(key) : memory.set(key, structuredClone(value)),
    recall: (key: string) => memory.get(key) ?? null,
  } as unknown as Host;
  return { host, memory };
}

describe("drafts", () => {
  it("stay here until the daemon has acknowledged them", async () => {
    let reachable = false;
    const kept: unknown[] = [];
    const { host, memory } = hostWith((name, input) => {
      if (!reachable) throw new HostError("offline", "");
      if (name === "draft_put") kept.push(input["draft"]);
      return { draft: null, updated_at: null };
    });
    const first = new DraftKeeper(host, GROUP);
    first.update({ text: "half" });
    assert.equal((memory.get(`draft/${GROUP}`) as { text: string }).text, "half");
    first.close();
    reachable = true;
    const second = new DraftKeeper(host, GROUP);
    await second.load();
    assert.equal(second.draft.text, "half");
    await until("the daemon has it", () => kept.length > 0 && memory.size === 0);
    assert.equal((kept.at(-1) as { text: string }).text, "half");
    second.close();
  });

  it("get back whom they went to when a reply is given up, and begin as Send after each message", () => {
    const { host } = hostWith(() => ({ draft: null, updated_at: null }));
    const keeper = new DraftKeeper(host, GROUP);
    keeper.update({ to: ["docs"], mode: "request_reply" });
    keeper.beginReply("e1", null);
    assert.deepEqual([keeper.draft.to, keeper.draft.mode], [[], "send"]);
    keeper.beginReply("e2", "quoted");
    keeper.endReply();
    assert.deepEqual([keeper.draft.to, keeper.draft.mode], [["docs"], "request_reply"]);
    keeper.beginReply("e1", null);
    keeper.update({ to: ["lead"] });
    keeper.endReply();
    assert.deepEqual(keeper.draft.to, ["lead"]);
    // Recipients that nobody chose go with the reply that brought them.
    keeper.beginReply("e3", null, ["docs"]);
    assert.deepEqual(keeper.draft.to, ["docs"]);
    keeper.endReply();
    assert.deepEqual(keeper.draft.to, ["lead"]);
    keeper.update({ text: "x", mode: "mail" });
    keeper.clear();
    assert.equal(keeper.draft.mode, "send");
    keeper.close();
  });

  it("go where the message before went, until somebody else is chosen", () => {
    const { host } = hostWith(() => ({ draft: null, updated_at: null }));
    const keeper = new DraftKeeper(host, GROUP);
    const remote = { instance_id: "12D3", instance_name: "office", group_id: "g_9", title: "Lab" };
    const sent = (to: string[], ts = "2026-01-02T00:00:00.000Z") => ({ ts, data: { to } }) as MessageEvent;
    const goes = () => [keeper.draft.to, keeper.draft.remote, keeper.draft.carried];
    keeper.update({ text: "x", to: ["docs"] });
    keeper.clear(sent(["docs"]));
    assert.deepEqual(goes(), [["docs"], null, true]);
    keeper.update({ text: "x", to: ["head"], remote });
    keeper.clear(sent(["connect:12D3::head"]));
    assert.deepEqual(goes(), [["head"], remote, true]);
    // A reply names nobody: its event does.
    keeper.beginReply("e1", null);
    keeper.clear(sent(["lead"]));
    assert.deepEqual(goes(), [["lead"], null, true]);
    // One that went to another Group leaves the destination as it was.
    keeper.update({ text: "x", to: ["docs"] });
    keeper.beginReply("e2", null);
    keeper.clear({ ts: "", data: { to: ["user"], dst_group_id: "g_2" } } as unknown as MessageEvent);
    assert.deepEqual(goes(), [["docs"], null, true]);
    keeper.update({ to: ["lead"] });
    assert.deepEqual(goes(), [["lead"], null, false]);
    keeper.close();
  });

  it("leave out who isn't here any more, or is another under the same id, unless one was begun", () => {
    const { host } = hostWith(() => ({ draft: null, updated_at: null }));
    const keeper = new DraftKeeper(host, GROUP);
    const [before, then, after] = ["2026-01-01", "2026-01-02", "2026-01-03"].map(
      (day) => `${day}T00:00:00.000Z`,
    );
    const here = (...actors: [id: string, created: string][]) =>
      keeper.retain(actors.map(([id, created]) => ({ id, created_at: created })));
    const carry = (...to: string[]) => {
      keeper.update({ text: "x", to });
      keeper.clear({ ts: then!, data: { to } } as MessageEvent);
    };
    carry("docs", "coder", "@all");
    here(["docs", before!], ["coder", before!]);
    assert.deepEqual(keeper.draft.to, ["docs", "coder", "@all"]);
    here(["docs", before!], ["coder", after!]);
    assert.deepEqual(keeper.draft.to, ["docs", "@all"]);
    carry("docs");
    keeper.update({ text: "begun" });
    here();
    assert.deepEqual(keeper.draft.to, ["docs"]);
    keeper.update({ text: "" });
    here();
    assert.deepEqual(keeper.draft.to, []);
    keeper.close();
  });

  it("don't replace what was typed while the daemon's copy was on its way", async () => {
    let answer: (value: unknown) => void = () => {};
    const { host } = hostWith((name) =>
      name === "draft_get" ? new Promise((resolve) => (answer = resolve)) : { updated_at: null },
    );
    const keeper = new DraftKeeper(host, GROUP);
    const loading = keeper.load();
    keeper.update({ text: "newer" });
    answer({ draft: { text: "older", to: [], attachments: [] }, updated_at: "" });
    await loading;
    assert.equal(keeper.draft.text, "newer");
    keeper.close();
  });

  /** The daemon's side of drafts, and a window of its own for each call. */
  function daemon() {
    let kept: { draft: unknown; updated_at: string | null } = { draft: null, updated_at: null };
    let version = 0;
    const call = (name: string, input: Record<string, unknown>) => {
      if (name === "draft_get") return kept;
      if (input["based_on"] !== kept.updated_at) throw new HostError("conflict", "");
      kept = { draft: input["draft"], updated_at: input["draft"] === null ? null : `v${++version}` };
      return { updated_at: kept.updated_at };
    };
    return {
      text: () => (kept.draft as { text: string } | null)?.text ?? null,
      window: () => new DraftKeeper(hostWith(call).host, GROUP),
    };
  }

  it("of another window are taken over when nothing is unsaved here, and never replaced unasked", async () => {
    const { text, window } = daemon();
    const [first, second] = [window(), window()];
    first.update({ text: "from the first", elsewhere: "g_2", replyTo: "e", quote: "what you said" });
    await until("it is kept", () => text() === "from the first");
    await second.refresh();
    assert.deepEqual(second.draft, first.draft);
    second.update({ text: "from the second" });
    first.update({ text: "from the first, longer" });
    await until("one is kept, the other asks", () => (first.other ?? second.other) !== null);
    const [asks, kept] = first.other === null ? [second, first] : [first, second];
    assert.equal(asks.other?.text, kept.draft.text);
    assert.equal(text(), kept.draft.text);
    const mine = asks.draft.text;
    asks.keepMine();
    await until("the choice is kept", () => text() === mine);
    await kept.refresh();
    assert.equal(kept.draft.text, mine);
    for (const keeper of [first, second]) keeper.close();
  });

  it("that another window goes on writing come when the message here was sent", async () => {
    const { text, window } = daemon();
    const [first, second] = [window(), window()];
    first.update({ text: "one" });
    await until("it is kept", () => text() === "one");
    second.update({ text: "two" });
    await until("it asks", () => second.other !== null);
    second.clear();
    assert.equal(second.draft.text, "one");
    assert.equal(text(), "one");
    for (const keeper of [first, second]) keeper.close();
  });

  it("replace an earlier text of this window whose answer got lost", async () => {
    const kept = { text: "", version: 0 };
    let isLost = true;
    const { host } = hostWith((name, { based_on: base, draft }) => {
      if (name === "draft_put") {
        if (base !== (kept.version === 0 ? null : String(kept.version))) throw new HostError("conflict", "");
        kept.text = (draft as { text: string }).text;
        kept.version += 1;
        if (isLost) throw new HostError("offline", "");
      }
      return { draft: { text: kept.text }, updated_at: String(kept.version) };
    });
    const window = new DraftKeeper(host, GROUP);
    window.update({ text: "first" });
    await until("it is kept", () => kept.text === "first");
    isLost = false;
    window.update({ text: "second" });
    await until("the next is kept", () => kept.text === "second");
    assert.equal(window.other, null);
    window.close();
  });

  it("hold on to a longer text without asking when it contains the other", async () => {
    const { text, window } = daemon();
    const [first, second] = [window(), window()];
    first.update({ text: "half" });
    await until("it is kept", () => text() === "half");
    second.update({ text: "half a thought" });
    await until("it is kept too", () => text() === "half a thought");
    assert.equal(second.other, null);
    for (const keeper of [first, second]) keeper.close();
  });
});

describe("answering", () => {
  const actors = [
    { id: "lead", title: "", role: "foreman", enabled: true },
    { id: "docs", title: "", role: "peer", enabled: true },
  ] as ActorWithPresence[];
  const request = (id: string, by: string) => ({ id, by }) as MessageEvent;

  function writing() {
    const { host } = hostWith(() => ({ draft: null, updated_at: null }));
    const known = { actors, group: null, loaded: true };
    const requests = { list: [] as MessageEvent[], loaded: true };
    const answering = new Answering(known, requests);
    const keeper = new DraftKeeper(host, GROUP, (next, before) => answering.settle(next, before));
    return { answering, keeper, known, requests, of: () => answering.of(keeper.draft) };
  }

  it("is decided when a message is begun, and again only by whom it goes to", () => {
    const { keeper, requests, of } = writing();
    requests.list = [request("2", "lead"), request("1", "lead"), request("3", "docs")];
    assert.equal(of(), "2");
    keeper.update({ text: "y" });
    requests.list = [request("4", "lead"), ...requests.list];
    keeper.update({ text: "yes" });
    assert.equal(of(), "2");
    keeper.update({ to: ["docs"] });
    assert.equal(of(), "3");
    keeper.update({ to: ["docs", "lead"] });
    assert.equal(of(), null);
    keeper.update({ to: [], elsewhere: "g_2" });
    assert.equal(of(), null);
    keeper.update({ elsewhere: null });
    assert.equal(of(), "4");
    keeper.update({ text: "" });
    assert.deepEqual([keeper.draft.replyTo, of()], [null, "4"]);
    keeper.close();
  });

  it("isn't of a message begun before the request, one that asks itself, or one that is to be new", () => {
    const { answering, keeper, requests, of } = writing();
    keeper.update({ text: "begun" });
    requests.list = [request("1", "lead")];
    keeper.update({ text: "begun before" });
    assert.equal(of(), null);
    keeper.update({ text: "" });
    keeper.update({ mode: "request_reply" });
    keeper.update({ text: "ask" });
    assert.equal(of(), null);
    keeper.clear();
    answering.decline();
    assert.equal(of(), null);
    keeper.update({ text: "new" });
    keeper.update({ text: "new one" });
    assert.equal(of(), null);
    keeper.clear();
    assert.equal(of(), "1");
    keeper.update({ text: "yes" });
    keeper.endReply();
    keeper.update({ text: "yes, but" });
    assert.equal(of(), null);
    keeper.close();
  });

  it("is decided late for what was typed before anyone knew what is open", () => {
    const { answering, keeper, known, requests, of } = writing();
    requests.loaded = false;
    known.loaded = false;
    keeper.update({ text: "quick" });
    requests.list = [request("1", "lead")];
    requests.loaded = true;
    keeper.complete((draft) => answering.late(draft));
    assert.equal(of(), null);
    known.loaded = true;
    keeper.complete((draft) => answering.late(draft));
    assert.equal(of(), "1");
    keeper.close();
  });
});

describe("sending", () => {
  it("repeats a message without an answer under the same key, and a changed one under another", async () => {
    const keys: unknown[] = [];
    let fail = 2;
    const { host } = hostWith((name, input) => {
      if (name !== "send") return { updated_at: null };
      keys.push(input["client_id"]);
      if (fail-- > 0) throw new HostError("offline", "");
      return { event: { id: "e" } };
    });
    const keeper = new DraftKeeper(host, GROUP);
    const outgoing = new Outgoing(host, keeper, () => Promise.resolve());
    const send = async (text: string) => {
      keeper.update({ text });
      await outgoing.send(keeper.draft);
    };
    await send("one");
    assert.equal(keys.length, 3);
    assert.equal(new Set(keys).size, 1);
    keeper.clear();
    await send("one");
    assert.equal(new Set(keys).size, 2);
    keeper.close();
  });

  it("keeps the key over a reload, until the draft is changed or the message is seen", async () => {
    const { host } = hostWith(() => ({ draft: null, updated_at: null }));
    const first = new DraftKeeper(host, GROUP);
    first.update({ text: "one" });
    const key = first.keyOf(first.draft);
    const second = new DraftKeeper(host, GROUP);
    assert.equal(second.attempted, null);
    await second.load();
    assert.equal(second.attempted, key);
    assert.equal(second.keyOf(second.draft), key);
    second.update({ text: "one and more" });
    assert.notEqual(second.keyOf(second.draft), key);
    second.taken();
    assert.equal(second.draft.text, "");
    assert.equal(second.attempted, null);
    for (const keeper of [first, second]) keeper.close();
  });

  it("doesn't repeat what was refused", async () => {
    let calls = 0;
    const { host } = hostWith(() => {
      calls += 1;
      throw new HostError("invalid_recipient", "no");
    });
    await assert.rejects(
      new Outgoing(host, new DraftKeeper(host, GROUP)).send({ ...emptyDraft(), text: "x" }),
      {
        code: "invalid_recipient",
      },
    );
    assert.equal(calls, 1);
  });

  /** A keeper and its sending, with a connection that the test moves. */
  function sendingOf(host: Host) {
    const keeper = new DraftKeeper(host, GROUP);
    const taken: unknown[] = [];
    let told: (connection: { state: "online" | "offline"; heard: null }) => void = () => {};
    const connection: Pick<Host, "watchConnection"> = {
      watchConnection: (listener) => {
        told = listener;
        return () => (told = () => {});
      },
    };
    const outgoing = new Outgoing(host, keeper, () => Promise.resolve());
    const sending = new Sending(connection, keeper, outgoing, {
      complete: async () => [],
      taken: (event) => taken.push(event),
    });
    return { keeper, sending, taken, back: () => told({ state: "online", heard: null }) };
  }

  /** What a person sends to a daemon that answers this waits, and arrives once. */
  async function waits(code: string): Promise<void> {
    const keys: unknown[] = [];
    let reachable = false;
    const { host } = hostWith((name, input) => {
      if (name === "send") keys.push(input["client_id"]);
      if (!reachable) throw new HostError(code, "");
      return name === "send" ? { event: { id: "e" } } : { draft: null, updated_at: null };
    });
    const first = sendingOf(host);
    first.sending.open();
    first.keeper.update({ text: "waits" });
    assert.equal(await first.sending.send(), false);
    assert.equal(first.sending.waiting, true);
    assert.equal(first.sending.problem, null);
    // Another Group is opened, then the page is loaded again.
    first.keeper.close();
    first.sending.close();
    const second = sendingOf(host);
    await second.keeper.load();
    second.sending.open();
    assert.equal(second.sending.waiting, true);
    reachable = true;
    second.back();
    await until("it was taken", () => second.taken.length === 1);
    assert.equal(second.keeper.draft.text, "");
    assert.equal(new Set(keys).size, 1);
    second.keeper.close();
    second.sending.close();
    first.sending.stop();
  }

  it("goes on by itself once the daemon is back, under the same key, over a reload and a change of Group", () =>
    waits("offline"));
  it("goes on by itself when it was sent to a daemon that was ending", () => waits("shutting_down"));

  it("is finished in the background when another Group was opened meanwhile", async () => {
    let reachable = false;
    const { host } = hostWith((name) => {
      if (!reachable) throw new HostError("offline", "");
      return name === "send" ? { event: { id: "e" } } : { draft: null, updated_at: null };
    });
    const { keeper, sending, taken, back } = sendingOf(host);
    sending.open();
    keeper.update({ text: "waits" });
    await sending.send();
    keeper.close();
    sending.close();
    reachable = true;
    back();
    await until("it was taken", () => taken.length === 1);
  });

  it("doesn't go on with a draft that was changed, refused, or held back", async () => {
    let sent = 0;
    let failure = new HostError("offline", "");
    const { host } = hostWith((name) => {
      if (name !== "send") return { draft: null, updated_at: null };
      sent += 1;
      throw failure;
    });
    const { keeper, sending, back } = sendingOf(host);
    sending.open();
    keeper.update({ text: "one" });
    await sending.send();
    keeper.update({ text: "one, changed" });
    assert.equal(sending.waiting, false);
    await sending.send();
    assert.equal(sending.waiting, true);
    sending.stop();
    assert.equal(sending.waiting, false);
    failure = new HostError("storage_full", "The disk is full.");
    await sending.send();
    assert.deepEqual([sending.waiting, sending.problem], [false, "The disk is full."]);
    const before = sent;
    back();
    assert.equal(sent, before);
    keeper.close();
    sending.close();
  });

  it("chooses the operation by what the draft is", async () => {
    const names: string[] = [];
    const { host } = hostWith((name) => {
      names.push(name);
      return { event: {}, source_event: {} };
    });
    const outgoing = new Outgoing(host, new DraftKeeper(host, GROUP));
    await outgoing.send({ ...emptyDraft(), text: "a" });
    await outgoing.send({ ...emptyDraft(), text: "a", replyTo: "e" });
    await outgoing.send({ ...emptyDraft(), text: "a", elsewhere: "g_2" });
    const remote = { instance_id: "12D3", instance_name: "office", group_id: "g_9", title: "Lab" };
    await outgoing.send({ ...emptyDraft(), text: "a", remote, to: ["lead"] });
    assert.deepEqual(names, ["send", "reply", "send_cross_group", "connect_send"]);
  });
});

describe("read marks", () => {
  it("are told only while the person looks, and each event once", async () => {
    let looking = false;
    const told: unknown[] = [];
    const { host } = hostWith((_, input) => told.push(input["event_id"]));
    const marks = new ReadMarks(host, GROUP, () => looking);
    looking = true;
    marks.seen("zero");
    looking = false;
    marks.begin();
    marks.seen("one");
    looking = true;
    marks.returned();
    await until("the mark", () => told.length === 1);
    marks.seen("one");
    marks.seen("two");
    await until("the second mark", () => told.length === 2);
    assert.deepEqual(told, ["one", "two"]);
    marks.close();
  });
});
