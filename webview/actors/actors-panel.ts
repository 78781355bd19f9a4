/**
 * `<svc-actors>`: who takes part, in what state and since when, and what waits for them. One row
 * per Actor.
 */
import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import {
  actorName,
  actorReason,
  actorWords,
  hasConversations,
  hasTerminal,
  rowWords,
} from "../../shared/actor-words.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import { exact } from "../../shared/time-words.ts";
import { isInboxOnly } from "../../shared/typed-actors.ts";
import { announce } from "../controls/announce.ts";
import { iconButton, skeleton } from "../controls/controls.ts";
import { copy } from "../controls/copy.ts";
import { icon } from "../controls/icons.ts";
import type { MenuItem } from "../controls/menu.ts";
import { roving } from "../controls/roving.ts";
import { button } from "../controls/toolkit.ts";
import { follow, View } from "../controls/view.ts";
import type { Conversation } from "../state/conversation.ts";
import { tickerList } from "./ticker-list.ts";

/** States of an Actor whose process doesn't run. */
const ENDED: ReadonlySet<ActorWithPresence["presence"]["state"]> = new Set(["stopped", "failed"]);

export interface ActorOperation {
  actor: ActorWithPresence;
  operation: "actor_start" | "actor_stop" | "actor_restart" | "actor_interrupt";
  /** For a start or restart: don't continue the last conversation. */
  newConversation?: boolean;
}

class ActorsElement extends View {
  static override readonly properties = {
    conversation: { attribute: false },
    administrator: { type: Boolean },
  };
  declare conversation: Conversation;
  declare administrator: boolean;
  /** Who waits for the person, and in which Group; null while unknown. */
  #waiting: { groupId: string; actors: ReadonlySet<string> } | null = null;

  constructor() {
    super();
    follow(this, () => {
      const { conversation } = this;
      return [conversation?.group, conversation?.activity, conversation?.questions];
    });
    roving(this, { selector: ".actor-row" });
  }

  protected override render() {
    const { group } = this.conversation;
    return html`<header class="column-head">
        <h2>Actors</h2>
        ${
          this.administrator
            ? iconButton({ icon: "add", label: "Add an Actor", onClick: () => this.#dialog("add-actor") })
            : nothing
        }
      </header>
      <div class="column-body">
        ${
          group.loaded
            ? group.actors.length === 0
              ? this.#empty()
              : html`<ul class="rows">
                  ${repeat(
                    group.actors,
                    (actor) => actor.id,
                    (actor) => this.#row(actor),
                  )}
                </ul>`
            : skeleton(3, "list")
        }
      </div>`;
  }

  /**
   * When an Actor enters "waiting for you", screen readers are told, because they can't see the
   * mark.
   */
  protected override updated(): void {
    const { group } = this.conversation;
    if (!group.loaded) return;
    const waiting = group.actors.filter(({ presence }) => presence.attention);
    if (this.#waiting?.groupId === group.groupId) {
      const { actors } = this.#waiting;
      const fresh = waiting.filter(({ id }) => !actors.has(id)).map(actorName);
      if (fresh.length > 0) announce(`${fresh.join(", ")}: waiting for you`);
    }
    this.#waiting = { groupId: group.groupId, actors: new Set(waiting.map(({ id }) => id)) };
  }

  #dialog(name: string, actor?: ActorWithPresence): void {
    this.tell("open-dialog", { name, ...(actor === undefined ? {} : { actor }) });
  }

  #row(actor: ActorWithPresence) {
    const { presence } = actor;
    const words = actorWords(presence);
    const [asked] = this.conversation.questions.of(actor.id);
    const activity = this.conversation.activity.of(actor.id);
    // What it waits for stands in its question.
    const shown =
      asked === undefined ? activity : activity.filter(({ activity: { status } }) => status !== "waiting");
    const inTicker = shown.some(
      ({ activity: { status } }) => presence.state !== "waiting" || status === "waiting",
    );
    const said = rowWords(presence, inTicker);
    const pending = isInboxOnly(actor) ? "in its Inbox" : "pending";
    const counts = [
      { icon: isInboxOnly(actor) ? "inbox" : "clock", count: presence.pending, what: pending },
      { icon: "mail", count: presence.unread_mail, what: "unread Mail" },
    ] as const;
    const unread = counts.filter(({ count }) => count > 0);
    const waiting = unread.map(({ count, what }) => `${count} ${what}`);
    const facts = [
      said.word === words.word ? "" : words.word,
      presence.reason,
      isInboxOnly(actor) ? "Messages wait in its Inbox" : "",
      presence.since === null ? "" : `Since ${exact(presence.since)}`,
      presence.last_activity === null ? "" : `Last active ${exact(presence.last_activity)}`,
    ].filter((part) => part !== "");
    const heard = [actorName(actor), words.word, actorReason(presence), ...waiting].filter(
      (part) => part !== "",
    );
    return html`<li class="actor-row" aria-label=${heard.join(", ")} data-actor=${actor.id} @keydown=${(event: KeyboardEvent) => this.#onKey(event, actor)}>
      ${tickerList(actorName(actor), shown)}
      <span class="actor-icon tone-${words.tone}" title=${words.word}>${icon(words.icon, presence.state === "working" || presence.state === "starting" ? "turning" : "")}</span>
      <span class="actor-name"><bdi>${actorName(actor)}</bdi>${actor.role === "foreman" && actorName(actor) !== "foreman" ? html`<span class="role">foreman</span>` : nothing}</span>
      <span class="actor-runtime">${actor.runtime}</span>
      <span class="actor-state" title=${facts.join("\n")}>
        <span class="actor-word"><span class="tone-${words.tone}">${said.word}</span>${
          said.reason === "" ? nothing : html` · ${said.reason}`
        }</span>${
          presence.since === null || ENDED.has(presence.state)
            ? nothing
            : html`<svc-time class="since" manner="lasting" value=${presence.since}></svc-time>`
        }${unread.map(
          ({ icon: name, count, what }) =>
            html`<span class="count" title="${count} ${what}">${icon(name)}${count}<span class="only-heard"> ${what}</span></span>`,
        )}${
          asked === undefined
            ? nothing
            : html`<button type="button" class="answer" aria-label="Answer ${actorName(actor)}" @click=${() => this.tell("show-question", asked.question_id)}>Answer</button>`
        }
      </span>
      <span class="actor-actions">
        ${this.administrator && hasTerminal(actor) && ENDED.has(presence.state) ? iconButton({ icon: "play", label: `Start ${actorName(actor)}`, className: "start", onClick: () => this.#act(actor, "actor_start") }) : nothing}
        ${this.administrator && hasTerminal(actor) ? iconButton({ icon: "terminal", label: `Terminal of ${actorName(actor)}`, className: "screen", onClick: () => this.tell("open-terminal", actor.id) }) : nothing}
        ${iconButton({ icon: "mention", label: `Write to ${actorName(actor)}`, className: "write", onClick: () => this.tell("write-to", actor.id) })}
        <svc-menu label="Actions for ${actorName(actor)}" .items=${() => this.#menu(actor)}></svc-menu>
      </span>
    </li>`;
  }

  #onKey(event: KeyboardEvent, actor: ActorWithPresence): void {
    if (event.key !== "Enter" || event.target !== event.currentTarget) return;
    event.preventDefault();
    this.tell("write-to", actor.id);
  }

  #menu(actor: ActorWithPresence): MenuItem[] {
    const write: MenuItem = {
      label: `Write to ${actorName(actor)}`,
      icon: "mention",
      onSelect: () => this.tell("write-to", actor.id),
    };
    const id: MenuItem = { label: "Copy Actor id", icon: "key", onSelect: () => void copy(actor.id) };
    if (!this.administrator) return [write, id];
    const inTerminal = hasTerminal(actor);
    const running = inTerminal && !ENDED.has(actor.presence.state);
    return [
      write,
      ...(inTerminal ? this.#terminalItems(actor, running) : []),
      ...(inTerminal
        ? []
        : [
            {
              label: "Connect an agent…",
              icon: "plug" as const,
              onSelect: () => this.#dialog("connect-actor", actor),
            },
          ]),
      { label: "Edit…", icon: "edit", onSelect: () => this.#dialog("edit-actor", actor) },
      actor.enabled
        ? {
            label: "Stop",
            icon: "debug-stop",
            detail: "messages wait",
            onSelect: () => this.#act(actor, "actor_stop"),
          }
        : {
            label: inTerminal ? "Start" : "Enable",
            icon: "play",
            onSelect: () => this.#act(actor, "actor_start"),
          },
      id,
      {
        label: "Remove…",
        icon: "trash",
        destructive: true,
        onSelect: () => this.#dialog("remove-actor", actor),
      },
    ];
  }

  #terminalItems(actor: ActorWithPresence, running: boolean): MenuItem[] {
    const items: MenuItem[] = [
      { label: "Open terminal", icon: "terminal", onSelect: () => this.tell("open-terminal", actor.id) },
    ];
    if (running) {
      items.push({
        label: "Interrupt",
        icon: "debug-pause",
        detail: actor.runtime === "custom" ? "like Ctrl+C" : "like Escape",
        onSelect: () => this.#act(actor, "actor_interrupt"),
      });
    }
    if (actor.enabled) {
      items.push(
        running
          ? {
              label: "Restart",
              icon: "debug-restart",
              onSelect: () => this.#act(actor, "actor_restart"),
            }
          : { label: "Start", icon: "play", onSelect: () => this.#act(actor, "actor_start") },
      );
    }
    if (hasConversations(actor)) {
      items.push({
        label: running ? "Restart with a new conversation" : "Start with a new conversation",
        icon: "add",
        onSelect: () => this.#act(actor, running ? "actor_restart" : "actor_start", true),
      });
    }
    return items;
  }

  #act(actor: ActorWithPresence, operation: ActorOperation["operation"], newConversation = false): void {
    this.tell("actor-operation", { actor, operation, newConversation } satisfies ActorOperation);
  }

  #empty() {
    return html`<div class="empty small">
      <p>An Actor is an agent in the Group: it receives messages, replies, and writes to others.</p>
      ${
        this.administrator
          ? button({
              label: "Add an Actor…",
              icon: "person-add",
              onClick: () => this.#dialog("add-actor"),
            })
          : nothing
      }
    </div>`;
  }
}

customElements.define("svc-actors", ActorsElement);
