/**
 * Where this instance listens for Direct connections: what is set, and the form that changes it.
 */
import { html, nothing, type TemplateResult } from "lit";
import { listenerStateWords } from "../../shared/direct-words.ts";
import { shownName } from "../../shared/foreign-text.ts";
import { stateWord } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { select, textField } from "../controls/toolkit.ts";
import type { DirectStatus } from "../state/group-connections.ts";

/** What the person has typed; only they change it. */
export interface ListenerDraft {
  bind: string;
  address: string;
  name: string;
  /** The listener that the form began with, so that another person's change isn't overwritten. */
  before: DirectStatus["listener"];
}

export function listenerDraft({
  listener,
  addresses,
  display_name: displayName,
}: DirectStatus): ListenerDraft {
  const suggested = addresses[0];
  return {
    bind: listener?.bind ?? suggested?.bind ?? "",
    address: listener?.address ?? suggested?.address ?? "",
    name: displayName,
    before: listener,
  };
}

export function isComplete({ bind, address, name }: ListenerDraft): boolean {
  return bind.trim() !== "" && address.trim() !== "" && name.trim() !== "";
}

const OWN = "";

export function listenerForm(
  draft: ListenerDraft,
  { addresses }: Pick<DirectStatus, "addresses">,
  change: (change: Partial<ListenerDraft>) => void,
): TemplateResult {
  const chosen = addresses.find(({ bind }) => bind === draft.bind)?.bind ?? OWN;
  return html`<div class="listener-form">
    ${select({
      label: "Listen on",
      value: chosen,
      choices: [
        ...addresses.map((entry) => ({ value: entry.bind, label: `${entry.bind} (${entry.interface})` })),
        { value: OWN, label: "Another address" },
      ],
      onChange: (bind) => {
        const entry = addresses.find((one) => one.bind === bind);
        if (entry === undefined) change({ bind: "" });
        else change({ bind: entry.bind, address: entry.address });
      },
    })}
    <div class="columns">
      ${textField({
        label: "Address and port of this machine",
        value: draft.bind,
        placeholder: "192.168.1.5:8847",
        name: "bind",
        focused: true,
        onInput: (bind) => change({ bind }),
      })}
      ${textField({
        label: "Address the other side connects to",
        value: draft.address,
        placeholder: "office.example:8847",
        name: "address",
        onInput: (address) => change({ address }),
      })}
    </div>
    ${textField({
      label: "This instance’s name, as others see it",
      value: draft.name,
      name: "name",
      onInput: (name) => change({ name }),
    })}
    <p class="hint">svc doesn’t change your router or firewall. If others connect from outside, make sure that address leads here. All Groups share this listener.</p>
  </div>`;
}

/** What is set, in words, with any error and what helps. */
export function listenerFacts(status: DirectStatus): TemplateResult {
  const { listener, runtime, display_name: displayName } = status;
  if (listener === null) {
    return html`<p class="hint">Off: no one can connect to this instance. It can still accept invitations.</p>`;
  }
  const listening = listenerStateWords(listener, runtime) === "listening";
  return html`<dl class="facts">
      <div><dt>State</dt><dd>${
        listening
          ? stateWord({ icon: "pass", word: "listening", tone: "good" })
          : stateWord({ icon: "warning", word: "configured, not listening", tone: "attention" })
      }</dd></div>
      <div><dt>On</dt><dd><code>${listener.bind}</code></dd></div>
      <div><dt>Address</dt><dd><code>${listener.address}</code></dd></div>
      <div><dt>Name</dt><dd><bdi>${shownName(displayName)}</bdi></dd></div>
    </dl>
    ${listenerProblem(status)}`;
}

/** Why no one can dial this instance, and what helps. */
export function listenerProblem(
  { runtime }: DirectStatus,
  consequence = "",
): TemplateResult | typeof nothing {
  const error = runtime?.error ?? null;
  return error === null
    ? nothing
    : html`<p class="connection-error">${icon("warning")}<span><bdi>${shownName(error)}</bdi> ${consequence}</span></p>`;
}
