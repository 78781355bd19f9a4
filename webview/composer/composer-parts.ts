/** What surrounds the composer's text: the recipients, and the files that go with it. */

import { html, nothing, type TemplateResult } from "lit";
import { actorName } from "../../shared/actor-words.ts";
import type { MessageEvent as Message } from "../../shared/events.ts";
import { quotedName } from "../../shared/foreign-text.ts";
import { partiesOf, placeOf, remoteName } from "../../shared/message-parties.ts";
import { sizeWords } from "../../shared/size-words.ts";
import { labelled } from "../../shared/voice.ts";
import { iconButton } from "../controls/controls.ts";
import { type IconName, icon } from "../controls/icons.ts";
import { button } from "../controls/toolkit.ts";
import { flatten } from "../feed/excerpt.ts";
import type { Uploaded } from "../hosts/host.ts";
import type { Conversation } from "../state/conversation.ts";
import { type DraftKeeper, GROUP_REFERENCE } from "../state/draft.ts";
import type { GroupsStore } from "../state/group-list.ts";
import type { Destination } from "../state/mention.ts";
import type { Sending } from "../state/sending.ts";
import type { Upload } from "../state/uploads.ts";

function chip(name: IconName, text: string, remove: () => void): TemplateResult {
  return html`<span class="chip"
    >${icon(name)}<bdi>${text}</bdi
    >${iconButton({ icon: "close", label: `Remove ${text}`, className: "small", onClick: remove })}</span
  >`;
}

/** Who gets a message that names no one. */
function byDefault({ group }: Conversation): string {
  const foreman = group.actors[0];
  if (group.group?.settings.default_send_to === "broadcast") return "everyone";
  return foreman === undefined ? "the foreman" : `${actorName(foreman)}, the foreman`;
}

/** Who gets a reply that names no one. */
function senderOf({ feed, group }: Conversation, replyTo: string): string {
  const original = feed.original(replyTo);
  return original === null || original === undefined || original.by === "user"
    ? "the sender"
    : partiesOf(original, (id) => group.name(id)).sender;
}

/** How many requests are offered by themselves. */
const OFFERED = 3;

/** Other requests that wait for the person: each can be answered instead. */
export function offers(
  { requests, group }: Conversation,
  replyTo: string | null,
  act: { answer: (event: Message) => void; all: () => void },
): TemplateResult | typeof nothing {
  const others = requests.list.filter(({ id }) => id !== replyTo);
  if (others.length === 0) return nothing;
  const more = others.length - OFFERED;
  return html`<div class="offers" role="group" aria-label="Waits for your reply">
    <span class="chips-label">${replyTo === null ? "Waits for your reply" : "Also waits"}</span>
    ${others.slice(0, OFFERED).map((event) => {
      const who = partiesOf(event, (id) => group.name(id)).sender;
      const what = quotedName(flatten(event.data.text.slice(0, 640)));
      return html`<button type="button" class="offer" @click=${() => act.answer(event)}>
        ${icon("reply")}<span class="only-heard">Answer </span><bdi class="quoted-who">${who}</bdi>
        <bdi class="quoted-text">${what}</bdi>
      </button>`;
    })}
    ${more > 0 ? html`<button type="button" class="link" @click=${act.all}>${more} more</button>` : nothing}
  </div>`;
}

/** The name of a recipient at the other instance that the draft goes to. */
export function recipientThere({ draft: { draft }, remotes }: Conversation, id: string): string {
  const { remote } = draft;
  const known = remote === null ? undefined : remotes.find(remote.instance_id, remote.group_id);
  const actor = known?.actors.find((one) => one.id === id);
  return remoteName(id, actor === undefined ? undefined : { [id]: actor.title });
}

/** Groups of other instances and slots that the message mentions. */
export function referenceChips({ draft: keeper }: Conversation): TemplateResult | typeof nothing {
  const { refs } = keeper.draft;
  if (refs.length === 0) return nothing;
  return html`<div class="chips" role="group" aria-label="Mentions">
    <span class="chips-label">Mentions</span>
    ${refs.map((reference) => {
      const remove = () => keeper.update({ refs: keeper.draft.refs.filter((other) => other !== reference) });
      return reference.kind === GROUP_REFERENCE
        ? chip("references", placeOf(reference.title, reference.instance_name), remove)
        : chip("eye", `Slot ${reference.slot}: ${labelled(reference.title)}`, remove);
    })}
  </div>`;
}

/**
 * The recipients, where the draft `goes`. Each can be removed unless the text itself names it.
 * Without any, who gets the message.
 */
export function recipientChips(
  conversation: Conversation,
  groups: GroupsStore,
  goes: Destination,
  replyTo: string | null,
): TemplateResult {
  const { draft: keeper, group } = conversation;
  const { remote } = goes;
  const elsewhere = goes.elsewhere === null ? undefined : groups.find(goes.elsewhere);
  const picked = new Set(keeper.draft.to);
  const to = goes.to.filter((entry) => picked.has(entry));
  const chips = to.map((entry) =>
    chip(
      remote !== null ? "plug" : entry.startsWith("@") ? "organization" : "hubot",
      remote !== null
        ? recipientThere(conversation, entry)
        : entry.startsWith("@")
          ? entry.slice(1)
          : group.name(entry),
      () => keeper.update({ to: to.filter((other) => other !== entry) }),
    ),
  );
  if (remote !== null) {
    const place = placeOf(remote.title, remote.instance_name);
    chips.unshift(chip("plug", place, () => keeper.update({ remote: null, to: [] })));
  }
  if (elsewhere !== undefined) {
    chips.unshift(chip("comment-discussion", elsewhere.title, () => keeper.update({ elsewhere: null })));
  }
  for (const entry of goes.to.filter((one) => !picked.has(one))) {
    const name = entry.startsWith("@") ? entry.slice(1) : group.name(entry);
    chips.push(html`<span class="chip named" title="Named at the start of the message"
      >${icon(entry.startsWith("@") ? "organization" : "hubot")}<bdi>${name}</bdi></span
    >`);
  }
  const nobody = replyTo === null ? byDefault(conversation) : senderOf(conversation, replyTo);
  return html`<div class="chips" role="group" aria-label="Recipients">
    <span class="chips-label">To</span>
    ${chips.length > 0 ? chips : html`<span class="chip-default">${nobody}</span>`}
  </div>`;
}

/** Files that have arrived, and those on their way with their progress. */
export function fileList({ draft: keeper, uploads }: Conversation): TemplateResult | typeof nothing {
  const { attachments } = keeper.draft;
  if (attachments.length === 0 && uploads.list.length === 0) return nothing;
  const detach = (file: Uploaded) =>
    keeper.update({ attachments: attachments.filter((entry) => entry !== file) });
  return html`<ul class="uploads" aria-label="Files">
    ${attachments.map(
      (file) => html`<li class="upload">
        ${icon("file")}<span class="file-name"><bdi>${labelled(file.name)}</bdi></span>
        ${file.bytes === 0 ? nothing : html`<span class="file-size">${sizeWords(file.bytes)}</span>`}
        ${iconButton({ icon: "close", label: `Remove ${labelled(file.name)}`, className: "small", onClick: () => detach(file) })}
      </li>`,
    )}
    ${uploads.list.map((upload) => underway(upload, () => uploads.remove(upload.key)))}
  </ul>`;
}

function underway(upload: Upload, remove: () => void): TemplateResult {
  const failed = upload.failure !== null;
  return html`<li class="upload ${failed ? "failed" : ""}">
    ${icon(failed ? "error" : "cloud-upload")}<span class="file-name"><bdi>${labelled(upload.name)}</bdi></span>
    ${
      failed
        ? html`<span class="upload-failure" role="alert">${upload.failure}</span>`
        : html`<progress
              max=${Math.max(1, upload.bytes)}
              .value=${upload.sent}
              aria-label="Upload of ${upload.name}"
            ></progress
            ><span class="file-size">${sizeWords(upload.sent)} of ${sizeWords(upload.bytes)}</span>`
    }
    ${iconButton({
      icon: "close",
      label: failed ? `Remove ${upload.name}` : `Cancel the upload of ${upload.name}`,
      className: "small",
      onClick: remove,
    })}
  </li>`;
}

/** The daemon didn't answer: the message waits, and this says what will happen to it. */
export function unsent(sending: Sending): TemplateResult | typeof nothing {
  if (!sending.waiting) return nothing;
  return html`<div class="unsent" role="status">
    ${icon("clock")}<span>Not sent yet: the daemon isn’t answering. The message goes out as soon as it does.</span>
    ${button({ label: "Don’t send", onClick: () => sending.stop() })}
  </div>`;
}

/** Another window has saved a different text. Neither is lost before the person has chosen. */
export function otherDraft(keeper: DraftKeeper): TemplateResult | typeof nothing {
  const { other } = keeper;
  if (other === null) return nothing;
  const words = flatten(other.text.slice(0, 640)).slice(0, 160);
  return html`<div class="other-draft" role="alert">
    ${icon("warning")}<span>Another window has a different draft: <q><bdi>${words === "" ? "files only" : words}</bdi></q></span>
    ${button({ label: "Use that one", onClick: () => keeper.takeOther() })}
    ${button({ label: "Keep mine", onClick: () => keeper.keepMine() })}
  </div>`;
}
