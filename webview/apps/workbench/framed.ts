/** A Workbench in a frame keeps the page around it informed, and goes where that page says. */
import type { FrameGroup } from "../../../shared/frame-protocol.ts";
import type { ResultOf } from "../../../shared/operations/registry.ts";
import type { Release } from "../../../shared/stream-client/listeners.ts";
import type { FrameEntry, Selection } from "../../hosts/frame.ts";
import type { Host } from "../../hosts/host.ts";
import type { Conversation } from "../../state/conversation.ts";
import type { GroupsStore } from "../../state/group-list.ts";
import type { Showing } from "./showing.ts";
import { followForms } from "./unsaved-forms.ts";

interface Parts {
  host: Host;
  groups: GroupsStore;
  showing: Showing;
  openConnections: () => void;
}

/** For an administrator alone. */
export function followEntry(entry: FrameEntry, { host, groups, showing, openConnections }: Parts): Release {
  let counts: ResultOf<"connect_status">["group_connections"] = null;
  let followed: Conversation | null = null;
  let unfollow: Release = () => {};

  const tellGroups = (): void => {
    if (!groups.loaded) return;
    entry.groups(
      groups.list.map(({ group_id, title, state }): FrameGroup => {
        const count = counts?.counts[group_id];
        const connection =
          counts === null || count === undefined ? null : { count, expires_at: counts.expires_at };
        return {
          group_id,
          title,
          running: state === "active",
          ...(connection === null ? {} : { connection }),
        };
      }),
    );
  };
  const tellDirty = (): void => {
    const isSaved = followed === null || (followed.draft.saved && !followed.uploads.busy);
    entry.dirty(!isSaved || forms.any);
  };
  const forms = followForms(tellDirty);
  const tellShown = (): void => {
    const { conversation } = showing;
    if (conversation !== followed) {
      unfollow();
      followed = conversation;
      const stops =
        conversation === null
          ? []
          : [conversation.uploads, conversation.draft].map((store) => store.subscribe(tellDirty));
      unfollow = () => stops.forEach((stop) => stop());
    }
    if (conversation !== null) entry.selected(conversation.groupId);
    tellDirty();
  };
  const readCounts = async (): Promise<void> => {
    try {
      counts = (await host.call("connect_status", {})).group_connections;
    } catch {
      // Those from before have their own end.
    }
    tellGroups();
  };
  const go = ({ groupId, connections }: Selection): boolean => {
    if (!groups.loaded) return false;
    if (groups.find(groupId) !== undefined) {
      if (showing.groupId !== groupId) showing.visit({ groupId });
      if (connections) openConnections();
    }
    tellShown();
    return true;
  };

  const releases = [
    groups.subscribe(() => {
      tellGroups();
      entry.settle();
    }),
    showing.subscribe(tellShown),
  ];
  entry.admitted(go, () => void readCounts());
  void readCounts();
  tellShown();
  return () => {
    unfollow();
    forms.release();
    for (const release of releases) release();
  };
}
