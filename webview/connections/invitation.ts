/** An invitation: how it is shared, and how it is checked before it is accepted. */
import { shownName } from "../../shared/foreign-text.ts";
import { LIMITS } from "../../shared/limits.ts";
import { labelled } from "../../shared/voice.ts";
import "../controls/time.ts";
import { html, nothing, type TemplateResult } from "lit";
import type { InvitationClaims } from "../../shared/direct-invitation.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";
import { exact } from "../../shared/time-words.ts";
import { iconButton } from "../controls/controls.ts";
import { copyFrom } from "../controls/copy.ts";
import { icon } from "../controls/icons.ts";
import { invitationFingerprint } from "./fingerprint.ts";
import { qrCode } from "./qr-code.ts";

/** The machine that dials, whichever it is. */
const LOOPBACK = /^(127\.|0\.0\.0\.0:|localhost:|\[[0:]+1?\]:)/i;

/** The secret text, shown only once. */
export function invitationShown(
  text: string,
  { expires_at: expiresAt, address }: InvitationClaims,
): TemplateResult {
  return html`<div class="invitation">
    <div class="made">
      <p>${icon("key")} <span>This is a secret. It is shown only once. Share it over a channel you trust: anyone who has it can request a connection until <span title=${exact(expiresAt)}><svc-time value=${expiresAt} manner="clock"></svc-time></span>. No one is connected until you approve.</span></p>
      <div class="command">
        <code class="invitation-text" tabindex="0" role="textbox" aria-readonly="true" aria-label="Invitation">${text}</code>${iconButton({ icon: "copy", label: "Copy the invitation", onClick: (event) => void copyFrom(event.currentTarget as HTMLElement, text) })}
      </div>
    </div>
    <p class="waiting" role="status">${icon("clock")}<span>Waiting for someone to use it. They will appear here, with six words to compare.</span></p>
    ${qrCode(text, "The invitation as a QR code")}
    <p class="hint">The other person accepts it in their Workbench (Group connections, Accept an invitation) or with <code>svc direct join</code>. Their instance connects to <code>${address}</code>${LOOPBACK.test(address) ? ", which only this machine can reach" : nothing}.</p>
  </div>`;
}

export interface TakeOptions {
  pasted: string;
  /** Null while what was pasted isn't one. */
  claims: InvitationClaims | null;
  /** Why it can't be accepted. */
  problem: string | null;
  /** It is one of an account service, whose page says the rest. */
  isOfAccount: boolean;
  /** This instance; null while unknown. */
  instanceId: string | null;
  group: string;
  known: readonly DirectRelation[];
  onInput: (pasted: string) => void;
}

export function invitationToTake(options: TakeOptions): TemplateResult {
  const { pasted, problem, onInput } = options;
  const claims = options.isOfAccount ? null : options.claims;
  return html`<label class="field">
      <span>Invitation</span>
      <textarea
        class="invitation-field"
        rows="4"
        spellcheck="false"
        autocomplete="off"
        maxlength=${LIMITS.direct.invitationCharacters + 1}
        aria-describedby="invitation-problem"
        .value=${pasted}
        @input=${(event: Event) => onInput((event.target as HTMLTextAreaElement).value)}
      ></textarea>
    </label>
    <p id="invitation-problem" class=${problem === null ? "hint" : "failure"} role="status">${
      problem === null ? takeHint(claims, options.isOfAccount) : html`${icon("error")}<span>${problem}</span>`
    }</p>
    ${claims === null || problem !== null ? nothing : claimed(claims, options)}`;
}

function takeHint(claims: InvitationClaims | null, isOfAccount: boolean): string {
  if (isOfAccount) return "This invitation is from another account. Continue to choose what you connect.";
  return claims === null
    ? "Paste the invitation you were given: the text of a Direct one, or the id or link of an account’s. It’s only checked here; nothing is sent yet."
    : "Check it before you continue. Nothing has been sent yet.";
}

function claimed(
  claims: InvitationClaims,
  { instanceId, group, known }: Pick<TakeOptions, "instanceId" | "group" | "known">,
): TemplateResult {
  const { host, expires_at: expiresAt, address } = claims;
  const twice = known.some((relation) => relation.id === claims.id);
  return html`<dl class="facts claims">
      <div><dt>From</dt><dd><bdi>${labelled(host.name)}</bdi>, as it calls itself</dd></div>
      <div><dt>Instance</dt><dd><code>${shownName(host.instance_id)}</code></dd></div>
      <div><dt>Its Group</dt><dd><bdi>${labelled(host.title)}</bdi></dd></div>
      <div><dt>With</dt><dd><bdi>${labelled(group)}</bdi>, this Group</dd></div>
      <div><dt>Address</dt><dd><code>${shownName(address)}</code></dd></div>
      <div><dt>Valid until</dt><dd title=${exact(expiresAt)}><svc-time value=${expiresAt} manner="clock"></svc-time></dd></div>
    </dl>
    ${instanceId === null ? nothing : invitationFingerprint(claims, instanceId)}
    <p class="compare">${icon("shield")} <span>The person who invited you will see the same six words. Compare them over a different channel from the one that brought the invitation. If they differ, someone may be intercepting the connection.</span></p>
    ${twice ? html`<p class="compare">${icon("info")} <span>You’ve already requested a connection with this invitation. Doing it again changes nothing.</span></p>` : nothing}`;
}
