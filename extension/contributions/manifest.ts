/** The extension's manifest and its texts, from the tables beside this file. */
import { DEFAULT_WEB_PORT, DIRECT } from "../../shared/names.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { DEFINITION_PROVIDER } from "./agents.ts";
import { COMMANDS, type CommandName, commandId } from "./commands.ts";
import { MENUS } from "./menus.ts";
import { SETTINGS } from "./settings.ts";
import { CONTAINER, VIEWS, WELCOME } from "./views.ts";
import { STEPS, stepText } from "./walkthrough.ts";

export interface Manifest {
  manifest: Record<string, unknown>;
  /** English, by the key that the manifest has in its place. */
  texts: Record<string, string>;
}

/** Texts that people read are `%keys%` in a manifest. */
class Texts {
  readonly all: Record<string, string> = {};

  put(key: string, text: string): string {
    this.all[key] = text;
    return `%${key}%`;
  }
}

export function createManifest(): Manifest {
  const texts = new Texts();
  const manifest = {
    name: "svc",
    publisher: "svc",
    displayName: texts.put("displayName", "svc: agents that work together"),
    description: texts.put(
      "description",
      "See which of your coding agents is working, waiting or finished, and talk to all of them in one conversation that lasts.",
    ),
    version: PRODUCT_VERSION,
    private: true,
    license: "Apache-2.0",
    // Of its sources; what it loads is named `.cjs`.
    type: "module",
    icon: "media/icon.png",
    categories: ["AI", "Chat", "Other"],
    keywords: ["agents", "claude", "codex", "mcp", "multi-agent"],
    engines: { vscode: "^1.106.0" },
    extensionKind: ["workspace"],
    main: "./dist/extension.cjs",
    activationEvents: ["onStartupFinished", "onUri"],
    capabilities: {
      untrustedWorkspaces: {
        supported: "limited",
        description: texts.put(
          "untrusted",
          "You can look at Groups and Actors. Attaching folders, starting Actors and sending need a trusted workspace.",
        ),
        restrictedConfigurations: Object.entries(SETTINGS)
          .filter(([, { restricted }]) => restricted)
          .map(([name]) => `svc.${name}`),
      },
      virtualWorkspaces: {
        supported: "limited",
        description: texts.put(
          "virtual",
          "A virtual folder can't be attached, because agents can't work in it.",
        ),
      },
    },
    contributes: {
      commands: Object.entries(COMMANDS).map(([name, { title, icon, enablement }]) => ({
        command: commandId(name as CommandName),
        category: "svc",
        title: texts.put(`command.${name}`, title),
        ...(icon === undefined ? {} : { icon: `$(${icon})` }),
        ...(enablement === undefined ? {} : { enablement }),
      })),
      viewsContainers: { activitybar: [{ id: CONTAINER, title: "svc", icon: "media/svc.svg" }] },
      views: {
        [CONTAINER]: Object.entries(VIEWS).map(([name, { name: title, ...view }]) => ({
          ...view,
          name: texts.put(`view.${name}`, title),
        })),
      },
      viewsWelcome: WELCOME.map(({ view, contents, when }, index) => ({
        view,
        when,
        contents: texts.put(`welcome.${index}`, contents),
      })),
      mcpServerDefinitionProviders: [
        { id: DEFINITION_PROVIDER, label: texts.put("definitions", "svc: the Groups of the open folders") },
      ],
      menus: MENUS,
      walkthroughs: [
        {
          id: "start",
          title: texts.put("walkthrough", "Work with your agents"),
          description: texts.put(
            "walkthrough.description",
            "From an open folder to an agent that works in it.",
          ),
          steps: STEPS.map((step) => ({
            id: step.command,
            title: texts.put(`walkthrough.${step.command}`, step.title),
            description: texts.put(`walkthrough.${step.command}.text`, stepText(step)),
            media: { svg: "media/svc.svg", altText: "svc" },
            completionEvents: [
              `onCommand:${commandId(step.command)}`,
              ...(step.done === undefined ? [] : doneEvents(step.done)),
            ],
          })),
        },
      ],
      configurationDefaults: {
        // A remote window would announce each port of the daemon as an application of the person.
        "remote.portsAttributes": Object.fromEntries(
          [DEFAULT_WEB_PORT, DIRECT.defaultPort].map((port) => [
            port,
            { label: "svc", onAutoForward: "silent" },
          ]),
        ),
      },
      configuration: {
        title: "svc",
        properties: Object.fromEntries(
          Object.entries(SETTINGS).map(([name, setting]) => [
            `svc.${name}`,
            {
              type: setting.type,
              default: setting.default,
              scope: setting.scope,
              description: texts.put(`setting.${name}`, setting.description),
            },
          ]),
        ),
      },
    },
  };
  return { manifest, texts: texts.all };
}

/**
 * What ticks a step that is done without its command. The editor overlooks what is true when it
 * reads the steps, which is before it shows them for the first time, so the showing counts as well.
 */
function doneEvents(done: string): string[] {
  return [`onContext:${done}`, `onContext:${done} && activeEditor == gettingStartedPage`];
}

/** The files of the manifest by name, as they are in `extension/`. */
export function manifestFiles(): Record<string, string> {
  const { manifest, texts } = createManifest();
  const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  return { "package.json": json(manifest), "package.nls.json": json(texts) };
}
