/**
 * One Direct connection: with whom, in what state, what to compare, what to do, and what ending it
 * would mean.
 */
import { shownName } from "../../shared/foreign-text.ts";
import { labelled } from "../../shared/voice.ts";
import "../controls/time.ts";
import { html, nothing, type TemplateResult } from "lit";
import { connectionWords, type Ending, endingOf, remedyFor } from "../../shared/connection-words.ts";
import { awaitsApproval, isPast, peerName } from "../../shared/connections-brief.ts";
import type { Connection } from "../../shared/operations/connect.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";
import { exact } from "../../shared/time-words.ts";
import { stateWord } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { button } from "../controls/toolkit.ts";
import { relationFingerprint } from "./fingerprint.ts";
import { contacts } from "./instance-card.ts";

export interface CardActions {
  /** What the daemon says of every connection; null until it did. */
  connection: Connection | null;
  busy: boolean;
  /** The consequences are shown and wait for an answer. */
  ending: boolean;
  approve: () => void;
  /** Shows the consequences, or takes them away again. */
  ask: (ending: boolean) => void;
  end: (ending: Ending) => void;
}

export function connectionCard(relation: DirectRelation, actions: CardActions): TemplateResult {
  const { remote, state, expires_at: expiresAt, error, id } = relation;
  const words = connectionWords(relation);
  const pending = state === "invited" || state === "pending";
  const fingerprint = pending ? relationFingerprint(relation) : null;
  const remedy = isPast(relation) ? null : remedyFor(relation);
  return html`<li class="connection" data-connection=${id}>
    <div class="connection-head">
      <span class="connection-peer">
        ${
          remote === null
            ? html`<span>Invitation</span>`
            : html`<bdi class="connection-group">${labelled(remote.title)}</bdi> <span class="hint">at</span> <bdi>${labelled(remote.name)}</bdi>`
        }
      </span>
      ${stateWord(words)}
    </div>
    <p class="hint">${words.sentence}${pending ? html` Until <span title=${exact(expiresAt)}><svc-time value=${expiresAt} manner="clock"></svc-time></span>.` : nothing}</p>
    ${
      remote === null
        ? nothing
        : html`<p class="connection-key" title="The other instance, by its key">${icon("key")}<code>${remote.instance_id}</code></p>`
    }
    ${actions.connection === null || remote === null ? nothing : contacts(actions.connection)}
    ${fingerprint ?? nothing}
    ${
      awaitsApproval(relation)
        ? html`<p class="compare">${icon("shield")} <span>Ask the other person, for example by phone, whether they see the same six words in the same order. If the words differ, someone may be intercepting the connection: refuse.</span></p>`
        : nothing
    }
    ${
      error === null
        ? nothing
        : html`<p class="connection-error">${icon("warning")}<span><bdi>${shownName(error)}</bdi> ${remedy === null ? nothing : html`<span class="remedy">${remedy}</span>`}</span></p>`
    }
    ${actions.ending ? ending(relation, actions) : buttons(relation, actions)}
  </li>`;
}

function buttons(relation: DirectRelation, { busy, approve, ask }: CardActions): TemplateResult {
  return html`<div class="buttons">
    ${
      awaitsApproval(relation)
        ? button({
            label: "The words match: approve",
            icon: "check",
            primary: true,
            disabled: busy,
            onClick: approve,
          })
        : nothing
    }
    ${button({ label: endingOf(relation).ask, disabled: busy, onClick: () => ask(true) })}
  </div>`;
}

function ending(relation: DirectRelation, { busy, ask, end }: CardActions): TemplateResult {
  const what = endingOf(relation);
  return html`<div class="destroy" role="group" aria-label="${what.act}: ${peerName(relation)}">
    <p>${icon("warning")} <span>${what.consequences}</span></p>
    <div class="buttons">
      ${button({ label: "Keep it", onClick: () => ask(false) })}
      <button type="button" class="danger-button" ?disabled=${busy} @click=${() => end(what)}>${what.act}</button>
    </div>
  </div>`;
}
