/** A change of a file as the editor shows changes, before anything is written. */
import * as vscode from "vscode";
import { PROPOSAL_SCHEME } from "../contributions/agents.ts";

interface Change {
  path: string;
  /** As the person knows the file. */
  name: string;
  title: string;
  /** Null for a file that would be new. */
  before: string | null;
  after: string;
}

const texts = new Map<string, string>();
/** Changes that are shown, by the address of their new text. */
const open = new Map<string, (isWanted: boolean) => void>();
let shown = 0;

/** The texts of changes; closing one means no. */
export function registerProposals(): vscode.Disposable[] {
  return [
    vscode.workspace.registerTextDocumentContentProvider(PROPOSAL_SCHEME, {
      provideTextDocumentContent: (uri) => texts.get(uri.toString()) ?? "",
    }),
    vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
      for (const tab of closed) open.get(newTextOf(tab) ?? "")?.(false);
    }),
  ];
}

/** The buttons above a change. */
export function proposalCommands() {
  const decide = (isWanted: boolean) => (given: unknown) => {
    const of = given instanceof vscode.Uri ? given.toString() : newTextOf(activeTab());
    if (of !== undefined) open.get(of)?.(isWanted);
  };
  return { writeChange: decide(true), dropChange: decide(false) };
}

/** Whether the person wants the change that the editor shows. Closing it means no. */
export async function confirmChange({ path, name, title, before, after }: Change): Promise<boolean> {
  shown += 1;
  const of = (side: string) => vscode.Uri.from({ scheme: PROPOSAL_SCHEME, path, query: `${side}${shown}` });
  const [left, right] = [of("before"), of("after")];
  const key = right.toString();
  texts.set(left.toString(), before ?? "");
  texts.set(key, after);
  const label = before === null ? `${name} (new)` : `${name} (change)`;
  await vscode.commands.executeCommand("vscode.diff", left, right, label, { preview: false });
  const decided = new Promise<boolean>((resolve) => open.set(key, resolve));
  try {
    // It stays while the person reads, which a message with buttons doesn't.
    return await vscode.window.withProgress(
      {
        location: vscode.ProgressLocation.Notification,
        title: `${title}: nothing is written yet. Choose Write the Change, or No, above the text.`,
        cancellable: true,
      },
      (_progress, token) => {
        token.onCancellationRequested(() => open.get(key)?.(false));
        return decided;
      },
    );
  } finally {
    open.delete(key);
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const tab = tabs.find((one) => newTextOf(one) === key);
    if (tab !== undefined) await vscode.window.tabGroups.close(tab);
    texts.delete(left.toString());
    texts.delete(key);
  }
}

function activeTab(): vscode.Tab | undefined {
  return vscode.window.tabGroups.activeTabGroup.activeTab;
}

function newTextOf(tab: vscode.Tab | undefined): string | undefined {
  return tab?.input instanceof vscode.TabInputTextDiff ? tab.input.modified.toString() : undefined;
}
