/**
 * Where the focus goes in the Workbench: to the text, the feed or a question, and to what is left
 * when the thing that had it is gone.
 */
import type { ReactiveController } from "lit";
import type { Ref } from "lit/directives/ref.js";
import type { ComposerElement } from "../../composer/composer.ts";
import type { View } from "../../controls/view.ts";
import type { FeedElement } from "../../feed/feed.ts";
import type { MessageElement } from "../../feed/message.ts";
import type { Layout } from "./layout.ts";
import type { Showing } from "./showing.ts";

interface Parts {
  layout: Layout;
  showing: Showing;
  feed: Ref<FeedElement>;
  composer: Ref<ComposerElement>;
}

export class Focus implements ReactiveController {
  readonly #workbench: View;
  readonly #parts: Parts;
  /** The question that has the focus as the Workbench begins to be drawn. */
  #asked: Element | null = null;

  constructor(workbench: View, parts: Parts) {
    this.#workbench = workbench;
    this.#parts = parts;
    workbench.addController(this);
  }

  end(): void {
    this.#workbench.removeController(this);
  }

  hostUpdate(): void {
    this.#asked = document.activeElement?.closest("svc-question") ?? null;
  }

  /** A question goes without the person's doing when it is answered elsewhere. */
  hostUpdated(): void {
    if (this.#asked?.isConnected === false) void this.keep();
  }

  /** The message that has the focus, or in which something has it. */
  get message(): MessageElement | null {
    return document.activeElement?.closest<MessageElement>("svc-message") ?? null;
  }

  /** What had the focus before may be gone, such as by a dialog's action. */
  async keep(): Promise<void> {
    await this.#workbench.updateComplete;
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const { activeElement } = document;
    if (activeElement !== null && activeElement !== document.body) return;
    const composer = this.#parts.composer.value;
    if (composer !== undefined) composer.focus();
    else this.#workbench.querySelector<HTMLElement>(".empty .button, .group-row, button")?.focus();
  }

  /** To the text that is being written. */
  async toText(): Promise<void> {
    await this.#showFeed();
    this.#parts.composer.value?.focus();
  }

  /** To the feed, once it is drawn. */
  async toFeed(): Promise<void> {
    await this.#workbench.updateComplete;
    this.#parts.feed.value?.focusRow();
  }

  /** To a question below the feed, which may be on another page or under the terminals. */
  async toQuestion(questionId: string): Promise<void> {
    this.#parts.showing.conversation?.terminals.restore();
    await this.#showFeed();
    await import("../../questions/question.ts");
    const element = this.#workbench.querySelector<View>(`[data-question="${CSS.escape(questionId)}"]`);
    await element?.updateComplete;
    element?.querySelector<HTMLElement>(".question")?.focus();
  }

  async #showFeed(): Promise<void> {
    const { layout } = this.#parts;
    if (layout.breadth === "narrow") layout.show("feed");
    await this.#workbench.updateComplete;
  }
}
