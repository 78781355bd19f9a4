/** The Workbench with a Group as large as one becomes in months. */
import { describeLarge } from "../browser/large.ts";

describeLarge(100_000);
