/**
 * `<svc-composer>`: writing to the Group. Recipients and mode are visible. It says before sending
 * what will happen. Nothing typed is lost: a refusal leaves the draft and says why.
 */

import { html, nothing, type PropertyValues } from "lit";
import { createRef, ref } from "lit/directives/ref.js";
import { NO_FILTER } from "../../shared/address.ts";
import type { MessageEvent as Message } from "../../shared/events.ts";
import { shownText } from "../../shared/foreign-text.ts";
import { LIMITS } from "../../shared/limits.ts";
import { isFromElsewhere, partiesOf, placeOf, senderWithPlace } from "../../shared/message-parties.ts";
import type { MessageMode } from "../../shared/model.ts";
import { overSize } from "../../shared/size-words.ts";
import { announce } from "../controls/announce.ts";
import { failure, iconButton } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { button, select } from "../controls/toolkit.ts";
import { follow, View } from "../controls/view.ts";
import { flatten } from "../feed/excerpt.ts";
import type { Conversation } from "../state/conversation.ts";
import type { GroupsStore } from "../state/group-list.ts";
import { addressedBy, type Destination, mentionIn } from "../state/mention.ts";
import { addressed, type Plan, plan } from "../state/send-plan.ts";
import { type Candidate, candidates, choice, complete, type Trigger, triggerAt } from "./completion.ts";
import {
  fileList,
  offers,
  otherDraft,
  recipientChips,
  recipientThere,
  referenceChips,
  unsent,
} from "./composer-parts.ts";
import { bytesOf, fits, roomLeft, textFile } from "./long-text.ts";

/** How close to the limit the remaining room is shown. */
const ROOM_TOLD = 4096;

class ComposerElement extends View {
  static override readonly properties = {
    conversation: { attribute: false },
    groups: { attribute: false },
    administrator: { type: Boolean },
    trigger: { state: true },
    chosen: { state: true },
    attached: { state: true },
    dragging: { type: Boolean },
  };
  declare conversation: Conversation;
  declare groups: GroupsStore;
  declare administrator: boolean;
  declare trigger: Trigger | null;
  /** What the list offers for the trigger; empty while it is closed. */
  #offered: readonly Candidate[] = [];
  declare chosen: number;
  /** A text that was too long for the message became a file of it. */
  declare attached: boolean;
  /** Files are held over the page. */
  declare dragging: boolean;
  readonly #area = createRef<HTMLTextAreaElement>();
  readonly #files = createRef<HTMLInputElement>();

  constructor() {
    super();
    this.trigger = null;
    this.chosen = 0;
    this.attached = false;
    this.dragging = false;
    follow(this, () => [
      this.conversation?.draft,
      this.conversation?.sending,
      this.conversation?.group,
      this.conversation?.uploads,
      this.conversation?.feed,
      this.conversation?.requests,
      this.conversation?.remotes,
      this.groups,
    ]);
  }

  /** Adds files to the draft, as many as a message takes. */
  take(files: readonly File[]): void {
    if (files.length === 0) return;
    const { uploads, draft } = this.conversation;
    const room = LIMITS.message.attachments - draft.draft.attachments.length - uploads.list.length;
    uploads.add(files, room);
  }

  override focus(): void {
    this.#area.value?.focus();
  }

  /** Puts a text into an empty composer. */
  suggest(text: string): void {
    if (this.conversation.draft.draft.text === "") this.conversation.draft.update({ text });
    this.focus();
  }

  /** Starts a reply. */
  reply(event: Message, quote: string | null): void {
    this.conversation.draft.beginReply(event.id, quote, this.#sentTo(event));
    this.focus();
  }

  /**
   * For the person's own message: who got it and is still here, because a reply to it goes to the
   * same people.
   */
  #sentTo({ by, data }: Message): string[] {
    if (by !== "user") return [];
    const { actors } = this.conversation.group;
    return data.to.filter((to) => to.startsWith("@") || actors.some(({ id }) => id === to));
  }

  /** Closes the topmost thing: the list, then the reply. True when there was one. */
  escape(): boolean {
    if (this.#offered.length > 0) {
      this.#closeList();
      return true;
    }
    if (this.conversation.draft.draft.replyTo !== null) {
      this.#endReply();
      return true;
    }
    return false;
  }

  /** The message that this one answers. */
  get #replyTo(): string | null {
    return this.conversation.answering.of(this.conversation.draft.draft);
  }

  /** Computed on each update, because the Group's Actors may arrive after the sign was typed. */
  protected override willUpdate(changed: PropertyValues<this>): void {
    // It names a place in the text of another Group.
    if (changed.has("conversation")) {
      this.trigger = null;
      this.attached = false;
    }
    const { draft, uploads } = this.conversation;
    if (draft.draft.attachments.length + uploads.list.length === 0) this.attached = false;
    const { trigger } = this;
    this.#offered =
      trigger === null
        ? []
        : candidates(
            trigger,
            this.conversation.group.actors,
            this.groups.list.filter((group) => group.group_id !== this.conversation.groupId),
            this.administrator ? this.conversation.remotes.list : [],
          );
    this.chosen = Math.max(0, Math.min(this.chosen, this.#offered.length - 1));
  }

  protected override render() {
    const { draft } = this.conversation.draft;
    const { group } = this.conversation;
    const what = this.#plan();
    const { answering } = this.conversation;
    return html`<div class="composer ${this.dragging ? "dragging" : ""}">
      ${failure(this.conversation.sending.problem)} ${unsent(this.conversation.sending)} ${otherDraft(this.conversation.draft)}
      ${offers(this.conversation, this.#replyTo, { answer: (event) => this.reply(event, null), all: () => this.#showRequests() })}
      ${this.#replying()}
      <div class="compose-box">
        ${this.dragging ? html`<p class="drop-here">${icon("attach")}<span>Drop files to attach them</span></p>` : nothing}
        ${recipientChips(this.conversation, this.groups, this.#goes, this.#replyTo)}
        <textarea
          ${ref(this.#area)}
          class="compose-text"
          rows="1"
          dir="auto"
          aria-label="Message"
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-controls=${this.#offered.length === 0 ? nothing : "completion"}
          aria-activedescendant=${this.#offered.length === 0 ? nothing : `completion-${this.chosen}`}
          placeholder=${group.actors.length === 0 ? "Write…" : "Write…  @ for an Actor, # for another Group"}
          .value=${draft.text}
          @beforeinput=${this.#onBeforeInput}
          @input=${this.#onInput}
          @keydown=${this.#onKey}
          @paste=${this.#onPaste}
          @click=${this.#offer}
          @blur=${() => this.#closeList()}
        ></textarea>
        ${this.#list()} ${referenceChips(this.conversation)} ${fileList(this.conversation)} ${this.#tooLong(draft.text)}
        <div class="compose-bar">
          ${select<MessageMode>({
            label: "How it is sent",
            hideLabel: true,
            value: draft.mode,
            choices: [
              { value: "send", label: "Send" },
              {
                value: "request_reply",
                label: "Send + ask for a reply",
                disabled: !answering.isOffered(draft),
              },
              { value: "mail", label: "Mail" },
            ],
            onChange: (mode) =>
              this.conversation.draft.update(
                mode === "request_reply" ? { mode, replyTo: null, quote: null } : { mode },
              ),
          })}
          ${iconButton({ icon: "attach", label: "Attach files", onClick: () => this.#files.value?.click() })}
          ${iconButton({ icon: "mention", label: "Add a recipient", onClick: () => this.#insertSign("@") })}
          <input ${ref(this.#files)} type="file" multiple hidden aria-label="Files" @change=${this.#onFiles} />
          <span class="plan tone-${what.tone}" aria-live="polite" title=${what.sentence}>${what.sentence}</span>
          ${this.#room(draft.text)}
          ${button({
            label: this.#sendLabel,
            icon: "send",
            primary: true,
            disabled: !this.#ready(what),
            title: "Send (Ctrl+Enter, ⌘Enter)",
            onClick: () => void this.send(),
          })}
        </div>
      </div>
    </div>`;
  }

  #replying() {
    const { quote } = this.conversation.draft.draft;
    const replyTo = this.#replyTo;
    if (replyTo === null) return nothing;
    const original = this.conversation.feed.original(replyTo);
    const text = quote ?? original?.data.text ?? "";
    const whose =
      original === null || original === undefined
        ? "a message"
        : original.by === "user"
          ? "your message"
          : senderWithPlace(partiesOf(original, (id) => this.conversation.group.name(id)));
    return html`<div class="replying">
      ${icon("reply")}<span class="quoted-who">Reply to <bdi>${whose}</bdi></span>
      <span class="quoted-text">${flatten(shownText(text.slice(0, 640))).slice(0, 160)}</span>
      ${iconButton({ icon: "close", label: "Don’t reply", onClick: () => this.#endReply() })}
    </div>`;
  }

  /** Everything that waits for a reply. */
  #showRequests(): void {
    const { groupId } = this.conversation;
    this.tell("go-to", { groupId, search: "", filter: { ...NO_FILTER, open: true } });
  }

  get #sendLabel(): string {
    const { sending } = this.conversation;
    return sending.busy ? "Sending…" : sending.waiting ? "Try now" : "Send";
  }

  #endReply(): void {
    const { draft, answering } = this.conversation;
    if (draft.draft.replyTo === null) answering.decline();
    draft.endReply();
    this.requestUpdate();
  }

  #list() {
    if (this.trigger === null || this.#offered.length === 0) return nothing;
    return html`<ul id="completion" class="completion" role="listbox" aria-label=${this.trigger.sign === "@" ? "Actors" : "Groups"}>
      ${this.#offered.map(
        (candidate, at) => html`<li
          id="completion-${at}"
          class="completion-item"
          role="option"
          aria-selected=${at === this.chosen}
          @pointerdown=${(event: Event) => {
            event.preventDefault();
            this.#choose(candidate);
          }}
        >
          ${icon(candidate.icon)}<span class="completion-label"><bdi>${candidate.label}</bdi></span
          ><span class="completion-detail">${candidate.detail}</span>
        </li>`,
      )}
    </ul>`;
  }

  /** The remaining room for text, shown only when it becomes scarce. */
  #room(text: string) {
    if (text.length * 3 < LIMITS.message.textBytes - ROOM_TOLD) return nothing;
    const left = roomLeft(text);
    if (left > ROOM_TOLD || left < 0) return nothing;
    return html`<span class="room">${left} bytes left</span>`;
  }

  /** Why it can't be sent, or why a pasted text is a file. */
  #tooLong(text: string) {
    if (roomLeft(text) < 0)
      return html`<p class="too-long tone-attention" role="alert">
        ${icon("warning")}<span>${overSize("The text", bytesOf(text), LIMITS.message.textBytes)}</span>
        ${button({ label: "Attach the text as a file", icon: "attach", onClick: () => this.#attachText() })}
      </p>`;
    return this.attached
      ? html`<p class="too-long" role="status">${icon("info")}<span>Too long for a message, so it’s attached as a file.</span></p>`
      : nothing;
  }

  #attachText(): void {
    const { draft } = this.conversation;
    this.#attach(draft.draft.text);
    draft.update({ text: "" });
    this.focus();
  }

  #attach(text: string): void {
    const { draft, uploads } = this.conversation;
    this.take([
      textFile(
        text,
        [...draft.draft.attachments, ...uploads.list].map(({ name }) => name),
      ),
    ]);
    this.attached = true;
  }

  #plan(): Plan {
    const { requests, group } = this.conversation;
    const what = this.#way();
    const replyTo = this.#replyTo;
    if (!what.possible || what.sentence === "") return what;
    if (replyTo !== null && requests.has(replyTo))
      return { ...what, sentence: `Answers the request. ${what.sentence}` };
    const { to, elsewhere, remote } = this.#goes;
    const isHere = replyTo === null && elsewhere === null && remote === null;
    const those = isHere ? addressed({ to, actors: group.actors, group: group.group }) : [];
    return requests.list.some(({ by }) => those.some(({ id }) => id === by))
      ? { ...what, sentence: `A new message, not an answer. ${what.sentence}` }
      : what;
  }

  #way(): Plan {
    // What happens to it is said above.
    if (this.conversation.sending.waiting) return { sentence: "", possible: true, tone: "quiet" };
    if (this.conversation.uploads.busy)
      return {
        sentence: "Files are still uploading. It goes out after them.",
        possible: true,
        tone: "quiet",
      };
    if (roomLeft(this.conversation.draft.draft.text) < 0)
      return { sentence: "", possible: false, tone: "attention" };
    if (!this.conversation.group.loaded) return { sentence: "", possible: true, tone: "quiet" };
    const { group, feed } = this.conversation;
    const replyTo = this.#replyTo;
    if (replyTo !== null && this.#goes.to.length === 0) {
      const original = feed.original(replyTo);
      const across = original === null || original === undefined ? null : this.#across(original);
      if (across !== null) return plan({ ...this.#planInput(), remote: { ...across, state: null } });
      const sender = original?.by;
      if (sender === "user")
        return {
          sentence: "Choose a recipient with @.",
          possible: false,
          tone: "attention",
        };
      const back = sender === undefined || group.actors.every((actor) => actor.id !== sender) ? [] : [sender];
      return plan({ ...this.#planInput(), to: back });
    }
    return plan(this.#planInput());
  }

  /** Who gets it, whether picked or named at the start of the text. */
  get #goes(): Destination {
    return addressedBy(this.conversation.draft.draft, this.conversation.group.actors);
  }

  /** A name at the start that no one has, unless it is still being typed. */
  #unknownName(): string | null {
    const { draft } = this.conversation.draft;
    if (!draft.carried && (draft.to.length > 0 || draft.elsewhere !== null || draft.remote !== null))
      return null;
    const mention = mentionIn(draft.text, this.conversation.group.actors);
    return mention?.kind === "unknown" && this.#offered.length === 0 ? mention.name : null;
  }

  /**
   * Where a reply to a message between instances goes: back to its sender, or after it to its
   * recipients.
   */
  #across(original: Message): { place: string; to: string[] } | null {
    const { sender, recipients, from, to } = partiesOf(original, (id) => this.conversation.group.name(id));
    if (isFromElsewhere(original.data)) return { place: from ?? "the other instance", to: [sender] };
    if (original.data.dst_instance_id === undefined) return null;
    return { place: to ?? "the other instance", to: recipients };
  }

  /** What is said of another instance stays as current as the daemon knows it. */
  protected override updated(): void {
    if (this.administrator && this.#goes.remote !== null) void this.conversation.remotes.refresh();
  }

  #planInput() {
    const { draft } = this.conversation.draft;
    const { group } = this.conversation;
    const { to, elsewhere, remote } = this.#goes;
    return {
      isDamaged: this.groups.find(this.conversation.groupId)?.damage !== undefined,
      mode: draft.mode,
      to,
      unknown: this.#unknownName(),
      elsewhere: elsewhere === null ? null : (this.groups.find(elsewhere)?.title ?? "another Group"),
      remote:
        remote === null
          ? null
          : {
              place: placeOf(remote.title, remote.instance_name),
              to: to.map((id) => recipientThere(this.conversation, id)),
              state: this.conversation.remotes.find(remote.instance_id, remote.group_id)?.state ?? null,
            },
      replyTo: this.#replyTo,
      actors: group.actors,
      group: group.group,
    };
  }

  #ready(what: Plan): boolean {
    const { draft } = this.conversation.draft;
    const { uploads, sending } = this.conversation;
    const something = draft.text.trim() !== "" || draft.attachments.length > 0 || uploads.busy;
    return something && what.possible && !sending.busy;
  }

  async send(): Promise<void> {
    if (!this.#ready(this.#plan()) || !(await this.conversation.sending.send())) return;
    announce("Sent");
    this.tell("sent");
  }

  /** Text that is pasted or dropped. */
  readonly #onBeforeInput = (event: InputEvent): void => {
    const { inputType, data } = event;
    const area = this.#area.value;
    if (area === undefined || data === null || !/^insertFrom(?:Paste|Drop)$/u.test(inputType)) return;
    const replaced = area.value.slice(area.selectionStart, area.selectionEnd);
    if (fits(bytesOf(area.value) - bytesOf(replaced), data)) return;
    event.preventDefault();
    this.#attach(data);
  };

  readonly #onInput = (event: Event): void => {
    this.conversation.draft.update({ text: (event.target as HTMLTextAreaElement).value });
    this.#offer();
  };

  readonly #offer = (): void => {
    const area = this.#area.value;
    if (area === undefined) return;
    const trigger = triggerAt(area.value, area.selectionStart);
    if (trigger?.sign === "#" && !this.administrator) return this.#closeList();
    this.trigger = trigger;
    this.chosen = 0;
    if (trigger !== null && this.administrator) void this.conversation.remotes.refresh();
  };

  #closeList(): void {
    this.trigger = null;
  }

  #choose(candidate: Candidate): void {
    const area = this.#area.value;
    if (this.trigger === null || area === undefined) return;
    const { draft } = this.conversation;
    const done = complete(
      area.value,
      this.trigger,
      candidate.kind === "actor" ? candidate.value : candidate.label,
      candidate.kind === "remote-group",
    );
    draft.update({ text: done.text, ...choice(draft.draft, candidate) });
    this.#closeList();
    void this.updateComplete.then(() => area.setSelectionRange(done.caret, done.caret));
  }

  #insertSign(sign: string): void {
    const area = this.#area.value;
    if (area === undefined) return;
    area.focus();
    const at = area.selectionStart;
    const space = at > 0 && !/\s/.test(area.value[at - 1] ?? "") ? " " : "";
    area.setRangeText(space + sign, at, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input"));
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      void this.send();
      return;
    }
    const last = this.#offered.length - 1;
    if (last < 0) return;
    if (event.key === "ArrowDown") this.chosen = this.chosen === last ? 0 : this.chosen + 1;
    else if (event.key === "ArrowUp") this.chosen = this.chosen === 0 ? last : this.chosen - 1;
    else if (event.key === "Enter" || event.key === "Tab") {
      const candidate = this.#offered[this.chosen];
      if (candidate !== undefined) this.#choose(candidate);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  readonly #onFiles = (event: Event): void => {
    const input = event.target as HTMLInputElement;
    this.take([...(input.files ?? [])]);
    input.value = "";
  };

  readonly #onPaste = (event: ClipboardEvent): void => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    this.take(files);
  };
}

customElements.define("svc-composer", ComposerElement);

export type { ComposerElement };
