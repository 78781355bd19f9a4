/** A connection to an instance of an account: with whom, since when, last contact, how it ends. */
import "../controls/time.ts";
import { html, nothing, type TemplateResult } from "lit";
import {
  connectionLook,
  connectionName,
  connectionSentence,
  kindWord,
} from "../../shared/any-connection-words.ts";
import { shownName } from "../../shared/foreign-text.ts";
import type { Connection } from "../../shared/operations/connect.ts";
import { exact } from "../../shared/time-words.ts";
import { stateWord } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { button } from "../controls/toolkit.ts";

/** `retire` opens the page where it is ended; null where there is none. */
export function instanceCard(connection: Connection, retire: (() => void) | null): TemplateResult {
  const { id, kind, state, remote } = connection;
  return html`<li class="connection" data-connection=${id}>
    <div class="connection-head">
      <span class="connection-peer"><bdi class="connection-group">${connectionName(connection)}</bdi> <span class="hint">of ${kindWord(kind)}</span></span>
      ${stateWord(connectionLook(state))}
    </div>
    <p class="hint">${connectionSentence(connection)}</p>
    ${remote === null ? nothing : html`<p class="connection-key" title="The other instance, by its key">${icon("key")}<code>${remote.instance_id}</code></p>`}
    ${remote === null || remote.public_origin === null ? nothing : html`<p class="connection-key" title="Its address">${icon("link-external")}<code>${shownName(remote.public_origin)}</code></p>`}
    ${contacts(connection)}
    ${retire === null ? nothing : html`<div class="buttons">${button({ label: `${kind === "external" ? "End" : "Retire"} it on the account’s page`, icon: "link-external", onClick: retire })}</div>`}
  </li>`;
}

/** Since when it is known, and when it last was heard from here and by the account service. */
export function contacts({
  since,
  last_contact_at: lastContactAt,
  account_contact_at: accountContactAt,
}: Connection): TemplateResult {
  return html`<p class="hint contacts">${since === null ? nothing : html`<span>Since ${moment(since)}</span>`}<span>${lastContactAt === null ? "No contact yet" : html`Last contact ${moment(lastContactAt)}`}</span>${accountContactAt === null ? nothing : html`<span>The account heard from it ${moment(accountContactAt)}</span>`}</p>`;
}

function moment(at: string): TemplateResult {
  return html`<span title=${exact(at)}><svc-time value=${at}></svc-time></span>`;
}
