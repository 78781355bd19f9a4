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
  /** When the editor read rows last: "since when" counts up to then. */
  protected now = Date.now();
  /** What the editor has read below each row since it was told last, as text to compare. */
  readonly #read = new Map<Row | undefined, string>();
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(id: string, instance: Instance, options: { showCollapseAll?: boolean } = {}) {
    this.instance = instance;
    this.view = vscode.window.createTreeView(id, { treeDataProvider: this, ...options });
    instance.on("change", () => this.refresh());
    this.every(REDRAW_MS, () => {
      if (this.view.visible) this.#redraw();
    });
  }

  /** The rows below `row`, or the first ones. */
  protected abstract rows(row?: Row): Row[];
  abstract getTreeItem(row: Row): vscode.TreeItem;

  getChildren(row?: Row): Row[] {
    const rows = this.rows(row);
    this.now = Date.now();
    this.#read.set(row, this.#look(rows));
    return rows;
  }

  /** What is known has changed. */
  refresh(): void {
    if (!this.isDrawn()) this.#redraw();
  }

  /**
   * The editor has read everything as it is now. It isn't told then: while rows are drawn again and
   * again, it shows no tooltip, and a click may miss its row.
   */
  protected isDrawn(): boolean {
    return this.#read.size > 0 && [...this.#read].every(([row, look]) => this.#look(this.rows(row)) === look);
  }

  /** What stands above the rows; nothing where it is empty. */
  protected say(message: string): void {
    if (message !== (this.view.message ?? "")) this.view.message = message;
  }

  #look(rows: Row[]): string {
    return JSON.stringify(rows.map((row) => [row, this.getTreeItem(row)]));
  }

  #redraw(): void {
    this.#read.clear();
    this.#changed.fire();
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
