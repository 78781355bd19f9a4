/** What the trees of the side bar share: they draw what is known, and again when it changes. */
import * as vscode from "vscode";
import type { Instance } from "../daemon/instance.ts";

/** How often "since when" is drawn again while a tree is seen. */
const REDRAW_MS = 30_000;

export abstract class InstanceTree<Row> implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly view: vscode.TreeView<Row>;
  protected readonly instance: Instance;
  readonly #timers: NodeJS.Timeout[] = [];
  #drawn: string | null = null;

  constructor(id: string, instance: Instance, options: { showCollapseAll?: boolean } = {}) {
    this.instance = instance;
    this.view = vscode.window.createTreeView(id, { treeDataProvider: this, ...options });
    instance.on("change", () => this.refresh());
    this.every(REDRAW_MS, () => {
      if (this.view.visible) this.redraw();
    });
  }

  abstract getChildren(row?: Row): Row[];
  abstract getTreeItem(row: Row): vscode.TreeItem;

  /** What is known has changed. */
  refresh(): void {
    this.redraw();
  }

  /**
   * Draws again what is known, if it looks different: while rows are drawn again and again, the
   * editor shows no tooltip.
   */
  protected redraw(): void {
    // The editor draws a hidden tree when it comes into sight, so it isn't looked at before.
    const look = this.view.visible ? this.look() : null;
    if (look !== null && look === this.#drawn) return;
    this.#drawn = look;
    this.#changed.fire();
  }

  /** All that is drawn, as text to compare; null where looking at it has effects. */
  protected look(): string | null {
    const rows = (row?: Row): unknown[] =>
      this.getChildren(row).map((one) => [one, this.getTreeItem(one), rows(one)]);
    return JSON.stringify(rows());
  }

  /** Runs it again and again until the tree is disposed of. */
  protected every(milliseconds: number, run: () => void): void {
    this.#timers.push(setInterval(run, milliseconds).unref());
  }

  dispose(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.view.dispose();
    this.#changed.dispose();
  }
}
