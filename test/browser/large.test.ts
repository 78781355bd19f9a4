/** A Group of several windows' rows. One of 100,000 messages is among the long tests. */
import { describeLarge } from "./large.ts";

describeLarge(6000);
