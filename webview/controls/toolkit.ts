/**
 * The one file that knows the component toolkit. Its elements follow the editor's theme
 * automatically. Everything else uses these wrappers, so that another toolkit only needs another
 * version of this file.
 */
import {
  provideVSCodeDesignSystem,
  vsCodeButton,
  vsCodeCheckbox,
  vsCodeProgressRing,
  vsCodeTextField,
} from "@vscode/webview-ui-toolkit";
import { html, nothing, type TemplateResult } from "lit";
import { type IconName, icon } from "./icons.ts";

provideVSCodeDesignSystem().register(
  vsCodeButton(),
  vsCodeCheckbox(),
  vsCodeProgressRing(),
  vsCodeTextField(),
);

export interface ButtonOptions {
  label: string;
  primary?: boolean;
  icon?: IconName;
  disabled?: boolean;
  title?: string;
  submit?: boolean;
  onClick?: (event: Event) => void;
}

export function button(options: ButtonOptions): TemplateResult {
  return html`<vscode-button
    class="button"
    appearance=${options.primary === true ? "primary" : "secondary"}
    type=${options.submit === true ? "submit" : "button"}
    ?disabled=${options.disabled === true}
    title=${options.title ?? nothing}
    @click=${options.onClick ?? nothing}
    >${options.icon === undefined ? nothing : html`<span slot="start">${icon(options.icon)}</span>`}${options.label}</vscode-button
  >`;
}

export interface TextFieldOptions {
  label: string;
  value: string;
  onInput: (value: string) => void;
  placeholder?: string;
  hint?: string;
  secret?: boolean;
  focused?: boolean;
  disabled?: boolean;
  name?: string;
}

export function textField(options: TextFieldOptions): TemplateResult {
  return html`<div class="field">
    <vscode-text-field
      class="text-field"
      type=${options.secret === true ? "password" : "text"}
      autocomplete="off"
      spellcheck="false"
      .value=${options.value}
      placeholder=${options.placeholder ?? nothing}
      name=${options.name ?? nothing}
      ?autofocus=${options.focused === true}
      ?disabled=${options.disabled === true}
      @input=${(event: Event) => options.onInput((event.target as HTMLInputElement).value)}
      >${options.label}</vscode-text-field
    >
    ${options.hint === undefined ? nothing : html`<p class="hint">${options.hint}</p>`}
  </div>`;
}

export interface CheckboxOptions {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}

export function checkbox(options: CheckboxOptions): TemplateResult {
  return html`<vscode-checkbox
    class="checkbox"
    .checked=${options.checked}
    ?disabled=${options.disabled === true}
    @change=${(event: Event) => options.onChange((event.target as HTMLInputElement).checked)}
    >${options.label}</vscode-checkbox
  >`;
}

export interface SelectOptions<Value extends string> {
  label: string;
  value: Value;
  choices: readonly { value: Value; label: string; disabled?: boolean }[];
  onChange: (value: Value) => void;
  /** Only for screen readers, if the surroundings already say it to everyone else. */
  hideLabel?: boolean;
  disabled?: boolean;
}

/** The platform's own list, because not every screen reader can read the toolkit's dropdown. */
export function select<Value extends string>(options: SelectOptions<Value>): TemplateResult {
  const list = html`<select
    class="select"
    aria-label=${options.hideLabel === true ? options.label : nothing}
    ?disabled=${options.disabled === true}
    .value=${options.value}
    @change=${(event: Event) => options.onChange((event.target as HTMLSelectElement).value as Value)}
  >
    ${options.choices.map(
      (choice) =>
        html`<option value=${choice.value} ?selected=${choice.value === options.value} ?disabled=${choice.disabled === true}>
          ${choice.label}
        </option>`,
    )}
  </select>`;
  return options.hideLabel === true
    ? list
    : html`<label class="field"><span>${options.label}</span>${list}</label>`;
}

export function progressRing(label: string): TemplateResult {
  return html`<vscode-progress-ring class="ring" aria-label=${label}></vscode-progress-ring>`;
}
