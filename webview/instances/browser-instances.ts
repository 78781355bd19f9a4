/** The other instances in a browser's page: loaded only where the account has any. */
import "./instance-list.ts";
import "./leave-dialog.ts";
import "./remote-workbench.ts";

export { Instances } from "./instances.ts";
