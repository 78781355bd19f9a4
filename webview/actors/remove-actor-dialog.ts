/** `<svc-remove-actor-dialog>`: says what is removed with an Actor, before it happens. */
import { html } from "lit";
import { actorName } from "../../shared/actor-words.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import { DialogView } from "../controls/dialog.ts";
import { icon } from "../controls/icons.ts";
import { button } from "../controls/toolkit.ts";
import type { Host } from "../hosts/host.ts";
import type { Conversation } from "../state/conversation.ts";

const LIST = new Intl.ListFormat("en");

class RemoveActorDialog extends DialogView {
  declare host: Host;
  declare conversation: Conversation;
  declare actor: ActorWithPresence;

  protected override heading(): string {
    return `Remove ${actorName(this.actor)}?`;
  }

  protected override content() {
    const { pending, unread_mail: unreadMail } = this.actor.presence;
    const lost = [
      pending > 0 ? `${pending} ${pending === 1 ? "message" : "messages"} it hasn’t read` : "",
      unreadMail > 0 ? `${unreadMail} unread Mail` : "",
      "its token",
    ].filter((part) => part !== "");
    return html`<p>${icon("warning")} <span><strong>${actorName(this.actor)}</strong> loses ${LIST.format(lost)}. What it wrote stays in the Group. A later Actor with the same id inherits nothing.</span></p>`;
  }

  protected override footer() {
    return html`${button({ label: "Keep it", onClick: () => this.close() })}
      <button type="button" class="danger-button" ?disabled=${this.busy} @click=${() => this.submit()}>Remove ${actorName(this.actor)}</button>`;
  }

  protected override submit(): void {
    void this.act(async () => {
      await this.host.call("actor_remove", { group_id: this.conversation.groupId, actor_id: this.actor.id });
      await this.conversation.group.refresh();
    }).then((removed) => {
      if (removed) this.close();
    });
  }
}

customElements.define("svc-remove-actor-dialog", RemoveActorDialog);
