/** Direct connections: the listener, invitations and their states. */

import { createHash } from "node:crypto";
import { createInterface } from "node:readline/promises";
import { commandLine } from "../../client/failures.ts";
import {
  type InvitationClaims,
  invitationClaims,
  invitationWords,
  relationWords,
} from "../../shared/direct-invitation.ts";
import { directStateWords, listenerStateWords } from "../../shared/direct-words.ts";
import { Refusal } from "../../shared/errors.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { shellWords } from "../../shared/quoting.ts";
import { labelled, quoted } from "../../shared/voice.ts";
import { agreed } from "../consent.ts";
import type { CommandContext } from "../context.ts";
import { readInput } from "../input.ts";
import { relationNamed } from "../lookup.ts";
import { oneLine } from "../output.ts";
import { moment } from "../render.ts";

type Status = ResultOf<"connect_direct_status">;

/** As a target, this address would mean the machine that connects. */
const EVERY_ADDRESS = /^(?:0\.0\.0\.0|\[[0:]+\]):/u;

const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();

function wordsOf(relation: DirectRelation): string | null {
  return relationWords(sha256, relation)?.join(" ") ?? null;
}

function printPeer(
  context: CommandContext,
  end: InvitationClaims["host"],
  until: string,
  fingerprint: string,
): void {
  const shown = [
    ["instance", `${quoted(end.name)}, as it calls itself`],
    // Nothing in an invitation has been checked yet, not even this.
    ["", labelled(end.instance_id)],
    ["group", `${quoted(end.title)} (${labelled(end.group_id)})`],
    ["until", moment(until)],
    ["words", fingerprint],
  ] as const;
  for (const [name, value] of shown) context.out.note(`${name.padEnd(8)}  ${value}`);
  context.out.note(
    "The other side sees the same six words. If they differ, someone may be intercepting the connection: don't continue.",
  );
}

export async function listen(context: CommandContext): Promise<number> {
  const bind = context.text("bind");
  const off = context.has("off");
  if (off === (bind !== undefined)) {
    throw context.usage("Listen where? Use --bind IP:PORT with an address of this machine, or --off.");
  }
  const address = context.text("address");
  if (bind !== undefined && address === undefined && EVERY_ADDRESS.test(bind)) {
    throw context.usage(
      "How does the other side reach it? It can't connect to 'every address of this machine'. Use --address HOST:PORT.",
    );
  }
  const listener = bind === undefined ? null : { bind, address: address ?? bind };
  const name = context.text("name");
  const input = { listener, ...(name === undefined ? {} : { display_name: name }) };
  const answer = await context.client.call("connect_direct_configure", input);
  const code = context.show(answer, () => undefined);
  if (code !== 0 || context.out.json) return code;
  const status = await context.client.result("connect_direct_status", {});
  printListener(context, status);
  return 0;
}

export async function invite(context: CommandContext): Promise<number> {
  return context.print("connect_direct_invite", { group_id: await context.group() }, ({ invitation }) => {
    context.out.note(
      "The invitation is a secret and is shown only once. Anyone who has it can request a connection for 30 minutes. Share it over a channel you trust.",
    );
    context.out.line(invitation);
    context.out.note(
      `The other side passes it to 'svc direct join'. Then see the request with: ${context.command("direct", "status")}`,
    );
  });
}

export async function join(context: CommandContext): Promise<number> {
  const groupId = await context.group();
  const text = await readInvitation(context);
  const invitation = invitationClaims(text);
  if (invitation === null) throw new Refusal("direct_invitation_invalid");
  await printInvitation(context, invitation);
  if (!(await agreed(context, "Request this connection?"))) {
    context.out.note("Nothing was changed.");
    return 1;
  }
  return context.print("connect_direct_join", { group_id: groupId, invitation: text }, ({ id }) => {
    const approving = shellWords(["svc", "direct", "approve", id, "--group", invitation.host.group_id]);
    context.out.line(`Requested as ${id}. The other side can approve it with: ${approving}`);
  });
}

/**
 * Reads one line at a terminal, or else everything. The invitation never appears on a command line
 * (CLI-007, CLI-008).
 */
async function readInvitation(context: CommandContext): Promise<string> {
  if (!process.stdin.isTTY) return readInput();
  context.out.note("Paste the invitation and press Enter.");
  const asked = createInterface({ input: process.stdin });
  for await (const line of asked) {
    if (line.trim() !== "") return line;
  }
  return "";
}

async function printInvitation(context: CommandContext, claims: InvitationClaims): Promise<void> {
  const { instance_id: instanceId } = await context.client.result("daemon_status", {});
  const words = invitationWords(sha256, claims, instanceId).join(" ");
  printPeer(context, claims.host, claims.expires_at, words);
}

function printListener(
  context: CommandContext,
  { listener, runtime, display_name: displayName, addresses }: Status,
): void {
  const state = listenerStateWords(listener, runtime);
  if (listener === null) {
    context.out.line("The Direct listener is off. This instance can still join others.");
    const [suggested] = addresses;
    if (suggested !== undefined) {
      const { bind, address } = suggested;
      context.out.line(
        `Turn it on with: ${commandLine(context.home, "direct", "listen", "--bind", bind, "--address", address)}`,
      );
    }
    return;
  }
  context.out.fields([
    ["listener", `${listener.bind}, ${state}`],
    ["reached at", listener.address],
    ["name", labelled(displayName)],
    ...(typeof runtime?.error === "string" ? [["error", runtime.error] as const] : []),
  ]);
}

export async function status(context: CommandContext): Promise<number> {
  return context.print("connect_direct_status", { group_id: await context.group() }, (result) => {
    printListener(context, result);
    for (const relation of result.relations) printRelation(context, relation);
    if (result.relations.length === 0) context.out.line("This Group has no Direct connections.");
  });
}

function printRelation(context: CommandContext, relation: DirectRelation): void {
  const { id, remote, state, initiated, current, expired, expires_at: expiresAt, error } = relation;
  const pending = state === "invited" || state === "pending";
  const peer =
    remote === null
      ? "no request yet"
      : `${quoted(remote.title)} (${labelled(remote.group_id)}) at ${quoted(remote.name)}`;
  const shown: [string, string][] = [
    ["connection", id],
    [
      "state",
      current
        ? directStateWords(relation)
        : `${directStateWords(relation)}, but the Group or the instance has been replaced`,
    ],
    [initiated ? "with" : "invited", peer],
  ];
  const fingerprint = wordsOf(relation);
  if (pending && fingerprint !== null) shown.push(["words", fingerprint]);
  if (pending) shown.push(["until", moment(expiresAt)]);
  if (error !== null) shown.push(["error", oneLine(error)]);
  const taken = allowanceWords(relation);
  if (taken !== null) shown.push(["takes", taken]);
  if (pending && !initiated && !expired && current && remote !== null)
    shown.push(["next", context.command("direct", "approve", id)]);
  context.out.line();
  context.out.fields(shown);
}

export async function approve(context: CommandContext): Promise<number> {
  const groupId = await context.group();
  const relation = await relationNamed(context.client, groupId, context.arg(0));
  const fingerprint = wordsOf(relation);
  if (relation.remote !== null && relation.state === "pending" && fingerprint !== null) {
    printPeer(context, relation.remote, relation.expires_at, fingerprint);
    if (
      !(await agreed(
        context,
        "Do the words match on the other side, and may both Groups write to each other?",
      ))
    ) {
      context.out.note("Nothing was changed.");
      return 1;
    }
  }
  return context.print("connect_direct_approve", { group_id: groupId, id: relation.id }, () =>
    context.out.line(`Approved. ${relation.id} goes online as soon as the other side connects.`),
  );
}

export async function revoke(context: CommandContext): Promise<number> {
  const groupId = await context.group();
  const { id } = await relationNamed(context.client, groupId, context.arg(0));
  return context.print("connect_direct_revoke", { group_id: groupId, id }, () =>
    context.out.line(
      "Revoked for good. Messages that arrived stay. To connect again, create a new invitation.",
    ),
  );
}

export async function remove(context: CommandContext): Promise<number> {
  const groupId = await context.group();
  const { id } = await relationNamed(context.client, groupId, context.arg(0));
  return context.print("connect_direct_remove", { group_id: groupId, id }, () =>
    context.out.line("Removed."),
  );
}

/** What the other side may still write here; null before approval. */
function allowanceWords({ allowance }: DirectRelation): string | null {
  if (allowance === null) return null;
  const mebibytes = Math.floor(allowance.bytes / (1024 * 1024));
  return `${allowance.records} more messages and ${mebibytes} MiB from there for now`;
}
