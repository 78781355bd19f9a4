/**
 * Connections through the account service, to this account's instances and to Groups of others:
 * with whom, since when, last contact, how it ends.
 */
import { shownName } from "../../shared/foreign-text.ts";
import { labelled } from "../../shared/voice.ts";
import "../controls/time.ts";
import { html, nothing, type TemplateResult } from "lit";
import {
  connectionLook,
  connectionName,
  connectionSentence,
  kindWord,
} from "../../shared/any-connection-words.ts";
import type { Connection } from "../../shared/operations/connect.ts";
import { EXTERNAL_ENDING } from "../../shared/sharing-words.ts";
import { exact } from "../../shared/time-words.ts";
import { stateWord } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { button } from "../controls/toolkit.ts";
import type { SharingStatus } from "../state/group-connections.ts";

/** `retire` opens the page where it is ended; null where there is none. */
export function instanceCard(connection: Connection, retire: (() => void) | null): TemplateResult {
  return card(
    connection,
    nothing,
    retire === null
      ? nothing
      : html`<div class="buttons">${button({ label: "Retire it on the account’s page", icon: "link-external", onClick: retire })}</div>`,
  );
}

/**
 * A connection to a Group of another account. `own` is the Group here; `end` opens the page that
 * ends it, null where there is none.
 */
export function externalCard(
  connection: Connection,
  sharing: SharingStatus | null,
  own: string,
  end: (() => void) | null,
): TemplateResult {
  const link = sharing?.links.find(({ id }) => id === connection.id);
  const until = link === undefined ? null : (sharing?.expires_at ?? null);
  const facts = html`<dl class="facts">
    ${
      link === undefined
        ? nothing
        : html`<div><dt>Who</dt><dd><bdi>${link.account_label === null ? "a member without a name" : labelled(link.account_label)}</bdi> on <bdi>${labelled(link.instance_name)}</bdi></dd></div>
      <div><dt>Member id</dt><dd><code>${link.account_id}</code></dd></div>`
    }
    <div><dt>Groups</dt><dd><bdi>${labelled(connection.remote?.title ?? "")}</bdi> there, <bdi>${labelled(own)}</bdi> here</dd></div>
    <div><dt>Confirmed</dt><dd>${until === null ? "not now" : html`by the account service, until <span title=${exact(until)}><svc-time value=${until} manner="clock"></svc-time></span>`}</dd></div>
  </dl>`;
  const ending = html`<p class="hint">${EXTERNAL_ENDING}</p>
    ${end === null ? nothing : html`<div class="buttons">${button({ label: "End it on the account’s page", icon: "link-external", onClick: end })}</div>`}`;
  return card(connection, facts, ending);
}

function card(
  connection: Connection,
  facts: TemplateResult | typeof nothing,
  ending: TemplateResult | typeof nothing,
): TemplateResult {
  const { id, kind, state, remote } = connection;
  return html`<li class="connection" data-connection=${id}>
    <div class="connection-head">
      <span class="connection-peer"><bdi class="connection-group">${connectionName(connection)}</bdi> <span class="hint">of ${kindWord(kind)}</span></span>
      ${stateWord(connectionLook(state))}
    </div>
    <p class="hint">${connectionSentence(connection)}</p>
    ${facts}
    ${remote === null ? nothing : html`<p class="connection-key" title="The other instance, by its key">${icon("key")}<code>${remote.instance_id}</code></p>`}
    ${remote === null || remote.public_origin === null ? nothing : html`<p class="connection-key" title="Its address">${icon("link-external")}<code>${shownName(remote.public_origin)}</code></p>`}
    ${contacts(connection)}
    ${ending}
  </li>`;
}

/** When it was added, and when it last was heard from here and by the account service. */
export function contacts({
  since,
  last_contact_at: lastContactAt,
  account_contact_at: accountContactAt,
}: Connection): TemplateResult {
  return html`<p class="hint contacts">${since === null ? nothing : html`<span>Added ${moment(since)}</span>`}<span>${lastContactAt === null ? "No contact yet" : html`Last contact ${moment(lastContactAt)}`}</span>${accountContactAt === null ? nothing : html`<span>The account heard from it ${moment(accountContactAt)}</span>`}</p>`;
}

function moment(at: string): TemplateResult {
  return html`<span title=${exact(at)}><svc-time manner="past" value=${at}></svc-time></span>`;
}
