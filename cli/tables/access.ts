/** Access from a browser or from elsewhere. */
import { LIMITS } from "../../shared/limits.ts";
import type { Command, Option } from "../command.ts";

const access = () => import("../commands/access.ts");
const GROUPS_OPTION: Option = {
  name: "groups",
  value: "G,...",
  text: "Only these Groups, separated by commas",
};

export const accessCommands: readonly Command[] = [
  { words: "whoami", operations: ["whoami"], run: async (context) => (await access()).whoami(context) },
  {
    words: "token create",
    operations: ["access_token_create"],
    options: [
      {
        name: "name",
        value: "NAME",
        text: `A name to recognize it by (at most ${LIMITS.accessToken.nameBytes} bytes)`,
      },
      GROUPS_OPTION,
    ],
    run: async (context) => (await access()).createToken(context),
  },
  {
    words: "token list",
    operations: ["access_token_list"],
    run: async (context) => (await access()).listTokens(context),
  },
  {
    words: "token revoke",
    args: "<id>",
    operations: ["access_token_revoke"],
    run: async (context) => (await access()).revokeToken(context),
  },
  {
    words: "origin show",
    operations: ["remote_access_show"],
    run: async (context) => (await access()).showOrigin(context),
  },
  {
    words: "origin set",
    args: "<url>",
    operations: ["remote_access_set"],
    summary: "Set the HTTPS origin where others reach this instance. svc doesn't create a tunnel to it.",
    run: async (context) => (await access()).setOrigin(context, context.arg(0)),
  },
  {
    words: "origin off",
    operations: ["remote_access_set"],
    summary: "Advertise no origin.",
    run: async (context) => (await access()).setOrigin(context, null),
  },
  {
    words: "origin check",
    operations: ["remote_access_check"],
    run: async (context) => (await access()).checkOrigin(context),
  },
  {
    words: "exhibit show",
    operations: ["exhibit_show"],
    run: async (context) => (await access()).showExhibit(context),
  },
  {
    words: "exhibit set",
    operations: ["exhibit_set"],
    summary: "Open the read-only listener for named Groups. It has its own token, which is shown only once.",
    options: [
      GROUPS_OPTION,
      { name: "host", value: "HOST", text: "Address of its listener (default: 127.0.0.1)" },
      { name: "port", value: "PORT", integer: [0, 65535], text: "Its port" },
    ],
    run: async (context) => (await access()).setExhibit(context),
  },
  {
    words: "exhibit off",
    operations: ["exhibit_set"],
    summary: "Turn the exhibit listener off. Its token stops working.",
    run: async (context) => (await access()).exhibitOff(context),
  },
];
