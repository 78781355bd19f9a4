/**
 * Addresses of the Workbench (docs/interface.md#addresses): a Group, and in it a message, a
 * thread, a terminal, a search or what a slot shows. No secret is ever part of one.
 */
import { ID_PATTERNS } from "./id-patterns.ts";
import { LIMITS } from "./limits.ts";
import type { MessageMode } from "./model.ts";

/** Which messages a search shows. */
export interface MessageFilter {
  /** Who wrote or got them: an Actor's id, or `user`. */
  actor: string | null;
  mode: MessageMode | null;
  /** Only those that await a reply. */
  open: boolean;
  /** Only those with files. */
  files: boolean;
}

export const NO_FILTER: Readonly<MessageFilter> = { actor: null, mode: null, open: false, files: false };

export interface Address {
  groupId: string | null;
  eventId: string | null;
  /** A message of the thread that is shown. */
  threadId: string | null;
  /** Whose terminal is shown. */
  actorId: string | null;
  /** What is searched for; empty while nothing was typed. */
  search: string | null;
  /** The slot whose content is shown beside the conversation. */
  slot: number | null;
  /** An earlier version of that slot: the event that published it. */
  versionId: string | null;
  /** Of the search. */
  filter: MessageFilter;
}

export const NOWHERE: Readonly<Address> = {
  groupId: null,
  eventId: null,
  threadId: null,
  actorId: null,
  search: null,
  slot: null,
  versionId: null,
  filter: NO_FILTER,
};

const SLOT = new RegExp(`^[1-${LIMITS.presentation.slots}]$`);
const MODES = ["send", "request_reply", "mail"] as const;

const INVITED = "connect_invite";
/** A UUID as the account service writes it. */
const INVITATION = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The invitation of another account that a query names, exactly once; null if it names none. */
export function readInvitation(query: string): string | null {
  const named = new URLSearchParams(query).getAll(INVITED);
  return named.length === 1 ? matching(named[0]!, INVITATION) : null;
}

/** A query that brings a person with an invitation to one of their instances. */
export function invitationQuery(invitation: string): string {
  return `?${new URLSearchParams({ [INVITED]: invitation })}`;
}

/** What a person pasted: the invitation's id, or a link or command that ends with it. */
export function pastedInvitation(text: string): string | null {
  const trimmed = text.trim().toLowerCase();
  return matching(/(?:^|[\s=])([0-9a-f-]{36})$/u.exec(trimmed)?.[1] ?? null, INVITATION);
}

function matching(value: string | null, pattern: RegExp): string | null {
  return value !== null && pattern.test(value) ? value : null;
}

/** Reads an address's query. What isn't understood names nothing. */
export function readAddress(query: string): Address {
  const members = new URLSearchParams(query);
  const groupId = matching(members.get("group"), ID_PATTERNS.group);
  if (groupId === null) return { ...NOWHERE };
  const slot = matching(members.get("presentation"), SLOT);
  return {
    groupId,
    eventId: matching(members.get("message"), ID_PATTERNS.event),
    threadId: matching(members.get("thread"), ID_PATTERNS.event),
    actorId: matching(members.get("terminal"), ID_PATTERNS.actor),
    search: members.get("search")?.slice(0, LIMITS.addressSearchCharacters) ?? null,
    slot: slot === null ? null : Number(slot),
    versionId: slot === null ? null : matching(members.get("version"), ID_PATTERNS.event),
    filter: members.has("search") ? readFilter(members) : NO_FILTER,
  };
}

function readFilter(members: URLSearchParams): MessageFilter {
  return {
    actor: matching(members.get("actor"), ID_PATTERNS.actor),
    mode: MODES.find((mode) => mode === members.get("mode")) ?? null,
    open: members.get("open") === "1",
    files: members.get("files") === "1",
  };
}

/** The query of an address, with its question mark; empty for nowhere. */
export function addressQuery(address: Address): string {
  const { groupId, eventId, threadId, actorId, search, slot, versionId, filter } = address;
  if (groupId === null) return "";
  const members = new URLSearchParams({ group: groupId });
  if (eventId !== null) members.set("message", eventId);
  if (threadId !== null) members.set("thread", threadId);
  if (actorId !== null) members.set("terminal", actorId);
  if (slot !== null) members.set("presentation", String(slot));
  if (slot !== null && versionId !== null) members.set("version", versionId);
  if (search !== null) {
    members.set("search", search.slice(0, LIMITS.addressSearchCharacters));
    const { actor, mode, open, files } = filter;
    if (actor !== null) members.set("actor", actor);
    if (mode !== null) members.set("mode", mode);
    if (open) members.set("open", "1");
    if (files) members.set("files", "1");
  }
  return `?${members}`;
}
