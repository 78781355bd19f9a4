/**
 * What the person does in the open conversation: writes a message, or acts on a message, an Actor
 * or the Group.
 */
import type { Ref } from "lit/directives/ref.js";
import { labelled } from "../../../shared/voice.ts";
import type { ActorOperation } from "../../actors/actors-panel.ts";
import { isMissing, startProblem } from "../../actors/start-problem.ts";
import type { ComposerElement } from "../../composer/composer.ts";
import type { MessageAction } from "../../feed/message.ts";
import type { Host } from "../../hosts/host.ts";
import type { Conversation } from "../../state/conversation.ts";
import { type Action, actOnMessage, type GroupState, operateActor, setGroupState } from "./actions.ts";
import type { Focus } from "./focus.ts";
import type { Showing } from "./showing.ts";
import { addText, isRewriting, rewrite, writeTo } from "./writing.ts";

interface Parts {
  host: Host;
  showing: Showing;
  focus: Focus;
  composer: Ref<ComposerElement>;
  openDialog: (name: string, fields: Record<string, unknown>) => void;
}

export class ConversationActions {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  setGroupState(state: GroupState): void {
    this.#act(setGroupState, state);
  }

  operateActor(asked: ActorOperation): void {
    this.#act(operateActor, asked, (error) => {
      if (!isMissing(error)) return false;
      // The remedy is another command, and it is offered there.
      this.#parts.openDialog("edit-actor", { actor: asked.actor, problem: startProblem(error) });
      return true;
    });
  }

  /** What is done with a message: some of it begins another one. */
  actOnMessage(action: MessageAction): void {
    const { showing, composer } = this.#parts;
    const { kind, event, quote, target } = action;
    if (kind === "reply") composer.value?.reply(event, quote ?? null);
    else if (kind === "jump") showing.go({ eventId: target ?? event.id });
    else if (isRewriting(action)) void this.#write((open) => rewrite(open, action));
    else this.#act(actOnMessage, action);
  }

  /** The message that is being written goes to an Actor as well. */
  writeTo(actorId: string): void {
    void this.#write((open) => writeTo(open, actorId));
  }

  /** Adds to the message that is being written. */
  addText(text: string): void {
    void this.#write((open) => addText(open, text));
  }

  /** Files go with the message that is being written, wherever on the page they were dropped. */
  async drop(dropped: Promise<readonly File[]>): Promise<void> {
    const { showing, focus, composer } = this.#parts;
    const { conversation } = showing;
    if (conversation === null || document.querySelector("dialog[open]") !== null) {
      dropped.catch(() => {});
      return;
    }
    conversation.terminals.restore();
    try {
      const files = await dropped;
      await focus.toText();
      // They belong to the Group that they were dropped on.
      if (showing.conversation === conversation) composer.value?.take(files);
    } catch (error) {
      showing.fail(error);
    }
  }

  /** What `change` writes goes into the open conversation's draft, which then has the focus. */
  async #write(change: (conversation: Conversation) => Promise<void>): Promise<void> {
    const { showing, focus } = this.#parts;
    const { conversation } = showing;
    if (conversation === null) return;
    await change(conversation);
    if (showing.conversation === conversation) await focus.toText();
  }

  /** `remedy` returns whether it handles a failure. */
  #act<Asked>(run: Action<Asked>, asked: Asked, remedy: (error: unknown) => boolean = () => false): void {
    const { host, showing } = this.#parts;
    const { conversation } = showing;
    if (conversation === null) return;
    showing.forgetProblem();
    run(host, conversation, asked).catch((error: unknown) => {
      if (showing.conversation !== conversation) showing.fail(elsewhere(conversation, error));
      else if (!remedy(error)) showing.fail(error);
    });
  }
}

/** What failed in a Group that the person has left, with its title. */
function elsewhere({ group }: Conversation, error: unknown): string {
  const title = group.group === null ? "" : `${labelled(group.group.title)}: `;
  return title + (error instanceof Error ? error.message : String(error));
}
