/** Searches the messages of several Groups, the most recently active first. */
import { shownText } from "../../../shared/foreign-text.ts";
import type { GroupSummary } from "../../../shared/operations/groups.ts";
import { flatten } from "../../feed/excerpt.ts";
import type { Host } from "../../hosts/host.ts";
import { byActivity } from "../../state/group-list.ts";

/** Requests at the same time. */
const AT_ONCE = 4;
const PER_GROUP = 5;
const MOST = 30;
const EXCERPT = 120;

export interface Found {
  groupId: string;
  eventId: string;
  /** The Group's title. */
  group: string;
  text: string;
  ts: string;
}

/**
 * Calls `tell` with everything found so far, newest first, until enough was found or `signal`
 * aborts. A Group that can't be searched is left out. Never rejects.
 */
export async function searchGroups(
  host: Pick<Host, "call">,
  groups: readonly GroupSummary[],
  query: string,
  signal: AbortSignal,
  tell: (found: readonly Found[]) => void,
): Promise<void> {
  const rest = groups.toSorted(byActivity);
  let found: Found[] = [];
  const worker = async (): Promise<void> => {
    for (let group = rest.shift(); group !== undefined && found.length < MOST; group = rest.shift()) {
      if (signal.aborted) return;
      const hits = await search(host, group, query, signal);
      if (signal.aborted || hits.length === 0) continue;
      found = [...found, ...hits].toSorted((a, b) => b.ts.localeCompare(a.ts));
      tell(found);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function search(
  host: Pick<Host, "call">,
  { group_id: groupId, title }: GroupSummary,
  query: string,
  signal: AbortSignal,
): Promise<Found[]> {
  try {
    const asked = { group_id: groupId, query, limit: PER_GROUP, kinds: ["chat.message"] };
    const { events } = await host.call("ledger_search", asked, { signal });
    return events
      .filter((event) => event.kind === "chat.message")
      .map(({ id, ts, data }) => ({
        groupId,
        eventId: id,
        group: title,
        text: flatten(shownText(data.text.slice(0, 4 * EXCERPT))).slice(0, EXCERPT),
        ts,
      }));
  } catch {
    return [];
  }
}
