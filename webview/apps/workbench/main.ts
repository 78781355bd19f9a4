/** The Workbench in a browser: appearance, session, and then the workbench itself. */
import "./workbench.css";
import { html, nothing, render } from "lit";
import { API_PREFIX, FRAME_META } from "../../../shared/names.ts";
import "../../access/sign-in.ts";
import { skeleton } from "../../controls/controls.ts";
import { button } from "../../controls/toolkit.ts";
import { HostError, type Viewer } from "../../hosts/host.ts";
import { HttpHost } from "../../hosts/http/http-host.ts";
import { HttpSession } from "../../hosts/http/http-session.ts";
import { Requests } from "../../hosts/http/requests.ts";
import type { Opened } from "../../instances/live-frame.ts";
import { Notifications } from "../../notifications/notifications.ts";
import type { ThemeChoice } from "./appearance.ts";
import { followTheme } from "./theme.ts";

/** Everything after the sign-in is one more bundle, loaded while the session is checked. */
const workbench = import("./workbench.ts");
const requests = new Requests();
/** Another instance's page around this one. */
const entry =
  document.querySelector(`meta[name="${FRAME_META}"]`) === null
    ? null
    : (await import("../../hosts/frame.ts")).frameEntry(requests);
const session = new HttpSession(requests);
let host = new HttpHost(requests);
let notifications: Notifications | null = null;
const theme = followTheme(host.recall("theme"));
const root = document.getElementById("root")!;

function show(view: unknown): void {
  render(view, root);
}

function signIn(problem: string | null): void {
  document.title = "Sign in";
  entry?.locked();
  show(html`<svc-sign-in
    .session=${session}
    .problem=${problem}
    .around=${entry?.host ?? null}
    @signed-in=${(event: CustomEvent<Viewer>) => work(event.detail)}
  ></svc-sign-in>`);
}

function work(viewer: Viewer): void {
  if (entry !== null && viewer.kind !== "administrator") {
    const refuse = () =>
      signIn("That access token is for some Groups only. Sign in with an administrator’s.");
    void session.signOut().then(refuse, refuse);
    return;
  }
  host.start();
  if (entry === null) {
    notifications = new Notifications(host, (address) =>
      root
        .querySelector("svc-workbench")
        ?.dispatchEvent(new CustomEvent("open-address", { detail: address })),
    );
  }
  const draw = () =>
    show(html`<svc-workbench
      .host=${host}
      .viewer=${viewer}
      .theme=${theme.choice}
      .notifications=${notifications}
      .entry=${entry}
      .openFrame=${parent === self ? openFrame : null}
      .signOut=${() => {
        // The daemon ends the session's streams, which would only be refused if they came again.
        host.stop();
        void session.signOut().then(
          () => leave(null),
          () => leave(null),
        );
      }}
      @choose-theme=${(event: CustomEvent<ThemeChoice>) => {
        theme.choose(event.detail);
        host.remember("theme", event.detail);
        draw();
      }}
    ></svc-workbench>`);
  draw();
}

/** A proof for another instance's frame. A page in a frame has none itself. */
async function openFrame(instanceId: string, frameId: string, signal: AbortSignal): Promise<Opened> {
  const body = JSON.stringify({ instance_id: instanceId, frame_id: frameId });
  return (await requests.json("POST", `${API_PREFIX}/connect/open`, body, signal)) as Opened;
}

function leave(reason: string | null): void {
  notifications?.close();
  host.stop();
  show(nothing);
  host = new HttpHost(requests);
  signIn(reason);
}

/** The page around this one opens it again. */
function expire(): void {
  notifications?.close();
  host.stop();
  document.title = "Workbench";
  show(html`<main class="empty">
    <h1>This view has ended</h1>
    <p>Open it again from the list of ${entry?.host}.</p>
  </main>`);
}

if (entry !== null) {
  entry.expired = expire;
  requests.expired = () => entry.end();
}

session.onEnd(() => leave("Your session has ended. Sign in again."));

async function begin(): Promise<void> {
  entry?.start();
  show(html`<div class="beginning">${skeleton(6, "list")}</div>`);
  try {
    const [viewer] = await Promise.all([session.restore(), workbench]);
    if (viewer === null) signIn(null);
    else work(viewer);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (error instanceof HostError && !error.offline) signIn(reason);
    else {
      show(
        html`<main class="empty">
          <h1>Can’t reach the daemon</h1>
          <p>Nothing is lost. Start it with <code>svc up</code>, then try again.</p>
          ${button({ label: "Try again", primary: true, onClick: () => (entry === null ? location.reload() : entry.end()) })}
        </main>`,
      );
    }
  }
}

void begin();
