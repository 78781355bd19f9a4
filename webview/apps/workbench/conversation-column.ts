/** The open conversation: header, feed with what lies over it, questions and composer. */
import { html, nothing, type TemplateResult } from "lit";
import { type Ref, ref } from "lit/directives/ref.js";
import { repeat } from "lit/directives/repeat.js";
import "../../composer/composer.ts";
import "../../feed/feed.ts";
import "../../feed/search.ts";
import "../../groups/group-header.ts";
import type { MessageFilter } from "../../../shared/address.ts";
import type { ComposerElement } from "../../composer/composer.ts";
import { failure } from "../../controls/controls.ts";
import type { FeedElement } from "../../feed/feed.ts";
import type { Host } from "../../hosts/host.ts";
import type { Conversation } from "../../state/conversation.ts";
import type { GroupsStore } from "../../state/group-list.ts";

interface ConversationColumn {
  conversation: Conversation;
  host: Host;
  groups: GroupsStore;
  administrator: boolean;
  problem: string | null;
  /** What the open search looks for; null if it isn't open. */
  search: string | null;
  filter: MessageFilter;
  /** A message of the thread that is shown. */
  thread: string | null;
  /** The slot that is shown beside the feed. */
  slot: { slot: number; versionId: string | null } | null;
  /** The window shows one column. */
  narrow: boolean;
  /** Files are held over the page. */
  dragging: boolean;
  feed: Ref<FeedElement>;
  composer: Ref<ComposerElement>;
}

export function conversationColumn(column: ConversationColumn): TemplateResult {
  const { conversation, host, groups, administrator, problem, search, dragging, feed, composer } = column;
  return html`<svc-group-header
      .conversation=${conversation}
      .groups=${groups}
      ?administrator=${administrator}
      ?searching=${search !== null}
    ></svc-group-header>
    ${failure(problem)}${damaged(column)}
    <div class="stage">
      <svc-feed
        ${ref(feed)}
        .conversation=${conversation}
        .host=${host}
        ?administrator=${administrator}
        ?mayWrite=${true}
      ></svc-feed>
      ${over(column)}
    </div>
    ${questionsOf(conversation)}
    <svc-composer
      ${ref(composer)}
      .conversation=${conversation}
      .groups=${groups}
      ?administrator=${administrator}
      ?dragging=${dragging}
    ></svc-composer>`;
}

function damaged({ conversation, host, groups, administrator }: ConversationColumn) {
  const { groupId } = conversation;
  const damage = groups.find(groupId)?.damage;
  if (damage === undefined) return nothing;
  void import("../../groups/damage-line.ts");
  return html`<svc-damage .host=${host} .groupId=${groupId} .damage=${damage} ?administrator=${administrator}></svc-damage>`;
}

/** The search, the thread or a slot, over the feed or beside it. */
function over({ conversation, host, search, filter, thread, slot, narrow }: ConversationColumn) {
  if (search !== null)
    return html`<svc-search
      .conversation=${conversation}
      .host=${host}
      .given=${search}
      .givenFilter=${filter}
    ></svc-search>`;
  // What follows isn't a part of the first load: each element begins when its code is there.
  if (thread !== null) {
    void import("../../feed/thread.ts");
    return html`<svc-thread .conversation=${conversation} .host=${host} .eventId=${thread}></svc-thread>`;
  }
  if (slot === null) return nothing;
  void import("../../presentations/presentation-panel.ts");
  return html`<svc-presentations
    .conversation=${conversation}
    .host=${host}
    .slotNumber=${slot.slot}
    .versionId=${slot.versionId}
    ?narrow=${narrow}
  ></svc-presentations>`;
}

/** What agents ask, below the feed: the Actors' column may be hidden. */
function questionsOf({ questions, group }: Conversation) {
  if (questions.list.length === 0) return nothing;
  void import("../../questions/question.ts");
  return html`<div class="questions" role="region" aria-label="Questions">
    ${repeat(
      questions.list,
      ({ question_id: id }) => id,
      (question) =>
        html`<svc-question data-question=${question.question_id} .question=${question} .questions=${questions} .actor=${group.name(question.actor_id)}></svc-question>`,
    )}
  </div>`;
}
