/** The first page of a member: machines, and what happened to the account. */
import type { Clock } from "../../platform/clock.ts";
import { Refusal } from "../../shared/errors.ts";
import { shownName } from "../../shared/foreign-text.ts";
import { AUDIT_WORDS, type Audit, type AuditEvent } from "../audit.ts";
import { type Devices, shownDeviceName } from "../devices/devices.ts";
import type { Store } from "../store/store.ts";
import { type Html, html } from "./html.ts";
import { ago, form, hidden, moment, page } from "./page.ts";
import type { MemberVisit, Shown } from "./site.ts";

export interface AccountPageDependencies {
  store: Store;
  clock: Clock;
  devices: Devices;
  audit: Audit;
}

export class AccountPages {
  readonly #deps: AccountPageDependencies;

  constructor(deps: AccountPageDependencies) {
    this.#deps = deps;
  }

  async machines(visit: MemberVisit): Promise<Shown> {
    const { devices, audit, store } = this.#deps;
    const { member, browser } = visit;
    const rows = await devices.of(member.id);
    const entries = await audit.of(store.db, member.id);
    const body = html`<p>These machines belong to your account and can find each other. <a href="/device">Let a device in</a> · <a href="/connect">Connections with other members</a> · <a href="/security">Passkeys and recovery codes</a></p>
${
  rows.length === 0
    ? html`<p class="quiet">None yet. Run <code>svc link</code> on a machine, then enter its code here.</p>`
    : html`<ul class="cards">${rows.map((row) => this.#card(visit, row))}</ul>`
}
<h2>What happened</h2>
<table><thead><tr><th>When</th><th>What</th><th>From</th></tr></thead><tbody>
${entries.map(
  (entry) =>
    html`<tr><td>${moment(entry.at)}</td><td>${AUDIT_WORDS[entry.event as AuditEvent] ?? entry.event}${
      entry.hostname !== null &&
      html` <span class="quiet"><bdi>${nameOf({ display_name: entry.display_name, hostname: entry.hostname })}</bdi></span>`
    }</td><td class="address">${entry.address ?? ""}</td></tr>`,
)}
</tbody></table>
<p class="quiet">Member id: ${member.id}</p>`;
    return { page: page("My machines", browser, body) };
  }

  /** Asks before a device is retired. */
  async askRetire(visit: MemberVisit): Promise<Shown> {
    const id = visit.fields["device"] ?? "";
    const row = (await this.#deps.devices.of(visit.member.id)).find((device) => device.id === id);
    if (row === undefined || row.retired_at !== null) return { goTo: "/" };
    const body = html`<p>Retire <strong><bdi>${nameOf(row)}</bdi></strong>? Your other instances stop exchanging messages with it within two minutes. This can't be undone; the machine can join again with a new code.</p>
<div class="actions">${form(visit.browser, "/devices/retire", html`${hidden("device", id)}<button class="danger">Retire</button>`)}
<p><a href="/">Keep it</a></p></div>`;
    return { page: page("Retire this machine?", visit.browser, body) };
  }

  async retire(visit: MemberVisit): Promise<Shown> {
    const { member, fields, address } = visit;
    if (!(await this.#deps.devices.retire(member.id, fields["device"] ?? "", address)))
      throw unknownMachine();
    return { goTo: "/" };
  }

  async rename(visit: MemberVisit): Promise<Shown> {
    const { member, fields, address } = visit;
    await this.#deps.devices.rename(member.id, fields["device"] ?? "", fields["name"] ?? "", address);
    return { goTo: "/" };
  }

  async remove(visit: MemberVisit): Promise<Shown> {
    const { member, fields, address } = visit;
    if (!(await this.#deps.devices.remove(member.id, fields["device"] ?? "", address)))
      throw unknownMachine();
    return { goTo: "/" };
  }

  #card({ browser }: MemberVisit, row: Awaited<ReturnType<Devices["of"]>>[number]): Html {
    const now = this.#deps.clock.now();
    const name = nameOf(row);
    const target = hidden("device", row.id);
    if (row.retired_at !== null) {
      return html`<li class="card"><h2><bdi>${name}</bdi></h2><p class="quiet">Retired ${ago(row.retired_at, now)}</p>
${form(browser, "/devices/remove", html`${target}<button>Remove from this list<span class="unseen">: ${name}</span></button>`, "inline")}</li>`;
    }
    const contact =
      row.registered_at === null
        ? html`Joined ${ago(row.created_at, now)}, and hasn't registered an instance yet`
        : html`Last contact with this service ${ago(row.registered_at, now)}`;
    return html`<li class="card"><h2><bdi>${name}</bdi></h2><p class="quiet">${contact}</p>
${row.instance_id !== null && html`<dl><dt>Version</dt><dd>${row.client_version}</dd><dt>Address</dt><dd>${row.public_origin ?? "none: it can't be reached over HTTPS"}</dd><dt>Instance</dt><dd>${row.instance_id}</dd></dl>`}
<details><summary>Rename</summary>${form(browser, "/devices/rename", html`${target}<label for="name-${row.id}">New name<span class="unseen"> of ${name}</span></label><input id="name-${row.id}" name="name" value="${row.display_name ?? ""}" maxlength="60" required> <button>Save</button>`)}</details>
<p><a href="/devices/retire?device=${row.id}">Retire<span class="unseen"> ${name}</span> …</a></p></li>`;
  }
}

function unknownMachine(): Refusal {
  return new Refusal("not_found", {
    specifics: "There is no such machine in your account any more.",
    remedy: "See the list of your machines.",
  });
}

/** A device may name itself: no machine looks like another one because of what can't be seen. */
function nameOf(device: Parameters<typeof shownDeviceName>[0]): string {
  return shownName(shownDeviceName(device));
}
