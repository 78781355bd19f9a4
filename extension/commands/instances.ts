/** The Workbench in a browser: this instance's own, and other instances of the account in it. */

import * as vscode from "vscode";
import { addressQuery, readAddress } from "../../shared/address.ts";
import { instanceQuery } from "../../shared/remote-place.ts";
import { labelled } from "../../shared/voice.ts";
import type { OtherInstance } from "../daemon/instance.ts";
import type { Parts } from "../parts.ts";
import { plain } from "../plain.ts";
import type { OtherGroupRow, OtherInstanceRow } from "../views/instances-tree.ts";
import { browserOrigin } from "./browser-origin.ts";
import { type Handlers, needDaemon, Over } from "./handling.ts";

type Place = OtherInstanceRow | OtherGroupRow;

/** The instance of the row, or as the person chooses. Throws Over, and for one without address. */
async function chooseInstance({ instance }: Parts, given: unknown): Promise<OtherInstance> {
  const { others } = instance;
  if (others === null) throw new Error("The account service doesn't confirm this instance now.");
  const row = given as Place | undefined;
  const other =
    row === undefined ? await pick(others) : others.find((one) => one.instance_id === row.instanceId);
  if (other === undefined) throw new Error("This instance isn't in the account any more.");
  if (other.origin === null)
    throw new Error(
      `${plain(labelled(other.name))} has no address. Set one there with 'svc origin set https://HOST'.`,
    );
  return other;
}

async function pick(others: readonly OtherInstance[]): Promise<OtherInstance> {
  if (others.length === 0) throw new Error("The account has no other instance.");
  const chosen = await vscode.window.showQuickPick(
    others.map((other) => ({
      label: plain(labelled(other.name)),
      description: plain(other.origin ?? ""),
      other,
    })),
    { title: "Which instance?", placeHolder: "Instance" },
  );
  if (chosen === undefined) throw new Over();
  return chosen.other;
}

export function instanceCommands(parts: Parts) {
  let hasSaid = false;

  /** Opens this instance's Workbench, signed in, at an address's query. */
  const open = async (query: string): Promise<void> => {
    const { client } = parts.link;
    const { remote_access: access } = await client.result("remote_access_show", {});
    const { url } = await client.result("login_link_create", {});
    const { origin, hash } = new URL(url);
    const reached = await browserOrigin(origin, access.enabled ? access.origin : null);
    await vscode.env.openExternal(vscode.Uri.parse(`${reached}/${query}${hash}`));
  };

  /** The first time where it isn't missed, later where it disturbs nobody. */
  const say = (sentence: string): void => {
    if (hasSaid) vscode.window.setStatusBarMessage(sentence, SAID_MS);
    else void vscode.window.showInformationMessage(sentence);
    hasSaid = true;
  };

  return {
    // At an address of the Workbench, if it is given one.
    async openInBrowser(given: unknown) {
      await needDaemon(parts);
      const { query } = (given ?? {}) as { query?: unknown };
      await open(typeof query === "string" ? addressQuery(readAddress(query)) : "");
    },
    // From a row of the tree, or from the palette.
    async openInstance(given: unknown) {
      await needDaemon(parts);
      const other = await chooseInstance(parts, given);
      const row = given as Place | undefined;
      await open(instanceQuery(other.instance_id, row?.kind === "other-group" ? row.otherGroupId : null));
      say(
        `${plain(labelled(other.name))} opens in the browser, as no editor can show another instance's page.`,
      );
    },
    async openInstancePage(given: unknown) {
      await needDaemon(parts);
      const { origin } = await chooseInstance(parts, given);
      await vscode.env.openExternal(vscode.Uri.parse(origin!));
    },
  } satisfies Handlers;
}

const SAID_MS = 10_000;
